"""Rows into frames: the common part of the encoders of Jelly-RDF and Jelly-Patch.

It bounds the size of frames and ends them; the encoders define the rows. The compiled kernel writes
rows to the frame by methods without an underscore.

Reference: Jelly-RDF specification, sections "Stream frames" and "Stream rows".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from ...errors import JellyError
from .limits import Limits, over
from .wire import bytes_field, read_field

#: Number of rows after which a frame ends, unless the caller ends it.
DEFAULT_FRAME_ROWS: Final = 256
#: Number of bytes after which a frame ends; the specification recommends less than 1 MB.
DEFAULT_FRAME_BYTES: Final = 512 << 10


class RowWriter:
    """Gathers rows into frames.

    Frames end automatically after ``frame_rows`` rows or ``frame_bytes`` bytes, whichever comes
    first. With ``whole_frames`` each frame is one element, and only the encoder ends it.

    :param limits: bounds of frames; by default a reader's default limits.
    """

    #: The row of an entry, by the name of its lookup.
    _entry_rows: ClassVar[Mapping[str, int]]

    def __init__(
        self, limits: Limits, frame_rows: int, frame_bytes: int, *, whole_frames: bool
    ) -> None:
        if frame_rows < 1 or frame_bytes < 1:
            raise ValueError("frame_rows and frame_bytes must be at least 1")
        self._limits = limits
        self._whole_frames = whole_frames
        # Half of a reader's limits leaves enough for the last statement and its entries.
        most_rows = min(limits.frame_rows // 2, limits.frame_repeats)
        self._frame_rows = limits.frame_rows + 1 if whole_frames else min(frame_rows, most_rows)
        most_bytes = limits.frame_bytes // 2
        self._frame_bytes = limits.frame_bytes + 1 if whole_frames else min(frame_bytes, most_bytes)
        #: Frames that ended but were not returned yet.
        self._ended: list[bytes] = []
        self._buffer = bytearray()
        self._rows = 0
        #: Statements of this frame that repeat all terms of the previous one.
        self._repeats = 0
        self._frames = 0
        #: Whether the next frame with rows is a restart point; not all formats have restart points.
        self.restarting = False

    @property
    def pending(self) -> int:
        """Number of rows that are not part of a returned frame yet."""
        return self._rows

    def _take_ended(self) -> list[bytes]:
        """Return the frames that ended since the last call."""
        frames = self._ended
        self._ended = []
        return frames

    def _take_frame(self, more: bytes = b"") -> bytes:
        """End the frame, empty or not, and return it.

        :param more: fields of the frame that are not rows.
        """
        if self._whole_frames:
            self._end_whole_frame()
        frame = bytes(self._buffer) + more
        for limit, found, what in (
            ("frame_rows", self._rows, "the number of rows in a frame"),
            ("frame_bytes", len(frame), "the length of a frame"),
            ("frame_repeats", self._repeats, "repeats in a frame: their number"),
        ):
            if found > getattr(self._limits, limit):
                raise over(self._limits, limit, found, what).locate(frame=self._frames)
        self._begin_frame()
        return frame

    def _end_whole_frame(self) -> None:
        """Close anything that must not stay open at the end of a frame that is one element."""

    def _begin_frame(self) -> None:
        self._buffer.clear()
        self._rows = 0
        self._repeats = 0
        self._frames += 1

    def _end_frame(self) -> None:
        """End a frame without a request by the caller."""
        self._ended.append(self._take_frame())

    def begin_restart(self) -> None:
        """Begin a restart point if one is due and the frame is still empty."""

    def end_full_frame(self) -> None:
        """End a frame before the next statement is written."""
        self._end_frame()

    def _end_stream(self) -> list[bytes]:
        """End the last frame, if it has rows, and return the remaining frames."""
        if self._rows:
            self._end_frame()
        return self._take_ended()

    def room(self) -> tuple[int, int]:
        """Return the rows and bytes that are left in the frame."""
        return max(0, self._frame_rows - self._rows), max(0, self._frame_bytes - len(self._buffer))

    def add_rows(self, rows: bytes, count: int, repeats: int) -> None:
        """Add encoded rows to the frame, some of which repeat all terms of the previous one."""
        self._buffer += rows
        self._rows += count
        self._repeats += repeats

    def locate(self, error: JellyError) -> None:
        """Add the position of the next row to an error."""
        error.locate(frame=self._frames, row=self._rows)

    def add_entry(self, table: str, body: bytes) -> None:
        """Add the row of a lookup's entry; ``table`` is the lookup's name."""
        self._add_row(self._entry_rows[table], body)

    def _add_row(self, row: int, body: bytes) -> None:
        self._buffer += bytes_field(1, bytes_field(row, body))
        self._rows += 1


def rows_of(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Find the start and end of each row in a frame of this writer, and the number of the field
    that it sets.
    """
    pos = 0
    while pos < len(data):
        _, start, stop, _ = read_field(data, pos, len(data))
        yield pos, stop, data[start] >> 3
        pos = stop
