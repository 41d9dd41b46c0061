"""Changes to an Oxigraph store that are written to a log of patches as they are made.

The log comes first: a patch is written and flushed, then applied to the store. A process that ends
in between leaves a log that is one patch ahead, which the next :func:`record` applies. So log and
store differ no longer than that.

The position in the log changes together with the data, but not with each small transaction, see
``deferred``: after the end of a process that has not closed its log, the last patches are applied
again.

By default, only effective changes are recorded: statements that go and that come. Where a
change does nothing, there is no patch, so that a patch can be undone by doing its opposite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any, Final, NamedTuple, Self

from pyoxigraph import BlankNode, Quad, Store

from ...codec import DEFAULT_LIMITS, Limits, PatchOptions
from ...codec.patch.operations import add, delete
from ...codec.text.ntriples import read_label
from ...errors import ChainError, TextError
from ...patch.recording import LogWriter, Place
from ...patch.replay.position import Position, check_name
from ...patch.replay.target import lock_of, moved
from ..plain_text import has_blank_nodes, lines_of
from ..terms import check_store, describe_directed, kept
from .bookkeeping import position_of, position_quad, position_quads, positions_in
from .deferred import (
    MOST_DEFERRED,
    check_recorded,
    note_deferred,
    note_written,
    write_deferred,
)
from .replay import replay
from .staging import Changes, Staged, StagedChanges

#: Statements of a transaction from which on its position costs little beside them.
_LITTLE: Final = 50


class _Begun(NamedTuple):
    """A change that was begun.

    :ivar place: where the log ended before it.
    :ivar changes: what is deleted and what is added, once the store is being changed.
    :ivar reached: the position that the store gets with it, if it gets one.
    :ivar deferred: whether the position may be deferred.
    """

    place: Place
    changes: tuple[list[Quad], list[Quad]] | None = None
    reached: Quad | None = None
    deferred: bool = False


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

    Patches of the log that the store lacks are applied first. If a process has ended without
    closing the log, the store must not be changed before that: it may have up to 99 small patches
    more than its position says, which are applied again. The log must be the one that was written:
    with an older copy, or one that was truncated by a power failure, this is not detected. ``sync``
    prevents both.

    :param log: path of the log; created if missing. Only one recorder at a time may have it.
    :param name: the name of the log in the store, see :func:`.replay`.
    :param exact: omit additions of existing quads and deletions of missing ones, which needs a
        lookup in the store for each. Without it, all requested changes are recorded: replaying the
        log gives the same data anyway, but the inverse of a patch may delete what was
        there before it. Deletions of statements with blank nodes that are not there are always
        omitted: a replay rejects them.
    :param options: of a new log; by default a Jelly-Patch stream of quads with ``rdf_star``.
    :param sync: see :class:`~jelly_plugins.patch.recording.LogWriter`. The store is flushed too,
        after each change: if that raises an error, as on a full disk, log and store keep the
        change.
    :param limits: the limits on an existing log.
    :raises ChainError: the log does not belong to this store.
    :raises JellyError: the log cannot be read, or cannot be written.

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
    check_store(store)
    check_name(name)
    writer = LogWriter(
        log,
        describe=describe_directed,
        options=options or PatchOptions(rdf_star=True),
        sync=sync,
        limits=limits,
    )
    try:
        position = None
        if writer.patches:
            reached = replay(store, log, name=name, limits=limits).position
            # As the store has it: it may be a recorder's, of which more is known.
            position = next(
                (each for each in positions_in(store, "") if reached and each.log == reached.log),
                reached,
            )
        check_recorded(store)
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
    order. A child that is forked may not: it gets an error, and closing changes nothing there.

    :ivar store: the store, for reading.
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
        #: Where the log ended that the store has, and the position of that as far as it was asked
        #: for.
        self._place = writer.place
        self._known = (writer.place, position)
        self._log_name = name if position is None else position.log
        #: What the store has of its position.
        self._stale = [] if position is None else position_quads(store, position.log)
        #: Patches since the store has got its position; None if it may not be deferred.
        self._behind: int | None = None
        self._writer = writer
        self._exact = exact
        self._sync = sync
        #: Held by the thread that has a transaction; and the store's.
        self._lock = RLock()
        self._in_block = False
        self._store_lock = lock_of(store)
        #: The change that is being made; None between changes.
        self._begun: _Begun | None = None
        if name is not None and position is None:
            known = next((each for each in positions_in(store, "") if each.log == name), None)
            if known is not None:
                raise ChainError(
                    f"the store is at patch {known.patch} of log {name}, and the log is empty",
                    expected=known.patch,
                )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the log."""
        if not self._writer.is_of_this_process:
            # The store is that of the parent, which closes the log.
            self._writer.close()
            return
        with self._lock, self._store_lock:
            try:
                self.write_position()
            finally:
                self._writer.close()

    @contextmanager
    def transaction(self) -> Iterator[Changes]:
        """Several changes in one transaction and one patch, made when the block ends. Those of
        other threads wait until then.

        An exception in the block leaves store and log as they were.

        :raises SourceError: the recorder is closed.
        :raises RuntimeError: the thread is in such a block already; changes in it are made with the
            object that the block has.
        """
        with self._lock:
            self._writer.check_open()
            if self._in_block:
                raise RuntimeError(
                    "this is inside a transaction of the recorder: change the store with the "
                    "object that 'with recorder.transaction() as changes' gives"
                )
            changes = StagedChanges(self.store, exact=self._exact)
            self._in_block = True
            try:
                yield changes
            finally:
                self._in_block = False
            self._commit(changes)

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises JellyError: the log cannot express it, or is closed; nothing was changed.
        :raises OSError: the log cannot be written; nothing was changed.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        with self.transaction() as transaction:
            transaction.add(quad)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        with self.transaction() as transaction:
            transaction.remove(quad)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads, all or none; errors are those of :meth:`add`."""
        with self.transaction() as transaction:
            transaction.extend(quads)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update, see :meth:`Changes.update`."""
        with self.transaction() as transaction:
            transaction.update(update, **settings)

    def _commit(self, changes: StagedChanges) -> None:
        # Another process that moves the store waits here, and then finds that it has moved.
        with self._store_lock:
            if write_deferred(self.store, keep=self):
                check_recorded(self.store)
            self._settle()
            deletes, adds = changes.staged()
            if not deletes.quads and not adds.quads:
                # Graphs may have come or gone, which patches cannot express.
                changes.make(deletes, adds)
                return
            if self._behind is None:
                self._check_position()
            before = self._writer.place
            self._begun = _Begun(before)
            try:
                self._append(deletes, adds)
                begun = self._begun = self._plan(before, deletes, adds)
                if begun.reached is None:
                    changes.make(deletes, adds)
                else:
                    changes.make(deletes, adds, self._stale, [begun.reached])
                if self._sync:
                    self.store.flush()
            except BaseException:
                self._settle()
                raise
            self._end(begun)

    def _append(self, deletes: Staged, adds: Staged) -> None:
        """Write a patch to the log."""
        if deletes.text is not None and adds.text is not None:
            try:
                self._writer.append_lines(lines_of(deletes.text), lines_of(adds.text))
                return
            except TextError:
                # What Oxigraph has beyond N-Quads goes term by term.
                pass
        self._writer.append(
            [
                *(delete(tuple(quad)) for quad in deletes.checked),
                *(add(tuple(quad)) for quad in adds.checked),
            ]
        )

    def _plan(self, before: Place, deletes: Staged, adds: Staged) -> _Begun:
        """The new position, once the log has the change."""
        deferred = (
            not self._sync
            and len(deletes.quads) + len(adds.quads) < _LITTLE
            and all(map(_is_kept, (deletes, adds)))
        )
        reached = None
        if not deferred or self._behind is None or self._behind == MOST_DEFERRED - 1:
            reached = position_quad(self._writer.place.position(self._log_name), recording=deferred)
            if deferred:
                note_deferred(self.store, self)
        return _Begun(before, (deletes.quads, adds.quads), reached, deferred)

    def _end(self, begun: _Begun) -> None:
        """Note that the store has a change."""
        self._place = self._writer.place
        if begun.reached is not None:
            self._stale = [begun.reached]
            self._behind = 0 if begun.deferred else None
        elif self._behind is not None:
            self._behind += 1
        self._begun = None

    def _settle(self) -> None:
        """Make log and store consistent after a change that ended, or did not: an interrupt may
        come at any point, here too. Then the next change calls this first."""
        begun = self._begun
        if begun is None:
            return
        if self._writer.place is begun.place:
            self._begun = None
        elif self._is_made(begun):
            if begun.reached is not None:
                self._remove_stale(begun.reached)
            self._end(begun)
        else:
            self._writer.cut(begun.place)
            self._begun = None

    def _is_made(self, begun: _Begun) -> bool:
        """Whether the store has a change that was begun: it has all of it, or nothing."""
        if begun.changes is None:
            return False
        if begun.reached is not None:
            return begun.reached in self.store
        deletes, adds = begun.changes
        return all(quad in self.store for quad in adds) and not any(
            quad in self.store for quad in deletes
        )

    # Position

    @property
    def position(self) -> Position | None:
        """The store's position in the log; None if nothing was recorded yet."""
        place, position = self._known
        if place is not self._place:
            place = self._place
            position = place.position(self._log_name)
            self._known = (place, position)
        return position

    def _check_position(self) -> None:
        """Raise an error if another process has moved the store.

        :raises ChainError: it is elsewhere in the log.
        """
        # A look at all that the store has of a log takes longer the more it had before.
        if self.position is None or any(quad in self.store for quad in self._stale):
            return
        found = position_of(position_quads(self.store, self.position.log))
        if (
            found is None
            or found.reach != self.position.reach
            or found.patch != self.position.patch
        ):
            by = "a replay or another recorder"
            raise moved("store", self.position.log, self.position, found, by=by)

    def write_position(self) -> None:
        """Write the store's exact position. Its lock is held."""
        self._settle()
        position = self.position
        if position is None:
            return
        reached = position_quad(position)
        # After an interrupt, the position is being written as long as there is another one.
        if self._behind is None and self._stale in ([], [reached]):
            return
        self._stale = [*self._stale, reached]
        self._behind = None
        self.store.extend([reached])
        self._remove_stale(reached)
        note_written(self.store)

    def _remove_stale(self, reached: Quad) -> None:
        """Remove remains of earlier positions, which must not be mistaken for this one."""
        for quad in self._stale:
            if quad != reached:
                self.store.remove(quad)
        self._stale = [reached]


def _is_kept(staged: Staged) -> bool:
    """Whether what the log says of quads leads to these quads again, and to no others: labels of
    blank nodes may be such that Oxigraph has and would not be given."""
    if staged.text is None:
        return False
    if not has_blank_nodes(staged.text):
        return True
    nodes = (term for quad in staged.quads for term in quad if isinstance(term, BlankNode))
    return all(kept(read_label(node.value)) == node for node in nodes)
