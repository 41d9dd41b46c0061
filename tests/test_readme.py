"""The README stays true: each of its code blocks runs.

Blocks of one section share a folder and, if they are Python, their names. The two blocks that set
up an environment are run by ``.ci/run`` instead, which takes them from the README.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .shared_data import ROOT

README = (ROOT / "README.md").read_text()

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

#: What a block that sets up an environment starts with.
SET_UP = "python3 -m venv .venv && "


def sections() -> dict[str, list[tuple[str, str]]]:
    """Code blocks, as language and text, by the heading that they stand under."""
    headings = [(match.start(), match.group(1)) for match in _HEADING.finditer(_without_blocks())]
    found: dict[str, list[tuple[str, str]]] = {}
    for match in _BLOCK.finditer(README):
        heading = [text for start, text in headings if start < match.start()][-1]
        found.setdefault(heading, []).append((match.group(1), match.group(2)))
    return found


def _without_blocks() -> str:
    """The README with its code blocked out, so that a comment in code is no heading."""
    return _BLOCK.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), README)


SECTIONS = sections()


@pytest.mark.parametrize("heading", SECTIONS)
def test_blocks_of_a_section_run(heading: str, tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "readme"}
    for language, text in SECTIONS[heading]:
        if text.startswith(SET_UP):
            continue
        if language == "python":
            run_python(text, names, tmp_path)
        else:
            assert language == "sh", f"a block of an unknown language: {language!r}"
            run_shell(text, tmp_path)


def run_python(text: str, names: dict[str, object], folder: Path) -> None:
    before = os.getcwd()
    os.chdir(folder)
    try:
        exec(compile(text, "README.md", "exec"), names)
    finally:
        os.chdir(before)


def run_shell(text: str, folder: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "README": str(ROOT)}
    done = subprocess.run(
        ["bash", "-euc", text], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for line in README.splitlines() if line.startswith(SET_UP)]
    assert [line.rpartition("/")[2] for line in commands] == [
        "jelly demo",
        "python -m pytest -n 3",
    ]
