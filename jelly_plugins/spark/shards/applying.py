"""Apply patches to a sharded store, and write DataFrames of statements: each call is one version.

The steps of a call, each of which may end it without harm: find the newest version, find out what
is new to it, make the new stores of the shards that change, and create the file of the next
version. If another writer has created that first, all steps are repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError, OptionsError
from ...io.sources import Source
from ...notebook import Shown
from .changes import Changes, local_changes, resolve
from .root import (
    Batch,
    CheckpointError,
    CommitConflictError,
    Shard,
    ShardBy,
    Storage,
    Version,
    begin,
    check_layout,
    commit,
    newest,
    whole_number,
)
from .store import AnyRoot, storage_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: A log of patches: files in order, or a DataFrame of the format ``jelly-patch``.
Patches: TypeAlias = "Source | Sequence[Source] | DataFrame"

#: How often to try again after another writer has committed first.
RETRIES: Final = 10
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


class ApplyOptions(TypedDict, total=False):
    """The fields of :class:`ApplySettings`, as keyword arguments."""

    shards: int | None
    shard_by: ShardBy | None
    check_prev: bool
    storage_options: Mapping[str, Any] | None
    application: str | None
    batch: int | None
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplySettings:
    """Settings for applying patches to a sharded store.

    :ivar shards: number of shards of a new store, by default 16. An existing store must have it.
    :ivar shard_by: ``"subject"`` keeps the statements of a subject together, ``"graph"`` those of
        a named graph; by default subject. An existing store must have it.
    :ivar application: name of the program that numbers batches; with ``batch``, each batch is
        applied once. A batch must end with the end of a transaction.
    :ivar batch: number of the batch, which is greater than that of the one before.
    :ivar check_prev: whether to check that each patch follows the one that its ``prev`` names.
    :ivar storage_options: settings and credentials of a bucket, see docs/buckets.md; missing ones
        come from the environment. They are sent to tasks, and stored nowhere.
    :ivar limits: limits for logs; data sources have their own options.
    """

    shards: int | None = None
    shard_by: ShardBy | None = None
    application: str | None = None
    batch: int | None = None
    check_prev: bool = True
    storage_options: Mapping[str, Any] | None = None
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        if (self.application is None) is not (self.batch is None):
            raise ValueError("application and batch must be given together")
        if self.application is not None and not isinstance(self.application, str):
            raise TypeError(f"application must be a str (got {self.application!r})")
        if self.batch is not None:
            object.__setattr__(self, "batch", whole_number("batch", self.batch))
        check_layout(self.shards, self.shard_by)


def apply_patches(
    spark: SparkSession | None, src: Patches, root: AnyRoot, **settings: Unpack[ApplyOptions]
) -> Applied:
    """Apply a log of patches to a sharded store, as one version.

    What was applied before is skipped: patches with ids (``id``, ``prev``) up to the last one that
    was applied, and a batch whose number is not above the application's last one. Patches without
    an id, and without a batch number, are applied again. Aborted transactions do not count. Neither
    does an unfinished one at the end of a log; Spark's data source rejects such a file. RDF has set
    semantics: the last operation on each quad counts.

    :param spark: the Spark session that does the work; None for this process, which
        is faster for logs of up to some million operations, and is used for bytes and open files.
    :param src: a log, or several files of one in order: paths, URLs, open binary files or bytes,
        with Jelly-Patch or RDF Patch text, compressed or not. With ``spark``, also a DataFrame with
        the columns of ``spark.read.format("jelly-patch")``. Its files are in the order of their
        names in the column ``source``, with numbers compared as numbers.
    :param root: a folder, which the driver and every executor access under this path, on a file
        system with hard links; or the URL of a folder in a bucket: ``s3://``, ``gs://``, ``az://``.
        The store is created if it does not exist.
    :param settings: see :class:`ApplySettings`.
    :return: the version, and what was applied.
    :raises ChainError: a patch does not follow the one before it, or the log does not follow what
        was applied; nothing was applied.
    :raises CheckpointError: earlier batches of the application are of another streaming query.
    :raises CommitConflictError: other writers committed first, in all attempts; nothing was
        applied.
    :raises RootError: the root has another layout, is a folder of other files, or cannot be read or
        written.
    :raises JellyError: the log cannot be read, or has data that Oxigraph cannot store; nothing was
        applied.
    """
    wanted = ApplySettings(**settings)
    application, batch = wanted.application, wanted.batch
    frame: Any = src if hasattr(src, "sparkSession") else None
    if frame is not None and frame.isStreaming:
        raise OptionsError(
            "a streaming DataFrame is applied in batches: writeStream.foreachBatch(batch_sink(…))"
        )
    logs: Any = src if isinstance(src, list | tuple) else [src]
    session: Any = None if frame is None else frame.sparkSession
    if session is None and logs and all(isinstance(log, str | os.PathLike) for log in logs):
        session = spark
    query = None if session is None else _query(session)
    shards, shard_by = wanted.shards, wanted.shard_by
    storage = storage_at(root, wanted.storage_options)
    # Before the log is read.
    version = begin(storage, shards, shard_by)
    if _is_done(version, application, batch, query):
        return Applied(version=version.number)
    if session is None:
        reading = local_changes(logs, version, whole=batch is not None, limits=wanted.limits)
    else:
        from .frames import frame_changes, rows_of, rows_of_paths

        rows = rows_of_paths(session, logs) if frame is None else rows_of(frame)
        reading = frame_changes(rows)

    def attempt(changes: Changes) -> Applied:
        before = begin(storage, shards, shard_by)
        same = (len(before.shards), before.shard_by) == (len(version.shards), version.shard_by)
        if session is None and not same:
            # The operations are sorted for the shards of that version.
            raise CommitConflictError(
                "another writer has created the store, or changed its shards", source=storage.name
            )
        if _is_done(before, application, batch, query):
            return Applied(version=before.number)
        batches = dict(before.batches)
        if application is not None and batch is not None:
            batches[application] = Batch(batch, query)
        return _commit(changes, storage, before, before, batches, wanted.check_prev)

    with reading as changes:
        return _repeated(lambda: attempt(changes))


def batch_sink(
    root: AnyRoot,
    *,
    application: str,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    check_prev: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``DataStreamWriter.foreachBatch`` that applies each batch once::

        (
            spark.readStream.format("jelly-patch").load("logs/")
            .writeStream.foreachBatch(batch_sink("/shared/people", application="people"))
            .option("checkpointLocation", "/shared/checkpoint")
            .start()
        )

    A message of Kafka with a log has its place in the stream as ``source``::

        place = concat_ws("/", "topic", "partition", "offset")
        log = explode(from_jelly_patch("value"))
        messages.select(place.alias("source"), log.alias("row")).select("source", "row.*")

    :param application: name of the query; use another one for each checkpoint.
    :param shards: see :class:`ApplySettings`, and for the other settings.
    :raises RootError: the root's path or URL is not valid. Its contents are checked with each
        batch.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    ApplySettings(application=application, batch=0, shards=shards, shard_by=shard_by)
    # The connection to a bucket is reused.
    storage: Any = storage_at(root, storage_options)

    def sink(frame: DataFrame, number: int) -> None:
        apply_patches(
            frame.sparkSession,
            frame,
            storage,
            application=application,
            batch=number,
            shards=shards,
            shard_by=shard_by,
            check_prev=check_prev,
        )

    return sink


def write_shards(
    frame: DataFrame,
    root: AnyRoot,
    *,
    mode: str = "append",
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    version: int | None = None,
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
    :param shard_by: see :func:`apply_patches`; with ``"overwrite"``, it may differ. Likewise
        ``storage_options``.
    :param version: the version that must be the newest one, such as the one that the DataFrame was
        read from.
    :raises CommitConflictError: ``version`` is not the newest one, or other writers committed
        first, in all attempts; nothing was changed.
    :raises JellyError: a row is not a statement that Oxigraph can store, or the root cannot be
        written; nothing was changed.
    """
    from .frames import statement_changes

    if mode not in ("append", "overwrite"):
        raise ValueError(f"mode must be 'append' or 'overwrite' (got {mode!r})")
    if version is not None:
        whole_number("version", version)
    check_layout(shards, shard_by)
    storage = storage_at(root, storage_options)
    changes = statement_changes(frame)

    def attempt() -> Applied:
        if mode == "append":
            before = layout = begin(storage, shards, shard_by)
        else:
            before = begin(storage, None, None)
            layout = replace(
                before,
                shards=(Shard(),) * (shards or len(before.shards)),
                shard_by=shard_by or before.shard_by,
            )
        if version not in (None, before.number):
            raise CommitConflictError(
                f"the newest version is {before.number}, not {version}", source=storage.name
            )
        return _commit(changes, storage, before, layout, before.batches, True)

    return _repeated(attempt)


def _repeated(attempt: Callable[[], Applied]) -> Applied:
    """Try again if another writer commits first."""
    for _ in range(RETRIES):
        try:
            return attempt()
        except CommitConflictError:
            continue
    return attempt()


def _commit(
    changes: Changes,
    storage: Storage,
    before: Version,
    layout: Version,
    batches: Mapping[str, Batch],
    check_prev: bool,
) -> Applied:
    """Make the version after ``before``.

    :param layout: that version, with the shards to change.
    :param batches: the last batches after it.
    """
    numbered = batches != before.batches
    logs, start = resolve(changes.patches, before.logs, check_prev=check_prev, forget=numbered)
    new = changes.patches[start:]
    shards = list(layout.shards)
    namespaces = {graph: dict(names) for graph, names in before.namespaces.items()}
    added = deleted = 0
    try:
        made, bound = changes.change(storage, layout, start) if new else ([], [])
        storage.check(
            (each.shard for each in made),
            "was written by a task, and is not here: the driver and every executor must be able "
            "to access the root under the same path",
        )
    except JellyError:
        # A vacuum may have removed the stores of a version that is no longer the newest.
        if (now := newest(storage)) is not None and now.number != before.number:
            raise CommitConflictError("another writer has committed", source=storage.name) from None
        raise
    for each in made:
        shards[each.number] = each.shard
        added += each.added
        deleted += each.deleted
    for graph, name, iri in bound:
        names = namespaces.setdefault(graph, {})
        names.pop(name, None)
        if iri is not None:
            names[name] = iri
    namespaces = {graph: names for graph, names in namespaces.items() if names}
    after = replace(layout, shards=tuple(shards), logs=logs, namespaces=namespaces)
    applied = Applied(
        version=before.number,
        shards=sum(shards[each.number] != layout.shards[each.number] for each in made),
        added=added,
        deleted=deleted,
        patches=len(new),
        unnamed=sum(patch.id is None for patch in new),
        aborted=changes.aborted,
        held_back=changes.held_back,
    )
    # A batch without patches has no effect, whenever it is given again.
    if after == before and not (numbered and new):
        return applied
    try:
        made_version = commit(storage, before, replace(after, batches=batches, restored=None))
    except CommitConflictError:
        storage.remove(set(after.stored()).difference(before.stored()))
        raise
    return replace(applied, version=made_version.number, committed=True)


def _is_done(
    version: Version, application: str | None, batch: int | None, query: str | None
) -> bool:
    """Return whether a batch was applied before."""
    done = None if application is None else version.batches.get(application)
    if done is None or batch is None:
        return False
    if None not in (done.query, query) and done.query != query:
        raise CheckpointError(
            f"the batches of application {application!r} up to batch {done.number} are of another "
            "streaming query: its checkpoint was lost, or another query uses the same name. "
            "Continue with the original checkpoint, or use another application name"
        )
    return batch <= done.number


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
