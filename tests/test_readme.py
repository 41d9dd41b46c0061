"""The README stays true: each of its code blocks runs.

Blocks of one section share a folder and, if they are Python, their names. The two blocks that set
up an environment are run by ``.ci/run`` instead, which takes them from the README.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from . import blocks
from .shared_data import ROOT

README = (ROOT / "README.md").read_text()

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)

#: What a block that sets up an environment starts with.
SET_UP = "python3 -m venv .venv && "


def sections() -> dict[str, list[tuple[str, str]]]:
    """Code blocks, as language and text, by the heading that they stand under."""
    headings = [
        (match.start(), match.group(1))
        for match in _HEADING.finditer(blocks.without_blocks(README))
    ]
    found: dict[str, list[tuple[str, str]]] = {}
    for start, block in blocks.placed_blocks(README):
        heading = [text for before, text in headings if before < start][-1]
        found.setdefault(heading, []).append(block)
    return found


SECTIONS = sections()


@pytest.mark.parametrize("heading", SECTIONS)
def test_blocks_of_a_section_run(heading: str, tmp_path: Path) -> None:
    names: dict[str, object] = {"__name__": "readme"}
    for language, text in SECTIONS[heading]:
        if text.startswith(SET_UP):
            continue
        blocks.run(language, text, names, tmp_path)


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for line in README.splitlines() if line.startswith(SET_UP)]
    assert [line.rpartition("/")[2] for line in commands] == [
        "jelly demo",
        "python -m pytest -n 3",
    ]
