"""Where tests find the material that is not part of the project: official test suites, real data.

``JELLY_PLUGINS_SHARED`` names its folder; by default it is looked for beside the project. What
needs it skips without it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("JELLY_PLUGINS_SHARED") or ROOT.parent / "shared")


def shared(path: str) -> Path:
    """A file or folder of the shared material; skips the test where it is absent."""
    found = SHARED / path
    if not found.exists():
        pytest.skip(f"{path} is not there (set JELLY_PLUGINS_SHARED to the folder that has it)")
    return found
