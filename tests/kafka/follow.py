"""Apply the patches of a topic to a sharded store, until the program is killed or, with ``once``,
until the end of the topic. It prints the version that each batch makes.
"""

from __future__ import annotations

import sys

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from jelly_plugins.spark import ShardedStore, batch_sink, from_jelly_patch, session

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    "spark.ui.enabled": "false",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


def main(address: str, topic: str, folder: str, per_batch: str, mode: str) -> None:
    spark = session("local[2]", name="follow", config=SETTINGS)
    messages = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", address)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", per_batch)
        .load()
    )
    place = sf.concat_ws("/", "topic", "partition", "offset")
    # Without rows for headers, a patch without operations would be missing.
    rows = sf.explode(from_jelly_patch("value", {"headers": "true"}, source=place)).alias("row")
    sink = batch_sink(f"{folder}/root", application="follow", shards=4)

    def apply(frame: DataFrame, number: int) -> None:
        sink(frame, number)
        print("version", ShardedStore(f"{folder}/root").version, flush=True)

    writing = (
        messages.select(place.alias("source"), rows)
        .select("source", "row.*")
        .writeStream.foreachBatch(apply)
        .option("checkpointLocation", f"{folder}/checkpoint")
    )
    if mode == "once":
        writing = writing.trigger(availableNow=True)
    writing.start().awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
