"""Logs in the rows of a DataFrame, as the messages of a topic are."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jelly_plugins import ChainError, JellyError, OptionsError
from jelly_plugins.patch import Patch, write_patches
from jelly_plugins.spark import ShardedStore, apply_patches, batch_sink, from_jelly_patch
from jelly_plugins.spark.sharded import IncompleteLogError

from .logs import Writer, assert_same, patch, replayed


def message(*patches: Patch) -> bytes:
    out = io.BytesIO()
    write_patches(patches, out)
    return out.getvalue()


def messages(
    spark: SparkSession, rows: Iterable[tuple[int, int | None, bytes | None]], **options: str
) -> DataFrame:
    """A batch of a topic, in two partitions of Spark."""
    schema = "partition int, offset bigint, value binary"
    frame = spark.createDataFrame(spark.sparkContext.parallelize(list(rows), 2), schema)
    return frame.selectExpr("'t' AS topic", "*").withColumn(
        "patch", from_jelly_patch("value", options)
    )


def test_messages_are_applied_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    writer = Writer(seed=41)
    patches = [writer.patch() for _ in range(3)]
    # A patch without rows, unless there are rows for its headers.
    patches.append(patch(writer.number, []))
    writer.number += 1
    patches += [writer.patch() for _ in range(3)]
    values = [message(each) for each in patches]
    # A message may have several patches.
    values[:2] = [message(*patches[:2])]
    rows = [(0, 2 * offset, value) for offset, value in enumerate(values)]
    root = tmp_path / "root"
    frame = messages(spark, [*rows[:2], (0, 3, b""), *rows[2:]], headers="true")
    done = apply_patches(spark, frame, root, column="patch", shards=3)
    assert (done.version, done.replayed.patches, done.replayed.aborted) == (1, 7, 6)
    assert_same(root, replayed(*values))
    assert not apply_patches(spark, frame, root, column="patch").committed


def test_batches_of_messages(spark: SparkSession, tmp_path: Path) -> None:
    """Patches without ids, of two partitions; each batch counts once, by its number."""
    root = tmp_path / "root"
    sink = batch_sink(root, application="a", column="patch", shards=2)
    change = "TX . A <urn:s> <urn:p> {} . D <urn:s> <urn:p> {} . TC ."
    logs = [change.format(number, number - 1).encode() for number in range(4)]
    batches = [[(1, 0, logs[0]), (0, 0, logs[1])], [(1, 1, logs[2]), (0, 1, logs[3])]]
    for number, rows in enumerate(batches):
        for _ in range(2):
            sink(messages(spark, rows), number)
        assert ShardedStore(root).version == number + 1
    assert_same(root, replayed(*logs))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(0, 1, b""), (0, 1, b"TX . TC ."), (0, 1, b"TX . TC .")], "t/0: value 1 comes after"),
        ([(0, 1, b"TX . TC ."), (1, 0, b"TX . TC ."), (0, 0, b"TX . TC .")], "sort the DataFrame"),
        ([(0, 0, b"TX . TC ."), (0, 7, None)], "t/0/7: the value is null"),
        ([(0, None, b"TX . TC .")], "must be a number"),
        ([(0, 8, b"TX . A")], "t/0/8: the value is null or corrupt"),
        ([(0, 0, b"TX . A <urn:s> <urn:p> 1 ."), (0, 1, b"TX . TC .")], "t/0/0: .* corrupt"),
    ],
)
def test_messages_that_are_rejected(
    spark: SparkSession,
    tmp_path: Path,
    rows: list[tuple[int, int | None, bytes | None]],
    message: str,
) -> None:
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "error"}
    frame = messages(spark, rows, **options)
    root = tmp_path / "root"
    with pytest.raises(JellyError, match=message):
        apply_patches(spark, frame, root, column="patch", shards=2)
    assert ShardedStore(root).version == 0


def test_a_corrupt_message_is_named(spark: SparkSession, tmp_path: Path) -> None:
    frame = messages(spark, [(0, 4, b"TX . TC ."), (1, 5, b"TX . A")])
    place = sf.concat_ws("/", "topic", "partition", "offset")
    decoded = frame.withColumn("patch", from_jelly_patch("value", source=place))
    with pytest.raises(JellyError, match=r"^reading the patches failed: \w+Error: t/1/5: .*$"):
        apply_patches(spark, decoded, tmp_path / "root", column="patch", shards=2)


def test_a_chain_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    writer = Writer(seed=42)
    first, _, third = (message(writer.patch()) for _ in range(3))
    frame = messages(spark, [(0, 0, first), (0, 2, third)])
    with pytest.raises(ChainError, match="follows patch <urn:patch:1>"):
        apply_patches(spark, frame, root, column="patch", shards=2)
    reordered = messages(spark, [(0, 1, first), (0, 0, first)])
    with pytest.raises(IncompleteLogError, match="value 0 comes after value 1"):
        apply_patches(spark, reordered, root, column="patch", order_by=["offset"])


def test_settings_are_checked(spark: SparkSession, tmp_path: Path) -> None:
    frame = messages(spark, [])
    for column, order_by, message in (
        ("value", ["offset"], r"result of from_jelly_patch.*got binary"),
        ("patches", ["offset"], "no column patches"),
        ("patch", ["topic", "number"], "no column number.*order_by"),
    ):
        with pytest.raises(OptionsError, match=message):
            apply_patches(spark, frame, tmp_path, column=column, order_by=order_by)
    with pytest.raises(TypeError, match="order_by must be"):
        batch_sink(tmp_path, application="a", column="patch", order_by="offset")
    with pytest.raises(ValueError, match="at least one column"):
        batch_sink(tmp_path, application="a", column="patch", order_by=[])
    with pytest.raises(ValueError, match="requires a DataFrame"):
        apply_patches(spark, b"", tmp_path, column="patch")
    assert list(tmp_path.iterdir()) == []
