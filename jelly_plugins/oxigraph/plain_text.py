"""Quads as text, all at once, where the text is certain to be equivalent to the quads.

pyoxigraph writes quads far faster than their terms can be had one by one. But what it writes of
terms that it has never checked (``pyoxigraph.parse`` with ``lenient=True`` gives such) may be read
as something else: an IRI with ``>`` in it, as another statement. Or not at all: a relative IRI. So
text is used only if it is plain: lines of three terms that are certainly well-formed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
    serialize,
)

from ..codec import plain_lines
from ..codec.text.plain import IRI, NODE
from ..reserved import BOOKKEEPING_IRI
from .canonical import canonical, canonicals
from .rows import TERMS, Row, graph_text, literal_text, text_of
from .terms import DEFAULT_GRAPH, GraphName

#: N-Triples by the graph that they are in.
PlainText: TypeAlias = Mapping[GraphName, bytes]

#: Statements from which on it is asked how long they are; those that say it; and the bytes of each
#: where they are long.
_MANY: Final = 100
_SAMPLE: Final = 20
_WIDE: Final = 500
_GRAPH: Final = re.compile(b"%b|%b" % (IRI, NODE))


def plain_text(
    quads: list[Quad], graphs: set[GraphName]
) -> tuple[list[Quad], PlainText | None, dict[Quad, Quad]]:
    """Quads in the form that the store gives them, with their text, and what had another form.

    :param graphs: the graphs that they are in, or more.
    :return: the quads, graph by graph; their text, None if it is not plain; and, by original quad,
        the stored quad, where it differs.

    >>> quad = Quad(NamedNode("urn:s"), NamedNode("urn:p"), BlankNode("o"))
    >>> plain_text([quad], {DEFAULT_GRAPH})[1:]
    ({<DefaultGraph>: b'<urn:s> <urn:p> _:o .\\n'}, {})
    """
    kept: list[Quad] = []
    text: dict[GraphName, bytes] = {}
    changed: dict[Quad, Quad] = {}
    for graph, members in _by_graph(quads, graphs).items():
        lines, odd = _plain_lines(members, graph)
        known = canonical_quads([members[number] for number in odd])
        others = {
            number: quad for number, quad in zip(odd, known, strict=True) if quad != members[number]
        }
        if others and lines is not None:
            changed.update((members[number], quad) for number, quad in others.items())
            members = members.copy()
            for number, quad in others.items():
                members[number] = quad
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
    text = _serialized(quads if default else [quad.triple for quad in quads])
    found = plain_lines(text)
    named = default or _GRAPH.fullmatch(str(graph).encode())
    if not named or found is None or found[0] != len(quads):
        return None, {}
    return text, found[1]


def _serialized(statements: Sequence[Quad] | Sequence[Triple]) -> bytes:
    """Statements of three terms as N-Triples."""
    if len(statements) > _MANY:
        text = serialize(statements[:_SAMPLE], format=RdfFormat.N_QUADS) or b""
        if len(text) > _WIDE * _SAMPLE:
            # Oxigraph takes its time over each character of a literal.
            return "".join(map(_line, statements)).encode()
    return serialize(statements, format=RdfFormat.N_QUADS) or b""


def _line(statement: Quad | Triple) -> str:
    term = statement.object
    text = literal_text(term) if isinstance(term, Literal) else str(term)
    return f"{statement.subject} {statement.predicate} {text} .\n"


def _exchanged(text: bytes, starts: list[int], others: bytes) -> bytes:
    """Lines, with replacements for those that begin there."""
    parts: list[bytes] = []
    end = 0
    for start, line in zip(starts, others.splitlines(keepends=True), strict=True):
        parts += (text[end:start], line)
        end = text.index(b"\n", start) + 1
    return b"".join((*parts, text[end:]))


def _by_graph(quads: list[Quad], graphs: set[GraphName]) -> Mapping[GraphName, list[Quad]]:
    if graphs <= {DEFAULT_GRAPH}:
        return {DEFAULT_GRAPH: quads}
    by_graph: dict[GraphName, list[Quad]] = {}
    for quad in quads:
        by_graph.setdefault(quad.graph_name, []).append(quad)
    return by_graph


def line_of(quad: Quad) -> bytes | None:
    """The line of N-Quads of an ordinary quad: its text is plain, it has no blank nodes, and its
    literal is in the form that the store gives it. None for any other quad.

    >>> line_of(Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("o"), NamedNode("urn:g")))
    b'<urn:s> <urn:p> "o" <urn:g> .\\n'
    """
    line = statement = str(quad)
    graph = quad.graph_name
    if graph != DEFAULT_GRAPH:
        name = str(graph)
        if isinstance(graph, BlankNode) or not _GRAPH.fullmatch(name.encode()):
            return None
        if BOOKKEEPING_IRI in name:
            return None
        statement = line.removesuffix(f" {name}")
    text = f"{statement} .\n".encode()
    if plain_lines(text) != (1, {}) or b"_:" in text:
        return None
    return text if graph == DEFAULT_GRAPH else f"{line} .\n".encode()


def lines_of(text: PlainText) -> bytes:
    """Text as N-Quads."""
    parts = []
    for graph, lines in text.items():
        if graph != DEFAULT_GRAPH:
            # Line ends within literals are escaped.
            lines = lines.replace(b" .\n", f" {graph} .\n".encode())
        parts.append(lines)
    return b"".join(parts)


def has_blank_nodes(text: PlainText) -> bool:
    """Whether there may be blank nodes in a text."""
    return any(b"_:" in lines or isinstance(graph, BlankNode) for graph, lines in text.items())


def data_of(text: PlainText) -> str:
    """Text without blank nodes as the inside of SPARQL's ``INSERT DATA`` or ``DELETE DATA``."""
    return "".join(
        lines.decode() if graph == DEFAULT_GRAPH else f"GRAPH {graph} {{\n{lines.decode()}}}\n"
        for graph, lines in text.items()
    )


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


def _of_graph(graph: GraphName, quads: Collection[Quad], text: PlainText) -> list[Quad]:
    """The quads of a graph, in the order of its lines."""
    if len(text) == 1:
        return list(quads)
    return [quad for quad in quads if quad.graph_name == graph]


def rows_of(quads: Collection[Quad], text: PlainText) -> list[Row]:
    """The rows of quads whose text is plain, and whose literals are as the store has them; in any
    order."""
    rows: list[Row] = []
    for graph, lines in text.items():
        name = graph_text(graph)
        members = _of_graph(graph, quads, text)
        for quad, line in zip(members, lines.decode().split("\n")[:-1], strict=True):
            # Without the dot; spaces occur only between terms and in a literal.
            subject, predicate, object_ = line[:-2].split(" ", 2)
            if subject[0] == "_":
                subject = text_of(quad.subject)
            if object_[0] == "_":
                object_ = text_of(quad.object)
            rows.append((subject, predicate, object_, name))
    return rows


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
