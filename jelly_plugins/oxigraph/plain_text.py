"""Quads as text, all at once, where the text is certain to be equivalent to the quads.

pyoxigraph writes quads far faster than their terms can be had one by one. But what it writes of
terms that it has never checked (``pyoxigraph.parse`` with ``lenient=True`` gives such) may be read
as something else: an IRI with ``>`` in it, as another statement. Or not at all: a relative IRI. So
text is used only if it is plain: lines of terms that are certainly well-formed. A term that is read
as several makes a line longer, so that lines with the right numbers of terms are right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from pyoxigraph import (
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
    serialize,
)

from ..codec import plain_lines
from .canonical import canonical, canonicals
from .rows import TERMS
from .terms import DEFAULT_GRAPH

#: As many lines as there never are.
_NOT_PLAIN: Final[tuple[int, int, Mapping[int, int]]] = (-1, 0, {})


def plain_text(quads: list[Quad]) -> tuple[list[Quad], bytes | None, dict[Quad, Quad]]:
    """Quads in the form that the store gives them, with their text, and what had another form.

    :return: the quads, graph by graph; their lines of N-Quads, None if these are not plain; and, by
        original quad, the stored quad, where it differs.

    >>> from pyoxigraph import BlankNode
    >>> quad = Quad(NamedNode("urn:s"), NamedNode("urn:p"), BlankNode("o"))
    >>> plain_text([quad])[1:]
    (b'<urn:s> <urn:p> _:o .\\n', {})
    """
    text = serialize(quads, format=RdfFormat.N_QUADS) or b""
    count, named, odd = plain_lines(text) or _NOT_PLAIN
    if named:
        graphs = [quad.graph_name for quad in quads]
        if named == len(quads) - graphs.count(DEFAULT_GRAPH):
            order = {graph: number for number, graph in enumerate(dict.fromkeys(graphs))}
            grouped = sorted(quads, key=lambda quad: order[quad.graph_name])
            if grouped != quads:
                return plain_text(grouped)
        else:
            count = -1
    if count != len(quads):
        known = canonical_quads(quads)
        return known, None, {old: new for old, new in zip(quads, known, strict=True) if old != new}
    if not odd:
        return quads, text, {}
    kept = [*quads]
    changed = {}
    for number, new in zip(odd, canonical_quads([quads[at] for at in odd]), strict=True):
        if new != quads[number]:
            changed[quads[number]] = kept[number] = new
    if changed:
        # The form that the store gives a well-formed literal is well-formed.
        text = serialize(kept, format=RdfFormat.N_QUADS) or b""
    return kept, text, changed


def canonical_quads(quads: Collection[Quad]) -> list[Quad]:
    """Quads with literals in the form that the store gives them, one for one.

    >>> integer = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    >>> [quad] = canonical_quads([Quad(integer, integer, Literal("01", datatype=integer))])
    >>> quad.object.value
    '1'
    """
    objects = [quad.object for quad in quads]
    known = canonicals(term for term in objects if isinstance(term, Literal))
    made = []
    for quad, term in zip(quads, objects, strict=True):
        kept = known[term] if isinstance(term, Literal) else _canonical(term)
        if kept != term:
            # To make one that is said to be in the default graph takes twice the time.
            place = () if quad.graph_name == DEFAULT_GRAPH else (quad.graph_name,)
            quad = Quad(quad.subject, quad.predicate, kept, *place)
        made.append(quad)
    return made


def _canonical(term: Any) -> Any:
    if isinstance(term, Literal):
        return canonical(term)
    return Triple(*map(_canonical, term)) if isinstance(term, Triple) else term


def check_terms(quads: Iterable[Quad]) -> None:
    """Reject terms whose text would be parsed as something else, or not at all.

    :raises TermError: there is one.
    """
    for quad in quads:
        for term in quad:
            _check(term)


def _check(term: Any) -> None:
    if isinstance(term, Triple):
        for part in term:
            _check(part)
    elif isinstance(term, NamedNode):
        TERMS.iri(term.value)
    elif isinstance(term, Literal):
        TERMS.literal("", term.language, None if term.language else term.datatype.value)
