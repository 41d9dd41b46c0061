"""Which files a path means, and how streams over folders continue. No Spark."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import fsspec
import pytest

from jelly_plugins.errors import OptionsError, SourceError
from jelly_plugins.spark.datasource import progress as progress_module
from jelly_plugins.spark.datasource.files import DataFile, Files
from jelly_plugins.spark.datasource.options import given_paths
from jelly_plugins.spark.datasource.progress import INITIAL, Offset, Progress

FILES = [
    "a.jelly",
    "b.jelly.gz",
    "days/c.jelly",
    "_SUCCESS",
    ".a.jelly.crc",
    "_temporary-1/d.jelly",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    return tmp_path


def names(folder: Path, *paths: str) -> list[str]:
    found = Files().list(paths)
    assert all(file.size == 5 and file.modified for file in found)
    return [str(Path(file.path).relative_to(folder)) for file in found]


def test_a_folder_is_all_that_is_in_it_but_hidden_names(folder: Path) -> None:
    everything = ["a.jelly", "b.jelly.gz", "days/c.jelly"]
    for path in (f"{folder}", f"{folder}/", f"file:{folder}", f"file://{folder}"):
        assert names(folder, path) == everything
    # Under a folder that is hidden itself, when it is asked for.
    assert names(folder, f"{folder}/_temporary-1") == ["_temporary-1/d.jelly"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.jelly", ["a.jelly"]),
        ("day*", ["days/c.jelly"]),
        ("**/*.jelly", ["a.jelly", "days/c.jelly"]),
        ("[ab].*", ["a.jelly", "b.jelly.gz"]),
        # As in Spark.
        ("[^ad]*", ["b.jelly.gz"]),
        ("[!ad]*", ["b.jelly.gz"]),
        ("{a,b}.*", ["a.jelly", "b.jelly.gz"]),
        ("{a.jelly,none}", ["a.jelly"]),
        ("{day*/c,{a,x}}.jelly", ["a.jelly", "days/c.jelly"]),
        ("{_SUCCESS,a*}", ["a.jelly"]),
    ],
)
def test_patterns(folder: Path, pattern: str, expected: list[str]) -> None:
    assert names(folder, f"{folder}/{pattern}") == expected
    # Each file once for each path.
    again = names(folder, f"{folder}/{pattern}", f"{folder}/b.jelly.gz")
    assert again == [*expected, "b.jelly.gz"]


def test_linked_folders_are_folders(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "e").mkdir()
    for name in ("d.jelly", "e/f.jelly", "_g.jelly"):
        (other / name).write_bytes(b"12345")
    (folder / "linked").symlink_to(other)
    (folder / "linked.jelly").symlink_to(folder / "a.jelly")
    (folder / ".hidden").symlink_to(folder)
    linked = ["linked/d.jelly", "linked/e/f.jelly", "linked.jelly"]
    assert names(folder, f"{folder}") == ["a.jelly", "b.jelly.gz", "days/c.jelly", *linked]
    assert names(folder, f"{folder}/**") == ["a.jelly", "b.jelly.gz", "days/c.jelly", *linked]
    (other / "e" / "back").symlink_to(folder)
    with pytest.raises(SourceError, match="linked/e/back: the link is to a folder above it"):
        Files().list([str(folder)])


def test_names_that_look_like_patterns(folder: Path) -> None:
    for name in ("x[1].jelly", "x{1}.jelly", "x%20y.jelly"):
        (folder / name).write_bytes(b"12345")
        assert names(folder, f"{folder}/{name}") == [name]
    assert names(folder, f"file://{folder}/x%20y.jelly") == ["x%20y.jelly"]


def test_a_path_without_a_scheme_is_local(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ("data::2026", "memory::x", "a::memory:", "b#c?d")
    for name in odd:
        (folder / name).mkdir()
        (folder / name / "c.jelly").write_bytes(b"12345")
        for path in (f"{folder}/{name}", f"file:{folder}/{name}", f"file://{folder}/{name}"):
            assert names(folder, path) == [f"{name}/c.jelly"]
    monkeypatch.chdir(folder)
    assert names(folder, "data::2026") == ["data::2026/c.jelly"]
    fsspec.filesystem("memory").pipe("/chained/x.jelly", b"12345")
    [file] = Files().list(["simplecache::memory://chained"])
    with Files().open(file.path) as opened:
        assert opened.read() == b"12345"


def test_a_path_that_is_not_there_is_an_error(folder: Path) -> None:
    for path in (f"{folder}/none", f"{folder}/none*", f"{folder}/{{none,nothing}}"):
        with pytest.raises(SourceError, match="there is no such file or folder"):
            Files().list([path])
    with pytest.raises(SourceError, match="nothing-of-the-kind"):
        Files().list(["nothing-of-the-kind://x"])
    with pytest.raises(SourceError, match="no path is given"):
        given_paths({})
    assert given_paths({"paths": '["a", "b"]'}) == ["a", "b"]


def test_numbers_in_names_are_numbers(tmp_path: Path) -> None:
    in_order = ["1.jelly", "2.jelly", "10.jelly", "a.jelly", "a2.jelly", "a10.jelly"]
    in_order += ["v2/1.jelly", "v10/1.jelly"]
    for name in sorted(in_order):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    assert names(tmp_path, str(tmp_path)) == in_order
    # Several paths keep the order in which they are given.
    given = [f"{tmp_path}/{name}" for name in reversed(in_order)]
    assert names(tmp_path, *given) == in_order[::-1]


def test_folders_named_as_columns_are_not_skipped(folder: Path) -> None:
    (folder / "day=1").mkdir()
    (folder / "day=1" / "c.jelly").write_bytes(b"12345")
    with pytest.raises(OptionsError, match=r"the folder 'day=1' looks like a column, which would"):
        Files().list([str(folder)])
    # The user has said which folder.
    assert names(folder, f"{folder}/day=1") == ["day=1/c.jelly"]
    assert names(folder, f"{folder}/day=*") == ["day=1/c.jelly"]
    (folder / "x=1.jelly").write_bytes(b"12345")
    assert names(folder, f"{folder}/x=1.jelly") == ["x=1.jelly"]


# How streams over folders go on, and start again. No Spark


class Listing(Files):
    """Files that exist."""

    def __init__(self, files: list[DataFile]) -> None:
        super().__init__()
        self._given = files

    def list(self, *_: object, **__: object) -> list[DataFile]:
        return self._given


def put(folder: Path, name: str, at: int, data: bytes = b"12345") -> None:
    (folder / name).write_bytes(data)
    os.utime(folder / name, (at, at))


def progress(folder: Path) -> Progress:
    """As new as after a restart."""
    return Progress(Files(), [str(folder)])


def step(made: Progress, start: Offset, most: int | None = None) -> tuple[list[str], Offset]:
    """The names that come next, and the offset after them, as it would be kept on disk."""
    end = json.loads(json.dumps(made.latest(start, most)))
    return [Path(file.path).name for file in made.batch(start, end)], end


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
    # The files between two offsets are always the same.
    files = progress(tmp_path).batch(INITIAL, one)
    assert [file.path[-1] for file in files] == ["b", "a"]
    with pytest.raises(SourceError, match="lacks offset 1"):
        made.batch(INITIAL, two)


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


def test_an_offset_does_not_grow_with_the_files_that_were_read() -> None:
    most = progress_module.REMEMBERED
    listed = [DataFile(f"/data/part-{n:05}-0f3d2a44.jelly", 1, n / 7) for n in range(3 * most)]
    made = Progress(Listing(listed), ["/data"])
    offset = made.latest(INITIAL)
    assert made.batch(INITIAL, offset) == listed
    for number in range(3):
        listed.append(DataFile(f"/data/{number}", 1, 1e6 + number))
        start, offset = offset, made.latest(offset)
        assert made.batch(start, offset) == listed[-1:]
    assert len(json.dumps(offset)) < 100 * most
    # Another file as old as those that are forgotten is an error.
    listed.append(DataFile("/data/late", 1, 0.5))
    with pytest.raises(SourceError, match="1 new files are older than the last 5,000 files"):
        made.latest(offset)


@pytest.mark.parametrize(("spread", "removes"), [(0, True), (3, True), (12, False)])
def test_each_file_is_read_once_or_there_is_an_error(
    monkeypatch: pytest.MonkeyPatch, spread: int, removes: bool
) -> None:
    monkeypatch.setattr(progress_module, "REMEMBERED", 3)
    random_ = random.Random(4)
    errors = 0
    for _ in range(60):
        listed: list[DataFile] = []
        made = Progress(Listing(listed), ["/data"])
        offset = INITIAL
        read: list[DataFile] = []
        for number in range(40):
            for _ in range(random_.randrange(4)):
                at = number - random_.randrange(spread) if spread else 1
                listed.append(DataFile(f"/data/{number + len(listed)}", 1, at))
            if removes and random_.random() < 0.2 and len(read) > 9:
                listed.remove(read.pop(random_.randrange(len(read) - 8)))
            start = offset
            most = None if number == 39 else random_.choice([1, 2, None])
            try:
                offset = json.loads(json.dumps(made.latest(start, most)))
            except SourceError:
                unread = {file.path for file in listed} - {file.path for file in read}
                late = [file for file in listed if file.path in unread]
                assert min(file.modified for file in late) <= start["last"][0]
                errors += 1
                break
            read += made.batch(start, offset)
        else:
            assert sorted(file.path for file in read) == sorted(file.path for file in listed)
    assert (0 < errors < 60) == (spread > 3)
