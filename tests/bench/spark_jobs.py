"""Spark's jobs: ``python -m tests.bench.spark_jobs [NAME …]``.

Everything runs in one session of two cores (``local[2]``), warmed up by a run of each before the
first that counts; the sink takes all columns and does nothing with them. Spark works in other
processes: by the clock on the wall, or by the processor time of all of them (``--cpu``, on Linux),
for a machine that is not quiet. Half of the latter is what two quiet cores would take.
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
from pyspark.sql import DataFrame, SparkSession

from jelly_plugins import arrow
from jelly_plugins.spark import session

from .data import MIX, OPTIONS, Data, from_file, mix
from .measure import Measured, Run, Runs, measure
from .results import rows

#: Bytes between restart points, as the format's writer has them.
_RESTART_EVERY: Final = 2 << 20
#: More than any file: one task reads all of it.
_ONE_TASK: Final = {"maxPartitionBytes": "1t"}

Job = Callable[[SparkSession, Data, Path], dict[str, Run]]


def _file(data: Data, folder: Path, restart_every: int | None = _RESTART_EVERY) -> str:
    """The data as one file."""
    path = folder / f"{restart_every}.jelly"
    if not path.exists():
        arrow.write(arrow.read(data.jelly), path, options=OPTIONS, restart_every=restart_every)
    return str(path)


def _take(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _load(spark: SparkSession, path: str, **options: str) -> DataFrame:
    return spark.read.format("jelly").options(**options).load(path)


def _parse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Lines of N-Triples to terms, by pyoxigraph."""
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
    """One file of Jelly → DataFrame, by two tasks and by one"""
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


JOBS: Final[dict[str, Job]] = {
    job.__name__.replace("_", "-"): job for job in (spark_read, spark_split, spark_write)
}


def tree_seconds() -> float:
    """Processor time of this process and of all that it has started, those that ended included."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may have anything in it; what follows its bracket does not.
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        pid = int(path.parent.name)
        parents[pid] = int(fields[1])
        ticks[pid] = sum(map(int, fields[11:15]))
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks[pid] for pid in ours) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.spark_jobs", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(JOBS)}")
    parser.add_argument("--data", metavar="FILE", help="Jelly or N-Triples")
    parser.add_argument("--mix", type=int, default=MIX, metavar="COUNT", help="a made mix")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    parser.add_argument("--cpu", action="store_true", help="processor time of all processes")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(JOBS)
    if unknown:
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    data = from_file(Path(arguments.data)) if arguments.data else mix(arguments.mix)
    settings: dict[str, Any] = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    spark = session("local[2]", name="bench", config=settings)
    for name in arguments.names or JOBS:
        job = JOBS[name]
        with tempfile.TemporaryDirectory() as folder:
            runs = job(spark, data, Path(folder))
            for run in runs.values():
                run()
            title = job.__doc__ or name
            clock = tree_seconds if arguments.cpu else time.perf_counter
            values = measure(Runs(runs), arguments.rounds, clock)
            found = Measured(name, title, "spark", data.name, data.count, "rows", "seconds", values)
            print(rows(found), flush=True)
            spark.catalog.clearCache()
    spark.stop()


if __name__ == "__main__":
    main()
