"""Sharded stores in a bucket and in a folder: requests and bytes, counted by the server.

Run it by name; it does not start Spark::

    python -m tests.bench.spark_bucket_jobs [batches] [shards] [--quads N ...]

- ``batches``: for each number of quads (``--quads``, by default 100,000 and 1,000,000), load four
  shards and apply three batches of 1,000 operations, half of them deletions. Then read the whole
  store and one subject, first with an empty cache, then again.
- ``shards``: apply a batch that changes one shard and one that changes all, with 4, 16 and 64
  shards.

The server is moto in this process, so that times for a bucket include the server's. Only the counts
are quoted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

from pyoxigraph import NamedNode

from jelly_plugins.patch import add
from jelly_plugins.spark import ShardedStore
from jelly_plugins.spark.sharded.batch import BatchSettings, apply_batch, stage_sources
from jelly_plugins.spark.sharded.storage import Storage, storage_at
from jelly_plugins.spark.sharded.storage.objects import ObjectStorage
from tests.spark.sharded.here import run_here
from tests.spark.sharded.s3 import S3Server

from .spark_store_jobs import EX, change, log, quad

BATCH = 1000


def counted(
    server: S3Server, what: str, function: Callable[..., object], *arguments: object
) -> None:
    """Call a function, and print the requests that the server received during the call."""
    server.counts.clear()
    start, cpu = time.perf_counter(), time.process_time()
    function(*arguments)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    found: Counter[str] = server.counts
    kinds = ", ".join(f"{found[kind]} {kind}" for kind in ("PUT", "POST", "GET", "HEAD", "LIST"))
    put, got = (found[f"bytes {each}"] / 1e6 for each in ("put", "got"))
    print(
        f"  {what:<40}{put:>9.3f} MB put{got:>9.3f} MB got"
        f"{found['requests']:>5} requests ({kinds}); {wall:.2f} s, {cpu:.2f} s of the processor",
        flush=True,
    )


def apply(root: Storage, source: Path, shards: int) -> None:
    apply_batch(
        stage_sources([str(source)]), run_here, storage_at(root), BatchSettings(shards=shards)
    )


def read_one(root: Storage) -> None:
    subject = NamedNode(f"{EX}resource/1")
    assert list(ShardedStore(root).quads_for_pattern(subject, None, None))


def read_all(root: Storage) -> None:
    store = ShardedStore(root)
    assert sum(1 for _ in store) == len(store)


def batches(server: S3Server, folder: Path, sizes: Sequence[int]) -> None:
    for quads in sizes:
        work = folder / f"{quads}"
        work.mkdir()
        source = log(work / "0.jellyp", 0, (add(quad(n)) for n in range(quads)))
        changes = [change(work / f"{n}.jellyp", n, quads, BATCH) for n in range(1, 4)]
        local, bucket = storage_at(work / "root"), _bucket(server, work / "cache")
        print(f"{quads:,} quads in 4 shards")
        for kind, root in (("folder", local), ("bucket", bucket)):
            counted(server, f"{kind}: first load", apply, root, source, 4)
            for each in changes:
                counted(server, f"{kind}: a batch of {BATCH:,}", apply, root, each, 4)
        assert set(ShardedStore(local)) == set(ShardedStore(bucket))
        for what, read in (("one subject", read_one), ("all quads", read_all)):
            elsewhere = ObjectStorage(bucket.name, server.options(cache_dir=str(work / what)))
            counted(server, f"bucket: {what}, cold", read, elsewhere)
            counted(server, f"bucket: {what}, warm", read, elsewhere)
            counted(server, f"folder: {what}", read, local)


def shards(server: S3Server, folder: Path, _: Sequence[int]) -> None:
    for count in (4, 16, 64):
        root = _bucket(server, folder / f"cache{count}")
        print(f"{count} shards, 20,000 quads")
        first = log(folder / f"first{count}.jellyp", 0, (add(quad(n)) for n in range(20_000)))
        counted(server, "first load", apply, root, first, count)
        every = change(folder / f"all{count}.jellyp", 1, 20_000, 2000)
        counted(server, "a batch that changes all shards", apply, root, every, count)
        one = log(folder / f"one{count}.jellyp", 2, iter([add(quad(1_000_000))]))
        counted(server, "a batch of one quad", apply, root, one, count)


def _bucket(server: S3Server, cache: Path) -> ObjectStorage:
    return ObjectStorage(server.root(uuid4().hex), server.options(cache_dir=str(cache)))


JOBS = {each.__name__: each for each in (batches, shards)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(JOBS)}")
    parser.add_argument("--quads", type=int, nargs="*", default=[100_000, 1_000_000])
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(JOBS):
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    server = S3Server()
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.names or JOBS:
            JOBS[name](server, Path(folder), arguments.quads)
    server.stop()


if __name__ == "__main__":
    main()
