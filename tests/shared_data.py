"""Find shared data that is not part of the project: official test suites, real data.

``JELLY_PLUGINS_SHARED`` is its folder; by default a folder next to the project. Tests that need it
are skipped without it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("JELLY_PLUGINS_SHARED") or ROOT.parent / "shared")


def shared(path: str) -> Path:
    """Return a file or folder of the shared data; skip the test if it does not exist."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"{path} is not there (set JELLY_PLUGINS_SHARED to the folder that has it)")
    return found
