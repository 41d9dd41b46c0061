"""Changes to an Oxigraph store that are written to a log of patches as they are made.

The log comes first: a patch is written and flushed, then applied to the store. A process that ends
in between leaves a log that is one patch ahead, which the next :func:`record` applies. So log and
store differ no longer than that.

The position in the log changes together with the data, but not with each small transaction, see
``lag``: after the end of a process that has not closed its log, the last patches are applied again.

By default, only effective changes are recorded: statements that go and that come. Where a
change does nothing, there is no patch, so that a patch can be undone by doing its opposite.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock
from typing import Any, Final, NamedTuple, Protocol, Self

from pyoxigraph import BlankNode, Quad, Store

from ...codec import DEFAULT_LIMITS, Limits, PatchOptions
from ...codec.patch.operations import OperationKind, add, delete
from ...codec.text.ntriples import read_label
from ...errors import ChainError, JellyError, TextError
from ...patch.recording import LogWriter, Place, id_text
from ...patch.replay.position import Position, check_name
from ...patch.replay.target import lock_of, moved
from ..plain_text import canonical_quads, has_blank_nodes, line_of, lines_of
from ..terms import check_store, describe_directed, kept
from . import staging
from .bookkeeping import position_of, position_quad, position_quads, positions_in
from .lag import LAG, catch_up, catches_up, check_recorded, is_alone, is_left, lags
from .replay import replay
from .staging import Staged, Transaction

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE
#: Statements of a transaction from which on its position costs little beside them.
_LITTLE: Final = 50


class Changes(Protocol):
    """What can be changed in a transaction of a recorder; in the store when it ends."""

    def add(self, quad: Quad) -> None:
        """Add a quad."""
        ...

    def remove(self, quad: Quad) -> None:
        """Remove a quad."""
        ...

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads."""
        ...

    def remove_all(self, quads: Iterable[Quad]) -> None:
        """Remove quads."""
        ...

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update on the store and what was changed here so far.

        Its effect is recorded quad by quad. It takes more than twice the time of the update alone,
        which is run twice; ``LOAD`` fetches once. Graphs that are created or dropped are not part
        of a patch, which cannot express them; their quads are.

        :param settings: those of ``pyoxigraph.Store.update``.
        :raises SyntaxError: the update is malformed.
        :raises RuntimeError: it fails.
        """
        ...


class _Begun(NamedTuple):
    """A change that was begun.

    :ivar place: where the log ended before it.
    :ivar changes: what is deleted and what is added, once the store is being changed.
    :ivar reached: the position that the store gets with it, if it gets one.
    :ivar lags: whether the position may be deferred.
    """

    place: Place
    changes: tuple[list[Quad], list[Quad]] | None = None
    reached: Quad | None = None
    lags: bool = False


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
    :param sync: see :class:`~jelly_plugins.patch.recording.LogWriter`. The store is flushed too.
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


#: As ``_Begun(…)`` does with all of it, in one step.
_new_begun: Final = partial(tuple.__new__, _Begun)


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
        self._log = None if position is None else position.log
        #: What the store has of its position.
        self._stale = [] if position is None else position_quads(store, position.log)
        #: Patches since the store has got its position; None if it may not be deferred.
        self._behind: int | None = None
        #: The exact position, while the store gets it.
        self._exact_position: Quad | None = None
        self._writer = writer
        self._name = name
        self._exact = exact
        self._sync = sync
        #: Held by the thread that has a transaction; and the store's.
        self._lock = RLock()
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
        """
        with self._lock:
            transaction = self._begin()
            yield transaction
            self._commit(transaction)

    def add(self, quad: Quad) -> None:
        """Add a quad.

        :raises JellyError: the log cannot express it, or is closed; nothing was changed.
        :raises OSError: the log cannot be written; nothing was changed.
        :raises TypeError: it is not a pyoxigraph quad.
        """
        self._change(quad, True)

    def remove(self, quad: Quad) -> None:
        """Remove a quad; errors are those of :meth:`add`."""
        self._change(quad, False)

    def extend(self, quads: Iterable[Quad]) -> None:
        """Add quads, all or none; errors are those of :meth:`add`."""
        with self.transaction() as transaction:
            transaction.extend(quads)

    def update(self, update: str, **settings: Any) -> None:
        """Run a SPARQL update, see :meth:`Changes.update`."""
        with self.transaction() as transaction:
            transaction.update(update, **settings)

    def _begin(self) -> Transaction:
        self._writer.check_open()
        return Transaction(self.store, exact=self._exact)

    def _change(self, quad: Quad, there: bool) -> None:
        with self._lock:
            if not self._make_usual(quad, there):
                transaction = self._begin()
                (transaction.add if there else transaction.remove)(quad)
                self._commit(transaction)

    def _make_usual(self, quad: Quad, there: bool) -> bool:
        """Change one quad as the rest of this class would, in the most common case:
        an ordinary quad, with a deferred position. Does nothing for any other.

        :return: whether it is that case.
        """
        writer = self._writer
        writer.check_open()
        if self._behind is None or not isinstance(quad, Quad):
            return False
        line = line_of(quad)
        if line is None:
            # Its literal may have another form in the store.
            [quad] = canonical_quads([quad])
            line = line_of(quad)
        if line is None:
            return False
        store = self.store
        with self._store_lock:
            self._follow_others()
            behind = self._behind
            if behind is None or behind == LAG - 1:
                return False
            # See Transaction.staged.
            looked_for = self._exact or (not there and b"_:" in line)
            if looked_for and (quad in store) is there:
                return True
            changes = ([], [quad]) if there else ([quad], [])
            self._begun = _new_begun((writer.place, changes, None, True))
            try:
                writer.append_statement(_ADD if there else _DELETE, line)
                staging.change(store, quad, there)
            except BaseException as error:
                self._settle()
                if isinstance(error, JellyError):
                    # The slower path reports it better.
                    return False
                raise
            # As `_end` does.
            self._place = writer.place
            self._behind = behind + 1
            self._begun = None
        return True

    def _follow_others(self) -> None:
        """Begin where others have left the store, whose lock is held."""
        if not is_alone(self.store, self):
            catch_up(self.store, but=self)
            if is_left(self.store):
                check_recorded(self.store)
        if self._begun is not None or self._exact_position is not None:
            self._settle()

    def _commit(self, transaction: Transaction) -> None:
        # Another process that moves the store waits here, and then finds that it has moved.
        with self._store_lock:
            self._follow_others()
            deletes, adds = transaction.staged()
            if not deletes.quads and not adds.quads:
                # Graphs may have come or gone, which patches cannot express.
                transaction.make(deletes, adds)
                return
            before = self._writer.place
            self._begun = _Begun(before)
            try:
                if self._behind is None:
                    self._check_position()
                self._append(deletes, adds)
                begun = self._begun = self._plan(before, deletes, adds)
                if begun.reached is None:
                    transaction.make(deletes, adds)
                else:
                    transaction.make(deletes, adds, self._stale, [begun.reached])
                if self._sync:
                    self.store.flush()
            except BaseException:
                self._settle()
                raise
            self._end(begun)

    def _plan(self, before: Place, deletes: Staged, adds: Staged) -> _Begun:
        """The new position, once the log has the change."""
        may_lag = (
            not self._sync
            and len(deletes.quads) + len(adds.quads) < _LITTLE
            and all(map(_is_kept, (deletes, adds)))
        )
        reached = None
        if not may_lag or self._behind is None or self._behind == LAG - 1:
            reached = position_quad(self._position_at(self._writer.place), recording=may_lag)
            lags(self.store, self)
        return _Begun(before, (deletes.quads, adds.quads), reached, may_lag)

    def _end(self, begun: _Begun) -> None:
        """Note that the store has a change."""
        self._place = self._writer.place
        if begun.reached is not None:
            self._stale = [begun.reached]
            self._behind = 0 if begun.lags else None
        elif self._behind is not None:
            self._behind += 1
        self._begun = None

    def _check_position(self) -> None:
        """Raise an error if another process has moved the store.

        :raises ChainError: it is elsewhere in the log.
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
            by = "a replay or another recorder"
            raise moved("store", self.position.log, self.position, found, by=by)

    @property
    def position(self) -> Position | None:
        """The store's position in the log; None if nothing was recorded yet."""
        place, position = self._known
        if place is not self._place:
            place = self._place
            position = self._position_at(place)
            self._known = (place, position)
        return position

    def _position_at(self, place: Place) -> Position:
        """The store's position once it has the log up to a place."""
        head = id_text(place.head)
        return Position(
            log=self._log or self._name or id_text(place.root),
            patch=head,
            number=place.patches,
            transactions=1,
            complete=True,
            closed=True,
        )

    def write_position(self) -> None:
        """Write the store's exact position. Its lock is held."""
        self._settle()
        position = self.position
        if self._behind is None or position is None:
            return
        self._exact_position = position_quad(position)
        self._finish_position()

    def _finish_position(self) -> None:
        """Write the exact position, if that was begun."""
        reached = self._exact_position
        if reached is None:
            return
        self._stale = [*self._stale, reached]
        self.store.extend([reached])
        self._remove_stale(reached)
        self._behind = None
        catches_up(self.store)
        self._exact_position = None

    def _settle(self) -> None:
        """Make log and store consistent after a change that ended, or did not: an interrupt may
        come at any point, here too. Then the next change calls this first."""
        self._finish_position()
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

    def _remove_stale(self, reached: Quad) -> None:
        """Remove remains of earlier positions, which must not be mistaken for this one."""
        for quad in self._stale:
            if quad != reached:
                self.store.remove(quad)
        self._stale = [reached]

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


def _is_kept(staged: Staged) -> bool:
    """Whether what the log says of quads leads to these quads again, and to no others: labels of
    blank nodes may be such that Oxigraph has and would not be given."""
    if staged.text is None:
        return False
    if not has_blank_nodes(staged.text):
        return True
    nodes = (term for quad in staged.quads for term in quad if isinstance(term, BlankNode))
    return all(kept(read_label(node.value)) == node for node in nodes)
