"""How selected transactions get into a store: in groups, each of which is one transaction there.

A transaction of a few statements costs a store much more for being one than for what it changes. So
consecutive ones are applied together, with the position that the last of them reaches: the store
has all of a group or none of it, and is between two transactions of the log whatever happens. A
group that cannot be applied as a whole is applied one by one, so that the store has all
transactions before the one at fault.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Generic, NamedTuple, TypeAlias

from ...errors import JellyError
from .position import DIGEST, Content, Position, Replayed
from .target import C, Target

#: Called with what was done so far, after each transaction.
Progress: TypeAlias = Callable[[Replayed], object]

#: Operations that are applied together, unless a single transaction has more.
_TOGETHER: Final = 10_000
#: Characters that are applied together, unless a single transaction has more.
_TEXT: Final = 4 << 20


class Reached(NamedTuple):
    """The position that an entry reaches: a :class:`.Position` whose digest is not computed yet."""

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
        """The position, with the digest of its content."""
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


class Entry(NamedTuple, Generic[C]):
    """The changes to apply.

    :ivar transaction: whether it is a transaction; otherwise only a patch ends.
    :ivar patches: how many patches begin with it.
    """

    changes: C
    reached: Reached
    transaction: bool
    patches: int


class Commits(Generic[C]):
    """Applies entries to a store.

    :param done: counts what was applied, and has the store's position.
    :param group: how many entries are applied together at most.
    :param dry_run: apply nothing.
    :param progress: called after each transaction, once it was applied.
    :ivar failed: whether applying or ``progress`` has raised an error, which names the patch.
        Nothing more may be applied.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        done: Replayed,
        group: int,
        dry_run: bool,
        progress: Progress | None,
    ) -> None:
        self.failed = False
        self._target = target
        self._done = done
        self._group = 1 if dry_run else group
        self._dry_run = dry_run
        self._progress = progress
        self._waiting: list[Entry[C]] = []
        self._operations = 0
        self._characters = 0

    def put(self, entry: Entry[C]) -> None:
        """Apply an entry, now or together with others.

        :raises JellyError: the store rejects it, or one that came before.
        """
        operations = entry.changes.operations
        together = self._group > 1 and operations <= _TOGETHER
        characters = entry.changes.characters if together else 0
        if self._operations + operations > _TOGETHER or self._characters + characters > _TEXT:
            self.commit()
        self._waiting.append(entry)
        self._operations += operations
        self._characters += characters
        if (
            len(self._waiting) >= self._group
            or self._operations >= _TOGETHER
            or self._characters >= _TEXT
        ):
            self.commit()

    def commit(self) -> None:
        """Apply all entries that wait.

        :raises JellyError: the store rejects one, or its position has changed meanwhile.
        """
        waiting, self._waiting = self._waiting, []
        self._operations = self._characters = 0
        try:
            if len(waiting) > 1:
                self._apply_together(waiting)
            else:
                for entry in waiting:
                    self._apply(entry.changes, [entry])
        except BaseException:
            self.failed = True
            raise

    def _apply_together(self, entries: list[Entry[C]]) -> None:
        joined = self._target.changes()
        for entry in entries:
            joined.join(entry.changes)
        before = self._done.position
        try:
            self._apply(joined, entries)
        except Exception as error:
            if self._done.position is not before:
                # They are applied; the error came later.
                raise
            # One by one, those before the one at fault are applied.
            for entry in entries:
                self._apply(entry.changes, [entry])
            if not isinstance(error, JellyError):
                # None is at fault, such as where the handler of a signal has raised it.
                raise

    def _apply(self, changes: C, entries: list[Entry[C]]) -> None:
        # The digest is that of changes that may be used up.
        after = entries[-1].reached.position()
        if not self._dry_run:
            try:
                unmatched = self._target.apply(changes, self._done.position, after)
            except JellyError as error:
                error.message = f"{name_of(after.patch, after.number)}: {error.message}"
                raise
            except BaseException:
                # The handler of a signal may raise once all is applied.
                if self._is_at(after):
                    self._report(entries, after)
                raise
            self._done.unmatched += unmatched
        self._report(entries, after)

    def _report(self, entries: list[Entry[C]], after: Position) -> None:
        """Count entries that were applied, and call ``progress`` for each transaction."""
        done, progress = self._done, self._progress
        for entry in entries:
            done.patches += entry.patches
            if entry.transaction:
                done.transactions += 1
                done.operations += entry.changes.operations
                if progress is not None:
                    done.position = after if entry is entries[-1] else entry.reached.position()
                    progress(done)
        done.position = after

    def _is_at(self, position: Position) -> bool:
        with suppress(Exception):
            return position in self._target.positions()
        return False


def name_of(patch: str, number: int) -> str:
    """What errors call a patch: by its id, or else by its number."""
    return f"patch number {number}" if patch.startswith(DIGEST) else f"patch {patch}"
