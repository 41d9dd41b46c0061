"""Rounds, medians, ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

#: Something to be timed; what it returns keeps its result alive until the clock has stopped.
Run = Callable[[], object]


@dataclass
class Measured:
    """How long each of those who do one job took on the same data.

    :ivar seconds: the time of each round, by who did it; we come first.
    """

    job: str
    data: str
    count: int
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def median(self, who: str) -> float:
        return statistics.median(self.seconds[who])

    def rate(self, who: str) -> float:
        """Triples in a second."""
        return self.count / self.median(who)

    def ratio(self, who: str) -> float:
        """How many times as long as the first one somebody took."""
        first = next(iter(self.seconds))
        return self.median(who) / self.median(first)


def measure(
    job: str,
    data: str,
    count: int,
    runs: dict[str, Run],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Measured:
    """Time all of ``runs`` in turn, several times over."""
    measured = Measured(job, data, count, {who: [] for who in runs})
    for _ in range(rounds):
        for who, run in runs.items():
            gc.collect()
            start = clock()
            kept = run()
            measured.seconds[who].append(clock() - start)
            del kept
    return measured
