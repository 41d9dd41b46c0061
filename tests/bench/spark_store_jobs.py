"""Measure sharded stores: time of the processor in all processes, memory, and disk.

    python -m tests.bench.spark_store_jobs [batches] [bucket] [spark] [first] [--quads N]

- ``batches``: a first load into 4 shards, then 200 batches of 100 operations, on this machine, with
  a vacuum after each 20th; the averages of each 50 batches.
- ``bucket``: the same with 20 batches, on an S3 server in another process, and its requests.
- ``spark``: the same with 20 batches, as DataFrames.
- ``first``: a first load as a DataFrame of several files, and the peak memory of the processes.
"""

from __future__ import annotations

import argparse
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

from .spark_jobs import processes, tree_seconds

EX: Final = "http://example.org/"
SHARDS: Final = 4
PER_BATCH: Final = 100


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
    files = {path.stat().st_ino: path.stat().st_size for path in root.rglob("*") if path.is_file()}
    count = sum(1 for path in root.rglob("*") if path.is_file())
    return f"{sum(files.values()) / 1e6:.1f} MB, {count:,} files"


def run(
    apply: Callable[[str, Any], Any],
    root: Any,
    quads: int,
    batches: int,
    *,
    folder: Path | None = None,
    every: int = 50,
) -> None:
    """Apply a first load and batches, and print the processor's time of each."""
    with tempfile.TemporaryDirectory() as made:
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
        if folder is not None:
            print(disk(folder))


def batches(quads: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "root"
        run(_here, root, quads, 200, folder=root)
        print(f"{len(ShardedStore(root)):,} quads")


def _here(path: str, root: Any) -> Any:
    return apply_patches(None, path, root, shards=SHARDS)


def bucket(quads: int) -> None:
    from jelly_plugins.spark.shards.bucket import Bucket
    from tests.spark.shards.s3 import S3Server

    server = S3Server()
    with tempfile.TemporaryDirectory() as made:
        root = Bucket(server.root("root"), server.options(cache_dir=made))
        run(_here, root, quads, 20, every=20)
        print(dict(server.counts))
    server.stop()


def spark(quads: int) -> None:
    from jelly_plugins.spark import session

    started = session("local[2]", config={"spark.log.level": "OFF"})

    def apply(path: str, root: Any) -> Any:
        frame = started.read.format("jelly-patch").load(path)
        return apply_patches(started, frame, root, shards=SHARDS)

    with tempfile.TemporaryDirectory() as made:
        root = Path(made) / "root"
        run(apply, root, quads, 20, folder=root, every=10)
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


JOBS: Final = {"batches": batches, "bucket": bucket, "spark": spark, "first": first}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", nargs="*", default=["batches"], help=", ".join(JOBS))
    parser.add_argument("--quads", type=int, default=50_000)
    given = parser.parse_args()
    for name in given.jobs:
        if name not in JOBS:
            parser.error(f"there is no job {name}")
        print(f"\n{name}")
        JOBS[name](given.quads)


if __name__ == "__main__":
    main()
