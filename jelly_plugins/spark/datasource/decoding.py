"""A piece of a Jelly-RDF file as columns. Knows nothing of Spark, and of Arrow no more than the
codec does."""

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
from .parts import Piece

_PIECE: Final = 1 << 20


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
    """Bytes of an open file up to a place, to be read as a file; the file itself stays open.

    :param name: how errors call it.
    :param start: where it starts.
    :param stop: where it ends; None for the file's end.
    """
    return cast(BinaryIO, _Section(file, name, start, stop))


def decode(file: BinaryIO, piece: Piece) -> Iterator[Columns]:
    """The rows of a piece; those of frames before one that is corrupt come out first.

    :param file: open, at its start.
    :raises JellyError: with source, frame and row.
    """
    if piece.first > piece.start:
        piece = _from_last_restart(file, piece)
    decoder = ColumnDecoder(first_frame=piece.first_frame)
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    if piece.start:
        splitter.delimited = True
    try:
        if piece.first > piece.start:
            before = section(file, piece.path, piece.start, piece.first)
            for frame in _frames(before, splitter, decoder, last=False):
                for _ in decoder.decode(frame):
                    pass
            decoder.flush()
        wanted = section(file, piece.path, max(piece.start, piece.first), piece.stop)
        for frame in _frames(wanted, splitter, decoder, last=True):
            yield from decoder.decode(frame)
        yield from decoder.finish()
    except JellyError as error:
        yield from decoder.flush()
        error.locate(source=piece.path)
        raise


def _from_last_restart(file: BinaryIO, piece: Piece) -> Piece:
    """The piece, read from the last place before ``first`` where reading may begin."""
    found = piece
    # A file that is growing may end inside a frame.
    with suppress(JellyError):
        for offset, frame in find_restarts(file):
            if offset > piece.first:
                break
            found = replace(piece, start=offset, first_frame=frame)
    file.seek(0)
    return found


def _frames(
    source: BinaryIO, splitter: FrameSplitter, decoder: ColumnDecoder, *, last: bool
) -> Iterator[bytes]:
    """The frames of a section.

    :param last: whether no section follows.
    """
    try:
        with Input(source) as opened:
            for data in opened.pieces():
                yield from splitter.feed(data)
        if last:
            yield from splitter.finish()
    except JellyError as error:
        # The splitter counts from the piece's start.
        error.frame = decoder.next_frame
        raise


def complete_frames(file: BinaryIO, path: str, before: int) -> int:
    """Where the last frame of a growing file ends that is complete, in bytes.

    :param before: where one ends that was complete before.
    :raises JellyError: a length is malformed, or the file cannot be read.
    """
    splitter = FrameSplitter(limits=DEFAULT_LIMITS)
    if before:
        splitter.delimited = True
    source = section(file, path, before)
    read = 0
    while data := source.read(_PIECE):
        read += len(data)
        for _ in splitter.feed(data):
            pass
    # A file without delimiters is one frame, and nothing can follow it.
    return before + read - (splitter.pending if splitter.delimited else 0)
