"""Run small programs in a separate process that can import the project and its tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .shared_data import ROOT


def run(code: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        _command(code, arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def start(code: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start a program whose output is read while it runs."""
    return subprocess.Popen(_command(code, arguments), cwd=ROOT, stdout=subprocess.PIPE)


def _command(code: str, arguments: tuple[str | Path, ...]) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]
