"""Apply a batch of patches to a sharded store: stage, resolve, apply shard by shard, commit.

The caller passes the function that runs the shards' tasks; ``tasks`` has the one for Spark.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias
from uuid import uuid4

from ...codec import DEFAULT_LIMITS, Limits, OperationColumns
from ...codec.patch.operations import BEGIN, COMMIT, AnyOperation, OperationKind
from ...codec.text.ntriples import Notation
from ...errors import ChainError, JellyError, LimitError, SourceError, TruncatedError
from ...io.sources import Source
from ...notebook import Shown
from ...oxigraph.rows import RowFactory
from ...patch.columns import PatchColumnReader
from ...patch.model import ID
from ...patch.reader import AFTER_HEADERS
from .checks import metadata_of, text, whole_number
from .commits import Batch, Commit, CommitLog, RowPosition, Shard, make_log
from .errors import CheckpointError, CommitConflictError, RootError
from .layout import Root, ShardBy, check_layout
from .replaying.position import DIGEST, Position, Replayed
from .resolve import Resolved, Stager, is_anonymous, resolve
from .restoring import first_undone
from .shard import ShardResult, ShardWork
from .staged_files import STAGED_TOGETHER, Repeatable
from .storage import Attempt, StagedExtent, Storage


class Staged(NamedTuple):
    """A staged log; its rows may still be staged while they are read.

    :ivar rows: the log without its statements, see :meth:`.Stager.stage`.
    :ivar first: position of the first row in its file; None if unknown.
    :ivar last: position of the last row in its file; None if unknown.
    """

    rows: Iterable[AnyOperation]
    first: RowPosition | None = None
    last: RowPosition | None = None


#: How often a batch is retried after another writer has committed first, by default.
DEFAULT_RETRIES: Final = 10

#: Maximum pause before the first retry, and before any retry, in seconds.
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

#: Stages a log.
Stage: TypeAlias = Callable[[Attempt, Root], Staged]

#: Does the work of shards, and returns one result for each.
Runner: TypeAlias = Callable[[Sequence[ShardWork]], Iterable[ShardResult]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Shown):
    """The result of :func:`apply_patches`.

    :ivar version: the current version of the store.
    :ivar committed: whether this call created it.
    :ivar shards: number of changed shards.
    :ivar replayed: numbers of patches, transactions and operations that were applied, skipped
        because they had been applied before, or aborted; and the position reached in the log.
    :ivar held_back: number of operations of an unfinished transaction at the end of the log; they
        were not applied.
    """

    version: int
    committed: bool
    shards: int = 0
    replayed: Replayed
    held_back: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSettings:
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
            raise TypeError(f"create must be a bool (got {self.create!r})")
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


def apply_batch(stage: Stage, run: Runner, storage: Storage, settings: BatchSettings) -> Applied:
    """Apply a log, starting at the store's position in it, as one version.

    :param stage: stages the log.
    :param run: does the work of shards.
    :param storage: storage of the root.
    :param settings: how to apply the log.
    :raises CommitConflictError: other writers committed first, in all attempts; nothing was
        applied.
    :raises CheckpointError: the batch is of another streaming query than earlier batches, or a
        batch with its number was applied from another log.
    :raises JellyError: the log cannot be read or applied; nothing was applied.
    """
    log, head = make_log(storage, settings.shards, settings.shard_by, create=settings.create)
    if is_applied(log, head, settings):
        return Applied(version=head.version, committed=False, replayed=Replayed())
    attempt = storage.attempt(uuid4().hex)
    with writing(storage):
        try:
            attempt.begin()
            layout = log.layout_of(head)
            staged = stage(attempt, layout)
            return StagedBatch(
                log=log,
                attempt=attempt,
                settings=settings,
                layout=layout,
                resolve=_StagedLog(log, settings, staged).resolve,
                last=staged.last,
            ).commit(run)
        finally:
            attempt.end()


def is_applied(log: CommitLog, head: Commit, settings: BatchSettings) -> bool:
    """Return whether a batch was certainly applied, so that it need not be staged.

    :raises CheckpointError: the batch is of another streaming query than earlier batches, or would
        skip batches that a restore has undone.
    """
    _check_undone(log, head, settings)
    return _is_repeated(head, settings) and not _is_doubtful(head, settings)


@contextmanager
def writing(storage: Storage) -> Iterator[None]:
    """Convert errors of the disk to a :class:`RootError`."""
    try:
        yield
    except OSError as error:
        # For a bucket, the file is in the cache.
        place = storage.name if error.filename is None else str(error.filename)
        message = f"cannot be written: {error.strerror or error}"
        raise RootError(message, source=place) from error


@contextmanager
def overtaken(log: CommitLog, head: Commit) -> Iterator[None]:
    """Report a conflict instead of an error, if a version is no longer the head.

    A vacuum may have removed its stores.
    """
    try:
        yield
    except (JellyError, OSError) as error:
        if log.head().version != head.version:
            raise log.conflict(head.version + 1) from error
        raise


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBatch:
    """Staged operations, which are applied to the current head.

    :ivar log: commits of the root.
    :ivar attempt: the attempt that has staged them.
    :ivar settings: how to apply them.
    :ivar layout: the layout that they are staged for.
    :ivar resolve: selects what to apply to the head.
    :ivar last: position of the last row in its file; None if unknown.
    """

    log: CommitLog
    attempt: Attempt
    settings: BatchSettings
    layout: Root
    resolve: Callable[[Commit], Resolved]
    last: RowPosition | None = None

    def commit(self, run: Runner) -> Applied:
        """Apply the operations as one version, again if another writer commits first.

        :raises CommitConflictError: other writers committed first, in all attempts, or another
            number of shards was committed.
        :raises CheckpointError: the batch would skip batches that a restore has undone.
        """
        conflicts = 0
        while True:
            head = self.log.head()
            if self.log.layout_of(head) != self.layout:
                raise self.log.conflict(head.version)
            try:
                return self.apply(head, run)
            except CommitConflictError:
                if conflicts == self.settings.retries:
                    raise
            longest = min(_FIRST_PAUSE * 2**conflicts, _LONGEST_PAUSE)
            time.sleep(random.uniform(0, longest))
            conflicts += 1

    def apply(self, head: Commit, run: Runner) -> Applied:
        """Apply the operations to the head.

        :raises CommitConflictError: another writer committed first.
        :raises CheckpointError: see :meth:`commit`.
        """
        log, settings = self.log, self.settings
        _check_undone(log, head, settings)
        if _is_repeated(head, settings):
            if _is_doubtful(head, settings):
                self._check_same_log(head)
            return Applied(version=head.version, committed=False, replayed=Replayed())
        resolved = self.resolve(head)
        if resolved.held_back and settings.application is not None:
            raise TruncatedError(
                f"batch {settings.batch} of {settings.application} ends inside a transaction: "
                "the rest of a batch is not sent again, so each batch must end with a transaction"
            )
        works = self._works(head, resolved)
        with overtaken(log, head):
            results = _check(log, works, run(works) if works else (), resolved)
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

    def _check_same_log(self, head: Commit) -> None:
        """Check that a batch whose number was applied is of the same log.

        :raises CheckpointError: it is of a log with ids of which nothing was applied.
        """
        try:
            found = self.resolve(head).replayed
        except ChainError:
            # The log names a predecessor, and the store is past that position.
            return
        settings, position = self.settings, found.position
        if position is None or not found.transactions or _unnamed(position, settings.log):
            return
        if all(each.log != position.log for each in head.positions):
            raise CheckpointError(
                f"batch {settings.batch} of application {settings.application!r} was applied, but "
                f"this batch is of log {position.log}, of which nothing was applied: another "
                "program uses the same application name, or has restarted its numbering. Use "
                "another application name; patches with ids that were applied are skipped"
            )

    def _works(self, head: Commit, resolved: Resolved) -> list[ShardWork]:
        """Return the work of the shards that the operations change."""
        staged: dict[int, list[tuple[StagedExtent, tuple[tuple[int, int], ...]]]] = {}
        for part, taken in resolved.taken.items():
            ranges = tuple(taken)
            for number, extent in self.attempt.extents(part).items():
                staged.setdefault(number, []).append((extent, ranges))
        return [
            ShardWork(
                storage=self.log.storage,
                attempt=self.attempt,
                shard=number,
                version=head.version + 1,
                base=shard.named,
                quads=shard.quads,
                staged=tuple(staged[number]),
            )
            for number, shard in enumerate(self._bases(head, resolved))
            if number in staged
        ]

    def _bases(self, head: Commit, resolved: Resolved) -> Sequence[Shard]:
        """Return the shards that operations are applied to."""
        assert head.shards is not None
        return [Shard()] * self.layout.shards if resolved.replaces else head.shards

    def _commit(
        self, head: Commit, resolved: Resolved, results: Sequence[ShardResult]
    ) -> Commit | None:
        """Return the commit of the batch; None if nothing has changed."""
        settings = self.settings
        shards = list(self._bases(head, resolved))
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
            applications[settings.application] = Batch(settings.batch, log, self.last, query)
            if undone.get(settings.application) == settings.batch:
                del undone[settings.application]
        commit = head.next(
            shards=tuple(shards),
            quads=sum(shard.quads for shard in shards),
            positions=positions,
            applications=applications,
            namespaces=resolved.namespaces,
            operations=0 if resolved.moves else resolved.statements,
            undone=undone,
            metadata=settings.metadata,
        )
        always_new = ("version", "id", "operations", "restored", "metadata")
        same = replace(commit, **{name: getattr(head, name) for name in always_new})
        return None if same == head else commit


class _StagedLog:
    """A staged log, which is resolved against the head."""

    def __init__(self, log: CommitLog, settings: BatchSettings, staged: Staged) -> None:
        self._log: Final = log
        self._settings: Final = settings
        self._first: Final = staged.first
        self._rows: Final = Repeatable(staged.rows)

    def resolve(self, head: Commit) -> Resolved:
        """Select what to apply to the head: nothing, if the log is part of an applied one."""
        try:
            return self._resolved(head, head)
        except ChainError as error:
            done = self._done_before(head)
            if done is None:
                error.locate(source=self._log.storage.name)
                raise
            return done

    def _resolved(self, head: Commit, commit: Commit) -> Resolved:
        """Resolve the log against a version."""
        rows = self._continued(head)
        return resolve(
            rows,
            commit,
            log=self._settings.log,
            check_prev=self._settings.check_prev,
            continued=rows is not self._rows,
            numbered=self._settings.application is not None,
        )

    def _done_before(self, head: Commit) -> Resolved | None:
        """Return an empty result if the log ends at the position of a version before the head.

        :return: None if there is no such version.
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
            # If a commit or the log is damaged, this cannot be determined.
            return None
        return None

    def _continued(self, head: Commit) -> Iterable[AnyOperation]:
        """Return the rows of the log.

        If the file of an application continues in the middle of a patch, the rows start with as
        many empty transactions as were applied of that patch, so that transaction numbers match
        the store's position.
        """
        before = head.applications.get(self._settings.application or "")
        if before is None or self._first is None or not self._first.continues(before.last):
            return self._rows
        reached = next((each for each in head.positions if each.log == before.log), None)
        return self._rows if reached is None else _after(reached, iter(self._rows))


def _check_undone(log: CommitLog, head: Commit, settings: BatchSettings) -> None:
    """Check that a batch does not skip earlier batches that a restore has undone.

    :raises CheckpointError: earlier batches were undone and not applied again.
    """
    if settings.application is None or settings.batch is None:
        return
    undone = head.undone.get(settings.application)
    done = head.applications.get(settings.application)
    again = 0 if done is None else done.number + 1
    if undone is None or settings.batch <= again:
        return
    if settings.batch <= undone:
        # Batch numbers may have gaps; the undone versions have the numbers that existed.
        first = first_undone(log, settings.application, again)
        if first is None or first >= settings.batch:
            return
        again = first
    raise CheckpointError(
        f"a restore has undone batches {again} to {undone} of application "
        f"{settings.application!r}, and batch {settings.batch} would skip them: apply them "
        "again first. A stream does not repeat them: use another application name and "
        "checkpoint; patches with ids that were applied are then skipped, and the rest is applied"
    )


def _is_repeated(head: Commit, settings: BatchSettings) -> bool:
    if settings.application is None or settings.batch is None:
        return False
    done = head.applications.get(settings.application)
    if done is None:
        return False
    if None not in (done.query, settings.query) and done.query != settings.query:
        raise CheckpointError(
            f"the batches of application {settings.application!r} up to batch {done.number} are of "
            "another streaming query: its checkpoint was lost, or another query uses the same "
            "name. Continue with the original checkpoint, or use another application name; "
            "patches with ids that were applied are skipped"
        )
    return settings.batch <= done.number


def _is_doubtful(head: Commit, settings: BatchSettings) -> bool:
    """Return whether a batch whose number was applied may be of another program.

    That is so if no id of a streaming query identifies it, but the log's id may differ.
    """
    done = head.applications[settings.application or ""]
    if None not in (done.query, settings.query) or done.log is None:
        return False
    return done.log != settings.log and not done.log.startswith(DIGEST)


def _after(reached: Position, rows: Iterator[AnyOperation]) -> Iterator[AnyOperation]:
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
    """Check that there is one result for each shard, and that they cover all operations.

    :return: the results of the shards that have changed.
    :raises RootError: a result or an operation is missing.
    """
    results = sorted(found, key=lambda result: result.shard)
    if [result.shard for result in results] != [work.shard for work in works]:
        message = "the results of the tasks do not match the shards"
        raise RootError(message, source=log.storage.name)
    operations = sum(result.operations for result in results)
    if operations != resolved.statements:
        raise RootError(
            f"the tasks have applied {operations} of {resolved.statements} operations: they did "
            "not read all staged files. The root must be on a path that every executor can read",
            source=log.storage.name,
        )
    return [result for result, work in zip(results, works, strict=True) if result.operations]


def _positions(
    head: Commit, resolved: Resolved, reached: Position, before: str | None, name: str | None
) -> tuple[Position, ...]:
    """Return the positions after a batch of an application.

    Positions in logs with ids are kept forever, so that a repeated log is detected. For patches
    without ids, the number of the last batch is used instead; positions that were reached in such
    logs without an application are kept.

    :param before: the log in which the last batch has reached a position.
    :param name: the log's name, if the caller gives one.
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
    """Return whether a log does not start with an id."""
    return position.log == name or position.log.startswith(DIGEST)


def stage_sources(sources: Sequence[Source], limits: Limits = DEFAULT_LIMITS) -> Stage:
    """Stage logs that this process reads one after the other, in constant memory."""

    def stage(attempt: Attempt, layout: Root) -> Staged:
        return Staged(Stager(attempt, layout).stage(_batches(sources, limits)))

    return stage


def _batches(sources: Sequence[Source], limits: Limits) -> Iterator[OperationColumns]:
    """Read the operations of logs, one after the other.

    The last log may be truncated: its complete part is returned, if it is recognised as a log.

    :raises SourceError: a log ends inside a patch, and another log follows.
    :raises TruncatedError: the last log is too short to be recognised as a log or, in text, ends
        after the headers of a patch.
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
                # Input that is too short to be recognised may not be a log.
                if not batches.is_known or error.message == AFTER_HEADERS:
                    raise
