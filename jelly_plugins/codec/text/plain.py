"""Whether text can be read in one way only: lines of terms, with nothing between them but a space
each. What a store writes without a look at it may be anything.
"""

from __future__ import annotations

from typing import Final

from .forms import is_canonical, odd_lines
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


def plain_lines(text: bytes) -> tuple[int, dict[int, int]] | None:
    """Look at text that may be nothing but plain lines, each of which says one triple.

    The compiled kernel finds fewer texts plain: not those that N-Triples does not allow.

    :return: the number of lines; and the numbers, from 0, of those that may have a literal in
        another form than a store would give it, see ``forms``, with the places where they begin.
        None if the text is not plain.

    >>> plain_lines(b'<urn:s> <urn:p> _:o .\\n'), plain_lines(b'<urn:s> <urn:p> <urn:o> . # x\\n')
    ((1, {}), None)
    """
    if _LINES.compiled.fullmatch(text) is None:
        return None
    return text.count(b"\n"), odd_lines(text)


def usual_line(text: str, width: int) -> bytes | None:
    """The line of N-Quads of a statement of IRIs and perhaps a literal that a store keeps as it is,
    see ``forms``; None if it is another one, or its text is not plain.

    The compiled kernel gives fewer.

    :param text: the line without its end.
    :param width: number of its terms, 3 or 4. Who knows it is sure that no term looks like two.

    >>> usual_line('<urn:s> <urn:p> "o"', 3)
    b'<urn:s> <urn:p> "o" .\\n'
    """
    line = text.encode() + b" .\n"
    found = _STATEMENT.compiled.fullmatch(line)
    if found is None:
        return None
    lex, datatype, graph = found.groups()
    usual = datatype is None or is_canonical(lex.decode(), datatype.decode())
    return line if usual and (graph is None) is (width == 3) else None
