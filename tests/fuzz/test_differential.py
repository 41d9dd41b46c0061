"""The compiled kernel against its reference: thousands of cases here, as many as one likes by
JELLY_FUZZ_CASES and JELLY_FUZZ_SEED."""

from __future__ import annotations

import os
from types import ModuleType

import pytest

from . import differential, patch_differential
from .comparison import native

CASES = int(os.environ.get("JELLY_FUZZ_CASES", "3000"))
SEED = int(os.environ.get("JELLY_FUZZ_SEED", "0"))


@pytest.mark.parametrize("sorts", [differential, patch_differential], ids=["data", "patches"])
def test_both_kernels_say_the_same(sorts: ModuleType) -> None:
    native()
    refused = [error is not None for _, error in sorts.run(CASES, SEED)]
    # Both outcomes are common, or the cases show little.
    assert CASES // 10 < sum(refused) < CASES * 9 // 10
