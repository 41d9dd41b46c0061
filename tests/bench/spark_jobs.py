"""Spark's jobs: ``python -m tests.bench.spark_jobs [NAME …]``.

All jobs run in one session of two cores (``local[2]``), which one run of each warms up; the sink
reads all columns and discards them. Spark works in other processes: measure wall-clock time or, on
a busy machine, the processor time of all processes (``--cpu``, on Linux). Half of the latter is
about the time of two idle cores.

``spark-cores`` measures the gain from a second core. A task of Spark uses more than one core,
because of a thread in the JVM and a Python process. So new sessions are restricted to one core and
to two cores, alternately (on Linux). The file is the data, repeated up to ``--rows``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import chain
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


def spark_narrow(spark: SparkSession, data: Data, folder: Path) -> dict[str, Run]:
    """Jelly → one column, and the rows of one predicate, of a DataFrame"""
    path = _file(data, folder)
    batch = arrow.read(data.jelly).read_next_batch()
    predicate = batch.column("predicate")[batch.num_rows // 2].as_py()
    found = _load(spark, path).where(f"predicate = '{predicate}'")
    return {
        "all columns": lambda: _take(_load(spark, path)),
        'all, select("subject")': lambda: _take(_load(spark, path).select("subject")),
        'schema("subject string")': lambda: _take(_load(spark, path, columns="subject")),
        "all, where(predicate = …)": lambda: _take(found),
        "option predicate": lambda: _take(_load(spark, path, predicate=predicate)),
        "option predicate, one column": lambda: _take(
            _load(spark, path, predicate=predicate, columns="subject")
        ),
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
    for job in (spark_read, spark_split, spark_narrow, spark_write, spark_values)
}


# What a second core is worth

#: Reads in each session that are not counted: the JVM compiles frequent code during these.
_WARM: Final = 4
#: Reads in each session that are counted.
_COUNTED: Final = 3


def spark_cores(data: Data, folder: Path, at_least: int, rounds: int) -> Measured:
    """One file of Jelly → DataFrame, in sessions held to two cores and to one"""
    copies = -(-at_least // data.count)
    path = folder / "large.jelly"
    batches = chain.from_iterable(arrow.read(data.jelly) for _ in range(copies))
    arrow.write(batches, path, options=OPTIONS, restart_every=_RESTART_EVERY)
    cores = sorted(os.sched_getaffinity(0))[:2]
    sessions = {"two cores": cores, "one core": cores[:1]}
    values: dict[str, list[float]] = {who: [] for who in sessions}
    for _ in range(rounds):
        for who, held in sessions.items():
            arguments = [sys.executable, "-m", __spec__.name, "--read", str(path)]
            made = subprocess.run(
                [*arguments, "--cores", ",".join(map(str, held))],
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            values[who] += json.loads(made.stdout.splitlines()[-1])
    name = f"{data.name}, {copies} times" if copies > 1 else data.name
    title = spark_cores.__doc__ or ""
    return Measured(
        "spark-cores", title, "spark", name, copies * data.count, "rows", "seconds", values
    )


def _read_on(cores: set[int], path: str) -> None:
    """Read a file in a session restricted to some cores, and print the seconds of each read."""
    # The JVM and Python's workers inherit this setting.
    os.sched_setaffinity(0, cores)
    settings = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    spark = session(f"local[{len(cores)}]", name="bench", config=settings)
    took = []
    for _ in range(_WARM + _COUNTED):
        start = time.perf_counter()
        _take(_load(spark, path))
        took.append(time.perf_counter() - start)
    spark.stop()
    print(json.dumps(took[_WARM:]))


def tree_seconds() -> float:
    """Processor time of this process and of all processes that it has started, including ended
    ones.
    """
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may contain anything, but the fields after its bracket do not contain a
            # bracket.
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
    names = [*JOBS, "spark-cores"]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(names)}")
    parser.add_argument("--data", metavar="FILE", help="Jelly or N-Triples")
    parser.add_argument("--mix", type=int, default=MIX, metavar="COUNT", help="a made mix")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    parser.add_argument("--cpu", action="store_true", help="processor time of all processes")
    parser.add_argument("--rows", type=int, default=10_000_000, help="of spark-cores, at least")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    parser.add_argument("--cores", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        _read_on(set(map(int, arguments.cores.split(","))), arguments.read)
        return
    unknown = set(arguments.names) - set(names)
    if unknown:
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    data = from_file(Path(arguments.data)) if arguments.data else mix(arguments.mix)
    wanted = arguments.names or names
    if "spark-cores" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            found = spark_cores(data, Path(folder), arguments.rows, arguments.rounds)
            print(rows(found), flush=True)
    if set(wanted) & set(JOBS):
        _in_one_session(
            data, [name for name in JOBS if name in wanted], arguments.rounds, arguments.cpu
        )


def _in_one_session(data: Data, names: list[str], rounds: int, cpu: bool) -> None:
    settings: dict[str, Any] = {"spark.log.level": "ERROR", "spark.driver.memory": "2g"}
    spark = session("local[2]", name="bench", config=settings)
    for name in names:
        job = JOBS[name]
        with tempfile.TemporaryDirectory() as folder:
            runs = job(spark, data, Path(folder))
            for run in runs.values():
                run()
            title = job.__doc__ or name
            clock = tree_seconds if cpu else time.perf_counter
            values = measure(Runs(runs), rounds, clock)
            found = Measured(name, title, "spark", data.name, data.count, "rows", "seconds", values)
            print(rows(found), flush=True)
            spark.catalog.clearCache()
    spark.stop()


if __name__ == "__main__":
    main()
