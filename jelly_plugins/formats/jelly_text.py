"""Frames of Jelly in the text form of Protocol Buffers, for people to read and to change.

A line ``# frame N`` precedes each frame. The only check is that frames are messages: invalid
Jelly can be viewed and created.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from ..codec import FrameSplitter, Limits
from ..codec.common.limits import over
from ..codec.common.wire import read_field
from ..codec.text.lines import shorten
from ..errors import LimitError, TextError, WireError
from ..io.sinks import Destination, Writable, open_output
from ..io.sources import name_of
from ..lazy import library

_OPENS_FRAME: Final = re.compile(rb"#[ \t]*frame\b", re.IGNORECASE)
#: Bytes of a frame that become a message together.
_TOGETHER: Final = 1 << 16
#: Bytes of text that a byte of a frame may take.
_LONGER: Final = 16
#: Characters of a message of the parser.
_MESSAGE: Final = 200


def frame_text(data: bytes, index: int) -> Iterator[bytes]:
    """A frame as text, in chunks: some rows at a time, whose messages take far more memory than
    their bytes.
    """
    library("google.protobuf", "Jelly's text form", "cli")
    from google.protobuf.message import DecodeError
    from google.protobuf.text_format import MessageToString

    from ..proto import rdf_pb2

    yield f"# frame {index}\n".encode()
    start = pos = 0
    try:
        while pos < len(data):
            _, _, pos, _ = read_field(data, pos, len(data))
            if pos - start >= _TOGETHER or pos == len(data):
                # Fields of a message, in order, are a message.
                rows = rdf_pb2.RdfStreamFrame.FromString(data[start:pos])
                yield MessageToString(rows, as_utf8=True).encode()
                start = pos
    except (DecodeError, WireError) as error:
        raise WireError(f"not a valid frame: {error}", frame=index) from None


class _Output:
    """Writes the Jelly that it is given as text."""

    def __init__(self, out: Writable, limits: Limits, name: str) -> None:
        #: How errors name the output.
        self.name = name
        self._out = out
        self._splitter = FrameSplitter(limits=limits)
        self._frames = 0

    def write(self, data: bytes, /) -> None:
        for frame in self._splitter.feed(data):
            for text in frame_text(frame, self._frames):
                self._out.write(text)
            self._frames += 1


@contextmanager
def text_output(dst: Destination, limits: Limits) -> Iterator[Writable]:
    """A destination of delimited Jelly, which becomes text."""
    with open_output(dst) as out:
        yield _Output(out, limits, name_of(dst))


def frames_of_text(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    """The frames of a text, without delimiters."""
    frame: list[bytes] = []
    size = 0
    first = 1
    for number, line in enumerate(_lines(chunks, limits), 1):
        if _OPENS_FRAME.match(line):
            if number > 1 and (first > 1 or any(each.strip() for each in frame)):
                yield _frame(b"".join(frame), first)
            frame, size, first = [], 0, number + 1
            continue
        frame.append(line)
        size += len(line)
        if size > _LONGER * limits.frame_bytes:
            raise over(limits, "frame_bytes", size // _LONGER, "the length of a frame")
    if first > 1 or any(each.strip() for each in frame):
        yield _frame(b"".join(frame), first)


def _lines(chunks: Iterable[bytes], limits: Limits) -> Iterator[bytes]:
    pending: list[bytes] = []
    size = 0
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > _LONGER * limits.frame_bytes:
            raise over(limits, "frame_bytes", size // _LONGER, "the length of a line")
        for line in others:
            yield b"".join(pending) + b"\n"
            pending = [line]
            size = len(line)
    yield b"".join(pending)


def _frame(text: bytes, first: int) -> bytes:
    """A frame as bytes."""
    library("google.protobuf", "Jelly's text form", "cli")
    from google.protobuf.text_format import Parse, ParseError

    from ..proto import rdf_pb2

    try:
        frame: bytes = Parse(text.decode(), rdf_pb2.RdfStreamFrame()).SerializeToString()
    except ParseError as error:
        line = first + (error.GetLine() or 1) - 1
        # It has the whole line.
        message = shorten(re.sub(r"^\d+:\d+ : ", "", str(error)), _MESSAGE)
        raise TextError(message, line=line, column=error.GetColumn() or 1) from None
    except UnicodeDecodeError as error:
        line = first + text[: error.start].count(b"\n")
        raise TextError(f"not valid UTF-8 ({error.reason})", line=line, column=1) from None
    except RecursionError:
        raise LimitError(f"line {first}: messages are nested too deeply") from None
    return frame
