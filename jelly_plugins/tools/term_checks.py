"""Find invalid terms that Jelly can carry nevertheless: it accepts any string as an IRI, and
any as a language tag.

Reference: RFC 3987, sections 2.2 and 3.1 (IRIs); RFC 5646, section 2.1 (language tags, of which the
form is looked at, not whether they are registered); RDF 1.1 Concepts, sections 3.2 and 3.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..codec import Iri, Literal, Triple
from ..codec.common.terms import RDF_LANG_STRING
from ..codec.text.lines import shorten

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*+:")
_ILLEGAL: Final = re.compile(
    r'[\x00-\x20\x7f-\x9f<>"{}|^`\\\ud800-\udfff\ufdd0-\ufdef\ufff0-\uffff]'
)
_BROKEN_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_TAG: Final = re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*+")

#: Terms that are remembered as checked; of more, a check starts afresh.
_REMEMBERED: Final = 1 << 16


class TermChecks:
    """Checks the terms of a stream statement by statement, each distinct one once within the limits
    of its cache."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()

    def problems(self, statement: Iterable[Any]) -> Iterator[str]:
        """The problems of the terms of a statement, including those in quoted triples.

        >>> list(TermChecks().problems((Iri("urn:s"), Iri("p"), Literal("o", langtag="a_b"))))
        ['the IRI <p> is relative', "the language tag 'a_b' is not well-formed"]
        """
        for term in statement:
            if term in self._seen:
                continue
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen.add(term)
            if isinstance(term, Triple):
                yield from self.problems(term)
            elif isinstance(term, Iri):
                yield from iri_problems(term.value)
            elif isinstance(term, Literal):
                yield from _literal_problems(term)


def iri_problems(iri: str) -> Iterator[str]:
    """The problems of an IRI.

    >>> list(iri_problems("http://example.org/a b"))
    ["the IRI <http://example.org/a b> has the character ' ', which is not allowed there"]
    """
    shown = f"the IRI <{shorten(iri)}>"
    if _SCHEME.match(iri) is None:
        yield f"{shown} is relative"
    if found := _ILLEGAL.search(iri):
        yield f"{shown} has the character {found[0]!r}, which is not allowed there"
    if _BROKEN_ESCAPE.search(iri):
        yield f"{shown} has a % without two hexadecimal digits"


def _literal_problems(literal: Literal) -> Iterator[str]:
    if literal.langtag is not None and _TAG.fullmatch(literal.langtag) is None:
        yield f"the language tag {shorten(literal.langtag)!r} is not well-formed"
    if literal.datatype is not None:
        yield from iri_problems(literal.datatype)
        if literal.datatype == RDF_LANG_STRING:
            yield "a literal of type rdf:langString has no language tag"
