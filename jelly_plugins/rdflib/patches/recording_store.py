"""A store that records the changes made through it, over another store."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

from rdflib.graph import Graph, QuotedGraph
from rdflib.store import Store
from rdflib.term import URIRef

from .journal import Journal


class RecordingStore(Store):
    """Passes everything on to a store, and its changes through a journal.

    Graphs of this store correspond to the graphs of the same names in the other one.

    :param check: called before each change; it may raise an exception.
    :ivar journal: the changes that were made through this store.
    """

    def __init__(self, journal: Journal, check: Callable[[], object]) -> None:
        super().__init__()
        self.journal = journal
        self._store = store = journal.store
        self._check = check
        self.context_aware = store.context_aware
        self.formula_aware = store.formula_aware
        self.graph_aware = store.graph_aware
        #: Graphs of both stores, by store, class and name.
        self._graphs: dict[tuple[Store, type[Graph], Any], Graph] = {}

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
        self._check()
        self.journal.add(triple, self._inside(context), quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Remove what a pattern matches, in one graph or in all."""
        self._check()
        if None in triple or context is None:
            self.journal.remove_matching(triple, self._inside(context))
        else:
            self.journal.remove(triple, self._inside(context))

    def add_graph(self, graph: Graph) -> None:
        self._check()
        self.journal.add_graph(self._inside(graph))

    def remove_graph(self, graph: Graph) -> None:
        self._check()
        self.journal.remove_graph(self._inside(graph))

    def update(self, *_: Any, **__: Any) -> None:
        """Leave an update to rdflib's own engine, which calls the other methods.

        :raises NotImplementedError: always.
        """
        self._check()
        raise NotImplementedError("rdflib's engine runs updates")

    def triples(
        self, triple_pattern: Any, context: Any = None
    ) -> Iterator[tuple[Any, Iterator[Any]]]:
        """The triples that a pattern matches, each with its graphs."""
        for triple, graphs in self._store.triples(triple_pattern, self._inside(context)):
            yield triple, (self._mapped(graph, self) for graph in graphs)

    def __len__(self, context: Any = None) -> int:
        return self._store.__len__(self._inside(context))

    def contexts(self, triple: Any = None) -> Generator[Any, None, None]:
        """All graphs, or those that have a triple."""
        for graph in self._store.contexts(triple):
            yield self._mapped(graph, self)

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._check()
        self.journal.note_namespaces()
        self._store.bind(prefix, namespace, override)

    def prefix(self, namespace: URIRef) -> str | None:
        return self._store.prefix(namespace)

    def namespace(self, prefix: str) -> URIRef | None:
        return self._store.namespace(prefix)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return self._store.namespaces()

    def _inside(self, graph: Any) -> Any:
        """A graph of the other store."""
        return self._mapped(graph, self._store)

    def _mapped(self, graph: Any, store: Store) -> Any:
        """The graph of the same name in a store; names and None stay as they are."""
        if not isinstance(graph, Graph):
            return graph
        kind = QuotedGraph if isinstance(graph, QuotedGraph) else Graph
        key = (store, kind, graph.identifier)
        found = self._graphs.get(key)
        if found is None:
            found = self._graphs[key] = kind(store, graph.identifier)
        return found
