"""Logs in Jelly: each frame is a message.

Many frames are read at once, as one with the same contents; frames with other fields (options,
metadata) are read one by one.

A log of no messages is a file of no bytes: a stream of Jelly has a frame for its options, which is
a message.

Reference: RDF Messages, section "Other formats"; Jelly-RDF specification, section "Stream frames".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..codec import Decoder, GenericFactory, Limits, PhysicalType, is_delimited
from ..codec.common.framing import DETECTION_BYTES
from ..codec.common.limits import over
from ..codec.common.wire import MAX_VARINT_BYTES, read_varint
from ..errors import JellyError, SourceError, TruncatedError
from ..io.sources import Input
from ..io.streams import FrameBytes, FrameReader
from .kernel import join_frames
from .model import Message
from .rows import as_quads

#: Bytes and rows of frames that are joined.
_JOINED_BYTES: Final = 1 << 16
_JOINED_ROWS: Final = 1 << 14
#: Bytes at the start of a source by which text is distinguished from Jelly.
_OPENING: Final = 1024


@dataclass(slots=True)
class Group:
    """Frames that are read together, or one that is read alone.

    :ivar data: the frame with their contents.
    :ivar first: number of the first frame.
    :ivar counts: statements of each frame; None for one that is read alone.
    :ivar rows: rows of each frame.
    """

    data: bytes
    first: int
    counts: list[int] | None = None
    rows: list[int] = field(default_factory=list)

    def locate(self, error: JellyError) -> None:
        """Let an error of a decoder be one of the frame that it is in."""
        frame, row = self.first, error.row
        if row is not None:
            for number in self.rows:
                if row < number:
                    break
                row -= number
                frame += 1
        error.frame, error.row = frame, row


class FrameGroups:
    """Reads a log in Jelly as groups of frames.

    :param limits: ``frame_bytes``, ``frame_rows`` and ``empty_frames`` are looked at here.
    """

    def __init__(self, source: Input, limits: Limits) -> None:
        self.source = source
        self._limits = limits
        self._chunks = source.chunks()
        self._data = b""
        self._pos = 0
        self._frames = 0
        self._empty = 0
        #: What the source opens with.
        self.opening = b""

    def __iter__(self) -> Iterator[Group]:
        """The groups.

        :raises JellyError: a delimiter is malformed or above the limits, or the source ends inside
            a frame; with the frame.
        """
        while len(self._data) < DETECTION_BYTES and self._more():
            pass
        self.opening = self._data[:_OPENING]
        if not self._data:
            return
        if not is_delimited(self._data):
            yield self._bare()
            return
        max_bytes = min(_JOINED_BYTES, self._limits.frame_bytes)
        max_rows = min(_JOINED_ROWS, self._limits.frame_rows)
        joined = b""
        while True:
            counts: list[int] = []
            rows: list[int] = []
            if self._frames:
                joined, self._pos = join_frames(
                    self._data, self._pos, counts, rows, max_bytes, max_rows
                )
            if counts:
                yield self._counted(Group(joined, self._frames, counts, rows))
            elif (frame := self._whole_frame()) is not None:
                yield self._counted(Group(frame, self._frames))
            else:
                return

    def physical_type(self) -> PhysicalType | None:
        """The physical type of the stream, read from its first bytes; None if it is not
        found there. Call this before iterating."""
        while len(self._data) < _OPENING and self._more():
            pass
        try:
            with FrameBytes(self._data) as frames:
                options = frames.peek_options()
        except JellyError:
            return None
        return None if options is None else options.physical_type

    def _more(self) -> bool:
        """Read on; False at the end of the source."""
        chunk = next(self._chunks, None)
        if chunk is None:
            return False
        self._data = self._data[self._pos :] + chunk
        self._pos = 0
        return True

    def _whole_frame(self) -> bytes | None:
        """The next frame, whatever it is; None at the end of the source."""
        length: int | None = None
        while True:
            head = self._data[self._pos : self._pos + MAX_VARINT_BYTES]
            if head and (len(head) == MAX_VARINT_BYTES or min(head) < 0x80):
                try:
                    length, used = read_varint(head, 0, len(head))
                except JellyError as error:
                    raise error.locate(source=self.source.name, frame=self._frames) from None
                if length > self._limits.frame_bytes:
                    what = "the length of a frame"
                    excess = over(self._limits, "frame_bytes", length, what)
                    raise excess.locate(source=self.source.name, frame=self._frames)
                start = self._pos + used
                if length <= len(self._data) - start:
                    self._pos = start + length
                    return self._data[start : self._pos]
            if not self._gather(0 if length is None else length):
                break
        if self._pos == len(self._data):
            return None
        raise TruncatedError(
            "the input ends inside a frame", source=self.source.name, frame=self._frames
        )

    def _gather(self, size: int) -> bool:
        """Read on until there may be so many bytes; False at the end of the source."""
        parts = [self._data[self._pos :]]
        left = size - len(parts[0])
        self._pos = 0
        while (chunk := next(self._chunks, None)) is not None:
            parts.append(chunk)
            left -= len(chunk)
            if left <= 0:
                break
        self._data = b"".join(parts)
        return chunk is not None

    def _counted(self, group: Group) -> Group:
        """Count frames, and empty ones that follow one another."""
        number = 1 if group.counts is None else len(group.counts)
        self._frames += number
        self._empty = 0 if group.data else self._empty + number
        if self._empty > self._limits.empty_frames:
            what = "the number of empty frames in a row"
            error = over(self._limits, "empty_frames", self._empty, what)
            raise error.locate(source=self.source.name, frame=self._frames - 1)
        return group

    def _bare(self) -> Group:
        """The frame of a source that has one without a delimiter."""
        parts = [self._data]
        size = len(self._data)
        for chunk in self._chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > self._limits.frame_bytes:
                error = over(self._limits, "frame_bytes", size, "the length of a frame")
                raise error.locate(source=self.source.name, frame=0)
        return Group(b"".join(parts), 0)

    def reject(self, error: JellyError, group: Group | None) -> JellyError:
        """An error with its position, or a better one if the source is not Jelly.

        :param group: what was being decoded.
        """
        if group is not None:
            group.locate(error)
        if not self._frames or (group is not None and not group.first):
            try:
                next(FrameReader(self.opening), None)
            except SourceError as failed:
                failed.source = self.source.name
                return failed
            except JellyError:
                pass
        return error.locate(source=self.source.name)


def read_jelly(groups: FrameGroups, limits: Limits) -> Iterator[Message]:
    """The messages of a log in Jelly.

    :raises JellyError: with frame and row.
    """
    decoder = Decoder(GenericFactory(), limits=limits)
    name = groups.source.name
    index = 0
    group = None
    try:
        for group in groups:
            frame = decoder.decode(group.data)
            quads = as_quads(frame.statements)
            if group.counts is None:
                yield Message(quads, index, name, None, frame.metadata or None)
                index += 1
                group = None
                continue
            at = 0
            for count in group.counts:
                yield Message(quads[at : at + count], index, name)
                at += count
                index += 1
            group = None
        if index:
            decoder.finish()
    except JellyError as error:
        raise groups.reject(error, group) from None
