"""How the transactions of a replay get into a store: in groups, each of which is one of its own.

A transaction of a few statements costs a store much more for being one than for what it changes. So
those that follow one another are applied together, with the position that the last of them reaches:
the store has all of a group or none of it, and stands between two transactions of the log whatever
happens. A group that cannot be applied as a whole is applied one by one, so that all is there in
front of the transaction that is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from threading import Thread
from typing import Any, Final, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from ...codec.patch.operations import Operation
from ...errors import JellyError
from ..content import Content
from .position import DIGEST, Position, Replayed

#: Told what was done so far, after each transaction.
Progress: TypeAlias = Callable[[Replayed], object]

#: Operations that are applied together, unless a single transaction has more.
_TOGETHER: Final = 10_000
#: Operations for which a thread is worth its while.
_LITTLE: Final = 500
#: Operations that are not too many to be held while others are gathered.
_MUCH: Final = 100_000


class Changes(Protocol):
    """The changes of one transaction, gathered."""

    @property
    def operations(self) -> int:
        """Number of operations that were gathered."""
        ...

    def gather(self, rows: Iterator[Operation], /) -> Operation | None:
        """Take operations up to the first row that changes nothing.

        :return: that row; None if there are no more.
        :raises JellyError: the store cannot hold a term.
        """
        ...

    def join(self, following: Self, /) -> None:
        """Take the changes of the transaction that follows, which are not touched."""
        ...

    def fingerprint(self) -> bytes:
        """A digest that the same changes have, and no others: now and at any later time."""
        ...

    def content(self) -> bytes | None:
        """A digest of the changes in a patch with an id, now and at any later time; None if it is
        not known."""
        ...

    @property
    def form(self) -> str:
        """What that digest is made of, in letters and digits: those of other forms differ for the
        same changes."""
        ...


C = TypeVar("C", bound=Changes)


class Target(Protocol[C]):
    """A store that a log is replayed into."""

    def positions(self) -> Iterable[Position]:
        """Where the store stands, one position for each log; those of this target's graph."""
        ...

    def changes(self) -> C:
        """Where the changes of a transaction are gathered."""
        ...

    def apply(self, changes: C, before: Position | None, after: Position, /) -> None:
        """Change the data and the position, both or none. The changes may be used up.

        :param before: where the store stands.
        :raises ChainError: it does not stand there any more. Nothing was changed.
        """
        ...


class Reached(NamedTuple):
    """What a transaction reaches: a :class:`.Position`, for the making of which there is time until
    it is needed."""

    log: str
    patch: str
    number: int
    transactions: int
    graph: str
    loose: str
    content: Content | None
    complete: bool = False
    closed: bool = False

    def position(self) -> Position:
        """The position, with a digest of what the patch has said so far."""
        return Position(
            log=self.log,
            patch=self.patch,
            number=self.number,
            transactions=self.transactions,
            complete=self.complete,
            closed=self.closed,
            graph=self.graph,
            loose=self.loose,
            content="" if self.content is None else self.content.text(),
        )


class _Entry(NamedTuple, Generic[C]):
    """What is to be applied.

    :ivar transaction: whether it is one; otherwise there is nothing but the end of a patch.
    :ivar patches: how many patches are begun by it.
    """

    changes: C
    reached: Reached
    transaction: bool
    patches: int


class _Outcome(Generic[C]):
    """What became of entries that were to be applied.

    :ivar applied: those that are, with their positions as far as these are known.
    :ivar error: what has kept the others out.
    """

    def __init__(self) -> None:
        self.applied: list[tuple[_Entry[C], Position | None]] = []
        self.error: BaseException | None = None


class Commits(Generic[C]):
    """Transactions on their way into a store.

    :param group: how many are applied together at most.
    :param beside: whether the store may be changed in another thread, while more of the log is read
        in this one.
    :param dry_run: apply nothing.
    :param progress: told after each transaction, once it was applied.

    :ivar done: what was done so far.
    :ivar failure: the error with which applying has ended; it names the patch.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        group: int,
        beside: bool,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self.done: Final = Replayed()
        self.failure: BaseException | None = None
        self._target = target
        self._group = group
        self._beside = beside
        self._dry_run = dry_run
        self._progress = progress
        self._waiting: list[_Entry[C]] = []
        self._operations = 0
        #: Where the store stands, as it says itself.
        self._before: Position | None = None
        self._thread: Thread | None = None
        self._outcome: _Outcome[C] = _Outcome()

    def begin(self, position: Position, known_as: Position | None = None) -> None:
        """Go on from where the store stands.

        :param known_as: what is told of that, if it is something else.
        """
        self._before = position
        self.done.position = known_as or position

    def put(self, changes: C, reached: Reached, *, transaction: bool, patches: int) -> None:
        """Apply a transaction, now or together with others.

        :raises JellyError: the store refuses one that came before, or this one.
        """
        operations = changes.operations
        if self._operations + operations > _TOGETHER:
            self._commit()
        self._waiting.append(_Entry(changes, reached, transaction, patches))
        self._operations += operations
        if len(self._waiting) >= self._group or self._operations >= _TOGETHER:
            self._commit()

    def commit(self) -> None:
        """Apply all that waits, and see it applied.

        :raises JellyError: the store refuses it, or somebody else has moved it.
        """
        self._commit()
        self._finish()

    def leave(self) -> None:
        """Apply nothing more, and see applied what is being applied."""
        self._waiting.clear()
        with suppress(Exception):
            self._finish()

    def _commit(self) -> None:
        self._finish()
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        operations, self._operations = self._operations, 0
        self._outcome = _Outcome()
        if self._beside and not self._dry_run and _LITTLE <= operations <= _MUCH:
            self._thread = Thread(target=self._apply_all, args=(waiting, self._outcome))
            self._thread.start()
        else:
            self._apply_all(waiting, self._outcome)
            self._finish()

    def _finish(self) -> None:
        """Wait for what is being applied, and tell of it."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        outcome, self._outcome = self._outcome, _Outcome()
        for entry, position in outcome.applied:
            self._count(entry, position)
        if outcome.error is not None:
            self.failure = outcome.error
            raise outcome.error

    def _apply_all(self, waiting: list[_Entry[C]], outcome: _Outcome[C]) -> None:
        try:
            # Before any changes are used up.
            last = waiting[-1].reached.position()
            told = self._progress is not None
            positions = [entry.reached.position() if told else None for entry in waiting]
            positions[-1] = last
            if len(waiting) > 1 and self._all_at_once(waiting, last):
                outcome.applied = list(zip(waiting, positions, strict=True))
                return
            for entry in waiting:
                position = entry.reached.position()
                self._apply(entry.changes, position)
                outcome.applied.append((entry, position))
        except BaseException as error:
            outcome.error = error

    def _all_at_once(self, waiting: list[_Entry[C]], last: Position) -> bool:
        """Apply several transactions as one, and say whether it could be done."""
        if self._dry_run:
            return True
        joined = self._target.changes()
        for entry in waiting:
            joined.join(entry.changes)
        try:
            self._target.apply(joined, self._before, last)
        except Exception:
            # One by one it will be seen which of them it is.
            return False
        self._before = last
        return True

    def _apply(self, changes: C, after: Position) -> None:
        if not self._dry_run:
            try:
                self._target.apply(changes, self._before, after)
            except JellyError as error:
                error.message = f"{name_of(after.patch, after.number)}: {error.message}"
                raise
        self._before = after

    def _count(self, entry: _Entry[C], position: Position | None) -> None:
        done = self.done
        done.patches += entry.patches
        if position is not None:
            done.position = position
        if entry.transaction:
            done.transactions += 1
            done.operations += entry.changes.operations
            if self._progress is not None:
                self._progress(done)


def name_of(patch: Any, number: int) -> str:
    """What errors call a patch: by its id, or else by its number."""
    return f"patch number {number}" if patch.startswith(DIGEST) else f"patch {patch}"
