"""Measure sharded stores: time of the processor in all processes, memory, and disk.

    python -m tests.bench.spark_store_jobs [batches] [spark] [first] [--quads N]

- ``batches``: a first load into 4 shards, then 200 batches of 100 operations, on this machine, with
  a vacuum after each 20th; the averages of each 50 batches.
- ``spark``: the same with 20 batches, as DataFrames.
- ``first``: a first load as a DataFrame of several files, and the peak memory of the processes.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from jelly_plugins import DEFAULT_GRAPH, Iri, Literal, Quad
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, delete, write_patches
from jelly_plugins.spark.shards import ShardedStore, apply_patches, vacuum

EX: Final = "http://example.org/"
SHARDS: Final = 4
PER_BATCH: Final = 100


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


def quad(number: int) -> Quad:
    """One of the quads: ten of each subject, and distinct literals."""
    subject = Iri(f"{EX}subject/{number // 10}")
    return Quad(subject, Iri(f"{EX}p{number % 10}"), Literal(f"value {number}"), DEFAULT_GRAPH)


def log(path: Path, number: int, operations: Iterator[Any]) -> str:
    """Write a log of one patch, which follows the one before."""
    headers = [("id", Iri(f"urn:patch:{number}"))]
    if number:
        headers.append(("prev", Iri(f"urn:patch:{number - 1}")))
    write_patches([Patch([BEGIN, *operations, COMMIT], headers)], str(path))
    return str(path)


def logs(folder: Path, quads: int, batches: int) -> Iterator[str]:
    """A first load, and batches, half of whose operations are deletions."""
    pick = random.Random(1)
    yield log(folder / "0.jellyp", 0, (add(quad(number)) for number in range(quads)))
    for batch in range(1, batches + 1):
        kinds = [delete, add] * (PER_BATCH // 2)
        rows = (kind(quad(pick.randrange(2 * quads))) for kind in kinds)
        yield log(folder / f"{batch}.jellyp", batch, rows)


def disk(root: Path) -> str:
    found = [path.stat() for path in root.rglob("*") if path.is_file()]
    size = sum({each.st_ino: each.st_size for each in found}.values())
    return f"{size / 1e6:.1f} MB, {len(found):,} files"


def run(apply: Callable[[str, Path], Any], quads: int, batches: int, every: int) -> None:
    """Apply a first load and batches, and print the processor's time of each."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "root"
        given = logs(Path(made), quads, batches)
        first = next(given)
        start = tree_seconds()
        apply(first, root)
        print(f"first load of {quads:,} quads: {tree_seconds() - start:.2f} s")
        taken = []
        for number, path in enumerate(given, 1):
            start = tree_seconds()
            apply(path, root)
            taken.append(tree_seconds() - start)
            if number % 20 == 0:
                start = tree_seconds()
                vacuum(root, keep=2, grace=timedelta())
                print(f"vacuum after batch {number}: {tree_seconds() - start:.2f} s")
            if number % every == 0:
                average = sum(taken[-every:]) / every
                print(f"batches {number - every + 1} to {number}: {average:.3f} s each")
        print(f"{disk(root)}, {len(ShardedStore(root)):,} quads")


def batches(quads: int) -> None:
    run(lambda path, root: apply_patches(None, path, root, shards=SHARDS), quads, 200, 50)


def spark(quads: int) -> None:
    from jelly_plugins.spark import session

    started = session("local[2]", config={"spark.log.level": "OFF"})

    def apply(path: str, root: Path) -> Any:
        frame = started.read.format("jelly-patch").load(path)
        return apply_patches(started, frame, root, shards=SHARDS)

    run(apply, quads, 20, 10)
    started.stop()


def first(quads: int) -> None:
    from jelly_plugins.spark import session

    started = session("local[2]", config={"spark.log.level": "OFF", "spark.driver.memory": "2g"})
    with tempfile.TemporaryDirectory() as made:
        folder, root = Path(made) / "logs", Path(made) / "root"
        folder.mkdir()
        for number in range(10):
            numbers = range(number * quads // 10, (number + 1) * quads // 10)
            log(folder / f"{number}.jellyp", number, map(add, map(quad, numbers)))
        begin, start = time.monotonic(), tree_seconds()
        done = apply_patches(started, str(folder), root, shards=16)
        elapsed, cpu = time.monotonic() - begin, tree_seconds() - start
        print(f"{done.added:,} quads: {elapsed:.0f} s elapsed, {cpu:.0f} s of the processor")
        own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(f"peak memory: driver {own} MB, processes of Spark {_peaks()[:6]} MB; {disk(root)}")
    started.stop()


def _peaks() -> list[int]:
    """The peak memory in MB of the processes that this one has made, the largest first."""
    found = []
    for pid in processes():
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        status = dict(line.split(":", 1) for line in lines)
        found.append(int(status.get("VmHWM", "0").split()[0]) >> 10)
    return sorted(found, reverse=True)


JOBS: Final[dict[str, Callable[[int], None]]] = {"batches": batches, "spark": spark, "first": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", default=["batches"], choices=JOBS, metavar="JOB")
    parser.add_argument("--quads", type=int, default=50_000)
    given = parser.parse_args()
    for name in given.jobs:
        print(f"\n{name}")
        JOBS[name](given.quads)


if __name__ == "__main__":
    main()
