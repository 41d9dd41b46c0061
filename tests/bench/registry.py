"""The jobs, by group and by name.

A module of jobs lists them as ``JOBS``. A job is a function that returns :class:`Runs` (or just the
runs by implementation); its docstring is its title. It is called with the data, or without
arguments if it has its own data. Spark's jobs are separate commands: ``tests.bench.spark_jobs`` and
``tests.bench.spark_store_jobs``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from .data import Data
from .measure import Measured, Runs, measure

#: Modules by group.
GROUPS: Final = {
    "codec": ("codec_jobs",),
    "columns": ("columns_jobs",),
    "rdflib": ("rdflib_jobs",),
    "oxigraph": ("oxigraph_jobs",),
    "size": ("size_jobs",),
    "memory": ("memory_jobs",),
    "patch": ("patch_jobs", "record_jobs"),
    "messages": ("message_jobs",),
    "jena": ("jena_jobs",),
    "results": ("sparql_jobs",),
    "grpc": ("grpc_jobs",),
}


@dataclass(frozen=True)
class Job:
    """One row of the tables."""

    name: str
    group: str
    make: Callable[..., Any]

    @property
    def title(self) -> str:
        return (inspect.getdoc(self.make) or self.name).splitlines()[0].rstrip(".")

    @property
    def takes_data(self) -> bool:
        return bool(inspect.signature(self.make).parameters)

    def run(self, data: Data | None, rounds: int, clock: Callable[[], float]) -> Measured:
        """Measure the job, with some data or its own."""
        made = self.make() if data is None else self.make(data)
        runs = made if isinstance(made, Runs) else Runs(made)
        count = runs.count if runs.count is not None else data.count if data is not None else 0
        return Measured(
            self.name,
            self.title,
            self.group,
            "" if data is None else data.name,
            count,
            runs.things,
            runs.unit,
            measure(runs, rounds, clock),
        )


def jobs() -> dict[str, Job]:
    """Return all jobs by name, in the order of the table."""
    found = (job for group in GROUPS for job in _of(group))
    return {job.name: job for job in found}


def chosen(names: Iterable[str]) -> list[Job]:
    """Return the jobs with these names or in these groups; without names, all jobs.

    :raises KeyError: there is no such job and no such group.
    """
    every = jobs()
    wanted: dict[str, Job] = {}
    for name in names or GROUPS:
        members = [job for job in every.values() if job.group == name]
        if not members and name not in GROUPS:
            members = [every[name]]
        wanted.update((job.name, job) for job in members)
    return list(wanted.values())


def _of(group: str) -> Iterator[Job]:
    for name in GROUPS[group]:
        module = f"{__package__}.{name}"
        if find_spec(module) is None:
            continue
        try:
            listed: Any = import_module(module).JOBS
        except ModuleNotFoundError as error:
            print(f"{group}: left out, because {error.name} is not installed")
            continue
        for job in listed:
            yield Job(job.__name__.strip("_").replace("_", "-"), group, job)
