"""Run the work of shards, and queries to them, as Spark jobs with one task for each shard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from ...errors import JellyError
from .batch import Runner
from .queries import as_text
from .scanning import reading
from .shard import ShardResult, ShardWork, apply_shard
from .storage import Storage

#: Does the work of one shard.
Task: TypeAlias = Callable[[ShardWork], ShardResult]

_Work = TypeVar("_Work")

#: Solutions in a batch that is sent to Spark.
_ROWS: Final = 10_000

_REASON: Final = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)


def on_spark(spark: SparkSession, task: Task = apply_shard) -> Runner:
    """Return a runner that does the work of shards in the tasks of one job.

    Spark runs a failed task again, up to ``spark.task.maxFailures`` times, and may run a slow one
    twice. Each attempt creates its own store, and the result of one attempt is used.
    """

    def applied(work: ShardWork) -> dict[str, Any]:
        work.attempt.check()
        return asdict(task(work))

    def run(works: Sequence[ShardWork]) -> list[ShardResult]:
        return [ShardResult(**result) for result in run_each(spark, works, applied)]

    return run


def run_each(
    spark: SparkSession,
    works: Sequence[_Work],
    function: Callable[[_Work], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Call a function with each of ``works``, each in its own task.

    :raises JellyError: a task has failed in all attempts.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            results = [json.dumps(function(works[number])) for number in batch[0].to_pylist()]
            yield pa.RecordBatch.from_pydict({"result": results})

    # The range has one partition for each number, in order.
    numbers = spark.range(0, len(works), 1, len(works))
    with failures_as_errors("a shard's task"):
        return [
            json.loads(row.result) for row in numbers.mapInArrow(run, "result string").collect()
        ]


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
    stores: Sequence[tuple[str, str]],
    query: str,
    variables: Sequence[str],
) -> DataFrame:
    """Query several stores, and return the solutions of a SELECT query.

    :param storage: storage of the root.
    :param stores: names of the stores, with the checksums of their lists of files.
    :param query: the query.
    :param variables: the query's variables, in the order of the columns.
    """
    schema = StructType([StructField(name, StringType()) for name in variables])
    arrow = pa.schema([(name, pa.string()) for name in variables])

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist():
                with reading(storage, *stores[number]) as store:
                    found: Any = store.query(query)
                    texts = (as_text(variables, solution) for solution in found)
                    while rows := list(islice(texts, _ROWS)):
                        yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    numbers = spark.range(0, len(stores), 1, max(1, len(stores)))
    return numbers.mapInArrow(run, schema)
