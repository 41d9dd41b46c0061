"""One replay of one log: what a backend's ``replay`` does once it has a target and a factory of
terms. The log's rows become transactions (``transactions``), some of these are selected
(``selection``), and applied (``commits``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, Generic, TypeGuard, cast

from ...codec import DefaultGraph, TermFactory
from ...codec.common.conversion import check_text, convert
from ...codec.patch.operations import END, AnyOperation, Header, Namespace, Operation, OperationKind
from ...errors import ChainError, JellyError, StatementError
from ...io.sources import Source, rewinder
from ..follow import RewrittenError
from ..model import ID, Patch
from ..reader import PatchReader
from .commits import Commits, named
from .position import Position, Replayed
from .selection import Selection
from .settings import ReplaySettings
from .target import C, Target
from .transactions import TransactionReader

#: Transactions that are applied together by default.
_GROUP: Final = 100
#: Seconds between two looks at a file that is followed.
_INTERVAL: Final = 0.05


class Replay(Generic[C]):
    """One reading of one log.

    :param target: where to.
    :param done: counts what is done.
    :param group: most transactions that are applied together.
    :param start: see :class:`.Selection`.
    """

    def __init__(
        self,
        target: Target[C],
        settings: ReplaySettings,
        done: Replayed,
        *,
        group: int,
        start: Position | None = None,
    ) -> None:
        selection: Final = Selection(target, settings, done, start)
        self.selection: Final = selection
        self.commits: Final = Commits(target, settings, done, group=group)
        # Nothing here refers to itself: a store closes once nothing refers to it.
        self._transactions = TransactionReader(target, done, lambda: selection.seeks)

    def run(self, rows: Iterable[AnyOperation]) -> bool:
        """Replay rows. What comes before an error is applied.

        :return: whether ``until`` was reached, so that rows may be left.
        :raises JellyError: a patch cannot be read or applied; the message names it.
        """
        selection, commits = self.selection, self.commits
        try:
            for event in self._transactions.read(rows):
                entry = selection.take(event)
                if entry is not None:
                    commits.put(entry)
                if selection.is_complete:
                    break
        except Exception as error:
            if not commits.failed:
                if isinstance(error, JellyError) and not isinstance(error, RewrittenError):
                    self._name(error)
                commits.commit()
            raise
        self.wait()
        return selection.is_complete

    def wait(self) -> None:
        """Apply what is complete, because it is not known when more rows come.

        :raises ChainError: the rows so far do not have the store's position.
        """
        self.commits.commit()
        self.selection.check_found()

    def _name(self, error: JellyError) -> None:
        """Add the patch that is being read, if any, to an error."""
        number = self.selection.number
        patch = self._transactions.id
        if patch is None and (self._transactions.has_headers or number > 1):
            patch = str(number)
        if patch is not None:
            error.message = f"patch {named(patch)}: {error.message}"


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
    if follow and not _is_source(log):
        raise ValueError("only a source of bytes can be followed")
    if last is not None and not follow and not _may_have(target, log, factory, settings):
        raise _missing(last, "nothing was applied")
    group = settings.commit_every
    if group is None:
        # Other sources may block between patches.
        group = _GROUP if _is_source(log) or isinstance(log, list | tuple) else 1
    if settings.dry_run:
        group = 1
    replay = Replay(target, settings, done, group=group)
    if _is_source(log):
        while True:
            try:
                reached = _replay_source(replay, log, factory, settings)
                break
            except RewrittenError:
                # Its position is known, and what follows is read anew.
                replay = Replay(target, settings, done, group=group, start=replay.selection.reached)
    else:
        reached = replay.run(_converted(cast(Iterable[Patch], log), factory))
    if last is not None and not reached and not follow:
        raise _missing(last, "it was read to its end")


def _replay_source(
    replay: Replay[Any], log: Source, factory: TermFactory[Any], settings: ReplaySettings
) -> bool:
    """Read a source once; return whether ``until`` was reached.

    :raises RewrittenError: the last patch of a followed file was replaced while it was read.
    """

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
        starve=None if at_hand else replay.commits.commit,
        limits=settings.limits,
    ) as rows:
        try:
            return replay.run(chain.from_iterable(rows.batches))
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
