"""Sees what changes an rdflib store, triple by triple, and can take it back.

rdflib's events tell of patterns that are removed, not of triples, and some stores send none. So the
methods of the store object are replaced for a while: whatever changes a graph of the store, SPARQL
Update included, comes to them in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, Final, TypeAlias

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.store import Store

from .journal import Triple, graph_exists, membership
from .oxigraph_patches import NativeUpdate
from .oxigraph_store import inner_store_of


class What(Enum):
    """What a change does."""

    ADD = "add"
    REMOVE = "remove"
    #: The graph was not there before.
    MAKE_GRAPH = "make graph"
    #: The graph is not there any more.
    DROP_GRAPH = "drop graph"


#: What was done, the triple, and its graph; of graphs, there is no triple.
Change: TypeAlias = tuple[What, Any, Any]

_REPLACED: Final[tuple[str, ...]] = ("add", "addN", "remove", "add_graph", "remove_graph", "update")


class StoreWatch:
    """Watches a store from :meth:`attach` to :meth:`detach`.

    A triple that is added and there already, or removed and not there, is no change.

    :ivar changes: what was done since :meth:`keep`, in order; each is noted before it is made.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._has = membership(store)
        self.changes: list[Change] = []
        self._attached = False
        self.keep()

    def attach(self) -> None:
        """Start watching.

        :raises ValueError: someone else watches the store.
        """
        store = self._store
        if isinstance(getattr(store.add, "__self__", None), StoreWatch):
            raise ValueError("the changes of this store are being recorded already")
        self._own = {name: store.__dict__[name] for name in _REPLACED if name in store.__dict__}
        self._add = store.add
        self._remove = store.remove
        self._add_graph = store.add_graph
        self._remove_graph = store.remove_graph
        for name in _REPLACED:
            setattr(store, name, getattr(self, f"_on_{name}"))
        self._attached = True

    def detach(self) -> None:
        """Stop watching."""
        if self._attached:
            self._attached = False
            for name in _REPLACED:
                delattr(self._store, name)
            self._store.__dict__.update(self._own)

    def keep(self) -> None:
        """Have what was done until now stay."""
        self.changes.clear()
        #: Names of graphs that are known to exist, and the last graph that was found to.
        self._graphs: set[Any] = set()
        self._last_graph: Any = None

    def undo(self) -> None:
        """Take back what was done since :meth:`keep`."""
        opposites: dict[What, Callable[[Any, Any], object]] = {
            What.ADD: self._remove,
            What.REMOVE: lambda triple, graph: self._add(triple, graph, False),
            What.MAKE_GRAPH: lambda _, graph: self._remove_graph(graph),
            What.DROP_GRAPH: lambda _, graph: self._add_graph(graph),
        }
        while self.changes:
            what, triple, graph = self.changes.pop()
            opposites[what](triple, graph)
        self.keep()

    def _on_add(self, triple: Triple, context: Any, quoted: bool = False) -> None:
        if not self._has(triple, context):
            # Before it is made: an interrupt may come at any point.
            if context is not self._last_graph:
                self._note_graph(context)
            self.changes.append((What.ADD, triple, context))
        self._add(triple, context, quoted)

    def _note_graph(self, graph: Any) -> None:
        """Note that a graph is not there, so that it will not be there again."""
        name = graph.identifier if isinstance(graph, Graph) else graph
        if name not in self._graphs:
            if self._store.graph_aware and not graph_exists(graph):
                self.changes.append((What.MAKE_GRAPH, None, graph))
            self._graphs.add(name)
        self._last_graph = graph

    def _on_addN(self, quads: Iterable[tuple[Any, Any, Any, Any]]) -> None:  # noqa: N802
        for subject, predicate, object_, context in quads:
            self._on_add((subject, predicate, object_), context)

    def _on_remove(self, pattern: Any, context: Any = None) -> None:
        if None not in pattern and context is not None:
            if not self._has(pattern, context):
                return
            self.changes.append((What.REMOVE, pattern, context))
        else:
            for triple, contexts in list(self._store.triples(pattern, context)):
                # A store without contexts has no other word for its only one.
                for graph in [context] if context is not None else list(contexts) or [None]:
                    self.changes.append((What.REMOVE, triple, graph))
        self._remove(pattern, context)

    def _on_add_graph(self, graph: Graph) -> None:
        self._note_graph(graph)
        self._add_graph(graph)

    def _on_remove_graph(self, graph: Graph) -> None:
        there = graph_exists(graph)
        self._on_remove((None, None, None), graph)
        if there:
            self.changes.append((What.DROP_GRAPH, None, graph))
        self._graphs.clear()
        self._last_graph = None
        self._remove_graph(graph)

    def _on_update(
        self,
        update: Any,
        initNs: Any,  # noqa: N803
        initBindings: Any,  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **settings: Any,
    ) -> None:
        """:raises NotImplementedError: it is for rdflib's own engine, which comes back here."""
        native = isinstance(update, str) and queryGraph == DATASET_DEFAULT_GRAPH_ID
        if not native or initBindings or settings or inner_store_of(self._store) is None:
            raise NotImplementedError("nothing tells what this update would change")
        prefixes = {name: str(iri) for name, iri in self._store.namespaces()} | dict(initNs)
        change = NativeUpdate(self._store, update, prefixes)
        for triple, graph in change.deletes:
            self.changes.append((What.REMOVE, triple, graph))
        for triple, graph in change.adds:
            self._note_graph(graph)
            self.changes.append((What.ADD, triple, graph))
        change.run()
