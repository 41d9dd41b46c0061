"""DataFrames of patches and of statements, applied by Spark."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat_ws, explode, lit, when

from jelly_plugins import JellyError, OptionsError
from jelly_plugins.spark import from_jelly_patch, net_changes
from jelly_plugins.spark.shards import (
    CommitConflictError,
    RootError,
    ShardedStore,
    apply_patches,
    batch_sink,
    vacuum,
    write_shards,
)
from jelly_plugins.spark.shards.root import Folder, Shard

from ..queries import finished
from .logs import apply, assert_same, log_file, quads
from .model import Patch, count, quads_after, random_log, text_of


def test_files_are_one_log_in_the_order_of_their_names(spark: SparkSession, tmp_path: Path) -> None:
    """By Spark and by this machine in turn."""
    patches = random_log(11)
    folder, root, other = tmp_path / "logs", tmp_path / "root", tmp_path / "other"
    folder.mkdir()
    # A patch without operations is part of the chain.
    patches[5] = [row for row in patches[5] if row[0] in "HZ"]
    logs = [
        log_file(folder / f"{name}.jellyp", part)
        for name, part in (("log", patches[:2]), ("log9", patches[2:6]), ("log10", patches[6:]))
    ]
    apply(root, logs[0])
    done = apply_patches(spark, str(folder), root)
    assert (done.version, done.committed, done.patches) == (2, True, 6)
    assert done.aborted == count(patches, "TA") > 0
    assert_same(root, quads_after(patches))
    frame = spark.read.format("jelly-patch").option("headers", "true").load(str(folder))
    assert not apply_patches(spark, frame, root).committed
    assert not apply(root, *logs).committed
    assert apply_patches(spark, frame.repartition(5), other, shards=2, shard_by="graph").committed
    assert_same(other, quads_after(patches))
    contents = [ShardedStore(each).content for each in (root, other)]
    assert contents[0].namespaces == contents[1].namespaces
    assert contents[0].logs == contents[1].logs
    changes = net_changes(spark.read.format("jelly-patch").load(logs)).collect()
    assert len({row[1:] for row in changes}) == len(changes)
    assert sum(row.kind == "A" for row in changes) == len(quads_after(patches))
    corrupt = frame.selectExpr("* EXCEPT (kind)", "nullif(kind, 'A') AS kind")
    with pytest.raises(PySparkException, match="mode FAILFAST"):
        net_changes(corrupt).collect()


def messages(
    spark: SparkSession, rows: Iterable[tuple[int, int, bytes | None]], **options: str
) -> DataFrame:
    """A batch of a topic, in two partitions of Spark."""
    schema = "partition int, offset bigint, value binary"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(list(rows), 2), schema)
    place = concat_ws("/", lit("t"), "partition", "offset").alias("source")
    row = explode(from_jelly_patch("value", {"headers": "true", **options})).alias("row")
    return frame.select(place, row).select("source", "row.*")


def test_messages_are_one_log(spark: SparkSession, tmp_path: Path) -> None:
    patches: list[Patch] = random_log(41, patches=4)
    rows = [(0, 2 * offset, text_of([patch])) for offset, patch in enumerate(patches)]
    root = tmp_path / "root"
    frame = messages(spark, [rows[3], rows[1], (0, 3, b""), rows[0], rows[2]])
    done = apply_patches(spark, frame, root, shards=3)
    assert (done.version, done.patches, done.aborted) == (1, 4, count(patches, "TA"))
    assert_same(root, quads_after(patches))
    assert not apply_patches(spark, frame, root).committed


def test_batches_of_messages(spark: SparkSession, tmp_path: Path) -> None:
    """Patches without ids, of two partitions; each batch counts once, by its number."""
    root = tmp_path / "root"
    sink = batch_sink(root, application="a", shards=2)
    change = "TX . A <urn:s> <urn:p> <urn:{}> . D <urn:s> <urn:p> <urn:{}> . TC ."
    logs = [change.format(number, number - 1).encode() for number in range(4)]
    batches = [[(1, 0, logs[1]), (0, 0, logs[0])], [(1, 1, logs[3]), (0, 1, logs[2])]]
    for number, rows in enumerate(batches):
        for _ in range(2):
            sink(messages(spark, rows), number)
        assert ShardedStore(root).version == number + 1
    assert [str(quad.object) for quad in quads(root)] == ["<urn:3>"]


def test_messages_that_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    frame = messages(spark, [(0, 1, b"TX . D <urn:s> <urn:p> <urn:o> . TC .")])
    corrupt = when(col("kind") != "D", col("kind"))
    for rejected, text in (
        (frame.withColumn("kind", corrupt), "t/0/1: a row reports corrupt data"),
        (frame.union(frame), "t/0/1: two logs have the same name"),
    ):
        with pytest.raises(JellyError, match=text):
            apply_patches(spark, rejected, tmp_path / "root")
    missing = frame.drop("predicate")
    with pytest.raises(OptionsError, match="predicate is missing"):
        apply_patches(spark, missing, tmp_path / "root")
    with pytest.raises(OptionsError, match="no column predicate"):
        write_shards(missing, tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_stream_of_files_is_applied_once(spark: SparkSession, tmp_path: Path) -> None:
    patches = random_log(92, patches=2, subjects=40, size=90)
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    stream = spark.readStream.format("jelly-patch").load(str(folder))
    sink = batch_sink(root, application="a", shards=2)
    for number in range(2):
        log_file(folder / f"{number}.jellyp", [patches[number]])
        writing = stream.writeStream.foreachBatch(sink).trigger(availableNow=True)
        finished(writing.option("checkpointLocation", str(tmp_path / "check")).start)
        assert_same(root, quads_after(patches[: number + 1]))
        assert ShardedStore(root).version == number + 1
    # Its checkpoint was lost.
    writing = stream.writeStream.foreachBatch(sink).trigger(availableNow=True)
    with pytest.raises(Exception, match="another streaming query"):
        finished(writing.option("checkpointLocation", str(tmp_path / "other")).start)
    with pytest.raises(OptionsError, match="foreachBatch"):
        apply_patches(spark, stream, root)


def test_statements_are_written_and_resharded(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    schema = "subject string, predicate string, object string, graph string"
    rows = [
        (f"<urn:s{n % 40}>", "<urn:p>", f'"{n}"', "<urn:g>" if n % 3 else None) for n in range(99)
    ]
    done = write_shards(spark.createDataFrame(rows, schema), root, shards=3)
    assert (done.version, done.added, done.shards) == (1, 99, 3)
    apply(root, b'H id <urn:1> . TX . PA a: <urn:a> . D <urn:s0> <urn:p> "0" . TC .')
    expected = set(quads(root))
    assert len(expected) == 98
    assert write_shards(spark.createDataFrame(rows[:1], schema), root).added == 1
    apply(root, b'H id <urn:2> . H prev <urn:1> . D <urn:s0> <urn:p> "0" .')

    frame = spark.createDataFrame([tuple(map(_text, quad)) for quad in expected], schema)
    before = ShardedStore(root).content
    with pytest.raises(CommitConflictError, match="the newest version is 4, not 3"):
        write_shards(frame, root, mode="overwrite", shards=5, version=3)
    with pytest.raises(RootError, match="shards=3"):
        write_shards(frame, root, shards=5)
    done = write_shards(
        frame, root, mode="overwrite", shards=5, shard_by="graph", version=before.number
    )
    assert done.committed
    assert_same(root, expected)
    after = ShardedStore(root).content
    assert (len(after.shards), after.shard_by) == (5, "graph")
    assert (after.logs, after.namespaces) == (before.logs, before.namespaces)
    invalid = spark.createDataFrame([("<urn:s>", "_:b", "<urn:o>", None)], schema)
    with pytest.raises(JellyError, match="predicate"):
        write_shards(invalid, root)


def _text(term: Any) -> str | None:
    return None if str(term) == "DEFAULT" else str(term)


def test_an_executor_that_does_not_see_the_root_is_reported(
    spark: SparkSession, tmp_path: Path
) -> None:
    class Elsewhere(Folder):
        """A folder that another machine has in another place."""

        def __reduce__(self) -> Any:
            return Folder, (tmp_path / "elsewhere",)

    frame = messages(spark, [(0, 0, b"TX . A <urn:s> <urn:p> <urn:o> . TC .")])
    with pytest.raises(RootError, match="must be able to access the root under the same path"):
        apply_patches(spark, frame, Elsewhere(tmp_path / "root"))


class Deadly(Folder):
    """A folder in which the first attempts at each step of a shard end their processes."""

    def _step(self, name: str) -> None:
        marker = self.root.parent / f"killed-{name}"
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def making(self, number: int) -> Any:
        self._step(f"before-{number}")
        return super().making(number)

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:
        self._step(f"applied-{number}")
        kept = super().keep(folder, number, base, opened)
        self._step(f"kept-{number}")
        return kept


@pytest.mark.parametrize("batches", [1, pytest.param(7, marks=pytest.mark.slow)])
def test_processes_of_executors_that_are_killed(
    spark: SparkSession, tmp_path: Path, batches: int
) -> None:
    """Before a shard's store is copied, once it is changed, and once it has its name."""
    patches = random_log(313, patches=9, subjects=20, size=300)
    root = Deadly(tmp_path / "root")
    for number in range(batches):
        log = log_file(tmp_path / f"{number}.jellyp", [patches[number]])
        frame = spark.read.format("jelly-patch").load(log)
        assert apply_patches(spark, frame, root, shards=1).committed
        killed = list(tmp_path.glob("killed-*"))
        assert len(killed) == 3
        for marker in killed:
            marker.unlink()
        assert_same(tmp_path / "root", quads_after(patches[: number + 1]))
    vacuum(root, grace=timedelta())
    assert set(root.stored()) == {
        name for version in ShardedStore(root).versions() for name in version.stored()
    }
