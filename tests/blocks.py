"""Extract and run the code blocks of documents."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(document: str) -> list[tuple[str, str]]:
    """Return the blocks of a document, as language and text."""
    return [block for _, block in placed_blocks(document)]


def placed_blocks(document: str) -> list[tuple[int, tuple[str, str]]]:
    """Return the blocks of a document with their positions."""
    return [(match.start(), (match[1], match[2])) for match in _BLOCK.finditer(document)]


def without_blocks(document: str) -> str:
    """Remove the code from a document, so that comments in code are not read as headings."""
    return _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), document)


def run(language: str, text: str, names: dict[str, object], folder: Path) -> None:
    """Run a block; Python blocks share their names."""
    if language == "python":
        run_python(text, names, folder)
    else:
        assert language == "sh", f"a block of an unknown language: {language!r}"
        run_shell(text, folder)


def run_python(text: str, names: dict[str, object], folder: Path) -> None:
    before = os.getcwd()
    os.chdir(folder)
    try:
        exec(compile(text, "a block of code", "exec"), names)
    finally:
        os.chdir(before)


def run_shell(text: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        ["bash", "-euc", text], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
