"""The README stays true: each of its code blocks runs, its links lead to what is there, and its
figures are those of the documentation.

Blocks of one section share a folder and, if they are Python, their names. The two blocks that set
up an environment are run by ``.ci/run`` instead, which takes them from the README.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from . import blocks
from .shared_data import ROOT

README = (ROOT / "README.md").read_text()
URLS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]

_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")

#: What a block that sets up an environment starts with.
SET_UP = "python3 -m venv .venv && "

#: Pages of the site that are made when it is built, and of what.
MADE = {
    "changes": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "commands": "jelly_plugins/cli/app.py",
}


def sections() -> dict[str, list[tuple[str, str]]]:
    """Code blocks, as language and text, by the heading that they stand under."""
    text = blocks.without_blocks(README)
    headings = [(match.start(), match.group(1)) for match in _HEADING.finditer(text)]
    found: dict[str, list[tuple[str, str]]] = {}
    for start, block in blocks.placed_blocks(README):
        heading = [name for before, name in headings if before < start][-1]
        found.setdefault(heading, []).append(block)
    return found


SECTIONS = sections()


@pytest.mark.parametrize("heading", SECTIONS)
def test_blocks_of_a_section_run(
    heading: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "readme"}
    for language, text in SECTIONS[heading]:
        if not text.startswith(SET_UP):
            blocks.run(language, text, names, tmp_path)


def test_the_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = [line for line in README.splitlines() if line.startswith(SET_UP)]
    assert [line.rpartition("/")[2] for line in commands] == [
        "jelly demo",
        "python -m pytest -n 3",
    ]


def source_of(link: str) -> Path | None:
    """The file in the project that an absolute link of ours leads to; None of others' links."""
    repository = URLS["Repository"]
    raw = repository.replace("github.com", "raw.githubusercontent.com")
    for prefix in (f"{repository}/blob/main/", f"{raw}/main/"):
        if link.startswith(prefix):
            return ROOT / link.removeprefix(prefix).partition("#")[0]
    if not link.startswith(URLS["Documentation"]):
        return None
    page = link.removeprefix(URLS["Documentation"]).partition("#")[0].rstrip("/")
    if page in MADE:
        return ROOT / MADE[page]
    file = ROOT / "docs" / f"{page}.md"
    return file if page and file.exists() else ROOT / "docs" / page / "index.md"


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as the site makes them."""
    words = [re.sub(r"[^\w\s-]", "", heading.lower()).split() for heading in _HEADING.findall(text)]
    return {"-".join(each) for each in words}


def test_links_hold_on_other_sites() -> None:
    links = _LINK.findall(README)
    assert len(links) > 30
    for link in links:
        if link.startswith("#"):
            assert link[1:] in anchors(README), link
            continue
        assert link.startswith("https://"), link
        file = source_of(link)
        if file is None:
            assert "jelly_plugins" not in link
            continue
        assert file.is_file(), link
        _, hash_, anchor = link.partition("#")
        if hash_:
            assert anchor in anchors(blocks.without_blocks(file.read_text())), link


def test_links_of_the_package_are_there() -> None:
    for name, link in URLS.items():
        if name != "Repository":
            file = source_of(link)
            assert file is not None, link
            assert file.is_file(), link


def test_figures_are_those_of_the_documentation() -> None:
    page = (ROOT / "docs" / "figures.md").read_text().splitlines()
    text = README[README.index("## Figures") : README.index("## Limits")]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 15
    assert [row for row in rows if row not in page] == []


@pytest.mark.parametrize(
    ("heading", "page"),
    [("Install", "start/index.md"), ("What is supported", "reference/supported.md")],
)
def test_tables_are_those_of_the_documentation(heading: str, page: str) -> None:
    section = README[README.index(f"## {heading}\n") :]
    rows = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    assert rows is not None
    assert rows[0] in (ROOT / "docs" / page).read_text()


def test_extras_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    section = README[README.index("## Install\n") : README.index("## rdflib\n")]
    named = set(re.findall(r"\[(\w+)\]`", section))
    assert named | {"jena", "test", "dev", "docs"} == set(project["optional-dependencies"])
