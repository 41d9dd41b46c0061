"""The course of a replay, whatever the store: transactions out of a log, each of them once.

A store sees transactions only: it is asked to gather the changes of one and to apply them together
with the position that it reaches. Which ones, and whether they may be, is decided here.

Rules of this file:
1. A transaction is what stands between TX and TC, or operations that stand outside of any, up to
   the next TX or the end of their patch. One that is aborted leaves no trace.
2. Nothing is applied before it is known that the patch follows what was applied before it, nor
   before the row that follows the transaction was read, so that a torn patch of one transaction
   leaves no trace either, and the position says whether its patch is complete. Only where a
   growing file ends for now is that row not waited for.
3. A log is known by its name, by the key of its first patch, or by the id that its first patch
   names as the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from ..codec.operations import Header, Operation, OperationKind
from ..errors import ChainError, JellyError, OrderError
from .model import ID, PREV
from .position import Position, Replayed

#: Told what was done so far, after each transaction.
Progress: TypeAlias = Callable[[Replayed], object]

DIGEST: Final = "sha256:"

#: Kinds of operations that change something.
CHANGES: Final = frozenset(
    (
        OperationKind.ADD,
        OperationKind.DELETE,
        OperationKind.ADD_NAMESPACE,
        OperationKind.DELETE_NAMESPACE,
    )
)


class Changes(Protocol):
    """The changes of one transaction, gathered."""

    @property
    def operations(self) -> int:
        """Number of operations that were gathered."""
        ...

    def gather(self, rows: Iterator[Operation], /) -> Operation | None:
        """Take operations up to the first row that is none of :data:`CHANGES`.

        :return: that row; None if there are no more.
        :raises JellyError: the store cannot hold a term.
        """
        ...

    def fingerprint(self) -> bytes:
        """A digest that the same changes have, and no others."""
        ...


C = TypeVar("C", bound=Changes)


class Target(Protocol[C]):
    """A store that a log is replayed into."""

    def positions(self) -> Iterable[Position]:
        """Where the store stands, one position for each log."""
        ...

    def changes(self) -> C:
        """Where the changes of a transaction are gathered."""
        ...

    def apply(self, changes: C, before: Position | None, after: Position, /) -> None:
        """Change the data and the position, both or none."""
        ...


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :param text: the text of a header's value, in the syntax of N-Triples.
    :param log: the log's name.
    :param check_prev: whether a patch must follow the one that was applied last.
    :param until: key of the patch after which to stop.
    :param dry_run: apply nothing.
    :param progress: told after each transaction.

    :ivar done: what was done so far.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        text: Callable[[Any], str],
        log: str | None = None,
        check_prev: bool = True,
        until: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.done = Replayed()
        self._target = target
        self._text = text
        self._log = log
        self._check_prev = check_prev
        self._until = until
        self._dry_run = dry_run
        self._progress = progress
        #: Where the store stands, by key of the patch, while that patch is looked for.
        self._sought: dict[str, Position] = {}
        #: What the source's first patch follows, for errors.
        self._opening: str | None = None
        #: Number of the patch, in the log or, while the log is not known, in the source.
        self._number = 0
        self._begun = False
        self._digest = ""
        self._pending: tuple[C, Position] | None = None
        self._start_patch()

    def _start_patch(self) -> None:
        self._headers: list[Header] = []
        self._entered = False
        #: Whether it is the patch again that was applied last.
        self._repeated = False
        self._id: str | None = None
        self._transactions = 0
        self._counted = False

    def run(self, rows: Iterator[Operation]) -> bool:
        """Replay rows: headers, operations and ends of patches.

        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        try:
            reached = self._run(rows)
        except JellyError as error:
            if self._begun or self._headers:
                error.message = f"{self._name()}: {error.message}"
            raise
        if not reached:
            self.check_found()
        return reached

    def _name(self) -> str:
        """What to call the patch that is being read."""
        for key, value in self._headers:
            if key == ID:
                return f"patch {self._text(value)}"
        return f"patch number {self._number if self._entered else self._number + 1}"

    def _run(self, rows: Iterator[Operation]) -> bool:
        changes = self._target.changes()
        inside = False
        while (row := changes.gather(rows)) is not None:
            kind = row.kind
            if kind is OperationKind.HEADER:
                self._flush()
                self._header(row.value)
                continue
            if inside is not (kind in (OperationKind.COMMIT, OperationKind.ABORT)):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            if kind is OperationKind.ABORT:
                self.done.aborted += 1
            elif kind is OperationKind.COMMIT or changes.operations:
                self._transaction(changes)
            elif kind is OperationKind.BEGIN:
                self._flush()
            inside = kind is OperationKind.BEGIN
            changes = self._target.changes()
            if kind is OperationKind.END and self._end_patch():
                return True
        return False

    def _header(self, header: Header) -> None:
        if self._entered and header.key in (ID, PREV):
            raise OrderError(f"the header {header.key!r} stands behind a transaction of its patch")
        self._headers.append(header)

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more comes.

        :raises ChainError: all was read, and nothing of it follows what was applied.
        """
        self._flush()
        self.check_found()

    def check_found(self) -> None:
        """Refuse a log in which the patch that was applied last was not found.

        :raises ChainError: it is so.
        """
        if not self._sought:
            return
        heads = " or ".join(self._sought)
        if self._opening is None:
            message = f"the store stands at patch {heads}, which the log does not have"
        else:
            message = f"the log follows patch {self._opening}, but the store stands at {heads}"
        raise ChainError(message, expected=heads, found=self._opening)

    # Patches

    def _enter(self, changes: C) -> None:
        """Decide what is to become of the patch, once its headers and first changes are known."""
        if self._entered:
            return
        self._entered = True
        headers = dict(reversed(self._headers))
        found, prev = headers.get(ID), headers.get(PREV)
        self._id = None if found is None else self._text(found)
        follows = None if prev is None else self._text(prev)
        if not self._begun:
            self._begun = True
            self._resolve(changes, follows)
        position = self.done.position
        if position is not None and not self._sought:
            if self._id == position.patch:
                # Posting the head again is harmless.
                self._repeated = True
                return
            if follows not in (None, position.patch) and self._check_prev:
                raise ChainError(
                    f"it follows patch {follows}, but the log stands at patch {position.patch}",
                    expected=position.patch,
                    found=follows,
                )
        self._number += 1

    def _resolve(self, changes: C, follows: str | None) -> None:
        """Find out where the store stands in the log, by the log's first patch here."""
        known = list(self._target.positions())
        heads = {each.patch: each for each in known}
        root = self._id or self._chained(changes)
        name = root if self._log is None else self._log
        position = next((each for each in known if each.log == name), None)
        if position is None and self._log is None and follows is not None:
            position = heads.get(follows)
        self._log = name if position is None else position.log
        if position is None:
            if follows is None or not self._check_prev:
                return
            if not known:
                raise ChainError(
                    f"it follows patch {follows}, but nothing was applied before", found=follows
                )
            # The source may begin in the middle of a log.
            self._sought = heads
        elif follows != position.patch:
            self._sought = {position.patch: position}
        elif self._check_prev and not position.complete:
            raise ChainError(
                f"it follows patch {follows}, of which the store has no more than the first "
                f"{position.transactions} transactions",
                expected=position.patch,
                found=follows,
            )
        else:
            self.done.position = position
            self._number = position.number
        self._opening = follows

    def _chained(self, changes: C) -> str:
        digest = hashlib.sha256(self._digest.encode())
        digest.update(changes.fingerprint())
        return DIGEST + digest.hexdigest()

    def _key(self) -> str:
        """The key of the patch, by what is known of it so far."""
        return self._id or self._digest or DIGEST

    def _transaction(self, changes: C) -> None:
        """A transaction has ended, and not with an abort."""
        self._flush()
        self._enter(changes)
        self._transactions += 1
        if self._id is None:
            self._digest = self._chained(changes)
        if self._repeated or self._sought:
            self.done.skipped += 1
            self._seek()
        else:
            self._pending = (changes, self._position())

    def _seek(self) -> None:
        """Skip no more if it is here that the store stands."""
        position = self._sought.get(self._key())
        if position is not None and position.transactions == self._transactions:
            self._sought = {}
            self._log = position.log
            self._number = position.number
            self.done.position = position

    def _position(self, *, complete: bool = False) -> Position:
        return Position(
            log=self._log or self._key(),
            patch=self._key(),
            number=self._number,
            transactions=self._transactions,
            complete=complete,
        )

    def _end_patch(self) -> bool:
        """The patch has ended; say whether it is the last to be applied."""
        nothing = self._target.changes()
        self._enter(nothing)
        key = self._key()
        if self._pending is not None:
            self._flush(complete=True)
        elif not self._repeated:
            if not self._transactions:
                self._seek()
            if not self._sought and (end := self._position(complete=True)) != self.done.position:
                self._apply(nothing, end)
                self._count_patch(not self._transactions)
        self._start_patch()
        return self._until is not None and key == self._until

    def _flush(self, *, complete: bool = False) -> None:
        """Apply the transaction that waits for the row behind it."""
        if self._pending is None:
            return
        (changes, position), self._pending = self._pending, None
        self._apply(changes, replace(position, complete=True) if complete else position)
        self._count_patch(True)
        self.done.transactions += 1
        self.done.operations += changes.operations
        if self._progress is not None:
            self._progress(self.done)

    def _apply(self, changes: C, after: Position) -> None:
        if not self._dry_run:
            self._target.apply(changes, self.done.position, after)
        self.done.position = after

    def _count_patch(self, applied: bool) -> None:
        if applied and not self._counted:
            self._counted = True
            self.done.patches += 1
