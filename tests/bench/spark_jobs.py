"""Spark's jobs: ``python -m tests.bench.spark_jobs [NAME …]``.

All jobs run in one session of two cores (``local[2]``), which one run of each warms up; the sink
reads all columns and discards them. Spark works in other processes: measure wall-clock time or, on
a busy machine, the processor time of all processes (``--cpu``, on Linux). Half of the latter is
about the time of two idle cores.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyoxigraph
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jelly_plugins import arrow
from jelly_plugins.codec import ColumnDecoder, ColumnEncoder, Decoder, GenericFactory
from jelly_plugins.spark import from_jelly, session

from .data import MIX, OPTIONS, Data, from_file, mix
from .measure import Measured, Run, Runs, measure
from .results import rows

#: Bytes between restart points, the default of the format's writer.
_RESTART_EVERY: Final = 2 << 20
#: Larger than any file, so that one task reads all of it.
_ONE_TASK: Final = {"maxPartitionBytes": "1t"}

Job = Callable[[SparkSession, Data, Path], dict[str, Run]]


def _file(data: Data, folder: Path, restart_every: int | None = _RESTART_EVERY) -> str:
    """Write the data as one file."""
    path = folder / f"{restart_every}.jelly"
    if not path.exists():
        arrow.write(arrow.read(data.jelly), path, options=OPTIONS, restart_every=restart_every)
    return str(path)


def _take(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _load(spark: SparkSession, path: str, **options: str) -> DataFrame:
    return spark.read.format("jelly").options(**options).load(path)


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


def spark_read(spark: SparkSession, data: Data, folder: Path) -> dict[str, Run]:
    """Jelly → DataFrame"""
    path = _file(data, folder)
    text = folder / "data.nt"
    text.write_bytes(data.ntriples)
    columns = "subject string, predicate string, object string"
    return {
        "ours": lambda: _take(_load(spark, path)),
        "ours, terms in parts": lambda: _take(_load(spark, path, terms="split")),
        "text, pyoxigraph in mapInArrow": lambda: _take(
            spark.read.text(str(text)).mapInArrow(_parse, columns)
        ),
    }


def spark_split(spark: SparkSession, data: Data, folder: Path) -> dict[str, Run]:
    """One file of Jelly → DataFrame, by two tasks and by one (which takes more than a core)"""
    path, foreign = _file(data, folder), _file(data, folder, None)
    half = str(Path(path).stat().st_size // 2 + (1 << 20))
    return {
        "two cores": lambda: _take(_load(spark, path)),
        "two cores, two tasks": lambda: _take(_load(spark, path, maxPartitionBytes=half)),
        "one core": lambda: _take(_load(spark, path, **_ONE_TASK)),
        "a file without restart points": lambda: _take(_load(spark, foreign)),
    }


def spark_write(spark: SparkSession, data: Data, folder: Path) -> dict[str, Run]:
    """DataFrame → Jelly"""
    frame = _load(spark, _file(data, folder)).drop("graph").repartition(2).cache()
    lines = frame.selectExpr("concat_ws(' ', subject, predicate, object, '.') AS value")
    frame.count()
    out = str(folder / "out")

    def save(what: DataFrame, kind: str, **options: str) -> None:
        what.write.format(kind).options(**options).mode("overwrite").save(f"{out}-{kind}")

    return {
        "ours": lambda: save(frame, "jelly"),
        "ours, gzip": lambda: save(frame, "jelly", compression="gzip"),
        "Spark's text, N-Triples": lambda: save(lines, "text"),
        "Spark's Parquet": lambda: save(frame, "parquet"),
    }


def spark_values(spark: SparkSession, data: Data, folder: Path) -> dict[str, Run]:
    """Messages of 100 statements in a column → rows; without Spark, in this process"""
    values = []
    for batch in arrow.read(data.jelly).read_all().to_batches(max_chunksize=100):
        encoder = ColumnEncoder(OPTIONS)
        [value] = encoder.add(arrow.columns(batch)) + encoder.finish()
        values.append(value)
    path = str(folder / "values.parquet")
    parquet.write_table(pa.table({"value": pa.array(values, pa.binary())}), path)
    frame = spark.read.parquet(path).repartition(2).cache()
    frame.count()

    def terms() -> None:
        for value in values:
            assert len(Decoder(GenericFactory()).decode(value).statements) <= 100

    def columns() -> None:
        for value in values:
            decoder = ColumnDecoder()
            for found in (*decoder.decode(value), *decoder.finish()):
                arrow.record_batch(found)

    return {
        "from_jelly": lambda: _take(frame.select(from_jelly("value"))),
        "from_jelly, inline": lambda: _take(frame.select(sf.inline(from_jelly("value")))),
        "the decoder, one process": terms,
        "the decoder of columns, one process": columns,
    }


JOBS: Final[dict[str, Job]] = {
    job.__name__.replace("_", "-"): job
    for job in (spark_read, spark_split, spark_write, spark_values)
}


def processes() -> dict[int, list[str]]:
    """The fields of ``/proc/PID/stat`` after the name, of this process and all that it has made."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may contain anything, but the fields after its bracket do not contain one.
            stats[int(path.parent.name)] = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
    ours = {os.getpid()}
    while more := {pid for pid, each in stats.items() if int(each[1]) in ours} - ours:
        ours |= more
    return {pid: stats[pid] for pid in ours}


def tree_seconds() -> float:
    """Processor time of these processes, ended ones included."""
    ticks = sum(int(field) for fields in processes().values() for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.spark_jobs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(JOBS)}")
    parser.add_argument("--data", metavar="FILE", help="Jelly or N-Triples")
    parser.add_argument("--mix", type=int, default=MIX, metavar="COUNT", help="a made mix")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    parser.add_argument("--cpu", action="store_true", help="processor time of all processes")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(JOBS):
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    data = from_file(Path(asked.data)) if asked.data else mix(asked.mix)
    settings: dict[str, Any] = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    spark = session("local[2]", name="bench", config=settings)
    for name in asked.names or JOBS:
        with tempfile.TemporaryDirectory() as folder:
            runs: dict[str, Any] = JOBS[name](spark, data, Path(folder))
            for run in runs.values():
                run()
            title = JOBS[name].__doc__ or name
            clock = tree_seconds if asked.cpu else time.perf_counter
            values = measure(Runs(runs), asked.rounds, clock)
            found = Measured(name, title, "spark", data.name, data.count, "rows", "seconds", values)
            print(rows(found), flush=True)
            spark.catalog.clearCache()
    spark.stop()


if __name__ == "__main__":
    main()
