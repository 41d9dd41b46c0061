"""Changes to an rdflib store that can be undone, whatever store it is.

rdflib's own ``commit`` and ``rollback`` do nothing in stores in memory. A journal notes each change
before it is made, so that an exception in the middle changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, TypeAlias

from rdflib.graph import Graph, QuotedGraph
from rdflib.store import Store
from rdflib.term import Literal, URIRef

from ...reserved import reject_graph
from ..memory import namespace_tables
from ..terms import read_form
from .stores import Triple, graph_exists, is_in, name_of, set_namespace


class ChangeKind(Enum):
    """What a change does."""

    ADD = "add"
    REMOVE = "remove"
    #: The graph did not exist before.
    MAKE_GRAPH = "make graph"
    #: The graph does not exist any more.
    DROP_GRAPH = "drop graph"


#: What was done, the triple, and its graph; changes of graphs have no triple.
Change: TypeAlias = tuple[ChangeKind, Any, Any]


class Journal:
    """Changes a store, and notes what it changes; see :meth:`undo`.

    Adding an existing triple, or removing a missing one, is not a change.

    :param graph: a graph of the store, for its namespaces.
    :ivar store: what is changed.
    :ivar changes: the changes to statements and graphs, in order.
    :ivar namespaces: the namespaces before the first change to one; None if none was changed.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.store: Store = graph.store
        self.changes: list[Change] = []
        #: Names of graphs that are known to exist, and the last graph that was found to.
        self._graphs: set[Any] = set()
        self._last_graph: Any = None
        self.namespaces: dict[str, URIRef] | None = None
        self._tables: list[tuple[dict[Any, Any], dict[Any, Any]]] = []

    def add(self, triple: Triple, graph: Any, quoted: bool = False) -> bool:
        """Add a triple to a graph.

        :return: whether it was not there.
        :raises TermError: the graph is reserved.
        """
        if is_in(self.store, triple, graph):
            return False
        if graph is not self._last_graph:
            self.note_graph(graph)
        self.changes.append((ChangeKind.ADD, triple, graph))
        self.store.add(triple, graph, quoted)
        return True

    def remove(self, triple: Triple, graph: Any) -> bool:
        """Remove a triple from a graph.

        :return: whether it was there.
        """
        if not is_in(self.store, triple, graph):
            return False
        self.changes.append((ChangeKind.REMOVE, self._stored(triple, graph), graph))
        self.store.remove(triple, graph)
        return True

    def _stored(self, triple: Triple, graph: Any) -> Triple:
        """The triple that is equal to a triple, as it is in a graph: language tags are equal in any
        case."""
        subject, predicate, object_ = triple
        if not isinstance(object_, Literal) or object_.language is None:
            return triple
        found = self.store.triples((subject, predicate, None), graph)
        return next((each for each, _ in found if each[2] == object_), triple)

    def remove_matching(self, pattern: Any, graph: Any) -> None:
        """Remove what a pattern matches in a graph, or in all graphs if it is None."""
        for triple, graphs in list(self.store.triples(pattern, graph)):
            # A store without contexts gives none for its only graph.
            for each in [graph] if graph is not None else list(graphs) or [None]:
                self.changes.append((ChangeKind.REMOVE, triple, each))
        self.store.remove(pattern, graph)

    def add_graph(self, graph: Graph) -> None:
        """Add a graph, which may be empty."""
        self.note_graph(graph)
        self.store.add_graph(graph)

    def remove_graph(self, graph: Graph) -> None:
        """Remove a graph with its statements."""
        there = graph_exists(graph)
        self.remove_matching((None, None, None), graph)
        if there:
            self.changes.append((ChangeKind.DROP_GRAPH, None, graph))
        self._graphs.clear()
        self._last_graph = None
        self.store.remove_graph(graph)

    def note_graph(self, graph: Any) -> None:
        """Note that a graph does not exist, so that :meth:`undo` removes it.

        :raises TermError: it is reserved.
        """
        name = name_of(graph)
        if name not in self._graphs:
            reject_graph(str(name))
            if self.store.graph_aware and not graph_exists(graph):
                self.changes.append((ChangeKind.MAKE_GRAPH, None, graph))
            self._graphs.add(name)
        self._last_graph = graph

    def note_namespaces(self) -> None:
        """Note the namespaces before they change."""
        # Once: a copy of them for each change would take quadratic time.
        if self.namespaces is None:
            self.namespaces = dict(self.store.namespaces())
            self._tables = [(table, dict(table)) for table in namespace_tables(self.store) or ()]

    def set_namespace(self, name: str, iri: URIRef | None) -> None:
        """Bind a name, or unbind it; see ``stores.set_namespace``."""
        self.note_namespaces()
        set_namespace(self._graph, name, iri)

    def undo(self) -> None:
        """Undo all changes, the last one first. Stores without ``memory.namespace_tables`` keep
        their namespaces."""
        while self.changes:
            what, triple, graph = self.changes[-1]
            if what is ChangeKind.ADD:
                self.store.remove(triple, graph)
            elif what is ChangeKind.REMOVE:
                self.store.add(triple, graph, isinstance(graph, QuotedGraph))
            elif what is ChangeKind.DROP_GRAPH:
                self.store.add_graph(graph)
            # Others may have filled it meanwhile.
            elif not is_in(self.store, (None, None, None), graph):
                self.store.remove_graph(graph)
            self.changes.pop()
        if self.namespaces is not None:
            for table, content in self._tables:
                table.clear()
                table.update(content)
            self._graph.namespace_manager.reset()
        self.keep()

    def net_changes(
        self, place: Callable[[Any], tuple[Any, ...] | None]
    ) -> Iterator[tuple[ChangeKind, tuple[Any, ...]]]:
        """The statements that are there and were not (ADD), or were there and are not (REMOVE),
        since :meth:`keep`.

        Literals are in the form in which they are read back. Two forms of one literal count as one:
        with and without the datatype xsd:string, and a form that rdflib's constructor would change
        beside the form that it gives.

        For each subject and predicate of a literal that has changed, all objects are looked at.

        :param place: gets the name of a graph, and returns the terms that follow the triple in its
            statements; None leaves them out.
        """
        places: dict[int, tuple[Any, ...] | None] = {}
        # The last of an odd number of changes to a statement is its net effect.
        changed: dict[tuple[Any, ...], tuple[ChangeKind, Any]] = {}
        for what, triple, graph in self.changes:
            if triple is None:
                continue
            # Graphs live as long as they are noted here, and their names are slow to find.
            if id(graph) not in places:
                places[id(graph)] = place(name_of(graph))
            extra = places[id(graph)]
            if extra is None:
                continue
            statement = (*triple, *extra)
            if changed.pop(statement, None) is None:
                changed[statement] = what, graph
        net: dict[tuple[Any, ...], set[ChangeKind]] = {}
        #: What objects that have not changed are read back as.
        others: dict[tuple[Any, ...], set[Any]] = {}
        for statement, (what, graph) in changed.items():
            (subject, predicate, object_), named = statement[:3], statement[3:]
            if type(object_) is Literal and object_.language is None:
                key = (subject, predicate, *named)
                if key not in others:
                    found = self.store.triples((subject, predicate, None), graph)
                    others[key] = {
                        read_form(triple[2])
                        for triple, _ in found
                        if (*triple, *named) not in changed
                    }
                object_ = read_form(object_)
                if object_ in others[key]:
                    continue
                statement = (subject, predicate, object_, *named)
            net.setdefault(statement, set()).add(what)
        for statement, kinds in net.items():
            # A form that takes the place of another changes nothing.
            if len(kinds) == 1:
                yield next(iter(kinds)), statement

    def keep(self) -> None:
        """Forget all changes, so that they stay."""
        self.changes.clear()
        self._graphs.clear()
        self._last_graph = None
        self.namespaces = None
