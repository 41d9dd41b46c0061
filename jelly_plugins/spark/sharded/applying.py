"""Apply patch logs to sharded stores with Spark: in one call, or batch by batch of a stream."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError, OptionsError
from ...io.sources import Source
from .batch import DEFAULT_RETRIES, Applied, BatchSettings, Stage, apply_batch, stage_sources
from .checks import text
from .commits import Commit, CommitLog, make_log
from .frames import ORDER_BY, stage_frame, stage_values
from .layout import ShardBy
from .replaying.position import Replayed
from .storage import AnyRoot, Storage, storage_at
from .tasks import on_spark

#: Sources of patches: logs in order, or a DataFrame of the format ``jelly-patch`` or of logs.
Patches: TypeAlias = Source | Sequence[Source] | DataFrame

#: The number of a stream's first batch.
_FIRST: Final = 0

#: Property with the id of a streaming query, which Spark sets in the threads that run it.
_QUERY: Final = "sql.streaming.queryId"


def apply_patches(
    spark: SparkSession,
    src: Patches,
    root: AnyRoot,
    *,
    column: str | None = None,
    order_by: Sequence[str] = ORDER_BY,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    application: str | None = None,
    batch: int | None = None,
    name: str | None = None,
    check_prev: bool = True,
    retries: int = DEFAULT_RETRIES,
    create: bool = True,
    checkpoint: str | None = None,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Applied:
    """Apply a log of patches to a sharded store, starting at the store's position in the log.

    The log becomes one new version of the store, atomically. Aborted transactions (TA) have no
    effect. An unfinished transaction at the end of the log is held back, and applied when a later
    call gives the log with the rest of the transaction. The store's position in the log is part of
    the version: applying the same log again does nothing, and applying a longer one continues.

    The driver reads logs and distributes their operations over files in the root. Each changed
    shard has one Spark task, which works on its own copy of the shard. Spark's tasks read and
    distribute a DataFrame. Memory does not grow with the log, except for some hundred bytes for
    each transaction of a DataFrame.

    A streaming DataFrame is read up to its current end, in batches, each of which becomes a
    version; another call continues from there. (See :func:`batch_sink` for a query that keeps
    running.)

    :param spark: the Spark session.
    :param src: a log, or several in order: paths, URLs, open binary files or bytes, with
        Jelly-Patch or RDF Patch text, compressed or not; or an unchanged DataFrame of
        ``spark.read.format("jelly-patch")`` or ``spark.readStream``; or, with ``column``, any
        DataFrame with a log in each row, such as the messages of Kafka.
    :param column: the column of logs in a DataFrame, a result of
        :func:`~jelly_plugins.spark.from_jelly_patch`. A log ends with the end of a transaction.
    :param order_by: with ``column``, the columns that identify a row, by default Kafka's. The last
        one is a number. The rows for which the others are equal must be in the order of their
        numbers, as messages from Kafka are. All logs together are one log, in the order of the
        rows.
    :param root: a folder that the driver and every executor can access under this path, or its
        ``file:`` URL, on a file system with hard links and atomic renames; or the URL of a folder
        in a bucket: ``s3://``, ``gs://``, ``az://``. Created if it does not exist; the bucket must
        exist.
    :param shards: number of shards of a new store, by default 16. For an existing store, its number
        of shards must be equal.
    :param shard_by: ``"subject"`` keeps the statements of a subject together, ``"graph"`` those of
        a named graph. By default subject.
    :param application: name of the program that numbers batches. Required for a streaming
        DataFrame; with ``batch``, each batch is applied exactly once.
    :param batch: number of the batch; a batch that is not above the application's last is skipped.
    :param name: name of the log in the store, see :func:`jelly_plugins.oxigraph.replay`.
    :param check_prev: whether to check that each patch follows the one that its ``prev`` names.
    :param retries: how often to retry with the staged log, if another writer commits a version
        meanwhile.
    :param create: whether to create the root if it does not exist. Pass False for an existing root:
        an unmounted file system looks like an empty folder.
    :param checkpoint: location of the checkpoint of a streaming DataFrame, as Spark names it; by
        default in the root, if that is a folder. Pass the same one in each call.
    :param metadata: a description of the new version, such as ``{"user": …, "reason": …}``, for the
        history. Metadata alone does not create a version.
    :param storage_options: settings and credentials of a bucket, see docs/sharded-store.md; missing
        ones come from the environment. They are sent to tasks, and stored nowhere.
    :param limits: limits for logs; data sources have their own options.
    :return: the new version, and numbers of what was applied.
    :raises CommitConflictError: another writer committed first in all attempts. Nothing was
        applied; the call can be repeated.
    :raises ChainError: a patch does not follow the one before it, or the log does not follow what
        was applied; nothing was applied.
    :raises CheckpointError: earlier batches of the application are of another streaming query: its
        checkpoint was lost, so that numbers are used again for other data; or a batch with this
        number was applied from another log with ids.
    :raises IncompleteLogError: rows or files of a DataFrame are missing, duplicated or reordered;
        or it has no rows, see docs/spark-options.md.
    :raises RootError: the root has another layout, is not a root, or is not the same folder on the
        executors; or it does not exist, with ``create=False``.
    :raises StorageError: an object store cannot be reached, or rejects a request.
    :raises JellyError: the log cannot be read, or has data that Oxigraph cannot store; nothing was
        applied.
    """
    streams = isinstance(src, DataFrame) and src.isStreaming
    if checkpoint is not None:
        checkpoint = text("checkpoint", checkpoint)
    if streams and (batch is not None or application is None):
        raise ValueError(
            "a streaming DataFrame requires application, and numbers its batches itself: omit batch"
        )
    settings = BatchSettings(
        shards=shards,
        shard_by=shard_by,
        application=application,
        batch=_FIRST if streams else batch,
        log=name,
        check_prev=check_prev,
        retries=retries,
        create=create,
        metadata=metadata,
    )
    storage = storage_at(root, storage_options)
    stage = _stage_of(column, order_by, continues=application is not None)
    if not isinstance(src, DataFrame):
        if column is not None:
            raise ValueError("column requires a DataFrame")
        logs: Any = src if isinstance(src, list | tuple) else [src]
        return _apply(spark, stage_sources(logs, limits), storage, settings)
    if streams:
        return _drain(src, stage, storage, settings, checkpoint)
    return _apply(spark, stage(src), storage, settings)


def batch_sink(
    root: AnyRoot,
    *,
    application: str,
    column: str | None = None,
    order_by: Sequence[str] = ORDER_BY,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    check_prev: bool = True,
    retries: int = DEFAULT_RETRIES,
    create: bool = True,
    on_applied: Callable[[Applied], object] | None = None,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``DataStreamWriter.foreachBatch`` that applies each batch exactly
    once::

        (
            spark.readStream.format("jelly-patch").load("logs/")
            .writeStream.foreachBatch(batch_sink("/shared/people", application="people"))
            .option("checkpointLocation", "/shared/checkpoint")
            .start()
        )

    :param application: name of the query; use another one for each checkpoint.
    :param on_applied: called with the result of each batch.

    See :func:`apply_patches` for the other parameters. A batch must end with the end of a
    transaction; batches of files whose patches all end do. For patches in messages of Kafka, pass
    ``column="patch"`` to apply batches of::

        messages.select("topic", "partition", "offset", from_jelly_patch("value").alias("patch"))

    :raises RootError: the root's path or URL is not valid. Its contents are checked with each
        batch.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if on_applied is not None and not callable(on_applied):
        raise TypeError(f"on_applied must be callable (got {on_applied!r})")
    settings = BatchSettings(
        shards=shards,
        shard_by=shard_by,
        application=text("application", application),
        batch=_FIRST,
        check_prev=check_prev,
        retries=retries,
        create=create,
        metadata=metadata,
    )
    stage = _stage_of(column, order_by, continues=True)
    return _sink(stage, storage_at(root, storage_options), settings, on_applied)


def _stage_of(
    column: str | None, order_by: Sequence[str], *, continues: bool
) -> Callable[[DataFrame], Stage]:
    """Return the function that stages a DataFrame.

    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if column is None:
        return partial(stage_frame, continues=continues)
    if isinstance(order_by, str):
        raise TypeError(f"order_by must be a list of names of columns (got {order_by!r})")
    names = tuple(text("order_by", name) for name in order_by)
    if not names:
        raise ValueError("order_by must name at least one column")
    return partial(stage_values, column=text("column", column), order_by=names)


def _sink(
    stage: Callable[[DataFrame], Stage],
    storage: Storage,
    settings: BatchSettings,
    on_applied: Callable[[Applied], object] | None,
) -> Callable[[DataFrame, int], None]:
    """See :func:`batch_sink`."""

    def sink(frame: DataFrame, batch: int) -> None:
        numbered = replace(settings, batch=batch)
        applied = _apply(frame.sparkSession, stage(frame), storage, numbered)
        if on_applied is not None:
            on_applied(applied)

    return sink


def _apply(spark: SparkSession, stage: Stage, storage: Storage, settings: BatchSettings) -> Applied:
    if settings.application is not None:
        settings = replace(settings, query=_query(spark))
    return apply_batch(stage, on_spark(spark), storage.everywhere(), settings)


def _query(spark: SparkSession) -> str | None:
    """Return the id of the streaming query that runs a batch in this thread; None if unknown.

    The query's checkpoint keeps the id, so another id means another checkpoint.
    """
    try:
        found = spark.sparkContext.getLocalProperty(_QUERY)
    except PySparkException:
        # A session of Spark Connect has no context.
        return None
    return found if found is None else str(found)


def _drain(
    frame: DataFrame,
    stage: Callable[[DataFrame], Stage],
    storage: Storage,
    settings: BatchSettings,
    checkpoint: str | None,
) -> Applied:
    """Apply all data that a stream has now."""
    application = settings.application or ""
    log, before = make_log(storage, settings.shards, settings.shard_by, create=settings.create)
    own = storage.checkpoint(application) if checkpoint is None else None
    # Spark takes the name literally, whether escaped or not.
    place = checkpoint if own is None else f"file://{own}"
    if place is None:
        raise OptionsError(
            "a root in an object store cannot contain the checkpoint of a stream: pass checkpoint, "
            "a folder that Spark can write to",
            source=storage.name,
        )
    if own is not None and application not in {*before.applications, *before.undone}:
        # Spark cannot continue from the checkpoint of a stream that was killed in its first batch.
        shutil.rmtree(own, ignore_errors=True)
    applied: list[Applied] = []
    errors: list[JellyError] = []
    # make_log has created the root.
    sink = _sink(stage, storage, replace(settings, create=False), applied.append)

    def guarded(batch: DataFrame, number: int) -> None:
        try:
            sink(batch, number)
        except JellyError as error:
            errors.append(error)
            raise

    writing = frame.writeStream.foreachBatch(guarded).option("checkpointLocation", place)
    query = None
    try:
        query = writing.trigger(availableNow=True).start()
        query.awaitTermination()
    except (PySparkException, Py4JJavaError) as error:
        if errors:
            raise errors[0] from error
        message = f"the streaming query failed: {error}"
        if application not in log.head().applications:
            message += (
                f"; application {application!r} has applied nothing: if a query was killed before "
                f"its first batch, remove its checkpoint, {place}"
            )
        raise JellyError(message) from error
    finally:
        if query is not None:
            query.stop()
    return _together(applied, log, before, application)


def _together(
    applied: Iterable[Applied], log: CommitLog, before: Commit, application: str
) -> Applied:
    """Combine the results of several batches.

    The commits determine whether a batch was applied: with Spark Connect, batches are applied on
    the server, and their results are not available here.
    """
    head = log.head()
    total = Replayed()
    shards = 0
    for each in applied:
        done = each.replayed
        total.position = done.position or total.position
        for counted in ("patches", "transactions", "operations", "aborted", "skipped"):
            setattr(total, counted, getattr(total, counted) + getattr(done, counted))
        shards = max(shards, each.shards)
    return Applied(
        version=head.version,
        committed=head.applications.get(application) != before.applications.get(application),
        shards=shards,
        replayed=total,
    )
