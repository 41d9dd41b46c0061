"""YAML-LD logs: the ends of documents."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from jelly_plugins import MissingExtraError, TextError
from jelly_plugins.formats.reading import ChunkFile
from jelly_plugins.messages import read_messages

from .logs import read, sizes, written

NODE = '"@id": urn:s\nurn:p: x\n'


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (f"{NODE}...\n{NODE}", [1, 1]),
        (f"---\n{NODE}... # end\n\n# a comment\n{NODE}...\n{NODE}", [1, 1, 1]),
        (f"{NODE}...\r\n  \r\n{NODE}", [1, 1]),
        (f"{NODE}...\n---\n{NODE}...\n", [1, 1]),
        (f"{NODE}...\n%YAML 1.2\n---\n{NODE}", [1, 1]),
        (f"{NODE}...\n# only a comment\n", [1]),
        (f"{NODE}...", [1]),
        (f"urn:q: >\n  x....\n  ...\n{NODE}...\n{NODE}", [2, 1]),
        ('"@id": urn:s\nurn:p: "...\n  ..."\n', [1]),
        ('"@id": urn:s\nurn:p: ...x\n', [1]),
    ],
)
def test_a_document_after_an_end_needs_no_start(log: str, expected: list[int]) -> None:
    assert sizes(log, "yamlld") == expected
    for size in (1, 2, 3, 7):
        chunks = [log.encode()[at : at + size] for at in range(0, len(log), size)]
        file: Any = ChunkFile(iter(chunks))
        assert [len(each) for each in read_messages(file, format="yamlld")] == expected


def test_errors_after_an_end_have_their_line() -> None:
    with pytest.raises(TextError) as caught:
        sizes(f"{NODE}...\n{NODE}...\n: [", "yamlld")
    assert caught.value.line == 7


def test_the_extra_that_has_all_libraries_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("yaml", "pyoxigraph"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"jelly-plugins\[messages\]"):
        read_messages(b"a: 1", format="yamlld")


@pytest.mark.parametrize("size", [1000, 1500, 3_000_000])
def test_long_keys(size: int) -> None:
    key = f'"urn:{"k" * size}"'
    [message] = read(f"? {key}\n: 1\n", "yamlld")
    assert len(message) == 1
    for log in (f"{key}: 1\n", f"{{{key}: 1}}\n"):
        if size < 1024:
            assert len(read(log, "yamlld")[0]) == 1
        else:
            with pytest.raises(TextError, match="a key of more than 1024 characters"):
                read(log, "yamlld")
    assert read(written([message], "yamlld"), "yamlld") == [message]
