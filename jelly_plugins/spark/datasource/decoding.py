"""Decode a split of a Jelly-RDF file into columns. Does not import Spark; uses no more of Arrow
than the codec does."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import ceil
from typing import BinaryIO, cast

from ...codec import DEFAULT_LIMITS, ColumnDecoder, Columns, FrameSplitter
from ...errors import JellyError
from ...io.sinks import compression_of
from ...io.sources import Input
from ...io.streams import RestartPoint, find_restarts, opens_with_options
from .files import DataFile, Files
from .formats import FileSplit


class _Section(io.RawIOBase):
    """A range of bytes of an open file, which stays open.

    :param name: name of the file in errors.
    :param start: offset of the first byte.
    :param stop: offset after the last byte; None for the end of the file.
    """

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


def decode(file: BinaryIO, split: FileSplit, *, concatenated: bool = False) -> Iterator[Columns]:
    """Decode the rows of a split. The rows of frames before a corrupt one are returned first.

    :param file: open at its start.
    :param concatenated: whether options at the start of a frame start a new stream.
    :raises JellyError: with source, frame and row.
    """
    try:
        yield from decode_frames(_frames(file, split), split.first_frame, concatenated=concatenated)
    except JellyError as error:
        error.locate(source=split.path)
        raise


def decode_frames(
    frames: Iterable[bytes], first_frame: int = 0, *, opening: bytes = b"", concatenated: bool
) -> Iterator[Columns]:
    """Decode frames. The rows of frames before a corrupt one are returned first.

    :param first_frame: number of the first frame.
    :param opening: a frame with the options of the stream, if the frames do not include them; it is
        not counted.
    :param concatenated: whether options at the start of a frame start a new stream.
    :raises JellyError: with frame and row.
    """
    decoder = ColumnDecoder(first_frame=first_frame - bool(opening))
    try:
        if opening:
            yield from decoder.decode(opening)
        for at, frame in enumerate(frames):
            if concatenated and at and opens_with_options(frame):
                yield from decoder.finish()
                decoder = ColumnDecoder(first_frame=decoder.next_frame)
            yield from decoder.decode(frame)
        yield from decoder.finish()
    except JellyError:
        yield from decoder.flush()
        raise


def cut(file: DataFile, files: Files, target: int) -> Iterator[tuple[FileSplit, int]]:
    """Divide a file into splits of about ``target`` bytes, and return them with their sizes.

    Splits start at restart points. A compressed file, or one without restart points, is one split.
    """
    count = ceil(file.size / target)
    if count < 2 or compression_of(file.path) is not None:
        yield FileSplit(file.path), file.size
        return
    starts = [RestartPoint(0, 0)]
    # Errors in the file are reported by the task that reads it.
    with suppress(JellyError), files.open(file.path) as opened:
        # Splits have about equal sizes, so that tasks take about equally long.
        due = 1
        for point in find_restarts(opened):
            if point.offset * count >= due * file.size:
                starts.append(point)
                due = point.offset * count // file.size + 1
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        stop = None if after is None else after.offset
        size = (file.size if stop is None else stop) - start.offset
        yield FileSplit(file.path, start.offset, stop, start.frame), size


def _frames(file: BinaryIO, split: FileSplit) -> Iterator[bytes]:
    """Read the frames of a split."""
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    if split.start:
        splitter.delimited = True
    number = split.first_frame
    try:
        section = cast(BinaryIO, _Section(file, split.path, split.start, split.stop))
        with Input(section) as opened:
            for data in opened.chunks():
                for frame in splitter.feed(data):
                    yield frame
                    number += 1
        for frame in splitter.finish():
            yield frame
            number += 1
    except JellyError as error:
        # The splitter counts frames from the start of the split.
        error.frame = number
        raise
