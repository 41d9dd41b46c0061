"""Restart points: frames of a stream that need nothing of what stands before them.

Jelly's lookups and repeats carry over from frame to frame, so that a file can only be read from its
start. A restart point says the options and the lookup entries that it needs again, and repeats no
term of the frames before: a reader may begin there, with the number of the frame, and reads the
same statements. To a reader that comes from the start it is a frame like any other.

It is marked in the frame's metadata, under the key :data:`KEY`, with an empty value; the entry
stands before the frame's rows, so that a search need not pass over those. The encoder writes
restart points on request (``restart_every``, ``restart()``). The first frame of a stream is one
without a mark.

What does not come back after a restart point: namespace declarations that stand before it.

Reference: Jelly-RDF specification, sections "Stream options" (repeated options) and "Prefix, name,
and datatype lookups" (entries that are set again).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from ..errors import TruncatedError, WireError
from .framing import DETECTION_BYTES, is_delimited
from .limits import DEFAULT_LIMITS, Limits, over
from .wire import MAX_VARINT_BYTES, bytes_field, read_varint, string_field

#: Key of the mark in a frame's metadata.
KEY: Final = "jelly-plugins:restart"
#: What a restart point opens with.
MARK: Final = bytes_field(15, string_field(1, KEY))

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
