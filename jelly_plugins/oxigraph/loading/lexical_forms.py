"""Lexical forms on their way into a store, rewritten for a library that keeps others.

rdflib normalizes a literal whenever it makes one. A store that is listed through rdflib has to hold
those forms: rdflib could neither find nor remove any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from pyoxigraph import Literal, Quad, Triple

from ...codec.common.terms import XSD_STRING
from ...codec.common.terms import Literal as GenericLiteral
from ...codec.text.lines import unescaped
from ...codec.text.ntriples import term_text

#: Gets a lexical form and the IRI of its datatype, and returns the form to store.
LexicalForm: TypeAlias = Callable[[str, str], str]

#: A literal in the text that our decoders write. It matches all of them: a quotation mark anywhere
#: else in the text ends a literal.
_LITERAL: Final = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"(?:\^\^<([^>]*+)>)?')


def in_text(chunks: Iterable[bytes], form: LexicalForm) -> Iterator[bytes]:
    """Chunks of N-Triples or N-Quads, each of whole lines, with other lexical forms."""

    def rewritten(found: re.Match[bytes]) -> bytes:
        if found[2] is None:
            return found[0]
        lex, datatype = unescaped(found[1].decode()), found[2].decode()
        new = form(lex, datatype)
        return found[0] if new == lex else term_text(GenericLiteral(new, None, datatype)).encode()

    for chunk in chunks:
        yield _LITERAL.sub(rewritten, chunk) if b'"^^<' in chunk else chunk


def in_quads(parts: Iterable[Iterable[Quad]], form: LexicalForm) -> Iterator[list[Quad]]:
    """Quads with other lexical forms."""
    for quads in parts:
        yield [
            Quad(quad.subject, quad.predicate, _rewritten(quad.object, form), quad.graph_name)
            if isinstance(quad.object, Literal | Triple)
            else quad
            for quad in quads
        ]


def _rewritten(term: Any, form: LexicalForm) -> Any:
    if isinstance(term, Triple):
        return Triple(term.subject, term.predicate, _rewritten(term.object, form))
    if not isinstance(term, Literal) or term.language is not None:
        return term
    if term.datatype.value == XSD_STRING:
        return term
    return Literal(form(term.value, term.datatype.value), datatype=term.datatype)
