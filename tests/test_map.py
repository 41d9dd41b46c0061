"""Files that documents name exist, and define the names that the documents mention.

The tests check names in backticks: files and folders, relative to the project, the package or the
tests, and after a colon a name that the file defines (``codec/rdf/rules.py:NEXT``,
``io/streams.py:FrameReader.close``). In ``docs/rules.md`` they also check names of tests, which are
in the first file of the section unless they name another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    "CONTRIBUTING.md",
    *(f"docs/{name}.md" for name in ("ARCHITECTURE", "glossary", "kernels", "rules")),
]
#: Folders that names of files are relative to.
FOLDERS = (ROOT, ROOT / "jelly_plugins", ROOT / "tests")

_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(\.?\w[\w./-]*\.(?:c|md|pxi|py|pyi|pyx|proto|sh|toml))(?::([\w.]+))?")
_FOLDER = re.compile(r"\.?\w[\w./-]*/")
_TEST = re.compile(r"test_\w+")
_CELL = re.compile(r"(?<!\\)\|")


def text_of(document: str) -> str:
    """Return a document without its code blocks."""
    return re.sub(r"```.*?```", "", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)


def existing_paths(name: str) -> list[Path]:
    return [folder / name for folder in FOLDERS if (folder / name).exists()]


@cache
def source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def defines(path: Path, name: str) -> bool:
    """Whether a file defines a name: a class, a function, a constant, or a method of a class."""
    return all(
        re.search(
            rf"^\s*(?:async\s+)?(?:def|class)\s+{part}\b"
            rf"|^\s*(?:cdef|cpdef)\b[^=\n]*\b{part}\b"
            rf"|^\s*(?:self\.)?{part}\s*(?::[^=\n]*)?="
            rf"|^\s*{part}\s*\(\)\s*\{{",
            source(path),
            re.MULTILINE,
        )
        for part in name.split(".")
    )


def named(document: str) -> Iterator[tuple[str, str | None]]:
    """Yield the files and folders that a document names, each with the name that it must define."""
    for code in _CODE.findall(text_of(document)):
        if found := _FILE.fullmatch(code):
            yield found[1], found[2]
        elif _FOLDER.fullmatch(code):
            yield code, None


def sections(document: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the sections of a document: text, and the rows of its tables without headers."""
    for section in re.split(r"^## ", text_of(document), flags=re.MULTILINE)[1:]:
        lines = [line for line in section.splitlines() if line.startswith("|")]
        yield section, [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines[2:]]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_names_in_documents_exist(document: str) -> None:
    found = list(named(document))
    assert found
    missing = [
        f"{name}:{definition}" if definition else name
        for name, definition in found
        if not any(definition is None or defines(path, definition) for path in existing_paths(name))
    ]
    assert not missing


def test_every_rule_has_a_module_and_a_test() -> None:
    for section, rows in sections("docs/rules.md"):
        [usual, *_] = [name for name, _ in _FILE.findall(section) if name.startswith("tests/")]
        rules = [row for row in rows if any(row[1:])]
        assert len(rules) > 8
        for rule, where, modules, tests in rules:
            assert rule
            assert where
            assert any(_FILE.fullmatch(name) for name in _CODE.findall(modules)), rule
            names = _CODE.findall(tests)
            assert names, rule
            for name in names:
                if _TEST.fullmatch(name):
                    assert defines(ROOT / usual, name), name
                else:
                    assert _FILE.fullmatch(name), name


@pytest.mark.parametrize(
    "tests", ["tests/codec/test_checklist.py", "tests/codec/test_patch_checklist.py"]
)
def test_every_test_of_a_rule_is_in_the_table(tests: str) -> None:
    table = (ROOT / "docs/rules.md").read_text(encoding="utf-8")
    names = re.findall(r"^def (test_\w+)", source(ROOT / tests), re.MULTILINE)
    assert [name for name in names if f"`{name}`" not in table] == []
