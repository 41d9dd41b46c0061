"""Decode a split of a Jelly-RDF file into columns. Does not import Spark; uses no more of Arrow
than the codec does."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import BinaryIO, Final, cast

from ...codec import DEFAULT_LIMITS, ColumnDecoder, Columns, FrameSplitter
from ...errors import JellyError
from ...io.sources import Input
from ...io.streams import find_restarts
from .splits import FileSplit

_CHUNK: Final = 1 << 20


class _Section(io.RawIOBase):
    """See :func:`section`."""

    def __init__(self, file: BinaryIO, name: str, start: int, stop: int | None) -> None:
        if start:
            file.seek(start)
        self.name = name
        self._file = file
        self._left = None if stop is None else stop - start

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if self._left is None:
            return self._file.read(size)
        data = self._file.read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(data)
        return data


def section(file: BinaryIO, name: str, start: int = 0, stop: int | None = None) -> BinaryIO:
    """Return a range of bytes of an open file as a file; the file itself stays open.

    :param name: name of the file in errors.
    :param start: offset of the first byte.
    :param stop: offset after the last byte; None for the end of the file.
    """
    return cast(BinaryIO, _Section(file, name, start, stop))


def decode(file: BinaryIO, split: FileSplit) -> Iterator[Columns]:
    """Decode the rows of a split. The rows of frames before a corrupt one are returned first.

    :param file: open at its start.
    :raises JellyError: with source, frame and row.
    """
    if split.first > split.start:
        split = _from_last_restart(file, split)
    decoder = ColumnDecoder(first_frame=split.first_frame)
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    if split.start:
        splitter.delimited = True
    try:
        if split.first > split.start:
            before = section(file, split.path, split.start, split.first)
            for frame in _frames(before, splitter, decoder, last=False):
                for _ in decoder.decode(frame):
                    pass
            decoder.flush()
        wanted = section(file, split.path, max(split.start, split.first), split.stop)
        for frame in _frames(wanted, splitter, decoder, last=True):
            yield from decoder.decode(frame)
        yield from decoder.finish()
    except JellyError as error:
        yield from decoder.flush()
        error.locate(source=split.path)
        raise


def _from_last_restart(file: BinaryIO, split: FileSplit) -> FileSplit:
    """Return the split with ``start`` at the last restart point before ``first``."""
    found = split
    # A growing file may end inside a frame.
    with suppress(JellyError):
        for offset, frame in find_restarts(file):
            if offset > split.first:
                break
            found = replace(split, start=offset, first_frame=frame)
    file.seek(0)
    return found


def _frames(
    source: BinaryIO, splitter: FrameSplitter, decoder: ColumnDecoder, *, last: bool
) -> Iterator[bytes]:
    """Read the frames of a section.

    :param last: whether this is the last section.
    """
    try:
        with Input(source) as opened:
            for data in opened.chunks():
                yield from splitter.feed(data)
        if last:
            yield from splitter.finish()
    except JellyError as error:
        # The splitter counts frames from the start of the split.
        error.frame = decoder.next_frame
        raise


def complete_frames(file: BinaryIO, path: str, before: int) -> int:
    """Return the end of the last complete frame of a growing file, in bytes.

    :param before: end of a frame that was complete before.
    :raises JellyError: a length is malformed, or the file cannot be read.
    """
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    if before:
        splitter.delimited = True
    source = section(file, path, before)
    read = 0
    while data := source.read(_CHUNK):
        read += len(data)
        for _ in splitter.feed(data):
            pass
    # A file without delimiters is one frame, and nothing can follow it.
    return before + read - (splitter.pending if splitter.delimited else 0)
