"""Files that documents name exist, and define the names that the documents mention.

The tests check names in backticks: files and folders, relative to the project, the package or the
tests, and after a colon a name that the file defines (``codec/rdf/rules.py:NEXT``,
``io/streams.py:FrameReader.close``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["CONTRIBUTING.md", "docs/ARCHITECTURE.md"]
#: Folders that names of files are relative to.
FOLDERS = (ROOT, ROOT / "jelly_plugins", ROOT / "tests")

_CODE = re.compile(r"`([^`\n]+)`")
_FILE = re.compile(r"(\.?\w[\w./-]*\.(?:c|md|pxi|py|pyi|pyx|proto|sh|toml))(?::([\w.]+))?")
_FOLDER = re.compile(r"\.?\w[\w./-]*/")


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
