"""Apply patches to a sharded store, and write DataFrames of statements: each call is one version.

The steps of a call, each of which may end it without harm: find the newest version, find out what
is new to it, make the new stores of the shards that change, and create the file of the next
version. If another writer has created that first, all steps are repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError, OptionsError
from ...io.sources import Source
from ...notebook import Shown
from .chains import PatchRows, resolve
from .errors import CheckpointError, CommitConflictError
from .local import LocalLog
from .root import (
    Batch,
    Bound,
    Shard,
    ShardBy,
    Version,
    begin,
    check_layout,
    commit,
    newest,
    whole_number,
)
from .shard import Changed
from .storage import AnyRoot, Storage, storage_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from .changes import FrameLog

#: A log of patches: files in order, or a DataFrame of the format ``jelly-patch`` or of logs.
Patches: TypeAlias = "Source | Sequence[Source] | DataFrame"

#: How often to try again after another writer has committed first.
RETRIES: Final = 10
#: The columns that identify a message of Kafka; the last one is a number.
ORDER_BY: Final = ("topic", "partition", "offset")
#: Settings of a sink, in addition to its own.
_OF_SINKS: Final = {"shards", "shard_by", "check_prev", "create", "storage_options"}
#: Property with the id of a streaming query, which Spark sets in the threads that run it.
_QUERY: Final = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied(Shown):
    """What a call has done.

    :ivar version: the version that the store is at now.
    :ivar committed: whether the call has made it.
    :ivar shards: number of shards that have changed.
    :ivar added: number of quads that were added.
    :ivar deleted: number of quads that were deleted.
    :ivar patches: number of patches that were applied, at least in part; the statements of a
        DataFrame count as one.
    :ivar unnamed: how many of them have no id, so that they are applied again if they are given
        again, unless ``application`` and ``batch`` identify them.
    :ivar aborted: number of transactions of the log that end with an abort.
    :ivar held_back: whether the log ends inside a transaction, which does not count. Give the log
        again, with the rest, to apply it.
    """

    version: int
    committed: bool = False
    shards: int = 0
    added: int = 0
    deleted: int = 0
    patches: int = 0
    unnamed: int = 0
    aborted: int = 0
    held_back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How to change a store.

    :ivar shards: see :func:`apply_patches`; likewise the others.
    :ivar query: id of the streaming query that numbers the batches.
    """

    shards: int | None = None
    shard_by: ShardBy | None = None
    application: str | None = None
    batch: int | None = None
    query: str | None = None
    check_prev: bool = True
    create: bool = True

    def __post_init__(self) -> None:
        check_layout(self.shards, self.shard_by)
        if (self.application is None) is not (self.batch is None):
            raise ValueError("application and batch must be given together")
        if self.application is not None and not isinstance(self.application, str):
            raise TypeError(f"application must be a str (got {self.application!r})")
        if self.batch is not None:
            whole_number("batch", self.batch)


class Changes(Protocol):
    """Changes that were read, to be applied to a version.

    :ivar patches: the patches, in order.
    :ivar aborted: number of aborted transactions.
    :ivar held_back: whether they end inside a transaction.
    """

    @property
    def patches(self) -> Sequence[PatchRows]: ...
    @property
    def aborted(self) -> int: ...
    @property
    def held_back(self) -> bool: ...

    def change(
        self, storage: Storage, layout: Version, start: int
    ) -> tuple[list[Changed], list[Bound]]:
        """Make the new stores of the shards that change.

        :param layout: a version with the shards to change, those of the newest version or empty
            ones, and the term that determines the shard.
        :param start: number of the first patch to apply.
        :return: the shards, and the operations on namespaces, in order.
        """


def apply_patches(
    spark: SparkSession | None,
    src: Patches,
    root: AnyRoot,
    *,
    column: str | None = None,
    order_by: Sequence[str] = ORDER_BY,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    application: str | None = None,
    batch: int | None = None,
    check_prev: bool = True,
    create: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Applied:
    """Apply a log of patches to a sharded store, as one version.

    What was applied before is skipped: patches with ids (``id``, ``prev``) up to the last one that
    was applied, and a batch whose number is not above the application's last one. Patches without
    an id, and without a batch number, are applied again. Aborted transactions do not count. Neither
    does an unfinished one at the end of a log; Spark's data source rejects such a file. RDF has set
    semantics: the last operation on each quad counts.

    :param spark: the Spark session that does the work; None for processes of this machine, which
        is faster for logs of up to some million operations, and is used for bytes and open files.
    :param src: a log, or several files of one in order: paths, URLs, open binary files or bytes,
        with Jelly-Patch or RDF Patch text, compressed or not. With ``spark``, also a DataFrame of
        ``spark.read.format("jelly-patch")``, whose files are in the order of their names, with
        numbers compared as numbers; or, with ``column``, any DataFrame with a log in each row.
    :param column: the column of logs in a DataFrame, a result of
        :func:`~jelly_plugins.spark.from_jelly_patch`.
    :param order_by: with ``column``, the columns that give the order of the rows, by default
        Kafka's. The last one is a number.
    :param root: a folder, which the driver and every executor access under this path, on a file
        system with hard links; or the URL of a folder in a bucket: ``s3://``, ``gs://``, ``az://``.
    :param shards: number of shards of a new store, by default 16. An existing store must have it.
    :param shard_by: ``"subject"`` keeps the statements of a subject together, ``"graph"`` those of
        a named graph; by default subject. An existing store must have it.
    :param application: name of the program that numbers batches; with ``batch``, each batch is
        applied once. A batch must end with the end of a transaction.
    :param batch: number of the batch, which is greater than that of the one before.
    :param check_prev: whether to check that each patch follows the one that its ``prev`` names.
    :param create: whether to create the store if it does not exist.
    :param storage_options: settings and credentials of a bucket, see docs/buckets.md; missing ones
        come from the environment. They are sent to tasks, and stored nowhere.
    :param limits: limits for logs; data sources have their own options.
    :return: the version, and what was applied.
    :raises ChainError: a patch does not follow the one before it, or the log does not follow what
        was applied; nothing was applied.
    :raises CheckpointError: earlier batches of the application are of another streaming query.
    :raises CommitConflictError: other writers committed first, in all attempts; nothing was
        applied.
    :raises RootError: the root has another layout, or cannot be read or written.
    :raises JellyError: the log cannot be read, or has data that Oxigraph cannot store; nothing was
        applied.
    """
    settings = Settings(
        shards=shards,
        shard_by=shard_by,
        application=application,
        batch=batch,
        check_prev=check_prev,
        create=create,
    )
    storage = storage_at(root, storage_options)
    logs: Any = src if isinstance(src, list | tuple) else [src]
    frame: Any = src if _is_frame(src) else None
    if column is not None and frame is None:
        raise ValueError("column needs a DataFrame")
    by_spark = frame is not None or (
        spark is not None and all(isinstance(log, str | os.PathLike) for log in logs)
    )
    if by_spark:
        session: Any = spark if frame is None else frame.sparkSession
        settings = replace(settings, query=_query(session))
    # Before the log is read.
    version = begin(storage, shards, shard_by, create=create)
    if _is_done(version, settings):
        return Applied(version=version.number)
    changes: LocalLog | FrameLog
    if by_spark:
        from .changes import FrameLog, rows_of, rows_of_logs, rows_of_paths

        if frame is None:
            rows = rows_of_paths(session, logs)
        else:
            rows = rows_of(frame) if column is None else rows_of_logs(frame, column, order_by)
        changes = FrameLog(rows)
    else:
        # Operations are staged for this number of shards.
        settings = replace(settings, shards=len(version.shards), shard_by=version.shard_by)
        changes = LocalLog(logs, version, whole=application is not None, limits=limits)
    with changes:
        return apply(changes, storage, settings)


def batch_sink(
    root: AnyRoot,
    *,
    application: str,
    column: str | None = None,
    order_by: Sequence[str] = ORDER_BY,
    on_applied: Callable[[Applied], object] | None = None,
    **settings: Any,
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``DataStreamWriter.foreachBatch`` that applies each batch once::

        (
            spark.readStream.format("jelly-patch").load("logs/")
            .writeStream.foreachBatch(batch_sink("/shared/people", application="people"))
            .option("checkpointLocation", "/shared/checkpoint")
            .start()
        )

    :param application: name of the query; use another one for each checkpoint.
    :param column: see :func:`apply_patches`, and for ``order_by``. For patches in messages of
        Kafka, pass ``column="patch"`` with batches of::

            messages.select(
                "topic", "partition", "offset", from_jelly_patch("value").alias("patch")
            )

    :param on_applied: called with the result of each batch.
    :param settings: ``shards``, ``shard_by``, ``check_prev``, ``create`` and ``storage_options`` of
        :func:`apply_patches`.
    :raises RootError: the root's path or URL is not valid. Its contents are checked with each
        batch.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if unknown := settings.keys() - _OF_SINKS:
        raise TypeError(f"batch_sink has no parameter {', '.join(sorted(unknown))}")
    if on_applied is not None and not callable(on_applied):
        raise TypeError(f"on_applied must be callable (got {on_applied!r})")
    storage = storage_at(root, settings.pop("storage_options", None))
    Settings(application=application, batch=0, **settings)

    def sink(frame: DataFrame, number: int) -> None:
        done = apply_patches(
            frame.sparkSession,
            frame,
            storage,
            column=column,
            order_by=order_by,
            application=application,
            batch=number,
            **settings,
        )
        if on_applied is not None:
            on_applied(done)

    return sink


def write_shards(
    frame: DataFrame,
    root: AnyRoot,
    *,
    mode: str = "append",
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    application: str | None = None,
    batch: int | None = None,
    version: int | None = None,
    create: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> Applied:
    """Write the statements of a DataFrame to a sharded store, as one version.

    Each shard is written by the task that has its rows. With ``mode="overwrite"`` and another
    number of shards, this also reshards a store::

        frame = spark.read.format("jelly-store").load(root)
        write_shards(frame, root, mode="overwrite", shards=64, version=ShardedStore(root).version)

    :param frame: has the columns ``subject``, ``predicate``, ``object`` and, optionally, ``graph``:
        terms as text of N-Triples, null for the default graph. Other columns are ignored.
    :param mode: ``"append"`` adds the statements; ``"overwrite"`` replaces those of the store.
        Both keep its positions in logs, its batches and its namespaces.
    :param shards: number of shards; with ``"append"``, an existing store must have it.
    :param shard_by: see :func:`apply_patches`; with ``"overwrite"``, it may differ. Likewise the
        other parameters.
    :param version: the version that must be the newest one, such as the one that the DataFrame was
        read from.
    :raises CommitConflictError: ``version`` is not the newest one, or other writers committed
        first, in all attempts; nothing was changed.
    :raises JellyError: a row is not a statement that Oxigraph can store, or the root cannot be
        written; nothing was changed.
    """
    from .changes import FrameStatements

    if mode not in ("append", "overwrite"):
        raise ValueError(f"mode must be 'append' or 'overwrite' (got {mode!r})")
    if version is not None:
        whole_number("version", version)
    settings = Settings(
        shards=shards,
        shard_by=shard_by,
        application=application,
        batch=batch,
        query=_query(frame.sparkSession),
        create=create,
    )
    storage = storage_at(root, storage_options)
    replaces = mode == "overwrite"
    return apply(FrameStatements(frame), storage, settings, replaces=replaces, expected=version)


def apply(
    changes: Changes,
    storage: Storage,
    settings: Settings,
    *,
    replaces: bool = False,
    expected: int | None = None,
) -> Applied:
    """Apply changes as one version, and try again if another writer commits first.

    :param replaces: whether the store is emptied first; then its layout may change.
    :param expected: the version that must be the newest one; None for any.
    :raises CommitConflictError: other writers committed first, in all attempts.
    """
    shards, shard_by = (None, None) if replaces else (settings.shards, settings.shard_by)
    for left in reversed(range(RETRIES + 1)):
        before = begin(storage, shards, shard_by, create=settings.create)
        if expected not in (None, before.number):
            raise CommitConflictError(
                f"the newest version is {before.number}, not {expected}", source=storage.name
            )
        if _is_done(before, settings):
            return Applied(version=before.number)
        layout = before
        if replaces:
            layout = replace(
                before,
                shards=(Shard(),) * (settings.shards or len(before.shards)),
                shard_by=settings.shard_by or before.shard_by,
            )
        try:
            return _attempt(changes, storage, settings, before, layout)
        except CommitConflictError:
            if not left:
                raise
    raise AssertionError("unreachable")


def _attempt(
    changes: Changes, storage: Storage, settings: Settings, before: Version, layout: Version
) -> Applied:
    """Apply changes to a version.

    :param layout: the version, with the shards to change.
    :raises CommitConflictError: another writer has committed first.
    """
    numbered = settings.application is not None
    patches = changes.patches
    logs, start = resolve(patches, before.logs, check_prev=settings.check_prev, forget=numbered)
    new = patches[start:]
    changed: list[Changed] = []
    bound: list[Bound] = []
    try:
        if new:
            changed, bound = changes.change(storage, layout, start)
            storage.check(each.shard for each in changed)
    except JellyError:
        # A vacuum may have removed the stores of a version that is no longer the newest.
        if (now := newest(storage)) is not None and now.number != before.number:
            raise CommitConflictError("another writer has committed", source=storage.name) from None
        raise
    shards = list(layout.shards)
    for each in changed:
        shards[each.number] = each.shard
    after = replace(layout, shards=tuple(shards), logs=logs, namespaces=_namespaces(before, bound))
    applied = Applied(
        version=before.number,
        shards=sum(each.shard != layout.shards[each.number] for each in changed),
        added=sum(each.added for each in changed),
        deleted=sum(each.deleted for each in changed),
        patches=len(new),
        unnamed=sum(patch.id is None for patch in new),
        aborted=changes.aborted,
        held_back=changes.held_back,
    )
    # A batch without patches has no effect, whenever it is given again.
    if after == before and not (numbered and new):
        return applied
    after = replace(
        after, number=before.number + 1, batches=_batches(before, settings), restored=None
    )
    try:
        commit(storage, after)
    except CommitConflictError:
        storage.remove((), set(after.stored()).difference(before.stored()))
        raise
    return replace(applied, version=after.number, committed=True)


def _is_done(version: Version, settings: Settings) -> bool:
    """Return whether a batch was applied before.

    :raises CheckpointError: earlier batches are of another streaming query.
    """
    done = version.batches.get(settings.application or "")
    if done is None or settings.batch is None or settings.application is None:
        return False
    if None not in (done.query, settings.query) and done.query != settings.query:
        raise CheckpointError(
            f"the batches of application {settings.application!r} up to batch {done.number} are of "
            "another streaming query: its checkpoint was lost, or another query uses the same "
            "name. Continue with the original checkpoint, or use another application name"
        )
    return settings.batch <= done.number


def _batches(version: Version, settings: Settings) -> Mapping[str, Batch]:
    if settings.application is None or settings.batch is None:
        return version.batches
    return {**version.batches, settings.application: Batch(int(settings.batch), settings.query)}


def _namespaces(version: Version, changes: Iterable[Bound]) -> Mapping[str, Mapping[str, str]]:
    """Return the namespaces after changes."""
    namespaces = {graph: dict(names) for graph, names in version.namespaces.items()}
    for graph, name, iri in changes:
        names = namespaces.setdefault(graph, {})
        if iri is None:
            names.pop(name, None)
        else:
            names[name] = iri
    return {graph: names for graph, names in namespaces.items() if names}


def _is_frame(src: Any) -> bool:
    """Return whether a source is a DataFrame, without importing Spark."""
    if not hasattr(src, "sparkSession"):
        return False
    if src.isStreaming:
        raise OptionsError(
            "a streaming DataFrame is applied in batches: writeStream.foreachBatch(batch_sink(…))"
        )
    return True


def _query(spark: SparkSession) -> str | None:
    """Return the id of the streaming query that runs a batch in this thread; None if unknown.

    The query's checkpoint keeps the id, so that another id means another checkpoint.
    """
    from pyspark.errors import PySparkException

    try:
        found = spark.sparkContext.getLocalProperty(_QUERY)
    except PySparkException:
        # A session of Spark Connect has no context.
        return None
    return found if found is None else str(found)
