"""Which files a path means. No Spark."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from jelly_plugins.errors import OptionsError, SourceError
from jelly_plugins.spark.datasource.files import Files
from jelly_plugins.spark.datasource.options import given_paths

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


def test_files_and_patterns_each_file_once_for_each_path(folder: Path) -> None:
    assert names(folder, f"{folder}/*.jelly") == ["a.jelly"]
    assert names(folder, f"{folder}/day*") == ["days/c.jelly"]
    assert names(folder, f"{folder}/**/*.jelly") == ["a.jelly", "days/c.jelly"]
    assert names(folder, f"{folder}/[ab].*") == ["a.jelly", "b.jelly.gz"]
    assert names(folder, f"{folder}/*.gz", f"{folder}/b.jelly.gz") == ["b.jelly.gz"] * 2
    for name in ("x[1].jelly", "x{1}.jelly", "x%20y.jelly"):
        (folder / name).write_bytes(b"12345")
        assert names(folder, f"{folder}/{name}") == [name]
    assert names(folder, f"file://{folder}/x%20y.jelly") == ["x%20y.jelly"]


def test_patterns_mean_what_they_mean_in_spark(folder: Path) -> None:
    assert names(folder, f"{folder}/{{a,b}}.*") == ["a.jelly", "b.jelly.gz"]
    assert names(folder, f"{folder}/{{a.jelly,none}}") == ["a.jelly"]
    assert names(folder, f"{folder}/{{day*/c,{{a,x}}}}.jelly") == ["a.jelly", "days/c.jelly"]
    assert names(folder, f"{folder}/{{_SUCCESS,a*}}") == ["a.jelly"]
    assert names(folder, f"{folder}/[^ad]*") == ["b.jelly.gz"]
    assert names(folder, f"{folder}/[!ad]*") == ["b.jelly.gz"]
    with pytest.raises(SourceError, match="there is no such file or folder"):
        Files().list([f"{folder}/{{none,nothing}}"])


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
    for path in (f"{folder}/none", f"{folder}/none*"):
        with pytest.raises(SourceError, match="there is no such file or folder"):
            Files().list([path])
    with pytest.raises(SourceError, match="nothing-of-the-kind"):
        Files().list(["nothing-of-the-kind://x"])
    with pytest.raises(SourceError, match="no path is given"):
        given_paths({})
    assert given_paths({"paths": '["a", "b"]'}) == ["a", "b"]


def test_other_file_systems() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/files/x.jelly", b"12345")
    memory.pipe("/files/_SUCCESS", b"")
    [file] = Files().list(["memory://files"])
    assert (file.path, file.size, file.modified > 0) == ("memory:///files/x.jelly", 5, True)
    with Files().open(file.path) as opened:
        assert opened.read() == b"12345"


def test_numbers_in_names_are_numbers(tmp_path: Path) -> None:
    for name in ("10.jelly", "2.jelly", "1.jelly", "v2/1.jelly", "v10/1.jelly"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")
    in_order = ["1.jelly", "2.jelly", "10.jelly", "v2/1.jelly", "v10/1.jelly"]
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
