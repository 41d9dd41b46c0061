"""Double every dimension of the data, and report how time and memory grow.

``python -m tests.bench.doubling [--only WORD ...]`` prints a line for each dimension and entry: the
CPU time and memory at the last size, and their exponents: 1 is linear, 2 is quadratic. Each run is
a separate process. ``--only`` selects the lines that contain all of the words.
"""

from __future__ import annotations

import argparse
import gc
import math
import multiprocessing
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from ..memory import peak
from .doubling_cases import GROUPS, MOST, START, STARTS

#: CPU time in seconds after which a size is not doubled any more, and the time limit of a run.
ENOUGH: Final = 0.2
TIMEOUT: Final = 20
#: Maximum number of doublings.
DOUBLINGS: Final = 6
#: Seconds and bytes below which a figure is not meaningful.
LEAST_SECONDS: Final = 0.02
LEAST_BYTES: Final = 8 << 20
#: Lines with a larger exponent are marked.
LINEAR: Final = 1.35


@dataclass(frozen=True)
class Point:
    """The time and memory of a run.

    :ivar error: why the run failed; empty if it succeeded.
    """

    size: int
    seconds: float = 0.0
    memory: int = 0
    error: str = ""


@dataclass(frozen=True)
class Growth:
    """How the cost of one entry grows as one dimension is doubled."""

    group: str
    dimension: str
    entry: str
    points: list[Point]

    @property
    def time(self) -> float | None:
        return self._exponent([(each.size, each.seconds) for each in self.points], LEAST_SECONDS)

    @property
    def memory(self) -> float | None:
        return self._exponent([(each.size, each.memory) for each in self.points], LEAST_BYTES)

    @property
    def is_steep(self) -> bool:
        return max(self.time or 0, self.memory or 0) > LINEAR

    def _exponent(self, found: list[tuple[int, float]], least: float) -> float | None:
        """Return the exponent of the last doublings, starting with the first meaningful figure;
        None if there is none.
        """
        known = [(size, value) for size, value in found if value >= least][-3:]
        if len(known) < 2:
            return None
        (first, low), (last, high) = known[0], known[-1]
        return math.log(high / low) / math.log(last / first)


def growths(words: list[str]) -> Iterator[Growth]:
    """Yield the growth of each line that has all the words."""
    for group, (dimensions, entries) in GROUPS.items():
        for dimension in dimensions:
            for entry in entries:
                line = f"{group} {dimension} {entry}"
                if all(word in line for word in words):
                    yield grown(group, dimension, entry)


def grown(group: str, dimension: str, entry: str) -> Growth:
    """Measure one line: double the size until a run takes long enough."""
    points: list[Point] = []
    size = STARTS.get(dimension, START)
    for _ in range(DOUBLINGS):
        point = measured(group, dimension, entry, size)
        if point.error:
            if not points:
                points.append(point)
            break
        points.append(point)
        size *= 2
        if point.seconds > ENOUGH or size > MOST.get(dimension, size):
            break
    return Growth(group, dimension, entry, points)


def measured(group: str, dimension: str, entry: str, size: int) -> Point:
    """Measure one run, in a separate process."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(theirs, group, dimension, entry, size)
    )
    process.start()
    theirs.close()
    try:
        found: Point = ours.recv()
    except EOFError:
        found = Point(size, error=f"ended after {TIMEOUT} s")
    process.join()
    return found


def _run(out: Connection, group: str, dimension: str, entry: str, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (TIMEOUT, TIMEOUT))
    dimensions, entries = GROUPS[group]
    try:
        run: Any = entries[entry](dimensions[dimension](size))
        gc.collect()
        _forget_peak()
        memory, start = peak(), time.process_time()
        kept = run()
        out.send(Point(size, time.process_time() - start, peak() - memory))
        del kept
    except Exception as error:
        out.send(Point(size, error=f"{type(error).__name__}: {error}"[:160]))


def _forget_peak() -> None:
    """Reset the process's peak memory, if the system supports it."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    superlinear = []
    for each in growths(parser.parse_args().only):
        print(_line(each), flush=True)
        superlinear += [each] if each.is_steep else []
    print(f"\n{len(superlinear)} lines are worse than linear:")
    for each in superlinear:
        print(_line(each))


def _line(each: Growth) -> str:
    last = each.points[-1]
    if last.error:
        return f"{each.dimension} | {each.entry} | {last.size} | {last.error}"
    time_, memory = ("-" if value is None else f"{value:.2f}" for value in (each.time, each.memory))
    mark = " | WORSE THAN LINEAR" if each.is_steep else ""
    return (
        f"{each.dimension} | {each.entry} | {last.size} | {last.seconds:.3f} s | {time_} | "
        f"{last.memory / 2**20:.0f} MB | {memory}{mark}"
    )


if __name__ == "__main__":
    main()
