"""Sources of bytes: every kind, compressed or not, complete or broken."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec
import pytest
import zstandard

from jelly_plugins import (
    Format,
    JellyError,
    MissingExtraError,
    SourceError,
    TruncatedError,
    convert,
)
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.io.sources import CHUNK, Input

from .. import programs
from ..codec.input_kinds import INPUT_KINDS, Trickle

DATA = random.Random(1).randbytes(200_000) + bytes(200_000)


def content(src: Any) -> bytes:
    with Input(src) as source:
        return b"".join(source.chunks())


@pytest.mark.parametrize("kind", INPUT_KINDS)
@pytest.mark.parametrize("data", [b"", b"x", b"xy", b"xyz", DATA], ids=len)
def test_every_kind_of_source(kind: str, data: bytes, tmp_path: Path) -> None:
    if kind in ("one byte at a time", "gzip one byte at a time"):
        data = data[:1000]
    with INPUT_KINDS[kind](data, tmp_path) as src:
        assert content(src) == data
        # A file that the caller opened stays open.
        assert not getattr(src, "closed", False)


def test_chunks_come_as_they_arrive() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, open(writing, "wb", buffering=0) as pipe:
        pipe.write(b"abcd")
        with Input(file) as source:
            chunks = source.chunks()
            assert next(chunks) == b"abcd"
            pipe.write(b"efg")
            assert next(chunks) == b"efg"


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="files are not listed")
def test_a_path_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(DATA)
    before = os.listdir("/proc/self/fd")
    source = Input(path)
    assert len(os.listdir("/proc/self/fd")) > len(before)
    source.close()
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize("buffering", [0, -1])
def test_a_pipe_in_non_blocking_mode_does_not_end_where_it_has_no_data(buffering: int) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with open(reading, "rb", buffering=buffering) as file:
        with open(writing, "wb") as pipe:
            pipe.write(b"abcd")
            pipe.flush()
            with pytest.raises(SourceError, match="non-blocking"):
                content(file)
            pipe.write(DATA[:1000])
        assert content(file) == DATA[:1000]


def test_names(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"")
    with open(path, "rb") as file:
        for src, name in (
            (path, str(path)),
            (str(path), str(path)),
            (file, str(path)),
            (b"", "<bytes>"),
            (io.BytesIO(), "<BytesIO>"),
        ):
            with Input(src) as source:
                assert source.name == name


# Sources that cannot be read


@pytest.mark.parametrize("name", ["absent", "absent/absent", "a\0b", "x" * 300, "."])
def test_a_path_that_cannot_be_opened(name: str, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    with pytest.raises(SourceError) as caught:
        Input(path)
    assert caught.value.source == path
    assert str(caught.value).startswith(f"{path}: ")


def test_a_closed_file() -> None:
    file = io.BytesIO(DATA)
    file.close()
    with pytest.raises(SourceError, match="closed"):
        Input(file)


@pytest.mark.parametrize("data", ["text", "", "ü", b"\xff\xfe" * 100])
def test_a_text_file(data: str | bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with open(path, encoding="utf-8") as file, open(path, encoding="ascii") as other:
        for text in (io.StringIO("text"), file, other):
            with pytest.raises(SourceError, match="binary"):
                content(text)


def test_a_view_with_gaps() -> None:
    assert content(memoryview(b"abcdef")[::2]) == b"ace"


@pytest.mark.parametrize("src", [None, 5, ["x"], object()])
def test_values_that_are_not_sources(src: Any) -> None:
    with pytest.raises(TypeError, match="needed"):
        Input(src)


class Failing(io.RawIOBase):
    """A file that fails at some position."""

    def __init__(self, data: bytes, error: Exception) -> None:
        self.data = io.BytesIO(data)
        self.error = error

    def read(self, size: int = -1, /) -> bytes:
        data = self.data.read(min(size, 100))
        if not data:
            raise self.error
        return data


@pytest.mark.parametrize("error", [OSError(5, "I/O"), ValueError("v"), RuntimeError("r")])
@pytest.mark.parametrize("size", [0, 2, 5000])
def test_a_file_that_fails(error: Exception, size: int) -> None:
    with pytest.raises(SourceError, match="cannot be read") as caught:
        content(Failing(DATA[:size], error))
    assert caught.value.__cause__ is error
    assert caught.value.source == "<Failing>"


def test_an_interrupt_is_not_an_error_of_the_source() -> None:
    with pytest.raises(KeyboardInterrupt):
        content(Failing(DATA[:5000], KeyboardInterrupt()))  # type: ignore[arg-type]


def test_a_broken_gzip_file_that_the_caller_opened() -> None:
    packed = gzip.compress(DATA)
    with gzip.open(io.BytesIO(packed[:1000])) as file, pytest.raises(TruncatedError):
        content(file)
    broken = packed[:100] + b"xxxx" + packed[104:]
    with gzip.open(io.BytesIO(broken)) as file, pytest.raises(SourceError):
        content(file)


# Compression

PACK: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bz2": bz2.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
}
packed = pytest.mark.parametrize("compression", PACK)


@packed
@pytest.mark.parametrize("padding", [0, 700, 100_000])
def test_concatenated_and_padded_streams(compression: str, padding: int) -> None:
    pack = PACK[compression]
    parts = [DATA[:1000], b"", DATA[1000:300_000], DATA[300_000:]]
    assert content(b"".join(pack(part) + bytes(padding) for part in parts)) == DATA
    with Input(Trickle(pack(parts[0]))) as source:
        assert source.compression == compression
        assert b"".join(source.chunks()) == parts[0]


@packed
def test_truncation_at_any_byte(compression: str) -> None:
    data = PACK[compression](DATA[:500])
    for end in range(4, len(data)):
        with pytest.raises(TruncatedError, match="ends too early") as caught:
            content(data[:end])
        assert caught.value.source == "<bytes>"


@packed
def test_truncation_loses_nothing_before_it(compression: str) -> None:
    data = PACK[compression](DATA)
    found = b""
    truncated = False
    with Input(data[: len(data) // 2]) as source:
        try:
            for chunk in source.chunks():
                found += chunk
        except TruncatedError:
            truncated = True
    assert truncated
    assert found == DATA[: len(found)]
    assert found or compression == "bz2"


@packed
def test_garbage_after_a_stream_is_rejected(compression: str) -> None:
    with pytest.raises(SourceError, match="corrupt"):
        content(PACK[compression](DATA) + b"garbage")


@packed
def test_flipped_bits(compression: str) -> None:
    data = PACK[compression](DATA[:3000])
    rejected = 0
    for position in range(0, len(data) * 8, 37):
        broken = bytearray(data)
        broken[position // 8] ^= 1 << position % 8
        try:
            content(bytes(broken))
        except JellyError as error:
            rejected += isinstance(error, SourceError | TruncatedError)
    assert rejected > len(data) * 8 // 37 // 2


BOMB = """
import bz2, gzip, zstandard
from jelly_plugins.io.sources import Input
from tests.memory import peak

zeros = bytes(32 << 20)
if {compression!r} == "gzip":
    data = gzip.compress(zeros, 1) * 8
elif {compression!r} == "bz2":
    packer = bz2.BZ2Compressor()
    data = b"".join([*(packer.compress(zeros) for _ in range(4)), packer.flush()])
else:
    packer = zstandard.ZstdCompressor().compressobj()
    data = b"".join([*(packer.compress(zeros) for _ in range(8)), packer.flush()])
before = peak()
total = largest = 0
with Input(data) as source:
    for chunk in source.chunks():
        total += len(chunk)
        largest = max(largest, len(chunk))
print(total >> 20, largest, (peak() - before) >> 20)
"""


@packed
def test_bombs_are_read_in_small_chunks(compression: str) -> None:
    code = BOMB.format(compression=compression)
    done = programs.run(code)
    total, largest, grown = map(int, done.stdout.split())
    assert total == (128 if compression == "bz2" else 256)
    assert largest <= 16 << 20
    assert compression != "bz2" or largest <= CHUNK
    # The growth includes 32 MB for compressing the data, in the same process.
    assert grown < 64


# URLs

_FILE_URLS = ("file://", "FILE://", "file://localhost")


def test_urls(tmp_path: Path) -> None:
    with fsspec.open("memory://folder/x.jelly.gz", "wb") as file:
        file.write(gzip.compress(DATA))
    path = tmp_path / "é #1 100%.nt"
    path.write_bytes(DATA)
    for url in (
        "memory://folder/x.jelly.gz",
        *(form + each for form in _FILE_URLS for each in (str(path), quote(str(path)))),
    ):
        assert content(url) == DATA
        with Input(url) as source:
            assert source.name == url


@pytest.mark.parametrize(
    "url", ["memory://absent", "nothing://x", "file:///absent/x", "file://host/x", "file://"]
)
def test_urls_of_nothing(url: str) -> None:
    with pytest.raises(SourceError) as caught:
        content(url)
    assert caught.value.source == url


@pytest.mark.parametrize(
    ("module", "extra", "src"),
    [("zstandard", "zstd", zstandard.compress(DATA)), ("fsspec", "remote", "memory://x")],
)
def test_extras(module: str, extra: str, src: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"jelly-plugins\[{extra}\]"):
        content(src)


def test_zstandard_may_begin_with_a_frame_to_skip() -> None:
    packed = zstandard.ZstdCompressor().compress(DATA)
    for first in range(0x50, 0x60):
        skipped = bytes([first]) + b"\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"about"
        assert content(skipped + packed + skipped + packed) == 2 * DATA
    with pytest.raises(TruncatedError):
        content(skipped[:-1])


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (lzma.compress(DATA), "xz"),
        (bytes.fromhex("04224d186440a7"), "lz4"),
        (b"PK\x03\x04" + DATA, "zip"),
        (b"7z\xbc\xaf\x27\x1c" + DATA, "7z"),
    ],
)
def test_other_compressions_are_named(data: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(data)
    for src in (data, path, Trickle(data)):
        with pytest.raises(SourceError, match=f"compressed with {name}, which is not supported"):
            content(src)


# The first bytes: byte order marks, and bytes that are not Jelly

MARK = b"\xef\xbb\xbf"
LINE = b"<urn:s> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize("format_", [Format.N_TRIPLES, Format.N_QUADS, Format.TURTLE, Format.TRIG])
def test_a_byte_order_mark_is_not_part_of_text(format_: Format) -> None:
    plain, marked = io.BytesIO(), io.BytesIO()
    for text, out in ((LINE, plain), (MARK + LINE, marked)):
        assert len(list(read_statements(text, format_))) == 1
        convert(text, out, source_format=format_, target_format="jelly")
    assert plain.getvalue() == marked.getvalue()
    rows = io.BytesIO()
    convert(MARK + LINE, rows, source_format=format_, target_format="rt")
    assert rows.getvalue()
