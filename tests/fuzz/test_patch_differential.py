"""A short run of the comparison of kernels on Jelly-Patch; ``JELLY_FUZZ_CASES`` makes it longer."""

from __future__ import annotations

import os

from .differential import native
from .patch_differential import run

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "3000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))


def test_both_kernels_say_the_same() -> None:
    native()
    refused = [error is not None for _, error in run(CASES, SEED)]
    # Both outcomes are common, or the cases show little.
    assert CASES // 10 < sum(refused) < CASES * 9 // 10
