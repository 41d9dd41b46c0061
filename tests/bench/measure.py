"""The table of jobs; rounds, medians, ratios.

A job is a row of the table, see :func:`job`. Its function gets the data, if it takes a parameter,
and returns :class:`Runs` (or just the runs by implementation), ours first. A run is a function, or
:class:`Prepared` if it needs something that is not part of the job (an empty folder, a full store).
"""

from __future__ import annotations

import gc
import inspect
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Final, Literal

from .data import Data

#: Kind of a run's figure: its time, or its result.
Unit = Literal["seconds", "bytes"]

#: Modules of jobs.
MODULES: Final = (
    *("term_jobs", "store_jobs", "patch_jobs", "format_jobs", "stream_jobs"),
    "spark_jobs",
)

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


@dataclass(frozen=True)
class Job:
    """One row of the table."""

    group: str
    name: str
    title: str
    make: Callable[..., Any]

    @property
    def takes_data(self) -> bool:
        return bool(inspect.signature(self.make).parameters)

    def run(self, data: Data | None, rounds: int, clock: Callable[[], float]) -> Measured:
        """Measure the job, with some data or its own."""
        made = self.make() if data is None else self.make(data)
        runs = made if isinstance(made, Runs) else Runs(made)
        count = runs.count if runs.count is not None else data.count if data is not None else 0
        name = "" if data is None else data.name
        values = measure(runs, rounds, clock)
        return Measured(
            self.name, self.title, self.group, name, count, runs.things, runs.unit, values
        )


_JOBS: Final[dict[str, Job]] = {}


def job(group: str, name: str, title: str, *arguments: Any) -> Callable[[Any], Any]:
    """Add a function to the table.

    :param arguments: its first arguments, so that one function can make several jobs.
    """

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        assert name not in _JOBS, f"there are two jobs {name}"
        _JOBS[name] = Job(group, name, title, partial(make, *arguments))
        return make

    return register


def jobs() -> dict[str, Job]:
    """Return all jobs by name, in the order of the table."""
    for module in MODULES:
        try:
            import_module(f"{__package__}.{module}")
        except ModuleNotFoundError as error:
            print(f"{module}: left out, because {error.name} is not installed")
    return _JOBS


def chosen(names: Iterable[str]) -> Iterator[Job]:
    """Return the jobs with these names or in these groups; without names, all jobs.

    :raises KeyError: there is no such job and no such group.
    """
    every = jobs()
    wanted = set(names)
    known = {*every, *(each.group for each in every.values())}
    if unknown := wanted - known:
        raise KeyError(min(unknown))
    return (each for each in every.values() if not wanted or {each.name, each.group} & wanted)


def measure(
    runs: Runs, rounds: int, clock: Callable[[], float] = time.perf_counter
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
    make, act = (run.make, run.act) if isinstance(run, Prepared) else (nullcontext, None)
    with make() as thing:
        gc.collect()
        start = clock()
        kept = run() if act is None else act(thing)  # type: ignore[operator]
        seconds = clock() - start
        del thing
        number = kept if isinstance(kept, int | float) else None
        # Close a store before removing its folder.
        del kept
    return seconds, number
