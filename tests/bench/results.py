"""Write figures as text, as a table in Markdown, and as JSON."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from jelly_plugins import native

from .measure import Measured

#: The conditions of a measurement.
Environment = dict[str, Any]

_PACKAGES: Final = (
    "jelly-plugins",
    "pyjelly",
    "rdflib",
    "oxrdflib",
    "pyoxigraph",
    "pyarrow",
    "pyspark",
)


def environment(rounds: int, *, cpu: bool) -> Environment:
    """Describe the conditions of the current measurement."""
    return {
        "date": datetime.date.today().isoformat(),
        "kernel": "native" if native else "python",
        "clock": "processor time" if cpu else "time",
        "rounds": rounds,
        "python": platform.python_version(),
        "packages": {
            name: version(name) for name in _PACKAGES if find_spec(name.replace("-", "_"))
        },
    }


def opening(environment: Environment) -> str:
    """Write the line above the figures."""
    packages = ", ".join(f"{name} {number}" for name, number in environment["packages"].items())
    return (
        f"kernel: {environment['kernel']}; medians of {environment['rounds']} rounds, "
        f"{environment['clock']}; Python {environment['python']}, {packages}"
    )


def rows(measured: Measured) -> str:
    """Write a job's figures as lines of text."""
    where = f"{measured.data}, " if measured.data else ""
    lines = [f"{measured.job} ({where}{measured.count:,} {measured.things})"]
    beside = "times our time" if measured.unit == "seconds" else "times ours"
    for who in measured.values:
        ratio = "" if who == measured.ours else f"{measured.ratio(who):>9.2f} {beside}"
        if measured.unit == "seconds":
            figure = f"{measured.rate(who) / 1000:,.0f} k {measured.things}/s"
        else:
            figure = f"{measured.median(who):,.0f} {measured.unit}"
        lines.append(f"  {who:<42}{figure:>24}{ratio}")
    return "\n".join(lines)


def markdown(measured: Sequence[Measured]) -> str:
    """Write all figures as tables, one for each unit: a row for each implementation, a column for
    each set of data, with the time (or size) relative to ours.
    """
    tables = []
    for unit, things in dict.fromkeys((found.unit, found.things) for found in measured):
        found = [each for each in measured if (each.unit, each.things) == (unit, things)]
        sets = list(dict.fromkeys(each.data for each in found))
        head = f"thousand {things} a second" if unit == "seconds" else unit
        lines = [
            "| ".join(["", "job ", f"{head} ", *(f"{name or ' '} " for name in sets), ""]).strip(),
            "|---|---|" + "---:|" * len(sets),
        ]
        for title, group in groupby(_by_job(found), key=lambda each: each.job):
            by_data = {each.data: each for each in group}
            for who in dict.fromkeys(who for each in by_data.values() for who in each.values):
                cells = [_cell(by_data.get(name), who) for name in sets]
                lines.append(f"| {title} | {who} | {' | '.join(cells)} |")
                title = ""
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _by_job(measured: Sequence[Measured]) -> list[Measured]:
    order = list(dict.fromkeys(each.job for each in measured))
    return sorted(measured, key=lambda each: order.index(each.job))


def _cell(measured: Measured | None, who: str) -> str:
    if measured is None or who not in measured.values:
        return ""
    if measured.unit == "seconds":
        figure = f"{measured.rate(who) / 1000:,.0f}"
    else:
        figure = f"{measured.median(who):,.0f}"
    return figure if who == measured.ours else f"{figure} ({measured.ratio(who):.2f} x)"


def save(path: Path, environment: Environment, measured: Iterable[Measured]) -> None:
    """Write figures as JSON."""
    text = json.dumps(
        {"environment": environment, "results": [asdict(each) for each in measured]},
        indent=1,
        ensure_ascii=False,
    )
    path.write_text(text + "\n", encoding="utf-8")


def load(path: Path) -> tuple[Environment, list[Measured]]:
    """Read figures from JSON."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["environment"], [Measured(**each) for each in found["results"]]
