"""The formats as sinks of streams, and what Spark does with names, partitions and metrics."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jelly_plugins import Iri, Literal, Triple, write
from jelly_plugins.patch import read_patches
from jelly_plugins.spark import apply_patches
from jelly_plugins.spark.shards import ShardedStore

from .queries import finished


def triples(start: int, stop: int) -> list[Triple]:
    return [Triple(Iri(f"urn:{n}"), Iri("urn:p"), Literal(str(n))) for n in range(start, stop)]


def run(stream: DataFrame, kind: str, out: Path, checkpoint: Path) -> StreamingQuery:
    """Write what there is of a stream."""
    writer = stream.writeStream.format(kind).option("checkpointLocation", str(checkpoint))
    return finished(lambda: writer.trigger(availableNow=True).start(str(out)))


def batches(folder: Path) -> list[str]:
    """The batches that are there, as their folders' names begin."""
    names = [path.name for path in folder.iterdir()]
    assert all(name.startswith("batch-") for name in names)
    return sorted(name[: len("batch-0")] for name in names)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(3):
        write(triples(n * 10, n * 10 + 10), folder / f"{n}.jelly")
    return folder


def found(spark: SparkSession, out: Path) -> list[int]:
    rows = spark.read.format("jelly").load(str(out)).collect()
    return sorted(int(row.object.strip('"')) for row in rows)


def test_a_stream_is_written(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
    stream = reader.load(str(source)).repartition(2)
    query = run(stream, "jelly", out, checkpoint)
    assert batches(out) == ["batch-0", "batch-1", "batch-2"]
    assert found(spark, out) == list(range(30))
    assert [each.sink.numOutputRows for each in query.recentProgress] == [10, 10, 10]
    for folder in out.iterdir():
        assert (folder / "_SUCCESS").exists()
    # From its checkpoint on.
    write(triples(30, 40), source / "late.jelly")
    run(stream, "jelly", out, checkpoint)
    assert found(spark, out) == list(range(40))
    # A driver that was lost before it had noted that the batch was done gives it again.
    before = sorted(out.rglob("*"))
    for note in (checkpoint / "commits").glob("*3*"):
        note.unlink()
    run(stream, "jelly", out, checkpoint)
    assert sorted(out.rglob("*")) == before
    # Another query into the same folder, of what this one has written.
    again = spark.readStream.format("jelly").load(str(out)).where("object <> '\"7\"'")
    run(again, "jelly", out, tmp_path / "check2")
    assert found(spark, out) == sorted([*range(40), *(n for n in range(40) if n != 7)])


def test_a_batch_that_fails_leaves_nothing_and_comes_again(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
    stream = reader.load(str(source))
    good = "if(object = '\"15\"', {}, object) AS object"
    bad = stream.selectExpr("subject", "predicate", good.format("'x y'"))
    with pytest.raises(StreamingQueryException, match=r"row 5, .*: object: "):
        run(bad, "jelly", out, checkpoint)
    assert found(spark, out) == list(range(10))
    mended = stream.selectExpr("subject", "predicate", good.format("'\"-1\"'"))
    run(mended, "jelly", out, checkpoint)
    assert found(spark, out) == sorted({*range(30), -1} - {15})
    assert batches(out) == ["batch-0", "batch-1", "batch-2"]


def test_what_a_sink_of_streams_rejects(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    stream = spark.readStream.format("jelly").load(str(source))
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    for frame, mode, option, message in (
        (stream.drop("object"), "append", "compression", "object is missing"),
        (stream, "append", "compress", "did you mean compression"),
        (
            stream.groupBy("subject", "predicate", "object").count().drop("count"),
            "complete",
            "compression",
            "output mode append",
        ),
    ):
        writer = frame.writeStream.format("jelly").outputMode(mode).option(option, "gzip")
        started = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
        with pytest.raises(PySparkException, match=message):
            started.start(str(out)).awaitTermination()
        shutil.rmtree(checkpoint, ignore_errors=True)
    assert not out.exists() or found(spark, out) == []


def test_a_stream_of_patches_is_written_and_applied(
    spark: SparkSession, source: Path, tmp_path: Path
) -> None:
    out, root = tmp_path / "log", tmp_path / "root"
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
    operations = reader.load(str(source)).selectExpr("'A' AS kind", "*")
    run(operations, "jelly-patch", out, tmp_path / "checkpoint")
    files = sorted(out.rglob("*.jellyp"))
    patches = [patch for file in files for patch in read_patches(file)]
    assert len({patch.id for patch in patches}) == len(patches) == 3
    applied = apply_patches(spark, spark.read.format("jelly-patch").load(str(out)), root, shards=2)
    assert applied.committed
    assert len(ShardedStore(root)) == 30
    # As a batch, what is deleted.
    rows = spark.read.format("jelly").load(str(source)).where("object < '\"2\"'")
    deletions = rows.selectExpr("'D' AS kind", "*").coalesce(1)
    deletions.write.format("jelly-patch").mode("append").option("compression", "gzip").save(
        str(tmp_path / "more")
    )
    [more] = (tmp_path / "more").glob("*.jellyp.gz")
    apply_patches(spark, more, root)
    assert len(ShardedStore(root)) == 30 - rows.count()
    with pytest.raises(PySparkException, match="kind is missing"):
        rows.write.format("jelly-patch").mode("append").save(str(tmp_path / "more"))


def test_what_spark_does_not_do(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    """As docs/spark-options.md has it: a path as a table, folders by column, counts of rows."""
    with pytest.raises(PySparkException, match="Unsupported data source type for direct query"):
        spark.sql(f"SELECT * FROM jelly.`{source}`")
    frame = spark.read.format("jelly").load(str(source))
    for mode in ("append", "overwrite"):
        writer = frame.write.format("jelly").mode(mode).partitionBy("graph")
        with pytest.raises(PySparkException, match=r"partitioning .* do not match"):
            writer.save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert frame.count() == 30
    metrics = frame._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    names = {"numOutputRows", "pythonDataSent", "pythonDataReceived"}
    assert {name for name in names if metrics.contains(name)} == names
