"""Patch logs into rdflib: each transaction whole or not at all, and once.

A graph over an Oxigraph store (package oxrdflib) is left to the backend of that name, which has
transactions. All other stores are changed through rdflib's interface with a journal that takes
changes back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, Unpack
from weakref import WeakKeyDictionary

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Graph
from rdflib.store import Store
from rdflib.term import BNode, Node, URIRef

from ...backends import get_backend
from ...codec.patch.operations import Namespace, OperationKind
from ...errors import JellyError, OptionsError, TermError
from ...io.sources import Source
from ...patch import Patch
from ...patch.replay.replay import Position, Replayed, replay_log
from ...patch.replay.transactions import (
    DEFAULT,
    NetChanges,
    ReplayOptions,
    ReplaySettings,
    lock_of,
    moved,
)
from ...reserved import reject_graph
from ..namespaces import DeclaredNamespaces
from ..oxigraph_store import graph_name, inner_store
from ..terms import RdflibFactory, default_graph, reject_unwritable
from .journal import Journal, check_recorded, set_namespace, twin

#: Positions of graphs, by their names, for as long as their stores live.
_POSITIONS: Final[WeakKeyDictionary[Store, dict[str, dict[str, Position]]]] = WeakKeyDictionary()


def positions(graph: Graph) -> list[Position]:
    """The positions of a graph: in the logs that were replayed into it or recorded from it by this
    process or, over an Oxigraph store, by any. For a Dataset or ConjunctiveGraph, in those that
    were replayed into or recorded from all of it."""
    main = main_graph(graph)
    store = inner_store(graph)
    if store is None:
        return list(known_positions(main).values())
    backend: Any = get_backend("oxigraph")
    text = graph_text(main)
    return [each for each in backend.positions(store) if each.graph == text]


def set_position(graph: Graph, position: Position) -> None:
    """Set a graph's position in a log, replacing the known one. The position may be that of
    another graph.

    :raises ChainError: the graph is being recorded.
    """
    store = inner_store(graph)
    if store is not None:
        backend: Any = get_backend("oxigraph")
        backend.set_position(store, replace(position, graph=graph_text(main_graph(graph))))
        return
    with lock_of(graph.store):
        check_recorded(graph.store)
        keep_position(graph, position)


def keep_position(graph: Graph, position: Position) -> None:
    """Set the position of a graph that may be being recorded; not over an Oxigraph store."""
    main = main_graph(graph)
    with lock_of(main.store):
        known_positions(main)[position.log] = replace(position, graph=graph_text(main))


def known_positions(graph: Graph) -> dict[str, Position]:
    """Positions of a graph whose store does not keep them, by log."""
    return _POSITIONS.setdefault(graph.store, {}).setdefault(graph_text(graph), {})


def graph_text(graph: Graph) -> str:
    """A graph's name as positions have it."""
    name = graph.identifier
    return "" if name == DATASET_DEFAULT_GRAPH_ID else _text(name)


def main_graph(graph: Graph) -> Graph:
    """The graph used instead of the default graph."""
    reject_unwritable(graph)
    if isinstance(graph.store, Journal):
        raise OptionsError(
            "the changes of this graph are being recorded: use the graph given to record()"
        )
    return default_graph(graph) if isinstance(graph, ConjunctiveGraph) else graph


def replay(
    graph: Graph,
    log: Source | Iterable[Patch],
    settings: ReplaySettings = DEFAULT,
    **options: Unpack[ReplayOptions],
) -> Replayed:
    """Apply a log of patches to a graph, from its store's position in it.

    Each transaction is applied whole or not at all: on any error the graph, its namespaces
    included, is as it was before that transaction. Blank node labels are kept. The state in which
    an interrupt (Ctrl-C) leaves a graph in memory is undefined: rebuild it from the log. Over an
    Oxigraph store an interrupted transaction is applied or not at all; the next replay binds
    namespaces that the graph may then lack.

    The position is known for as long as the graph's store object lives, and is part of the result;
    for a store that lives longer than that, see :func:`set_position`. Over an Oxigraph store it is
    in the store itself. Into another graph of the store, the same log is applied from its
    beginning.

    Over an Oxigraph store literals keep the lexical forms of the log, so that its deletions match
    what other programs have stored. rdflib lists such a literal in the form that its constructor
    gives (``"5"`` for ``" 5 "^^xsd:integer``), and then cannot remove it: remove it by SPARQL
    Update, or replay into a store in memory.

    A literal of type xsd:string is one literal, whether rdflib has that datatype for it or none:
    a literal that exists in one form is not added in the other, and is deleted in both. All others
    are made by rdflib's constructor: ``"01"^^xsd:int`` and ``"1"^^xsd:int`` are one literal unless
    ``rdflib.NORMALIZE_LITERALS`` is off.

    :param graph: a Graph, which takes statements without a graph and those of the default graph; or
        a Dataset or ConjunctiveGraph, which take all.
    :param log: path, URL, open binary file or bytes, Jelly-Patch or RDF Patch text, compressed or
        not; or patches in generic terms.
    :param settings: see :class:`~jelly_plugins.patch.replay.transactions.ReplaySettings`.
    :param options: fields of the settings that differ.

    See :func:`jelly_plugins.oxigraph.replay` for what is raised.

    >>> graph = Graph()
    >>> log = b"H id <urn:1> .\\nTX .\\nA <urn:s> <urn:p> <urn:o> .\\nTC .\\n"
    >>> replay(graph, log).transactions, replay(graph, log).transactions, len(graph)
    (1, 0, 1)
    """
    settings = replace(settings, **options)
    whole = isinstance(graph, ConjunctiveGraph)
    into = main_graph(graph)
    store = inner_store(graph)
    if store is not None:
        backend: Any = get_backend("oxigraph")
        place = graph_name(into)
        with namespaces_of(into, store):
            replayed: Replayed = backend.replay(
                store, log, settings, graph=place, named_graphs=whole
            )
        return replayed
    named = whole or into.identifier == DATASET_DEFAULT_GRAPH_ID
    if settings.commit_every is None:
        # It has no transactions of its own that would cost less together.
        settings = replace(settings, commit_every=1)
    factory = RdflibFactory(blank_nodes="keep", named_graphs=named)
    if named:
        # Triples and quads of the default graph are the same statements.
        check = factory.triple
        factory.triple = lambda terms: (*check(terms), DATASET_DEFAULT_GRAPH_ID)
    return replay_log(GraphTarget(into, settings), log, factory, settings)


@contextmanager
def namespaces_of(graph: Graph, store: Any) -> Iterator[None]:
    """Bind in a graph the namespaces that patches declare in its Oxigraph store in the block."""
    backend: Any = get_backend("oxigraph")
    place = graph_name(graph)
    before = backend.namespaces(store, place)
    try:
        yield
    finally:
        now = backend.namespaces(store, place)
        for prefix in before.keys() - now.keys():
            set_namespace(graph, prefix, None)
        for prefix, iri in now.items():
            set_namespace(graph, prefix, URIRef(iri))
        if before or now:
            graph.namespace_manager.reset()


def _text(term: Node) -> str:
    if isinstance(term, URIRef):
        return f"<{term}>"
    return f"_:{term}" if isinstance(term, BNode) else term.n3()


class GraphTarget:
    """A graph that logs are replayed into."""

    text = staticmethod(_text)

    def __init__(self, graph: Graph, settings: ReplaySettings) -> None:
        reject_graph(str(graph.identifier), what="what is to be changed")
        self.graph: Final = graph_text(graph)
        self._graph = graph
        self._settings = settings
        self._graphs: dict[Any, Graph] = {None: graph, DATASET_DEFAULT_GRAPH_ID: graph}
        #: The graph's positions, by log; and as they were read or written here.
        self._positions = known_positions(graph)
        self._known: dict[str, Position] = {}

    def positions(self) -> list[Position]:
        self._known = dict(self._positions)
        return list(self._known.values())

    def apply(self, changes: NetChanges, position: Position | None) -> int:
        # Another replay into the store waits here, and then finds that it has moved.
        with lock_of(self._graph.store):
            check_recorded(self._graph.store)
            if position is not None:
                log = position.log
                if self._known.get(log) != self._positions.get(log):
                    raise moved(log)
            journal = Journal(self._graph)
            try:
                missed = self._change(journal, changes)
                for kind, value in changes.namespaces:
                    self._namespace(journal, kind, value)
                if changes.namespaces:
                    self._graph.namespace_manager.reset()
                if position is not None:
                    self._known[position.log] = self._positions[position.log] = position
            except BaseException as error:
                journal.undo()
                if isinstance(error, ValueError) and not isinstance(error, JellyError):
                    raise TermError(f"the store rejects a statement: {error}") from error
                raise
        return missed

    def _change(self, journal: Journal, changes: NetChanges) -> int:
        """Change the statements; return the number of deletions of those that were not there."""
        # Whether each statement was there before.
        known: dict[Any, bool] = {}
        for stays in (False, True):
            for value, there in changes.net.items():
                if there is not stays:
                    continue
                triple, graph = value[:3], self._named(value[3:])
                # A literal of type xsd:string is there in either of rdflib's two forms for it.
                other = twin(self._graph.store, triple, graph)
                size = len(journal.changes)
                if not there:
                    journal.remove(triple, graph)
                    if other is not None:
                        journal.remove(other, graph)
                elif other is None:
                    journal.add(triple, graph)
                known[value] = (len(journal.changes) > size) is not there
        return changes.unmatched(
            map(known.__getitem__, changes.first),
            self._settings,
            has_blank_node=lambda value: any(isinstance(term, BNode) for term in value),
            text=lambda value: " ".join(map(_text, value)),
        )

    def _namespace(
        self, journal: Journal, kind: OperationKind, namespace: Namespace[Any, Any]
    ) -> None:
        if namespace.graph is not None:
            reject_graph(str(namespace.graph), what="a namespace")
        if kind is OperationKind.DELETE_NAMESPACE:
            journal.set_namespace(namespace.name, None)
            return
        declared = DeclaredNamespaces()
        declared.add(namespace.name, namespace.iri)
        journal.set_namespace(namespace.name, namespace.iri)

    def _named(self, name: tuple[Any, ...]) -> Graph:
        key = name[0] if name else None
        graph = self._graphs.get(key)
        if graph is None:
            reject_graph(str(key))
            default = self._graph
            graph = Graph(default.store, key, namespace_manager=default.namespace_manager)
            self._graphs[key] = graph
        return graph
