"""Whether text can be read in one way only: lines of three terms, with nothing between them but a
space each. What a store writes without a look at it may be anything.
"""

from __future__ import annotations

from typing import Final

from .lines import NOT_IN_IRI
from .patterns import Pattern

#: An IRI in brackets, without escapes.
IRI: Final = f"<[^{NOT_IN_IRI}]*+>".encode()
#: A blank node, whatever its label.
NODE: Final = rb'_:[^\s<>"]++'
_LITERAL: Final = (
    rb'"(?:[^"\\\n\r]++|\\.)*+"(?:@[A-Za-z]{1,8}+(?:-[A-Za-z0-9]{1,8}+)*+|\^\^' + IRI + rb")?+"
)
_LINES: Final = Pattern(
    rb"(?:(?>%b|%b) %b (?>%b|%b|%b) \.\n)*+" % (IRI, NODE, IRI, IRI, _LITERAL, NODE)
)


def are_plain(lines: bytes) -> bool:
    """Whether text is nothing but plain lines, each of which says one triple.

    The compiled kernel says so of fewer: not of what N-Triples does not allow.

    >>> are_plain(b'<urn:s> <urn:p> _:o .\\n'), are_plain(b'<urn:s> <urn:p> <urn:o> . # x\\n')
    (True, False)
    """
    return _LINES.compiled.fullmatch(lines) is not None
