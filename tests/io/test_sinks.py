"""Destinations of bytes: output is complete or absent, and never overwrites other files."""

from __future__ import annotations

import bz2
import errno
import gc
import gzip
import io
import os
import random
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from jelly_plugins import MissingExtraError, SourceError
from jelly_plugins.io.sinks import open_output
from jelly_plugins.io.sources import Input

DATA = b"abc" * 100_000


def put(dst: Any, data: bytes = DATA) -> None:
    with open_output(dst) as out:
        out.write(data[:10])
        out.write(data[10:])


def fail(out: Any, error: BaseException) -> None:
    """Write something, then raise an error."""
    out.write(DATA)
    raise error


UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "x.jelly": bytes,
    "x": bytes,
    "x.gz": gzip.decompress,
    "x.jelly.gz": gzip.decompress,
    "x.GZ": gzip.decompress,
    ".gz": bytes,
    "x.bz2": bz2.decompress,
    "x.zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
}


@pytest.mark.parametrize("name", UNPACK)
@pytest.mark.parametrize("as_path", [Path, str])
def test_names_choose_the_compression(name: str, as_path: Any, tmp_path: Path) -> None:
    put(as_path(tmp_path / name))
    assert UNPACK[name]((tmp_path / name).read_bytes()) == DATA
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_compressed_bytes_are_reproducible_and_checked(suffix: str, tmp_path: Path) -> None:
    for name in "ab":
        put(tmp_path / f"{name}{suffix}", random.Random(1).randbytes(5000))
    data = bytearray((tmp_path / f"a{suffix}").read_bytes())
    assert data == (tmp_path / f"b{suffix}").read_bytes()
    data[2500] ^= 4
    with Input(bytes(data)) as source, pytest.raises(SourceError, match="corrupt"):
        list(source.chunks())


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt, GeneratorExit])
def test_an_error_keeps_the_old_file(
    suffix: str, error: type[BaseException], tmp_path: Path
) -> None:
    old = tmp_path / f"old{suffix}"
    old.write_bytes(b"old")
    raised = error("mine")
    for path in (old, tmp_path / f"new{suffix}"):
        with pytest.raises(error) as caught, open_output(path) as out:
            fail(out, raised)
        assert caught.value is raised
    assert old.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [old.name]


def test_nothing_changes_before_the_end(tmp_path: Path) -> None:
    """So a source may be its own destination."""
    path = tmp_path / "x"
    path.write_bytes(DATA)
    with open(path, "rb") as file, open_output(path) as out:
        while chunk := file.read(1000):
            out.write(chunk.upper())
            assert path.stat().st_size == len(DATA)
        assert path.read_bytes() == DATA
    assert path.read_bytes() == DATA.upper()


def test_permissions_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    for mode in (0o600, 0o644, 0o777, 0o640):
        path.chmod(mode)
        put(path)
        assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_new_files_have_the_usual_permissions(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        put(tmp_path / "x")
        assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == mode
        assert os.umask(mask) == mask
    finally:
        os.umask(before)


@pytest.mark.parametrize("exists", [True, False])
def test_links_stay_links(exists: bool, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    if exists:
        (folder / "target").write_bytes(b"old")
    link = tmp_path / "link.gz"
    link.symlink_to(folder / "target")
    put(link)
    assert link.is_symlink()
    # The name given by the caller determines the compression.
    assert gzip.decompress((folder / "target").read_bytes()) == DATA
    assert os.listdir(folder) == ["target"]


@pytest.mark.parametrize("name", ["x", "x" * 255])
def test_relative_names_and_those_of_the_maximum_length(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put(name)
    assert (tmp_path / name).read_bytes() == DATA


# Destinations other than regular files


@pytest.mark.parametrize(
    ("name", "unpack"), [("fifo", bytes), ("fifo.gz", gzip.decompress)], ids=["plain", "gzip"]
)
def test_named_pipes_are_written_to(
    name: str, unpack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    fifo = tmp_path / name
    os.mkfifo(fifo)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(fifo.read_bytes()))
    reader.start()
    put(fifo)
    reader.join()
    assert unpack(found[0]) == DATA
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert os.listdir(tmp_path) == [name]


def test_devices_are_written_to_and_not_blamed_for_errors_of_the_writer() -> None:
    put("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    raised = FileNotFoundError("mine")
    with pytest.raises(FileNotFoundError) as caught, open_output("/dev/null"):
        raise raised
    assert caught.value is raised


WRITE_TO_STDOUT = """
from jelly_plugins.io.sinks import open_output
with open_output("/dev/stdout") as out:
    out.write(b"data")
"""


def test_dev_stdout_is_a_pipe_or_a_file(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITE_TO_STDOUT]
    assert subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout == b"data"
    path = tmp_path / "x"
    with open(path, "wb") as file:
        subprocess.run(command, stdout=file, check=True)
        # The file is still the one that the shell opened.
        assert os.fstat(file.fileno()).st_ino == path.stat().st_ino
    assert path.read_bytes() == b"data"
    assert os.listdir(tmp_path) == ["x"]


# Destinations that cannot be written


@pytest.mark.parametrize("name", ["absent/x", "file/x", "a\0b", "x" * 300, "folder"])
def test_paths_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / name)
    with pytest.raises(SourceError) as caught:
        put(path)
    assert caught.value.source == path
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_zstandard_is_an_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"jelly-plugins\[zstd\]"):
        put(tmp_path / "x.zst")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("dst", [None, 5, b"name", ["x"]])
def test_values_that_are_not_destinations(dst: Any) -> None:
    with pytest.raises(TypeError, match="needed"):
        put(dst)


# Files opened by the caller


def test_files_of_the_caller_stay_open(tmp_path: Path) -> None:
    file = io.BytesIO()
    put(file)
    assert file.getvalue() == DATA
    with open(tmp_path / "x.gz", "wb") as plain:
        put(plain)
        assert not plain.closed
    # Names determine compression; the caller decides about the contents of an open file.
    assert (tmp_path / "x.gz").read_bytes() == DATA


class Raw(io.RawIOBase):
    """A raw file, which may take less than it is given.

    :param answer: of the number of bytes; any but a count takes all.
    """

    def __init__(self, answer: Callable[[int], Any]) -> None:
        super().__init__()
        self.answer = answer
        self.taken = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> Any:
        answer = self.answer(len(data))
        self.taken += bytes(data)[: answer if type(answer) is int else None]
        return answer


class Delegating:
    """Not a raw file, and answers as one."""

    closed = False

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.raw = Raw(answer)
        self.write = self.raw.write

    @property
    def taken(self) -> bytes:
        return self.raw.taken


def test_a_raw_file_that_is_full_stays_open_and_fails_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ignored: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)

    def full(_: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = Raw(full)
    with pytest.raises(OSError, match="No space left") as caught, open_output(file) as out:
        out.write(b"x")
    assert caught.value.filename == "<Raw>"
    del out, caught
    gc.collect()
    assert not file.closed
    assert ignored == []


@pytest.mark.parametrize("kind", [Raw, Delegating])
def test_files_that_take_a_part_get_everything_and_stay_open(kind: Any) -> None:
    file = kind(lambda size: min(size, 1000))
    put(file)
    assert file.taken == DATA
    with pytest.raises(KeyError), open_output(file) as out:
        fail(out, KeyError("mine"))
    assert file.taken == 2 * DATA
    assert not file.closed


@pytest.mark.parametrize("answer", [None, True, "ok", 1 << 40])
def test_files_that_do_not_say_how_much_they_took(answer: Any) -> None:
    file = Delegating(lambda _: answer)
    put(file)
    assert file.taken == DATA


@pytest.mark.parametrize("answer", [0, -1])
def test_a_file_that_takes_nothing_is_an_error(answer: int) -> None:
    with pytest.raises(OSError, match="no more bytes") as caught:
        put(Delegating(lambda _: answer))
    assert caught.value.filename == "<Delegating>"


def test_a_raw_file_in_non_blocking_mode_is_an_error() -> None:
    with pytest.raises(BlockingIOError, match="non-blocking"):
        put(Raw(lambda _: None))


def test_files_that_cannot_take_bytes(tmp_path: Path) -> None:
    with open(tmp_path / "x", "w", encoding="utf-8") as text:
        for file in (text, io.StringIO()):
            with pytest.raises(SourceError, match="binary"):
                put(file)
    closed = io.BytesIO()
    closed.close()
    for file in (text, closed):
        with pytest.raises(SourceError, match="closed"):
            put(file)


def test_an_empty_name_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="name of the output is empty"), open_output(""):
        pass
    assert list(tmp_path.parent.glob(f".{tmp_path.name}*")) == []


@pytest.mark.parametrize("ending", ["xz", "lz4"])
def test_compressions_that_are_not_supported_are_named(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.nt.{ending.upper()}"
    with pytest.raises(SourceError, match=f"{ending} is not supported: use .gz, .bz2, .zst"):
        put(path)
    assert not path.exists()


# Full disks


def test_an_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    with pytest.raises(OSError, match="No space left") as caught, open_output(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert caught.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionError) as other, open_output(path):
        raise ConnectionResetError(errno.ECONNRESET, "elsewhere")
    assert other.value.filename is None
