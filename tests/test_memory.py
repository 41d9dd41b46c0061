"""Documents that repeat one thing, or declare more than they hold, are read in bounded memory.

Each reader runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
LONG = [
    pytest.param(name, megabytes, marks=pytest.mark.slow)
    for megabytes in (1, 8, 60)
    for name in CASES
    if megabytes > 1 or name not in SHORT
]

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/clear_refs").exists(), reason="the peak of memory cannot be reset here"
)


@pytest.mark.parametrize(("name", "megabytes"), [*((name, 1) for name in SHORT), *LONG])
def test_documents_take_bounded_memory(name: str, megabytes: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.memory_cases", str(megabytes * 1_000_000), name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    _, found = json.loads(done.stdout)
    most = MOST + PER_BYTE * megabytes * 1_000_000
    too_large = {}
    for document, (taken, stored, outcome) in found.items():
        # A load that was rejected held all rows of a frame that were not.
        held = stored
        if name.endswith("load") and not stored:
            held = min(DEFAULT_LIMITS.frame_rows, megabytes * 50_000)
        if taken > most + held * PER_STATEMENT:
            too_large[document] = (taken >> 20, outcome)
    assert too_large == {}
