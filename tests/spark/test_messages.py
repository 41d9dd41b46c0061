"""Message logs as the input of a stream, through Jelly files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

from jelly_plugins.messages import convert_messages

from .queries import in_memory


def test_logs_are_the_input_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for number in range(2):
        log = (
            f'VERSION "1.2-messages" <urn:{number}> <urn:p> 1, 2 . MESSAGE MESSAGE '
            f"<urn:{number}> <urn:p> 3 . MESSAGE"
        )
        source = tmp_path / "log.ttl"
        source.write_text(log)
        convert_messages(source, folder / f"{number}.jelly")
    stream = spark.readStream.format("jelly").option("sourceColumns", "true").load(str(folder))
    in_memory(stream, "messages", tmp_path / "checkpoints")
    rows = spark.table("messages").collect()
    assert Counter((Path(row.source).name, row.frame) for row in rows) == {
        ("0.jelly", 0): 2,
        ("0.jelly", 2): 1,
        ("1.jelly", 0): 2,
        ("1.jelly", 2): 1,
    }
