"""Compare the compiled kernel with its reference: 3,000 cases, or another number with
JELLY_FUZZ_CASES and JELLY_FUZZ_SEED.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from ..programs import run
from ..shared_data import ROOT
from .comparison import native
from .lending import LENDER

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "3000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))


def differential(cases: int, seed: int) -> subprocess.CompletedProcess[str]:
    """Run the comparison in a separate process, because an error of the kernel may crash it."""
    command = [sys.executable, "-m", "tests.fuzz.differential", str(cases), str(seed)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_both_kernels_agree() -> None:
    native()
    found = differential(CASES, SEED)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
    cases, rejected, different = (
        int(word) for word in found.stdout.splitlines()[-1].split() if word.isdigit()
    )
    assert (cases, different) == (CASES, 0)
    # The cases are only meaningful if both outcomes are frequent.
    assert CASES // 10 < rejected < CASES * 9 // 10


STALE = """
import ctypes
from tests.fuzz.lending import LENDER

bytes_lent = LENDER.lend(b"a frame")
address = id(bytes_lent)
assert bytes_lent == b"a frame"
LENDER.take_back()
assert bytes_lent[0] == ord("a")
del bytes_lent
LENDER.take_back()
print("taken back", flush=True)
ctypes.string_at(address, 40)
print("read", flush=True)
"""


@pytest.mark.skipif(not LENDER.guarded, reason="lent bytes are plain copies here")
def test_lent_bytes_become_unreadable() -> None:
    found = run(STALE)
    assert found.stdout == "taken back\n"
    assert found.returncode == -signal.SIGSEGV
