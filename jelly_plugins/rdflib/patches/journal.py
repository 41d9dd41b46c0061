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


#: Objects of a subject and predicate in a graph from which on the unusual ones are remembered.
_MANY: Final = 1000


class Journal(Store):
    """Passes everything on to a store, and notes what it changes; see :meth:`undo`.

    Graphs of this store correspond to the graphs of the same names in the other one. Adding an
    existing triple, or removing a missing one, is not a change.

    :param graph: a graph of the other store, for its namespaces.
    :param check: called before each change; it may raise an exception.
    :ivar store: the other store.
    :ivar changes: the changes to statements and graphs, in order.
    :ivar before: the namespaces before the first change to one; None if none was changed.
    """

    def __init__(self, graph: Graph, check: Callable[[], object] = lambda: None) -> None:
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
        #: Graphs of both stores, by store, class and name.
        self._graphs: dict[tuple[Store, type[Graph], Any], Graph] = {}
        #: Names of graphs that are known to exist, and the last graph that was found to.
        self._known: set[Any] = set()
        self._last_graph: Any = None
        #: Literals that are read back as others, by subject, predicate and graph, where there are
        #: so many objects that to list them for each net change would take quadratic time.
        self._unusual: dict[tuple[Any, ...], list[Any]] = {}

    def add(self, triple: Triple, context: Any, quoted: bool = False) -> None:
        self._check()
        graph = self._inside(context)
        if is_in(self.store, triple, graph):
            return
        if graph is not self._last_graph:
            self._note_graph(graph)
        self.changes.append((OperationKind.ADD, triple, graph))
        self.store.add(triple, graph, quoted)

    def remove(self, triple: Any, context: Any = None) -> None:
        """Remove what a pattern matches, in one graph or in all."""
        self._check()
        graph = self._inside(context)
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
        for triple, graphs in self.store.triples(triple_pattern, self._inside(context)):
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
        self._unusual.clear()
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
        :meth:`keep`. Literals are in the form in which they are read back. Two forms of one literal
        count as one: with and without the datatype xsd:string, and a form that rdflib's constructor
        would change beside the form that it gives. ``place`` returns the terms that follow the
        triple in the statements of a graph; None leaves them out."""
        places: dict[int, tuple[Any, ...] | None] = {}
        # The last of an odd number of changes to a statement is its net effect.
        changed: dict[tuple[Any, ...], tuple[OperationKind, Any]] = {}
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
        net: dict[tuple[Any, ...], set[OperationKind]] = {}
        unusual: dict[tuple[Any, ...], list[Any]] = {}
        for statement, (what, graph) in changed.items():
            (subject, predicate, object_), named = statement[:3], statement[3:]
            if type(object_) is Literal and object_.language is None:
                key = (subject, predicate, *named)
                if key not in unusual:
                    unusual[key] = self._unusual_literals(key, graph)
                usual = read_form(object_)
                forms = [each for each in unusual[key] if read_form(each) == usual]
                if usual is not object_:
                    self._unusual.pop(key, None)
                    if is_in(self.store, (subject, predicate, usual), graph):
                        forms.append(usual)
                if any((subject, predicate, form, *named) not in changed for form in forms):
                    continue
                statement = (subject, predicate, usual, *named)
            net.setdefault(statement, set()).add(what)
        for statement, kinds in net.items():
            # A form that takes the place of another changes nothing.
            if len(kinds) == 1:
                yield next(iter(kinds)), statement

    def _unusual_literals(self, key: tuple[Any, ...], graph: Any) -> list[Any]:
        """The literals of a subject and predicate in a graph that are read back as others."""
        if key in self._unusual:
            return self._unusual[key]
        count = 0
        unusual = []
        for (_, _, each), _ in self.store.triples((*key[:2], None), graph):
            count += 1
            if read_form(each) is not each:
                unusual.append(each)
        if count > _MANY:
            self._unusual[key] = unusual
        return unusual

    def keep(self) -> None:
        """Forget all changes, so that they stay."""
        self.changes.clear()
        self._known.clear()
        self._last_graph = None
        self.before = None
