"""Quads as text, all at once, where the text is certain to be equivalent to the quads.

pyoxigraph writes quads far faster than their terms can be had one by one. But what it writes of
terms that it has never checked (``pyoxigraph.parse`` with ``lenient=True`` gives such) may be read
as something else: an IRI with ``>`` in it, as another statement. Or not at all: a relative IRI. So
text is used only if it is plain: lines of three terms that are certainly well-formed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

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
from .terms import DEFAULT_GRAPH, GraphName

#: N-Triples by the graph that they are in.
PlainText: TypeAlias = Mapping[GraphName, bytes]

#: A plain line whose object is a graph's name, if the name is plain.
_NAMED: Final = "<urn:s> <urn:p> {} .\n"


def plain_text(quads: list[Quad]) -> tuple[list[Quad], PlainText | None, dict[Quad, Quad]]:
    """Quads in the form that the store gives them, with their text, and what had another form.

    :return: the quads, graph by graph; their text, None if it is not plain; and, by original quad,
        the stored quad, where it differs.

    >>> from pyoxigraph import BlankNode
    >>> quad = Quad(NamedNode("urn:s"), NamedNode("urn:p"), BlankNode("o"))
    >>> plain_text([quad])[1:]
    ({<DefaultGraph>: b'<urn:s> <urn:p> _:o .\\n'}, {})
    """
    kept: list[Quad] = []
    text: dict[GraphName, bytes] = {}
    changed: dict[Quad, Quad] = {}
    graphs = dict.fromkeys(quad.graph_name for quad in quads)
    by_graph: dict[GraphName, list[Quad]] = {graph: [] for graph in graphs}
    if len(graphs) == 1:
        by_graph = dict.fromkeys(graphs, quads)
    else:
        for quad in quads:
            by_graph[quad.graph_name].append(quad)
    for graph, members in by_graph.items():
        lines, odd = _plain_lines(members, graph)
        if odd and lines is not None:
            known = canonical_quads([members[number] for number in odd])
            others = {
                number: quad
                for number, quad in zip(odd, known, strict=True)
                if quad != members[number]
            }
            if others:
                changed.update((members[number], quad) for number, quad in others.items())
                members = [others.get(number, quad) for number, quad in enumerate(members)]
                new, _ = _plain_lines([*others.values()], graph)
                lines = new and _exchanged(lines, [odd[number] for number in others], new)
        if lines is None:
            known = canonical_quads(quads)
            return known, None, {q: k for q, k in zip(quads, known, strict=True) if q != k}
        kept += members
        text[graph] = lines
    return kept, text, changed


def _plain_lines(quads: list[Quad], graph: GraphName) -> tuple[bytes | None, Mapping[int, int]]:
    """The lines of quads of a graph, without its name; None if they are not plain. And the numbers
    of those that may have literals in another form than the store would give them, with the places
    where they begin."""
    # Quads that are in no named graph are written as lines of three terms too.
    default = graph == DEFAULT_GRAPH
    statements = quads if default else [quad.triple for quad in quads]
    text = serialize(statements, format=RdfFormat.N_QUADS) or b""
    found = plain_lines(text)
    named = default or plain_lines(_NAMED.format(graph).encode())
    if not named or found is None or found[0] != len(quads):
        return None, {}
    return text, found[1]


def _exchanged(text: bytes, starts: list[int], others: bytes) -> bytes:
    """Lines, with replacements for those that begin there."""
    parts: list[bytes] = []
    end = 0
    for start, line in zip(starts, others.splitlines(keepends=True), strict=True):
        parts += (text[end:start], line)
        end = text.index(b"\n", start) + 1
    return b"".join((*parts, text[end:]))


def lines_of(text: PlainText) -> bytes:
    """Text as N-Quads."""
    if len(text) == 1 and DEFAULT_GRAPH in text:
        return text[DEFAULT_GRAPH]
    parts = []
    for graph, lines in text.items():
        if graph != DEFAULT_GRAPH:
            # Line ends within literals are escaped.
            lines = lines.replace(b" .\n", f" {graph} .\n".encode())
        parts.append(lines)
    return b"".join(parts)


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
