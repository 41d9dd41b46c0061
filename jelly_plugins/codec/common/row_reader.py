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

from ...errors import JellyError, WireError
from .limits import Limits, over
from .wire import BYTES, read_field, read_fields, wrong_type

ROW_NUMBER: Final = 1
ROW_TAG: Final = ROW_NUMBER << 3 | BYTES

R = TypeVar("R", bound=IntEnum)


class CountsRows(Protocol):
    """A frame that is being read; its decoder keeps the number of rows current when it fails."""

    @property
    def index(self) -> int: ...

    rows: int


F = TypeVar("F", bound=CountsRows)


class RowReader(ABC, Generic[R, F]):
    """Finds the rows of a stream's frames, one frame after the other.

    :param rows: the fields that a row may set; every one is a message.
    :param frame_message: what the message of a frame is called.
    :param row_message: what the message of a row is called.
    :param limits: the limits on untrusted input.
    :param first_frame: number of the first frame, where the stream is part of a longer one.
    """

    def __init__(
        self,
        rows: Iterable[R],
        frame_message: str,
        row_message: str,
        limits: Limits,
        first_frame: int,
    ) -> None:
        self._limits = limits
        self._frames = first_frame
        #: Whether something is read that is no row, so that an error has none to name.
        self._outside_rows = False
        self._frame_message = frame_message
        self._row_message = row_message
        #: Row by its tag on the wire.
        self._row_tags = {row << 3 | BYTES: row for row in rows}
        self._row_numbers = {tag >> 3: row for tag, row in self._row_tags.items()}
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
            in_a_row = frame.rows and not self._outside_rows
            error.locate(frame=frame.index, row=frame.rows - 1 if in_a_row else None)
            raise
        self._frames += 1
        return frame

    @abstractmethod
    def _decode_rows(self, data: bytes, frame: F) -> None:
        """Decode all rows of a frame."""

    def _next_row(
        self, data: bytes, pos: int, end: int, frame: F
    ) -> tuple[R | None, int, int, int]:
        """Read a field of a frame, however it is written.

        :return: for a row, which it is, its message's start and end, and the row's end. Other
            fields are done with here; they are no row, and end at the last of the four.
        """
        tag, start, stop, _ = read_field(data, pos, end)
        if tag == ROW_TAG:
            return *self._read_row_tag(data, start, stop), stop
        self._read_frame_field(tag, data, start, stop, frame)
        return None, start, stop, stop

    def _read_frame_field(self, tag: int, data: bytes, pos: int, end: int, frame: F) -> None:  # noqa: ARG002
        """Read a field of a frame that is no row. There is none that is known in every frame."""
        if tag >> 3 == ROW_NUMBER:
            raise wrong_type(ROW_NUMBER, self._frame_message)

    def _read_row_tag(self, data: bytes, pos: int, end: int) -> tuple[R, int, int]:
        """Find the one field that a row sets: which row it is, and where its message
        starts and ends."""
        found = [
            (self._row_numbers[number], start, stop)
            for number, start, stop, _ in read_fields(
                data, pos, end, self._wire_types, self._row_message
            )
        ]
        if not found:
            raise WireError("a row is empty, or of a kind that is not known")
        if len(found) > 1:
            raise WireError("a row has two fields set")
        return found[0]
