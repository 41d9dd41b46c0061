"""Sharded stores with Spark: from logs, from DataFrames, from streams."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyoxigraph import NamedNode
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import ChainError, JellyError, OptionsError
from jelly_plugins.patch import add
from jelly_plugins.spark import ShardedStore, apply_patches, batch_sink
from jelly_plugins.spark.sharded import Applied, CheckpointError, IncompleteLogError
from jelly_plugins.spark.sharded.commits import make_log
from jelly_plugins.spark.sharded.errors import RootError
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.tasks import failures_as_errors

from .logs import Writer, apply, assert_same, log_file, patch, quad, replayed


def test_a_log_is_applied_in_two_batches(spark: SparkSession, tmp_path: Path) -> None:
    writer = Writer(seed=21)
    patches = [writer.patch() for _ in range(4)]
    first = log_file(tmp_path / "first.jellyp", patches[:2])
    all_ = log_file(tmp_path / "all.rdfp", patches)
    root = tmp_path / "root"
    done = apply_patches(spark, first, root, shards=4)
    assert (done.version, done.replayed.patches, done.replayed.aborted) == (1, 2, 2)
    done = apply_patches(spark, all_, root)
    assert (done.version, done.replayed.patches) == (2, 2)
    assert not apply_patches(spark, [first, all_][1], str(root), shard_by="subject").committed
    assert_same(root, replayed(all_))


@pytest.mark.parametrize("headers", ["true", "false"])
def test_a_dataframe_is_applied(spark: SparkSession, tmp_path: Path, headers: str) -> None:
    """A folder of files is read side by side, and applied in their order."""
    writer = Writer(seed=22)
    folder = tmp_path / "logs"
    folder.mkdir()
    logs = [log_file(folder / f"{n}.jellyp", [writer.patch(), writer.patch()]) for n in range(3)]
    root = tmp_path / "root"
    # Each file becomes a partition of its own.
    reader = spark.read.format("jelly-patch").option("headers", headers)
    frame = reader.option("maxPartitionBytes", "1").load(str(folder))
    done = apply_patches(spark, frame, root, shards=3)
    assert (done.version, done.replayed.patches, done.replayed.aborted) == (1, 6, 6)
    assert_same(root, replayed(*logs))
    assert not apply_patches(spark, frame, root).committed
    log_file(folder / "3.jellyp", [patch(9, [])])
    if headers == "true":
        with pytest.raises(ChainError, match="follows patch <urn:patch:8>"):
            apply_patches(spark, reader.load(str(folder)), root)


def test_a_failure_in_java_is_reported_by_its_reason() -> None:
    """For example, when Spark has lost its workers; py4j's name of the call is not helpful."""

    class FailureError(Py4JJavaError):
        def __init__(self) -> None: ...

        def __str__(self) -> str:
            said = "An error occurred while calling o314.collectToPython."
            return f"{said}\n: java.io.IOException: Stream closed\n\tat java.base/java.io\n"

    expected = "^reading failed: java.io.IOException: Stream closed$"
    with pytest.raises(JellyError, match=expected), failures_as_errors("reading"):
        raise FailureError


def test_a_dataframe_of_something_else_is_rejected(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="columns of the format jelly-patch"):
        apply_patches(spark, spark.range(3), tmp_path / "root")
    with pytest.raises(ValueError, match="requires application"):
        apply_patches(spark, spark.readStream.format("rate").load(), tmp_path / "root", shards=1)


def test_a_stream_is_applied_each_batch_once(spark: SparkSession, tmp_path: Path) -> None:
    """Whatever happens between our commit and Spark's."""
    writer = Writer(seed=23)
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    logs = [log_file(folder / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    applied: list[Applied] = []
    sink = batch_sink(
        root, application="test", shards=2, shard_by="graph", on_applied=applied.append
    )
    died = []

    def dying(frame: DataFrame, batch: int) -> None:
        sink(frame, batch)
        if not died:
            died.append(batch)
            raise OSError("the driver dies")

    def run() -> None:
        stream = spark.readStream.format("jelly-patch").option("maxFilesPerTrigger", 1)
        query = (
            stream.load(str(folder))
            .writeStream.foreachBatch(dying)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    with pytest.raises(StreamingQueryException, match="the driver dies"):
        run()
    assert ShardedStore(root).version == 1
    run()
    assert [each.committed for each in applied] == [True, False, True]
    assert_same(root, replayed(*logs))
    logs.append(log_file(folder / "2.jellyp", [writer.patch()]))
    run()
    assert ShardedStore(root).version == 3
    assert_same(root, replayed(*logs))


@pytest.mark.slow
def test_a_streaming_dataframe_is_applied_as_far_as_there_is(
    spark: SparkSession, tmp_path: Path
) -> None:
    writer = Writer(seed=24)
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    logs = [log_file(folder / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    frame = spark.readStream.format("jelly-patch").load(str(folder))
    done = apply_patches(spark, frame, root, shards=2, application="a b")
    assert (done.version, done.replayed.patches, done.committed) == (1, 2, True)
    assert not apply_patches(spark, frame, root, application="a b").committed
    log_file(folder / "2.jellyp", [patch(7, [])])
    logs.append(log_file(folder / "3.jellyp", [patch(8, writer._operations(9))]))
    with pytest.raises(ChainError) as caught:
        apply_patches(spark, frame, root, application="a b")
    assert caught.value.expected == "<urn:patch:1>"
    assert_same(root, replayed(*logs[:2]))


def test_a_large_log_comes_in_batches(spark: SparkSession, tmp_path: Path) -> None:
    """Text, packed, in four shards by graph; a subject in one of them is found again."""
    data = "".join(
        f'A <urn:s{number}> <urn:p> "{number}" <urn:g{number % 7}> .\n' for number in range(5000)
    )
    path = tmp_path / "log.rdfp.gz"
    path.write_bytes(gzip.compress(f"TX .\n{data}TC .\n".encode()))
    root = tmp_path / "root"
    assert apply_patches(spark, path, root, shards=4, shard_by="graph").shards >= 2
    store = ShardedStore(root)
    assert len(store) == 5000
    assert store.count(None, None, None, NamedNode("urn:g3")) == 714
    assert store.verify() == []


def test_rows_that_are_not_as_they_were_read_are_rejected(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each of these was applied in part, or in another order, and said to be complete."""
    writer = Writer(seed=25)
    folder, empty, root = tmp_path / "logs", tmp_path / "empty", tmp_path / "root"
    folder.mkdir()
    empty.mkdir()
    logs = [log_file(folder / f"{n}.rdfp", [writer.patch()]) for n in range(2)]
    other = log_file(tmp_path / "other.rdfp", [patch(9, [add(quad("s"))], prev=False)])
    reader = spark.read.format("jelly-patch")
    frame = reader.load(str(folder))
    for odd in (
        frame.repartition(2, "subject"),
        frame.filter("kind != 'D'"),
        frame.limit(20),
        frame.sort("subject"),
        frame.union(reader.load(other)),
        # Whole files are away.
        frame.filter("source NOT LIKE '%1.rdfp'"),
        frame.filter("source NOT LIKE '%0.rdfp'"),
        frame.limit(reader.load(logs[0]).count()),
        frame.filter("false"),
        frame.filter("source LIKE '%0.rdfp'").union(reader.load(logs[1])),
        reader.load(str(empty)),
    ):
        with pytest.raises(IncompleteLogError):
            apply_patches(spark, odd, root, shards=2)
    with pytest.raises(OptionsError, match="mark is missing"):
        apply_patches(spark, frame.drop("mark"), root)
    assert (ShardedStore(root).version, list((root / "_staging").iterdir())) == (0, [])
    # Transactions lie in several partitions now.
    back = frame.repartition(3, "subject").repartitionByRange(3, "source", "order")
    # In which order the columns are, and which there are besides, does not matter.
    back = back.sortWithinPartitions("source", "order").select(*sorted(frame.columns))
    assert apply_patches(spark, back.drop("transaction"), root).committed
    assert_same(root, replayed(*logs))


@pytest.mark.slow
def test_files_without_rows_are_no_loss(spark: SparkSession, tmp_path: Path) -> None:
    """Nor is a stream that begins before there is a file."""
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    stream = spark.readStream.format("jelly-patch").load(str(folder))
    assert apply_patches(spark, stream, root, shards=2, application="a").version == 1
    texts = ["H a 1 .\nZ .\n", "TX .\nA <urn:s> <urn:p> 1 .\nTC .\n", "H a 1 .\nZ .\n"]
    logs = [folder / f"{number}.rdfp" for number in range(len(texts))]
    for log, text in zip(logs, texts, strict=True):
        log.write_text(text)
    frame = spark.read.format("jelly-patch").option("maxPartitionBytes", "1").load(str(folder))
    assert frame.count() == 5
    assert apply_patches(spark, frame, tmp_path / "other", shards=2).replayed.operations == 1
    assert apply_patches(spark, stream, root, application="a").replayed.operations == 1
    for found in (root, tmp_path / "other"):
        assert_same(found, replayed(*logs))


@pytest.mark.slow
def test_files_that_a_stream_leaves_out_are_reported(spark: SparkSession, tmp_path: Path) -> None:
    """In a batch of their own, and in one with others."""
    writer = Writer(seed=27)
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    for number in range(3):
        log_file(folder / f"{number}.rdfp", [writer.patch()])
    for most in ("1", "3"):
        stream = spark.readStream.format("jelly-patch").option("maxFilesPerTrigger", most)
        frame = stream.load(str(folder)).filter("source NOT LIKE '%1.rdfp'")
        with pytest.raises(IncompleteLogError, match=r"has no rows|file 2 of 3 is missing"):
            apply_patches(spark, frame, root, shards=2, application=most)
    assert ShardedStore(root).head().quads == len(replayed(folder / "0.rdfp"))


@pytest.mark.parametrize("streams", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_file_that_is_truncated_after_headers_is_an_error(
    spark: SparkSession, tmp_path: Path, streams: bool
) -> None:
    log, root = tmp_path / "log.rdfp", tmp_path / "root"
    log.write_text("H id <urn:1> .\nTX .\nA <urn:s> <urn:p> 1 .\nTC .\nZ .\nH id <urn:2> .\n")
    source = spark.readStream if streams else spark.read
    frame = source.format("jelly-patch").load(str(log))
    with pytest.raises(JellyError, match="after the headers of a patch"):
        apply_patches(spark, frame, root, shards=2, application="a" if streams else None)
    assert ShardedStore(root).version == 0


@pytest.mark.slow
def test_a_lost_checkpoint_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    """Batches of a new query have the numbers of those that were applied, and other data."""
    writer = Writer(seed=26)
    folder, root = tmp_path / "logs", tmp_path / "root"
    folder.mkdir()
    logs = [log_file(folder / "0.jellyp", [writer.patch()])]
    frame = spark.readStream.format("jelly-patch").load(str(folder))
    apply_patches(spark, frame, root, shards=2, application="a")
    shutil.rmtree(root / "_checkpoints")
    logs.append(log_file(folder / "1.jellyp", [writer.patch()]))
    with pytest.raises(CheckpointError, match="another application name"):
        apply_patches(spark, frame, root, application="a")
    assert apply_patches(spark, frame, root, application="b").replayed.patches == 1
    assert_same(root, replayed(*logs))


@pytest.mark.slow
def test_an_executor_that_does_not_see_the_root_is_reported(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here the probe is taken away; with another file system see ``test_sharded_cluster``."""
    log = log_file(tmp_path / "0.jellyp", [Writer().patch()])
    root = tmp_path / "root"
    monkeypatch.setattr(Path, "write_text", lambda *_: 0)
    for source in (log, spark.read.format("jelly-patch").load(log)):
        with pytest.raises(JellyError, match="does not see the driver's files"):
            apply_patches(spark, source, root, shards=2)
    assert ShardedStore(root).version == 0


def test_an_executor_that_does_not_see_a_store_is_reported(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Where it only reads: a query. Of changes, see below."""
    root = tmp_path / "root"
    apply_patches(spark, log_file(tmp_path / "0.jellyp", [Writer().patch()]), root, shards=2)
    frame = ShardedStore(root).select_dataframe(spark, "SELECT * { ?s ?p ?o }")
    assert frame.count()
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(Exception, match="every executor must be able to access the root") as caught:
        frame.collect()
    assert f"RootError: {root}: shard=" in str(caught.value)


def test_the_feed_of_an_executor_that_does_not_see_the_root(tmp_path: Path) -> None:
    """What its task does."""
    from jelly_plugins.spark.datasource.feed import FeedReader
    from jelly_plugins.spark.datasource.schema import patch_schema
    from jelly_plugins.spark.datasource.settings import ReadSettings, StoreSettings

    root = tmp_path / "root"
    apply(root, log_file(tmp_path / "0.jellyp", [Writer().patch()]), shards=2)
    store, settings = StoreSettings(changes=True), ReadSettings()
    reader = FeedReader(storage_at(root), store, settings, patch_schema(settings))
    [part, *_] = reader.partitions()
    root.rename(tmp_path / "elsewhere")
    with pytest.raises(RootError, match="every executor must be able to access the root"):
        list(reader.read(part))


def test_what_a_stream_left_before_its_first_batch_is_cleared(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark cannot go on from a checkpoint that was half written."""
    folder = tmp_path / "logs"
    folder.mkdir()
    root = tmp_path / "root"
    log = log_file(folder / "0.jellyp", [Writer().patch()])
    make_log(storage_at(root), 2)
    left = root / "_checkpoints" / "a%2Fb"
    (left / "offsets").mkdir(parents=True)
    (left / "metadata").write_bytes(b"")
    frame = spark.readStream.format("jelly-patch").load(str(folder))
    assert apply_patches(spark, frame, root, application="a/b").committed
    assert_same(root, replayed(log))
    assert [each.name for each in left.parent.iterdir()] == [left.name]
    # What has applied something stays.
    (left / "metadata").write_bytes(b"")
    with pytest.raises(JellyError, match="the streaming query failed") as caught:
        apply_patches(spark, frame, root, application="a/b")
    assert "remove its checkpoint" not in str(caught.value)
    # One that the caller has chosen is named.
    other = tmp_path / "checkpoint"
    other.mkdir()
    (other / "metadata").write_bytes(b"")
    with pytest.raises(JellyError, match=f"remove its checkpoint, {other}"):
        apply_patches(spark, frame, root, application="c", checkpoint=str(other))
