"""Rows in frames: what the decoders of Jelly-RDF and Jelly-Patch have in common.

Knows where rows begin and end and that each sets one field; what a row means, and whether it may
stand where it stands, is its decoder's to say.

Reference: Jelly-RDF specification, sections "Stream frames" and "Stream rows".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from typing import Final, Generic, Protocol, TypeVar

from ..errors import JellyError, WireError
from .limits import Limits, over
from .wire import BYTES, read_field, read_fields, wrong_type

ROW_NUMBER: Final = 1
_ROW_TAG: Final = ROW_NUMBER << 3 | BYTES

R = TypeVar("R", bound=IntEnum)


class CountsRows(Protocol):
    """A frame that is being read."""

    @property
    def index(self) -> int: ...

    rows: int


F = TypeVar("F", bound=CountsRows)


class RowReader(ABC, Generic[R, F]):
    """Finds the rows of a stream's frames, one frame after the other.

    :param rows: the fields that a row may set; every one is a message.
    :param message: what the message of a frame is called.
    :param limits: what is believed of the input.
    :param first_frame: number of the first frame, where the stream is part of a longer one.
    """

    def __init__(self, rows: Iterable[R], message: str, limits: Limits, first_frame: int) -> None:
        self._limits = limits
        self._frames = first_frame
        #: The row that is being read, for errors; None outside rows.
        self._row: int | None = None
        self._message = message
        #: Row by its tag on the wire, and the same by its number.
        self._rows = {row << 3 | BYTES: row for row in rows}
        self._row_numbers = {tag >> 3: row for tag, row in self._rows.items()}
        self._wire_types = dict.fromkeys(self._row_numbers, BYTES)

    @property
    def next_frame(self) -> int:
        """Number of the frame that is next."""
        return self._frames

    def _decode_frame(self, data: bytes, frame: F) -> F:
        """Decode a frame into ``frame``; errors get its number and that of the row."""
        try:
            if len(data) > self._limits.frame_bytes:
                raise over(self._limits, "frame_bytes", len(data), "the length of a frame")
            self._decode_rows(data, frame)
        except JellyError as error:
            error.locate(frame=frame.index, row=self._row)
            raise
        finally:
            self._row = None
        self._frames += 1
        return frame

    @abstractmethod
    def _decode_rows(self, data: bytes, frame: F) -> None:
        """Decode all rows of a frame."""

    def _next_row(self, data: bytes, pos: int, end: int, frame: F) -> tuple[int, int]:
        """Find the next row: where it starts and ends. A field of the frame that is no row is read
        here; its start is -1."""
        length = data[pos + 1] if pos + 1 < end else 0x80
        if data[pos] == _ROW_TAG and length < 0x80:
            self._row = frame.rows
            start = pos + 2
            stop = start + length
        else:
            # Outside rows (unknown fields, metadata) there is no row to name in an error.
            self._row = frame.rows if data[pos] == _ROW_TAG else None
            tag, start, stop, _ = read_field(data, pos, end)
            if tag != _ROW_TAG:
                self._read_frame_field(tag, data, start, stop, frame)
                return -1, stop
        frame.rows += 1
        if frame.rows > self._limits.frame_rows:
            raise over(self._limits, "frame_rows", frame.rows, "the number of rows in a frame")
        if stop > end:
            raise WireError("a row ends after its frame")
        return start, stop

    def _read_frame_field(self, tag: int, data: bytes, pos: int, end: int, frame: F) -> None:  # noqa: ARG002
        """Read a field of a frame that is no row. There is none that is known in every frame."""
        if tag >> 3 == ROW_NUMBER:
            raise wrong_type(ROW_NUMBER, self._message)

    def _read_row_tag(self, data: bytes, pos: int, end: int) -> tuple[R, int, int]:
        """Find the one field that a row sets: which row it is, and where its message
        starts and ends."""
        if end - pos >= 2:
            row = self._rows.get(data[pos])
            if row is not None and data[pos + 1] < 0x80 and pos + 2 + data[pos + 1] == end:
                return row, pos + 2, end
        found = [
            (self._row_numbers[number], start, stop)
            for number, start, stop, _ in read_fields(data, pos, end, self._wire_types, "a row")
        ]
        if not found:
            raise WireError("a row is empty, or of a kind that is not known")
        if len(found) > 1:
            raise WireError("a row has two fields set")
        return found[0]
