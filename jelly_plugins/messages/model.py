"""What a message is, and other libraries' terms made of it.

Reference: RDF Messages, section "RDF Messages": an RDF dataset, which may be empty; its blank nodes
are its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..backends import get_backend
from ..codec import (
    DEFAULT_GRAPH,
    BlankNode,
    DefaultGraph,
    Describe,
    Iri,
    Literal,
    Quad,
    TermFactory,
    Triple,
)
from ..codec.common.terms import convert
from ..codec.common.terms import describe as describe_generic
from ..errors import TermError, shown
from ..io.streams import GENERIC

if TYPE_CHECKING:
    import pyoxigraph
    import rdflib


@dataclass(slots=True)
class Message:
    """A message of a log: its quads, and where it came from. Two with the same contents are equal.

    :ivar quads: in the order of the log. Labels of blank nodes mean nothing outside the message.
    :ivar index: number of the message in its log, from 0.
    :ivar source: name of the log.
    :ivar line: number of the line of its first statement, or of the delimiter that ends it if there
        is none, from 1; None in Jelly.
    :ivar metadata: of its frame, in Jelly.

    >>> message = Message([Quad(Iri("urn:s"), Iri("urn:p"), BlankNode("o"), DEFAULT_GRAPH)])
    >>> len(message), message.graph().value().__class__.__name__
    (1, 'NoneType')
    """

    quads: list[Quad]
    index: int = field(default=0, compare=False)
    source: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    metadata: Mapping[str, bytes] | None = field(default=None, compare=False)

    def __len__(self) -> int:
        return len(self.quads)

    def __iter__(self) -> Iterator[Quad]:
        return iter(self.quads)

    def graph(self) -> rdflib.Graph:
        """The message as a new rdflib graph, with new blank nodes.

        :raises TermError: it has named graphs, or terms that rdflib cannot hold.
        :raises MissingExtraError: rdflib is not installed.
        """
        if any(quad.graph != DEFAULT_GRAPH for quad in self.quads):
            raise TermError(
                "the message has named graphs, which a Graph cannot hold: use dataset()"
            )
        factory = get_backend("rdflib").factory()
        import rdflib

        graph = rdflib.Graph()
        graph.addN((s, p, o, graph) for s, p, o, _ in _made(self.quads, factory))
        return graph

    def dataset(self) -> rdflib.Dataset:
        """The message as a new rdflib dataset, with new blank nodes.

        :raises TermError: it has terms that rdflib cannot hold.
        :raises MissingExtraError: rdflib is not installed.
        """
        factory = get_backend("rdflib").factory()
        import rdflib

        dataset = rdflib.Dataset()
        dataset.addN((s, p, o, dataset.graph(g)) for s, p, o, g in _made(self.quads, factory))
        return dataset

    def oxigraph(self) -> list[pyoxigraph.Quad]:
        """The message's quads in pyoxigraph's terms, with new blank nodes.

        :raises TermError: it has terms that Oxigraph cannot hold.
        :raises MissingExtraError: pyoxigraph is not installed.
        """
        return list(_made(self.quads, get_backend("oxigraph").factory()))


def _made(quads: Iterable[Quad], factory: TermFactory[Any]) -> Iterator[Any]:
    """Quads in the terms of a factory."""
    known: dict[Any, Any] = {DEFAULT_GRAPH: factory.default_graph}

    def make(term: Any) -> Any:
        made = known.get(term)
        if made is None:
            made = known[term] = convert(term, factory)
        return made

    for subject, predicate, object_, graph in quads:
        yield factory.quad((make(subject), make(predicate), make(object_), make(graph)))


#: What can be written as a message: one that was read, an rdflib graph or dataset, or statements in
#: generic terms, rdflib's or pyoxigraph's.
Writable: TypeAlias = Message | Iterable[Any]

_GENERIC_TERMS: Final = (Iri, BlankNode, Literal, Triple, DefaultGraph)
#: Backends by the library that a term is of.
_BACKENDS: Final = {"pyoxigraph": "oxigraph", "rdflib": "rdflib"}


def message_of(item: Writable) -> Message:
    """Make a message of a value that :func:`write_messages` accepts.

    :raises TermError: a statement is invalid, or has terms that Jelly cannot express.
    """
    if isinstance(item, Message):
        return item
    rdflib = sys.modules.get("rdflib")
    if rdflib is not None and isinstance(item, rdflib.Graph):
        return Message(_of_rdflib(item))
    try:
        statements = iter(item)
    except TypeError:
        raise TermError(f"{shown(item)} is not a message") from None
    return Message([_generic_quad(statement) for statement in statements])


def _of_rdflib(graph: Any) -> list[Quad]:
    from rdflib import Dataset
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph

    describe = get_backend("rdflib").describe
    if not isinstance(graph, ConjunctiveGraph):
        return [Quad._make((*_generic_terms(triple, describe), DEFAULT_GRAPH)) for triple in graph]
    default: set[Any] = {None, DATASET_DEFAULT_GRAPH_ID}
    if not isinstance(graph, Dataset):
        default.add(graph.default_context.identifier)
    quads = []
    for *triple, context in graph.quads((None, None, None, None)):
        name = getattr(context, "identifier", context)
        terms = _generic_terms(triple, describe)
        place = DEFAULT_GRAPH if name in default else convert(name, GENERIC, describe)
        quads.append(Quad._make((*terms, place)))
    return quads


def _generic_quad(statement: Any) -> Quad:
    if type(statement) is Quad:
        return statement
    try:
        terms = tuple(statement)
    except TypeError:
        raise TermError(f"{shown(statement)} is not a statement") from None
    if len(terms) not in (3, 4):
        raise TermError(f"a statement has three or four terms, not {len(terms)}")
    if not all(isinstance(term, _GENERIC_TERMS) for term in terms):
        terms = tuple(_generic_terms(terms, _describe_for(terms[0])))
    graph = terms[3] if len(terms) == 4 else DEFAULT_GRAPH
    return Quad(terms[0], terms[1], terms[2], graph)


def _describe_for(term: Any) -> Describe:
    """The function that takes apart terms of the same library as a term."""
    backend = _BACKENDS.get(type(term).__module__.partition(".")[0])
    return describe_generic if backend is None else get_backend(backend).describe


def _generic_terms(terms: Iterable[Any], describe: Describe) -> list[Any]:
    return [convert(term, GENERIC, describe) for term in terms]
