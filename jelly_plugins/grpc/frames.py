"""Frames on their way: as a file to read, cut to the size of messages, under another name."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Decoder, Limits, StreamOptions, delimit
from ..codec.common.row_reader import ROW_TAG
from ..codec.common.wire import bytes_field, read_field
from ..codec.rdf.decoder import first_options
from ..codec.rdf.encoder import write_options
from ..codec.rdf.rules import Row
from ..errors import LimitError, OptionsError
from ..io.streams import GENERIC

#: Bytes of a frame that are sent at once, where the frame may be divided.
SENT_BYTES: Final = 1 << 20
#: Bytes of a message that are not the frame's.
_MESSAGE_OVERHEAD: Final = 1 << 10
#: Rows of a frame that is made to be sent. Each message costs as much as many rows.
FRAME_ROWS: Final = 4096
FRAME_BYTES: Final = 256 << 10
#: Frames without a row that may come before the options, and their bytes: they are kept.
_FRAMES_BEFORE_OPTIONS: Final = 1000
_BYTES_BEFORE_OPTIONS: Final = 1 << 20


class FrameFile(io.RawIOBase):
    """Frames as a delimited stream, to be read like a file. Closing it closes what gives them.

    :param name: how errors call it.
    """

    def __init__(self, frames: Iterable[bytes], name: str) -> None:
        self._frames = iter(frames)
        self._rest = memoryview(b"")
        self.name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        while not self._rest:
            frame = next(self._frames, None)
            if frame is None:
                return 0
            self._rest = memoryview(delimit(frame))
        count = min(len(self._rest), len(buffer))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        close = getattr(self._frames, "close", None)
        if close is not None and not self.closed:
            close()
        super().close()


def opening_options(frame: bytes, limits: Limits = DEFAULT_LIMITS) -> StreamOptions | None:
    """The options that a stream opens with; None if the frame has none, or none that are well
    formed."""
    return first_options(frame, limits)


class Opening:
    """Looks for the options that a stream opens with: frames without a row may come before them.

    :raises JellyError: (from :meth:`look`) there are none where they ought to be.
    """

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._decoder = Decoder(GENERIC, limits=limits)
        self._frames = 0
        self._bytes = 0

    def look(self, frame: bytes) -> StreamOptions | None:
        """The options, if they are in this frame."""
        options = opening_options(frame, self._limits)
        if options is None:
            # Whoever reads such a frame says what is wrong with it.
            self._decoder.decode(frame)
            self._frames += 1
            self._bytes += len(frame)
            if self._frames > _FRAMES_BEFORE_OPTIONS or self._bytes > _BYTES_BEFORE_OPTIONS:
                raise OptionsError("the stream does not begin with options")
        return options


def renamed(frames: Iterable[bytes], name: str) -> Iterator[bytes]:
    """A stream under another name.

    :param frames: of a stream that says its options once.
    """
    iterator = iter(frames)
    try:
        for frame in iterator:
            options = opening_options(frame)
            if options is not None:
                yield _with_options(frame, replace(options, stream_name=name))
                break
            yield frame
        yield from iterator
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _with_options(frame: bytes, options: StreamOptions) -> bytes:
    """A frame whose first row says other options."""
    pos = 0
    while True:
        start = pos
        tag, _, pos, _ = read_field(frame, pos, len(frame))
        if tag == ROW_TAG:
            row = bytes_field(Row.OPTIONS, write_options(options))
            return frame[:start] + bytes_field(ROW_TAG >> 3, row) + frame[pos:]


def fitted(frame: bytes, options: StreamOptions, message_bytes: int) -> Iterator[bytes]:
    """A frame in pieces that can be sent.

    In a flat stream frames mean nothing, and one that is large is divided between its rows. In a
    grouped one each is an element.

    :param message_bytes: that the other side takes at once.
    :raises LimitError: an element, or a row, is too large.
    """
    most = message_bytes - _MESSAGE_OVERHEAD
    if options.grouped or len(frame) <= min(SENT_BYTES, most):
        _check(len(frame), most, "a frame that is one element")
        yield frame
        return
    start = pos = 0
    while pos < len(frame):
        before = pos
        _, _, pos, _ = read_field(frame, pos, len(frame))
        _check(pos - before, most, "a row")
        if pos - start > min(SENT_BYTES, most) and before > start:
            yield frame[start:before]
            start = before
    yield frame[start:]


def _check(size: int, most: int, what: str) -> None:
    if size > most:
        raise LimitError(f"{what} takes {size:,} bytes, a message of this service {most:,}")


def fitted_all(frames: Iterable[bytes], message_bytes: int, limits: Limits) -> Iterator[bytes]:
    """The frames of a stream, each in pieces that can be sent.

    :raises JellyError: one of them cannot, or the stream's options cannot be read.
    """
    options: StreamOptions | None = None
    iterator = iter(frames)
    try:
        for frame in iterator:
            if options is None:
                options = opening_options(frame, limits)
            yield from (frame,) if options is None else fitted(frame, options, message_bytes)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
