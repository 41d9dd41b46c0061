"""Changes to an rdflib store that can be taken back, whatever store it is.

rdflib's own ``commit`` and ``rollback`` do nothing in stores in memory. A journal notes what undoes
a change before it is made, so that an exception at any point leaves nothing behind; interrupts only
come between two changes, see ``interrupts``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from rdflib import namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import Store
from rdflib.term import Literal, Node, URIRef

from ..terms import other_form
from .interrupts import uninterrupted

#: A triple, as rdflib has it.
Triple = tuple[Node, Node, Node]


class Journal:
    """Notes how to undo changes; see :meth:`undo`.

    Each change says whether it was one: adding what is there, or removing what is not, is none. A
    literal of type xsd:string is there in either of the two forms that rdflib has for it, and is
    removed in both.

    :param store: what is changed.
    """

    def __init__(self, store: Store) -> None:
        self._twin = twin_finder(store)
        self._undo: list[Callable[[], object]] = []
        #: Names of graphs that are known to exist.
        self._graphs: set[Node] = set()
        #: Stores whose namespaces are known as they were before the first change, by id.
        self._namespaces: set[int] = set()

    @uninterrupted
    def add(self, graph: Graph, triple: Triple) -> bool:
        """Add a triple to a graph."""
        if triple in graph or self._twin(triple, graph) is not None:
            return False
        self._note_graph(graph)
        self._undo.append(lambda: graph.store.remove(triple, graph))
        graph.add(triple)
        return True

    @uninterrupted
    def remove(self, graph: Graph, triple: Triple) -> bool:
        """Remove a triple from a graph, and from no other."""
        twin = self._twin(triple, graph)
        if twin is not None:
            self._remove(graph, twin)
        if triple in graph:
            self._remove(graph, triple)
        elif twin is None:
            return False
        return True

    def _remove(self, graph: Graph, triple: Triple) -> None:
        self._note_graph(graph)
        self._undo.append(lambda: graph.store.add(triple, graph))
        graph.store.remove(triple, graph)

    @uninterrupted
    def bind(self, graph: Graph, name: str, iri: URIRef) -> None:
        """Bind a namespace, in place of what its name was bound to."""
        self._note_namespaces(graph)
        bind_beside(graph, name, iri)

    @uninterrupted
    def unbind(self, graph: Graph, name: str) -> None:
        """Take a namespace's binding away, if the store is one that can do that."""
        self._note_namespaces(graph)
        tables = _tables(graph)
        if tables is not None:
            _take_away(*tables, name)

    @uninterrupted
    def undo(self) -> None:
        """Take all changes back, the last one first."""
        while self._undo:
            self._undo[-1]()
            self._undo.pop()

    def _note_graph(self, graph: Graph) -> None:
        """Note that a graph is not there, so that it will not be there again."""
        name = graph.identifier
        if name in self._graphs:
            return
        self._graphs.add(name)
        if graph.store.graph_aware and not graph_exists(graph):
            self._undo.append(lambda: graph.store.remove_graph(graph))

    def _note_namespaces(self, graph: Graph) -> None:
        # Once: a copy of them for each change would be too much.
        if id(graph.store) not in self._namespaces:
            self._namespaces.add(id(graph.store))
            self._undo.append(namespace_restorer(graph))


def membership(store: Store) -> Callable[[Triple, Any], bool]:
    """A function that says whether a triple is in a graph of a store."""

    def has(triple: Triple, graph: Any) -> bool:
        return next(iter(store.triples(triple, graph)), None) is not None

    # rdflib's store in memory makes generators of generators for that. What its index does not
    # have at all, as most triples that are added, is in no graph.
    index = _index(store)
    if index is None:
        return has

    def has_indexed(triple: Triple, graph: Any) -> bool:
        subject, predicate, object_ = triple
        of_subject = index.get(subject)
        if of_subject is None:
            return False
        objects = of_subject.get(predicate)
        return objects is not None and object_ in objects and has(triple, graph)

    return has_indexed


class TwinFinder(Protocol):
    """Gives the triple with the other form of a triple's literal, see ``terms.other_form``, if that
    is in a graph.

    :param present: whether the triple itself is known to be there.
    """

    def __call__(self, triple: Triple, graph: Any, *, present: bool = False) -> Triple | None: ...


def twin_finder(store: Store) -> TwinFinder:
    """See :class:`TwinFinder`."""
    has = membership(store)
    index = _index(store)

    def twin(triple: Triple, graph: Any, *, present: bool = False) -> Triple | None:
        subject, predicate, object_ = triple
        if type(object_) is not Literal or object_.language is not None:
            return None
        if object_.datatype is not None and object_.datatype != namespace.XSD.string:
            return None
        if index is not None:
            objects = index.get(subject, {}).get(predicate)
            # Its own hash, which is slow to find, is in vain where there is nothing else.
            if not objects or (len(objects) == 1 and (present or object_ in objects)):
                return None
        other = other_form(object_)
        assert other is not None
        found = (subject, predicate, other)
        return found if has(found, graph) else None

    return twin


def _index(store: Store) -> dict[Any, dict[Any, dict[Any, Any]]] | None:
    """By subject and predicate, the objects of rdflib's store in memory."""
    index = getattr(store, "_Memory__spo", None) if type(store) is Memory else None
    return index if isinstance(index, dict) else None


def graph_exists(graph: Any) -> bool:
    """Whether a store has a graph, be it empty. A default graph always exists."""
    if not isinstance(graph, Graph) or graph.identifier == DATASET_DEFAULT_GRAPH_ID:
        return True
    store = graph.store
    # Most graphs have something in them, and graphs are many. rdflib's store in memory copies a
    # graph before it gives anything of it.
    if isinstance(store, Memory):
        filled = store.__len__(graph) > 0
        # To look through all graphs for each new one would take quadratic time.
        known = getattr(store, "_Memory__all_contexts", None)
        if isinstance(known, set):
            return filled or graph in known
    else:
        filled = next(iter(store.triples((None, None, None), graph)), None) is not None
    return filled or any(_name(context) == graph.identifier for context in store.contexts())


def bind_beside(graph: Graph, name: str, iri: URIRef) -> None:
    """Bind a namespace in place of what its name was bound to, and leave other names of the same
    IRI as they are, if the store is one that can do that: rdflib would take them away."""
    tables = _tables(graph)
    others: dict[Any, Any] = {}
    if tables is not None:
        by_name, by_iri = tables
        # rdflib's stores take for granted that no IRI has two names, and fail where one has.
        _take_away(by_name, by_iri, name)
        if iri in by_iri:
            others = {other: bound for other, bound in by_name.items() if bound == iri}
        for other in others:
            del by_name[other]
        by_iri.pop(iri, None)
    graph.bind(name, iri, override=True, replace=True)
    if tables is not None:
        by_name.update(others)


def _take_away(by_name: dict[Any, Any], by_iri: dict[Any, Any], name: str) -> None:
    """Take a name out of a store's tables; another name of its IRI takes its place."""
    iri = by_name.pop(name, None)
    if iri is not None and by_iri.get(iri) == name:
        del by_iri[iri]
        by_iri.update((bound, other) for other, bound in by_name.items() if bound == iri)


def namespace_restorer(graph: Graph) -> Callable[[], None]:
    """A function that gives a graph the namespaces back that it has now, if its store is one that
    can do that."""
    tables = _tables(graph)
    before = [dict(table) for table in tables or ()]

    def restore() -> None:
        for table, content in zip(tables or (), before, strict=True):
            table.clear()
            table.update(content)
        graph.namespace_manager.reset()

    return restore


def _name(context: Any) -> Any:
    return context.identifier if isinstance(context, Graph) else context


def _tables(graph: Graph) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """A store's namespaces by name and its names by namespace, where it has such tables.

    rdflib knows no way to unbind, so that its stores have to be looked into: its own in memory, and
    oxrdflib's.
    """
    store = graph.store
    pairs = [("_namespace_for_prefix", "_prefix_for_namespace")]
    pairs += [
        (f"_{kind.__name__}__namespace", f"_{kind.__name__}__prefix")
        for kind in type(store).__mro__
    ]
    for first, second in pairs:
        by_name, by_iri = getattr(store, first, None), getattr(store, second, None)
        if isinstance(by_name, dict) and isinstance(by_iri, dict):
            return by_name, by_iri
    return None
