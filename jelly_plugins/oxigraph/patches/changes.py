"""The changes of one transaction, gathered as rows, and a store as what logs are replayed into."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from pyoxigraph import Quad, Store

from ...codec.common.limits import over
from ...codec.patch.operations import AnyOperation, Namespace, OperationKind
from ...codec.text.transcoding import LONG_TERM
from ...patch.replay.position import Position
from ...patch.replay.settings import ReplaySettings
from ...patch.replay.target import TransactionChanges, idle, lock_of, moved, unmatched
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

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


class NetChanges(TransactionChanges):
    """The net effect of operations on statements: the last one on a quad counts.

    :param graph: text of the name of the graph used instead of the default graph.
    :param strict: whether each operation must change something.
    :ivar net: whether a row is there in the end; of all rows that were touched. :meth:`write` uses
        them up.
    :ivar namespaces: operations on namespaces, in order.
    :ivar operations: number of operations.
    """

    operations = 0

    def __init__(self, graph: str = "", *, strict: bool = False) -> None:
        self._graph = graph
        self._strict = strict
        self.net: dict[Row, bool] = {}
        #: Whether the first operation on a row adds it. If not strict, of those that delete it.
        self._first: dict[Row, bool] = {}
        #: Number of operations that change nothing: if not strict, of deletions.
        self._idle = 0
        #: Of these the first, and the first with a blank node.
        self._idle_row: tuple[OperationKind, Row] | None = None
        self._unmatched_node: Row | None = None
        self.namespaces: list[AnyOperation] = []
        #: Of the rows; None until it is computed.
        self._characters: int | None = None

    @property
    def characters(self) -> int:
        """Number of characters of the rows; a term counts as often as it is there."""
        if self._characters is None:
            self._characters = sum(map(len, chain.from_iterable(self.net)))
        return self._characters

    def gather(self, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Take operations on statements and namespaces, up to the first row of another kind."""
        net, first, loose = self.net, self._first, not self._strict
        count = 0
        found = None
        for row in rows:
            kind, value = row
            if kind is _ADD and loose:
                net[value] = True
            elif kind is _ADD or kind is _DELETE:
                adds = kind is _ADD
                there = net.get(value)
                if there is None:
                    first[value] = adds
                elif there is adds:
                    self._note_idle(value, adds)
                net[value] = adds
            elif type(value) is Namespace:
                self.namespaces.append(row)
            else:
                found = row
                break
            count += 1
        self.operations += count
        self._characters = None
        return found

    def join(self, following: NetChanges) -> None:
        """Take the changes of the transaction that follows."""
        for row, adds in following._first.items():
            there = self.net.get(row)
            if there is None:
                self._first[row] = adds
            elif there is adds:
                self._note_idle(row, adds)
        self._idle += following._idle
        self._idle_row = self._idle_row or following._idle_row
        self._unmatched_node = self._unmatched_node or following._unmatched_node
        self.net.update(following.net)
        self.namespaces += following.namespaces
        self.operations += following.operations
        self._characters = None

    def _note_idle(self, row: Row, adds: bool) -> None:
        self._idle += 1
        self._idle_row = self._idle_row or (_ADD if adds else _DELETE, row)
        # The log does not have the name of the graph that its default graph is applied to.
        in_log = row if row[3] != self._graph else row[:3]
        if self._unmatched_node is None and has_blank_node(in_log):
            self._unmatched_node = row

    def match(self, store: Store, *, blank_nodes: bool) -> int:
        """Count the deletions of what is not there; once.

        :param blank_nodes: whether it is an error for one with a blank node.
        :raises ConflictError: it is, and there is one; or an operation must change something.
        """
        for (row, adds), quad in zip(self._first.items(), quads_of(self._first), strict=True):
            if (quad in store) is adds:
                self._note_idle(row, adds)
        if self._strict and self._idle_row is not None:
            kind, row = self._idle_row
            raise idle(kind, _statement_text(row))
        if blank_nodes and self._unmatched_node is not None:
            raise unmatched(_statement_text(self._unmatched_node))
        return self._idle

    def repeated(self, most: int) -> int:
        """Count the characters of long terms that rows have again, of which a store makes copies.

        :param most: there can be no more than this if all terms together have no more.
        """
        if self.characters <= most:
            return 0
        known: set[str] = set()
        count = 0
        for term in chain.from_iterable(self.net):
            if _is_long(term):
                count += len(term) if term in known else 0
                known.add(term)
        return count

    def write(self, deletes: Iterable[Row], adds: Iterable[Row]) -> Update:
        """Write an update that makes these changes and others.

        :param deletes: rows of graphs that these changes do not touch; as all others.
        """
        update = Update()
        net = self.net
        update.change(
            chain((row for row, there in net.items() if not there), deletes),
            chain((row for row, there in net.items() if there), adds),
        )
        # The text of the update has them now, and takes enough memory.
        net.clear()
        return update


def _is_long(term: str) -> bool:
    return isinstance(term, Parameterised) and len(term) > LONG_TERM


def _statement_text(row: Row) -> str:
    return " ".join(filter(None, row))


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
        self._limits = settings.limits
        self._store = store
        self._recording = recording
        self.graph: Final = graph_text(graph)
        self._check_blank_nodes = settings.check_blank_nodes
        self._strict = settings.check_unmatched
        reject_graph(self.graph, what="what is to be changed")
        #: The quad of the position that the store was moved to here.
        self._reached: Quad | None = None

    def positions(self) -> list[Position]:
        """The store's positions in this graph."""
        return [each for each in positions(self._store) if each.graph == self.graph]

    def changes(self) -> NetChanges:
        """Where the changes of a transaction are gathered."""
        return NetChanges(self.graph, strict=self._strict)

    def apply(self, changes: NetChanges, before: Position | None, after: Position | None) -> int:
        """Change data, namespaces and position in one transaction. The changes are used up.

        :return: number of deletions of statements that were not there.
        :raises ChainError: another process has moved the store's position, or the store is being
            recorded in another log.
        :raises ConflictError: an operation changes nothing, which is not allowed.
        :raises LimitError: the rows repeat too much of long terms.
        :raises TermError: a statement is in the graph of the bookkeeping.
        """
        repeated = changes.repeated(self._limits.frame_expansion)
        if repeated > self._limits.frame_expansion:
            what = "the number of characters of long terms that a transaction repeats"
            raise over(self._limits, "frame_expansion", repeated, what)
        for graph in {row[3] for row in changes.net}:
            reject_graph(graph)
        # Another replay into the store waits here, and then finds that it has moved.
        with lock_of(self._store):
            ours = self._recording
            if ours is not None and ours.log and (after is None or after.log != ours.log):
                ours = None
            check_recorded(self._store, ours)
            old: set[Row] = set()
            new: set[Row] = set()
            if after is not None:
                quad = position_quad(after)
                old = self._left(before, after)
                new = {row_of(quad)}
            missed = 0
            if self._recording is None:
                missed = changes.match(self._store, blank_nodes=self._check_blank_nodes)
            if changes.namespaces:
                unbound, bound = self._bindings(changes.namespaces)
                old |= unbound
                new |= bound
            update = changes.write(old - new, new - old)
            update.run(self._store)
            if after is not None:
                self._reached = quad
        return missed

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
            check_graph_text(name_of_graph)
            found[name_of_graph, name] = iri if adds else None
        old: set[Row] = set()
        new: set[Row] = set()
        for (graph, name), iri in found.items():
            reject_graph(graph, what="a namespace")
            old |= namespace_rows(self._store, graph, name)
            if iri is not None:
                new.add(namespace_row(graph, name, iri))
        return old - new, new - old
