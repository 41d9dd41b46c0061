"""Streaming queries that end, on machines that have much else to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final
from uuid import uuid4

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

_ATTEMPTS: Final = 10


def finished(start: Callable[[], StreamingQuery]) -> StreamingQuery:
    """Run a query to its end.

    Spark gives up if the Python process of a stream does not answer within ten seconds, and has no
    setting for that limit. The query is then started again, and continues from its checkpoint.
    """
    for attempt in range(_ATTEMPTS):
        query = start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if "failed to connect back" not in str(error) or attempt == _ATTEMPTS - 1:
                raise
        else:
            break
    return query


def in_memory(stream: DataFrame, name: str, folder: Path) -> StreamingQuery:
    """Run a query over what is there, into a table in memory, which cannot continue from a
    checkpoint.

    :param name: name of the table.
    :param folder: folder for checkpoints.
    """
    writer = stream.writeStream.format("memory").queryName(name).trigger(availableNow=True)

    def start() -> StreamingQuery:
        return writer.option("checkpointLocation", f"{folder}/{uuid4()}").start()

    return finished(start)
