"""A store that notes the changes made through it to another store, whatever store that is, and can
undo them.

rdflib's own ``commit`` and ``rollback`` do nothing in stores in memory. A journal notes each change
before it is made, so that an exception in the middle changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from weakref import WeakKeyDictionary, ref

from rdflib import namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph, QuotedGraph
from rdflib.store import Store
from rdflib.term import Literal, Node, URIRef

from ...codec.patch.operations import OperationKind
from ...errors import ChainError
from ...patch.replay.transactions import lock_of
from ...reserved import reject_graph
from ..memory import graphs_in_memory, namespace_tables
from ..terms import name_of, read_form

if TYPE_CHECKING:
    from ...patch.recording import LogWriter

#: The logs that stores are recorded in. Their recorders may be closed, or gone.
_RECORDED: Final[WeakKeyDictionary[Store, ref[LogWriter]]] = WeakKeyDictionary()

#: A triple, as rdflib has it.
Triple: TypeAlias = tuple[Node, Node, Node]


def is_in(store: Store, triple: Any, graph: Any) -> bool:
    """Whether a graph of a store has what a pattern matches."""
    return next(iter(store.triples(triple, graph)), None) is not None


def twin(store: Store, triple: Triple, graph: Any) -> Triple | None:
    """The triple with the other of rdflib's two forms of a literal of type xsd:string, with the
    datatype and without one, if that is in a graph. In RDF 1.1 both are the same literal."""
    subject, predicate, object_ = triple
    if type(object_) is not Literal or object_.language is not None:
        return None
    if object_.datatype is not None and object_.datatype != namespace.XSD.string:
        return None
    datatype = namespace.XSD.string if object_.datatype is None else None
    other = (subject, predicate, Literal(str(object_), datatype=datatype))
    return other if is_in(store, other, graph) else None


def graph_exists(graph: Any) -> bool:
    """Whether a store has a graph, be it empty. A default graph always exists."""
    if not isinstance(graph, Graph) or graph.identifier == DATASET_DEFAULT_GRAPH_ID:
        return True
    known = graphs_in_memory(graph.store)
    if known is not None:
        return graph in known or len(graph) > 0
    return is_in(graph.store, (None, None, None), graph) or any(
        name_of(context) == graph.identifier for context in graph.store.contexts()
    )


def set_namespace(graph: Graph, name: str, iri: URIRef | None) -> None:
    """Bind a name to a namespace instead of the one that it has, or to none. In a store without
    ``memory.namespace_tables``, other names of the same IRI are removed by rdflib, and no name can
    be unbound. The caller resets the graph's namespace manager after the last change, which takes
    longer the more namespaces there are."""
    # Its first use binds rdflib's own namespaces.
    _ = graph.namespace_manager
    tables = namespace_tables(graph.store)
    if tables is None:
        if iri is not None:
            graph.bind(name, iri, override=True, replace=True)
        return
    by_name, by_iri = tables
    before = by_name.pop(name, None)
    if before is not None and by_iri.get(before) == name:
        del by_iri[before]
        by_iri.update((bound, other) for other, bound in by_name.items() if bound == before)
    if iri is not None:
        by_name[name] = iri
        by_iri[iri] = name


def mark_recorded(store: Store, writer: LogWriter) -> None:
    """Have other changes to a store rejected for as long as a log is open."""
    with lock_of(store):
        check_recorded(store)
        _RECORDED[store] = ref(writer)


def check_recorded(store: Store) -> None:
    found = _RECORDED.get(store)
    writer = None if found is None else found()
    if writer is not None and writer.is_of_this_process and not writer.closed:
        raise ChainError(
            f"the store is being recorded in the log at {writer.path}: change it through the "
            "recorder's graph only"
        )


#: What was done (ADD or DELETE), the triple, and its graph. Without a triple, the graph was made or
#: removed.
Change: TypeAlias = tuple[OperationKind, Any, Any]


class Journal(Store):
    """Passes everything on to a store, and notes what it changes; see :meth:`undo`.

    Graphs of this store correspond to the graphs of the same names in the other one. Adding an
    existing triple, or removing a missing one, is not a change.

    :param graph: a graph of the other store, for its namespaces.
    :param check: called before each change; it may raise an exception.
    :param written: whether the changes will be written: literals are then added in the form in
        which they are read back, and found in that form too.
    :ivar store: the other store.
    :ivar changes: the changes to statements and graphs, in order.
    :ivar before: the namespaces before the first change to one; None if none was changed.
    """

    def __init__(
        self,
        graph: Graph,
        check: Callable[[], object] = lambda: None,
        *,
        written: bool = False,
    ) -> None:
        super().__init__()
        self.store = store = graph.store
        self.context_aware = store.context_aware
        self.formula_aware = store.formula_aware
        self.graph_aware = store.graph_aware
        self.changes: list[Change] = []
        self.before: dict[str, URIRef] | None = None
        self._tables: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._graph = graph
        self._check = check
        self._written = written
        #: Graphs of both stores, by store, class and name.
        self._graphs: dict[tuple[Store, type[Graph], Any], Graph] = {}
        #: Names of graphs that are known to exist, and the last graph that was found to.
        self._known: set[Any] = set()
        self._last_graph: Any = None

    def add(self, triple: Triple, context: Any, quoted: bool = False) -> None:
        self._check()
        graph = self._inside(context)
        forms = self._forms(triple)
        if any(is_in(self.store, form, graph) for form in forms):
            return
        if graph is not self._last_graph:
            self._note_graph(graph)
        self.changes.append((OperationKind.ADD, forms[-1], graph))
        self.store.add(forms[-1], graph, quoted)

    def _forms(self, pattern: Any) -> list[Any]:
        """A triple or pattern; and after it, that with the form in which its literal is read back,
        if that is another one and matters here."""
        usual = read_form(pattern[2]) if self._written else pattern[2]
        return [pattern] if usual is pattern[2] else [pattern, (*pattern[:2], usual)]

    def remove(self, triple: Any, context: Any = None) -> None:
        """Remove what a pattern matches, in one graph or in all."""
        self._check()
        graph = self._inside(context)
        for form in self._forms(triple):
            self._remove(form, graph)

    def _remove(self, triple: Any, graph: Any) -> None:
        if None in triple or graph is None:
            for found, graphs in list(self.store.triples(triple, graph)):
                # A store without contexts gives none for its only graph.
                for each in [graph] if graph is not None else list(graphs) or [None]:
                    # rdflib gives the object of the pattern as the one that was found.
                    stored = found if triple[2] is None else self._stored(found, each)
                    self.changes.append((OperationKind.DELETE, stored, each))
        elif is_in(self.store, triple, graph):
            self.changes.append((OperationKind.DELETE, self._stored(triple, graph), graph))
        else:
            return
        self.store.remove(triple, graph)

    def _stored(self, triple: Triple, graph: Any) -> Triple:
        """The triple that is equal to a triple, as it is in a graph: language tags are equal in any
        case."""
        subject, predicate, object_ = triple
        if not isinstance(object_, Literal) or object_.language is None:
            return triple
        found = self.store.triples((subject, predicate, None), graph)
        return next((each for each, _ in found if each[2] == object_), triple)

    def add_graph(self, graph: Graph) -> None:
        self._check()
        graph = self._inside(graph)
        self._note_graph(graph)
        self.store.add_graph(graph)

    def remove_graph(self, graph: Graph) -> None:
        graph = self._inside(graph)
        there = graph_exists(graph)
        self.remove((None, None, None), graph)
        if there:
            self.changes.append((OperationKind.DELETE, None, graph))
        self._known.clear()
        self._last_graph = None
        self.store.remove_graph(graph)

    def _note_graph(self, graph: Any) -> None:
        """Note that a graph does not exist, so that :meth:`undo` removes it."""
        name = name_of(graph)
        if name not in self._known:
            reject_graph(str(name))
            if self.graph_aware and not graph_exists(graph):
                self.changes.append((OperationKind.ADD, None, graph))
            self._known.add(name)
        self._last_graph = graph

    def update(self, *_: Any, **__: Any) -> None:
        """Leave an update to rdflib's own engine, which calls the other methods."""
        self._check()
        raise NotImplementedError("rdflib's engine runs updates")

    def triples(
        self, triple_pattern: Any, context: Any = None
    ) -> Iterator[tuple[Any, Iterator[Any]]]:
        for form in self._forms(triple_pattern):
            for triple, graphs in self.store.triples(form, self._inside(context)):
                yield triple, (self._mapped(graph, self) for graph in graphs)

    def __len__(self, context: Any = None) -> int:
        return self.store.__len__(self._inside(context))

    def contexts(self, triple: Any = None) -> Generator[Any, None, None]:
        for graph in self.store.contexts(triple):
            yield self._mapped(graph, self)

    def prefix(self, namespace: URIRef) -> str | None:
        return self.store.prefix(namespace)

    def namespace(self, prefix: str) -> URIRef | None:
        return self.store.namespace(prefix)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        return self.store.namespaces()

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:
        self._check()
        self._note_namespaces()
        self.store.bind(prefix, namespace, override)

    def _inside(self, graph: Any) -> Any:
        return self._mapped(graph, self.store)

    def _mapped(self, graph: Any, store: Store) -> Any:
        """The graph of the same name in a store; names and None stay as they are."""
        if not isinstance(graph, Graph) or graph.store is store:
            return graph
        kind = QuotedGraph if isinstance(graph, QuotedGraph) else Graph
        key = (store, kind, graph.identifier)
        found = self._graphs.get(key)
        if found is None:
            found = self._graphs[key] = kind(store, graph.identifier)
        return found

    def _note_namespaces(self) -> None:
        # Once: a copy of them for each change would take quadratic time.
        if self.before is None:
            self.before = dict(self.namespaces())
            self._tables = [(table, dict(table)) for table in namespace_tables(self.store) or ()]

    def set_namespace(self, name: str, iri: URIRef | None) -> None:
        self._note_namespaces()
        set_namespace(self._graph, name, iri)

    def undo(self) -> None:
        """Undo all changes, the last one first. Stores without ``memory.namespace_tables`` keep
        their namespaces."""
        while self.changes:
            what, triple, graph = self.changes[-1]
            adds = what is OperationKind.ADD
            if triple is not None and adds:
                self.store.remove(triple, graph)
            elif triple is not None:
                self.store.add(triple, graph, isinstance(graph, QuotedGraph))
            elif not adds:
                self.store.add_graph(graph)
            # Others may have filled it meanwhile.
            elif not is_in(self.store, (None, None, None), graph):
                self.store.remove_graph(graph)
            self.changes.pop()
        if self.before is not None:
            for table, content in self._tables:
                table.clear()
                table.update(content)
            self._graph.namespace_manager.reset()
        self.keep()

    def net_changes(
        self, place: Callable[[Any], tuple[Any, ...] | None]
    ) -> Iterator[tuple[OperationKind, tuple[Any, ...]]]:
        """The statements that are there and were not, or were there and are not, since
        :meth:`keep`. ``place`` returns the terms that follow the triple in the statements of a
        graph; None leaves them out."""
        places: dict[int, tuple[Any, ...] | None] = {}
        # The last of an odd number of changes to a statement is its net effect.
        net: dict[tuple[Any, ...], tuple[OperationKind, Any]] = {}
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
            if net.pop(statement, None) is None:
                net[statement] = what, graph
        for statement, (what, graph) in net.items():
            triple = statement[:3]
            usual = self._forms(triple)[-1]
            # While the usual form is there, one that was there before recording does not count.
            if usual is triple or not is_in(self.store, usual, graph):
                yield what, (*usual, *statement[3:])

    def keep(self) -> None:
        """Forget all changes, so that they stay."""
        self.changes.clear()
        self._known.clear()
        self._last_graph = None
        self.before = None
