"""Peak memory of streaming, for a stream and for one four times as long.

Each figure is that of a separate process (``streaming``), which reads or writes a file of the
generated mix, whose subjects, literals and blank nodes do not repeat.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

from . import data
from .measure import Runs

#: Lengths of the streams, in triples.
COUNTS: Final = [1_000_000, 4_000_000]


def _peak(task: str, count: int) -> float:
    path = data.mix_file(count) if task == "ntriples-to-jelly" else data.mix_stream(count)
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.streaming", task, str(path)],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return int(done.stdout) / 1e6


def _runs(**tasks: str) -> Runs:
    runs: dict[str, Callable[[], object]] = {
        f"{who}, {count:,} triples": partial(_peak, task, count)
        for who, task in tasks.items()
        for count in COUNTS
    }
    return Runs(runs, count=COUNTS[-1], unit="MB", rounds=1)


def memory_reading() -> Runs:
    """Peak memory: Jelly → generic terms, iterate"""
    return _runs(ours="read", pyjelly="pyjelly-read")


def memory_reading_rdflib() -> Runs:
    """Peak memory: Jelly → rdflib terms, iterate"""
    return _runs(ours="read-rdflib", pyjelly="pyjelly-read-rdflib")


def memory_reading_pyoxigraph() -> Runs:
    """Peak memory: Jelly → pyoxigraph quads, iterate"""
    return _runs(ours="read-pyoxigraph")


def memory_to_ntriples() -> Runs:
    """Peak memory: jelly convert, Jelly → N-Triples"""
    return _runs(ours="jelly-to-ntriples")


def memory_from_ntriples() -> Runs:
    """Peak memory: jelly convert, N-Triples → Jelly"""
    return _runs(ours="ntriples-to-jelly")


JOBS: Final = (
    memory_reading,
    memory_reading_rdflib,
    memory_reading_pyoxigraph,
    memory_to_ntriples,
    memory_from_ntriples,
)
