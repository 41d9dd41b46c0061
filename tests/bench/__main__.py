"""The command line of the benchmarks."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from jelly_plugins import native

from .data import Data, from_file, mix, usual
from .jobs import JOBS
from .measure import Measured, measure


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"jobs: {', '.join(JOBS)}")
    parser.add_argument("--data", action="append", metavar="FILE", help="Jelly or N-Triples")
    parser.add_argument("--mix", type=int, metavar="COUNT", help="a made mix of COUNT triples")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each (default: 5)")
    parser.add_argument(
        "--cpu", action="store_true", help="time of the processor, for a machine that is not quiet"
    )
    parser.add_argument("--json", metavar="FILE", help="write all times to FILE")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(JOBS)
    if unknown:
        parser.error(f"no such job: {', '.join(sorted(unknown))}")
    chosen: list[Data] = [from_file(Path(name)) for name in arguments.data or ()]
    if arguments.mix:
        chosen.append(mix(arguments.mix))
    print(f"kernel: {'native' if native else 'python'}; medians of {arguments.rounds} rounds")
    clock = time.process_time if arguments.cpu else time.perf_counter
    results = []
    for data in chosen or usual():
        for name in arguments.names or JOBS:
            job = JOBS[name]
            runs = job(data)
            measured = measure(
                job.__doc__ or name, data.name, data.count, runs, arguments.rounds, clock
            )
            print(row(measured), flush=True)
            results.append(measured)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps([vars(found) for found in results], indent=1))


def row(measured: Measured) -> str:
    """A job's figures as lines of text."""
    lines = [f"{measured.job} ({measured.data}, {measured.count:,} triples)"]
    for who in measured.seconds:
        lines.append(
            f"  {who:<40}{measured.rate(who) / 1000:>10,.0f} k triples/s"
            f"{measured.ratio(who):>9.2f} times our time"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
