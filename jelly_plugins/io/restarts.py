"""Where reading of a file may begin: its restart points, see ``codec.rdf.restarts``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from ..codec.common.framing import DETECTION_BYTES, is_delimited
from ..codec.common.limits import DEFAULT_LIMITS, Limits, over
from ..codec.common.wire import MAX_VARINT_BYTES, read_varint
from ..codec.rdf.restarts import MARK
from ..errors import TruncatedError, WireError

_HEAD: Final = MAX_VARINT_BYTES + len(MARK)


class RestartPoint(NamedTuple):
    """Where reading may begin.

    :ivar offset: of the frame's delimiter, in bytes from where the search began.
    :ivar frame: the frame's number in the stream.
    """

    offset: int
    frame: int


def find_restarts(file: BinaryIO, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[RestartPoint]:
    """Find the restart points of a stream of delimited frames, the first frame among them.

    No row is read, only each frame's delimiter and the bytes after it.

    :param file: seekable, and not compressed; the stream starts where it stands.
    :param limits: ``frame_bytes`` bounds what is believed of a delimiter.
    :raises JellyError: a delimiter is malformed, or above the limit; with the frame.
    :raises TruncatedError: the file ends inside a frame.

    A stream of one bare frame has one point. An empty file has none.
    """
    start = file.tell()
    end = file.seek(0, 2)
    frame = 0
    pos = start
    while pos < end:
        file.seek(pos)
        head = file.read(_HEAD)
        if not frame:
            yield RestartPoint(0, 0)
            if not is_delimited(head[:DETECTION_BYTES]):
                return
        try:
            length, used = read_varint(head, 0, len(head))
        except WireError as error:
            error.locate(frame=frame)
            raise
        if length > limits.frame_bytes:
            raise over(limits, "frame_bytes", length, "the length of a frame").locate(frame=frame)
        if length > end - pos - used:
            raise TruncatedError("the input ends inside a frame", frame=frame)
        if frame and length >= len(MARK) and head.startswith(MARK, used):
            yield RestartPoint(pos - start, frame)
        pos += used + length
        frame += 1
