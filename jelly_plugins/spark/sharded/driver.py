"""Patch logs into sharded stores with Spark: in one call, or batch by batch of a stream."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError, OptionsError
from ...io.sources import Source
from ...patch.replay.position import Replayed
from .apply import DEFAULT_RETRIES, Applied, Settings, Staging, apply_batch, stage_sources
from .commits import Commit, CommitLog, make_log
from .frames import stage_frame
from .layout import ShardBy
from .settings import text
from .storage import AnyRoot, Storage, storage_at
from .tasks import on_spark

#: What patches can be read from: logs in their order, or a DataFrame of the format ``jelly-patch``.
Patches: TypeAlias = Source | Sequence[Source] | DataFrame

#: The number of a stream's first batch.
_FIRST: Final = 0

#: What Spark says of a streaming query in the threads that run it.
_QUERY: Final = "sql.streaming.queryId"


def apply_patches(
    spark: SparkSession,
    src: Patches,
    root: AnyRoot,
    *,
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
    """Apply a log of patches to a sharded store, from where the store stands in it.

    All of it becomes one new version of the store, or nothing does. Transactions that are aborted
    (TA) leave nothing, and one that the log does not end is held back: it is applied once the log
    is given again and has its end. The store's position in the log is part of the version, so that
    applying the same log again does nothing, and a longer one continues.

    Logs are read by the driver, which spreads their operations over files in the root; each shard
    has one Spark task, which works on a copy of its own. A DataFrame is read, and spread, by
    Spark's tasks. Nothing of it takes memory that grows with the log, but for some hundred bytes
    for each transaction of a DataFrame.

    A streaming DataFrame is read as far as there is something now, in batches, each of which
    becomes a version; another call continues from there. (See :func:`batch_sink` for a query that
    goes on.)

    :param src: a log, or several in their order: paths, URLs, open binary files or bytes,
        Jelly-Patch or RDF Patch text, compressed or not; or what
        ``spark.read.format("jelly-patch")`` or ``spark.readStream`` give, as it is.
    :param root: a folder that the driver and every executor see under this path, or its ``file:``
        URL, on a file system with hard links and whole renames; or the URL of a folder in a bucket:
        ``s3://``, ``gs://``, ``az://``. Made if it is not there, but for the bucket.
    :param shards: number of shards of a new store, by default 16; of an existing one if given.
    :param shard_by: ``"subject"`` keeps the statements of a subject together, ``"graph"`` those of
        a named graph. By default subject.
    :param application: name of whoever numbers batches; needed for a streaming DataFrame, and makes
        a ``batch`` happen once.
    :param batch: number of the batch; one that is not above the application's last is passed over.
    :param name: what the store calls the log, see :func:`jelly_plugins.oxigraph.replay`.
    :param check_prev: whether a patch that names the one before it must come after that one.
    :param retries: how often to begin again, with what was staged, if another writer has made a
        version meanwhile.
    :param create: whether the root is made if it is not there. Where it has been made already, say
        no: of a mount that is away nothing but an empty folder is left.
    :param checkpoint: where Spark keeps the checkpoint of a streaming DataFrame, as it calls the
        place; by default in the root, if that is a folder. The same one in each call.
    :param metadata: what is to be said of the new version, such as ``{"user": …, "reason": …}``:
        its history shows it. Alone, it makes no version.
    :param storage_options: settings and credentials of a bucket, see docs/sharded-store.md; what
        they lack, the environment says. Tasks are sent them; nothing else has them.
    :param limits: what is believed of logs; data sources have options of their own.
    :raises CommitConflictError: another writer was faster as often as that. Nothing was applied,
        and the call may be made again.
    :raises ChainError: a patch does not follow the one before it, or the log not what was applied;
        nothing was.
    :raises CheckpointError: the application's batches came from another streaming query so far:
        its checkpoint was lost, and it numbers other data alike; or a batch of this number was
        applied, and this one is of another log with ids.
    :raises IncompleteLogError: rows or files of a DataFrame are missing, doubled or in another
        order than that in which they were read; or it has no rows, see docs/spark-options.md.
    :raises RootError: the root has another layout or is none, or is not the same folder for the
        executors; or it is not there, with ``create=False``.
    :raises StorageError: an object store is not reached, or refuses.
    :raises JellyError: the log cannot be read, or says what Oxigraph cannot hold; nothing was
        applied.
    """
    streams = isinstance(src, DataFrame) and src.isStreaming
    if checkpoint is not None:
        checkpoint = text("checkpoint", checkpoint)
    if streams and (batch is not None or application is None):
        raise ValueError(
            "a streaming DataFrame needs an application, and numbers its batches itself"
        )
    settings = Settings(
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
    if not isinstance(src, DataFrame):
        logs: Any = src if isinstance(src, list | tuple) else [src]
        return _apply(spark, stage_sources(logs, limits), storage, settings)
    if streams:
        return _drain(src, storage, settings, checkpoint)
    return _apply(spark, stage_frame(src, continues=application is not None), storage, settings)


def batch_sink(
    root: AnyRoot,
    *,
    application: str,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    check_prev: bool = True,
    retries: int = DEFAULT_RETRIES,
    create: bool = True,
    on_applied: Callable[[Applied], object] | None = None,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Callable[[DataFrame, int], None]:
    """What ``DataStreamWriter.foreachBatch`` takes to apply patches, each batch exactly once::

        (
            spark.readStream.format("jelly-patch").load("logs/")
            .writeStream.foreachBatch(batch_sink("/shared/people", application="people"))
            .option("checkpointLocation", "/shared/checkpoint")
            .start()
        )

    :param application: name of the query: another one for each checkpoint.
    :param on_applied: told what each batch has done.

    See :func:`apply_patches` for the others. A batch has to end with the end of a transaction: a
    file with an end for each patch that it begins is read as such.

    :raises RootError: no root can be there. What is in it is looked at with each batch.
    :raises TypeError, ValueError: a setting is of another type, or out of range.
    """
    if on_applied is not None and not callable(on_applied):
        raise TypeError(f"on_applied is {on_applied!r}, which is not callable")
    settings = Settings(
        shards=shards,
        shard_by=shard_by,
        application=text("application", application),
        batch=_FIRST,
        check_prev=check_prev,
        retries=retries,
        create=create,
        metadata=metadata,
    )
    return _sink(storage_at(root, storage_options), settings, on_applied)


def _sink(
    storage: Storage,
    settings: Settings,
    on_applied: Callable[[Applied], object] | None,
) -> Callable[[DataFrame, int], None]:
    """See :func:`batch_sink`."""

    def sink(frame: DataFrame, batch: int) -> None:
        stage = stage_frame(frame, continues=True)
        applied = _apply(frame.sparkSession, stage, storage, replace(settings, batch=batch))
        if on_applied is not None:
            on_applied(applied)

    return sink


def _apply(spark: SparkSession, stage: Staging, storage: Storage, settings: Settings) -> Applied:
    if settings.application is not None:
        settings = replace(settings, query=_query(spark))
    return apply_batch(stage, on_spark(spark), storage.everywhere(), settings)


def _query(spark: SparkSession) -> str | None:
    """The streaming query whose batch is at work in this thread, if it is known.

    Its id is kept in its checkpoint: another one means another checkpoint.
    """
    try:
        found = spark.sparkContext.getLocalProperty(_QUERY)
    except PySparkException:
        # A session of Spark Connect has no context.
        return None
    return found if found is None else str(found)


def _drain(
    frame: DataFrame, storage: Storage, settings: Settings, checkpoint: str | None
) -> Applied:
    """Apply all that a stream has now."""
    application = settings.application or ""
    log = make_log(storage, settings.shards, settings.shard_by, create=settings.create)
    own = storage.checkpoint(application) if checkpoint is None else None
    # Spark takes a name as it is, escaped or not.
    place = checkpoint if own is None else f"file://{own}"
    if place is None:
        raise OptionsError(
            "a root in an object store cannot hold the checkpoint of a stream: give checkpoint=, "
            "a folder that Spark can write to",
            source=storage.name,
        )
    before = log.head()
    if own is not None and application not in {*before.applications, *before.undone}:
        # A stream that was killed before its first batch has left what Spark cannot go on from.
        shutil.rmtree(own, ignore_errors=True)
    applied: list[Applied] = []
    errors: list[JellyError] = []
    # It is there now.
    sink = _sink(storage, replace(settings, create=False), applied.append)

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
                f"; nothing was applied by application {application!r}: if a query was killed "
                f"before its first batch, remove its checkpoint, {place}"
            )
        raise JellyError(message) from error
    finally:
        if query is not None:
            query.stop()
    return _together(applied, log, before, application)


def _together(
    applied: Iterable[Applied], log: CommitLog, before: Commit, application: str
) -> Applied:
    """What several batches have done.

    Whether they have, the commits say: with Spark Connect, batches are applied in the server, and
    what each of them has done is not known here.
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
