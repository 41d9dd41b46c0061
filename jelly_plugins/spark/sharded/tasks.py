"""The work of shards, and queries to them, as Spark jobs: one task for each shard."""

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
from pyoxigraph import Store
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from ...errors import JellyError
from .apply import Runner
from .errors import on_executor, unreadable
from .queries import as_text
from .shard import ShardResult, ShardWork, apply_shard
from .storage import Storage

#: Does the work of one shard.
Task: TypeAlias = Callable[[ShardWork], ShardResult]

_Work = TypeVar("_Work")

#: Solutions that go to Spark together.
_ROWS: Final = 10_000

_REASON: Final = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)


def on_spark(spark: SparkSession, task: Task = apply_shard) -> Runner:
    """Runs the work of shards as the tasks of one job.

    A task that fails is run again as often as Spark is told to (``spark.task.maxFailures``), and a
    slow one may be run twice: each attempt makes a store of its own, and the result of one counts.
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
    """Call a function with each of ``works``, in a task of its own.

    :raises JellyError: a task has failed as often as it may.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            results = [json.dumps(function(works[number])) for number in batch[0].to_pylist()]
            yield pa.RecordBatch.from_pydict({"result": results})

    # A range has as many partitions as it is told, and its first number is in the first of them.
    numbers = spark.range(0, len(works), 1, len(works))
    with failures_as_errors("a shard's task"):
        return [
            json.loads(row.result) for row in numbers.mapInArrow(run, "result string").collect()
        ]


@contextmanager
def failures_as_errors(what: str) -> Iterator[None]:
    """Make an error of the library of what Spark raises when a job fails."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        # The worker's own traceback ends with the reason; what Spark adds comes after it.
        found = _REASON.findall(text)
        reason = next((f"{name}: {said}" for name, said in found if "Exception" not in name), None)
        lines = text.strip().splitlines()
        # Where there was no worker to say it, Java does, behind the name of the call.
        java = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
        raise JellyError(f"{what} failed: {reason or java}") from error


def select_on_spark(
    spark: SparkSession,
    storage: Storage,
    stores: Sequence[tuple[str, str]],
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
                with on_executor(), storage.open(*stores[number]) as opened:
                    with unreadable(f"{stores[number][0]} cannot be opened", storage.name):
                        store = Store.read_only(str(opened.folder))
                    found: Any = store.query(query)
                    texts = (as_text(variables, solution) for solution in found)
                    while rows := list(islice(texts, _ROWS)):
                        yield pa.RecordBatch.from_pylist(rows, schema=arrow)

    numbers = spark.range(0, len(stores), 1, max(1, len(stores)))
    return numbers.mapInArrow(run, schema)
