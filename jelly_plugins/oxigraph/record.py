"""Changes to an Oxigraph store that are written to a log of patches as they are made.

The log comes first: a patch is written and flushed, then applied to the store, together with the
position in the log. A process that ends in between leaves a log that is one patch ahead, which the
next :func:`record` applies. So log and store never say different things for longer than that.

What is recorded is what changes: statements that go and that come. Where a change does nothing,
there is no patch, so that a patch can be undone by doing its opposite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from ..codec import DEFAULT_LIMITS, Limits, PatchOptions
from ..codec.operations import add, delete
from ..errors import ChainError, TermError
from ..patch.position import Position
from ..patch.recording import LogWriter
from .bookkeeping import BOOKKEEPING, position_rows, positions
from .effect import Effect
from .replay import replay
from .rows import Row, describe_text, row_of
from .terms import DEFAULT_GRAPH, GraphName
from .transaction import Update


def record(
    store: Store,
    log: str | os.PathLike[str],
    *,
    name: str | None = None,
    options: PatchOptions | None = None,
    sync: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Recorder:
    """Change a store through an object that writes each change to a log.

    Patches that the log has and the store has not are applied first.

    :param log: path of the log; made if there is none. Only one recorder at a time may have it.
    :param name: what the store calls the log, see :func:`.replay`.
    :param options: of a new log; by default a Jelly-Patch stream of quads with ``rdf_star``.
    :param sync: see :class:`~jelly_plugins.patch.recording.LogWriter`. The store is flushed too.
    :param limits: what is believed of the log that is there.
    :raises ChainError: the log is not one of this store.
    :raises JellyError: the log cannot be read, or not be written to.

    >>> import tempfile
    >>> quad = Quad(BlankNode("b"), NamedNode("urn:p"), NamedNode("urn:o"))
    >>> copy = Store()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with record(Store(), f"{folder}/log.jellyp") as recorder:
    ...         recorder.add(quad)
    ...     replay(copy, f"{folder}/log.jellyp").patches, quad in copy
    (1, True)
    """
    writer = LogWriter(
        log,
        describe=describe_text,
        options=options or PatchOptions(rdf_star=True),
        sync=sync,
        limits=limits,
    )
    try:
        position = None
        if writer.patches:
            position = replay(store, log, name=name, limits=limits).position
        return Recorder(store, writer, name=name, position=position, sync=sync)
    except BaseException:
        writer.close()
        raise


class Recorder:
    """A store whose changes are recorded; a context manager that closes the log. Made by
    :func:`record`.

    Each method that changes the store is one transaction, of store and log, unless it is called on
    what :meth:`transaction` gives. The store must not be changed otherwise meanwhile.

    :ivar store: the store, for reading.
    :ivar position: where the store stands in the log; None if nothing was recorded yet.
    """

    def __init__(
        self,
        store: Store,
        writer: LogWriter,
        *,
        name: str | None,
        position: Position | None,
        sync: bool,
    ) -> None:
        self.store: Final = store
        self.position = position
        self._writer = writer
        self._name = name
        self._sync = sync
        if name is not None and position is None:
            known = next((each for each in positions(store) if each.log == name), None)
            if known is not None:
                raise ChainError(
                    f"the store stands at patch {known.patch} of log {name}, and the log is empty",
                    expected=known.patch,
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log."""
        self._writer.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Several changes in one transaction and one patch, made when the block ends.

        An exception in the block leaves store and log as they were.
        """
        transaction = Transaction(self.store)
        yield transaction
        self._commit(transaction)

    def add(self, quad: Quad) -> None:
        """Add a quad."""
        with self.transaction() as transaction:
            transaction.add(quad)

    def remove(self, quad: Quad) -> None:
        """Remove a quad."""
        with self.transaction() as transaction:
            transaction.remove(quad)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads, all or none."""
        with self.transaction() as transaction:
            transaction.extend(quads)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update, see :meth:`Transaction.update`."""
        with self.transaction() as transaction:
            transaction.update(update, **settings)

    def _commit(self, transaction: Transaction) -> None:
        deletes, adds = transaction.net()
        if not deletes and not adds:
            # Graphs may have come or gone, which patches cannot say.
            transaction.begin_update().run(self.store)
            return
        size = self._writer.append([*map(delete, deletes), *map(add, adds)])
        head = self._writer.head
        assert head is not None
        before = self.position
        after = Position(
            log=before.log if before else self._name or head,
            patch=head,
            number=self._writer.patches,
            transactions=1,
            complete=True,
        )
        left = position_rows(before) if before else set()
        reached = position_rows(after)
        update = transaction.begin_update()
        update.change(left - reached, reached - left)
        try:
            update.run(self.store)
            if self._sync:
                self.store.flush()
        except BaseException:
            # An interrupt may come when all is done.
            if after in positions(self.store):
                self.position = after
            else:
                self._writer.cut(size)
            raise
        self.position = after


class Transaction:
    """Changes that are being put together; see :meth:`Recorder.transaction`. They are not in the
    store yet."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._net: dict[Row, tuple[bool, Quad]] = {}
        #: Graphs that exist (True) or are dropped (False), whatever their quads.
        self._graphs: dict[GraphName, bool] = {}

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises TermError: it is in the graph that keeps the positions of logs.
        """
        self._change(quad, True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad.

        :raises TermError: it is in the graph that keeps the positions of logs.
        """
        self._change(quad, False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads."""
        for quad in quads:
            self._change(quad, True)

    def clear_graph(self, graph: GraphName) -> None:
        """Remove all quads of a graph, those that were added here included."""
        for quad in self._store.quads_for_pattern(None, None, None, graph):
            self._change(quad, False)
        for there, quad in list(self._net.values()):
            if there and quad.graph_name == graph:
                self._change(quad, False)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update on the store and what was changed here so far; its effect is recorded
        quad by quad.

        It takes about twice the time of the update alone, as that is rehearsed first. ``LOAD``
        fetches once. Graphs that are created or dropped are not part of a patch, which has no
        word for it; their quads are.

        :param settings: those of ``pyoxigraph.Store.update``.
        :raises SyntaxError: the update is none.
        :raises RuntimeError: it fails.
        """
        Effect(self._store, self, settings).update(update)

    def create_graph(self, graph: NamedNode) -> None:
        """Have a graph, though it be empty. No patch says so."""
        self._graphs[graph] = True

    def drop_graph(self, graph: NamedNode | BlankNode) -> None:
        """Not have a graph if it is empty. No patch says so."""
        self._graphs[graph] = False

    def known_graphs(self) -> Iterable[GraphName]:
        """The named graphs of the store, and those that were made here."""
        return dict.fromkeys([*self._store.named_graphs(), *self._graphs])

    def net(self) -> tuple[list[Row], list[Row]]:
        """What is to be deleted from the store, and what to be added."""
        deletes: list[Row] = []
        adds: list[Row] = []
        store = self._store
        for row, (there, quad) in self._net.items():
            if there is not (quad in store):
                (adds if there else deletes).append(row)
        return deletes, adds

    def quads(self) -> tuple[list[Quad], list[Quad]]:
        """What is to be deleted from the store, and what to be added, as quads."""
        deletes, adds = self.net()
        return [self._net[row][1] for row in deletes], [self._net[row][1] for row in adds]

    def begin_update(self) -> Update:
        """What has changed so far, as an update."""
        update = Update()
        update.change(*self.net())
        if self._graphs:
            filled = {quad.graph_name for there, quad in self._net.values() if there}
            for graph, there in self._graphs.items():
                if graph not in filled and isinstance(graph, NamedNode):
                    verb = "CREATE" if there else "DROP"
                    update.operation(f"{verb} SILENT GRAPH {graph}")
        return update

    def _change(self, quad: Quad, there: bool) -> None:
        if quad.graph_name == BOOKKEEPING:
            raise TermError("a statement is in the graph that keeps the positions of logs")
        self._net[row_of(quad)] = (there, quad)
        if there and quad.graph_name != DEFAULT_GRAPH:
            # It stays though the quad may not.
            self._graphs[quad.graph_name] = True
