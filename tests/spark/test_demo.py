"""The demo of Spark, as the documentation has it: it starts a Spark of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_reads_asks_and_streams(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "jelly_plugins.spark"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-2:] == [
        "read:       5,000 statements",
        "streamed:   5,000 statements, of three files",
    ]
