"""The formats in Spark: reading, writing and streaming, through one session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark import TaskContext
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, read, write
from jelly_plugins.patch import read_patches
from jelly_plugins.spark import apply_patches
from jelly_plugins.spark.shards import ShardedStore

from .queries import finished

QUADS = [
    Quad(Iri("urn:s"), Iri("urn:p"), Literal('a "b"\n', "en"), Iri("urn:g")),
    Quad(BlankNode("x"), Iri("urn:p"), Literal("1", None, "urn:type"), DEFAULT_GRAPH),
]
ROWS = [
    ("<urn:s>", "<urn:p>", r'"a \"b\"\n"@en', "<urn:g>"),
    ("_:x", "<urn:p>", '"1"^^<urn:type>', None),
]


def triples(start: int, stop: int) -> list[Triple]:
    return [Triple(Iri(f"urn:{n}"), Iri("urn:p"), Literal(str(n))) for n in range(start, stop)]


def numbers(frame: DataFrame) -> list[int]:
    return sorted(int(row.object.strip('"')) for row in frame.collect())


def numbered(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    """Triples whose objects are numbers."""
    return spark.range(0, count, 1, partitions).selectExpr(
        "concat('<urn:', id, '>') AS subject",
        "'<urn:p>' AS predicate",
        "concat('\"', id, '\"') AS object",
    )


def run(stream: DataFrame, kind: str, out: Path, checkpoint: Path) -> StreamingQuery:
    """Write what there is of a stream."""
    writer = stream.writeStream.format(kind).option("checkpointLocation", str(checkpoint))
    return finished(lambda: writer.trigger(availableNow=True).start(str(out)))


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name[0] not in "_.")


def test_reading(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a.jelly", "b.jelly.gz", "_c.jelly"):
        write(QUADS, tmp_path / name)
    # A session that nothing was registered in finds the formats by itself.
    fresh = spark.newSession()
    one, two = str(tmp_path / "a.jelly"), str(tmp_path / "b.jelly.gz")
    frame = fresh.read.format("jelly").load(one)
    assert frame.schema.simpleString() == (
        "struct<subject:string,predicate:string,object:string,graph:string>"
    )
    assert [tuple(row) for row in frame.collect()] == ROWS
    # Several paths, folders and patterns.
    assert fresh.read.format("jelly").load([one, two]).count() == 4
    both = fresh.read.format("jelly").option("sourceColumns", "true").load(str(tmp_path))
    sources = both.select("source", "frame").distinct().sort("source").collect()
    assert [tuple(row) for row in sources] == [(one, 0), (two, 0)]
    # SQL, and terms in parts.
    options = f"path '{tmp_path}/*.jelly', terms 'split'"
    fresh.sql(f"CREATE TEMPORARY VIEW terms USING jelly OPTIONS ({options})")
    found = fresh.sql("SELECT object.value, object.language FROM terms WHERE subject.kind = 'iri'")
    assert [tuple(row) for row in found.collect()] == [('a "b"\n', "en")]


def test_corrupt_files(spark: SparkSession, tmp_path: Path) -> None:
    write(triples(0, 1000), tmp_path / "x.jelly", frame_rows=100)
    data = (tmp_path / "x.jelly").read_bytes()
    (tmp_path / "x.jelly").write_bytes(data[: len(data) // 2])
    reader = spark.read.format("jelly")
    with pytest.raises(PySparkException, match=r"x\.jelly: frame \d+: the input ends inside a fra"):
        reader.load(str(tmp_path)).collect()
    kept = reader.option("mode", "PERMISSIVE").load(str(tmp_path)).cache()
    [bad] = kept.where("_corrupt_record IS NOT NULL").collect()
    assert f"{tmp_path}/x.jelly: frame " in bad._corrupt_record
    assert 300 < kept.count() < 700
    with pytest.raises(PySparkException, match="there is no such file or folder"):
        reader.load(str(tmp_path / "none")).collect()


def test_writing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "out"
    columns = "subject string, predicate string, object string, graph string"
    frame = spark.createDataFrame(ROWS, columns)
    frame.coalesce(1).write.format("jelly").mode("append").save(str(path))
    [name] = visible(path)
    assert list(read(path / name)) == QUADS
    assert (path / "_SUCCESS").exists()
    # One stream for each task, none where there is nothing to write; compressed, other columns.
    many = numbered(spark, 1000)
    writer = many.repartition(3).write.format("jelly").option("compression", "gzip")
    writer.mode("append").save(str(path))
    assert [name.endswith(".jelly.gz") for name in visible(path)].count(True) == 3
    many.limit(0).write.format("jelly").mode("append").save(str(path))
    assert spark.read.format("jelly").load(str(path)).count() == 1002
    split = (
        spark.read.format("jelly")
        .option("terms", "split")
        .load(str(path))
        .where("graph IS NULL AND subject.kind = 'iri'")
    )
    split.drop("graph").write.format("jelly").mode("overwrite").save(str(tmp_path / "copy"))
    assert numbers(spark.read.format("jelly").load(str(tmp_path / "copy"))) == list(range(1000))
    # A large file has places to start from: several tasks read it.
    large = numbered(spark, 20_000)
    one = large.coalesce(1).write.format("jelly").option("restartEvery", "20k")
    one.mode("overwrite").save(str(tmp_path / "large"))
    reader = spark.read.format("jelly").option("maxPartitionBytes", "50k")
    splits = reader.load(str(tmp_path / "large"))
    assert splits.rdd.getNumPartitions() > 2
    assert numbers(splits) == list(range(20_000))
    # Overwriting replaces all of it.
    frame.coalesce(1).write.format("jelly").mode("overwrite").save(str(path))
    assert len(visible(path)) == 1
    assert spark.read.format("jelly").load(str(path)).count() == 2


def test_names_and_types_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Names in any case, and VOID for a column that has only nulls."""
    path = str(tmp_path / "data::2026" / "out")
    for kind, columns in (("jelly", ""), ("jelly-patch", "'A' AS KIND, ")):
        frame = spark.sql(
            f"SELECT {columns} '<urn:s>' AS Subject, '<urn:p>' AS PREDICATE, '<urn:o>' AS object, "
            "NULL AS graph"
        )
        frame.write.format(kind).mode("append").save(f"{path}/{kind}")
        found = spark.read.format(kind).load(f"{path}/{kind}").where("subject IS NOT NULL")
        names = ("subject", "predicate", "object", "graph")
        assert [tuple(row) for row in found.select(*names).collect()] == [
            ("<urn:s>", "<urn:p>", "<urn:o>", None)
        ]


def _some_fail(batches: Iterator[Any]) -> Iterator[Any]:
    context = TaskContext.get()
    assert context is not None
    yield from batches
    if context.partitionId() == 1 and context.attemptNumber() == 0:
        raise RuntimeError("the first attempt of one task fails when it has written")


def test_what_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "out"
    many = numbered(spark, 1000, 4)
    # A task that fails once is run again, and what it wrote before does not count.
    many.mapInArrow(_some_fail, many.schema).write.format("jelly").mode("append").save(str(path))
    assert numbers(spark.read.format("jelly").load(str(path))) == list(range(1000))
    before = visible(path)
    bad = many.selectExpr(
        "subject", "predicate", "if(subject = '<urn:999>', 'x y', object) AS object"
    )
    for mode in ("append", "overwrite"):
        with pytest.raises(PySparkException, match=r"part-00003.*\.jelly: row 249, .*: object: "):
            bad.write.format("jelly").mode(mode).save(str(path))
    assert visible(path) == before
    assert sorted(each.name for each in path.iterdir() if each.name[0] == "_") == ["_SUCCESS"]
    with pytest.raises(PySparkException, match="object is missing"):
        many.drop("object").write.format("jelly").mode("append").save(str(path))


# Columns and rows that are asked for, in Spark: by a schema and by options

GRAPHS = (DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g"))
MANY = [
    Quad(Iri(f"urn:{n % 7}"), Iri(f"urn:p{n % 3}"), Literal(f"{n}"), GRAPHS[n % 3])
    for n in range(300)
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("narrowing") / "x.jelly"
    write(MANY, file, frame_rows=50)
    return str(file)


def rows(frame: DataFrame) -> list[tuple[str | None, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def read_rows(frame: DataFrame) -> int:
    """How many rows the source gave to Spark when the frame was collected."""
    plan = frame._jdf.queryExecution().executedPlan()
    return int(plan.collectLeaves().head().metrics().apply("numOutputRows").value())


def test_a_schema_and_options_say_what_is_read(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    whole = spark.read.format("jelly").load(path)
    some = spark.read.schema("OBJECT string, subject string").format("jelly").load(path)
    assert some.columns == ["OBJECT", "subject"]
    assert rows(some) == rows(whole.select("object", "subject"))
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW narrow (subject string) USING jelly OPTIONS "
        f"(path '{path}', predicate '<urn:p1>', graph '<urn:g>')"
    )
    found = spark.sql("SELECT * FROM narrow")
    assert rows(found) == rows(whole.where("predicate = '<urn:p1>'").select("subject"))
    assert read_rows(found) == 100
    for schema in ("subject int", "subject string not null", "subject string, x string"):
        with pytest.raises(PySparkException, match="is not available: with these options, the"):
            spark.read.schema(schema).format("jelly").load(path).collect()
    with pytest.raises(PySparkException, match="two columns have the same name: subject, subject"):
        spark.read.schema("subject string, subject string").format("jelly").load(path).collect()
    with pytest.raises(PySparkException, match="option graph must be a term of N-Triples"):
        spark.read.format("jelly").option("graph", "urn:g").load(path)
    stream = spark.readStream.schema("subject string").format("jelly").option("object", '"7"')
    run(stream.load(path), "json", tmp_path / "out", tmp_path / "checkpoint")
    assert rows(spark.read.json(str(tmp_path / "out"))) == [("<urn:0>",)]


# The formats as sinks of streams, and what Spark does with names, partitions and metrics


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
    return numbers(spark.read.format("jelly").load(str(out)))


def test_a_stream_is_written(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
    stream = reader.load(str(source)).repartition(2)
    query = run(stream, "jelly", out, checkpoint)
    assert batches(out) == ["batch-0", "batch-1", "batch-2"]
    assert found(spark, out) == list(range(30))
    assert {each.numInputRows for each in query.recentProgress} == {10}
    assert {each.sink.numOutputRows for each in query.recentProgress} == {10}
    for folder in out.iterdir():
        assert (folder / "_SUCCESS").exists()
    # From its checkpoint on: what was read does not come again.
    write(triples(30, 40), source / "late.jelly.gz")
    query = run(stream, "jelly", out, checkpoint)
    assert sum(each.numInputRows for each in query.recentProgress) == 10
    assert found(spark, out) == list(range(40))
    # A driver that was lost before it had noted that the batch was done gives it again.
    before = sorted(out.rglob("*"))
    for note in (checkpoint / "commits").glob("*3*"):
        note.unlink()
    run(stream, "jelly", out, checkpoint)
    assert sorted(out.rglob("*")) == before


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


def test_a_stream_is_only_appended(spark: SparkSession, source: Path, tmp_path: Path) -> None:
    stream = spark.readStream.format("jelly").load(str(source))
    counted = stream.groupBy("subject", "predicate", "object").count().drop("count")
    writer = counted.writeStream.format("jelly").outputMode("complete").trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
    with pytest.raises(PySparkException, match="output mode append"):
        finished(lambda: writer.start(str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()


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
