"""Sees what changes an Oxigraph store (package oxrdflib) through rdflib, quad by quad.

What is noted are the store's own quads: rdflib gives literals other forms than the store, and one
literal of the store can be said in several ways in rdflib.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad
from pyoxigraph import Triple as QuotedTriple
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import BNode, Literal, Node, URIRef

from ...backends import get_backend
from ...errors import TermError
from ..oxigraph_store import inner_store_of, name_in_store
from ..terms import describe as describe_rdflib
from .interrupts import uninterrupted
from .journal import Triple
from .watch import STATEMENTS, ChangeKind, StoreWatch

_BACKEND: Any = get_backend("oxigraph")
_TERMS: Any = _BACKEND.factory(blank_nodes="keep")


class OxigraphWatch(StoreWatch):
    """See :class:`.StoreWatch`; changes have a quad in the place of a triple, and no graph.

    Its statements are in pyoxigraph's terms.
    """

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self._inner: Any = inner_store_of(store)

    @staticmethod
    def describe(term: Any) -> tuple[Any, ...]:
        """Take a term apart: one of pyoxigraph's or, of a namespace, one of rdflib's."""
        description: tuple[Any, ...]
        known = term is None or isinstance(term, Node)
        description = describe_rdflib(term) if known else _BACKEND.describe(term)
        return description

    def name_of(self, graph: Any) -> Any:
        """The name of a graph in the store."""
        return name_in_store(graph.identifier if isinstance(graph, Graph) else graph)

    def changed(
        self, place: Callable[[Any], tuple[Any, ...] | None]
    ) -> Iterator[tuple[ChangeKind, tuple[Any, ...]]]:
        """See :meth:`.StoreWatch.changed`. Literals are as the store has them."""
        places: dict[Any, tuple[Any, ...] | None] = {}
        before: dict[Quad, ChangeKind] = {}
        after: dict[Quad, ChangeKind] = {}
        for what, quad, _ in self.changes:
            if what in STATEMENTS:
                before.setdefault(quad, what)
                after[quad] = what
        for quad, what in after.items():
            if before[quad] is not what:
                continue
            name = quad.graph_name
            if name not in places:
                places[name] = place(name)
            behind = places[name]
            if behind is not None:
                yield what, (quad.subject, quad.predicate, quad.object, *behind)

    def _undo_change(self, what: ChangeKind, quad: Any, graph: Any) -> None:
        if what is ChangeKind.ADD:
            self._inner.remove(quad)
        elif what is ChangeKind.REMOVE:
            self._inner.add(quad)
        else:
            super()._undo_change(what, quad, graph)

    @uninterrupted
    def _on_add(self, triple: Triple, context: Any, quoted: bool = False) -> None:
        subject, predicate, object_ = map(_term, triple)
        quad = Quad(subject, predicate, object_, self.name_of(context))
        if isinstance(triple[2], Literal) and triple[2].datatype is not None:
            [quad] = _BACKEND.canonical_quads([quad])
        with self.lock:
            if quad not in self._inner:
                if context is not self._last_graph:
                    self._note_graph(context)
                self.changes.append((ChangeKind.ADD, quad, None))
            self._add(triple, context, quoted)

    @uninterrupted
    def _on_remove(self, pattern: Any, context: Any = None) -> None:
        terms = [None if term is None else _term(term) for term in pattern]
        name = None if context is None else self.name_of(context)
        with self.lock:
            self._note_all(ChangeKind.REMOVE, self._inner.quads_for_pattern(*terms, name))
            self._remove(pattern, context)

    @uninterrupted
    def _on_update(
        self,
        update: Any,
        initNs: Any,  # noqa: N803
        initBindings: Any,  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **settings: Any,
    ) -> None:
        """Run the store's own engine.

        :raises NotImplementedError: it is for rdflib's engine, which comes back here.
        :raises SyntaxError: the update is none.
        :raises RuntimeError: it fails.
        :raises TermError: it is to change what rdflib cannot hold.
        """
        native = isinstance(update, str) and queryGraph == DATASET_DEFAULT_GRAPH_ID
        if not native or initBindings or settings:
            super()._on_update(update)
        prefixes = {name: str(iri) for name, iri in self._store.namespaces()} | dict(initNs)
        with self.lock:
            transaction = _BACKEND.transaction(self._inner)
            transaction.update(update, prefixes=prefixes)
            deletes, adds = transaction.staged()
            for quad in adds.quads:
                if isinstance(quad.object, QuotedTriple):
                    raise TermError("rdflib cannot hold quoted triples")
            for name in {quad.graph_name for quad in adds.quads}:
                self._note_graph(Graph(self._store, _identifier(name)))
            self._note_all(ChangeKind.REMOVE, deletes.quads)
            self._note_all(ChangeKind.ADD, adds.quads)
            transaction.make(deletes, adds)

    def _note_all(self, what: ChangeKind, quads: Iterable[Quad]) -> None:
        self.changes += [(what, quad, None) for quad in quads]


def _term(term: Any) -> Any:
    """A term of rdflib as the store would have it.

    :raises TermError: it cannot.
    """
    return _literal(term) if isinstance(term, Literal) else _node(term)


def _literal(term: Literal) -> Any:
    datatype = None if term.datatype is None else str(term.datatype)
    return _TERMS.literal(str(term), term.language, datatype)


@lru_cache(maxsize=4096)
def _node(term: Any) -> Any:
    if isinstance(term, URIRef):
        return _TERMS.iri(str(term))
    if isinstance(term, BNode):
        return BlankNode(str(term))
    raise TermError(f"{type(term).__name__} {str(term)[:80]!r} is not an RDF term")


def _identifier(name: NamedNode | BlankNode | DefaultGraph) -> URIRef | BNode:
    if isinstance(name, DefaultGraph):
        return DATASET_DEFAULT_GRAPH_ID
    return BNode(name.value) if isinstance(name, BlankNode) else URIRef(name.value)
