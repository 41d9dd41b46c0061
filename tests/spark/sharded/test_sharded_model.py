"""Random logs, whole and mangled, through DataFrames and streams: as the model, or rejected."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import xxhash
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import JellyError
from jelly_plugins.spark import ShardedStore, apply_patches
from jelly_plugins.spark.datasource.batches import read_partition
from jelly_plugins.spark.datasource.operations import OPERATIONS
from jelly_plugins.spark.datasource.schema import arrow_schema, patch_schema
from jelly_plugins.spark.datasource.settings import ReadSettings
from jelly_plugins.spark.datasource.splits import FileSplit, numbered
from jelly_plugins.spark.sharded.batch import BatchSettings, Staged, apply_batch
from jelly_plugins.spark.sharded.completeness import Segments
from jelly_plugins.spark.sharded.frames import COLUMNS, stage_partition, staged_partitions
from jelly_plugins.spark.sharded.layout import Root
from jelly_plugins.spark.sharded.storage import AnyRoot, Attempt, storage_at

from .here import run_here
from .model import Log, mangled, random_log

SHARDS = (1, 4, 16)


def assert_right(root: AnyRoot, log: Log, applied: bool, how: str) -> None:
    """The store has the whole log, or nothing."""
    store = ShardedStore(root)
    found = set(store)
    assert len(found) == len(store)
    if not applied:
        assert store.version == 0, how
    else:
        assert found == log.quads(), how
    assert store.verify() == []


def table(paths: list[Path], about: bool) -> pa.Table:
    settings = ReadSettings.of({"headers": str(about)})
    schema = arrow_schema(patch_schema(settings))
    splits = [split for split, _ in numbered([[(FileSplit(str(path)), 0)] for path in paths])]
    rows = pa.Table.from_batches(read_partition(splits, settings, schema, OPERATIONS.read), schema)
    sources = [xxhash.xxh32_intdigest(each.encode()) for each in rows["source"].to_pylist()]
    return rows.set_column(0, "source", pa.array(sources, pa.int64())).select(list(COLUMNS))


@pytest.mark.usefixtures("kind")
def test_logs_as_rows(tmp_path: Path) -> None:
    counted = logs_as_rows(tmp_path, range(24))
    assert counted["whole: equal"] > 4


@pytest.mark.slow
def test_300_logs_as_rows(tmp_path: Path) -> None:
    counted = logs_as_rows(tmp_path, range(300))
    print(*sorted(counted.items()), sep="\n")
    assert counted["shuffled: rejected"] > 20


def logs_as_rows(
    tmp_path: Path,
    seeds: range,
    place: Callable[[Path], AnyRoot] = lambda folder: folder / "root",
) -> Counter[str]:
    """As tasks and driver do it, in this process.

    :param place: the root for a log that is in a folder.
    """
    counted: Counter[str] = Counter()
    for seed in seeds:
        pick = random.Random(-seed)
        log = random_log(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        rows = table(log.write(folder), pick.random() < 0.5)
        how, parts = mangled(len(rows), pick) if len(rows) else ("whole", [[]])

        def stage(
            staging: Attempt, layout: Root, rows: pa.Table = rows, parts: list[list[int]] = parts
        ) -> Staged:
            texts = [
                text
                for number, part in enumerate(parts)
                for batch in stage_partition(
                    staging,
                    layout,
                    number,
                    rows.take(pa.array(part, pa.int64())).to_batches(max_chunksize=17),
                    Segments(),
                )
                for text in batch["row"].to_pylist()
            ]
            return staged_partitions(texts, continues=False)

        root = place(folder)
        reason = ""
        try:
            settings = BatchSettings(shards=pick.choice(SHARDS))
            apply_batch(stage, run_here, storage_at(root), settings)
        except JellyError as error:
            reason = str(error)
        applied = not reason
        # Partitions were cut anywhere.
        assert applied or how != "whole" or "is in several partitions" in reason
        counted[f"{how}: {'equal' if applied else 'rejected'}"] += 1
        assert_right(root, log, applied, how)
    return counted


def _frame(spark: SparkSession, folder: Path, how: str, pick: random.Random) -> DataFrame:
    reader = spark.read.format("jelly-patch").option("headers", pick.choice(["true", "false"]))
    frame = reader.option("maxPartitionBytes", pick.choice(["1", "32m"])).load(str(folder))
    if how == "shuffled":
        return frame.repartition(2, "subject")
    if how == "doubled":
        return frame.union(frame)
    if how == "filtered":
        return frame.sample(0.7, seed=1)
    if how == "limited":
        return frame.limit(pick.randrange(1, 40))
    if how == "files missing":
        return frame.filter(f"source NOT LIKE '%log-{pick.randrange(2)}.rdfp'")
    if how == "sorted back":
        return frame.repartition(2, "object").sort("patch", "order")
    return frame


WAYS = (
    *("whole", "stream", "shuffled", "doubled", "filtered", "limited", "files missing"),
    *("sorted back", "stream"),
)


def _logs_through_spark(spark: SparkSession, tmp_path: Path, seeds: range) -> Counter[str]:
    counted: Counter[str] = Counter()
    for seed in seeds:
        pick = random.Random(seed)
        log = random_log(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        paths = log.write(folder)
        how = WAYS[seed % len(WAYS)]
        if how == "sorted back" and len(paths) > 1:
            how = "shuffled"
        root = tmp_path / f"root-{seed}"
        shards = SHARDS[seed // len(WAYS) % len(SHARDS)]
        applied = True
        try:
            if how == "stream":
                stream = spark.readStream.format("jelly-patch")
                most = pick.choice(["1", "5"])
                frame = stream.option("maxFilesPerTrigger", most).load(str(folder))
                # In an object store there is no place for one.
                own = str(tmp_path / f"checkpoint-{seed}")
                apply_patches(
                    spark, frame, root, shards=shards, application="model", checkpoint=own
                )
            else:
                apply_patches(spark, _frame(spark, folder, how, pick), root, shards=shards)
        except JellyError as error:
            applied = False
            if how in ("whole", "stream"):
                raise AssertionError(f"log {seed}, {how}, is rejected") from error
        counted[f"{how}: {'equal' if applied else 'rejected'}"] += 1
        assert_right(root, log, applied, "whole" if how == "stream" else how)
    return counted


@pytest.mark.slow
@pytest.mark.usefixtures("kind")
def test_logs_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    assert _logs_through_spark(spark, tmp_path, range(len(WAYS)))["whole: equal"]


@pytest.mark.slow
def test_300_logs_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    counted = _logs_through_spark(spark, tmp_path, range(300))
    print(*sorted(counted.items()), sep="\n")
    assert counted.total() == 300
