"""Which transactions of a log a store does not have yet. No I/O, no stores: transactions and
positions come in, entries for the store come out.

Rules of this file:
1. Nothing is selected before it is known that its patch follows what was applied before it.
2. What names patches and logs, and what a position means, is defined in ``position``. A source is
   read from its beginning; transactions are skipped until the store's position is found.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, NamedTuple

from ....codec.patch.operations import AnyOperation
from ....errors import ChainError
from .position import DIGEST, Position, Replayed
from .settings import ReplaySettings
from .target import C, Target, TransactionChanges
from .transactions import PatchEnd, Transaction

#: Positions that an error names, at most.
_SHOWN: Final = 3


#: Hexadecimal digits that are kept of a digest.
_DIGITS: Final = 32


class Content(NamedTuple):
    """What the transactions of a patch say, those that were read of it.

    :ivar operations: number of operations; None if nothing is known.
    :ivar digest: of all of them; empty if there are none, and None if it is not known.
    :ivar form: what of them the digest is made of.
    """

    operations: int | None = 0
    digest: bytes | None = b""
    form: str = ""

    def plus(self, changes: TransactionChanges) -> Content:
        """The content with one more transaction."""
        if self.operations is None:
            return self
        digest = changes.content()
        if self.digest is None:
            digest = None
        elif self.digest and digest is not None:
            digest = hashlib.sha256(self.digest + digest).digest()
        return Content(self.operations + changes.operations, digest, changes.form)

    def text(self) -> str:
        """As positions have it: number of operations, a colon, and, if that is known, the form of
        the digest, a hyphen and the digest; empty if nothing is known."""
        if self.operations is None:
            return ""
        known = f"{self.form}-{self.digest.hex()[:_DIGITS]}" if self.digest else ""
        return f"{self.operations}:{known}"

    def known_as(self, text: str) -> Content:
        """The content, but nothing of it that a text does not know."""
        if not text:
            return Content(None, None)
        if text.partition(":")[2]:
            return self
        return Content(self.operations, None, self.form)


#: That of an empty patch.
_EMPTY: Final = Content()


def differ(one: str, other: str) -> bool:
    """Whether two texts are those of contents that are not the same, as far as they are known.

    >>> differ("1:x-ab", "1:x-ab"), differ("1:x-ab", "1:x-cd"), differ("1:x-ab", "2:")
    (False, True, True)
    >>> differ("1:x-ab", "1:"), differ("1:x-ab", "1:y-cd"), differ("1:x-ab", "")
    (False, False, False)
    """
    if one == other or not one or not other:
        return False
    (operations, _, digest), (others, _, known) = one.partition(":"), other.partition(":")
    return operations != others or digest.partition("-")[0] == known.partition("-")[0] != ""


class Entry(NamedTuple, Generic[C]):
    """The changes to apply.

    :ivar reached: the position that the store then has.
    :ivar transaction: whether it is a transaction; otherwise only a patch ends.
    :ivar patches: how many patches begin with it.
    """

    changes: C
    reached: Position
    transaction: bool
    patches: int


@dataclass(slots=True)
class _Patch:
    """What was read of one patch.

    :ivar is_entered: whether it was checked against the patches before it. One without an id is
        only entered once it changes something.
    :ivar repeats: whether it has the id of the patch before it.
    :ivar transactions: number of its transactions.
    :ivar content: of its transactions, if it has an id.
    :ivar loose: of its last transaction, as in :class:`.Position`.
    :ivar met: the store's position, if that was found in this patch.
    :ivar is_counted: whether it counts as one that was applied, at least in part.
    """

    id: str | None = None
    is_entered: bool = False
    repeats: bool = False
    transactions: int = 0
    content: Content = _EMPTY
    loose: str = ""
    met: Position | None = None
    is_counted: bool = False


class Selection(Generic[C]):
    """Selects what to apply of one log.

    :param target: has the store's positions.
    :param done: counts the skipped transactions, and gets the position that is found.
    :ivar is_complete: whether the patch ``until`` has ended.
    """

    def __init__(
        self,
        target: Target[C],
        settings: ReplaySettings,
        *,
        done: Replayed,
    ) -> None:
        self._target = target
        self._done = done
        self._log_name = settings.log_name
        self._check_prev = settings.check_prev
        self._last = settings.last
        self.is_complete = False
        #: Where the store is, or will be once all that was selected is applied.
        self._reached: Position | None = None
        #: The store's positions by key of their patches, while these are looked for.
        self._sought: dict[str, Position] = {}
        #: Whether that goes on after the patch ``until``.
        self._is_beyond = False
        #: Whether a patch was entered; and what the first one follows, for errors.
        self._is_resolved = False
        self._opening: str | None = None
        #: Number of the last patch, in the log or, while the log is not known, in the source.
        self._number = 0
        #: Key of the last patch without an id.
        self._digest = ""
        #: Hashes of the ids in the source.
        self._ids: set[int] = set()
        self._previous: _Patch | None = None
        self._patch = _Patch()

    @property
    def number(self) -> int:
        """Number of the patch whose transaction or end comes next."""
        return self._number + (not self._patch.is_entered)

    @property
    def has_begun(self) -> bool:
        """Whether there was a patch."""
        return self._number > 0

    def keeps_rows(self) -> bool:
        """Whether one of the positions looked for is in a transaction that may have grown, so that
        its operations are needed one by one."""
        known = self._sought.values() if self._is_resolved else self._target.positions()
        return any(each.loose for each in known)

    def transaction(self, found: Transaction[C]) -> Entry[C] | None:
        """Decide about a transaction.

        :return: what to apply of it; None if it is skipped.
        :raises ChainError: the log is not the one that was applied, or its patches do not follow
            one another.
        """
        patch, changes = self._patch, found.changes
        if not patch.is_entered and (found.id is not None or changes.operations):
            self._enter(found, changes)
        patch.transactions += 1
        digest, content = self._digest, patch.content
        if found.id is None:
            self._digest = self._chained(changes)
            if not patch.is_entered:
                return None if found.end is None else self.end(found.end)
        else:
            patch.content = content.plus(changes)
        patch.loose = _note(changes) if found.loose else ""
        if patch.met is not None:
            self._check_may_grow(patch.met)
        rest: C | None = changes
        if patch.repeats or self._sought:
            rest = self._seek(changes, found.rows, digest, content)
        if rest is None:
            self._done.skipped += 1
        if found.end is not None:
            return self._end(found.end, rest)
        return None if rest is None else self._entry(rest, None)

    def end(self, found: PatchEnd) -> Entry[C] | None:
        """Decide about the end of a patch that was not given with a transaction.

        :return: an entry that moves the position; None if there is nothing to apply.
        :raises ChainError: see :meth:`transaction`.
        """
        if not self._patch.is_entered:
            if found.id is None:
                # It changes nothing, and cannot be distinguished from others like it.
                self._check_follows(found.prev)
                self._number += 1
                self._patch = _Patch()
                return None
            self._enter(found, self._target.changes())
        return self._end(found, None)

    def _end(self, end: PatchEnd, rest: C | None) -> Entry[C] | None:
        """End a patch.

        :param rest: what to apply of its last transaction.
        """
        patch = self._patch
        if self._sought:
            self._check_not_shorter()
            if not patch.transactions:
                self._seek(self._target.changes(), [], self._digest, patch.content)
        if not patch.repeats:
            self._previous = patch
        elif self._previous is not None and (
            self._previous.transactions != patch.transactions
            or differ(self._previous.content.text(), patch.content.text())
        ):
            raise ChainError(
                "it has the id of the patch before it, but different content", found=patch.id
            )
        if self._last is not None and patch.id == self._last:
            # If the store is further on, there is nothing to do, but that is an error.
            self._is_beyond = bool(self._sought)
            self.is_complete = not self._is_beyond
        entry = None
        if rest is not None or not (patch.repeats or self._sought):
            entry = self._entry(rest, end)
        self._patch = _Patch()
        return entry

    def check_found(self) -> None:
        """Check that the store's position was found in the log.

        :raises ChainError: it was not.
        """
        if not self._sought:
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

    # How a patch follows those before it

    def _enter(self, found: Transaction[C] | PatchEnd, changes: C) -> None:
        """Check how a patch follows those before it.

        :param changes: of its first transaction.
        """
        patch = self._patch
        patch.is_entered = True
        patch.id = found.id
        if not self._is_resolved:
            self._is_resolved = True
            self._resolve(found, changes)
        if found.id is not None:
            if self._previous is not None and found.id == self._previous.id:
                patch.repeats = True
                return
            mark = hash(found.id)
            if mark in self._ids:
                raise ChainError("an earlier patch of the log has the same id", found=found.id)
            self._ids.add(mark)
        self._check_follows(found.prev)
        self._number += 1

    def _check_follows(self, prev: str | None) -> None:
        if prev is None or self._reached is None or self._sought or not self._check_prev:
            return
        at = self._reached.patch
        if prev != at:
            raise ChainError(
                f"it follows patch {prev}, but the patch before it is {at}",
                expected=at,
                found=prev,
            )

    def _resolve(self, first: Transaction[C] | PatchEnd, changes: C) -> None:
        """Find the store's position in the log, by the source's first patch."""
        logs: dict[str, Position] = {}
        heads: dict[str, Position] = {}
        for position in self._target.positions():
            logs[position.log] = heads[position.patch] = position
        prev = first.prev
        name = self._log_name or first.id or self._chained(changes)
        found = logs.get(name)
        if found is None and self._log_name is None:
            # The source may begin after the store's position, or with its patch.
            found = heads.get(prev or "") or heads.get(first.id or "")
        self._log_name = name if found is None else found.log
        self._opening = prev
        if found is None:
            if prev is None or not self._check_prev:
                return
            if not logs:
                raise ChainError(
                    f"it follows patch {prev}, but nothing was applied before", found=prev
                )
            # The source may begin in the middle of a log.
            self._sought = heads
        elif prev != found.patch:
            self._sought = {found.patch: found}
        elif self._check_prev and not found.complete:
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

    # Where the store's position is

    def _seek(
        self, changes: C, rows: list[AnyOperation], digest: str, content: Content
    ) -> C | None:
        """Look for the store's position at the end of a transaction.

        :param changes: of the transaction.
        :param rows: its operations, if they were kept.
        :param digest: of what patches without ids had changed before it.
        :param content: of the patch before it.
        :return: what of the transaction the store does not have.
        :raises ChainError: the patch is not the one that was applied.
        """
        patch = self._patch
        position = self._sought.get(patch.id or self._digest) or self._grown(rows, digest)
        if position is None:
            return None
        rest: C | None = None
        if patch.id is not None and not position.transactions:
            # The patch had none; all that it has now is new.
            if patch.transactions:
                self._check_may_grow(position)
            rest = changes
        elif position.transactions != patch.transactions:
            return None
        else:
            now = patch.content
            if position.loose not in ("", _note(changes)):
                first, rest = self._split(rows, position)
                self._check_begins_alike(first, changes, position)
                now = content.plus(first)
            self._check_content(position, now)
        patch.met = position
        self._go_on(position)
        return rest

    def _go_on(self, position: Position) -> None:
        """Select from the store's position on.

        :raises ChainError: that is after the patch ``until``.
        """
        if self._is_beyond:
            raise ChainError(
                f"the store is at patch {position.patch} already, after patch {self._last}",
                expected=self._last,
                found=position.patch,
            )
        self._sought = {}
        self._log_name = position.log
        self._number = position.number
        self._reached = self._done.position = position

    def _grown(self, rows: list[AnyOperation], digest: str) -> Position | None:
        """The store's position, if that is in this transaction of a patch without an id, and the
        transaction has grown."""
        patch = self._patch
        for position in self._sought.values():
            here = (position.number, position.transactions) == (self._number, patch.transactions)
            if patch.id is None and position.loose and here:
                first, _ = self._split(rows, position)
                if self._chained(first, digest) == position.patch:
                    return position
        return None

    def _split(self, rows: list[AnyOperation], position: Position) -> tuple[C, C]:
        """What was applied of a transaction that has grown, and the rest."""
        size = _size(position)
        first, rest = self._target.changes(), self._target.changes()
        first.gather(iter(rows[:size]))
        rest.gather(iter(rows[size:]))
        return first, rest

    # Checks of the patch in which the store's position is

    def _check_begins_alike(self, first: C, changes: C, position: Position) -> None:
        if _note(first) != position.loose:
            raise ChainError(
                f"its transaction number {self._patch.transactions} had {_size(position)} "
                "operations outside of TX and TC when the log ended after them, and these were "
                f"applied; now it has {changes.operations}, which do not begin with them",
                expected=position.patch,
                found=position.patch,
            )

    def _check_may_grow(self, position: Position) -> None:
        if position.closed:
            raise ChainError(
                f"it was complete with {position.transactions} transactions when it was applied, "
                "and has more now",
                expected=position.patch,
                found=position.patch,
            )

    def _check_content(self, position: Position, now: Content) -> None:
        """Check that the patch is the one that was applied, if it has an id.

        :param now: content of as many of its transactions as were applied.
        """
        patch = self._patch
        if patch.id is None:
            return
        if differ(position.content, now.text()):
            raise ChainError(
                "it has the id of the patch that was applied last, but different content",
                expected=position.patch,
                found=position.patch,
            )
        # The rows read now do not include what was applied.
        patch.content = patch.content.known_as(position.content)

    def _check_not_shorter(self) -> None:
        patch = self._patch
        position = self._sought.get(patch.id or "")
        if position is not None and patch.transactions < position.transactions:
            raise ChainError(
                f"it has {patch.transactions} transactions, but {position.transactions} of it were "
                "applied",
                expected=position.patch,
                found=position.patch,
            )

    # Keys and positions

    def _chained(self, changes: C, before: str | None = None) -> str:
        digest = hashlib.sha256((self._digest if before is None else before).encode())
        digest.update(changes.fingerprint())
        return DIGEST + digest.hexdigest()

    def _entry(self, rest: C | None, end: PatchEnd | None) -> Entry[C] | None:
        """The entry that moves the store to what was read; None if it is there already.

        :param rest: what to apply of a transaction; None if only the patch ends.
        :param end: the end of the patch, if that was read.
        """
        patch = self._patch
        key = patch.id or self._digest
        # Whether the patch will have no more transactions, see Position.
        if patch.id is None or end is None:
            closed = False
        elif patch.met is None:
            closed = end.marked
        else:
            closed = patch.met.closed or (end.marked and patch.met.content != "")
        reached = Position(
            log=self._log_name or key,
            patch=key,
            number=self._number,
            transactions=patch.transactions,
            complete=end is not None,
            closed=closed,
            graph=self._target.graph,
            loose=patch.loose,
            content="" if patch.id is None else patch.content.text(),
        )
        if rest is None and self._reached == reached:
            return None
        self._reached = reached
        if rest is None:
            begins = not patch.transactions and patch.met is None
        else:
            begins = not patch.is_counted
        patch.is_counted = True
        changes = self._target.changes() if rest is None else rest
        return Entry(changes, reached, rest is not None, int(begins))


def _note(changes: TransactionChanges) -> str:
    """What a position has of a transaction that may grow."""
    return f"{changes.operations}:{changes.fingerprint().hex()}"


def _size(position: Position) -> int:
    """Number of operations of a transaction that may have grown."""
    return int(position.loose.partition(":")[0])
