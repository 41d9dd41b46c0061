"""What a cluster does with the formats and with sharded stores: a process has one session of Spark.

``python -m tests.spark.shards.cluster MASTER FOLDER [ZIP]`` reads, writes, streams, applies, and
lets two writers apply batches at once until both are through. MASTER may be ``connect``, for a
server of Spark Connect; a zip of the package is sent to executors. It prints where these have the
package from, and at the end that all of it holds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import Iri, Literal, Triple, read
from jelly_plugins.spark import ShardedStore, apply_patches, batch_sink, register, session, verify

from ..conftest import SETTINGS
from .logs import assert_same, log_file
from .model import quads_after, random_log


def where(_: Iterator[Any]) -> Iterator[Any]:
    import pyarrow as pa

    import jelly_plugins

    yield pa.RecordBatch.from_pydict(
        {"found": [f"{jelly_plugins.__file__} {jelly_plugins.native}"]}
    )


def streamed(frame: DataFrame, kind: str, folder: Path) -> None:
    """Run a stream into files, and again."""
    writing = frame.writeStream.format(kind).trigger(availableNow=True)
    for _ in range(2):
        checkpoint = writing.option("checkpointLocation", f"{folder}/{kind}-checkpoint")
        checkpoint.start(f"{folder}/{kind}").awaitTermination()


def formats(spark: SparkSession, folder: Path) -> None:
    rows = range(200)
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
    arriving = spark.readStream.format("jelly").load(written)
    streamed(arriving, "jelly", folder)
    assert spark.read.format("jelly").load(f"{folder}/jelly").count() == len(rows)
    streamed(arriving.selectExpr("'A' AS kind", "*"), "jelly-patch", folder)
    patches = spark.read.format("jelly-patch").load(f"{folder}/jelly-patch")
    apply_patches(spark, patches, folder / "streamed", shards=2)
    assert len(ShardedStore(folder / "streamed")) == len(rows)
    stored = spark.read.format("jelly-store").load(f"{folder}/streamed")
    assert stored.select("object").distinct().count() == len(rows)


def follow(spark: SparkSession, logs: Path, folder: Path) -> None:
    stream = spark.readStream.format("jelly-patch").option("maxFilesPerTrigger", "1")
    sink = batch_sink(folder / "follower", application="a", shards=2)
    writing = stream.load(str(logs)).writeStream.foreachBatch(sink).trigger(availableNow=True)
    writing.option("checkpointLocation", f"{folder}/applied").start().awaitTermination()


def stores(spark: SparkSession, folder: Path, *, connect: bool) -> None:
    """A log, a DataFrame, a stream; and two writers, each of which has to begin again at times."""
    patches = random_log(92, patches=4)
    logs, root = folder / "logs", folder / "root"
    logs.mkdir()
    for number, patch in enumerate(patches):
        log_file(logs / f"{number}.jellyp", [patch])
    assert apply_patches(spark, logs / "0.jellyp", root, shards=2).committed
    one_each = spark.read.format("jelly-patch").option("maxPartitionBytes", "1").load(str(logs))
    assert apply_patches(spark, one_each, root).committed
    assert not apply_patches(spark, one_each, root).committed
    assert_same(root, quads_after(patches))
    if not connect:
        follow(spark, logs, folder)
        assert_same(folder / "follower", quads_after(patches))

    def write(name: str) -> None:
        for number in range(2):
            log = folder / f"{name}{number}.rdfp"
            log.write_text(f"TX . A <urn:{name}> <urn:p> <urn:{number}> . TC . Z .")
            apply_patches(spark, log, folder / "shared", shards=2, application=name, batch=number)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["a", "b"]))
    store = ShardedStore(folder / "shared")
    assert (len(store), store.version) == (4, 4)
    assert verify(folder / "shared") == []


def main(master: str, folder: str, shipped: str = "") -> None:
    settings = {**SETTINGS, "spark.local.dir": f"{folder}/local", "spark.executor.memory": "512m"}
    settings["spark.sql.warehouse.dir"] = f"{folder}/warehouse"
    settings["spark.submit.pyFiles"] = shipped
    # Executors may lack the tests.
    del settings["spark.python.daemon.module"]
    if master == "connect":
        spark = SparkSession.builder.config(map=settings).remote("local[2]").getOrCreate()
    else:
        spark = session(master, name="cluster", config=settings)
    register(spark)
    try:
        print(spark.range(1).mapInArrow(where, "found string").first().found)
        formats(spark, Path(folder))
        stores(spark, Path(folder), connect=master == "connect")
    finally:
        spark.stop()
    print("all of it holds")


if __name__ == "__main__":
    main(*sys.argv[1:])
