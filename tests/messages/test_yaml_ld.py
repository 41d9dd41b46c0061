"""YAML-LD logs: the ends of documents."""

from __future__ import annotations

import sys

import pytest

from jelly_plugins import MissingExtraError, TextError
from jelly_plugins.messages import read_messages

from .logs import read, sizes, written

NODE = '"@id": urn:s\nurn:p: x\n'


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (f"{NODE}...\n---\n{NODE}...\n", [1, 1]),
        (f"{NODE}...\n%YAML 1.2\n---\n{NODE}", [1, 1]),
        (f"{NODE}...\n# only a comment\n", [1]),
        (f"{NODE}...", [1]),
        ('"@id": urn:s\nurn:p: "...\n  ..."\n', [1]),
        ('"@id": urn:s\nurn:p: ...x\n', [1]),
    ],
)
def test_ends_of_documents(log: str, expected: list[int]) -> None:
    assert sizes(log, "yamlld") == expected


def test_errors_after_an_end_have_their_line() -> None:
    for log, line in ((f"{NODE}...\n---\n{NODE}...\n---\n: [", 9), (f"{NODE}...\n{NODE}", 4)):
        with pytest.raises(TextError) as caught:
            sizes(log, "yamlld")
        assert caught.value.line == line


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
