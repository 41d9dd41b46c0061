"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from . import results
from .data import from_file, mix, shape, usual
from .measure import Measured, chosen
from .plot import plot


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench",
        description="Measure jobs: ours and each peer on the same data in turn.",
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="jobs or groups of jobs")
    add("--data", action="append", metavar="FILE", help="Jelly or N-Triples")
    add("--mix", type=int, metavar="COUNT", help="a made mix of COUNT triples")
    add("--shapes", type=int, default=0, metavar="COUNT", help="made data of COUNT random shapes")
    add("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    add("--cpu", action="store_true", help="time of the processor, for a machine that is not quiet")
    add("--json", metavar="FILE", help="write all figures to FILE")
    add("--markdown", action="store_true", help="print a table in Markdown, too")
    add("--plot", metavar="FILE", help="draw a chart of the largest data: FILE.svg or FILE.png")
    add("--from", dest="source", metavar="FILE", help="take the figures that --json wrote")
    add("--list", action="store_true", help="name the jobs, and stop")
    asked = parser.parse_args(arguments)
    if asked.source:
        environment, measured = results.load(Path(asked.source))
    else:
        environment, measured = _measure(asked)
    if asked.json:
        results.save(Path(asked.json), environment, measured)
    if asked.markdown:
        print(results.markdown(measured))
    if asked.plot:
        plot(measured, Path(asked.plot))


def _measure(asked: argparse.Namespace) -> tuple[results.Environment, list[Measured]]:
    try:
        jobs = list(chosen(asked.names))
    except KeyError as error:
        sys.exit(f"no such job or group: {error.args[0]}")
    if asked.list:
        for job in jobs:
            print(f"{job.group:<10}{job.name:<28}{job.title}")
        sys.exit()
    sets = [from_file(Path(name)) for name in asked.data or ()]
    if asked.mix:
        sets.append(mix(asked.mix))
    sets += map(shape, range(asked.shapes))
    clock = time.process_time if asked.cpu else time.perf_counter
    environment = results.environment(asked.rounds, cpu=asked.cpu)
    print(results.opening(environment), flush=True)
    measured = []

    def report(found: Measured) -> None:
        print(results.rows(found), flush=True)
        measured.append(found)

    on_data = [job for job in jobs if job.takes_data]
    # Keep only one set of data in memory at a time.
    for data in (sets or usual()) if on_data else ():
        for job in on_data:
            report(job.run(data, asked.rounds, clock))
        data.forget()
    for job in jobs:
        if not job.takes_data:
            report(job.run(None, asked.rounds, clock))
    return environment, measured


if __name__ == "__main__":
    main()
