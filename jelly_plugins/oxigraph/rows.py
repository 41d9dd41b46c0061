"""Quads as rows of text: what a store transaction is gathered and written in.

A term is its text in the syntax of N-Triples, made by pyoxigraph of a term that pyoxigraph has
checked, and in the form that the store would give it: two rows are one quad in the store if and
only if they are equal. Only rows become part of a SPARQL update; that, not escaping after
the fact, is what keeps data from being read as SPARQL.

SPARQL text cannot express a blank node that exists already: such terms are :class:`Parameterised`.
So are long ones: of many rows with the same one, the text would have a copy for each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
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
from ..codec.common.positions import GRAPH, OBJECT, POSITIONS
from ..codec.common.terms import XSD_STRING
from ..codec.text.forms import FORMS, is_canonical
from ..codec.text.transcoding import LONG_TERM, TermText
from ..errors import TermError
from ..reserved import private
from .canonical import canonical
from .terms import DEFAULT_GRAPH, DirectedFactory, GraphName, describe

#: Subject, predicate, object and graph; the default graph is the empty string.
Row: TypeAlias = tuple[str, str, str, str]


class Parameterised(TermText):
    """The text of a term that must not occur in SPARQL, and the term itself."""

    __slots__ = ()


#: How the text of a term may begin in each position.
_OPENINGS: Final = (("<", "_"), ("<",), ("<", "_", '"'), ("<", "_", ""))
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
    :param named_graphs: whether there may be any other.

    >>> factory = RowFactory()
    >>> literal = factory.literal("o", None, None)
    >>> factory.triple((factory.iri("urn:s"), factory.iri("urn:p"), literal))
    ('<urn:s>', '<urn:p>', '"o"', '')
    """

    def __init__(self, *, graph: GraphName = DEFAULT_GRAPH, named_graphs: bool = True) -> None:
        self.default_graph: Final = graph_text(graph)
        self.named_graphs = named_graphs

    def iri(self, value: str, /) -> str:
        try:
            NamedNode(value)
        except ValueError:
            # The constructor's error has the reason.
            return str(TERMS.iri(value))
        text = f"<{value}>"
        return text if len(text) <= LONG_TERM else Parameterised.of(text, NamedNode(value))

    def blank_node(self, label: str, /) -> str:
        node = TERMS.blank_node(label)
        return Parameterised.of(str(node), node)

    def literal(self, lex: str, langtag: str | None, datatype: str | None, /) -> str:
        text = self._literal(lex, langtag, datatype)
        if len(text) <= LONG_TERM:
            return text
        if langtag is None:
            return Parameterised.of(text, canonical(TERMS.literal(lex, None, datatype)))
        return Parameterised.of(text, TERMS.literal(lex, langtag, None))

    def _literal(self, lex: str, langtag: str | None, datatype: str | None) -> str:
        if datatype is None:
            return str(Literal(lex)) + ("" if langtag is None else _tag(langtag))
        if (form := FORMS.get(datatype)) is not None:
            if form.fullmatch(lex):
                return f'"{lex}"^^<{datatype}>'
        elif is_canonical(lex, datatype):
            return str(Literal(lex)) + _type(datatype)
        return str(canonical(TERMS.literal(lex, None, datatype)))

    def quoted_triple(self, subject: str, predicate: str, object_: str, /) -> str:
        terms = (subject, predicate, object_)
        _check(terms, " of a quoted triple")
        text = f"<<( {subject} {predicate} {object_} )>>"
        if any(isinstance(term, Parameterised) for term in terms):
            return Parameterised.of(text, _term_of(text))
        return text

    def triple(self, terms: tuple[str, str, str], /) -> Row:
        subject, predicate, object_ = terms
        if not (subject > _LEAST and _LEAST < predicate < _MOST):
            _check(terms, "")
        return (subject, predicate, object_, self.default_graph)

    def quad(self, terms: Row, /) -> Row:
        subject, predicate, _, graph = terms
        if not (
            subject > _LEAST and _LEAST < predicate < _MOST and (graph > _LEAST or graph == "")
        ):
            _check(terms, "")
        if graph != self.default_graph and not self.named_graphs:
            raise TermError("a statement is in a named graph, and the target is a single one")
        return terms

    def check_graph(self, name: str, /) -> None:
        check_graph_text(name, "")


def has_blank_node(terms: Iterable[str]) -> bool:
    """Whether terms of a row have a blank node, in a quoted triple or outside."""
    return any(isinstance(text, Parameterised) and _has_blank_node(text.term) for text in terms)


def _has_blank_node(term: Any) -> bool:
    if isinstance(term, Triple):
        return any(map(_has_blank_node, term))
    return isinstance(term, BlankNode)


def _term_of(text: str) -> Any:
    """The term of a text written by pyoxigraph."""
    [quad] = quads_of([(str(_PROBE), str(_PROBE), text, "")])
    return quad.object


@lru_cache(maxsize=1024)
def _tag(langtag: str) -> str:
    """What a language tag, with a base direction or not, adds to a lexical form.

    :raises TermError: Oxigraph rejects it.
    """
    return str(TERMS.literal("", langtag, None))[2:]


@lru_cache(maxsize=1024)
def _type(datatype: str) -> str:
    """What a datatype adds to a lexical form.

    :raises TermError: Oxigraph rejects it.
    """
    return str(TERMS.literal("", None, datatype))[2:]


def _check(terms: tuple[str, ...], where: str) -> None:
    """Reject terms of a kind that Oxigraph does not allow in their position.

    :raises TermError: it is so.
    """
    for position, term in enumerate(terms):
        quoted = term.startswith(_QUOTED)
        if term[:1] in _OPENINGS[position] and not (quoted and position != OBJECT):
            continue
        kind = "a quoted triple" if quoted else "a literal" if term[:1] == '"' else "a blank node"
        role = "graph name" if position == GRAPH else POSITIONS[position]
        raise TermError(f"Oxigraph cannot hold {kind} as {role}{where}")


def check_graph_text(text: str, where: str) -> None:
    """Reject a term's text that cannot be a graph name.

    :raises TermError: it is so.
    """
    _check(("<>", "<>", "<>", text), where)


def row_of(quad: Quad) -> Row:
    """The row of a quad.

    >>> row_of(Quad(BlankNode("b"), NamedNode("urn:p"), Literal("x", language="EN")))
    ('_:b', '<urn:p>', '"x"@en', '')
    """
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
    if isinstance(term, Literal):
        typed = term.language is None and term.datatype.value != XSD_STRING
        term = canonical(term) if typed else term
        return _text(term)
    if isinstance(term, Triple):
        subject, predicate, object_ = map(text_of, term)
        text = f"<<( {subject} {predicate} {object_} )>>"
        parameterised = any(
            isinstance(each, Parameterised) for each in (subject, predicate, object_)
        )
        return Parameterised.of(text, term) if parameterised else text
    return _text(term)


def _text(term: Any) -> str:
    text = str(term)
    return text if len(text) <= LONG_TERM else Parameterised.of(text, term)


def _found(text: str) -> Any:
    """The term of a text; of a long one, the term that it was kept with."""
    return text.term if isinstance(text, Parameterised) else _term_of(text)


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

    >>> describe_text('"x"@en--ltr')
    (<Kind.LITERAL: 2>, 'x', 'en--ltr', None)
    """
    if text[:1] == "<" and text[:3] != _QUOTED:
        return (Kind.IRI, text[1:-1])
    if isinstance(text, Parameterised):
        term: Any = text.term
    elif text:
        term = _term_of(text)
    else:
        return (Kind.DEFAULT_GRAPH,)
    if isinstance(term, Literal) and term.direction is not None:
        direction = text[text.rindex("--") :]
        return (Kind.LITERAL, term.value, f"{term.language}{direction}", None)
    if isinstance(term, Triple):
        return (Kind.TRIPLE, *map(text_of, term))
    return describe(term)
