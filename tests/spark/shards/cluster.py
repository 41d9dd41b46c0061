"""What a cluster does with sharded stores, as a program: a process has one session of Spark.

``python -m tests.spark.shards.cluster MASTER FOLDER [BATCHES]`` reads, writes, applies, streams,
and lets two writers apply batches at once until both are through. With more than one batch it also
streams into files, and asks.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession

from jelly_plugins import Iri, Literal, Triple, read
from jelly_plugins.spark import ShardedStore, apply_patches, batch_sink, session, verify

from ..conftest import SETTINGS
from .logs import Writer, assert_same, log_file, replayed


def run(spark: SparkSession, folder: Path, batches: int) -> None:
    # Written by executors, and read again.
    rows = range(100 * batches)
    frame = spark.createDataFrame([(f"<urn:{n}>", "<urn:p>", f'"{n}"') for n in rows])
    named = frame.toDF("subject", "predicate", "object").repartition(2)
    written = f"{folder}/written"
    named.write.format("jelly").mode("append").save(written)
    assert spark.read.format("jelly").load(written).count() == len(rows)
    files = [each for each in Path(written).iterdir() if each.suffix == ".jelly"]
    found = {statement for file in files for statement in read(str(file))}
    assert found == {Triple(Iri(f"urn:{n}"), Iri("urn:p"), Literal(f"{n}")) for n in rows}

    some = spark.read.schema("object string").format("jelly").option("subject", "<urn:7>")
    assert [row.object for row in some.load(written).collect()] == ['"7"']

    if batches > 1:
        stream_files(spark, folder, written, len(rows))

    # Applied: a log, a DataFrame, a stream.
    writer = Writer(seed=41)
    logs = folder / "logs"
    logs.mkdir()
    made = [log_file(logs / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    root = folder / "root"
    apply_patches(spark, made[0], root, shards=2)
    one_each = spark.read.format("jelly-patch").option("maxPartitionBytes", "1")
    assert apply_patches(spark, one_each.load(str(logs)), root).committed
    assert_same(root, replayed(*made))
    stream = spark.readStream.format("jelly-patch").option("maxFilesPerTrigger", "1")
    for number in range(2, 2 + batches):
        made.append(log_file(logs / f"{number}.jellyp", [writer.patch()]))
    sink = batch_sink(folder / "follower", application="a")
    writing = stream.load(str(logs)).writeStream.foreachBatch(sink)
    writing = writing.option("checkpointLocation", f"{folder}/applied").trigger(availableNow=True)
    writing.start().awaitTermination()
    assert_same(folder / "follower", replayed(*made))

    # Two writers at once, each of which has to begin again at times.
    shared = folder / "shared"

    def write(name: str) -> int:
        for number in range(batches):
            text = f"TX . A <urn:{name}> <urn:p> <urn:{number}> . TC . Z ."
            log = folder / f"{name}{number}.rdfp"
            log.write_text(text)
            apply_patches(spark, log, shared, shards=2, application=name, batch=number)
        return batches

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(write, ["a", "b"])) == [batches, batches]
    store = ShardedStore(shared)
    assert (len(store), store.version) == (2 * batches, 2 * batches)
    assert verify(shared) == []


def stream_files(spark: SparkSession, folder: Path, written: str, rows: int) -> None:
    """Stream from files to files, and to patches, which are applied; ask what came of it."""
    for kind, columns in (("jelly", "*"), ("jelly-patch", "'A' AS kind, *")):
        for _ in range(2):
            arriving = spark.readStream.format("jelly").load(written)
            writing = arriving.selectExpr(*columns.split(", ")).writeStream.format(kind)
            writing = writing.option("checkpointLocation", f"{folder}/{kind}-checkpoint")
            writing.trigger(availableNow=True).start(f"{folder}/{kind}").awaitTermination()
    assert spark.read.format("jelly").load(f"{folder}/jelly").count() == rows
    apply_patches(
        spark,
        spark.read.format("jelly-patch").load(f"{folder}/jelly-patch"),
        folder / "streamed",
        shards=2,
    )
    streamed = ShardedStore(folder / "streamed")
    assert len(streamed) == rows
    stored = spark.read.format("jelly-store").load(f"{folder}/streamed")
    assert stored.select("object").distinct().count() == rows


def main() -> None:
    master, folder, *rest = sys.argv[1:]
    settings = {**SETTINGS, "spark.local.dir": f"{folder}/local", "spark.executor.memory": "512m"}
    settings["spark.sql.warehouse.dir"] = f"{folder}/warehouse"
    spark = session(master, name="cluster", config=settings)
    try:
        run(spark, Path(folder), int(rest[0]) if rest else 2)
    finally:
        spark.stop()
    print("all of it holds")


if __name__ == "__main__":
    main()
