"""The same bytes as every kind of input that readers accept."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import zstandard


class Trickle(io.RawIOBase):
    """Returns one byte at a time, or a few."""

    def __init__(self, data: bytes, step: int = 1) -> None:
        super().__init__()
        self._data = io.BytesIO(data)
        self._step = step

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        return self._data.readinto(memoryview(buffer)[: self._step])


@contextmanager
def _as_pipe(data: bytes) -> Iterator[Any]:
    reading, writing = os.pipe()
    with open(reading, "rb") as file, _sending(os.fdopen(writing, "wb"), data):
        yield file


@contextmanager
def _as_socket(data: bytes) -> Iterator[Any]:
    ours, theirs = socket.socketpair()
    sending = theirs.makefile("wb")
    # The connection is closed only after this file is closed too.
    theirs.close()
    with ours, ours.makefile("rb") as file, _sending(sending, data):
        yield file


@contextmanager
def _sending(file: Any, data: bytes) -> Iterator[None]:
    """Write to a file from a thread: first one byte, later the rest."""

    def send() -> None:
        with file:
            file.write(data[:1])
            file.flush()
            # The reader gets the first byte alone and has to read again.
            threading.Event().wait(0.02)
            file.write(data[1:])

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _file(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@contextmanager
def _opened(path: Path, **settings: Any) -> Iterator[Any]:
    with open(path, "rb", **settings) as file:
        yield file


#: By name: a function that makes a source of the bytes, given a folder for files.
INPUT_KINDS: dict[str, Callable[[bytes, Path], Any]] = {
    "bytes": lambda data, _: nullcontext(data),
    "bytearray": lambda data, _: nullcontext(bytearray(data)),
    "memoryview": lambda data, _: nullcontext(memoryview(data)),
    "path": lambda data, tmp: nullcontext(_file(tmp, "x.jelly", data)),
    "name": lambda data, tmp: nullcontext(str(_file(tmp, "x.jelly", data))),
    "file": lambda data, tmp: _opened(_file(tmp, "x.jelly", data)),
    "raw file": lambda data, tmp: _opened(_file(tmp, "x.jelly", data), buffering=0),
    "BytesIO": lambda data, _: nullcontext(io.BytesIO(data)),
    "one byte at a time": lambda data, _: nullcontext(Trickle(data)),
    "pipe": lambda data, _: _as_pipe(data),
    "socket": lambda data, _: _as_socket(data),
    "gzip": lambda data, tmp: nullcontext(_file(tmp, "x.jelly.gz", gzip.compress(data))),
    "bz2": lambda data, tmp: nullcontext(_file(tmp, "x.jelly.bz2", bz2.compress(data))),
    "zstd": lambda data, tmp: nullcontext(_file(tmp, "x.jelly.zst", zstandard.compress(data))),
    "gzip under another name": lambda data, tmp: nullcontext(
        _file(tmp, "x.jelly", gzip.compress(data))
    ),
    "gzip one byte at a time": lambda data, _: nullcontext(Trickle(gzip.compress(data))),
    "zstd in a pipe": lambda data, _: _as_pipe(zstandard.compress(data)),
    "GzipFile": lambda data, _: gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(data))),
}
