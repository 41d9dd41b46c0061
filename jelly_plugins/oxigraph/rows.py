"""Quads as rows of text: what a store transaction is gathered and written in.

A term is its text in the syntax of N-Triples, made by pyoxigraph of a term that pyoxigraph has
checked, and in the form that the store would give it: two rows are one quad in the store if and
only if they are equal. Only rows become part of a SPARQL update; that, not escaping after
the fact, is what keeps data from being read as SPARQL.

SPARQL text cannot express a blank node that exists already: such terms are :class:`Parameterised`.
So are long ones: of many rows with the same one, the text would have a copy for each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, TypeAlias

from pyoxigraph import (
    BlankNode,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    Triple,
    parse,
)

from ..codec import Kind
from ..codec.common.terms import XSD_STRING
from ..codec.text.forms import FORMS
from ..codec.text.transcoding import LONG_TERM, TermText
from ..errors import TermError
from ..reserved import private
from .canonical import canonical, canonicals
from .terms import DEFAULT_GRAPH, DirectedFactory, GraphName, describe

#: Subject, predicate, object and graph; the default graph is the empty string.
Row: TypeAlias = tuple[str, str, str, str]


class Parameterised(TermText):
    """The text of a term that must not occur in SPARQL, and the term itself."""

    __slots__ = ()


_QUOTED: Final = "<<("

#: What texts of IRIs lie between, and those of blank nodes above: not those of quoted triples,
#: literals and the default graph.
_LEAST: Final = "<="
_MOST: Final = "="

#: Characters of rows that are parsed together.
_TOGETHER: Final = 1 << 20

_PROBE: Final = NamedNode(private("probe"))
#: Makes terms as a decoder has them made.
TERMS: Final = DirectedFactory(blank_nodes="keep")


class RowFactory:
    """Makes rows, see :class:`~jelly_plugins.codec.TermFactory`. Labels of blank nodes are kept.

    A language tag with a base direction, as in ``en--ltr``, makes a literal with a base direction:
    Jelly itself has no other place for it.

    :param graph: the graph used instead of the default graph; the default graph itself by default.
    """

    def __init__(self, *, graph: GraphName = DEFAULT_GRAPH, named_graphs: bool = True) -> None:
        self.default_graph: Final = graph_text(graph)
        self.named_graphs = named_graphs

    def iri(self, value: str, /) -> str:
        node = TERMS.iri(value)
        return f"<{value}>" if len(value) < LONG_TERM - 2 else _text(node)

    def blank_node(self, label: str, /) -> str:
        return text_of(TERMS.blank_node(label))

    def literal(self, lex: str, langtag: str | None, datatype: str | None, /) -> str:
        if datatype is None:
            return _text(Literal(lex) if langtag is None else TERMS.literal(lex, langtag, None))
        form = FORMS.get(datatype)
        if form is not None and form.fullmatch(lex):
            # The store keeps these forms, which need no escapes: no term has to be made.
            return f'"{lex}"^^<{datatype}>'
        return text_of(TERMS.literal(lex, None, datatype))

    def quoted_triple(self, subject: str, predicate: str, object_: str, /) -> str:
        return _triple_text(TERMS.quoted_triple(*map(_found, (subject, predicate, object_))))

    def triple(self, terms: tuple[str, str, str], /) -> Row:
        subject, predicate, object_ = terms
        if not (subject > _LEAST and _LEAST < predicate < _MOST):
            TERMS.triple((_found(subject), _found(predicate), _found(object_)))
        return (subject, predicate, object_, self.default_graph)

    def quad(self, terms: Row, /) -> Row:
        subject, predicate, _, graph = terms
        if not (
            subject > _LEAST and _LEAST < predicate < _MOST and (graph > _LEAST or graph == "")
        ):
            s, p, o, g = map(_found, terms)
            TERMS.quad((s, p, o, g))
        if graph != self.default_graph and not self.named_graphs:
            raise TermError("a statement is in a named graph, and the target is a single one")
        return terms

    def check_graph(self, name: str, /) -> None:
        check_graph_text(name)


def has_blank_node(terms: Iterable[str]) -> bool:
    """Whether terms of a row have a blank node, in a quoted triple or outside."""
    return any(isinstance(text, Parameterised) and _has_blank_node(text.term) for text in terms)


def _has_blank_node(term: Any) -> bool:
    if isinstance(term, Triple):
        return any(map(_has_blank_node, term))
    return isinstance(term, BlankNode)


def _found(text: str) -> Any:
    """The term of a text; of a long one, the term that it was kept with."""
    if isinstance(text, Parameterised):
        return text.term
    if not text:
        return DEFAULT_GRAPH
    [quad] = quads_of([(str(_PROBE), str(_PROBE), text, "")])
    return quad.object


def check_graph_text(text: str, where: str = "") -> None:
    """Reject a term's text that cannot be a graph name.

    :param where: what an error adds after "graph name".
    """
    TERMS.check_graph(_found(text), where)


def row_of(quad: Quad) -> Row:
    """The row of a quad."""
    return (
        text_of(quad.subject),
        text_of(quad.predicate),
        text_of(quad.object),
        graph_text(quad.graph_name),
    )


def graph_text(graph: GraphName) -> str:
    """The text of a graph's name."""
    return "" if graph == DEFAULT_GRAPH else text_of(graph)


def text_of(term: Any) -> str:
    """The text of a term in the form that the store gives it."""
    if isinstance(term, BlankNode):
        return Parameterised.of(str(term), term)
    if isinstance(term, Literal) and term.language is None and term.datatype.value != XSD_STRING:
        return _text(canonical(term))
    return _triple_text(term) if isinstance(term, Triple) else _text(term)


def _triple_text(triple: Triple) -> str:
    parts = [text_of(term) for term in triple]
    text = f"<<( {' '.join(parts)} )>>"
    if any(isinstance(part, Parameterised) for part in parts):
        return Parameterised.of(text, triple)
    return text


def _text(term: Any) -> str:
    text = str(term)
    return text if len(text) <= LONG_TERM else Parameterised.of(text, term)


def quads_of(rows: Iterable[Row]) -> Iterator[Quad]:
    """The quads of rows, in their order; a few at a time, which may have long terms."""
    pending: list[str] = []
    size = 0
    for row in rows:
        s, p, o, g = row
        if any(len(term) > _TOGETHER for term in row):
            # More than Oxigraph's parser takes.
            yield from parse("".join(pending), RdfFormat.N_QUADS, lenient=True)
            pending.clear()
            size = 0
            yield Quad(*(_found(term) for term in (row if g else row[:3])))
            continue
        pending.append(f"{s} {p} {o} {g} .\n")
        size += len(pending[-1])
        if size > _TOGETHER:
            yield from parse("".join(pending), RdfFormat.N_QUADS, lenient=True)
            pending.clear()
            size = 0
    yield from parse("".join(pending), RdfFormat.N_QUADS, lenient=True)


def describe_text(text: str) -> tuple[Any, ...]:
    """Take a term apart that is text, see ``codec.Describe``. A base direction is part of the
    language tag, as :class:`RowFactory` takes it.
    """
    if text[:1] == "<" and text[:3] != _QUOTED:
        return (Kind.IRI, text[1:-1])
    term = _found(text)
    if isinstance(term, Literal) and term.direction is not None:
        direction = text[text.rindex("--") :]
        return (Kind.LITERAL, term.value, f"{term.language}{direction}", None)
    if isinstance(term, Triple):
        return (Kind.TRIPLE, *map(text_of, term))
    return describe(term)


def canonical_quads(quads: Collection[Quad]) -> list[Quad]:
    """Quads with literals in the form that the store gives them, one for one."""
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
    """Reject terms whose text would be parsed as something else, or not at all."""
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
