"""The Protocol Buffers wire format that Jelly needs: varints, tags, fields; and frames in a byte
stream: delimited frames or a single bare one, distinguished by three bytes.

The codec reads and writes the wire format itself. A message library hides details that a strict
reader needs (a oneof set twice, a known field of the wrong type, the row of an error), and in
Python it costs more time than the rest of the codec.

Strictness: a field that a message knows must have its wire type and occur once; unknown field
numbers are skipped, as Protocol Buffers requires; groups are rejected.

Reference: https://protobuf.dev/programming-guides/encoding/; Jelly-RDF specification, section
"Delimited variant of Jelly". It does not say how to distinguish delimited from bare frames; all
implementations inspect the first bytes as this one does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ...errors import LimitError, TruncatedError, WireError
from .limits import DEFAULT_LIMITS, Limits, over

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5

MAX_UINT32: Final = 0xFFFF_FFFF
#: The wire format allows varints of up to ten bytes for any value.
MAX_VARINT_BYTES: Final = 10


def read_varint(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Read a varint at ``pos``; return its value and the position after it."""
    value = shift = 0
    for offset in range(MAX_VARINT_BYTES):
        if pos + offset >= end:
            raise WireError("a number ends after its message")
        byte = data[pos + offset]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, pos + offset + 1
        shift += 7
    raise WireError("a number is longer than 64 bits")


def read_field(data: bytes, pos: int, end: int) -> tuple[int, int, int, int]:
    """Read a field's tag at ``pos`` and find its payload.

    :return: tag (field number times 8 plus wire type), payload's start, payload's end, and, for
        a varint, its value (otherwise 0).
    """
    if end - pos > 1 and data[pos] > 7 and data[pos] & 0x87 == BYTES:
        # Most fields are short, and most of their numbers are below 16.
        stop = pos + 2 + data[pos + 1]
        if data[pos + 1] < 0x80 and stop <= end:
            return data[pos], pos + 2, stop, 0
    tag, pos = read_varint(data, pos, end)
    wire_type = tag & 7
    if not 0 < tag >> 3 < 1 << 29:
        raise WireError(f"field number {tag >> 3} is not valid")
    if wire_type == VARINT:
        value, stop = read_varint(data, pos, end)
        return tag, pos, stop, value
    if wire_type == BYTES:
        length, pos = read_varint(data, pos, end)
        stop = pos + length
    elif wire_type == FIXED64:
        stop = pos + 8
    elif wire_type == FIXED32:
        stop = pos + 4
    else:
        raise WireError(f"wire type {wire_type} is not valid")
    if stop > end:
        raise WireError("a field ends after its message")
    return tag, pos, stop, 0


def read_fields(
    data: bytes, pos: int, end: int, known: Mapping[int, int], message: str
) -> Iterator[tuple[int, int, int, int]]:
    """Read a message's fields and skip unknown ones.

    :param known: wire type by field number.
    :return: for each known field its number, payload's start and end, and value (for a varint).
    """
    seen = set()
    while pos < end:
        tag, start, pos, value = read_field(data, pos, end)
        number = tag >> 3
        expected = known.get(number)
        if expected is None:
            continue
        if expected != tag & 7:
            raise wrong_type(number, message)
        if number in seen:
            raise WireError(f"field {number} of {message} occurs twice")
        seen.add(number)
        yield number, start, pos, value


_METADATA_FIELDS: Final = {1: BYTES, 2: BYTES}


#: Entries that the metadata of a frame may have.
METADATA_ENTRIES: Final = 1 << 16


def read_metadata_entry(data: bytes, pos: int, end: int, metadata: dict[str, bytes]) -> None:
    """Read an entry of a frame's metadata into a dict."""
    key = ""
    value = b""
    for number, start, stop, _ in read_fields(data, pos, end, _METADATA_FIELDS, "a metadata entry"):
        if number == 1:
            key = read_string(data, start, stop, "a metadata key")
        else:
            value = data[start:stop]
    metadata[key] = value
    check_metadata(metadata)


def check_metadata(metadata: Mapping[str, bytes]) -> None:
    """Check the number of entries of a frame's metadata."""
    if len(metadata) > METADATA_ENTRIES:
        raise LimitError(f"the metadata of a frame have more than {METADATA_ENTRIES} entries")


def check_empty(data: bytes, pos: int, end: int, message: str) -> None:
    """Skip a message that has no fields."""
    for _ in read_fields(data, pos, end, {}, message):
        pass


def wrong_type(number: int, message: str) -> WireError:
    """The error for a known field with the wrong wire type."""
    return WireError(
        f"field {number} of {message} has the wrong wire type: "
        "not Jelly, or a pre-release dialect of it"
    )


def uint32(value: int, what: str) -> int:
    """Reject a number that does not fit into the field's type."""
    if value > MAX_UINT32:
        raise WireError(f"{what} is above 32 bits")
    return value


def read_string(data: bytes, pos: int, end: int, what: str) -> str:
    """Decode UTF-8."""
    try:
        return str(data[pos:end], "utf-8")
    except UnicodeDecodeError as error:
        raise WireError(f"{what} is not valid UTF-8 ({error.reason})") from None


def varint(value: int) -> bytes:
    """Write a varint.

    >>> varint(300).hex()
    'ac02'
    """
    if value < 0x80:
        return value.to_bytes()
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def bytes_field(number: int, payload: bytes | bytearray) -> bytes:
    """Write a length-delimited field, empty or not."""
    return varint(number << 3 | BYTES) + varint(len(payload)) + payload


def varint_field(number: int, value: int) -> bytes:
    """Write a varint field; write nothing for 0, as in proto3."""
    return varint(number << 3) + varint(value) if value else b""


def string_field(number: int, text: str) -> bytes:
    """Write a string field; write nothing for the empty string, as in proto3."""
    try:
        return bytes_field(number, str.encode(text)) if text else b""
    except UnicodeEncodeError:
        raise WireError("a text has a surrogate, which is not a character") from None


# Frames

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


#: Bytes at the start of a stream that a splitter keeps.
_OPENING: Final = 1024


class FrameSplitter:
    """Split a byte stream into frames, with chunks of any size. Use it from one thread at a time.

    :param limits: a frame longer than ``frame_bytes`` is rejected before its bytes are buffered,
        and ``empty_frames`` bounds the number of consecutive empty frames.
    :ivar opening: the first bytes of the stream, which show whether it is of another format.

    >>> splitter = FrameSplitter()
    >>> list(splitter.feed(b"\\x02")), list(splitter.feed(b"\\x0a\\x00\\x00"))
    ([], [b'\\n\\x00', b''])
    """

    def __init__(self, *, limits: Limits = DEFAULT_LIMITS) -> None:
        self.opening = b""
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
        if len(self.opening) < _OPENING:
            self.opening += data[: _OPENING - len(self.opening)]
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
