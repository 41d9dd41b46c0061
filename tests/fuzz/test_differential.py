"""Compare the compiled kernel with its reference: 3,000 cases, or another number with
JELLY_FUZZ_CASES and JELLY_FUZZ_SEED.
"""

from __future__ import annotations

import os
import subprocess
import sys

from ..shared_data import ROOT
from .comparison import native

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "3000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))


def test_both_kernels_agree() -> None:
    native()
    # A separate process, because an error of the kernel may crash it.
    command = [sys.executable, "-m", "tests.fuzz.differential", str(CASES), str(SEED)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-4000:] + found.stderr[-2000:]
    cases, rejected, different = (
        int(word) for word in found.stdout.splitlines()[-1].split() if word.isdigit()
    )
    assert (cases, different) == (CASES, 0)
    # The cases are only meaningful if both outcomes are frequent.
    assert CASES // 10 < rejected < CASES * 9 // 10
