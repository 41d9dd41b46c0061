"""Frames in a byte stream: delimited frames or a single bare one, distinguished by three bytes.

Reference: Jelly-RDF specification, section "Delimited variant of Jelly". The specification does not
say how to distinguish the two; all implementations inspect the first bytes as this one does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ...errors import LimitError, TruncatedError, WireError
from .limits import DEFAULT_LIMITS, Limits, over
from .wire import MAX_VARINT_BYTES, read_varint, varint

#: First byte of a row in a frame, and of the options in the first row.
_ROW: Final = 0x0A

#: Length of the longest message that is inside another one of 10 bytes.
_LARGEST_IN_TEN: Final = 8

#: Bytes needed to distinguish delimited from bare.
DETECTION_BYTES: Final = 3


def is_delimited(head: bytes) -> bool:
    """Return whether a stream that begins with ``head`` has delimited frames.

    :param head: the first three bytes, or all of a shorter stream.

    >>> is_delimited(bytes.fromhex("1e0a1c")), is_delimited(bytes.fromhex("0a1c0a"))
    (True, False)
    """
    if len(head) < DETECTION_BYTES:
        return False
    if head[0] != _ROW:
        return True
    # A delimited frame of 10 bytes begins with a message of at most 8 bytes. A bare one whose first
    # message has 10 bytes has a tag there, which is larger.
    return head[1] == _ROW and head[2] <= _LARGEST_IN_TEN


def delimit(frame: bytes) -> bytes:
    """Put a frame's length before it."""
    size = len(frame)
    # Fast paths for most frames: no function call.
    if size < 0x80:
        return size.to_bytes() + frame
    if size < 0x4000:
        return bytes((size & 0x7F | 0x80, size >> 7)) + frame
    return varint(size) + frame


class FrameSplitter:
    """Split a byte stream into frames, with chunks of any size. Use it from one thread at a time.

    :param limits: a frame longer than ``frame_bytes`` is rejected before its bytes are buffered,
        and ``empty_frames`` bounds the number of consecutive empty frames.

    >>> splitter = FrameSplitter()
    >>> list(splitter.feed(b"\\x02")), list(splitter.feed(b"\\x0a\\x00\\x00"))
    ([], [b'\\n\\x00', b''])
    """

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = limits
        self._buffer = bytearray()
        self._frames = 0
        #: Number of consecutive empty frames.
        self._empty = 0
        #: Whether the stream is delimited; None until it is known.
        self.delimited: bool | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Process the next chunk of the stream and return the frames that it completes.

        :raises LimitError: a frame is longer than allowed.
        :raises WireError: a length is malformed.
        """
        buffer = self._buffer
        buffer += data
        if self.delimited is None:
            if len(buffer) < DETECTION_BYTES:
                return
            self.delimited = is_delimited(bytes(buffer[:DETECTION_BYTES]))
        if not self.delimited:
            if len(buffer) > self._limits.frame_bytes:
                raise self._too_long(len(buffer))
            return
        pos = 0
        found = self._next(0)
        # Only once a frame is complete; otherwise each chunk of a long one would copy it again.
        held = b"" if found is None else bytes(buffer)
        size = len(held)
        longest = self._limits.frame_bytes
        try:
            while found is not None:
                start, pos = found
                while True:
                    frame = held[start:pos]
                    if not frame or self._empty:
                        self._count(frame)
                    self._frames += 1
                    yield frame
                    # Small patches are frames whose length takes one or two bytes.
                    start = pos + 2
                    if start >= size:
                        break
                    length = held[pos]
                    if length < 0x80:
                        start -= 1
                    elif held[pos + 1] < 0x80:
                        length += (held[pos + 1] - 1) << 7
                    else:
                        break
                    if start + length > size or length > longest:
                        break
                    pos = start + length
                found = self._next(pos)
        finally:
            del buffer[:pos]

    def _count(self, frame: bytes) -> None:
        """Reject too many empty frames."""
        self._empty = 0 if frame else self._empty + 1
        if self._empty > self._limits.empty_frames:
            what = "the number of empty frames in a row"
            error = over(self._limits, "empty_frames", self._empty, what)
            raise error.locate(frame=self._frames)

    def _next(self, pos: int) -> tuple[int, int] | None:
        """Find the start and end of the frame that is delimited at ``pos``; None if the buffer does
        not hold all of it.
        """
        head = bytes(self._buffer[pos : pos + MAX_VARINT_BYTES])
        if not head or (len(head) < MAX_VARINT_BYTES and min(head) > 0x7F):
            return None
        try:
            length, used = read_varint(head, 0, len(head))
        except WireError as error:
            error.locate(frame=self._frames)
            raise
        if length > self._limits.frame_bytes:
            raise self._too_long(length)
        start = pos + used
        stop = start + length
        return (start, stop) if stop <= len(self._buffer) else None

    def finish(self) -> Iterator[bytes]:
        """Mark the end of the stream and return the bare frame, if it is one.

        :raises TruncatedError: the stream ended inside a frame.
        """
        if self.delimited:
            if self._buffer:
                raise TruncatedError("the input ends inside a frame", frame=self._frames)
            return
        self.delimited = False
        frame = bytes(self._buffer)
        self._buffer.clear()
        yield frame

    @property
    def pending(self) -> int:
        """Number of buffered bytes of an incomplete frame."""
        return len(self._buffer)

    def _too_long(self, length: int) -> LimitError:
        error = over(self._limits, "frame_bytes", length, "the length of a frame")
        return error.locate(frame=self._frames)
