"""Whether text can be read in one way only: lines of terms, with nothing between them but a space
each. What a store writes without a look at it may be anything.
"""

from __future__ import annotations

from typing import Final

from .forms import is_canonical
from .lines import NOT_IN_IRI
from .patterns import Pattern

#: An IRI in brackets, without escapes.
IRI: Final = f"<[^{NOT_IN_IRI}]*+>".encode()
#: A blank node, whatever its label.
NODE: Final = rb'_:[^\s<>"]++'
_CHARACTERS: Final = rb"""(?:[^"\\\n\r]++|\\(?:[tbnrf"'\\]|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}))*+"""
_LANGTAG: Final = rb"@[A-Za-z]{1,8}+(?:-[A-Za-z0-9]{1,8}+)*+"
_LITERAL: Final = rb'"%b"(?:%b|\^\^%b)?+' % (_CHARACTERS, _LANGTAG, IRI)
_LINES: Final = Pattern(
    rb"(?:(?>%b|%b) %b (?>%b|%b|%b) \.\n)*+" % (IRI, NODE, IRI, IRI, _LITERAL, NODE)
)
_STATEMENT: Final = Pattern(
    rb'%b %b (?:%b|"(%b)"(?:%b|\^\^<([^%b]*+)>)?+) (%b )?\.\n'
    % (IRI, IRI, IRI, _CHARACTERS, _LANGTAG, NOT_IN_IRI.encode(), IRI)
)


def are_plain(lines: bytes) -> bool:
    """Whether text is nothing but plain lines, each of which says one triple.

    The compiled kernel says so of fewer: not of what N-Triples does not allow.

    >>> are_plain(b'<urn:s> <urn:p> _:o .\\n'), are_plain(b'<urn:s> <urn:p> <urn:o> . # x\\n')
    (True, False)
    """
    return _LINES.compiled.fullmatch(lines) is not None


def is_usual(line: bytes, width: int) -> bool:
    """Whether text is one plain line of N-Quads, of IRIs and perhaps a literal that a store keeps
    as it is, see ``forms``.

    The compiled kernel says so of fewer.

    :param width: number of its terms, 3 or 4. Who knows it is sure that no term looks like two.

    >>> is_usual(b'<urn:s> <urn:p> "o" .\\n', 3), is_usual(b'<urn:s> <urn:p> _:o .\\n', 3)
    (True, False)
    """
    found = _STATEMENT.compiled.fullmatch(line)
    if found is None:
        return False
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    lex, datatype, graph = found.groups()
    return (graph is None) is (width == 3) and (
        datatype is None or is_canonical(lex.decode(), datatype.decode())
    )
