"""One replay of one log: what a backend's ``replay`` does once it has a target and a factory of
terms. The log's rows become transactions (``transactions``), some of these are selected
(``selection``), and applied here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Generic, TypeGuard, cast

from ....codec import DefaultGraph, TermFactory
from ....codec.common.conversion import check_text, convert
from ....codec.patch.operations import (
    END,
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
)
from ....errors import ChainError, JellyError, StatementError
from ....io.sources import Source, rewinder
from ....patch.follow import RewrittenError
from ....patch.model import ID, Patch
from ....patch.reader import PatchReader
from .position import DIGEST, Position, Replayed
from .selection import Entry, Selection
from .settings import ReplaySettings
from .target import C, Target
from .transactions import Event, Transaction, TransactionReader

#: How many transactions are applied together by default.
_GROUP: Final = 100


#: Operations that are applied together, unless a single transaction has more.
_TOGETHER: Final = 10_000
#: Characters that are applied together, unless a single transaction has more.
_TEXT: Final = 4 << 20


class Commits(Generic[C]):
    """Applies entries to a store: in groups, each of which is one transaction there.

    A transaction of a few statements costs a store much more for being one than for what it
    changes: in groups, transactions of one statement take a fifth of the time, of ten a half, of
    a hundred two thirds. So consecutive ones are applied together, with the position that the last
    of them reaches: the store has all of a group or none of it, and is between two transactions of
    the log whatever happens. A group that cannot be applied as a whole is applied one by one, so
    that the store has all transactions before the one at fault.

    :param done: counts what was applied, and has the store's position.
    :ivar failed: whether applying or a callback has raised an error, which names the patch.
        Nothing more may be applied.
    """

    def __init__(self, target: Target[C], settings: ReplaySettings, *, done: Replayed) -> None:
        self.failed = False
        self._target = target
        self._settings = settings
        self._done = done
        self._group = 1 if settings.dry_run else settings.commit_every or 1
        self._waiting: list[Entry[C]] = []
        self._operations = 0
        self._characters = 0

    def put(self, entry: Entry[C]) -> None:
        """Apply an entry, now or together with others.

        :raises JellyError: the store rejects it, or one that came before.
        """
        operations = entry.changes.operations
        together = self._group > 1 and operations <= _TOGETHER
        characters = entry.changes.characters if together else 0
        if self._operations + operations > _TOGETHER or self._characters + characters > _TEXT:
            self.commit()
        self._waiting.append(entry)
        self._operations += operations
        self._characters += characters
        if (
            len(self._waiting) >= self._group
            or self._operations >= _TOGETHER
            or self._characters >= _TEXT
        ):
            self.commit()

    def commit(self) -> None:
        """Apply all entries that wait.

        :raises JellyError: the store rejects one, or its position has changed meanwhile.
        """
        waiting, self._waiting = self._waiting, []
        self._operations = self._characters = 0
        try:
            if len(waiting) > 1:
                self._apply_together(waiting)
            else:
                for entry in waiting:
                    self._apply(entry.changes, [entry])
        except BaseException:
            self.failed = True
            raise

    def _apply_together(self, entries: list[Entry[C]]) -> None:
        joined = self._target.changes()
        for entry in entries:
            joined.join(entry.changes)
        before = self._done.position
        try:
            self._apply(joined, entries)
        except Exception as error:
            if self._done.position is not before:
                # They are applied; the error came later.
                raise
            # One by one, those before the one at fault are applied.
            for entry in entries:
                self._apply(entry.changes, [entry])
            if not isinstance(error, JellyError):
                # None is at fault, such as where the handler of a signal has raised it.
                raise

    def _apply(self, changes: C, entries: list[Entry[C]]) -> None:
        after = entries[-1].reached
        if not self._settings.dry_run:
            try:
                unmatched = self._target.apply(changes, self._done.position, after)
            except JellyError as error:
                name = f"number {after.number}" if after.patch.startswith(DIGEST) else after.patch
                error.message = f"patch {name}: {error.message}"
                raise
            except BaseException:
                # The handler of a signal may raise once all is applied.
                if self._is_at(after):
                    self._report(entries, after)
                raise
            self._done.unmatched += unmatched
        self._report(entries, after)

    def _report(self, entries: list[Entry[C]], after: Position) -> None:
        """Count entries that were applied, and call back for each transaction."""
        done, settings = self._done, self._settings
        for entry in entries:
            done.patches += entry.patches
            if entry.transaction:
                done.transactions += 1
                done.operations += entry.changes.operations
                done.position = entry.reached
                if settings.on_transaction is not None:
                    settings.on_transaction(done)
                if settings.progress is not None:
                    settings.progress(entry.changes.operations)
        done.position = after

    def _is_at(self, position: Position) -> bool:
        with suppress(Exception):
            return position in self._target.positions()
        return False


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :ivar done: counts what is done, in a new object by default.
    """

    def __init__(
        self, target: Target[C], settings: ReplaySettings, *, done: Replayed | None = None
    ) -> None:
        self.done = done = Replayed() if done is None else done
        self._selection = Selection(target, settings, done=done)
        self._transactions = TransactionReader(
            target, keeps_rows=self._selection.keeps_rows, done=done
        )
        self._commits = Commits(target, settings, done=done)

    def run(
        self,
        batches: Iterable[Iterable[AnyOperation]],
        *,
        has_ended: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Replay rows. What comes before an error is applied.

        :param batches: the rows, in batches as they are read.
        :param has_ended: see :meth:`.TransactionReader.read`. If it is not known what ends a patch,
            patches may grow.
        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        events = self._transactions.read(chain.from_iterable(batches), has_ended=has_ended)
        try:
            for event in events:
                self._select(event)
                if self._selection.is_complete:
                    break
        except Exception as error:
            if not self._commits.failed:
                if isinstance(error, JellyError):
                    self._name(error)
                self._commits.commit()
            raise
        self._commits.commit()
        self._selection.check_found()
        return self._selection.is_complete

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more rows come.

        :raises ChainError: the rows so far do not have the store's position.
        """
        for event in self._transactions.release():
            self._select(event)
        self.commit()
        self._selection.check_found()

    def commit(self) -> None:
        """Apply the transactions that only wait to be applied with others: to read more of the
        source may take long."""
        self._commits.commit()

    @property
    def unfinished(self) -> int:
        """Number of operations in a transaction that the rows do not end."""
        return self._transactions.changes.operations

    def _select(self, event: Event[C]) -> None:
        if isinstance(event, Transaction):
            entry = self._selection.transaction(event)
        else:
            entry = self._selection.end(event)
        if entry is not None:
            self._commits.put(entry)

    def _name(self, error: JellyError) -> None:
        """Add the patch that is being read, if any, to an error."""
        transactions, selection = self._transactions, self._selection
        if transactions.id is not None:
            error.message = f"patch {transactions.id}: {error.message}"
        elif transactions.has_headers or selection.has_begun:
            error.message = f"patch number {selection.number}: {error.message}"


def replay_log(
    target: Target[Any],
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
    if settings.commit_every is None and (_is_source(log) or isinstance(log, list | tuple)):
        # What else gives patches may wait for one before it gives the next.
        settings = replace(settings, commit_every=_GROUP)
    if last is not None and not follow and not _may_have(target, log, factory, settings):
        raise _missing(last, "nothing was applied")
    if follow and not _is_source(log):
        raise ValueError("only a source of bytes can be followed")
    if _is_source(log):
        while True:
            try:
                reached = _replay_source(target, log, factory, settings, done)
                break
            except RewrittenError:
                # Its position is known, and what follows is read anew.
                continue
    else:
        replay = Replay(target, settings, done=done)
        reached = replay.run((_converted(cast(Iterable[Patch], log), factory),))
    if last is not None and not reached and not follow:
        raise _missing(last, "it was read to its end")


def _replay_source(
    target: Target[Any],
    log: Source,
    factory: TermFactory[Any],
    settings: ReplaySettings,
    done: Replayed,
) -> bool:
    """Replay a source once; return whether ``until`` was reached.

    :raises RewrittenError: the last patch of a followed file was replaced while it was read.
    """
    replay = Replay(target, settings, done=done)

    def wait() -> bool:
        replay.wait()
        if settings.stop is not None and settings.stop():
            return False
        time.sleep(settings.interval)
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
            return replay.run(rows.batches, has_ended=lambda: rows.ended)
        except JellyError as error:
            error.locate(source=rows.name)
            raise


def _missing(patch: str, what: str) -> ChainError:
    return ChainError(f"the log has no patch {patch}; {what}", expected=patch)


def _is_source(log: Source | Iterable[Patch]) -> TypeGuard[Source]:
    data = isinstance(log, str | os.PathLike | bytes | bytearray | memoryview)
    return data or hasattr(log, "read")


def _may_have(
    target: Target[Any],
    log: Source | Iterable[Patch],
    factory: TermFactory[Any],
    settings: ReplaySettings,
) -> bool:
    """Whether a log may have the patch ``until``: False if it has not, and can be read twice."""

    def is_it(value: Any) -> bool:
        return target.text(value) == settings.last

    if isinstance(log, list | tuple):
        ids = [each.id for each in log]
        return any(is_it(convert(found, factory)) for found in ids if found is not None)
    if not _is_source(log):
        return True
    rewind = rewinder(log)
    if rewind is None:
        return True
    try:
        with PatchReader(log, factory=factory, limits=settings.limits) as rows:
            return any(
                isinstance(value, Header) and value.chain_key == ID and is_it(value.value)
                for _, value in rows
            )
    except JellyError:
        # The replay reports errors of the log when it reaches them.
        return True
    finally:
        rewind()


def _converted(patches: Iterable[Patch], factory: TermFactory[Any]) -> Iterator[AnyOperation]:
    """The rows of patches in generic terms, with a factory's terms."""
    for patch in patches:
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
