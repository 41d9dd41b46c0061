"""A version of a sharded store as a table: the format ``jelly-store``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyoxigraph import (
    BaseDirection,
    BlankNode,
    DefaultGraph,
    Literal,
    NamedNode,
    Quad,
    Store,
    Triple,
)
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import JellyError
from jelly_plugins.oxigraph.rows import row_of
from jelly_plugins.spark.datasource.sources import JellyStoreDataSource
from jelly_plugins.spark.datasource.store_reading import VersionReader
from jelly_plugins.spark.shards import RootError, ShardedStore
from jelly_plugins.spark.shards.store import pattern_of, scan

from .logs import apply, quads
from .model import Patch, random_log, text_of

Rows = list[tuple[str | None, ...]]

POSITIONS = ("subject", "predicate", "object", "graph")
EVERYTHING = (None, None, None, None)


def fill(root: Any, versions: int = 1, **settings: Any) -> list[Patch]:
    """Apply patches, each as one version; return others."""
    patches = random_log(313, patches=9, subjects=20, size=300)
    for patch in patches[:versions]:
        apply(root, text_of([patch]), **settings)
    return patches[versions:]


def expected(found: Iterable[Quad]) -> Rows:
    """Quads as rows: null is the default graph."""
    return sorted(((*row[:3], row[3] or None) for row in map(row_of, found)), key=str)


def rows(batches: Iterable[pa.RecordBatch]) -> Rows:
    return sorted((tuple(row.values()) for b in batches for row in b.to_pylist()), key=str)


def reader(root: Any, **options: str) -> VersionReader:
    given = {"path": str(root), **options}
    source = JellyStoreDataSource(given)
    found = source.reader(source.schema())
    assert isinstance(found, VersionReader)
    return found


def read(root: Any, **options: str) -> Rows:
    found = reader(root, **options)
    return rows(batch for part in found.partitions() for batch in found.read(part))


# Without Spark


def test_text_is_divided_into_terms() -> None:
    s, p, g = NamedNode("urn:é/s"), NamedNode("urn:p"), NamedNode("urn:g")
    texts = (
        "",
        " ",
        " .",
        'a "b" <c',
        "<urn:g> .",
        " _:b .",
        '\\" <urn:g>',
        "\n\t\r\x00\x7f ",
        "é ",
    )
    objects: list[Any] = [s, BlankNode("o")]
    objects += [Literal(text) for text in texts]
    objects += [Literal(text, language="en") for text in texts]
    objects += [Literal(text, language="en", direction=BaseDirection.LTR) for text in texts]
    objects += [Literal(text, datatype=NamedNode("urn:d")) for text in texts]
    objects += [Triple(BlankNode("s"), p, each) for each in objects]
    objects += [Triple(s, p, each) for each in objects[-3:]]
    graphs = (DefaultGraph(), g, BlankNode("g"))
    wanted = {
        Quad(subject, p, each, graph)
        for subject in (s, BlankNode("s"))
        for each in objects
        for graph in graphs
    }
    store = Store()
    store.bulk_extend(wanted)
    assert rows(scan(store, EVERYTHING)) == expected(wanted)
    assert list(scan(Store(), EVERYTHING)) == []
    for conditions in (
        {"subject": "_:s"},
        {"graph": ""},
        {"graph": "<urn:g>", "predicate": "<urn:p>"},
    ):
        pattern = pattern_of(conditions)
        assert rows(scan(store, pattern)) == expected(store.quads_for_pattern(*pattern))
    with pytest.raises(JellyError, match="no quad of a store has these terms"):
        pattern_of({"subject": '"a"'})


def test_many_quads_come_in_batches() -> None:
    quads = [Quad(NamedNode(f"urn:{n}"), NamedNode("urn:p"), Literal("x" * 9)) for n in range(9000)]
    quads.append(Quad(NamedNode("urn:s"), NamedNode("urn:p"), Literal("y" * (3 << 20))))
    store = Store()
    store.bulk_extend(quads)
    batches = list(scan(store, EVERYTHING))
    assert len(batches) > 1
    assert rows(batches) == expected(quads)


def test_a_version_is_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, 3)
    for version in range(1, 4):
        assert read(root, versionAsOf=str(version)) == expected(quads(root, version))
    assert read(root) == expected(quads(root))
    split = read(root, terms="split")
    assert len(split) == len(ShardedStore(root))
    with pytest.raises(RootError, match="version 9 does not exist"):
        read(root, versionAsOf="9")


@pytest.mark.parametrize("shard_by", ["subject", "graph"])
def test_conditions(tmp_path: Path, shard_by: Any) -> None:
    root = tmp_path / "root"
    fill(root, shard_by=shard_by)
    everything = read(root)
    for conditions in (
        {"subject": "<urn:s0>"},
        {"graph": ""},
        {"graph": "_:g"},
        # Other forms of what Oxigraph has as "x"@en and "1".
        {"predicate": "<urn:p1>", "object": '"x"@EN'},
        {"object": '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'},
        {"object": '<<( _:b1 <urn:p> "in" )>>', "graph": "<urn:g>"},
    ):
        kept = {
            name: text.replace('"01"', '"1"').replace("EN", "en")
            for name, text in conditions.items()
        }
        wanted = [
            row
            for row in everything
            if all((row[POSITIONS.index(name)] or "") == text for name, text in kept.items())
        ]
        assert wanted
        assert read(root, **conditions) == wanted
        parts = reader(root, **conditions).partitions()
        assert (len(parts) == 1) == (shard_by in conditions)
    assert read(root, subject="<urn:none>") == []


def test_a_version_is_pinned(tmp_path: Path) -> None:
    root = tmp_path / "root"
    more = fill(root, 2)
    found, before = reader(root), expected(quads(root))
    parts = found.partitions()
    first = found.read(parts[0])
    next(first)
    apply(root, text_of(more))
    assert rows(batch for part in parts for batch in found.read(part)) == before
    assert read(root) == expected(quads(root)) != before


def test_a_shard_without_all_of_its_quads(tmp_path: Path) -> None:
    root = tmp_path / "root"
    fill(root, shards=1)
    found = reader(root)
    [part] = found.partitions()
    part.shard = replace(part.shard, quads=1)  # type: ignore[attr-defined]
    with pytest.raises(RootError, match="quads, but its version has 1"):
        list(found.read(part))


# With Spark


def test_spark_reads_a_version(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    more = fill(root, 2)
    new = expected(quads(root))

    def collected(frame: DataFrame) -> Rows:
        return sorted(map(tuple, frame.collect()), key=str)

    frame = spark.read.format("jelly-store").load(str(root))
    assert frame.columns == list(POSITIONS)
    assert frame.rdd.getNumPartitions() == 3
    assert collected(frame) == new
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW stored (object STRING) USING `jelly-store` OPTIONS "
        f"(path '{root}', graph '', versionAsOf 1)"
    )
    old = ((row[2],) for row in expected(quads(root, 1)) if row[3] is None)
    assert collected(spark.table("stored")) == sorted(old)
    # What a DataFrame has read once, it reads again.
    apply(root, text_of(more))
    both = frame.alias("a").join(frame.alias("b"), "subject").count()
    assert both == sum(number**2 for number in Counter(row[0] for row in new).values())
    loaded = spark.read.format("jelly-store").load(str(root))
    assert collected(loaded) == expected(quads(root)) != new


def test_tables_of_the_catalog_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    for kind in ("jelly", "`jelly-store`"):
        with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW name USING"):
            spark.sql(f"CREATE TABLE jelly_table USING {kind} OPTIONS (path '{tmp_path}')")
    # With a schema, Spark does not ask.
    spark.sql(f"CREATE TABLE jelly_table (subject STRING) USING jelly OPTIONS (path '{tmp_path}')")
    try:
        with pytest.raises(PySparkException, match="use CREATE TEMPORARY VIEW name USING"):
            spark.table("jelly_table").count()
    finally:
        spark.sql("DROP TABLE jelly_table")
