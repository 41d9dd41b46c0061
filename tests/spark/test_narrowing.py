"""Columns and rows that are asked for, in Spark: by a schema and by options."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, write

from .queries import finished

GRAPHS = (DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g"))
QUADS = [
    Quad(Iri(f"urn:{n % 7}"), Iri(f"urn:p{n % 3}"), Literal(f"{n}"), GRAPHS[n % 3])
    for n in range(300)
]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("narrowing") / "x.jelly"
    write(QUADS, file, frame_rows=50)
    return str(file)


def rows(frame: DataFrame) -> list[tuple[str | None, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def read_rows(frame: DataFrame) -> int:
    """How many rows the source gave to Spark when the frame was collected."""
    plan = frame._jdf.queryExecution().executedPlan()
    return int(plan.collectLeaves().head().metrics().apply("numOutputRows").value())


def test_a_schema_says_which_columns_are_read(spark: SparkSession, path: str) -> None:
    reader = spark.read.format("jelly")
    whole = reader.load(path)
    some = spark.read.schema("object string, subject string").format("jelly").load(path)
    assert some.columns == ["object", "subject"]
    assert rows(some) == rows(whole.select("object", "subject"))
    spark.sql(
        f"CREATE OR REPLACE TEMPORARY VIEW narrow (subject string) USING jelly OPTIONS "
        f"(path '{path}', predicate '<urn:p1>', graph '<urn:g>')"
    )
    found = spark.sql("SELECT * FROM narrow")
    assert rows(found) == rows(whole.where("predicate = '<urn:p1>'").select("subject"))
    assert read_rows(found) == 100
    other_case = spark.read.schema("SUBJECT string, graph string").format("jelly").load(path)
    assert other_case.columns == ["SUBJECT", "graph"]
    assert rows(other_case) == rows(whole.select("subject", "graph"))
    schemas = (
        "subject int",
        "subject string not null",
        "subject string, x string",
    )
    for schema in schemas:
        with pytest.raises(
            PySparkException, match="is not available: with these options, the columns"
        ):
            spark.read.schema(schema).format("jelly").load(path).collect()


def test_a_stream_of_what_is_asked_for(spark: SparkSession, path: str, tmp_path: Path) -> None:
    reader = spark.readStream.schema("subject string").format("jelly").option("object", '"7"')
    writer = (
        reader.load(path)
        .writeStream.format("memory")
        .queryName("asked")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    finished(writer.start)
    assert rows(spark.table("asked")) == [("<urn:0>",)]


def test_conditions_are_met(spark: SparkSession, path: str) -> None:
    reader = spark.read.format("jelly").option("predicate", "<urn:p1>")
    found = reader.load(path).where("subject = '<urn:3>'")
    assert {row[:2] for row in rows(found)} == {("<urn:3>", "<urn:p1>")}
    assert read_rows(found) == 100
    found = reader.option("terms", "split").load(path)
    assert found.select("object.kind").distinct().count() == 1
    with pytest.raises(PySparkException, match="option graph must be a term of N-Triples"):
        reader.option("graph", "urn:g").load(path)


def test_filters_are_not_pushed(spark: SparkSession, path: str) -> None:
    """PySpark 4.3 gives a DataFrame that filters were pushed into once to any other query."""
    pushdown = "spark.sql.python.filterPushdown.enabled"
    before = spark.conf.get(pushdown)
    assert before == "false"
    spark.conf.set(pushdown, "true")
    try:
        frame = spark.read.format("jelly").load(path)
        some = frame.where("graph = '<urn:g>'")
        assert some.count() == 100
        assert frame.count() == 300
        assert some.union(frame.where("graph = '_:g'")).count() == 200
    finally:
        spark.conf.set(pushdown, before)
