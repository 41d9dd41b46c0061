"""Spark's failures as errors of this library, and queries with a task for each shard."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from ...errors import JellyError
from .queries import as_text
from .root import Shard
from .scanning import reading
from .storage import Storage

#: Solutions in a batch that is sent to Spark.
_ROWS: Final = 10_000

_REASON: Final = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)


@contextmanager
def failures_as_errors(what: str) -> Iterator[None]:
    """Convert exceptions that Spark raises for a failed job to a :class:`JellyError`."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        # The worker's traceback ends with the reason; Spark's own lines follow it.
        found = _REASON.findall(text)
        reason = next((f"{name}: {each}" for name, each in found if "Exception" not in name), None)
        lines = text.strip().splitlines()
        # Without a worker, Java's message has the reason after the name of the call.
        java = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
        raise JellyError(f"{what} failed: {reason or java}") from error


def select_on_spark(
    spark: SparkSession,
    storage: Storage,
    shards: Sequence[Shard],
    query: str,
    variables: Sequence[str],
) -> DataFrame:
    """Query several shards, and return the solutions of a SELECT query.

    :param storage: storage of the root.
    :param shards: the shards, none of them empty.
    :param query: the query.
    :param variables: the query's variables, in the order of the columns.
    """
    schema = StructType([StructField(name, StringType()) for name in variables])
    arrow = pa.schema([(name, pa.string()) for name in variables])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist():
                with reading(storage, shards[number]) as store:
                    found: Any = store.query(query)
                    texts = (as_text(variables, solution) for solution in found)
                    while rows := list(islice(texts, _ROWS)):
                        yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    numbers = spark.range(0, len(shards), 1, max(1, len(shards)))
    return numbers.mapInArrow(run, schema)
