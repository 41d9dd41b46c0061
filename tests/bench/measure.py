"""Rounds, medians, ratios.

A job says who does it, as :class:`Runs`: ours first. A run is a function; where something must be
at hand that is not part of the job (an empty folder, a full store), it is a :class:`Prepared` one.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Final, Literal

#: What a run's figure is: how long it took, or what it returns.
Unit = Literal["seconds", "bytes", "MB"]

#: Who took so many seconds in all rounds together is not asked again, but for the least rounds.
PATIENCE: Final = 60.0
LEAST_ROUNDS: Final = 3


@dataclass(frozen=True)
class Prepared:
    """A run on something that is made before the clock starts, and given up after it stopped.

    :ivar make: gives it as a context manager.
    :ivar act: the run itself.
    """

    make: Callable[[], AbstractContextManager[Any]]
    act: Callable[[Any], object]


#: Something to be timed; what it returns keeps its result alive until the clock has stopped.
Run = Callable[[], object] | Prepared


@dataclass(frozen=True)
class Runs:
    """A job that is ready to be measured.

    :ivar runs: by who does it, ours first.
    :ivar count: how many things it is about; None for the triples of the data.
    :ivar things: what is counted.
    :ivar unit: with another one than seconds, the figure is what a run returns.
    :ivar rounds: how often it is worth measuring; None for as often as asked.
    :ivar close: called when nothing is to be measured any more.
    """

    runs: Mapping[str, Run]
    count: int | None = None
    things: str = "triples"
    unit: Unit = "seconds"
    rounds: int | None = None
    close: Callable[[], object] = lambda: None


@dataclass
class Measured:
    """What those who do one job came to on the same data.

    :ivar values: the figure of each round, by who did it; we come first.
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
        """The name of who comes first."""
        return next(iter(self.values))

    def median(self, who: str) -> float:
        return statistics.median(self.values[who])

    def rate(self, who: str) -> float:
        """Things in a second."""
        return self.count / self.median(who)

    def ratio(self, who: str) -> float:
        """How many times as much as the first one somebody took."""
        return self.median(who) / self.median(self.ours)

    def figure(self, who: str) -> str:
        """The median as text, with its unit."""
        if self.unit == "seconds":
            return f"{self.rate(who) / 1000:,.0f} k {self.things}/s"
        return f"{self.median(who):,.0f} {self.unit}"


def measure(
    runs: Runs,
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """The figures of all runs in turn, several times over.

    What was made before is frozen, so that the garbage collector does not walk through our data
    while somebody is at work.
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
    """Seconds of a run, and what it returned if that is a number."""
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
        # A store is closed before its folder goes.
        del kept
    return seconds, number
