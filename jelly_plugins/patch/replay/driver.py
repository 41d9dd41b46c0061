"""One replay of one log: what a backend's ``replay`` does once it has a target and a factory of
terms. The log's rows become transactions (``transactions``), some of these are selected
(``selection``), and applied here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, Final, Generic, TypeAlias, TypeGuard, cast

from ...codec import (
    DEFAULT_LIMITS,
    BlankNode,
    DefaultGraph,
    Iri,
    Limits,
    Literal,
    Term,
    TermFactory,
)
from ...codec.common.conversion import check_text, convert
from ...codec.patch.operations import END, AnyOperation, Header, Namespace, Operation, OperationKind
from ...codec.text.ntriples import term_text
from ...errors import ChainError, JellyError, OptionsError, StatementError
from ...io.progress import Progress
from ...io.sources import Source, rewinder
from ..model import ID, Patch
from ..reader import PatchReader
from .position import DIGEST, Position, Replayed, check_name
from .selection import Entry, Selection
from .target import C, Target
from .transactions import Event, Transaction, Transactions

#: Seconds between two looks at a file that is followed.
INTERVAL: Final = 0.05
#: How many transactions are applied together by default.
_GROUP: Final = 100


#: Called with what was done so far, after each transaction.
OnTransaction: TypeAlias = Callable[[Replayed], object]

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
    :param commit_every: how many entries are applied together at most.
    :param dry_run: apply nothing.
    :param on_transaction: called after each transaction, once it was applied.
    :param progress: called with its number of operations then.
    :ivar failed: whether applying or a callback has raised an error, which names the patch.
        Nothing more may be applied.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        done: Replayed,
        commit_every: int,
        dry_run: bool,
        on_transaction: OnTransaction | None,
        progress: Progress | None,
    ) -> None:
        self.failed = False
        self._target = target
        self._done = done
        self._group = 1 if dry_run else commit_every
        self._dry_run = dry_run
        self._on_transaction = on_transaction
        self._progress = progress
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
        if not self._dry_run:
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
        done, on_transaction, progress = self._done, self._on_transaction, self._progress
        for entry in entries:
            done.patches += entry.patches
            if entry.transaction:
                done.transactions += 1
                done.operations += entry.changes.operations
                done.position = entry.reached
                if on_transaction is not None:
                    on_transaction(done)
                if progress is not None:
                    progress(entry.changes.operations)
        done.position = after

    def _is_at(self, position: Position) -> bool:
        with suppress(Exception):
            return position in self._target.positions()
        return False


class Replay(Generic[C]):
    """One replay of one log.

    :param target: where to.
    :param text: the text of a header's value, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.
    :param log: the log's name.
    :param check_prev: whether a patch must follow the one that was applied last.
    :param until: id of the patch after which to stop.
    :param commit_every: how many transactions are applied together at most.
    :param dry_run: apply nothing.
    :param on_transaction: see :class:`Commits`; ``progress`` too.
    :ivar done: what was done so far.
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
        commit_every: int = 1,
        dry_run: bool = False,
        on_transaction: OnTransaction | None = None,
        progress: Progress | None = None,
    ) -> None:
        check_name(log)
        self.done = done = Replayed()
        self._selection = Selection(
            target.positions,
            target.changes,
            done=done,
            graph=graph,
            log=log,
            check_prev=check_prev,
            until=until,
        )
        self._transactions = Transactions(
            target.changes, text=text, keeps_rows=self._selection.keeps_rows, done=done
        )
        self._commits = Commits(
            target,
            done=done,
            commit_every=commit_every,
            dry_run=dry_run,
            on_transaction=on_transaction,
            progress=progress,
        )

    def run(
        self,
        batches: Iterable[Iterable[AnyOperation]],
        *,
        has_ended: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Replay rows. What comes before an error is applied.

        :param batches: the rows, in batches as they are read.
        :param has_ended: see :meth:`.Transactions.read`. If it is not known what ends a patch,
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
    *,
    text: Callable[[Any], str],
    graph: str = "",
    check_prev: bool = True,
    name: str | None = None,
    until: str | None = None,
    follow: bool = False,
    interval: float = INTERVAL,
    stop: Callable[[], bool] | None = None,
    commit_every: int | None = None,
    dry_run: bool = False,
    on_transaction: OnTransaction | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Replayed:
    """Replay a log into ``target``.

    :param factory: makes the terms that ``target`` takes.
    :param text: the text of such a term, in the syntax of N-Triples.
    :param graph: the graph of positions, see :class:`.Position`.

    See :func:`jelly_plugins.oxigraph.replay` for the other parameters.
    """
    if commit_every is not None and commit_every < 1:
        raise OptionsError(f"commit_every must be at least 1 (got {commit_every})")
    if commit_every is None:
        # What else gives patches may wait for one before it gives the next.
        commit_every = _GROUP if _is_source(log) or isinstance(log, list | tuple) else 1
    last = None if until is None else as_term(until)
    if last is not None and not follow and not _may_have(log, last, factory, text, limits):
        raise _missing(last, "nothing was applied")
    if follow and not _is_source(log):
        raise ValueError("only a source of bytes can be followed")
    replay = Replay(
        target,
        text=text,
        graph=graph,
        log=name,
        check_prev=check_prev,
        until=last,
        commit_every=commit_every,
        dry_run=dry_run,
        on_transaction=on_transaction,
        progress=progress,
    )

    def wait() -> bool:
        replay.wait()
        if stop is not None and stop():
            return False
        time.sleep(interval)
        return True

    if _is_source(log):
        # Whether nothing has to be waited for when more of the source is read.
        if isinstance(log, str | os.PathLike):
            at_hand = os.path.isfile(log)
        else:
            at_hand = isinstance(log, bytes | bytearray | memoryview)
        with PatchReader(
            log,
            factory=factory,
            wait=wait if follow else None,
            starve=None if at_hand else replay.commit,
            limits=limits,
        ) as rows:
            try:
                reached = replay.run(rows.batches, has_ended=lambda: rows.ended)
            except JellyError as error:
                error.locate(source=rows.name)
                raise
    else:
        reached = replay.run((_converted(cast(Iterable[Patch], log), factory),))
    if last is not None and not reached and not follow:
        raise _missing(last, "it was read to its end")
    return replay.done


def _missing(patch: str, what: str) -> ChainError:
    return ChainError(f"the log has no patch {patch}; {what}", expected=patch)


def as_term(text: str | Term, name: str = "until") -> str:
    """An id as it is given by a user, in the syntax of N-Triples.

    :param name: of the parameter that has it, for errors.

    >>> as_term("urn:uuid:1"), as_term('"seven"')
    ('<urn:uuid:1>', '"seven"')
    """
    if isinstance(text, Iri | BlankNode | Literal):
        return term_text(text)
    if not isinstance(text, str):
        raise TypeError(f"{name} must be the id of a patch as a string (got {text!r})")
    return text if text.startswith(("<", '"', "_:")) else f"<{text}>"


def _is_source(log: Source | Iterable[Patch]) -> TypeGuard[Source]:
    data = isinstance(log, str | os.PathLike | bytes | bytearray | memoryview)
    return data or hasattr(log, "read")


def _may_have(
    log: Source | Iterable[Patch],
    patch: str,
    factory: TermFactory[Any],
    text: Callable[[Any], str],
    limits: Limits,
) -> bool:
    """Whether a log may have a patch of this id: False if it has not, and can be read twice."""

    def is_it(value: Any) -> bool:
        return text(value) == patch

    if isinstance(log, list | tuple):
        ids = [each.id for each in log]
        return any(is_it(convert(found, factory)) for found in ids if found is not None)
    if not _is_source(log):
        return True
    rewind = rewinder(log)
    if rewind is None:
        return True
    try:
        with PatchReader(log, factory=factory, limits=limits) as rows:
            return any(
                isinstance(value, Header) and value.key == ID and is_it(value.value)
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
