"""Rounds, medians, ratios.

A job returns :class:`Runs`, one for each implementation, ours first. A run is a function, or
:class:`Prepared` if it needs something that is not part of the job (an empty folder, a full store).
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Literal

#: Kind of a run's figure: its time, or its result.
Unit = Literal["seconds", "bytes", "MB"]

#: After this many seconds in total, a run is not repeated beyond the minimum number of rounds.
PATIENCE: Final = 60.0
LEAST_ROUNDS: Final = 3


@dataclass(frozen=True)
class Prepared:
    """A run on something that is made before the measurement and released after it.

    :ivar make: returns the thing as a context manager.
    :ivar act: the run itself.
    """

    make: Callable[[], AbstractContextManager[Any]]
    act: Callable[[Any], object]


#: A function to measure; its result is kept alive until the measurement ends.
Run = Callable[[], object] | Prepared


@dataclass(frozen=True)
class Runs:
    """A job that is ready to be measured.

    :ivar runs: by implementation, ours first.
    :ivar count: number of things processed; None for the triples of the data.
    :ivar things: what ``count`` counts.
    :ivar unit: for any unit except seconds, the figure is the result of a run.
    :ivar rounds: number of useful rounds; None for the requested number.
    :ivar close: called after the last measurement.
    """

    runs: Mapping[str, Run]
    count: int | None = None
    things: str = "triples"
    unit: Unit = "seconds"
    rounds: int | None = None
    close: Callable[[], object] = lambda: None


@dataclass
class Measured:
    """The figures of all implementations of one job on the same data.

    :ivar values: the figure of each round by implementation; ours is the first.
    """

    name: str
    job: str
    group: str
    data: str
    count: int
    things: str
    unit: Unit
    values: dict[str, list[float]] = field(default_factory=dict)

    @property
    def ours(self) -> str:
        """The name of the first implementation."""
        return next(iter(self.values))

    def median(self, who: str) -> float:
        return statistics.median(self.values[who])

    def rate(self, who: str) -> float:
        """Things per second."""
        return self.count / self.median(who)

    def ratio(self, who: str) -> float:
        """The time or size relative to that of the first implementation."""
        return self.median(who) / self.median(self.ours)

    def figure(self, who: str) -> str:
        """Format the median with its unit."""
        if self.unit == "seconds":
            return f"{self.rate(who) / 1000:,.0f} k {self.things}/s"
        return f"{self.median(who):,.0f} {self.unit}"


def measure(
    runs: Runs,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Measure all runs alternately, several times.

    Existing objects are frozen, so that the garbage collector does not visit the data during the
    measurement.
    """
    values: dict[str, list[float]] = {who: [] for who in runs.runs}
    spent = dict.fromkeys(values, 0.0)
    gc.collect()
    gc.freeze()
    try:
        for number in range(min(rounds, runs.rounds or rounds)):
            for who, run in runs.runs.items():
                if number >= LEAST_ROUNDS and spent[who] > PATIENCE:
                    continue
                began = time.perf_counter()
                seconds, result = _once(run, clock)
                values[who].append(seconds if runs.unit == "seconds" else float(result))
                spent[who] += time.perf_counter() - began
    finally:
        gc.unfreeze()
        runs.close()
    return values


def _once(run: Run, clock: Callable[[], float]) -> tuple[float, Any]:
    """Return the seconds of a run, and its result if that is a number."""
    if isinstance(run, Prepared):
        make, act = run.make, run.act
    else:
        make, act = nullcontext, lambda _, run=run: run()  # type: ignore[misc]
    with make() as thing:
        gc.collect()
        start = clock()
        kept = act(thing)
        seconds = clock() - start
        del thing
        number = kept if isinstance(kept, int | float) else None
        # Close a store before removing its folder.
        del kept
    return seconds, number
