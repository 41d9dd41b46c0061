"""Which transactions of a log a store does not have yet. No I/O, no stores: transactions and
positions come in, what to apply comes out. ``position`` defines what a position means.

Nothing is selected before it is known that its patch follows what was applied before it.
"""

from __future__ import annotations

from itertools import islice
from typing import Final, Generic, NamedTuple

from ...errors import ChainError
from .position import NO_POSITION, Position, Replayed
from .settings import ReplaySettings
from .target import C, Target
from .transactions import PatchEnd, Transaction

#: Positions that an error names, at most.
_SHOWN: Final = 3


class Entry(NamedTuple, Generic[C]):
    """What to apply: a transaction, or the end of a patch.

    :ivar changes: of a transaction; None for an end.
    :ivar patch: key of the patch, as in a position.
    :ivar reached: the position that the store then has; None if none is kept.
    :ivar begins: whether the patch begins with it.
    """

    changes: C | None
    patch: str
    reached: Position | None
    begins: bool


class Selection(Generic[C]):
    """Selects what to apply of one log.

    :param target: has the store's positions.
    :param done: counts the skipped transactions, and gets the position that is found.
    :param start: where an earlier reading of the same log has ended, if that has no name and no
        ids.
    :ivar is_complete: whether the patch ``until`` has ended.
    :ivar number: number of the patch that comes next in the source, from 1.
    :ivar reached: where the store is once all that was selected is applied; also where no position
        is kept.
    """

    def __init__(
        self,
        target: Target[C],
        settings: ReplaySettings,
        done: Replayed,
        start: Position | None = None,
    ) -> None:
        self._target = target
        self._settings = settings
        self._done = done
        self._start = start
        self.is_complete = False
        self.number = 1
        self.reached: Position | None = None
        #: The store's positions by their patches, while these are looked for; and whether they are
        #: looked for after the patch ``until``.
        self._sought: dict[str, Position] = {}
        self._is_beyond = False
        self._is_resolved = False
        self._log = ""
        #: What the source's first patch follows.
        self._opening: str | None = None
        #: Hashes of the ids in the source, and the last id.
        self._ids: set[int] = set()
        self._last_id: str | None = None
        #: The id that may come again: that of the patch before.
        self._repeatable: str | None = None
        #: The patch that is known by its id or number, and the transactions of it.
        self._patch = ""
        self._transactions = 0
        self._begin()

    def _begin(self) -> None:
        #: Of the patch that is being read: whether it was checked against those before it, whether
        #: it repeats the one before it, and whether anything of it was selected.
        self._is_entered = False
        self._repeats = False
        self._is_selected = False

    def transaction(self, found: Transaction[C]) -> Entry[C] | None:
        """Decide about a transaction.

        :return: what to apply; None if it is skipped.
        :raises ChainError: the patch does not follow the one before it, or the store's position.
        """
        if not self._is_entered and (found.id is not None or found.changes.operations):
            self._enter(found.id, found.prev)
        if not self._is_entered:
            return None
        if not self._repeats:
            self._transactions += found.size
        if self._repeats or self._is_before_position():
            self._done.skipped += found.begins
            return None
        return self._entry(found.changes)

    def seeks(self, id_: str | None, prev: str | None) -> bool:
        """Whether the store's position is looked for in a patch that has a change.

        :raises ChainError: see :meth:`transaction`.
        """
        if not self._is_entered:
            self._enter(id_, prev)
        return bool(self._sought)

    def end(self, found: PatchEnd) -> Entry[C] | None:
        """Decide about the end of a patch.

        :return: an entry that moves the position; None if the store is there already.
        :raises ChainError: see :meth:`transaction`.
        """
        if not self._is_entered:
            if found.id is None:
                self._check_follows(found.prev)
            else:
                self._enter(found.id, found.prev)
        entry = None
        if self._is_entered and not (self._sought or self._repeats):
            entry = self._entry(None)
        if found.id is not None and found.id == self._settings.last:
            # If the store is further on, there is nothing to do, but that is an error.
            self._is_beyond = bool(self._sought)
            self.is_complete = not self._is_beyond
        self.number += 1
        self._begin()
        return entry

    def _enter(self, id_: str | None, prev: str | None) -> None:
        """Check how a patch follows those before it."""
        self._is_entered = True
        if not self._is_resolved:
            self._is_resolved = True
            self._resolve(id_, prev)
        if id_ is not None:
            if id_ == self._repeatable:
                self._repeats = True
                return
            if hash(id_) in self._ids:
                raise ChainError("an earlier patch of the log has the same id", found=id_)
            self._ids.add(hash(id_))
            if self._patch in self._sought:
                # It has fewer transactions than were applied.
                self._go_on(self._sought[self._patch])
        self._check_follows(prev)
        self._repeatable = id_
        if id_ is not None or self._last_id is None:
            self._patch = id_ or str(self.number)
            self._transactions = 0
            self._last_id = id_
        position = self._sought.get(self._patch)
        if position is not None and not position.transactions:
            self._go_on(position)

    def _check_follows(self, prev: str | None) -> None:
        before = self._patch
        if prev is None or not before or self._sought or not self._settings.check_prev:
            return
        if prev != before:
            raise ChainError(
                f"it follows patch {prev}, but the patch before it is {before}",
                expected=before,
                found=prev,
            )

    def _is_before_position(self) -> bool:
        """Whether the store has the current transaction."""
        if not self._sought:
            return False
        position = self._sought.get(self._patch)
        if position is not None and self._transactions == position.transactions:
            self._go_on(position)
        return True

    def _entry(self, changes: C | None) -> Entry[C] | None:
        reached = Position(
            log=self._log,
            patch=self._patch,
            transactions=self._transactions,
            complete=changes is None,
            graph=self._target.graph,
        )
        if reached == self.reached:
            return None
        self.reached = reached
        begins = not self._is_selected
        self._is_selected = True
        return Entry(changes, self._patch, reached if self._log else None, begins)

    # The store's position

    def _resolve(self, id_: str | None, prev: str | None) -> None:
        """Find the store's position in the log, by the source's first patch."""
        name = self._settings.name
        self._log = name or id_ or ""
        if not self._log:
            self._done.advice = NO_POSITION
            if self._start is not None:
                self._sought = {self._start.patch: self._start}
            return
        known = [each for each in self._target.positions() if name is None or each.log == name]
        logs = {each.log: each for each in known}
        heads = {each.patch: each for each in known if name is not None or each.has_id}
        found = logs.get(self._log) or heads.get(prev or "") or heads.get(id_ or "")
        self._opening = prev
        check_prev = self._settings.check_prev
        if found is None:
            if prev is None or not check_prev:
                return
            if not heads:
                raise ChainError(
                    f"it follows patch {prev}, but nothing was applied before", found=prev
                )
            # The source may begin in the middle of a log.
            self._sought = heads
        elif prev != found.patch:
            self._sought = {found.patch: found}
        elif check_prev and not found.complete:
            raise ChainError(
                f"it follows patch {prev}, but the store has only the first "
                f"{found.transactions} transactions of that",
                expected=found.patch,
                found=prev,
            )
        else:
            self._go_on(found)
            # The source does not have what went before.
            self._ids.update(map(hash, (found.log, found.patch)))
            self._patch = found.patch

    def _go_on(self, position: Position) -> None:
        """Select from the store's position on.

        :raises ChainError: that is after the patch ``until``.
        """
        if self._is_beyond:
            raise ChainError(
                f"the store is at patch {position.patch} already, after patch "
                f"{self._settings.last}",
                expected=self._settings.last,
                found=position.patch,
            )
        self._sought = {}
        self._log = position.log
        self._transactions = position.transactions
        self.reached = position
        self._done.position = position if position.log else None

    def check_found(self) -> None:
        """Check that the store's position was found in the log.

        :raises ChainError: it was not.
        """
        if not self._sought:
            return
        if self._patch in self._sought:
            self._done.position = self._sought[self._patch]
            return
        # There may be very many logs.
        heads = " or ".join(islice(self._sought, _SHOWN))
        if len(self._sought) > _SHOWN:
            heads += f" or one of {len(self._sought) - _SHOWN} others"
        if self._opening is None:
            message = (
                f"the store is at patch {heads}, which the log does not have: apply the log with "
                "that patch at its end (jelly patch convert makes one log of several)"
            )
        else:
            message = f"the log follows patch {self._opening}, but the store is at patch {heads}"
        raise ChainError(message, expected=heads, found=self._opening)
