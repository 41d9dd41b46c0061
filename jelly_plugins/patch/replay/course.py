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
from itertools import chain
from typing import Any, Final, Generic

from ...codec.patch.operations import AnyOperation, Header, OperationKind
from ...errors import ChainError, JellyError, OrderError, TruncatedError
from ..content import NOTHING, Content, differ
from ..model import BEHIND_HEADERS, ID, PREV
from .commits import C, Changes, Commits, Progress, Reached, Target
from .position import DIGEST, Position, Replayed, check_name

#: Kinds of operations that change something.
CHANGES: Final = frozenset(
    (
        OperationKind.ADD,
        OperationKind.DELETE,
        OperationKind.ADD_NAMESPACE,
        OperationKind.DELETE_NAMESPACE,
    )
)

# Looked up for each row.
_HEADER: Final = OperationKind.HEADER
_BEGIN: Final = OperationKind.BEGIN
_COMMIT: Final = OperationKind.COMMIT
_END: Final = OperationKind.END
_ENDS: Final = (_COMMIT, OperationKind.ABORT)


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :param text: the text of a header's value, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.
    :param log: the log's name.
    :param check_prev: whether a patch must follow the one that was applied last.
    :param until: key of the patch after which to stop.
    :param group: how many transactions are applied together at most.
    :param beside: whether the target may be changed in another thread.
    :param dry_run: apply nothing.
    :param progress: told after each transaction.
    :param torn: whether the last end of a patch was nothing but the end of a text, behind headers.
    :param unmarked: whether it was nothing but the end of the source, which may grow. Where that is
        not known, patches are not closed.
    :raises OptionsError: ``log`` cannot be a name.
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
        group: int = 1,
        beside: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
        torn: Callable[[], bool] = lambda: False,
        unmarked: Callable[[], bool] = lambda: True,
    ) -> None:
        check_name(log)
        self._target = target
        self._text = text
        self._graph = graph
        self._log = log
        self._check_prev = check_prev
        self._until = until
        self._commits = Commits(
            target, group=group, beside=beside, dry_run=dry_run, progress=progress
        )
        self._torn = torn
        self._unmarked = unmarked
        #: Patches and numbers of transactions at which the store stands, and that may have grown.
        #: Patches without an id are named by their numbers: their keys come of what they change.
        self._growing: set[tuple[str | int, int]] = set()
        #: The operations of such a transaction.
        self._kept: list[AnyOperation] = []
        #: Where the store stands, or will once all is applied that waits for it.
        self._stands: Reached | Position | None = None
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
        #: The changes of a transaction that waits for the row behind it.
        self._pending: C | None = None
        #: Hashes of the ids in the source.
        self._ids: set[int] = set()
        #: Key of the last patch, its number of transactions, and their content.
        self._last: tuple[str, int, Content] | None = None
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
        self._content = NOTHING
        #: Where the store stood, if that was found in this patch.
        self._met: Position | None = None
        #: See :class:`.Position`.
        self._loose = ""
        self._counted = False

    @property
    def done(self) -> Replayed:
        """What was done so far."""
        return self._commits.done

    def run(self, batches: Iterable[Iterable[AnyOperation]]) -> bool:
        """Replay rows: headers, operations and ends of patches.

        What comes in front of an error is applied.

        :param batches: the rows, as many together as come together.
        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        try:
            reached = self._run_to_end(batches)
        except BaseException:
            # Nothing may be at work on the store any more: an interrupt may come at the very end,
            # while the last of it is waited for.
            self._commits.leave()
            raise
        if not reached:
            self.check_found()
        return reached

    def _run_to_end(self, batches: Iterable[Iterable[AnyOperation]]) -> bool:
        try:
            reached = self._run(chain.from_iterable(batches))
        except Exception as error:
            if self._commits.failed:
                raise
            if isinstance(error, JellyError) and (self._number or self._begun or self._has_headers):
                error.message = f"{self._name()}: {error.message}"
            self._commits.commit()
            raise
        self._commits.commit()
        return reached

    def _name(self) -> str:
        """What to call the patch that is being read."""
        if ID in self._headers:
            return f"patch {self._text(self._headers[ID])}"
        return f"patch number {self._number if self._entered else self._number + 1}"

    def _run(self, rows: Iterator[AnyOperation]) -> bool:
        known = self._target.positions()
        self._growing = {
            (each.number if each.patch.startswith(DIGEST) else each.patch, each.transactions)
            for each in known
            if each.loose
        }
        changes = self._target.changes()
        inside = False
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if kind in CHANGES:
                again = chain((row,), rows)
                # One that may have grown is kept besides, to be taken apart.
                if self._growing and not inside and self._may_have_grown():
                    row = self._keep(changes, again)
                else:
                    row = changes.gather(again)
                continue
            if kind is _HEADER:
                if self._pending is not None:
                    self._flush()
                self._header(row.value)
                row = next(rows, None)
                continue
            if inside is not (kind in _ENDS):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            if kind is OperationKind.ABORT:
                self.done.aborted += 1
            elif kind is _COMMIT or changes.operations:
                self._transaction(changes, ended=kind is not _END)
                changes = self._target.changes()
            elif kind is _BEGIN:
                self._flush()
            if changes.operations:
                changes = self._target.changes()
            inside = kind is _BEGIN
            if kind is _END and self._end_patch():
                return True
            row = next(rows, None)
        return False

    def _header(self, header: Header) -> None:
        self._has_headers = True
        if header.key in (ID, PREV):
            if self._transactions:
                raise OrderError(
                    f"the header {header.key!r} comes after a transaction of its patch"
                )
            self._headers.setdefault(header.key, header.value)

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more comes.

        :raises ChainError: all was read, and nothing of it follows what was applied.
        """
        self._flush()
        self._commits.commit()
        self.check_found()

    def starve(self) -> None:
        """Apply what was read and waits for nothing but others to be applied with: the source has
        to be read again, and it is not known when it gives more."""
        self._commits.commit()

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
        if follows is None or self._stands is None or self._sought or not self._check_prev:
            return
        stands = self._stands.patch
        if follows != stands:
            raise ChainError(
                f"it follows patch {follows}, but the log stands at patch {stands}",
                expected=stands,
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
        if not self._entered and (named or changes.operations):
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
            self._pending = rest
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

    def _keep(self, changes: C, rows: Iterator[AnyOperation]) -> AnyOperation | None:
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
        self._stands = position
        self._commits.begin(position)

    def _reached(self, *, complete: bool = False, closed: bool = False) -> Reached:
        """Where the store stands behind what was read."""
        key = self._key()
        return Reached(
            self._log or key,
            key,
            self._number,
            self._transactions,
            self._graph,
            self._loose,
            None if self._id is None else self._content,
            complete,
            closed,
        )

    def _end_patch(self) -> bool:
        """The patch has ended; say whether it is the last to be applied."""
        if not self._transactions and self._has_headers and self._torn():
            raise TruncatedError(BEHIND_HEADERS)
        if not self._entered:
            if ID not in self._headers:
                self._pass_over()
                return False
            self._enter(self._target.changes())
        key = self._key()
        if self._sought:
            self._check_not_shorter(key)
        content = self._content
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
            nothing = self._target.changes()
            if not self._transactions:
                self._seek(nothing, self._digest, self._content)
                closed = self._is_closed()
            end = self._reached(complete=True, closed=closed)
            if not self._sought and not self._is_at(end):
                applied = not self._transactions and self._met is None
                self._put(nothing, end, transaction=False, begins=applied)
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

    def _is_at(self, reached: Reached) -> bool:
        """Whether the store stands there already."""
        stands = self._stands
        return stands is not None and reached.position() == (
            stands.position() if isinstance(stands, Reached) else stands
        )

    def _differs(self, last: tuple[str, int, Content], content: Content) -> bool:
        """Whether the patch is another one than the last."""
        _, transactions, before = last
        return transactions != self._transactions or differ(before.text(), content.text())

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
        self._start_patch()

    # Changes

    def _flush(self, *, complete: bool = False, closed: bool = False) -> None:
        """Have the transaction applied that waits for the row behind it."""
        if self._pending is None:
            return
        changes, self._pending = self._pending, None
        reached = self._reached(complete=complete, closed=closed)
        self._put(changes, reached, transaction=True, begins=True)

    def _put(self, changes: C, reached: Reached, *, transaction: bool, begins: bool) -> None:
        """Have something applied.

        :param begins: whether the patch counts as one that was applied, at least in part.
        """
        self._stands = reached
        first = begins and not self._counted
        self._counted |= begins
        self._commits.put(changes, reached, transaction=transaction, patches=int(first))


def _note(changes: Changes) -> str:
    """What a position notes of a transaction that may grow."""
    return f"{changes.operations}:{changes.fingerprint().hex()}"


def _size(position: Position) -> int:
    """Number of operations of a transaction that may have grown."""
    return int(position.loose.partition(":")[0])
