"""How streams over folders go on, and start again. No Spark."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import Iri, Triple
from jelly_plugins.errors import JellyError
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.patch import BEGIN, COMMIT, Operation, Patch, add, write_patches
from jelly_plugins.spark.datasource.batches import Format
from jelly_plugins.spark.datasource.decoding import complete_frames
from jelly_plugins.spark.datasource.files import DataFile, Files
from jelly_plugins.spark.datasource.operations import OPERATIONS, boundary
from jelly_plugins.spark.datasource.progress import INITIAL, Offset, Progress
from jelly_plugins.spark.datasource.statements import STATEMENTS

STATEMENT = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))


def put(folder: Path, name: str, at: int, data: bytes = b"12345") -> None:
    (folder / name).write_bytes(data)
    os.utime(folder / name, (at, at))


def progress(folder: Path, kind: Format | None = None) -> Progress:
    """As new as after a restart."""
    files = Files()

    def grown(file: DataFile, before: int) -> int:
        assert kind is not None
        with files.open(file.path) as opened:
            return kind.boundary(opened, file, before)

    return Progress(files, [str(folder)], None, None if kind is None else grown)


def step(made: Progress, start: Offset, most: int | None = None) -> tuple[list[str], Offset]:
    """The names that come next, and the offset after them, as it would be kept on disk."""
    end = json.loads(json.dumps(made.latest(start, most)))
    return [Path(split.path).name for split, _ in made.splits(start, end)], end


def test_files_come_once_in_the_order_they_were_written(tmp_path: Path) -> None:
    made = progress(tmp_path)
    assert step(made, INITIAL) == ([], INITIAL)
    for name, at in (("b", 1), ("a", 2), ("c", 3), ("_hidden", 1)):
        put(tmp_path, name, at)
    put(tmp_path, "empty", 1, b"")
    names, one = step(made, INITIAL, 2)
    assert names == ["b", "a"]
    names, two = step(progress(tmp_path), one, 2)
    assert names == ["c"]
    # An older file that comes late is not lost; one that is written to again does not come again.
    put(tmp_path, "late", 0)
    put(tmp_path, "a", 9, b"1234567")
    assert step(made, two)[0] == ["late"]
    # The splits between two offsets are always the same.
    assert [split.path[-1] for split, _ in progress(tmp_path).splits(INITIAL, one)] == ["b", "a"]


def test_available_now_ends(tmp_path: Path) -> None:
    for name in "abc":
        put(tmp_path, name, 1)
    made = progress(tmp_path)
    made.stop_here()
    put(tmp_path, "d", 1)
    names, offset = step(made, INITIAL, 2)
    assert names == ["a", "b"]
    names, offset = step(made, offset, 2)
    assert names == ["c"]
    assert made.latest(offset) is offset


def test_a_growing_file_gives_what_is_complete(tmp_path: Path) -> None:
    data = write_bytes([STATEMENT] * 100, frame_rows=10)
    path = tmp_path / "x.jelly"
    made = progress(tmp_path, STATEMENTS)
    offset: Any = INITIAL
    reached = 0
    for size in range(1, len(data) + 1, 7):
        path.write_bytes(data[:size])
        for one in (made, progress(tmp_path, STATEMENTS)):
            end = one.latest(offset)
            splits = one.splits(offset, end)
        for split, _ in splits:
            assert (split.first, split.stop) == (reached, end["files"][str(path)])
            reached = end["files"][str(path)]
        assert reached <= size
        offset = end
    path.write_bytes(data)
    assert made.latest(offset)["files"] == {str(path): len(data)}
    path.write_bytes(data[:50])
    with pytest.raises(JellyError, match=r"x\.jelly: the file is shorter than before"):
        progress(tmp_path, STATEMENTS).latest(made.latest(offset))


def test_what_is_complete_of_statements(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(b"\xff" * 20)
    with path.open("rb") as file, pytest.raises(JellyError):
        complete_frames(file, str(path), 0)


def logged(tmp_path: Path, operations: list[Operation], **settings: Any) -> bytes:
    path = tmp_path / "log.jellyp"
    write_patches([Patch(operations), Patch(operations)], path, **settings)
    return path.read_bytes()


def test_what_is_complete_of_patches(tmp_path: Path) -> None:
    transaction = [BEGIN, add(STATEMENT), COMMIT]
    data = logged(tmp_path, transaction)
    assert boundary(data) == 8
    # Whole patches only, where their ends are marked.
    assert {boundary(data[:size]) for size in range(30, len(data))} <= {0, 4}
    text = b"TX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"
    assert boundary(text) == 3
    assert boundary(text + b"TX .\nA <urn:s>") == 3
    assert boundary(text + b"A <urn:s> <urn:p> <urn:o> .\n") == 4
    with pytest.raises(JellyError):
        boundary(b"TX .\nTX .\nTC .\n")


def test_growing_patches(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "log.rdfp"
    text = b"TX .\nA <urn:s> <urn:p> <urn:o> .\nTC .\n"
    path.write_bytes(text + b"TX .\n")
    made = progress(tmp_path / "in", OPERATIONS)
    one = made.latest(INITIAL)
    path.write_bytes(text * 2)
    two = made.latest(one)
    [(split, _)] = made.splits(one, two)
    assert (split.first, split.stop) == (3, 6)
    # What is compressed is whole.
    (tmp_path / "in" / "x.rdfp.gz").write_bytes(b"1234")
    three = made.latest(two)
    [(split, _)] = made.splits(two, three)
    assert (split.first, split.stop) == (0, None)
