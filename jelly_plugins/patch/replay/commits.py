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
from threading import Lock, Thread
from typing import Final, Generic, NamedTuple, Protocol, Self, TypeAlias, TypeVar

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
#: Characters that are applied together, unless a single transaction has more.
_TEXT: Final = 4 << 20
#: Characters that are not too many to be held while others are gathered.
_MUCH_TEXT: Final = 64 << 20
#: Seconds between two looks at a thread that is waited for.
_LOOK: Final = 0.1


class Changes(Protocol):
    """The changes of one transaction, gathered."""

    @property
    def operations(self) -> int:
        """Number of operations that were gathered."""
        ...

    @property
    def characters(self) -> int:
        """Number of characters that are held of them, or about as many."""
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

    def prepare(self) -> None:
        """Do what can be done of applying them before it is their turn. Nothing is asked of them
        after that but to be applied, and their number."""
        return

    def content(self) -> bytes | None:
        """A digest of the changes in a patch with an id, now and at any later time; None if it is
        not known. It is the fingerprint where nothing else is said."""
        return self.fingerprint()

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

    def apply(self, changes: C, before: Position | None, after: Position, /) -> int:
        """Change the data and the position, both or none. The changes may be used up.

        :param before: where the store stands.
        :return: number of deletions of statements that were not there.
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


class _Group(Generic[C]):
    """Entries that are to be applied, and what became of them.

    :ivar joined: the changes of all of them, once they were put together.
    :ivar applied: those that are, with their positions as far as these are known.
    :ivar unmatched: number of deletions in those that matched nothing.
    :ivar error: what has kept the others out.
    :ivar ended: whether nothing more becomes of them.
    :ivar thread: the one that was started for them.
    """

    def __init__(self, entries: list[_Entry[C]]) -> None:
        self.entries: Final = entries
        self.joined: C | None = None
        self.applied: list[tuple[_Entry[C], Position | None]] = []
        self.unmatched = 0
        self.error: BaseException | None = None
        self.ended = False
        self.thread: Thread | None = None
        #: Whether it is the thread that applies them; empty until that is known.
        self._taken: dict[str, bool] = {}
        #: Whether the thread has nothing more to do; the lock is let go behind that.
        self._left = False
        self._at_work: Final = Lock()
        self._at_work.acquire()

    @property
    def characters(self) -> int:
        """Number of characters that are held of the changes."""
        return sum(entry.changes.characters for entry in self.entries)

    def join(self, changes: C) -> C:
        """Put the changes of all of them together.

        :param changes: none yet.
        """
        if self.joined is None:
            for entry in self.entries:
                changes.join(entry.changes)
            self.joined = changes
        return self.joined

    def take(self, *, beside: bool) -> bool:
        """Whether it is for the thread to apply them, or for whoever has started it: for the first
        that asks. A thread whose start was interrupted may come later, or never."""
        # Nothing can come between.
        return self._taken.setdefault("beside", beside) is beside

    def leave(self) -> None:
        """The thread does nothing more."""
        self._left = True
        self._at_work.release()

    def wait(self) -> None:
        """Wait until the thread has ended, if it is known to have begun."""
        thread = self.thread
        if thread is None or thread.ident is None:
            return
        # A join that was interrupted takes the thread for one that has ended, before Python 3.13.
        while not (self._left or self._at_work.acquire(timeout=_LOOK)):
            # One whose start was interrupted may die of that.
            if not thread.is_alive():
                return
        # It has the store until it ends.
        thread.join()


class Commits(Generic[C]):
    """Transactions on their way into a store.

    :param group: how many are applied together at most.
    :param beside: whether the store may be changed in another thread, while more of the log is read
        in this one.
    :param dry_run: apply nothing.
    :param progress: told after each transaction, once it was applied.

    :ivar done: what was done so far.
    :ivar failed: whether applying, or what is told of it, has ended with an error, which names the
        patch. Nothing more is applied.
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
        self.failed = False
        self._target = target
        self._group = group
        self._beside = beside
        self._dry_run = dry_run
        self._progress = progress
        self._waiting: list[_Entry[C]] = []
        self._operations = 0
        self._characters = 0
        #: Where the store stands, as it says itself.
        self._before: Position | None = None
        #: What is being applied.
        self._current: _Group[C] | None = None

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
        together = self._group > 1 and operations <= _TOGETHER
        characters = changes.characters if together else 0
        if self._operations + operations > _TOGETHER or self._characters + characters > _TEXT:
            self._commit()
        self._waiting.append(_Entry(changes, reached, transaction, patches))
        self._operations += operations
        self._characters += characters
        if (
            len(self._waiting) >= self._group
            or self._operations >= _TOGETHER
            or self._characters >= _TEXT
        ):
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
        group = self._current
        if group is not None:
            group.take(beside=False)
            group.wait()
            with suppress(Exception):
                self._tell(group)

    def _commit(self) -> None:
        group = _Group(self._waiting)
        beside = (
            self._beside
            and not self._dry_run
            and _LITTLE <= self._operations <= _MUCH
            and group.characters <= _MUCH_TEXT
        )
        if beside:
            # While the store is at work on those before. The thread would wait for the interpreter,
            # where it has to run much of Python's.
            self._prepare(group)
        self._finish()
        if not self._waiting:
            return
        self._waiting = []
        self._operations = self._characters = 0
        self._current = group
        if beside:
            group.thread = Thread(target=self._apply_beside, args=(group,))
            # There may be too many already, or the interpreter may be about to end.
            with suppress(RuntimeError):
                group.thread.start()
                return
        self._finish()

    def _prepare(self, group: _Group[C]) -> None:
        *_, last = group.entries
        # The digest is that of what is used up.
        last.reached.position()
        if len(group.entries) > 1:
            group.join(self._target.changes()).prepare()
        else:
            last.changes.prepare()

    def _finish(self) -> None:
        """See applied what is being applied, and tell of it."""
        group = self._current
        if group is None:
            return
        group.wait()
        if group.take(beside=False) and not group.ended:
            self._apply_all(group)
        self._tell(group)

    def _tell(self, group: _Group[C]) -> None:
        """Tell of what was applied, once.

        :raises BaseException: what has kept the rest out, or what was raised by whom it was told.
        """
        self._current = None
        # It leads to the frames that it has come through, and they lead to the store: nothing of
        # theirs may lead back to it, lest the store live on.
        error, group.error = group.error, None
        done, progress = self.done, self._progress
        done.unmatched += group.unmatched
        try:
            for entry, position in group.applied:
                done.patches += entry.patches
                if position is not None:
                    done.position = position
                if entry.transaction:
                    done.transactions += 1
                    done.operations += entry.changes.operations
                    if progress is not None:
                        progress(done)
            if error is not None:
                raise error
        except BaseException:
            self.failed = True
            raise
        finally:
            del error

    def _apply_beside(self, group: _Group[C]) -> None:
        try:
            if group.take(beside=True):
                self._apply_all(group)
        finally:
            group.leave()

    def _apply_all(self, group: _Group[C]) -> None:
        try:
            waiting = group.entries
            # Before any changes are used up.
            last = waiting[-1].reached.position()
            told = self._progress is not None
            positions = [entry.reached.position() if told else None for entry in waiting]
            positions[-1] = last
            if len(waiting) > 1 and self._all_at_once(group, positions, last):
                return
            for entry in waiting:
                self._apply(group, entry, entry.reached.position())
        except BaseException as error:
            group.error = error
        finally:
            group.ended = True

    def _all_at_once(
        self, group: _Group[C], positions: list[Position | None], last: Position
    ) -> bool:
        """Apply several transactions as one, and say whether it could be done."""
        if not self._dry_run:
            joined = group.join(self._target.changes())
            try:
                group.unmatched += self._target.apply(joined, self._before, last)
            except JellyError:
                # One by one it will be seen which of them it is.
                return False
            except BaseException as error:
                # If none of them is at fault, it was something from outside.
                group.error = error
                if not self._is_reached(last):
                    if isinstance(error, Exception):
                        return False
                    raise
        self._before = last
        group.applied = list(zip(group.entries, positions, strict=True))
        return True

    def _apply(self, group: _Group[C], entry: _Entry[C], after: Position) -> None:
        if not self._dry_run:
            try:
                group.unmatched += self._target.apply(entry.changes, self._before, after)
            except JellyError as error:
                error.message = f"{name_of(after.patch, after.number)}: {error.message}"
                raise
            except BaseException:
                if self._is_reached(after):
                    group.applied.append((entry, after))
                raise
        self._before = after
        group.applied.append((entry, after))

    def _is_reached(self, position: Position) -> bool:
        """Whether the store stands there: what the handler of a signal raises may come when all is
        done."""
        with suppress(Exception):
            return position in self._target.positions()
        return False


def name_of(patch: str, number: int) -> str:
    """What errors call a patch: by its id, or else by its number."""
    return f"patch number {number}" if patch.startswith(DIGEST) else f"patch {patch}"
