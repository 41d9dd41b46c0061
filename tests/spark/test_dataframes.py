"""The formats in Spark: reading, writing and streaming, through one session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyjelly.integrations.generic.parse import parse_jelly_flat
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, read, write

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
    with pytest.raises(PySparkException, match=r"option mode must be one of .*got 'none'"):
        reader.option("mode", "none").load(str(tmp_path))
    with pytest.raises(PySparkException, match="is not available: with these options"):
        spark.read.format("jelly").schema("x INT").load(str(tmp_path)).collect()
    with pytest.raises(PySparkException, match="there is no such file or folder"):
        spark.read.format("jelly").load(str(tmp_path / "none")).collect()


def test_writing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "out"
    columns = "subject string, predicate string, object string, graph string"
    frame = spark.createDataFrame(ROWS, columns)
    frame.coalesce(1).write.format("jelly").mode("append").save(str(path))
    [name] = visible(path)
    assert list(read(path / name)) == QUADS
    assert (path / "_SUCCESS").exists()
    # One stream for each task, none where there is nothing to write; compressed, other columns.
    many = spark.range(1000).selectExpr(
        "concat('<urn:', id, '>') AS subject",
        "'<urn:p>' AS predicate",
        "concat('\"', id, '\"') AS object",
    )
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
    large = spark.range(20_000).selectExpr(
        "concat('<urn:', id, '>') AS subject",
        "'<urn:p>' AS predicate",
        "concat('\"', id, '\"') AS object",
    )
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
    nothing = spark.sql("SELECT '<urn:s>' AS subject, '<urn:p>' AS predicate, NULL AS object")
    with pytest.raises(PySparkException, match="the object is null"):
        nothing.write.format("jelly").mode("append").save(path)
    twice = spark.sql(
        "SELECT '<urn:s>' AS subject, '<urn:s>' AS Subject, '<urn:p>' AS predicate, '1' AS object"
    )
    with pytest.raises(PySparkException):
        twice.write.format("jelly").mode("append").save(path)


def test_rows_without_graphs_are_streams_of_triples(spark: SparkSession, tmp_path: Path) -> None:
    """As they come from streams of triples, which other readers want back."""
    write(triples(0, 10), tmp_path / "in.jelly")
    out = tmp_path / "out"
    frame = spark.read.format("jelly").load(str(tmp_path / "in.jelly"))
    frame.coalesce(1).write.format("jelly").mode("append").save(str(out))
    [name] = visible(out)
    with (out / name).open("rb") as file:
        found = [tuple(map(str, each)) for each in parse_jelly_flat(file)]
    assert found == [(f"<urn:{n}>", "<urn:p>", f'"{n}"') for n in range(10)]
    # With one graph among them there are two streams.
    columns = "subject string, predicate string, object string, graph string"
    rows = spark.createDataFrame(ROWS[::-1], columns).coalesce(1)
    rows.write.format("jelly").mode("overwrite").save(str(out))
    assert len(visible(out)) == 2
    again = spark.read.format("jelly").load(str(out))
    assert sorted(map(tuple, again.collect()), key=str) == sorted(ROWS, key=str)


def test_options_and_folders_that_would_be_skipped(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "day=1").mkdir()
    write(QUADS, tmp_path / "day=1" / "a.jelly")
    reader = spark.read.format("jelly")
    with pytest.raises(PySparkException, match="'day=1' looks like a column, which would be lost"):
        reader.load(str(tmp_path)).collect()
    frame = spark.read.format("jelly").option("sourceColumns", "true").load(f"{tmp_path}/day=*")
    frame = frame.selectExpr("*", "regexp_extract(source, 'day=([^/]+)', 1) AS day")
    assert [tuple(row) for row in frame.select("object", "day").collect()] == [
        (row[2], "1") for row in ROWS
    ]
    with pytest.raises(PySparkException, match="did you mean sourceColumns"):
        reader.option("sourceColumn", "true").load(str(tmp_path))
    frame = frame.drop("source", "frame")
    writer = frame.drop("day").write.format("jelly").mode("append")
    with pytest.raises(PySparkException, match="did you mean compression"):
        writer.option("compress", "gzip").save(str(tmp_path / "out"))
    with pytest.raises(PySparkException):
        frame.write.format("jelly").partitionBy("day").mode("append").save(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists() or visible(tmp_path / "out") == []


def _some_fail(batches: Iterator[Any]) -> Iterator[Any]:
    context = TaskContext.get()
    assert context is not None
    yield from batches
    if context.partitionId() == 1 and context.attemptNumber() == 0:
        raise RuntimeError("the first attempt of one task fails when it has written")


def test_what_fails_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "out"
    many = spark.range(0, 1000, 1, 4).selectExpr(
        "concat('<urn:', id, '>') AS subject",
        "'<urn:p>' AS predicate",
        "concat('\"', id, '\"') AS object",
    )
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


def ran(stream: DataFrame, name: str, checkpoint: Path) -> list[int]:
    """Run a query over what is there; how many rows each batch had."""
    writer = (
        stream.writeStream.format("memory")
        .queryName(name)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .outputMode("append")
    )
    query = finished(writer.start)
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def appended(stream: DataFrame, out: Path, checkpoint: Path) -> None:
    """Run a query over what is there, into files."""
    writer = stream.writeStream.format("json").option("checkpointLocation", str(checkpoint))
    finished(lambda: writer.trigger(availableNow=True).start(str(out)))


def test_a_stream_over_a_folder(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for n in range(5):
        write(triples(n * 10, n * 10 + 10), source / f"{n}.jelly")
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "2")
    assert ran(reader.load(str(source)), "few", tmp_path / "few") == [20, 20, 10]
    assert numbers(spark.table("few")) == list(range(50))
    # Once more from its checkpoint: what was read does not come again.
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    appended(reader.load(str(source)), out, checkpoint)
    write(triples(50, 60), source / "late.jelly.gz")
    appended(reader.load(str(source)), out, checkpoint)
    appended(reader.load(str(source)), out, checkpoint)
    assert numbers(spark.read.json(str(out))) == list(range(60))
