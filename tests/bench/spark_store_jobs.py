"""Sharded stores: the speed of applying patches, and the cost of shards and history.

Run it by name; it starts Spark::

    python -m tests.bench.spark_store_jobs [first] [later] [shards] [alone] [history] [table]

- ``first``: apply a log of a million operations (or ``--operations``) to an empty store of four
  shards, and print the time of each step.
- ``later``: then apply a batch of a tenth as many, half of them deletions, in which the first
  attempt of one task fails; compare the result, quad by quad, with a replay into a single store.
- ``shards``: load and apply four small batches with 4, 16 and 64 shards.
- ``alone``: run the task's function without Spark for one shard of as many quads and for batches of
  100 and 1,000: processor time, memory, bytes.
- ``history``: apply the same batch after 1, 10, 50 and 100 commits, and print the size of the root.
- ``table``: dump the real data of the other benchmarks in 4 shards and read it as a table,
  alternately.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyoxigraph import Store

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad
from jelly_plugins.oxigraph import BOOKKEEPING, replay
from jelly_plugins.patch import BEGIN, COMMIT, Operation, Patch, add, delete, write_patches
from jelly_plugins.spark import ShardedStore, apply_patches, session
from jelly_plugins.spark.sharded.batch import Applied, BatchSettings, apply_batch, stage_sources
from jelly_plugins.spark.sharded.scanning import scan
from jelly_plugins.spark.sharded.shard import ShardResult, ShardWork, apply_shard
from jelly_plugins.spark.sharded.staged_files import StageWriter
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.tasks import on_spark

from .data import usual
from .spark_jobs import tree_seconds

EX = "http://example.org/"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def quad(number: int) -> Quad:
    """Make a quad of the mix: each subject has five; one subject in eleven is a blank node."""
    subject = number // 5
    node = Iri(f"{EX}resource/{subject}") if subject % 11 else BlankNode(f"b{subject}")
    objects = (
        Iri(f"{EX}resource/{number * 7919 % 1_000_003}"),
        Literal(f"some label {number}"),
        Literal(str(number), None, INTEGER),
        Literal(f"text {number}", "en"),
    )
    return Quad(node, Iri(f"{EX}vocabulary#p{number % 7}"), objects[number % 4], DEFAULT_GRAPH)


def log(path: Path, number: int, operations: Iterator[Operation]) -> Path:
    headers = [("id", Iri(f"urn:patch:{number}"))]
    if number:
        headers.append(("prev", Iri(f"urn:patch:{number - 1}")))
    write_patches([Patch(iter([BEGIN, *operations, COMMIT]), headers)], str(path))
    return path


def change(path: Path, number: int, there: int, operations: int) -> Path:
    """Write a log that deletes some of the existing quads, and adds as many."""
    half = operations // 2
    picked = random.Random(number).sample(range(there), half)
    first = there + number * operations
    made = [delete(quad(each)) for each in picked]
    made += [add(quad(each)) for each in range(first, first + operations - half)]
    return log(path, number, iter(made))


def timed(
    what: str, operations: int, run: Callable[..., Applied], *arguments: Any, **settings: Any
) -> Applied:
    start, cpu, tree = time.perf_counter(), time.process_time(), tree_seconds()
    done = run(*arguments, **settings)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    # The processor time of a failed worker is not counted.
    tree = max(tree_seconds() - tree, cpu)
    print(
        f"  {what:<36}{wall:>8.2f} s{operations / wall / 1000:>8.0f} k operations/s   (processor: "
        f"{tree:.2f} s, {cpu:.2f} s of them the driver's Python)",
        flush=True,
    )
    return done


def first(spark: Any, folder: Path, operations: int) -> None:
    """Measure the first load, and its steps separately."""
    source = log(folder / "first.jellyp", 0, (add(quad(n)) for n in range(operations)))
    print(f"first load, {operations:,} operations, 4 shards")
    for run in range(3):
        root = folder / f"first{run}"
        timed("apply_patches", operations, apply_patches, spark, source, root, shards=4)
    frame = spark.read.format("jelly-patch").load(str(source))
    timed("as a DataFrame", operations, apply_patches, spark, frame, folder / "frame", shards=4)
    staged_at = 0.0
    applied: list[float] = []

    def runner(works: Any) -> list[ShardResult]:
        nonlocal staged_at
        staged_at = time.process_time()
        results = []
        for work in works:
            begun = time.process_time()
            results.append(apply_shard(work))
            applied.append(time.process_time() - begun)
        return results

    start = time.process_time()
    apply_batch(
        stage_sources([str(source)]), runner, storage_at(folder / "parts"), BatchSettings(shards=4)
    )
    staging, shard = staged_at - start, sum(applied) / len(applied)
    print(
        f"  alone, without Spark, of the processor: reading and staging {staging:.2f} s "
        f"({staging / operations * 1e6:.2f} µs per operation), one shard {shard:.2f} s"
    )


def later(spark: Any, folder: Path, operations: int) -> None:
    """Measure a batch in which a task fails once."""
    source = log(folder / "0.jellyp", 0, (add(quad(n)) for n in range(operations)))
    root = folder / "later"
    apply_patches(spark, source, root, shards=4)
    batch = operations // 10
    changes = change(folder / "1.jellyp", 1, operations, batch)
    failed = folder / "failed"

    def failing(work: ShardWork) -> ShardResult:
        result = apply_shard(work)
        try:
            os.close(os.open(failed, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return result
        raise OSError("the result is lost")

    print(f"later batch, {batch:,} operations, half of them deletions, {operations:,} quads there")
    timed(
        "the first attempt of a task fails",
        batch,
        apply_batch,
        stage_sources([str(changes)]),
        on_spark(spark, failing),
        root,
        BatchSettings(),
    )
    again = change(folder / "2.jellyp", 2, operations // 2, batch)
    timed("the same size, nothing fails", batch, apply_patches, spark, again, root)
    single = Store()
    for number in range(3):
        replay(single, str(folder / f"{number}.jellyp"))
    expected = {each for each in single if each.graph_name != BOOKKEEPING}
    found = list(ShardedStore(root))
    assert len(found) == len(expected)
    assert set(found) == expected
    print(f"  equal to a single-store replay: {len(found):,} quads")


def shards(spark: Any, folder: Path, operations: int) -> None:
    """Measure the cost of more shards."""
    operations //= 5
    source = log(folder / "0.jellyp", 0, (add(quad(n)) for n in range(operations)))
    small = [change(folder / f"{n}.jellyp", n, operations, 100) for n in range(1, 6)]
    print(f"shards: a first load of {operations:,} operations, then batches of 100 and one of 1")
    for count in (4, 16, 64):
        root = folder / f"shards{count}"
        timed(
            f"{count} shards, first load",
            operations,
            *(apply_patches, spark, source, root),
            shards=count,
        )
        for each in small[:3]:
            timed(f"{count} shards, batch of 100", 100, apply_patches, spark, each, root)
        one = log(folder / "one.jellyp", 4, iter([add(quad(-1))]))
        timed(f"{count} shards, batch of 1", 1, apply_patches, spark, one, root)
        print(f"  {count} shards: {size_of(root)}")


def history(spark: Any, folder: Path, operations: int) -> None:
    """Measure the cost of many commits."""
    operations //= 10
    root = folder / "history"
    source = log(folder / "0.jellyp", 0, (add(quad(n)) for n in range(operations)))
    apply_patches(spark, source, root, shards=4)
    print(f"history: {operations:,} quads in 4 shards, batches of 1,000")
    for number in range(1, 101):
        batch = change(folder / "batch.jellyp", number, operations, 1000)
        start, tree = time.perf_counter(), tree_seconds()
        apply_patches(spark, batch, root)
        took, tree = time.perf_counter() - start, tree_seconds() - tree
        if number in (1, 2, 10, 50, 100):
            start = time.perf_counter()
            count = sum(1 for _ in ShardedStore(root))
            read = time.perf_counter() - start
            print(
                f"  commit {number:>3}: {took:.2f} s, {tree:.2f} s of the processor; "
                f"all {count:,} quads read in {read:.2f} s; "
                f"{size_of(root)}",
                flush=True,
            )


def alone(_: Any, folder: Path, operations: int) -> None:
    """Measure the cost of one task, independent of other load on the machine: a first load and
    batches.
    """
    storage = storage_at(folder)
    base: tuple[str, str | None] | None = None
    there = 0
    later: list[tuple[float, float]] = []
    for version, count in enumerate((operations, 100, *[1000] * 16), 1):
        attempt = storage.attempt(f"{version}")
        writer = StageWriter(attempt.folder("0"), 1)
        # The quads that a batch deletes and adds are spread over the store, which causes the most
        # compaction.
        numbers = np.random.default_rng(version).integers(0, operations * 2, count)
        for start in range(0, count, 10_000):
            part = numbers[start : start + 10_000]
            if version == 1:
                part = np.arange(start, min(start + 10_000, count))
            lines = [f'<{EX}{n // 5}> <{EX}p{n % 7}> "some label {n}" .\n' for n in part]
            nothing = np.zeros_like(part)
            writer.write(pa.array(lines), nothing, nothing, (version == 1) | (part % 2 == 0))
        writer.flush()
        work = ShardWork(
            storage=storage,
            attempt=attempt,
            shard=0,
            version=version,
            base=base,
            quads=there,
            staged=((attempt.extents("0")[0], ((0, 0),)),),
        )
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            result, cpu, memory = process.submit(_measured, work).result()
        assert result.store is not None
        new, size = _bytes_of(folder / result.store, None if base is None else folder / base[0])
        base, there = (result.store, result.checksum), result.quads
        if version > 2:
            later.append((cpu, new / 1e6))
            continue
        print(
            f"one shard, {count:,} operations: {cpu:.3f} s of the processor, "
            f"{cpu / count * 1e6:.1f} µs each; memory of the process at most {memory:.0f} MB; "
            f"staged {writer.path(0).stat().st_size / 1e6:.1f} MB, store {size / 1e6:.1f} MB",
            flush=True,
        )
    print("then batches of 1,000, each in s of the processor and MB of new files:")
    print("  " + ", ".join(f"{cpu:.2f}/{new:.1f}" for cpu, new in later), flush=True)


def _bytes_of(store: Path, base: Path | None) -> tuple[int, int]:
    """Return the bytes of a store: those not shared with the previous one, and all."""
    before = {path.stat().st_ino for path in base.iterdir()} if base else set()
    found = [path.stat() for path in store.iterdir()]
    return (
        sum(each.st_size for each in found if each.st_ino not in before),
        sum(each.st_size for each in found),
    )


def _measured(work: ShardWork) -> tuple[ShardResult, float, float]:
    """Run a task in a separate process; return its result, processor seconds and megabytes."""
    cpu = time.process_time()
    result = apply_shard(work)
    cpu = time.process_time() - cpu
    return result, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def size_of(root: Path) -> str:
    """Format the number of files and bytes of a root: of all versions, and of the head's stores."""

    def tree(folder: Path) -> tuple[int, int]:
        seen: dict[int, int] = {}
        files = 0
        for path in folder.rglob("*"):
            if path.is_file():
                found = path.stat()
                files += 1
                seen[found.st_ino] = found.st_size
        return files, sum(seen.values())

    files, size = tree(root)
    head = ShardedStore(root).commit
    stores = [tree(root / each.store) for each in head.shards or () if each.store]
    commit = (root / "_commits" / f"{head.version:012d}.json").stat().st_size
    return (
        f"{files:,} names, {size / 1e6:.1f} MB; head {sum(each for each, _ in stores):,} files, "
        f"{sum(each for _, each in stores) / 1e6:.1f} MB; commit {commit:,} bytes"
    )


def table(spark: Any, folder: Path, _: int) -> None:
    """Measure the cost of reading a version as a table, and of dumping it."""
    source, root = folder / "all.rdfp", folder / "root"
    with source.open("wb") as out:
        # Exclude the mix, which is generated.
        for data in usual()[:-1]:
            out.writelines(b"A " + line + b"\n" for line in data.ntriples.splitlines())
    apply_patches(spark, source, root, shards=4)
    store = ShardedStore(root)
    frame = spark.read.format("jelly-store").load(str(root))
    stores = [each for each in map(store.shard, range(4)) if each is not None]

    def scanned() -> None:
        for each in stores:
            for _ in scan(each, (None,) * 4):
                pass

    runs: dict[str, Callable[[], object]] = {
        "dump, one thread": lambda: store.dump(folder / "one.jelly", threads=1),
        "scan, in one process": scanned,
        "dump, two threads": lambda: store.dump(folder / "two.jelly", threads=2),
        "as a table": lambda: frame.write.format("noop").mode("overwrite").save(),
    }
    print(f"table: {len(store):,} quads in 4 shards; best of five")
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    for _ in range(5):
        for name, run in runs.items():
            start, tree = time.perf_counter(), tree_seconds()
            run()
            took[name].append((time.perf_counter() - start, tree_seconds() - tree))
    for name, found in took.items():
        wall, cpu = (min(each) for each in zip(*found, strict=True))
        print(f"  {name:<24}{wall:>6.2f} s, {cpu:.2f} s of the processor", flush=True)


JOBS = {each.__name__: each for each in (first, later, shards, alone, history, table)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(JOBS)}")
    parser.add_argument("--master", default="local[2,4]")
    parser.add_argument("--operations", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where to work; a temporary folder by default")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(JOBS):
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    spark = session(arguments.master, config={"spark.log.level": "OFF"})
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        # Starting the workers takes a second.
        apply_patches(spark, b"A <urn:s> <urn:p> <urn:o> . Z .", Path(folder) / "warm", shards=2)
        for name in arguments.names or JOBS:
            work = Path(folder) / name
            work.mkdir()
            JOBS[name](spark, work, arguments.operations)
    spark.stop()


if __name__ == "__main__":
    main()
