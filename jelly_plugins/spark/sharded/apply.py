"""A batch of patches into a sharded store: staged, resolved, applied shard by shard, committed.

What runs the shards' tasks is a function that it is given; Spark is one of those (``tasks``).
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias
from uuid import uuid4

from ...codec import DEFAULT_LIMITS, Limits, OperationColumns
from ...codec.patch.operations import BEGIN, COMMIT, AnyOperation, OperationKind
from ...codec.text.ntriples import Notation
from ...errors import ChainError, JellyError, LimitError, SourceError, TruncatedError
from ...io.sources import Source
from ...oxigraph.rows import RowFactory
from ...patch.columns import PatchColumnReader
from ...patch.model import ID
from ...patch.reader import AFTER_HEADERS
from ...patch.replay.position import DIGEST, Position, Replayed
from .commits import Batch, Commit, CommitLog, Place, Shard
from .errors import CheckpointError, CommitConflictError, RootError
from .layout import Root, ShardBy, check_layout, make_root
from .resolve import Resolved, Stager, is_anonymous, resolve
from .restoring import first_undone
from .settings import metadata_of, text, whole_number
from .shard import ShardResult, ShardWork
from .staging import STAGED_TOGETHER, Repeatable
from .storage import AnyRoot, Attempt, Piece, storage_at


class Staged(NamedTuple):
    """A log that was staged, or is while its rows are read.

    :ivar rows: the log without its statements, see :meth:`.Stager.stage`.
    :ivar first: where the first row stands in its file, if that is known; likewise ``last``.
    :ivar checked: whether Oxigraph has seen the terms of the statements.
    """

    rows: Iterable[AnyOperation]
    first: Place | None = None
    last: Place | None = None
    checked: bool = False


#: How often a batch begins again that another writer was faster than, unless it is told otherwise.
DEFAULT_RETRIES: Final = 10

#: The longest time before a batch begins again, the first time and ever, in seconds.
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

#: Stages a log.
Staging: TypeAlias = Callable[[Attempt, Root], Staged]

#: Does the work of shards, and gives one result for each.
Runner: TypeAlias = Callable[[Sequence[ShardWork]], Iterable[ShardResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What a call of :func:`apply_patches` has done.

    :ivar version: the version that the store is at now.
    :ivar committed: whether this call has made it.
    :ivar shards: number of shards that have changed.
    :ivar replayed: patches, transactions and operations that were applied, skipped because they had
        been before, or aborted; and the position that was reached in the log.
    :ivar held_back: operations of a transaction that the log does not end; they were not applied.
    """

    version: int
    committed: bool
    shards: int = 0
    replayed: Replayed
    held_back: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a batch is applied, see :func:`~jelly_plugins.spark.apply_patches`."""

    shards: int | None = None
    shard_by: ShardBy | None = None
    application: str | None = None
    batch: int | None = None
    log: str | None = None
    check_prev: bool = True
    query: str | None = None
    retries: int = 0
    create: bool = True
    metadata: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if (self.application is None) is not (self.batch is None):
            raise ValueError("application and batch must be given together")
        if not isinstance(self.create, bool):
            raise TypeError(f"create is {self.create!r}, not a bool")
        checked: dict[str, object] = {
            "retries": whole_number("retries", self.retries),
            "shards": check_layout(self.shards, self.shard_by),
            "metadata": metadata_of(self.metadata),
        }
        if self.application is not None:
            checked["application"] = text("application", self.application)
            checked["batch"] = whole_number("batch", self.batch)
        if self.log is not None:
            checked["log"] = text("name", self.log)
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def apply_batch(stage: Staging, run: Runner, root: AnyRoot, settings: Settings) -> Applied:
    """Apply a log, from where the store stands in it, as one version.

    :param stage: stages the log.
    :param run: does the work of shards.
    :raises CommitConflictError: another writer was first, as often as may be; nothing was applied.
    :raises CheckpointError: the batch comes from another streaming query than those before it, or
        one of its number was applied, from another log.
    :raises JellyError: the log cannot be read or applied; nothing was.
    """
    storage = storage_at(root)
    at_first = make_root(storage, settings.shards, settings.shard_by, create=settings.create)
    log = CommitLog(storage, at_first)
    head = log.head()
    log.check_shards(head, settings.shards)
    _check_undone(log, head, settings)
    if _is_repeated(head, settings) and not _is_doubtful(head, settings):
        return Applied(version=head.version, committed=False, replayed=Replayed())
    attempt = storage.attempt(uuid4().hex)
    try:
        attempt.begin()
        batch = _Batch(log, attempt, settings, log.layout_of(head), stage)
        conflicts = 0
        while True:
            try:
                return batch.apply(run)
            except CommitConflictError:
                if conflicts == settings.retries or not batch.fits(log.head()):
                    raise
            longest = min(_FIRST_PAUSE * 2**conflicts, _LONGEST_PAUSE)
            time.sleep(random.uniform(0, longest))
            conflicts += 1
    except OSError as error:
        # In a bucket's case that is the cache.
        place = storage.name if error.filename is None else str(error.filename)
        message = f"cannot be written: {error.strerror or error}"
        raise RootError(message, source=place) from error
    finally:
        attempt.end()


class _Batch:
    """A log that was staged, and is applied to whatever the head is.

    :param layout: how it is staged.
    """

    def __init__(
        self, log: CommitLog, attempt: Attempt, settings: Settings, layout: Root, stage: Staging
    ) -> None:
        self._log: Final = log
        self._attempt: Final = attempt
        self._settings: Final = settings
        self._layout: Final = layout
        staged = stage(attempt, layout)
        self._staged: Final = staged._replace(rows=Repeatable(staged.rows))

    def fits(self, head: Commit) -> bool:
        """Whether a version has as many shards as what was staged is spread over."""
        return self._log.layout_of(head) == self._layout

    def apply(self, run: Runner) -> Applied:
        """Apply it to the head, as it is now.

        :raises CommitConflictError: another writer was first.
        """
        log, settings = self._log, self._settings
        head = log.head()
        if not self.fits(head):
            raise log.conflict(head.version)
        _check_undone(log, head, settings)
        if _is_repeated(head, settings):
            if _is_doubtful(head, settings):
                self._check_same_log(head)
            return Applied(version=head.version, committed=False, replayed=Replayed())
        resolved = self._resolve(head)
        if resolved.held_back and settings.application is not None:
            raise TruncatedError(
                f"batch {settings.batch} of {settings.application} ends inside a transaction, and "
                "what is held back of a batch is not sent again"
            )
        works = self._works(head, resolved)
        try:
            results = _check(log, works, run(works) if works else (), resolved)
        except (JellyError, OSError) as error:
            # What it began with may have been removed, if it is not the head any more.
            if log.head().version != head.version:
                raise log.conflict(head.version + 1) from error
            raise
        commit = self._commit(head, resolved, results)
        if commit is not None:
            try:
                log.publish(commit)
            except (CommitConflictError, LimitError):
                new = (result.store for result in results if result.store is not None)
                log.storage.discard(store for store in new if store not in head.stores())
                raise
        return Applied(
            version=head.version if commit is None else commit.version,
            committed=commit is not None,
            shards=len(results),
            replayed=resolved.replayed,
            held_back=resolved.held_back,
        )

    def _resolve(self, head: Commit) -> Resolved:
        """What of the log is to be applied to the head: nothing of one that is part of what was."""
        try:
            return self._resolved(head, head)
        except ChainError as error:
            done = self._done_before(head)
            if done is None:
                error.locate(source=self._log.storage.name)
                raise
            return done

    def _resolved(self, head: Commit, commit: Commit) -> Resolved:
        """The log, resolved against a version."""
        rows = self._continued(head)
        return resolve(
            rows,
            commit,
            log=self._settings.log,
            check_prev=self._settings.check_prev,
            continued=rows is not self._staged.rows,
            numbered=self._settings.application is not None,
        )

    def _done_before(self, head: Commit) -> Resolved | None:
        """What is to be done if a version before the head was where the log ends: nothing.

        :return: None if there was no such version.
        """
        tried = {head.positions}
        try:
            for commit in self._log.lineage():
                if commit.positions in tried:
                    continue
                tried.add(commit.positions)
                try:
                    found = self._resolved(head, commit)
                except ChainError:
                    continue
                done = found.replayed
                if found.positions != commit.positions or done.position is None or found.held_back:
                    continue
                now = next((each for each in head.positions if each.log == done.position.log), None)
                if now is not None:
                    return replace(
                        found,
                        replayed=replace(done, position=now),
                        positions=head.positions,
                        namespaces=head.namespaces,
                    )
        except JellyError:
            # A damaged commit, or log, proves nothing.
            return None
        return None

    def _check_same_log(self, head: Commit) -> None:
        """Reject a batch whose number was applied, but from another log.

        :raises CheckpointError: it is of a log with ids of which nothing was applied.
        """
        try:
            found = self._resolve(head).replayed
        except ChainError:
            # It says what it follows, and the store is not there any more.
            return
        settings, position = self._settings, found.position
        if position is None or not found.transactions or _unnamed(position, settings.log):
            return
        if all(each.log != position.log for each in head.positions):
            raise CheckpointError(
                f"batch {settings.batch} of application {settings.application!r} was applied, but "
                f"now it is of log {position.log}, of which nothing was: another program has the "
                "same name, or has begun to number its batches again. Use another application "
                "name: of a log with ids, what was applied is skipped"
            )

    def _continued(self, head: Commit) -> Iterable[AnyOperation]:
        """The rows of the log. Where a file of an application grows in the middle of a patch, they
        begin with as many empty transactions as were applied of that patch before: by their number
        it is known where the store is in it."""
        staged = self._staged
        before = head.applications.get(self._settings.application or "")
        if before is None or staged.first is None or not staged.first.continues(before.last):
            return staged.rows
        reached = next((each for each in head.positions if each.log == before.log), None)
        return staged.rows if reached is None else _behind(reached, iter(staged.rows))

    def _works(self, head: Commit, resolved: Resolved) -> list[ShardWork]:
        """What is to be done, for those shards that the log changes."""
        assert head.shards is not None
        staged: dict[int, list[tuple[Piece, tuple[tuple[int, int], ...]]]] = {}
        for part, taken in resolved.taken.items():
            ranges = tuple(taken)
            for number, piece in self._attempt.pieces(part).items():
                staged.setdefault(number, []).append((piece, ranges))
        return [
            ShardWork(
                storage=self._log.storage,
                attempt=self._attempt,
                shard=number,
                version=head.version + 1,
                base=shard.named,
                quads=shard.quads,
                staged=tuple(staged[number]),
                checked=self._staged.checked,
            )
            for number, shard in enumerate(head.shards)
            if number in staged
        ]

    def _commit(
        self, head: Commit, resolved: Resolved, results: Sequence[ShardResult]
    ) -> Commit | None:
        """The commit of the batch; None if there is nothing to be said."""
        assert head.shards is not None
        settings = self._settings
        shards = list(head.shards)
        for result in results:
            shards[result.shard] = Shard(result.store, result.quads, result.checksum)
        positions, applications = resolved.positions, dict(head.applications)
        undone = dict(head.undone)
        if settings.application is not None and settings.batch is not None:
            before = applications.get(settings.application)
            reached = resolved.replayed.position
            log = before.log if before else None
            if reached is not None:
                positions = _positions(head, resolved, reached, log, settings.log)
                log = reached.log
            query = settings.query or (before.query if before else None)
            last = self._staged.last
            applications[settings.application] = Batch(settings.batch, log, last, query)
            if undone.get(settings.application) == settings.batch:
                del undone[settings.application]
        commit = head.next(
            shards=tuple(shards),
            quads=sum(shard.quads for shard in shards),
            positions=positions,
            applications=applications,
            namespaces=resolved.namespaces,
            operations=resolved.statements,
            undone=undone,
            metadata=settings.metadata,
        )
        said = ("version", "id", "operations", "restored", "metadata")
        same = replace(commit, **{name: getattr(head, name) for name in said})
        return None if same == head else commit


def _check_undone(log: CommitLog, head: Commit, settings: Settings) -> None:
    """Refuse a batch that would pass over others that a restore has undone.

    :raises CheckpointError: there are some before it, which were not applied again.
    """
    if settings.application is None or settings.batch is None:
        return
    undone = head.undone.get(settings.application)
    done = head.applications.get(settings.application)
    again = 0 if done is None else done.number + 1
    if undone is None or settings.batch <= again:
        return
    if settings.batch <= undone:
        # Numbers may have gaps: which there were, the versions say that were undone.
        first = first_undone(log, settings.application, again)
        if first is None or first >= settings.batch:
            return
        again = first
    raise CheckpointError(
        f"a restore has undone batches {again} to {undone} of application "
        f"{settings.application!r}, and batch {settings.batch} would pass over them: give "
        "these again first; or, as a stream does not, give another application name and "
        "checkpoint: what was applied of a log with ids is passed over, and the rest is not"
    )


def _is_repeated(head: Commit, settings: Settings) -> bool:
    if settings.application is None or settings.batch is None:
        return False
    done = head.applications.get(settings.application)
    if done is None:
        return False
    if None not in (done.query, settings.query) and done.query != settings.query:
        raise CheckpointError(
            f"the batches of application {settings.application!r} came from another streaming "
            f"query so far, up to batch {done.number}: its checkpoint was lost, or another query "
            "has the same name. Go on with its checkpoint, or use another application name: of a "
            "log with ids, what was applied is skipped"
        )
    return settings.batch <= done.number


def _is_doubtful(head: Commit, settings: Settings) -> bool:
    """Whether a batch whose number was applied may be another program's: no streaming query says
    that it is the same, but the log's id may say that it is not."""
    done = head.applications[settings.application or ""]
    if None not in (done.query, settings.query) or done.log is None:
        return False
    return done.log != settings.log and not done.log.startswith(DIGEST)


def _behind(reached: Position, rows: Iterator[AnyOperation]) -> Iterator[AnyOperation]:
    same = False
    for row in rows:
        if row.kind is not OperationKind.HEADER:
            if same:
                yield from [BEGIN, COMMIT] * reached.transactions
            yield row
            break
        same = same or (row.value.key == ID and row.value.value == reached.patch)
        yield row
    yield from rows


def _check(
    log: CommitLog, works: Sequence[ShardWork], found: Iterable[ShardResult], resolved: Resolved
) -> list[ShardResult]:
    """The results, if there is one for each shard and they add up to all operations.

    :raises RootError: something is missing.
    """
    results = sorted(found, key=lambda result: result.shard)
    if [result.shard for result in results] != [work.shard for work in works]:
        message = "the tasks' results are not those of the shards"
        raise RootError(message, source=log.storage.name)
    operations = sum(result.operations for result in results)
    if operations != resolved.statements:
        raise RootError(
            f"the tasks have applied {operations} operations of {resolved.statements}: staged "
            "files did not reach them; is the root on a path that every executor sees?",
            source=log.storage.name,
        )
    return [result for result, work in zip(results, works, strict=True) if result.operations]


def _positions(
    head: Commit, resolved: Resolved, reached: Position, before: str | None, name: str | None
) -> tuple[Position, ...]:
    """The positions after a batch of an application. Those of logs with ids stay for ever, so that
    a log that is given again is known. For patches without ids it is the last batch that stands;
    where logs of such were applied without an application, it stays as it was.

    :param before: the log that the last batch has reached a position in.
    :param name: of the log, if the caller gives one.
    """
    passing = _unnamed(reached, name) and reached.patch.startswith(DIGEST)
    left = before if before and before.startswith(DIGEST) and before != reached.log else None
    kept = (
        each
        for each in resolved.positions
        if is_anonymous(each) or not (each.log == left or (passing and each.log == reached.log))
    )
    if not is_anonymous(reached):
        return tuple(kept)
    others = [each for each in kept if each.log != reached.log]
    return (*others, *(each for each in head.positions if each.log == reached.log))


def _unnamed(position: Position, name: str | None) -> bool:
    """Whether a log has no id that it begins with."""
    return position.log == name or position.log.startswith(DIGEST)


def stage_sources(sources: Sequence[Source], limits: Limits = DEFAULT_LIMITS) -> Staging:
    """Stage logs that are read here, one after the other, in memory that does not grow."""

    def stage(attempt: Attempt, layout: Root) -> Staged:
        return Staged(Stager(attempt, layout).stage(_batches(sources, limits)), checked=True)

    return stage


def _batches(sources: Sequence[Source], limits: Limits) -> Iterator[OperationColumns]:
    """The operations of logs, one after the other.

    The last one may be truncated: what of it is complete is given, once it is known to be a log.

    :raises SourceError: one ends inside a patch, and another follows.
    :raises TruncatedError: the last one ends before it is known to be a log; or, in text, after the
        headers of a patch.
    """
    for number, source in enumerate(sources):
        with PatchColumnReader(
            source,
            notation=Notation.RDF_1_2,
            validator=RowFactory(),
            resumable=True,
            limits=limits,
            batch_bytes=STAGED_TOGETHER,
        ) as batches:
            try:
                yield from batches
            except TruncatedError as error:
                if number + 1 < len(sources):
                    raise SourceError(
                        f"{error.message}, and another log follows", source=batches.name
                    ) from error
                # What is too short to be known as a log may be anything.
                if not batches.is_known or error.message == AFTER_HEADERS:
                    raise
