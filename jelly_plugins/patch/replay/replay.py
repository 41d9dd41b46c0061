"""One replay of one log: which transactions a store lacks, and their commits in groups. A backend's
``replay`` calls :func:`replay_log` once it has a target and a factory of terms.

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

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from operator import add
from typing import Any, Final, NamedTuple, cast

from ...codec import DefaultGraph, TermFactory
from ...codec.common.terms import check_text, convert
from ...codec.patch.operations import (
    CHAIN_KEYS,
    CHANGES,
    END,
    ID,
    PREV,
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
)
from ...codec.text.ntriples import term_text
from ...errors import ChainError, JellyError, OrderError, StatementError
from ...io.sources import Source, is_source, name_of, rewinder
from ...notebook import Shown
from ..model import Patch
from ..reader import PatchReader, RewrittenError
from .transactions import NetChanges, ReplaySettings, Target

#: What a result says where no position is kept.
NO_POSITION: Final = (
    "no position is kept, because the patches have no ids: give the log a name to apply each patch "
    "once"
)
#: Positions that an error names, at most.
_SHOWN: Final = 3


#: Transactions that are applied together by default.
_GROUP: Final = 100
#: Operations, and characters of their statements, that are applied together, unless a single
#: transaction has more.
_TOGETHER: Final = 10_000
_TEXT: Final = 4 << 20
#: Seconds between two looks at a file that is followed.
_INTERVAL: Final = 0.05


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


@dataclass(slots=True)
class Replayed(Shown):
    """What a replay did.

    :ivar position: the store's position in the log; None if it has none.
    :ivar patches: patches that were applied, or the rest of which was.
    :ivar transactions: transactions that were applied.
    :ivar operations: operations on statements and namespaces in them.
    :ivar unmatched: deletions of statements among them that were not there.
    :ivar skipped: transactions of the log that the store had already.
    :ivar aborted: transactions after those that were aborted, which have no effect.
    :ivar advice: what to do to have a position, if none is kept; otherwise empty.
    """

    position: Position | None = None
    patches: int = 0
    transactions: int = 0
    operations: int = 0
    unmatched: int = 0
    skipped: int = 0
    aborted: int = 0
    advice: str = ""


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

    A transaction consists of the operations between TX and TC, or of consecutive operations outside
    of any. An aborted transaction (TA) leaves no trace.

    :param done: takes the position that is found in the source, and counts up to there.
    :ivar is_complete: whether the patch ``until`` has ended.
    """

    def __init__(self, target: Target, settings: ReplaySettings, done: Replayed) -> None:
        self._target = target
        self._settings = settings
        self._done = done
        self.is_complete = False
        #: The patch that is read: its number from 1, and its headers so far; whether it has any,
        #: and whether it has started, with its first change or, with an id, its first transaction.
        self._number = 1
        self._headers: dict[str, str] = {}
        self._has_headers = self._is_started = False
        #: Where the store is once all that was selected is applied.
        self._reached: Position | None = None
        #: The store's positions by their patches, while these are looked for; and whether they are
        #: looked for after the patch ``until``.
        self._sought: dict[str, Position] = {}
        self._is_beyond = False
        self._skipped = 0
        #: The log's name, empty without one; None before its first patch.
        self._name: str | None = None
        #: What the source's first patch follows.
        self._opening: str | None = None
        #: Hashes of the ids in the source, the last id, and the id that may come again.
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
        numbered = str(self._number) if self._has_headers or self._number > 1 else None
        return self._headers.get(ID, numbered)

    def entries(self, source: Iterable[AnyOperation]) -> Iterator[Entry]:
        """Give what to apply of rows, up to the patch ``until``."""
        rows = iter(source)
        strict = self._settings.check_unmatched
        changes = NetChanges(strict=strict)
        # Whether a transaction is open, and the patch has had one.
        inside = sealed = False
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if kind is OperationKind.HEADER:
                self._take_header(row.value, sealed)
                row = next(rows, None)
                continue
            if kind in CHANGES:
                if not inside:
                    self._start()
                if inside or not self._sought:
                    row = changes.gather(chain((row,), rows))
                    continue
                # Of operations outside of TX and TC, the store may have some.
                changes.gather(iter((row,)))
            elif inside is not (kind in (OperationKind.COMMIT, OperationKind.ABORT)):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            elif kind is OperationKind.ABORT:
                changes = NetChanges(strict=strict)
                self._done.aborted += not self._sought
            commits, ends = kind is OperationKind.COMMIT, kind is OperationKind.END
            sealed = sealed or commits or changes.operations > 0
            # Empty transactions count only in a patch that has started.
            if changes.operations or (ID in self._headers and (commits or ends)):
                self._start()
            if changes.operations or (commits and self._is_started):
                if self._is_open:
                    # Of operations outside of TX and TC, each counts.
                    self._transactions += 1 if commits else changes.operations
                    if self._sought:
                        self._skipped += 1
                        self._look()
                    else:
                        yield self._entry(changes)
                changes = NetChanges(strict=strict)
            if ends:
                yield from self._end()
                if self.is_complete:
                    return
                sealed = False
            inside = kind is OperationKind.BEGIN
            row = next(rows, None)

    def _take_header(self, header: Header, sealed: bool) -> None:
        self._has_headers = True
        key = header.chain_key
        if key in CHAIN_KEYS:
            if sealed:
                raise OrderError(
                    f"the header {header.key!r} comes after a transaction of its patch"
                )
            self._headers.setdefault(key, self._target.text(header.value))

    def _end(self) -> Iterator[Entry]:
        """End the patch, and select its end if the store did not have the whole patch already."""
        before = self._reached
        is_complete = before is not None and before.complete and before.patch == self._patch
        if not self._is_started:
            self._check_follows()
        elif self._is_open and not self._sought and not is_complete:
            yield self._entry(None)
        if self._headers.get(ID, "") == self._settings.until:
            # If the store is further on, there is nothing to do, but that is an error.
            self._is_beyond = bool(self._sought)
            self.is_complete = not self._is_beyond
        self._number += 1
        self._headers = {}
        self._has_headers = self._is_started = self._is_open = self._is_selected = False

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

    def _start(self) -> None:
        """Start the patch, if it has not started."""
        if self._is_started:
            return
        self._is_started = True
        id_ = self._headers.get(ID)
        if self._name is None:
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
            self._patch = id_ or str(self._number)
            self._transactions = 0
            self._last_id = id_
        self._look()

    def _check_follows(self) -> None:
        before, prev = self._patch, self._headers.get(PREV)
        if prev is None or not before or self._sought or not self._settings.check_prev:
            return
        if prev != before:
            raise ChainError(
                f"it follows patch {prev}, but the patch before it is {before}",
                expected=before,
                found=prev,
            )

    # The store's position

    def _find(self) -> None:
        """Find the store's position in the log, by the source's first patch."""
        name, id_, prev = self._settings.name, self._headers.get(ID), self._headers.get(PREV)
        self._name = name or id_ or ""
        if not self._name:
            self._done.advice = NO_POSITION
            return
        known = [each for each in self._target.positions() if name in (None, each.log)]
        logs = {each.log: each for each in known}
        # Without a name, a number is not enough.
        heads = {each.patch: each for each in known if name or not each.patch.isdecimal()}
        found = logs.get(self._name) or heads.get(prev or "") or heads.get(id_ or "")
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
            until = str(self._settings.until)
            message = f"the store is at patch {position.patch} already, after patch {until}"
            raise ChainError(message, expected=until, found=position.patch)
        self._sought = {}
        self._name = position.log
        self._transactions = position.transactions
        self._reached = position
        self._report(position)

    def _report(self, position: Position) -> None:
        done = self._done
        if done.position is None:
            done.position, done.skipped = position, self._skipped

    def check_found(self) -> None:
        """Check that the store's position was found in the log."""
        if not self._sought:
            return
        if self._patch in self._sought:
            self._report(self._sought[self._patch])
            return
        # There may be very many logs.
        heads = " or ".join(islice(self._sought, _SHOWN))
        if self._opening is None:
            message = (
                f"the store is at patch {heads}, which the log does not have: apply the log with "
                "that patch at its end (jelly patch convert makes one log of several)"
            )
        else:
            message = f"the log follows patch {self._opening}, but the store is at patch {heads}"
        raise ChainError(message, expected=heads, found=self._opening)


class Replay:
    """One reading of one log: selects transactions, and applies them in groups, each of which is
    one transaction of the store.

    In groups, transactions of one statement take a fifth of the time, of ten a half, of a hundred
    two thirds. A group that cannot be applied as a whole is applied one by one, so that the store
    has all transactions before the one at fault.
    """

    def __init__(
        self, target: Target, settings: ReplaySettings, done: Replayed, group: int
    ) -> None:
        self._selection = Selection(target, settings, done)
        self._target = target
        self._settings = settings
        self._done = done
        self._group = group
        self._waiting: list[Entry] = []
        #: Transactions, operations and characters that wait.
        self._size = (0, 0, 0)
        #: Whether applying or a callback has raised an error, which names the patch. Nothing more
        #: may be applied.
        self._failed = False

    def run(self, rows: Iterable[AnyOperation]) -> bool:
        """Replay rows, those before an error too; return whether ``until`` was reached."""
        try:
            for entry in self._selection.entries(rows):
                changes = entry.changes
                if changes is not None:
                    together = self._group > 1 and changes.operations <= _TOGETHER
                    size = (1, changes.operations, changes.characters if together else 0)
                    total = tuple(map(add, self._size, size))
                    if total[0] > self._group or total[1] > _TOGETHER or total[2] > _TEXT:
                        self.commit()
                        total = size
                    self._size = total
                self._waiting.append(entry)
                # Where transactions are applied one by one, the end of their patch is not waited
                # for longer than this.
                if self._group == 1 and changes is None:
                    self.commit()
        except Exception as error:
            if not self._failed:
                if isinstance(error, JellyError) and not isinstance(error, RewrittenError):
                    _name(error, self._selection.reading)
                self.commit()
            raise
        self.wait()
        return self._selection.is_complete

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more rows come."""
        self._selection.check_found()
        self.commit()

    def commit(self) -> None:
        """Apply all entries that wait."""
        done = self._done
        entries, self._waiting = self._waiting, []
        self._size = (0, 0, 0)
        if not entries:
            return
        transactions = [each.changes for each in entries if each.changes is not None]
        if len(transactions) == 1:
            changes = transactions[0]
        else:
            changes = NetChanges(strict=self._settings.check_unmatched)
            for each in transactions:
                changes.join(each)
        before = done.patches, done.transactions
        try:
            try:
                self._apply(changes, entries)
            except JellyError:
                if len(transactions) < 2 or before != (done.patches, done.transactions):
                    raise
                # One by one, those before the one at fault are applied.
                for entry in entries:
                    self._apply(entry.changes or NetChanges(), [entry])
        except BaseException:
            self._failed = True
            raise

    def _apply(self, changes: NetChanges, entries: list[Entry]) -> None:
        """Apply changes, count the entries that they come from, and call back for each."""
        done = self._done
        last = entries[-1]
        if not self._settings.dry_run:
            try:
                done.unmatched += self._target.apply(changes, last.reached)
            except JellyError as error:
                _name(error, last.patch)
                raise
        done.position = last.reached
        for entry in entries:
            done.patches += entry.begins
            if entry.changes is not None:
                done.transactions += 1
                done.operations += entry.changes.operations
                if self._settings.progress is not None:
                    self._settings.progress(entry.changes.operations)


def _name(error: JellyError, patch: str | None) -> None:
    """Add a patch to an error, by its id or its number."""
    if patch is not None:
        named = f"number {patch}" if patch.isdecimal() else patch
        error.message = f"patch {named}: {error.message}"


def replay_log(
    target: Target,
    log: Source | Iterable[Patch],
    factory: TermFactory[Any],
    settings: ReplaySettings,
) -> Replayed:
    """Replay a log into ``target``, whose terms ``factory`` makes."""
    last = cast(str | None, settings.until)
    if settings.follow and not is_source(log):
        raise ValueError("only a source of bytes can be followed")
    if last is not None and not settings.follow and not _may_have(log, settings):
        raise _missing(last, "nothing was applied", log)
    group = settings.commit_every
    if group is None:
        # Other sources may block between patches.
        group = _GROUP if is_source(log) or isinstance(log, list | tuple) else 1
    if settings.dry_run:
        group = 1
    done = Replayed()
    while True:
        replay = Replay(target, settings, done, group)
        try:
            if is_source(log):
                reached = _replay_source(replay, log, factory, settings)
            else:
                reached = replay.run(_converted(cast(Iterable[Patch], log), factory))
            break
        except RewrittenError:
            # What follows the store's position is read anew.
            continue
    if last is not None and not reached and not settings.follow:
        raise _missing(last, "it was read to its end", log)
    return done


def _replay_source(
    replay: Replay, log: Source, factory: TermFactory[Any], settings: ReplaySettings
) -> bool:
    """Read a source once; return whether ``until`` was reached."""

    def wait() -> bool:
        replay.wait()
        if settings.stop is not None and settings.stop():
            return False
        time.sleep(_INTERVAL)
        return True

    # Whether nothing has to be waited for when more of the source is read.
    if isinstance(log, str | os.PathLike):
        at_hand = os.path.isfile(log)
    else:
        at_hand = isinstance(log, bytes | bytearray | memoryview)
    with PatchReader(
        log,
        factory=factory,
        wait=wait if settings.follow else None,
        starve=None if at_hand else replay.commit,
        limits=settings.limits,
    ) as rows:
        try:
            return replay.run(chain.from_iterable(rows.batches))
        except JellyError as error:
            error.locate(source=rows.name)
            raise


def _missing(patch: str, what: str, log: Source | Iterable[Patch]) -> JellyError:
    error = ChainError(f"the log has no patch {patch}; {what}", expected=patch)
    return error.locate(source=name_of(log) if is_source(log) else None)


def _may_have(log: Source | Iterable[Patch], settings: ReplaySettings) -> bool:
    """Whether a log may have the patch ``until``: False if it has not, and can be read twice."""
    if isinstance(log, list | tuple):
        return any(each.id is not None and term_text(each.id) == settings.until for each in log)
    rewind = rewinder(log) if is_source(log) else None
    if rewind is None:
        return True
    try:
        with PatchReader(cast(Source, log), limits=settings.limits) as rows:
            headers = (value for _, value in rows if isinstance(value, Header))
            ids = (each.value for each in headers if each.chain_key == ID)
            return any(term_text(each) == settings.until for each in ids)
    except JellyError:
        # The replay reports errors of the log when it reaches them.
        return True
    finally:
        rewind()


def _converted(patches: Iterable[Patch], factory: TermFactory[Any]) -> Iterator[AnyOperation]:
    """The rows of patches in generic terms, with a factory's terms."""
    for patch in patches:
        if not isinstance(patch, Patch):
            raise TypeError(f"a Patch is needed, not {patch!r:.80}")
        for kind, value in patch.rows():
            yield Operation(kind, _value(kind, value, factory))
        yield END


def _value(kind: OperationKind, value: Any, factory: TermFactory[Any]) -> Any:
    def term(value: Any) -> Any:
        return None if value is None else convert(value, factory)

    if kind in (OperationKind.ADD, OperationKind.DELETE):
        if len(value) not in (3, 4):
            raise StatementError(f"a statement of {len(value)} terms")
        if any(isinstance(each, DefaultGraph) for each in value[:3]):
            raise StatementError("the default graph may only be the graph of a statement")
        terms = tuple(convert(each, factory) for each in value)
        return factory.quad(terms) if len(terms) == 4 else factory.triple(terms)
    if kind is OperationKind.HEADER:
        check_text(value.key)
        return Header(value.key, term(value.value))
    if isinstance(value, Namespace):
        check_text(value.name)
        return Namespace(value.name, term(value.iri), term(value.graph))
    return None
