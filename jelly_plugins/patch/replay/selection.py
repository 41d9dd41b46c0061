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
from .transactions import Event, PatchStart, Transaction

#: Positions that an error names, at most.
_SHOWN: Final = 3


class Entry(NamedTuple, Generic[C]):
    """What to apply: a transaction, or the end of a patch.

    :ivar changes: of a transaction; None for an end.
    :ivar patch: key of the patch, as in a position.
    :ivar reached: the position that the store then has; None if none is kept.
    :ivar begins: whether nothing of the patch was selected before.
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
        #: The log's name, empty without one; None before its first patch.
        self._log: str | None = None
        #: What the source's first patch follows.
        self._opening: str | None = None
        #: Hashes of the ids in the source, the last id, and the one of the patch before, which may
        #: come again.
        self._ids: set[int] = set()
        self._last_id: str | None = None
        self._repeatable: str | None = None
        #: The patch that is known by its id or number, and the transactions of it.
        self._patch = ""
        self._transactions = 0
        #: Of the patch that is being read: whether it has started and does not repeat the one
        #: before it, and whether something of it was selected.
        self._is_open = False
        self._is_selected = False

    @property
    def seeks(self) -> bool:
        """Whether the store's position is still looked for."""
        return bool(self._sought)

    def take(self, event: Event[C]) -> Entry[C] | None:
        """Decide about the next event of a log.

        :return: what to apply; None if there is nothing, or the store has it already.
        :raises ChainError: the patch does not follow the one before it, or the store's position.
        """
        if isinstance(event, PatchStart):
            self._begin(*event)
            return None
        if isinstance(event, Transaction):
            if self._is_open:
                self._transactions += event.size
            if not self._is_open or self._has(self._transactions):
                self._done.skipped += event.begins
                return None
            return self._entry(event.changes)
        if not self._is_open and event.id is None:
            self._check_follows(event.prev)
        entry = self._entry(None) if self._is_open and not self._sought else None
        if event.id is not None and event.id == self._settings.last:
            # If the store is further on, there is nothing to do, but that is an error.
            self._is_beyond = self.seeks
            self.is_complete = not self._is_beyond
        self.number += 1
        self._is_open = self._is_selected = False
        return entry

    def _begin(self, id_: str | None, prev: str | None) -> None:
        """Start a patch, and check how it follows those before it."""
        if self._log is None:
            self._find(id_, prev)
        if id_ is not None:
            if id_ == self._repeatable:
                return
            if hash(id_) in self._ids:
                raise ChainError("an earlier patch of the log has the same id", found=id_)
            self._ids.add(hash(id_))
            if self._patch in self._sought:
                # It has fewer transactions than were applied.
                self._go_on(self._sought[self._patch])
        self._check_follows(prev)
        self._is_open = True
        self._repeatable = id_
        if id_ is not None or self._last_id is None:
            self._patch = id_ or str(self.number)
            self._transactions = 0
            self._last_id = id_
        self._has(0)

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

    def _has(self, transactions: int) -> bool:
        """Whether the store has so many transactions of the current patch. If it has no more, the
        position is found."""
        if not self._sought:
            return False
        position = self._sought.get(self._patch)
        if position is not None and transactions == position.transactions:
            self._go_on(position)
        return True

    def _entry(self, changes: C | None) -> Entry[C] | None:
        reached = Position(
            log=self._log or "",
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

    def _find(self, id_: str | None, prev: str | None) -> None:
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
