"""Jobs of Spark, in one session of two cores (``local[2]``).

Spark works in other processes: measure wall-clock time.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyoxigraph
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import arrow
from jelly_plugins.spark import session

from .data import OPTIONS, Data
from .measure import Run, Runs, job

#: Bytes between restart points, the default of the format's writer.
_RESTART_EVERY: Final = 2 << 20


def _session() -> SparkSession:
    settings = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    return session("local[2]", name="bench", config=settings)


def _warmed_up(runs: dict[str, Run], folder: Any) -> Runs:
    for run in runs.values():
        run()  # type: ignore[operator]
    return Runs(runs, things="rows", close=folder.cleanup)


def _load(spark: SparkSession, data: Data, folder: str) -> DataFrame:
    path = f"{folder}/data.jelly"
    arrow.write(arrow.read(data.jelly), path, options=OPTIONS, restart_every=_RESTART_EVERY)
    return spark.read.format("jelly").load(path)


def _take(frame: DataFrame) -> None:
    """Read all columns and discard them."""
    frame.write.format("noop").mode("overwrite").save()


def _parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Parse lines of N-Triples to terms with pyoxigraph."""
    for batch in batches:
        text = "\n".join(batch.column(0).to_pylist())
        found = pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
        terms: list[list[str]] = [[], [], []]
        for quad in found:
            terms[0].append(str(quad.subject))
            terms[1].append(str(quad.predicate))
            terms[2].append(str(quad.object))
        names = ["subject", "predicate", "object"]
        yield pa.RecordBatch.from_arrays([pa.array(each) for each in terms], names=names)


@job("spark", "spark-read", "Jelly → DataFrame")
def spark_read(data: Data) -> Runs:
    spark, folder = _session(), tempfile.TemporaryDirectory()
    text = Path(folder.name, "data.nt")
    text.write_bytes(data.ntriples)
    columns = "subject string, predicate string, object string"
    whole = _load(spark, data, folder.name)
    parsed = spark.read.text(str(text)).mapInArrow(_parse, columns)
    runs: dict[str, Run] = {
        "ours": lambda: _take(whole),
        "text, pyoxigraph in mapInArrow": lambda: _take(parsed),
    }
    return _warmed_up(runs, folder)


@job("spark", "spark-write", "DataFrame → Jelly")
def spark_write(data: Data) -> Runs:
    spark, folder = _session(), tempfile.TemporaryDirectory()
    frame = _load(spark, data, folder.name).drop("graph").repartition(2).cache()
    lines = frame.selectExpr("concat_ws(' ', subject, predicate, object, '.') AS value")

    def save(what: DataFrame, kind: str) -> None:
        what.write.format(kind).mode("overwrite").save(f"{folder.name}/out-{kind}")

    runs: dict[str, Run] = {
        "ours": lambda: save(frame, "jelly"),
        "Spark's text, N-Triples": lambda: save(lines, "text"),
        "Spark's Parquet": lambda: save(frame, "parquet"),
    }
    return _warmed_up(runs, folder)
