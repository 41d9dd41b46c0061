"""The blocks of the README run, twice in one folder; its figures agree with the documentation; its
links are absolute in the package's metadata.

Blocks of one section share a folder and, if they are Python, their names. ``.ci/run`` takes the two
blocks that set up an environment from the README and runs them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from runpy import run_path
from unittest.mock import MagicMock

import pytest

from . import blocks, links
from .shared_data import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
URLS = PROJECT["urls"]

#: Start of a block that sets up an environment.
SET_UP = "python3 -m venv .venv && "


def sections() -> dict[str, str]:
    """Return the text of each section by its heading."""
    text = blocks.without_blocks(README)
    starts = [(match.start(), match[1]) for match in re.finditer(r"^## (.+)$", text, re.MULTILINE)]
    ends = [start for start, _ in starts[1:]] + [len(README)]
    return {name: README[start:end] for (start, name), end in zip(starts, ends, strict=True)}


def is_code(block: tuple[str, str]) -> bool:
    return block[0] != "text" and not block[1].startswith(SET_UP)


SECTIONS = sections()
EXAMPLES = {
    heading: code
    for heading, text in SECTIONS.items()
    if (code := [block for block in blocks.blocks(text) if is_code(block)])
}


@pytest.mark.parametrize("heading", EXAMPLES)
def test_blocks_of_a_section_run_twice(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = blocks.shown_output(README)
    for _ in range(2):
        names: dict[str, object] = {"__name__": "readme"}
        for language, text in EXAMPLES[heading]:
            output = blocks.run(language, text, names, tmp_path)
            assert text not in shown or blocks.matches(shown[text], output), output


@pytest.mark.parametrize("heading", EXAMPLES)
def test_a_section_with_code_names_its_extra(heading: str) -> None:
    found = re.search(r"^Extra: `(\w+)`", SECTIONS[heading], re.MULTILINE)
    assert found is not None
    assert found[1] in PROJECT["optional-dependencies"]


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for line in README.splitlines() if line.startswith(SET_UP)]
    assert [line.rpartition("/")[2] for line in commands] == [
        "jelly demo",
        "python -m pytest -n 3",
    ]


def test_links_are_absolute_in_the_metadata(monkeypatch: pytest.MonkeyPatch) -> None:
    # A new environment has no setuptools, or a version too old for the build.
    setuptools = MagicMock()
    monkeypatch.setitem(sys.modules, "setuptools", setuptools)
    monkeypatch.chdir(ROOT)
    run_path("setup.py")
    relative = [link for link in links.links(README) if not link.startswith(("#", "https:"))]
    assert len(relative) > 15
    absolute = [f"{URLS['Repository']}/blob/main/{link}" for link in relative]
    found = links.links(setuptools.setup.call_args.kwargs["long_description"])
    assert set(absolute) <= set(found)
    assert all(link.startswith(("#", "https:")) for link in found)


def test_figures_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in SECTIONS["Figures"].splitlines() if line.startswith("|")]
    assert len(rows) > 5
    assert [row for row in rows if row not in page] == []


def test_every_extra_is_documented() -> None:
    page = (ROOT / "docs" / "start" / "index.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `jelly-plugins[")]
    named = {name for row in rows for name in re.findall(r"\[(\w+)\]`", row)}
    assert named | {"jena", "test", "dev", "docs"} == set(PROJECT["optional-dependencies"])
