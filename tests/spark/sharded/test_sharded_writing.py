"""DataFrames that are written into sharded stores: content, order, faults and writers at once.

Stores are compared with a set of quads that the same rows were applied to, one after the other.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyoxigraph import Quad, RdfFormat, Store, parse
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.functions import spark_partition_id, udf
from pyspark.sql.types import StructType

from jelly_plugins.codec.common.positions import GRAPH, OBJECT, PREDICATE, SUBJECT
from jelly_plugins.errors import JellyError, OptionsError, TermError, TextError
from jelly_plugins.oxigraph.rows import row_of
from jelly_plugins.reserved import BOOKKEEPING_TEXT
from jelly_plugins.spark import ShardedStore, apply_patches
from jelly_plugins.spark.datasource.sources import JellyStoreDataSource
from jelly_plugins.spark.datasource.store_writing import StoreWriter, _operations
from jelly_plugins.spark.sharded import (
    CheckpointError,
    CommitConflictError,
    RootError,
    processes,
    reshard,
)
from jelly_plugins.spark.sharded.batch import BatchSettings
from jelly_plugins.spark.sharded.statements import Part, StoreWrite
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.terms import canonical_terms

from ... import programs
from ...shared_data import ROOT
from . import faults, writes
from .here import run_here
from .logs import apply, assert_same, quads, replayed

Row = tuple[str, str, str, str, str | None]

COLUMNS = "kind string, subject string, predicate string, object string, graph string"


def model(rows: Iterable[Row], before: Iterable[Quad] = ()) -> set[Quad]:
    """The quads after the rows were applied in their order."""
    store = Store()
    store.extend(before)
    for kind, *terms in rows:
        text = " ".join(term for term in terms if term is not None)
        [quad] = parse(f"{text} .", RdfFormat.N_QUADS)
        (store.add if kind == "A" else store.remove)(quad)
    return set(store)


def frame(spark: SparkSession, rows: Sequence[Row], partitions: int = 3) -> DataFrame:
    """The rows in their order, in several partitions."""
    numbered = [(number, *row) for number, row in enumerate(rows)]
    found = spark.createDataFrame(numbered, f"number int, {COLUMNS}")
    found = found.repartitionByRange(partitions, "number").sortWithinPartitions("number")
    return found.drop("number")


def write(rows: DataFrame, root: Path, mode: str = "append", **options: object) -> None:
    writing = rows.write.format("jelly-store").mode(mode).option("processes", 1)
    writing.options(**options).save(str(root))  # type: ignore[arg-type]


def left(root: Path) -> list[str]:
    """What attempts have left."""
    return [each.name for each in root.glob("_staging/*")]


def random_rows(pick: random.Random, count: int, kinds: str = "AAD") -> list[Row]:
    """Rows with all kinds of terms, some of them in several forms, that repeat often."""
    subjects = [f"<urn:s{n}>" for n in range(9)] + [f"_:b{n}" for n in range(4)]
    objects = [
        *('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"@en', '"x"@EN', '"x"', "_:b1"),
        *('"01"^^<http://www.w3.org/2001/XMLSchema#integer>', '"\\u00e9"', '"é"', "<urn:\\u0061>"),
        *('"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"a \\"quote\\"\\n"', "<urn:a>"),
        *("<<( _:b1 <urn:p> <<( <urn:s> <urn:p> _:b2 )>> )>>", '"x"^^<urn:datatype>'),
    ]
    graphs = [None, "<urn:g>", "_:g", "_:b1"]
    return [
        (pick.choice(kinds), *map(pick.choice, (subjects, ["<urn:p>"], objects, graphs)))  # type: ignore[misc]
        for _ in range(count)
    ]


def test_a_store_has_what_the_rows_say(spark: SparkSession, tmp_path: Path) -> None:
    """Appended, merged and overwritten; by subject and by graph; quads are in several tasks."""
    pick = random.Random(3)
    root = tmp_path / "root"
    adds, merged, replaced = (random_rows(pick, 150, kinds) for kinds in ("A", "AAD", "AAD"))
    write(frame(spark, adds).drop("kind"), root, shards=3, metadata='{"user": "ann"}')
    expected = model(adds)
    assert_same(root, expected)
    assert ShardedStore(root).commit.metadata == {"user": "ann"}
    write(frame(spark, merged), root)
    expected = model(merged, expected)
    assert_same(root, expected)
    write(frame(spark, replaced), root, "overwrite")
    assert_same(root, model(replaced))
    store = ShardedStore(root)
    assert (store.version, store.commit.operations, left(root)) == (3, 150, [])
    assert set(ShardedStore(root, version=2)) == expected
    by_graph = tmp_path / "by graph"
    write(frame(spark, merged), by_graph, "overwrite", shards=2, shardBy="graph")
    assert_same(by_graph, model(merged))
    assert ShardedStore(by_graph).layout.shard_by == "graph"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_writes(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    pick = random.Random(seed)
    expected: set[Quad] = set()
    root = tmp_path / "root"
    for number in range(5):
        rows = random_rows(pick, pick.choice([1, 30, 400]))
        replaces = pick.random() < 0.3
        settings = {"shards": pick.randrange(1, 6)} if not number else {}
        shown = frame(spark, rows, pick.randrange(1, 5))
        write(shown, root, "overwrite" if replaces else "append", **settings)
        expected = model(rows, () if replaces else expected)
        assert_same(root, expected)
        assert ShardedStore(root).version == number + 1


def test_split_terms_and_the_format_jelly(spark: SparkSession, tmp_path: Path) -> None:
    """What ``terms=split`` reads is written again, and becomes the same quads."""
    rows = random_rows(random.Random(5), 60, "A")
    source, root = tmp_path / "source", tmp_path / "root"
    write(frame(spark, rows), source, shards=2)
    files = tmp_path / "files"
    text = frame(spark, rows).drop("kind")
    text.write.format("jelly").option("quotedTriples", "true").mode("append").save(str(files))
    split = spark.read.format("jelly").option("terms", "split").load(str(files))
    assert isinstance(split.schema["object"].dataType, StructType)
    write(split, root, shards=2)
    assert_same(root, model(rows))


# Order and repetition


def test_writes_that_change_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """An empty append is not a version. An empty overwrite is one, unless the store is empty."""
    root = tmp_path / "root"
    none = spark.createDataFrame([], COLUMNS)
    for mode in ("append", "overwrite"):
        write(none, root, mode, shards=2)
        assert ShardedStore(root).version == 0
    row = ("A", "<urn:s>", "<urn:p>", "<urn:o>", None)
    write(frame(spark, [row]), root)
    write(none, root)
    assert (ShardedStore(root).version, len(ShardedStore(root))) == (1, 1)
    write(none, root, "overwrite")
    assert (ShardedStore(root).version, len(ShardedStore(root))) == (2, 0)
    # A quad that was added before, and then deleted, is added again: a DataFrame is not a log.
    write(frame(spark, [row]), root)
    assert len(ShardedStore(root)) == 1


def test_an_overwrite_keeps_what_is_not_a_statement(spark: SparkSession, tmp_path: Path) -> None:
    """Positions in logs, applications and namespaces; and a feed has the difference."""
    root = tmp_path / "root"
    log = b"H id <urn:1> .\nTX .\nPA ex: <urn:ex> .\nA <urn:s> <urn:p> 1 .\nTC .\nZ .\n"
    apply(root, log, shards=2, application="a", batch=4)
    row = ("A", "<urn:s>", "<urn:p>", "<urn:o>", None)
    write(frame(spark, [row]), root, "overwrite")
    assert_same(root, model([row]))
    head = ShardedStore(root).commit
    before = ShardedStore(root, version=1).commit
    assert head.namespaces == before.namespaces == {"": {"ex": "urn:ex"}}
    assert (head.positions, head.applications) == (before.positions, before.applications)
    assert not apply(root, log, shards=2).committed
    [patch] = ShardedStore(root).changes(1)
    assert sorted(kind.code for kind, _ in patch.operations) == ["A", "D", "TC", "TX"]
    ShardedStore(root).restore(1)
    assert set(ShardedStore(root)) == set(ShardedStore(root, version=1))


def test_numbered_writes_are_applied_once(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    settings = {"txnAppId": "job", "shards": 2}
    first, second = (frame(spark, [("A", f"<urn:{n}>", "<urn:p>", '"o"', None)]) for n in "12")
    for _ in range(2):
        write(first, root, txnVersion=7, **settings)
    write(second, root, "overwrite", txnVersion=3, **settings)
    assert (len(ShardedStore(root)), ShardedStore(root).version) == (1, 1)
    write(second, root, txnVersion=8, **settings)
    assert (len(ShardedStore(root)), ShardedStore(root).version) == (2, 2)
    assert ShardedStore(root).commit.applications["job"].number == 8
    # ``apply_patches`` counts with them.
    log = b"TX . A <urn:3> <urn:p> 1 . TC . Z ."
    assert not apply_patches(spark, log, root, application="job", batch=8).committed
    assert apply_patches(spark, log, root, application="job", batch=9).committed


@pytest.mark.slow
def test_a_stream_is_written_by_its_batches(spark: SparkSession, tmp_path: Path) -> None:
    """A batch that is given again has no effect; a query without its checkpoint is reported."""
    files, root = tmp_path / "files", tmp_path / "root"
    rows = random_rows(random.Random(6), 40, "A")
    text = frame(spark, rows, 2).drop("kind")
    text.write.format("jelly").option("quotedTriples", "true").mode("append").save(str(files))
    reader = spark.readStream.format("jelly").option("maxFilesPerTrigger", "1")
    given: list[int] = []

    def batch(found: DataFrame, number: int) -> None:
        for _ in range(2):
            write(found, root, txnAppId="stream", txnVersion=number, shards=2)
        given.append(number)

    def run(checkpoint: str) -> None:
        writing = reader.load(str(files)).writeStream.foreachBatch(batch)
        writing = writing.option("checkpointLocation", str(tmp_path / checkpoint))
        writing.trigger(availableNow=True).start().awaitTermination()

    run("checkpoint")
    batches = list(range(len(list(files.glob("*.jelly")))))
    assert given == batches
    assert_same(root, model(rows))
    assert ShardedStore(root).version == len(batches)
    with pytest.raises(Exception, match="another streaming query: its checkpoint was lost"):
        run("other")
    assert (given, ShardedStore(root).version) == (batches, len(batches))
    writing = reader.load(str(files)).writeStream.format("jelly-store")
    writing = writing.option("checkpointLocation", str(tmp_path / "third"))
    with pytest.raises(Exception, match="by foreachBatch: patches with batch_sink"):
        writing.trigger(availableNow=True).start(str(root)).awaitTermination()


# Faults


def test_tasks_that_fail_and_run_again(spark: SparkSession, tmp_path: Path) -> None:
    """The first attempt of each fails after most of its rows."""
    root, markers = tmp_path / "root", tmp_path / "markers"
    markers.mkdir()
    rows = [("A", f"<urn:{n % 700}>", "<urn:p>", f'"{n}"', None) for n in range(1500)]

    def fail(number: str, partition: int) -> str:
        if number.endswith('90"') and faults.once(markers, str(partition)):
            raise OSError("this attempt fails")
        return number

    failing = udf(lambda *row: fail(*row), "string")
    found = frame(spark, rows).withColumn("object", failing("object", spark_partition_id()))
    write(found, root, shards=3)
    assert len(list(markers.iterdir())) == 3
    assert_same(root, model(rows))
    assert (ShardedStore(root).commit.operations, left(root)) == (1500, [])


def test_a_job_that_fails_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    rows = [("A", f"<urn:{n}>", "<urn:p>", f'"{n}"', None) for n in range(500)]
    write(frame(spark, rows), root, shards=2)

    def fail(number: str) -> str:
        if number == '"490"':
            raise OSError("disk full")
        return number

    failing = udf(lambda *row: fail(*row), "string")
    found = frame(spark, rows).withColumn("object", failing("object"))
    for mode in ("append", "overwrite"):
        with pytest.raises(Exception, match="disk full"):
            write(found, root, mode)
    assert_same(root, model(rows))
    store = ShardedStore(root)
    assert (store.version, store.verify(), left(root)) == (1, [], [])


def test_an_invalid_row_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    rows: list[Row] = [("A", "<urn:s>", "<urn:p>", f'"{n}"', None) for n in range(12)]
    found = spark.createDataFrame([*rows, ("A", "<urn:s>", "<urn:p>", '"o', None)], COLUMNS)
    with pytest.raises(Exception, match="partition 0: row 12, column 1: object: ") as caught:
        write(found.coalesce(1), root, shards=2)
    assert "TextError" in str(caught.value)
    assert (ShardedStore(root).version, left(root)) == (0, [])


@pytest.mark.slow
def test_two_writers_both_come_through(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    write(spark.createDataFrame([], COLUMNS), root, shards=2)

    def run(name: str) -> None:
        for number in range(3):
            found = frame(spark, [("A", "<urn:s>", f"<urn:{name}>", f'"{number}"', None)])
            write(found, root, txnAppId=name, txnVersion=number)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, ["a", "b"]))
    assert (len(quads(root)), ShardedStore(root).version) == (6, 6)
    assert ShardedStore(root).verify() == []


# Without Spark


def staged(
    write: StoreWrite, rows: Sequence[Row], task: int = 0, batch_rows: int = 7
) -> Part | None:
    """Stage rows as a task does."""
    names = [each.split()[0] for each in COLUMNS.split(", ")]
    columns = dict(zip(names, (list(each) for each in zip(*rows, strict=True)), strict=True))
    table = pa.table(columns, pa.schema([(name, pa.string()) for name in names]))
    return write.stage(task, _operations(iter(table.to_batches(max_chunksize=batch_rows))))


def begin(root: Path, *, replaces: bool = False, **settings: Any) -> StoreWrite:
    return StoreWrite.begin(storage_at(root), BatchSettings(**settings), replaces=replaces)


def rows_of(number: int, count: int = 30) -> list[Row]:
    return [("A", f"<urn:{n}>", "<urn:p>", f'"{number}"', None) for n in range(count)]


def some(parts: Iterable[Part | None]) -> Iterator[Part]:
    return (part for part in parts if part is not None)


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("A", "<urn:s>", "<urn:p>", '"o', None), "object: no object can be read here: '\"o'"),
        (("A", '"s"', "<urn:p>", "<urn:o>", None), "subject: "),
        (("A", None, "<urn:p>", "<urn:o>", None), "the subject is null"),
        (("A", "<urn:s>", "<urn:p>", "<urn:o>", ""), "an empty string does not name a graph"),
        (("X", "<urn:s>", "<urn:p>", "<urn:o>", None), "kind must be A or D (got 'X')"),
        ((None, "<urn:s>", "<urn:p>", "<urn:o>", None), "kind must be A or D (got None)"),
    ],
)
def test_rows_of_errors_count_over_batches(tmp_path: Path, row: Any, message: str) -> None:
    write = begin(tmp_path / "root")
    with pytest.raises(JellyError) as caught:
        staged(write, [*rows_of(0, 12), row, row])
    assert caught.value.row == 12
    assert message in str(caught.value)


def schema_of(columns: str) -> StructType:
    found = StructType()
    for each in columns.split(", "):
        found.add(*each.split())
    return found


def writer(root: Path, columns: str = COLUMNS, **options: str) -> StoreWriter:
    """What Spark makes before any task runs."""
    source = JellyStoreDataSource(CaseInsensitiveDict({"path": str(root), **options}))
    made = source.writer(schema_of(columns), overwrite=False)
    assert isinstance(made, StoreWriter)
    return made


def test_columns_and_options_are_checked(tmp_path: Path) -> None:
    """Before anything is created."""
    root = tmp_path / "root"
    for columns, message in (
        ("subject string, predicate string", "object is missing"),
        (f"{COLUMNS}, size integer", "size is not one of them"),
        (COLUMNS.replace("object string", "object integer"), "must be text or a structure"),
    ):
        with pytest.raises(OptionsError, match=message):
            writer(root, columns)
    for options, message in (
        ({"shards": "0"}, "shards must be a whole number from 1 to 65536"),
        ({"shards": "70000"}, "shards must be a whole number from 1 to 65536"),
        ({"shardBy": "object"}, "shardBy must be one of 'subject', 'graph'"),
        ({"metadata": "[1]"}, "metadata must be a JSON object"),
        ({"metadata": '{"a": 1}'}, "metadata must be a JSON object of strings"),
        ({"txnVersions": "1"}, "did you mean txnVersion?"),
        ({"txnVersion": "1"}, "txnAppId and txnVersion must be given together"),
        ({"versionAsOf": "1"}, "no option 'versionasof' for writing"),
    ):
        with pytest.raises(OptionsError, match=re.escape(message)):
            writer(root, **options)
    with pytest.raises(RootError, match="there is no sharded store here"):
        writer(root, create="false")
    assert not root.exists()
    writer(root, shards="2").abort([])
    writer(root, create="false", SHARDS="2").abort([])
    with pytest.raises(RootError, match="the store has 2 shards"):
        writer(root, shards="3")
    with pytest.raises(RootError, match="shard_by is subject in this store"):
        writer(root, shardBy="graph")
    assert left(root) == []


@pytest.mark.usefixtures("kind")
def test_only_attempts_that_have_succeeded_count(tmp_path: Path) -> None:
    """Of a task that runs twice, or ends too late; tasks may be given in any order."""
    root = tmp_path / "root"
    write = begin(root, shards=3)
    staged(write, rows_of(1), 0)
    parts = [staged(write, rows_of(number), number) for number in (1, 0)]
    # The task with the higher number comes later.
    parts.append(staged(write, [("D", *row[1:]) for row in rows_of(0)], 2))
    staged(write, rows_of(3), 2)
    done = write.commit(some(parts), run_here)
    assert done is not None
    assert (done.version, done.replayed.operations) == (1, 90)
    assert_same(root, model(rows_of(1)))
    assert left(root) == []


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("replaces", [False, True])
def test_a_loser_changes_nothing_or_begins_again(tmp_path: Path, replaces: bool) -> None:
    root = tmp_path / "root"
    first, *late = (f"TX . A <urn:{n}> <urn:other> 1 . TC . Z .".encode() for n in range(3))
    apply(root, first, shards=3)
    logs = [first]
    for number, retries in enumerate((0, 1)):
        write = begin(root, replaces=replaces, retries=retries)
        part = staged(write, rows_of(number))
        others = iter([late[number]])

        def other(others: Iterator[bytes] = others) -> None:
            for log in others:
                apply(root, log)
                logs.append(log)

        run = faults.overtaken(run_here, other)
        if not retries:
            with pytest.raises(CommitConflictError, match="call again to retry"):
                write.commit(some([part]), run)
            assert_same(root, replayed(*logs))
        else:
            done = write.commit(some([part]), run)
            assert done is not None
            assert done.version == 4
        assert left(root) == []
    # The overwrite came last, whatever it had begun with.
    assert_same(root, model(rows_of(1)) | (set() if replaces else replayed(*logs)))
    named = {each.store for each in ShardedStore(root).commit.shards or () if each.store}
    assert {f"{each.parent.name}/{each.name}" for each in root.glob("shard=*/v4-*")} <= named


@pytest.mark.usefixtures("kind")
def test_a_store_with_another_number_of_shards_is_a_conflict(tmp_path: Path) -> None:
    root = tmp_path / "root"
    apply(root, b"TX . A <urn:s> <urn:p> 1 . TC . Z .", shards=2)
    write = begin(root)
    part = staged(write, rows_of(0))
    reshard(root, 3)
    with pytest.raises(CommitConflictError):
        write.commit(some([part]), run_here)
    assert (ShardedStore(root).version, left(root)) == (2, [])


@pytest.mark.usefixtures("kind")
def test_a_write_that_another_driver_has_finished_first(tmp_path: Path) -> None:
    """Two drivers repeat a write: the second has no effect, whenever it learns of the first."""
    root = tmp_path / "root"
    numbered = {"application": "a", "batch": 0, "shards": 2}
    early, late = (begin(root, **numbered) for _ in range(2))
    parts = [staged(each, rows_of(0)) for each in (early, late)]
    assert early.commit(some(parts[:1]), run_here) is not None
    done = late.commit(some(parts[1:]), run_here)
    assert done is not None
    assert not done.committed
    last = begin(root, **numbered)
    assert staged(last, rows_of(0)) is None
    assert last.commit([], run_here) is None
    ShardedStore(root).restore(0)
    with pytest.raises(CheckpointError, match="a restore has undone batches 0 to 0"):
        begin(root, application="a", batch=1)
    assert left(root) == []


def test_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More statements than one process gets."""
    root = tmp_path / "root"
    write = begin(root, shards=3)
    part = staged(write, rows_of(1, 300))
    monkeypatch.setattr(processes, "CHUNK", 1000)
    write.commit(some([part]), processes.on_driver(2))
    assert_same(root, model(rows_of(1, 300)))


def test_what_an_abort_leaves_is_vacuumed(tmp_path: Path, at_once: None) -> None:  # noqa: ARG001
    """A task that ends after the abort brings its statements to the root."""
    root = tmp_path / "root"
    write = begin(root, shards=2)
    staged(write, rows_of(0))
    write.end()
    assert left(root) == []
    (root / "_staging" / "late" / "000000-x").mkdir(parents=True)
    ShardedStore(root).vacuum(grace=timedelta())
    assert left(root) == []


@pytest.mark.usefixtures("kind")
def test_the_reserved_graph_is_rejected(tmp_path: Path) -> None:
    write = begin(tmp_path / "root")
    with pytest.raises(TermError, match=r"row 0: .* which keeps the positions of logs"):
        staged(write, [("A", "<urn:s>", "<urn:p>", "<urn:o>", BOOKKEEPING_TEXT)])


TERMS = {
    SUBJECT: ["<urn:s>", "_:b", "<urn:\\u0061>", "<http://[::1]/>", "<http://é.org/%41?#>"],
    PREDICATE: ["<urn:p>", "<http://example.org:80/a/b?c=d#e>", "<urn:>", "<a:/b//c>", "<x:#>"],
    OBJECT: [
        *('""', '"\\t\\b\\n\\r\\f\\"\\\\"', '"\\u0001"', '"\\u0074"', '"\\\'"', '"\u00a0\u200b"'),
        *('"x"@en', '"x"@EN-us', '"x"@sr-Latn-RS', '"\ufffe"', '"\U0001f600"'),
        *('"01"^^<http://www.w3.org/2001/XMLSchema#integer>', "<urn:o>", "_:b-1", "_:b.1"),
        *('"1"^^<http://www.w3.org/2001/XMLSchema#integer>', '"x"^^<urn:datatype>', "_:é"),
        *('"x"^^<http://www.w3.org/2001/XMLSchema#string>', '"\\u00e9"^^<urn:datatype>'),
        *('"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>', "<<( _:b <urn:p> <urn:o> )>>"),
        *('"01"^^<http://www.w3.org/2001/XMLSchema#token>', "<< _:b <urn:p> <urn:o> >>"),
    ],
    GRAPH: ["<urn:g>", "_:g"],
}


@pytest.mark.parametrize("position", TERMS)
def test_terms_are_as_the_store_has_them(position: int) -> None:
    """Compared with what Oxigraph parses, and gives back."""
    texts = TERMS[position]
    quad = ["<urn:s>", "<urn:p>", "<urn:o>", "<urn:g>"]
    expected = []
    for text in texts:
        quad[position] = text.replace("<< ", "<<( ").replace(" >>", " )>>")
        [found] = parse(f"{' '.join(quad)} .", RdfFormat.N_QUADS)
        expected.append(str(row_of(found)[position]))
    found = canonical_terms(pa.array([*texts, *texts]), position)
    assert found.to_pylist() == expected * 2
    # What is in that form stays.
    assert canonical_terms(found, position).equals(found)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        *(("<urn:a b>", PREDICATE), ("<a>", SUBJECT), ("<http://[x]/>", OBJECT), ("<urn:%zz>", 0)),
        *(("_:b", PREDICATE), ('"o"', GRAPH), ("<< <urn:s> <urn:p> <urn:o> >>", SUBJECT), ("", 2)),
        *(('"o"@toolonglanguage', OBJECT), ('"o"^^<a>', OBJECT), ("<urn:o> <urn:o>", OBJECT)),
        *(('"a"b"', OBJECT), ('"a\n"', OBJECT), ("<urn:o>\n", OBJECT), (None, OBJECT), ("", 3)),
        *(('"x"@en-', OBJECT), ("<<( )>>", OBJECT)),
        ('"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>', OBJECT),
    ],
)
def test_terms_that_oxigraph_rejects(text: str | None, position: int) -> None:
    fine = TERMS[position][0]
    for rows in ([fine, text], [fine, text, text]):
        with pytest.raises((TextError, TermError)) as caught:
            canonical_terms(pa.array(rows, pa.string()), position, 10)
        assert caught.value.row == 11


# Drivers that are killed

KILLED = """
import sys
from jelly_plugins.spark.sharded import statements
from tests.spark.sharded.killing import die, prepare, runner
from tests.spark.sharded.test_sharded_writing import begin, rows_of, some, staged

root, place = sys.argv[1:]
write = begin(root, replaces=True, application="a", batch=1)
if place == "staging":
    statements.PartWriter.finish = die
part = staged(write, rows_of(1))
if place == "staged":
    die()
if place == "ending":
    statements.StoreWrite.end = die
prepare(place)
write.commit(some([part]), runner(place))
"""


@pytest.mark.parametrize(
    "place",
    ["staging", "staged", "writing", "applying", "applied", "committing", "committed", "ending"],
)
@pytest.mark.usefixtures("at_once")
def test_a_driver_that_is_killed_leaves_all_or_nothing(tmp_path: Path, place: str) -> None:
    root = tmp_path / "root"
    first = begin(root, shards=2, application="a", batch=0)
    first.commit(some([staged(first, rows_of(0))]), run_here)
    code = programs.run(KILLED, root, place).returncode
    assert code == -signal.SIGKILL
    written = place in ("committed", "ending")
    assert_same(root, model(rows_of(int(written))))
    again = begin(root, replaces=True, application="a", batch=1)
    done = again.commit(some([staged(again, rows_of(1))]), run_here)
    assert (done is None) is written
    assert_same(root, model(rows_of(1)))
    store = ShardedStore(root)
    assert store.version == 2
    store.vacuum(grace=timedelta())
    assert left(root) == list(root.glob("_commits/*.tmp")) == []
    assert ShardedStore(root).verify() == []


class Driver:
    """A driver that writes batches, from one number on, and is killed in the middle of one."""

    def __init__(self, folder: Path, first: int) -> None:
        command = [sys.executable, "-m", writes.__name__, str(folder), str(first)]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=ROOT,
            text=True,
            start_new_session=True,
        )
        self.done: list[int] = []

    def seconds(self, batch: int) -> float:
        """Wait for a batch, and return how long it has taken."""
        self.wait(f"begins {batch}")
        begun = time.monotonic()
        self.wait(f"done {batch}")
        return time.monotonic() - begun

    def wait(self, line: str) -> None:
        while self._read() != line:
            pass

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().rstrip()
        assert line, "the driver has ended by itself"
        if line.startswith("done"):
            self.done.append(int(line.split()[1]))
        return line

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        with self._process, suppress(AssertionError):
            while True:
                self._read()
        assert self._process.returncode == -signal.SIGKILL
        # Spark's Python workers end when they notice.
        time.sleep(0.5)


def written(store: ShardedStore) -> list[int]:
    """The batches that versions were made for; other versions are of vacuums."""
    return [
        commit.applications["writes"].number for commit in store.history() if commit.operations
    ][::-1]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kills", [30])
def test_drivers_that_are_killed_at_any_moment(tmp_path: Path, kills: int) -> None:
    """Each driver repeats the batch that the one before it has not reported."""
    pick = random.Random(8)
    root = tmp_path / "root"
    undisturbed = Driver(tmp_path, 0)
    # The first batch of a driver takes longer than the others.
    takes = [undisturbed.seconds(batch) for batch in range(2)]
    undisturbed.kill()
    next_batch = len(undisturbed.done)
    committed_unseen = staged = unclaimed = 0
    for _ in range(kills):
        driver = Driver(tmp_path, next_batch)
        which = pick.randrange(2)
        driver.wait(f"begins {next_batch + which}")
        time.sleep(pick.uniform(0, takes[which]))
        driver.kill()
        assert driver.done == list(range(next_batch, next_batch + len(driver.done)))
        next_batch += len(driver.done)
        store = ShardedStore(root)
        last = store.commit.applications["writes"].number
        # The batch that was being written is there whole, or not at all; and none is there twice.
        assert last in (next_batch - 1, next_batch)
        assert written(store) == list(range(last + 1))
        assert set(store) == writes.quads(last)
        problems = store.verify()
        assert [each for each in problems if "no commit names it" not in each] == []
        committed_unseen += last == next_batch
        staged += bool(left(root))
        unclaimed += bool(problems)
        if pick.random() < 0.3:
            store.vacuum(keep=1000, grace=timedelta())
            assert (left(root), ShardedStore(root).verify()) == ([], [])
    print(
        f"{kills} kills, {next_batch} batches: {committed_unseen} after the commit and before the "
        f"report, {staged} left staged operations, {unclaimed} left stores"
    )
    last_driver = Driver(tmp_path, next_batch)
    last_driver.seconds(next_batch)
    last_driver.kill()
    store = ShardedStore(root)
    assert written(store) == list(range(next_batch + 1))
    assert store.verify(every=True) == []
