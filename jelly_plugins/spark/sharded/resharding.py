"""Change the number of shards in one new version, by moving quads to their new shards.

A task for each old shard stages its quads, as those of a write are staged, and a task for each new
shard makes its store of what is staged for it. Nothing is visible before the commit: a task may
fail or run twice, and a vacuum removes what it leaves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from .batch import BatchSettings, Runner, overtaken, writing
from .checks import metadata_of, whole_number
from .commits import Commit, open_log
from .errors import RootError, of_shard
from .layout import MAX_SHARDS
from .processes import on_driver, run_in_processes
from .scanning import EVERYTHING, reading, scan
from .statements import Part, StoreWrite
from .storage import AnyRoot, storage_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The work of a task that stages the quads of an old shard.

    :ivar write: receives them.
    :ivar version: the old version.
    :ivar shard: number of the old shard.
    :ivar store: its store, with the checksum of the list of its files.
    """

    write: StoreWrite
    version: int
    shard: int
    store: tuple[str, str]


def reshard(
    root: AnyRoot,
    shards: int,
    spark: SparkSession | None = None,
    *,
    processes: int = 1,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Commit:
    """Change the number of shards of a sharded store, in one new version with the same quads.

    Positions in logs, batches of applications and namespaces are kept. Earlier versions do not
    change. If a batch is applied meanwhile, the writer that commits second fails.

    :param root: root of the store, see :class:`.ShardedStore`.
    :param shards: the new number of shards.
    :param spark: runs the tasks. Without it, they run on this machine.
    :param processes: number of processes for tasks without Spark. With more than one, the main
        module must guard its code with ``if __name__ == "__main__"``.
    :param metadata: a description of the new version, see :func:`.apply_patches`.
    :param storage_options: settings and credentials of a bucket, see :class:`.ShardedStore`.
    :return: the new version; the newest one, if it has as many shards.
    :raises CommitConflictError: another writer has committed a version meanwhile. Nothing was
        changed.
    :raises RootError: the store does not exist, or is damaged.
    :raises TypeError, ValueError: a number is invalid or out of range.
    """
    wanted = whole_number("shards", shards, 1, MAX_SHARDS)
    processes = whole_number("processes", processes, 1)
    metadata = metadata_of(metadata)
    storage = storage_at(root, storage_options).everywhere()
    log = open_log(storage)
    head = log.head()
    layout = log.layout_of(head)
    if layout.shards == wanted:
        return head
    assert head.shards is not None
    attempt = storage.attempt(uuid4().hex)
    write = StoreWrite(
        storage=storage,
        settings=BatchSettings(metadata=metadata),
        replaces=True,
        layout=replace(layout, shards=wanted),
        attempt=attempt,
    )
    works = [
        Work(write=write, version=head.version, shard=number, store=shard.named)
        for number, shard in enumerate(head.shards)
        if shard.named is not None
    ]
    with writing(storage):
        try:
            attempt.begin()
            with overtaken(log, head):
                parts = _staged(works, spark, processes)
            moved = sum(part.operations for part in parts)
            if moved != head.quads:
                raise RootError(
                    f"the shards have {moved} quads, but the commit has {head.quads}: verify the "
                    "store for details",
                    source=storage.name,
                )
            batch = write.batch(log, parts, moves=True)
            version = batch.apply(head, _runner(spark, processes)).version
        finally:
            attempt.end()
    return log.read(version)


def stage(work: Work) -> Part:
    """Stage the quads of an old shard; runs in a task.

    :raises RootError: its store cannot be read.
    """
    with (
        of_shard(work.version, work.shard),
        reading(work.write.storage, *work.store) as store,
    ):
        quads = ((batch, np.ones(batch.num_rows, np.uint8)) for batch in scan(store, EVERYTHING))
        part = work.write.stage(work.shard, quads)
    assert part is not None
    return part


def _staged(works: Sequence[Work], spark: SparkSession | None, processes: int) -> list[Part]:
    if spark is None:
        return list(run_in_processes(stage, works, processes))
    from .tasks import run_each

    return [Part(**each) for each in run_each(spark, works, lambda work: stage(work)._asdict())]


def _runner(spark: SparkSession | None, processes: int) -> Runner:
    if spark is None:
        return on_driver(processes)
    from .tasks import on_spark

    return on_spark(spark)
