"""A store as what logs are replayed into."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from pyoxigraph import Quad, Store

from ...codec.common.limits import over
from ...codec.patch.operations import AnyOperation, OperationKind
from ...codec.text.transcoding import LONG_TERM
from ...patch.replay.positions import Position
from ...patch.replay.settings import ReplaySettings
from ...patch.replay.target import lock_of, moved
from ...patch.replay.transactions import NetChanges
from ...reserved import reject_graph
from ..rows import (
    Parameterised,
    Row,
    check_graph_text,
    graph_text,
    has_blank_node,
    quads_of,
    row_of,
)
from ..terms import DEFAULT_GRAPH, GraphName, check_graph
from .bookkeeping import (
    Recording,
    check_recorded,
    namespace_row,
    namespace_rows,
    position_in,
    position_quad,
    position_rows,
    positions,
)
from .transaction import Update


class StoreTarget:
    """A store that logs are replayed into; see ``patch.replay.target.Target``.

    :param graph: the graph used instead of the default graph.
    :param settings: whether each operation on a statement must change something, and whether each
        deletion with a blank node must; ``limits.frame_expansion`` bounds what the rows of a
        transaction repeat of long terms.
    :param recording: the store's mark, if the log is the one that was recorded. The store may have
        more of it already, so that deletions need not match.
    :raises TypeError: the graph is not a graph name.
    """

    text = staticmethod(str)

    def __init__(
        self,
        store: Store,
        settings: ReplaySettings,
        *,
        graph: GraphName = DEFAULT_GRAPH,
        recording: Recording | None = None,
    ) -> None:
        check_graph(graph)
        self._store = store
        self._settings = settings
        self._recording = recording
        self.graph: Final = graph_text(graph)
        reject_graph(self.graph, what="what is to be changed")
        #: The quad of the position that the store was moved to here.
        self._reached: Quad | None = None

    def positions(self) -> list[Position]:
        """The store's positions in this graph."""
        return [each for each in positions(self._store) if each.graph == self.graph]

    def apply(self, changes: NetChanges, before: Position | None, after: Position | None) -> int:
        """Change data, namespaces and position in one transaction. The changes are used up.

        :return: number of deletions of statements that were not there.
        :raises ChainError: another process has moved the store's position, or the store is being
            recorded in another log.
        :raises ConflictError: an operation changes nothing, which is not allowed.
        :raises LimitError: the rows repeat too much of long terms.
        :raises TermError: a statement is in the graph of the bookkeeping.
        """
        self._check_repeated(changes)
        for graph in {row[3] for row in changes.net}:
            reject_graph(graph)
        # Another replay into the store waits here, and then finds that it has moved.
        with lock_of(self._store):
            check_recorded(self._store, self._recording)
            old: set[Row] = set()
            new: set[Row] = set()
            if after is not None:
                quad = position_quad(after)
                old = self._left(before, after)
                new = {row_of(quad)}
            missed = 0
            if self._recording is None:
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
            if after is not None:
                self._reached = quad
        return missed

    def _has_blank_node(self, row: Row) -> bool:
        # The log does not have the name of the graph that its default graph is applied to.
        return has_blank_node(row if row[3] != self.graph else row[:3])

    def _check_repeated(self, changes: NetChanges) -> None:
        """Bound the characters of long terms that rows have again, of which a store makes copies.

        :raises LimitError: there are more than ``frame_expansion``.
        """
        limits = self._settings.limits
        if changes.characters <= limits.frame_expansion:
            return
        known: set[str] = set()
        count = 0
        for term in chain.from_iterable(changes.net):
            if isinstance(term, Parameterised) and len(term) > LONG_TERM:
                count += len(term) if term in known else 0
                known.add(term)
        if count > limits.frame_expansion:
            what = "the number of characters of long terms that a transaction repeats"
            raise over(limits, "frame_expansion", count, what)

    def _left(self, before: Position | None, after: Position) -> set[Row]:
        """The row of the position that is left.

        :raises ChainError: it is not ``before``.
        """
        if self._reached is not None and self._reached in self._store:
            # The code that moves the store removes it. A look at all that the store has of a log
            # takes longer the more it had before: Oxigraph's memory keeps what was deleted for a
            # while.
            return {row_of(self._reached)}
        found = position_in(self._store, after.log, self.graph)
        if found != before:
            raise moved("store", after.log, before, found, by="another replay or recorder")
        return position_rows(self._store, after.log, self.graph)

    def _bindings(self, operations: list[AnyOperation]) -> tuple[set[Row], set[Row]]:
        """Rows that go and rows that come for operations on namespaces.

        :raises TermError: one is declared for the graph of the bookkeeping.
        """
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
