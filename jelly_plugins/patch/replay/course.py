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
3. What names patches and logs, and what a position means, is told in ``position``. A source is read
   from its beginning; what was applied before is passed over until the store's position is found.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from ...codec.patch.operations import Header, Operation, OperationKind
from ...errors import ChainError, JellyError, OrderError, TruncatedError
from ..content import Content, differ
from ..model import BEHIND_HEADERS, ID, PREV
from .position import DIGEST, Position, Replayed, check_name

#: Told what was done so far, after each transaction.
Progress: TypeAlias = Callable[[Replayed], object]

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
        """Change the data and the position, both or none.

        :param before: where the store stands.
        :raises ChainError: it does not stand there any more. Nothing was changed.
        """
        ...


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :param text: the text of a header's value, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.
    :param log: the log's name.
    :param check_prev: whether a patch must follow the one that was applied last.
    :param until: key of the patch after which to stop.
    :param dry_run: apply nothing.
    :param progress: told after each transaction.
    :param torn: whether the last end of a patch was nothing but the end of a text, behind headers.
    :param unmarked: whether it was nothing but the end of the source, which may grow. Where that is
        not known, patches are not closed.
    :raises OptionsError: ``log`` cannot be a name.

    :ivar done: what was done so far.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        text: Callable[[Any], str],
        graph: str = "",
        log: str | None = None,
        check_prev: bool = True,
        until: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        torn: Callable[[], bool] = lambda: False,
        unmarked: Callable[[], bool] = lambda: True,
    ) -> None:
        check_name(log)
        self.done = Replayed()
        self._target = target
        self._text = text
        self._graph = graph
        self._log = log
        self._check_prev = check_prev
        self._until = until
        self._dry_run = dry_run
        self._progress = progress
        self._torn = torn
        self._unmarked = unmarked
        #: Patches and numbers of transactions at which the store stands, and that may have grown.
        #: Patches without an id are named by their numbers: their keys come of what they change.
        self._growing: set[tuple[str | int, int]] = set()
        #: The operations of such a transaction.
        self._kept: list[Operation] = []
        #: Where the store stands, as it says itself.
        self._before: Position | None = None
        #: Where the store stands, by key of the patch, while that patch is looked for.
        self._sought: dict[str, Position] = {}
        #: Whether ``until`` came by meanwhile.
        self._beyond = False
        #: What the source's first patch follows, for errors.
        self._opening: str | None = None
        #: Number of the patch, in the log or, while the log is not known, in the source.
        self._number = 0
        self._begun = False
        self._digest = ""
        self._pending: tuple[C, Position] | None = None
        #: Hashes of the ids in the source.
        self._ids: set[int] = set()
        #: Key of the last patch, its number of transactions, and their content.
        self._last: tuple[str, int, str] | None = None
        self._start_patch()

    def _start_patch(self) -> None:
        #: The first ``id`` and the first ``prev``.
        self._headers: dict[str, Any] = {}
        self._has_headers = False
        self._entered = False
        #: Whether it is the patch again that came last.
        self._repeated = False
        self._id: str | None = None
        self._transactions = 0
        self._content = Content()
        #: Where the store stood, if that was found in this patch.
        self._met: Position | None = None
        #: See :class:`.Position`.
        self._loose = ""
        self._counted = False

    def run(self, rows: Iterator[Operation]) -> bool:
        """Replay rows: headers, operations and ends of patches.

        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        try:
            reached = self._run(rows)
        except JellyError as error:
            if self._number or self._begun or self._has_headers:
                error.message = f"{self._name()}: {error.message}"
            raise
        if not reached:
            self.check_found()
        return reached

    def _name(self) -> str:
        """What to call the patch that is being read."""
        if ID in self._headers:
            return f"patch {self._text(self._headers[ID])}"
        return f"patch number {self._number if self._entered else self._number + 1}"

    def _run(self, rows: Iterator[Operation]) -> bool:
        known = self._target.positions()
        self._growing = {
            (each.number if each.patch.startswith(DIGEST) else each.patch, each.transactions)
            for each in known
            if each.loose
        }
        changes = self._target.changes()
        inside = False
        while True:
            # One that may have grown is kept besides, to be taken apart.
            if self._growing and not inside and self._may_have_grown():
                row = self._keep(changes, rows)
            else:
                row = changes.gather(rows)
            if row is None:
                return False
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
                self._transaction(changes, ended=kind is not OperationKind.END)
            elif kind is OperationKind.BEGIN:
                self._flush()
            inside = kind is OperationKind.BEGIN
            changes = self._target.changes()
            if kind is OperationKind.END and self._end_patch():
                return True

    def _header(self, header: Header) -> None:
        self._has_headers = True
        if header.key in (ID, PREV):
            if self._transactions:
                raise OrderError(
                    f"the header {header.key!r} stands behind a transaction of its patch"
                )
            self._headers.setdefault(header.key, header.value)

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
        self._id = None if ID not in self._headers else self._text(self._headers[ID])
        follows = self._follows()
        if not self._begun:
            self._begun = True
            self._resolve(changes, follows)
        if self._id is not None:
            self._repeated = self._last is not None and self._id == self._last[0]
            if self._repeated:
                return
            self._note(self._id)
        self._check_follows(follows)
        self._number += 1

    def _follows(self) -> str | None:
        """What the patch says that it follows."""
        return None if PREV not in self._headers else self._text(self._headers[PREV])

    def _check_follows(self, follows: str | None) -> None:
        position = self.done.position
        if position is None or self._sought or not self._check_prev:
            return
        if follows not in (None, position.patch):
            raise ChainError(
                f"it follows patch {follows}, but the log stands at patch {position.patch}",
                expected=position.patch,
                found=follows,
            )

    def _note(self, patch: str) -> None:
        """Take note of the id of a patch.

        :raises ChainError: there was one of that id before.
        """
        mark = hash(patch)
        if mark in self._ids:
            raise ChainError("its id is that of an earlier patch of the log", found=patch)
        self._ids.add(mark)

    def _resolve(self, changes: C, follows: str | None) -> None:
        """Find out where the store stands in the log, by the log's first patch here."""
        known = list(self._target.positions())
        heads = {each.patch: each for each in known}
        logs = {each.log: each for each in known}
        root = self._id or self._chained(changes)
        name = root if self._log is None else self._log
        position = logs.get(name)
        if position is None and self._log is None and (self._number or self._digest):
            position = logs.get(self._blank_name())
        if position is None and self._log is None and follows is not None:
            position = heads.get(follows)
        if position is None and self._log is None and self._id is not None:
            # The source begins with the patch at which the store stands.
            position = heads.get(self._id)
        self._log = name if position is None else position.log
        self._opening = follows
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
            self._seek_number()
        elif self._check_prev and not position.complete:
            raise ChainError(
                f"it follows patch {follows}, of which the store has no more than the first "
                f"{position.transactions} transactions",
                expected=position.patch,
                found=follows,
            )
        else:
            self._found(position)
            # What went before is not in the source.
            self._ids.update(map(hash, (position.log, position.patch)))

    def _chained(self, changes: C, before: str | None = None) -> str:
        digest = hashlib.sha256((self._digest if before is None else before).encode())
        digest.update(changes.fingerprint())
        return DIGEST + digest.hexdigest()

    def _key(self) -> str:
        """The key of the patch, by what is known of it so far."""
        return self._id or self._digest or DIGEST

    def _transaction(self, changes: C, *, ended: bool) -> None:
        """A transaction has ended, and not with an abort.

        :param ended: whether a row of its own patch has ended it.
        """
        self._flush()
        named = ID in self._headers
        if named or changes.operations:
            self._enter(changes)
        self._transactions += 1
        before = self._digest
        if not named:
            self._digest = self._chained(changes)
        if not self._entered:
            # The patch may be one that is passed over.
            return
        rest: C | None = changes
        said = self._content
        if named:
            self._content = said.plus(changes)
        self._loose = "" if ended or not self._unmarked() else _note(changes)
        if self._met is not None:
            self._check_may_grow(self._met)
        if self._repeated or self._sought:
            rest = self._seek(changes, before, said)
        if rest is None:
            self.done.skipped += 1
        else:
            self._pending = (rest, self._position())
        self._kept = []

    def _seek(self, changes: C, before: str, said: Content) -> C | None:
        """Skip no more if it is here that the store stands.

        :param changes: of the transaction that has come last.
        :param before: the digest of what patches without ids had changed before it.
        :param said: what the patch has said before it.
        :return: what of them the store has not.
        :raises ChainError: the patch is not the one that was applied.
        """
        rest = None
        position = self._sought.get(self._key()) or self._grown(before)
        if position is None:
            return None
        if not position.transactions and self._id is not None:
            # When the patch had none; all that it has now is new.
            if self._transactions:
                self._check_may_grow(position)
            self._met = position
            self._found(position)
            return changes
        if position.transactions == self._transactions:
            now = self._content
            if position.loose not in ("", _note(changes)):
                rest = self._rest(changes, position)
                now = said.plus(self._applied(position))
            self._check_content(position, now)
            self._met = position
            self._found(position)
        return rest

    def _check_may_grow(self, position: Position) -> None:
        """Refuse one more transaction of the patch at which the store stands.

        :raises ChainError: it was complete.
        """
        if position.closed:
            raise ChainError(
                f"it was complete with {position.transactions} transactions when it was applied, "
                "and has more now",
                expected=position.patch,
                found=position.patch,
            )

    def _check_content(self, position: Position, now: Content) -> None:
        """Refuse a patch that is not the one at which the store stands, though its id is the same.

        :param now: what as many transactions of it say as were applied.
        :raises ChainError: it says something else.
        """
        if self._id is None:
            return
        if differ(position.content, now.text()):
            raise ChainError(
                "it has the id of the patch that was applied last, and says something else than "
                "that did",
                expected=position.patch,
                found=position.patch,
            )
        # What was applied is not told by what is read now.
        self._content = self._content.known_as(position.content)

    # A transaction that has grown

    def _may_have_grown(self) -> bool:
        patch: str | int
        if ID in self._headers:
            patch = self._text(self._headers[ID])
        else:
            patch = self._number if self._entered else self._number + 1
        return (patch, self._transactions + 1) in self._growing

    def _keep(self, changes: C, rows: Iterator[Operation]) -> Operation | None:
        """Have operations gathered, and keep them."""
        found = None
        kept = []
        for row in rows:
            if row.kind not in CHANGES:
                found = row
                break
            kept.append(row)
        changes.gather(iter(kept))
        self._kept += kept
        return found

    def _grown(self, before: str) -> Position | None:
        """Where the store stands, if that is in a transaction without an id that has grown."""
        for position in self._sought.values():
            if not position.loose or self._id is not None:
                continue
            here = (position.number, position.transactions) == (self._number, self._transactions)
            if here and self._chained(self._applied(position), before) == position.patch:
                return position
        return None

    def _rest(self, changes: C, position: Position) -> C:
        """What a transaction has grown by.

        :raises ChainError: it does not begin with what was applied of it.
        """
        size = _size(position)
        first, rest = self._applied(position), self._target.changes()
        if _note(first) != position.loose:
            raise ChainError(
                f"its transaction number {self._transactions} had {size} operations outside of TX "
                f"and TC when the log ended behind them, and these were applied; now it has "
                f"{changes.operations}, which do not begin with them",
                expected=position.patch,
                found=position.patch,
            )
        rest.gather(iter(self._kept[size:]))
        return rest

    def _applied(self, position: Position) -> C:
        """What of a transaction that has grown was applied."""
        first = self._target.changes()
        first.gather(iter(self._kept[: _size(position)]))
        return first

    def _found(self, position: Position) -> None:
        """Go on from where the store stands.

        :raises ChainError: that is behind where the replay was to stop.
        """
        if self._beyond:
            raise ChainError(
                f"the store stands at patch {position.patch} already, behind patch {self._until}",
                expected=self._until,
                found=position.patch,
            )
        self._sought = {}
        self._log = position.log
        self._number = position.number
        self._before = self.done.position = position

    def _position(self, *, complete: bool = False, closed: bool = False) -> Position:
        """Where the store stands behind what was read."""
        return Position(
            log=self._log or self._key(),
            patch=self._key(),
            number=self._number,
            transactions=self._transactions,
            complete=complete,
            closed=closed,
            graph=self._graph,
            loose=self._loose,
            content=self._content.text() if self._id is not None else "",
        )

    def _end_patch(self) -> bool:
        """The patch has ended; say whether it is the last to be applied."""
        if not self._transactions and self._has_headers and self._torn():
            raise TruncatedError(BEHIND_HEADERS)
        nothing = self._target.changes()
        if not self._entered and ID not in self._headers:
            self._pass_over()
            return False
        self._enter(nothing)
        key = self._key()
        self._check_not_shorter(key)
        content = self._content.text()
        if self._repeated:
            if self._last is None or self._differs(self._last, content):
                raise ChainError(
                    "it has the id of the patch before it, and says something else", found=key
                )
        else:
            self._last = (key, self._transactions, content)
        closed = self._is_closed()
        if self._pending is not None:
            self._flush(complete=True, closed=closed)
        elif not self._repeated:
            if not self._transactions:
                self._seek(nothing, self._digest, self._content)
                closed = self._is_closed()
            end = self._position(complete=True, closed=closed)
            if not self._sought and end != self.done.position:
                self._apply(nothing, end)
                self._count_patch(not self._transactions and self._met is None)
        self._seek_number()
        self._start_patch()
        if key != self._until:
            return False
        # Where the store stands further on, there is nothing to be done, and much to be said.
        self._beyond = bool(self._sought)
        return not self._beyond

    def _is_closed(self) -> bool:
        """Whether the end of the patch says that there will be no more of it; see
        :class:`.Position`."""
        if self._id is None:
            return False
        marked = not self._unmarked()
        if self._met is None:
            return marked
        return self._met.closed or (marked and self._met.content != "")

    def _differs(self, last: tuple[str, int, str], content: str) -> bool:
        """Whether the patch is another one than the last."""
        _, transactions, before = last
        return transactions != self._transactions or differ(before, content)

    def _check_not_shorter(self, key: str) -> None:
        """Refuse a patch of which the store has more than there is.

        :raises ChainError: it is so.
        """
        position = None if self._id is None else self._sought.get(key)
        if position is not None and self._transactions < position.transactions:
            raise ChainError(
                f"it has {self._transactions} transactions, and {position.transactions} of it were "
                "applied",
                expected=position.patch,
                found=position.patch,
            )

    def _pass_over(self) -> None:
        """The patch is none: it has no id, and changes nothing."""
        self._check_follows(self._follows())
        self._number += 1
        self._seek_number()
        self._start_patch()

    # Positions as they were before such patches were passed over

    def _blank_name(self) -> str:
        """What a log was called that begins with an empty transaction, or with a patch without id
        and changes."""
        digest = hashlib.sha256(self._target.changes().fingerprint())
        return DIGEST + digest.hexdigest()

    def _seek_number(self) -> None:
        """Skip no more if the store stands at a patch that is passed over, here or before: there is
        nothing but its number to know it by. What counts is the patch before that."""
        for position in self._sought.values():
            blank = position.patch.startswith(DIGEST) and not position.transactions
            if blank and position.number <= self._number:
                number = self._number
                self._found(position)
                self._number = number
                if self._last is not None:
                    key, transactions, _ = self._last
                    self.done.position = replace(position, patch=key, transactions=transactions)
                return

    # Changes

    def _flush(self, *, complete: bool = False, closed: bool = False) -> None:
        """Apply the transaction that waits for the row behind it."""
        if self._pending is None:
            return
        (changes, position), self._pending = self._pending, None
        if complete:
            position = replace(position, complete=True, closed=closed)
        self._apply(changes, position)
        self._count_patch(True)
        self.done.transactions += 1
        self.done.operations += changes.operations
        if self._progress is not None:
            self._progress(self.done)

    def _apply(self, changes: C, after: Position) -> None:
        if not self._dry_run:
            self._target.apply(changes, self._before, after)
        self._before = self.done.position = after

    def _count_patch(self, applied: bool) -> None:
        if applied and not self._counted:
            self._counted = True
            self.done.patches += 1


def _note(changes: Changes) -> str:
    """What a position notes of a transaction that may grow."""
    return f"{changes.operations}:{changes.fingerprint().hex()}"


def _size(position: Position) -> int:
    """Number of operations of a transaction that may have grown."""
    return int(position.loose.partition(":")[0])
