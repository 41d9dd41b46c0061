"""One replay of one log: what a backend's ``replay`` does once it has a target and a factory of
terms. The transactions that the store lacks (see ``positions``) are committed in groups.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from operator import add
from typing import Any, Final, cast

from ...codec import DefaultGraph, TermFactory
from ...codec.common.conversion import check_text, convert
from ...codec.patch.operations import END, AnyOperation, Header, Namespace, Operation, OperationKind
from ...codec.text.ntriples import term_text
from ...errors import ChainError, JellyError, StatementError
from ...io.sources import Source, is_source, rewinder
from ...notebook import Shown
from ..model import ID, Patch
from ..reader import PatchReader, RewrittenError
from .positions import Entry, Position, Selection
from .settings import ReplaySettings, Target
from .transactions import NetChanges

#: Transactions that are applied together by default.
_GROUP: Final = 100
#: Operations, and characters of their statements, that are applied together, unless a single
#: transaction has more.
_TOGETHER: Final = 10_000
_TEXT: Final = 4 << 20
#: Seconds between two looks at a file that is followed.
_INTERVAL: Final = 0.05


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


class Replay:
    """One reading of one log: selects transactions, and applies them in groups, each of which is
    one transaction of the store.

    A transaction of a few statements costs a store much more for being one than for what it
    changes: in groups, transactions of one statement take a fifth of the time, of ten a half, of
    a hundred two thirds. So consecutive ones are applied together, with the position that the last
    of them reaches: the store has all of a group or none of it, and is between two transactions of
    the log whatever happens. A group that cannot be applied as a whole is applied one by one, so
    that the store has all transactions before the one at fault.

    :param done: counts what is done, and has the store's position.
    :param group: most transactions that are applied together.
    """

    def __init__(
        self, target: Target, settings: ReplaySettings, done: Replayed, group: int
    ) -> None:
        self._selection = Selection(target, settings)
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
        """Replay rows. What comes before an error is applied. Return whether ``until`` was reached,
        so that rows may be left."""
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
        done, selection = self._done, self._selection
        if done.position is None and selection.position is not None:
            done.position, done.skipped = selection.position, selection.skipped
        done.aborted += selection.take_aborted()
        done.advice = selection.advice
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
    done: Replayed,
) -> None:
    """Replay a log into ``target``.

    :param factory: makes the terms that ``target`` takes.
    :param done: gets what is done, so that it is known after an error as well.
    """
    follow, last = settings.follow, settings.last
    if follow and not is_source(log):
        raise ValueError("only a source of bytes can be followed")
    if last is not None and not follow and not _may_have(log, settings):
        raise _missing(last, "nothing was applied")
    group = settings.commit_every
    if group is None:
        # Other sources may block between patches.
        group = _GROUP if is_source(log) or isinstance(log, list | tuple) else 1
    if settings.dry_run:
        group = 1
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
    if last is not None and not reached and not follow:
        raise _missing(last, "it was read to its end")


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


def _missing(patch: str, what: str) -> ChainError:
    return ChainError(f"the log has no patch {patch}; {what}", expected=patch)


def _may_have(log: Source | Iterable[Patch], settings: ReplaySettings) -> bool:
    """Whether a log may have the patch ``until``: False if it has not, and can be read twice."""
    if isinstance(log, list | tuple):
        return any(each.id is not None and term_text(each.id) == settings.last for each in log)
    rewind = rewinder(log) if is_source(log) else None
    if rewind is None:
        return True
    try:
        with PatchReader(cast(Source, log), limits=settings.limits) as rows:
            headers = (value for _, value in rows if isinstance(value, Header))
            ids = (each.value for each in headers if each.chain_key == ID)
            return any(term_text(each) == settings.last for each in ids)
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
