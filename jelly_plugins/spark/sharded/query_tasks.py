"""A query to all shards as a Spark job: one task for each shard, its solutions as rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import pyarrow as pa
from pyoxigraph import Store
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from .solutions import solutions
from .storage import Storage

#: Solutions that go to Spark together.
_ROWS: Final = 10_000


def select_on_spark(
    spark: SparkSession,
    storage: Storage,
    stores: Sequence[tuple[str, str | None]],
    query: str,
    variables: Sequence[str],
) -> DataFrame:
    """The solutions of a SELECT query in several stores.

    :param storage: where they lie.
    :param stores: their names, with the checksums of their lists of files.
    :param variables: of the query, in the order of the columns.
    """
    schema = StructType([StructField(name, StringType()) for name in variables])
    arrow = pa.schema([(name, pa.string()) for name in variables])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist():
                with storage.open(*stores[number]) as opened:
                    found = solutions(Store.read_only(str(opened.folder)), query)
                    while rows := list(islice(found, _ROWS)):
                        yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    numbers = spark.range(0, len(stores), 1, max(1, len(stores)))
    return numbers.mapInArrow(run, schema)
