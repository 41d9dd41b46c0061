"""Selected transactions into a store, in groups."""

from __future__ import annotations

from typing import Final, Generic

from ...errors import JellyError
from .position import Position, Replayed
from .selection import Entry
from .settings import ReplaySettings
from .target import C, Target

#: Operations that are applied together, unless a single transaction has more.
_TOGETHER: Final = 10_000
#: Characters that are applied together, unless a single transaction has more.
_TEXT: Final = 4 << 20


class Commits(Generic[C]):
    """Applies entries to a store: in groups, each of which is one transaction there.

    A transaction of a few statements costs a store much more for being one than for what it
    changes: in groups, transactions of one statement take a fifth of the time, of ten a half, of
    a hundred two thirds. So consecutive ones are applied together, with the position that the last
    of them reaches: the store has all of a group or none of it, and is between two transactions of
    the log whatever happens. A group that cannot be applied as a whole is applied one by one, so
    that the store has all transactions before the one at fault.

    :param group: most transactions that are applied together.
    :param done: counts what was applied, and has the store's position.
    :ivar failed: whether applying or a callback has raised an error, which names the patch.
        Nothing more may be applied.
    """

    def __init__(
        self, target: Target[C], settings: ReplaySettings, done: Replayed, *, group: int
    ) -> None:
        self.failed = False
        self._target = target
        self._settings = settings
        self._done = done
        self._group = group
        self._waiting: list[Entry[C]] = []
        self._transactions = 0
        self._operations = 0
        self._characters = 0

    def put(self, entry: Entry[C]) -> None:
        """Apply an entry, together with those that follow or not.

        :raises JellyError: the store rejects an earlier one.
        """
        changes = entry.changes
        if changes is not None:
            together = self._group > 1 and changes.operations <= _TOGETHER
            characters = changes.characters if together else 0
            if (
                self._transactions >= self._group
                or self._operations + changes.operations > _TOGETHER
                or self._characters + characters > _TEXT
            ):
                self.commit()
            self._transactions += 1
            self._operations += changes.operations
            self._characters += characters
        self._waiting.append(entry)
        # Where transactions are applied one by one, the end of their patch is not waited for longer
        # than this.
        if self._group == 1 and changes is None:
            self.commit()

    def commit(self) -> None:
        """Apply all entries that wait.

        :raises JellyError: the store rejects one, or its position has changed meanwhile.
        """
        waiting, self._waiting = self._waiting, []
        self._transactions = self._operations = self._characters = 0
        if not waiting:
            return
        try:
            self._apply_together(waiting)
        except BaseException:
            self.failed = True
            raise

    def _apply_together(self, entries: list[Entry[C]]) -> None:
        transactions = [each.changes for each in entries if each.changes is not None]
        if len(transactions) == 1:
            changes = transactions[0]
        else:
            changes = self._target.changes()
            for each in transactions:
                changes.join(each)
        before = self._done.patches, self._done.transactions
        try:
            self._apply(changes, entries)
        except JellyError:
            if len(transactions) < 2 or before != (self._done.patches, self._done.transactions):
                raise
            # One by one, those before the one at fault are applied.
            for entry in entries:
                self._apply(entry.changes or self._target.changes(), [entry])

    def _apply(self, changes: C, entries: list[Entry[C]]) -> None:
        last = entries[-1]
        if not self._settings.dry_run:
            try:
                missed = self._target.apply(changes, self._done.position, last.reached)
            except JellyError as error:
                error.message = f"patch {named(last.patch)}: {error.message}"
                raise
            self._done.unmatched += missed
        self._note(entries, last.reached)

    def _note(self, entries: list[Entry[C]], reached: Position | None) -> None:
        """Count entries that were applied, and call back for each transaction."""
        done = self._done
        done.position = reached
        for entry in entries:
            done.patches += entry.begins
            if entry.changes is not None:
                done.transactions += 1
                done.operations += entry.changes.operations
                if self._settings.progress is not None:
                    self._settings.progress(entry.changes.operations)


def named(patch: str) -> str:
    """A patch by its id or its number, for errors."""
    return f"number {patch}" if patch.isdecimal() else patch
