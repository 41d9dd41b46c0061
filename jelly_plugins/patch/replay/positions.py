"""Positions of stores in logs, and which transactions of a log a store lacks. No store is changed.

1. A position is the last patch that was applied, at least in part, and the number of its
   transactions. A store keeps one for each log and each graph that a log was replayed into; it
   moves together with the data.
2. A patch is known by its ``id``. A log is read from its beginning; everything before the position
   is skipped. Content is not compared.
3. A log is known by the name that the caller gives it, or by the ``id`` of its first patch. A
   source that begins with the patch at the position, or with one that follows it (``prev``),
   continues that log.
4. A log whose first patch has no ``id`` has a position only if it has a name. Its patches are
   known by their numbers. Without a name it is applied from its beginning each time, which gives
   the same state: the last operation on a statement decides.
5. A patch without an ``id`` that follows one with an ``id`` counts as more transactions of that
   one. One that changes nothing (a keepalive) is skipped wherever it occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from ...codec.patch.operations import AnyOperation
from ...errors import ChainError
from ...notebook import Shown
from .settings import ReplaySettings, Target
from .transactions import NetChanges, PatchEnd, PatchStart, Transactions

#: What a result says where no position is kept.
NO_POSITION: Final = (
    "no position is kept, because the patches have no ids: give the log a name to apply each patch "
    "once"
)
#: Positions that an error names, at most.
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Shown):
    """How far a log was applied.

    :ivar log: the log's name: given by the caller, or the ``id`` of the log's first patch.
    :ivar patch: the ``id`` of the last patch, in the syntax of N-Triples; or, in a log without
        ids, its number from 1.
    :ivar transactions: transactions of that patch that were applied; aborted ones do not count. Of
        operations outside of TX and TC, each counts.
    :ivar complete: whether the patch has ended.
    :ivar graph: name of the graph used instead of the default graph, in the syntax of N-Triples;
        empty for the default graph itself.
    """

    log: str
    patch: str
    transactions: int
    complete: bool
    graph: str = ""


class Entry(NamedTuple):
    """What to apply: a transaction, or the end of a patch.

    :ivar changes: of a transaction; None for an end.
    :ivar patch: key of the patch, as in a position.
    :ivar reached: the position that the store then has; None if none is kept.
    :ivar begins: whether nothing of the patch was selected before.
    """

    changes: NetChanges | None
    patch: str
    reached: Position | None
    begins: bool


class Selection:
    """Selects what to apply of one log. Nothing is selected before it is known that its patch
    follows what was applied before it.

    :param target: has the store's positions.
    :ivar position: the position that was found in the source; None before that.
    :ivar skipped: transactions of the source up to there.
    :ivar advice: what to do to have a position, if none is kept; otherwise empty.
    :ivar is_complete: whether the patch ``until`` has ended.
    """

    def __init__(self, target: Target, settings: ReplaySettings) -> None:
        self._target = target
        self._settings = settings
        self._until = settings.last
        self._log = Transactions(target.text, strict=settings.check_unmatched)
        self.position: Position | None = None
        self.skipped = 0
        self.advice = ""
        self.is_complete = False
        #: Where the store is once all that was selected is applied.
        self._reached: Position | None = None
        #: The store's positions by their patches, while these are looked for; and whether they are
        #: looked for after the patch ``until``.
        self._sought: dict[str, Position] = {}
        self._is_beyond = False
        #: The log's name, empty without one; None before its first patch.
        self._name: str | None = None
        #: What the source's first patch follows.
        self._opening: str | None = None
        #: Hashes of the ids in the source, the last id, and the one of the patch before, which may
        #: come again.
        self._ids: set[int] = set()
        self._last_id: str | None = None
        self._repeatable: str | None = None
        #: The patch that is known by its id or number, and the transactions of it so far.
        self._patch = ""
        self._transactions = 0
        #: Whether the patch does not repeat the one before it, and something of it was selected.
        self._is_open = self._is_selected = False

    @property
    def reading(self) -> str | None:
        """The patch that is read, by its id or number, for errors."""
        patch = self._log.patch
        numbered = str(patch.number) if self._log.has_headers or patch.number > 1 else None
        return patch.id or numbered

    def entries(self, rows: Iterable[AnyOperation]) -> Iterator[Entry]:
        """Read rows: headers, operations and ends of patches; give what to apply, up to the patch
        ``until``.
        """
        for event in self._log.read(rows):
            if isinstance(event, PatchStart):
                self._start(event)
            elif isinstance(event, PatchEnd):
                patch = self._log.patch
                if event is PatchEnd.KEEPALIVE:
                    self._check_follows(patch)
                elif self._is_open and not self._sought:
                    before = self._reached
                    if before is None or not (before.complete and before.patch == self._patch):
                        yield self._entry(None)
                self._is_open = self._is_selected = False
                if patch.id is not None and patch.id == self._until:
                    # If the store is further on, there is nothing to do, but that is an error.
                    self._is_beyond = bool(self._sought)
                    self.is_complete = not self._is_beyond
                    if self.is_complete:
                        return
            elif self._is_open:
                self._transactions += event.size
                if self._sought:
                    self.skipped += 1
                    self._look()
                else:
                    yield self._entry(event.changes)
            # Of operations outside of TX and TC, the store may have some.
            self._log.one_by_one = bool(self._sought)

    def take_aborted(self) -> int:
        """Number of aborted transactions that were read since the last call, after the store's
        position."""
        count, self._log.aborted = self._log.aborted, 0
        return 0 if self._sought else count

    def _entry(self, changes: NetChanges | None) -> Entry:
        """Select a transaction or, without changes, the end of the patch."""
        self._reached = Position(
            log=self._name or "",
            patch=self._patch,
            transactions=self._transactions,
            complete=changes is None,
            graph=self._target.graph,
        )
        begins, self._is_selected = not self._is_selected, True
        return Entry(changes, self._patch, self._reached if self._name else None, begins)

    def _start(self, patch: PatchStart) -> None:
        id_ = patch.id
        if self._name is None:
            self._find(patch)
        if id_ is not None:
            if id_ == self._repeatable:
                return
            if hash(id_) in self._ids:
                raise ChainError("an earlier patch of the log has the same id", found=id_)
            self._ids.add(hash(id_))
            if self._patch in self._sought:
                # It has fewer transactions than were applied.
                self._go_on(self._sought[self._patch])
        self._check_follows(patch)
        self._is_open = True
        self._repeatable = id_
        if id_ is not None or self._last_id is None:
            self._patch = id_ or str(patch.number)
            self._transactions = 0
            self._last_id = id_
        self._look()

    def _check_follows(self, patch: PatchStart) -> None:
        before, prev = self._patch, patch.prev
        if prev is None or not before or self._sought or not self._settings.check_prev:
            return
        if prev != before:
            raise ChainError(
                f"it follows patch {prev}, but the patch before it is {before}",
                expected=before,
                found=prev,
            )

    # The store's position

    def _find(self, patch: PatchStart) -> None:
        """Find the store's position in the log, by the source's first patch."""
        name, prev = self._settings.name, patch.prev
        self._name = name or patch.id or ""
        if not self._name:
            self.advice = NO_POSITION
            return
        known = [each for each in self._target.positions() if name in (None, each.log)]
        logs = {each.log: each for each in known}
        # Without a name, a number is not enough.
        heads = {each.patch: each for each in known if name or not each.patch.isdecimal()}
        found = logs.get(self._name) or heads.get(prev or "") or heads.get(patch.id or "")
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

    def _look(self) -> None:
        """Go on from the store's position, if the source has come to it."""
        position = self._sought.get(self._patch)
        if position is not None and self._transactions == position.transactions:
            self._go_on(position)

    def _go_on(self, position: Position) -> None:
        """Select from the store's position on."""
        if self._is_beyond:
            raise ChainError(
                f"the store is at patch {position.patch} already, after patch {self._until}",
                expected=self._until,
                found=position.patch,
            )
        self._sought = {}
        self._name = position.log
        self._transactions = position.transactions
        self._reached = self.position = position
        self._log.aborted = 0

    def check_found(self) -> None:
        """Check that the store's position was found in the log."""
        if not self._sought:
            return
        if self._patch in self._sought:
            self.position = self._sought[self._patch]
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
