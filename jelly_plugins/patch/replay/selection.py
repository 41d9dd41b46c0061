"""The rows of a log as transactions, and which of them a store does not have yet. No I/O, and no
store is changed: rows and positions come in, what to apply comes out. ``position`` defines what a
position means.

A transaction consists of the operations between TX and TC, or of operations outside of any, up to
the next TX or the end of their patch. An aborted transaction (TA) leaves no trace. The source may
end after operations outside of TX and TC, and have more of them later; so a position counts these
one by one.

Nothing is selected before it is known that its patch follows what was applied before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final, NamedTuple

from ...codec.patch.operations import AnyOperation, Header, OperationKind
from ...errors import ChainError, OrderError
from ..model import ID, PREV
from .position import NO_POSITION, Position, Replayed
from .settings import ReplaySettings
from .target import NetChanges, Target

#: Kinds of operations that change something.
CHANGES: Final = frozenset(
    (
        OperationKind.ADD,
        OperationKind.DELETE,
        OperationKind.ADD_NAMESPACE,
        OperationKind.DELETE_NAMESPACE,
    )
)
#: Positions that an error names, at most.
_SHOWN: Final = 3


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
    """Selects what to apply of one log.

    :param target: has the store's positions.
    :param done: counts the transactions that are skipped, because they were aborted or are in the
        store, and gets the position that is found.
    :ivar is_complete: whether the patch ``until`` has ended.
    :ivar number: number of the patch that is read, from 1.
    :ivar id: its first header ``id``, in the syntax of N-Triples; None without one.
    :ivar has_headers: whether it has headers.
    """

    def __init__(self, target: Target, settings: ReplaySettings, done: Replayed) -> None:
        self._target = target
        self._settings = settings
        self._done = done
        self.is_complete = False
        self.number = 1
        #: Where the store is once all that was selected is applied; also where none is kept.
        self._reached: Position | None = None
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
        #: The patch that is known by its id or number, and the transactions of it so far.
        self._patch = ""
        self._transactions = 0
        self._clear()

    def _clear(self) -> None:
        """Forget the patch that was read."""
        self.id: str | None = None
        self._prev: str | None = None
        self.has_headers = False
        #: Whether the patch has a transaction, whether it has an id or a change, whether it does
        #: not repeat the one before it, and whether something of it was selected.
        self._has_transactions = self._has_started = self._is_open = self._is_selected = False

    def entries(self, source: Iterable[AnyOperation]) -> Iterator[Entry]:
        """Read rows: headers, operations and ends of patches; give what to apply, up to the patch
        ``until``.

        :raises OrderError: a row may not follow the rows before it.
        :raises ChainError: a patch does not follow the one before it, or the store's position.
        """
        strict = self._settings.check_unmatched
        rows = iter(source)
        changes = NetChanges(strict=strict)
        inside = False
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if kind in CHANGES:
                if not inside:
                    self._start()
                    row = self._skip(row, rows)
                    if row is None or row.kind not in CHANGES:
                        continue
                row = changes.gather(chain((row,), rows))
                continue
            if kind is OperationKind.HEADER:
                self._add_header(row.value)
                row = next(rows, None)
                continue
            if inside is not (kind in (OperationKind.COMMIT, OperationKind.ABORT)):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            if kind is OperationKind.ABORT:
                self._done.aborted += 1
                changes = NetChanges(strict=strict)
            elif kind is OperationKind.COMMIT or changes.operations:
                self._has_transactions = True
                # Without changes, a patch without an id is not one that others follow.
                if self.id is not None or changes.operations:
                    self._start()
                if self._take(1 if inside else changes.operations):
                    yield from self._entry(changes)
                changes = NetChanges(strict=strict)
            if kind is OperationKind.END:
                yield from self._end()
                if self.is_complete:
                    return
            inside = kind is OperationKind.BEGIN
            row = next(rows, None)

    def _add_header(self, header: Header) -> None:
        self.has_headers = True
        key = header.chain_key
        if key not in (ID, PREV):
            return
        if self._has_transactions:
            raise OrderError(f"the header {header.key!r} comes after a transaction of its patch")
        value = self._target.text(header.value)
        if key == PREV:
            self._prev = self._prev or value
        else:
            self.id = self.id or value

    def _skip(self, row: AnyOperation | None, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Skip operations outside of TX and TC that the store has; return the row after them."""
        skips = False
        while row is not None and row.kind in CHANGES and (self._sought or not self._is_open):
            skips = True
            if self._is_open:
                self._transactions += 1
                self._has_all()
            row = next(rows, None)
        self._done.skipped += skips
        self._has_transactions = self._has_transactions or skips
        return row

    def _take(self, size: int) -> bool:
        """Count a transaction; return whether the store lacks it."""
        if not self._has_started:
            return False
        if self._is_open:
            self._transactions += size
        if self._is_open and not self._has_all():
            return True
        self._done.skipped += 1
        return False

    def _end(self) -> Iterator[Entry]:
        """End the patch."""
        if self.id is not None:
            self._start()
        if not self._is_open and self.id is None:
            self._check_follows()
        if self._is_open and not self._sought:
            yield from self._entry(None)
        if self.id is not None and self.id == self._settings.last:
            # If the store is further on, there is nothing to do, but that is an error.
            self._is_beyond = bool(self._sought)
            self.is_complete = not self._is_beyond
        self.number += 1
        self._clear()

    def _start(self) -> None:
        """Start a patch that has an id or a change, and check how it follows those before it."""
        if self._has_started:
            return
        self._has_started = True
        id_ = self.id
        if self._log is None:
            self._find()
        if id_ is not None:
            if id_ == self._repeatable:
                return
            if hash(id_) in self._ids:
                raise ChainError("an earlier patch of the log has the same id", found=id_)
            self._ids.add(hash(id_))
            if self._patch in self._sought:
                # It has fewer transactions than were applied.
                self._go_on(self._sought[self._patch])
        self._check_follows()
        self._is_open = True
        self._repeatable = id_
        if id_ is not None or self._last_id is None:
            self._patch = id_ or str(self.number)
            self._transactions = 0
            self._last_id = id_
        self._has_all()

    def _check_follows(self) -> None:
        before, prev = self._patch, self._prev
        if prev is None or not before or self._sought or not self._settings.check_prev:
            return
        if prev != before:
            raise ChainError(
                f"it follows patch {prev}, but the patch before it is {before}",
                expected=before,
                found=prev,
            )

    def _has_all(self) -> bool:
        """Whether the store has the transactions so far; if these are all that it has, its position
        is found."""
        if not self._sought:
            return False
        position = self._sought.get(self._patch)
        if position is not None and self._transactions == position.transactions:
            self._go_on(position)
        return True

    def _entry(self, changes: NetChanges | None) -> Iterator[Entry]:
        reached = Position(
            log=self._log or "",
            patch=self._patch,
            transactions=self._transactions,
            complete=changes is None,
            graph=self._target.graph,
        )
        if reached != self._reached:
            self._reached = reached
            begins = not self._is_selected
            self._is_selected = True
            yield Entry(changes, self._patch, reached if self._log else None, begins)

    # The store's position

    def _find(self) -> None:
        """Find the store's position in the log, by the source's first patch."""
        name, id_, prev = self._settings.name, self.id, self._prev
        self._log = name or id_ or ""
        if not self._log:
            self._done.advice = NO_POSITION
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
        self._reached = position
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
