"""No public iterator crashes or loses items if two threads, or its own source, iterate over it.

The cases run in other processes, several in each, so that a crash fails only its own case.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

import pytest

from .shared_data import ROOT
from .thread_cases import CASES, PATIENCE, WAYS

#: The cases of a default run.
SHORT = (
    "read",
    "FrameReader.options",
    "FrameBytes.peek_options",
    "rdflib.read_quads",
    "oxigraph.read_quads",
    "arrow.read, shared",
    "jena.read, rt",
    "PatchReader, jellyp",
    "PatchReader, rdfp",
    "read_patches, trp",
    "read_messages, nt",
    "read_results, jellys",
    "read_results, srj",
    "read_results, frames, srt",
    "oxigraph.encode_quads",
)
LONG = tuple(name for name in CASES if name not in SHORT)


@cache
def outcomes(cases: tuple[str, ...], pure: str) -> dict[tuple[str, str], str]:
    """What is wrong with each case on a kernel."""
    found: dict[tuple[str, str], str] = {}
    names = list(cases)
    while names:
        done = subprocess.run(
            [sys.executable, "-m", "tests.thread_cases", *names],
            cwd=ROOT,
            env={**os.environ, "JELLY_PURE_PYTHON": pure},
            capture_output=True,
            text=True,
            timeout=PATIENCE * len(names),
            check=False,
        )
        lines = list(map(json.loads, done.stdout.splitlines()))
        found |= {tuple(case): wrong for case, wrong in zip(lines[::2], lines[1::2], strict=False)}
        if done.returncode == 0:
            break
        crashed = tuple(lines[-1] if len(lines) % 2 else (names[0], "read"))
        found[crashed] = f"exit code {done.returncode}: {done.stderr[-300:]}"
        names = names[names.index(crashed[0]) + 1 :]
    return found


@pytest.mark.parametrize("pure", ["", "1"], ids=["native", "python"])
@pytest.mark.parametrize(
    "name", [*SHORT, *(pytest.param(name, marks=pytest.mark.slow) for name in LONG)]
)
def test_an_iterator_gives_the_right_items_or_an_error(name: str, pure: str) -> None:
    outcome = outcomes(SHORT if name in SHORT else LONG, pure)
    found = {way: outcome.get((name, way), "did not run") for way in WAYS}
    assert found == dict.fromkeys(WAYS, "")
