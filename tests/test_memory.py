"""Documents that repeat one thing, or declare more than they hold, are read in bounded memory.

The readers run in other processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from jelly_plugins.codec.common.limits import DEFAULT_LIMITS

from .memory_cases import CASES
from .shared_data import ROOT

#: Bytes that reading any document may take.
MOST = 200 << 20
#: Bytes that a statement may take in a store in memory, or in a message.
PER_STATEMENT = 1500
#: Bytes that a frame or a line takes for each of its own, with copies and statements.
PER_BYTE = 7
#: The cases of a default run.
SHORT = (
    "read",
    "oxigraph.load",
    "N-Quads to Jelly",
    "Turtle to Jelly",
    "messages in NDJSON-LD",
    "Jelly-Patch",
    "RDF Thrift",
)
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory cannot be reset here"
)


@cache
def measured(megabytes: int, names: tuple[str, ...]) -> dict[str, dict[str, tuple[int, int, str]]]:
    """Run cases in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.memory_cases", str(megabytes * 1_000_000), *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(map(json.loads, done.stdout.splitlines()))


@pytest.mark.parametrize(
    "megabytes", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (8, 60))]
)
@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.slow) for name in CASES],
)
def test_documents_take_bounded_memory(name: str, megabytes: int) -> None:
    together = SHORT if name in SHORT and megabytes == 1 else (name,)
    too_large = {}
    for document, (taken, stored, outcome) in measured(megabytes, together)[name].items():
        # A load that was rejected held all rows of a frame that were not.
        held = stored
        if name.endswith("load") and not stored:
            held = min(DEFAULT_LIMITS.frame_rows, megabytes * 50_000)
        if taken > MOST + PER_BYTE * megabytes * 1_000_000 + held * PER_STATEMENT:
            too_large[document] = (taken >> 20, outcome)
    assert too_large == {}
