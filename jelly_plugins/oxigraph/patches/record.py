"""Changes to an Oxigraph store that are written to a log of patches as they are made.

The log comes first: a patch is written and flushed, then applied to the store, together with the
position in the log. A process that ends in between leaves a log that is one patch ahead, which the
next :func:`record` applies. So log and store never say different things for longer than that.

What is recorded is, unless told otherwise, what changes: statements that go and that come. Where a
change does nothing, there is no patch, so that a patch can be undone by doing its opposite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final, Self

from pyoxigraph import Quad, Store

from ...codec import DEFAULT_LIMITS, Limits, PatchOptions
from ...codec.patch.operations import add, delete
from ...errors import ChainError, TextError
from ...patch.recording import LogWriter, Place
from ...patch.replay.locks import lock_of
from ...patch.replay.position import Position, check_name
from ..plain_text import lines_of
from ..rows import describe_text
from .bookkeeping import position_of, position_quad, position_quads, positions_in
from .replay import replay
from .staging import Staged, Transaction


def record(
    store: Store,
    log: str | os.PathLike[str],
    *,
    name: str | None = None,
    exact: bool = True,
    options: PatchOptions | None = None,
    sync: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Recorder:
    """Change a store through an object that writes each change to a log.

    Patches that the log has and the store has not are applied first.

    :param log: path of the log; made if there is none. Only one recorder at a time may have it.
    :param name: what the store calls the log, see :func:`.replay`.
    :param exact: leave out additions of what is there and deletions of what is not, which takes a
        look at the store for each. Without it, what is asked for is recorded: replaying the log
        gives the same data all the same, but the opposite of a patch may take away what was there
        before it.
    :param options: of a new log; by default a Jelly-Patch stream of quads with ``rdf_star``.
    :param sync: see :class:`~jelly_plugins.patch.recording.LogWriter`. The store is flushed too.
    :param limits: what is believed of the log that is there.
    :raises ChainError: the log is not one of this store.
    :raises JellyError: the log cannot be read, or not be written to.

    >>> import tempfile
    >>> from pyoxigraph import BlankNode, NamedNode
    >>> quad = Quad(BlankNode("b"), NamedNode("urn:p"), NamedNode("urn:o"))
    >>> copy = Store()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with record(Store(), f"{folder}/log.jellyp") as recorder:
    ...         recorder.add(quad)
    ...     replay(copy, f"{folder}/log.jellyp").patches, quad in copy
    (1, True)
    """
    check_name(name)
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
        return Recorder(store, writer, name=name, position=position, exact=exact, sync=sync)
    except BaseException:
        writer.close()
        raise


class Recorder:
    """A store whose changes are recorded; a context manager that closes the log. Made by
    :func:`record`.

    Each method that changes the store is one transaction, of store and log, unless it is called on
    what :meth:`transaction` gives. The store must not be changed otherwise meanwhile.

    Threads may share it: one transaction is made after the other, in store and log in the same
    order.

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
        exact: bool,
        sync: bool,
    ) -> None:
        self.store: Final = store
        self.position = position
        #: What the store has of its position.
        self._stale = [] if position is None else position_quads(store, position.log)
        self._writer = writer
        self._name = name
        self._exact = exact
        self._sync = sync
        #: Held by the thread that has a transaction.
        self._lock = RLock()
        #: Where the log ended before the change that is being made; None between changes.
        self._begun: Place | None = None
        if name is not None and position is None:
            known = next((each for each in positions_in(store, "") if each.log == name), None)
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
        with self._lock, lock_of(self.store):
            self._settle()
            self._writer.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Several changes in one transaction and one patch, made when the block ends. Those of
        other threads wait until then.

        An exception in the block leaves store and log as they were.

        :raises SourceError: the recorder is closed.
        """
        with self._lock:
            self._writer.check_open()
            transaction = Transaction(self.store, exact=self._exact)
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
        # Whoever else moves the store waits here, and then finds that it has moved.
        with lock_of(self.store):
            self._settle()
            deletes, adds = transaction.staged()
            if not deletes.quads and not adds.quads:
                # Graphs may have come or gone, which patches cannot say.
                transaction.make(deletes, adds)
                return
            self._begun = self._writer.place
            try:
                self._check_position()
                self._append(deletes, adds)
                position = self._position()
                reached = position_quad(position)
                transaction.make(deletes, adds, self._stale, [reached])
                if self._sync:
                    self.store.flush()
            except BaseException:
                self._settle()
                raise
            self._stale = [reached]
            self.position = position
            self._begun = None

    def _check_position(self) -> None:
        """Refuse to go on where somebody else has moved the store.

        :raises ChainError: it stands elsewhere in the log.
        """
        # A look at all that the store has of a log takes longer the more it had before.
        if self.position is None or position_quad(self.position) in self.store:
            return
        found = position_of(position_quads(self.store, self.position.log))
        if (
            found is None
            or found.reach != self.position.reach
            or found.patch != self.position.patch
        ):
            stands = "nowhere" if found is None else f"at patch {found.patch}"
            raise ChainError(
                f"the store stands {stands} in log {self.position.log} now: a replay or another "
                "recorder is at work",
                expected=self.position.patch,
                found=None if found is None else found.patch,
            )

    def _position(self) -> Position:
        """Where the store stands once it has all that the log has."""
        head = self._writer.head
        assert head is not None
        return Position(
            log=self.position.log if self.position else self._name or head,
            patch=head,
            number=self._writer.patches,
            transactions=1,
            complete=True,
            closed=True,
        )

    def _settle(self) -> None:
        """Have log and store say the same after a change that ended, or did not: an interrupt may
        come at any point, here too. Then the next change comes here first."""
        begun = self._begun
        if begun is None:
            return
        if self._writer.place is not begun:
            position = self._position()
            reached = position_quad(position)
            if reached in self.store:
                # What is left of an earlier position must not be taken for it.
                for quad in self._stale:
                    if quad != reached:
                        self.store.remove(quad)
                self._stale = [reached]
                self.position = position
            else:
                self._writer.cut(begun)
        self._begun = None

    def _append(self, deletes: Staged, adds: Staged) -> None:
        """Write a patch to the log."""
        if deletes.text is not None and adds.text is not None:
            try:
                self._writer.append_lines(lines_of(deletes.text), lines_of(adds.text))
                return
            except TextError:
                # What Oxigraph has beyond N-Quads goes term by term.
                pass
        self._writer.append([*map(delete, deletes.rows), *map(add, adds.rows)])
