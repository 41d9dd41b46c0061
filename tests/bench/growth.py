"""Measure how cost grows: processor time of each statement and peak memory, at several sizes.

    python -m tests.bench.growth [COUNT …] [--task NAME …]

Each figure comes from a process of its own, on the mix of COUNT triples.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pyoxigraph
import rdflib

from jelly_plugins import convert, oxigraph, read
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, Operation, add
from jelly_plugins.patch import Patch, write_patches
from jelly_plugins.rdflib import register

from ..memory import peak
from .data import mix_file, mix_stream

COUNTS: Final = (100_000, 1_000_000, 10_000_000)
#: Operations of a transaction of the log that is replayed.
_PER_TRANSACTION: Final = 10_000


#: Prepares a task on a file, and returns the function to measure.
Task = Callable[[Path], Callable[[], object]]


def _run(run: Callable[[Path], object]) -> Task:
    return lambda path: partial(run, path)


def _convert(source: str, target: str) -> Task:
    def run(path: Path) -> None:
        with open(os.devnull, "wb") as out:
            convert(path, out, source_format=source, target_format=target)

    return _run(run)


def _parse(path: Path) -> Callable[[], object]:
    register()
    return lambda: rdflib.Graph().parse(path, format="jelly")


def _load_on_disk(path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        oxigraph.load(pyoxigraph.Store(folder), path)


def _dump(path: Path) -> Callable[[], object]:
    store = pyoxigraph.Store()
    oxigraph.load(store, path)

    def run() -> None:
        with open(os.devnull, "wb") as out:
            oxigraph.dump(store, out)

    return run


def _replay(path: Path) -> Callable[[], object]:
    folder = tempfile.TemporaryDirectory()
    log = Path(folder.name) / "log.jellyp"

    def rows() -> Iterator[Operation]:
        for number, statement in enumerate(read(path)):
            if number % _PER_TRANSACTION == 0:
                yield from (COMMIT,) * bool(number) + (BEGIN,)
            yield add(statement)
        yield COMMIT

    write_patches([Patch(rows())], log)

    def run() -> None:
        with folder:
            oxigraph.replay(pyoxigraph.Store(), log)

    return run


TASKS: Final[dict[str, Task]] = {
    "convert, Jelly to N-Triples": _convert("jelly", "nt"),
    "convert, N-Triples to Jelly": _convert("nt", "jelly"),
    "load, store in memory": _run(lambda path: oxigraph.load(pyoxigraph.Store(), path)),
    "load, store on disk": _run(_load_on_disk),
    "dump, store in memory": _dump,
    "replay, store in memory": _replay,
    "parse, rdflib Graph": _parse,
}


def _figures(task: str, count: int) -> str:
    """Measure a task on a mix of triples."""
    path = mix_file(count) if "N-Triples to" in task else mix_stream(count)
    command = [sys.executable, "-m", f"{__package__}.growth", "--task", task, "--path", str(path)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    seconds, size = map(float, out.split())
    return f"{seconds / count * 1e6:.2f} µs, {size / 1e6:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("counts", nargs="*", type=int, default=COUNTS, metavar="COUNT")
    parser.add_argument("--task", action="append", choices=TASKS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.path:
        run = TASKS[asked.task[0]](asked.path)
        start = time.process_time()
        run()
        print(time.process_time() - start, peak())
        return
    print("| | " + " | ".join(f"{count:,}" for count in asked.counts) + " |")
    print("|---" * (len(asked.counts) + 1) + "|")
    for task in asked.task or TASKS:
        cells = [_figures(task, count) for count in asked.counts]
        print(f"| {task} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
