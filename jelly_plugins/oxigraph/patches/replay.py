"""Patch logs into Oxigraph stores: each transaction is one of the store's, and happens once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Unpack

from pyoxigraph import Store

from ...codec import Limits
from ...codec.common.limits import over
from ...codec.patch.operations import AnyOperation, OperationKind
from ...codec.text.transcoding import LONG_TERM
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
from ...reserved import BOOKKEEPING_TEXT, reject_graph
from ..rows import (
    Parameterised,
    Row,
    RowFactory,
    check_graph_text,
    graph_text,
    has_blank_node,
    quads_of,
    row_of,
)
from ..terms import DEFAULT_GRAPH, GraphName, check_graph, check_store
from .store import (
    Recording,
    Update,
    check_recorded,
    namespace_row,
    namespace_rows,
    position_in,
    position_quad,
    positions,
)

_GRAPH: Final = itemgetter(3)


def replay(
    store: Store,
    log: Source | Iterable[Patch],
    settings: ReplaySettings = DEFAULT,
    *,
    graph: GraphName = DEFAULT_GRAPH,
    named_graphs: bool = True,
    **options: Unpack[ReplayOptions],
) -> Replayed:
    """Apply a log of patches to a store, from the store's position in it.

    Each transaction of a patch (TX to TC; operations outside of any form one too) is one
    transaction of the store, whatever its size: after any error, and after the end of the process,
    the store has all of it or none. Consecutive small ones are applied together, see
    ``commit_every``. Aborted transactions (TA) have no effect. The position in the log is kept in
    the store and moves in the same transaction, so that running the same again continues after the
    last one. It is in a separate graph, as are the namespaces: see
    :mod:`~jelly_plugins.oxigraph.patches.store`.

    For how the store changes terms, see :mod:`jelly_plugins.oxigraph`; labels of blank nodes
    are kept, as far as Oxigraph takes them. Operations on two forms that the store holds as one
    literal, such as ``"01"^^xsd:integer`` and ``"1"^^xsd:integer``, are operations on one quad.

    One transaction is held in memory. If several replays apply a log to one store at a time, one of
    them continues; the others end with an error, and no patch is applied twice. A store that is
    being recorded is changed by its recorder only, see :func:`.record`.

    :param log: path, URL, open binary file or bytes, Jelly-Patch or RDF Patch, compressed or not;
        or patches in generic terms.
    :param settings: see :class:`~jelly_plugins.patch.replay.transactions.ReplaySettings`.
    :param graph: the graph to use instead of the default graph. The position belongs to this
        graph: the same log goes into another graph from its beginning.
    :param named_graphs: whether patches may have statements in other graphs.
    :param options: fields of the settings that differ.
    :raises ChainError: a patch does not follow the previous one, or the log does not follow what
        was applied; nothing was applied of that patch and of those after it. Or an id names two
        patches; the log has no patch ``until``, or the store is past it; another replay has moved
        on; or the store is being recorded.
    :raises ConflictError: with ``check_blank_nodes`` a deletion, or with ``check_unmatched`` an
        operation, changes nothing; nothing was applied of its transaction.
    :raises JellyError: the log cannot be read, or has data that the store cannot hold. What was
        applied before stays, and the message names the patch. Or a setting is invalid.
    :raises TypeError: ``graph`` is not a pyoxigraph term.
    :raises OSError: the store cannot be written.

    >>> from pyoxigraph import Store
    >>> log = b"H id <urn:uuid:1> .\\nTX .\\nA <urn:s> <urn:p> _:o .\\nTC .\\n"
    >>> store = Store()
    >>> replay(store, log).transactions, replay(store, log).transactions
    (1, 0)
    """
    check_store(store)
    check_graph(graph)
    settings = replace(settings, **options)
    target = StoreTarget(store, settings, graph=graph)
    if not settings.dry_run:
        check_recorded(store)
    factory = RowFactory(graph=graph, named_graphs=named_graphs)
    return replay_log(target, log, factory, settings)


class StoreTarget:
    """A store that logs are replayed into. With its ``recording`` mark, the log is the one that was
    recorded, and deletions need not match, because the store may have more of it already."""

    text = staticmethod(str)

    def __init__(
        self,
        store: Store,
        settings: ReplaySettings,
        *,
        graph: GraphName = DEFAULT_GRAPH,
        recording: Recording | None = None,
    ) -> None:
        self._store = store
        self._settings = settings
        self._recording = recording
        self.graph: Final = graph_text(graph)
        if self.graph == BOOKKEEPING_TEXT:
            reject_graph(self.graph, what="what is to be changed")
        #: The store's positions, by log, as they were read or written here.
        self._known: dict[str, Position] = {}

    def positions(self) -> list[Position]:
        found = [each for each in positions(self._store) if each.graph == self.graph]
        self._known = {each.log: each for each in found}
        return found

    def apply(self, changes: NetChanges, position: Position | None) -> int:
        if changes.characters > self._settings.limits.frame_expansion:
            _check_repeated(changes, self._settings.limits)
        if BOOKKEEPING_TEXT in map(_GRAPH, changes.net):
            reject_graph(BOOKKEEPING_TEXT)
        # Another replay into the store waits here, and then finds that it has moved.
        with lock_of(self._store):
            check_recorded(self._store, self._recording)
            old: set[Row] = set()
            new: set[Row] = set()
            if position is not None:
                log = position.log
                known = self._known.get(log)
                quad = None if known is None else position_quad(known)
                # A look at all that the store has of a log takes longer the more it had before:
                # Oxigraph's memory keeps what was deleted for a while.
                known_there = quad is not None and quad in self._store
                if not known_there and position_in(self._store, log, self.graph) != known:
                    raise moved(log)
                old = set() if quad is None else {row_of(quad)}
                new = {row_of(position_quad(position))}
            missed = 0
            if self._recording is None and (changes.first or changes.idle):
                missed = changes.unmatched(
                    (quad in self._store for quad in quads_of(changes.first)),
                    self._settings,
                    has_blank_node=self._has_blank_node,
                    text=lambda row: " ".join(filter(None, row)),
                )
            if changes.namespaces:
                unbound, bound = self._bindings(changes.namespaces)
                old |= unbound
                new |= bound
            update = Update()
            net = changes.net
            update.change(
                chain((row for row, there in net.items() if not there), old - new),
                chain((row for row, there in net.items() if there), new - old),
            )
            # The text of the update has them now, and takes enough memory.
            net.clear()
            update.run(self._store)
            if position is not None:
                self._known[position.log] = position
        return missed

    def _has_blank_node(self, row: Row) -> bool:
        # The log does not have the name of the graph that its default graph is applied to.
        return has_blank_node(row if row[3] != self.graph else row[:3])

    def _bindings(self, operations: list[AnyOperation]) -> tuple[set[Row], set[Row]]:
        """Rows that go and rows that come for operations on namespaces."""
        found: dict[tuple[str, str], Any] = {}
        for kind, (name, iri, graph) in operations:
            adds = kind is OperationKind.ADD_NAMESPACE
            name_of_graph = self.graph if graph is None else graph
            check_graph_text(name_of_graph, " of a namespace")
            found[name_of_graph, name] = iri if adds else None
        old: set[Row] = set()
        new: set[Row] = set()
        for (graph, name), iri in found.items():
            reject_graph(graph, what="a namespace")
            old |= namespace_rows(self._store, graph, name)
            if iri is not None:
                new.add(namespace_row(graph, name, iri))
        return old - new, new - old


def _check_repeated(changes: NetChanges, limits: Limits) -> None:
    """Bound the characters of long terms that rows have again, of which a store makes copies."""
    known: set[str] = set()
    count = 0
    for term in chain.from_iterable(changes.net):
        if isinstance(term, Parameterised) and len(term) > LONG_TERM:
            count += len(term) if term in known else 0
            known.add(term)
    if count > limits.frame_expansion:
        what = "the number of characters of long terms that a transaction repeats"
        raise over(limits, "frame_expansion", count, what)
