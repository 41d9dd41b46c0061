"""Rows in frames: the common part of the decoders of Jelly-RDF and Jelly-Patch.

It finds the rows, checks that each sets one field, checks their order, and reads options,
statements and lookup entries. The decoder interprets the other rows.

The compiled kernel leaves rare work to these classes, by methods without an underscore: options,
fields of frames that are not rows, ends of patches' frames, and the reason for an invalid row
(:meth:`RowReader.error_of_row`).

Reference: Jelly-RDF specification, sections "Stream frames" and "Stream rows".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, ClassVar, Final

from ...errors import JellyError, OptionsError, OrderError, WireError
from .limits import Limits, over, usual_expansion
from .options import CommonOptions, read_options
from .term_reader import Checkpoint
from .wire import BYTES, read_field, read_fields, wrong_type

ROW_NUMBER: Final = 1
ROW_TAG: Final = ROW_NUMBER << 3 | BYTES

NOT_ITS_TURN: Final = (
    "no frame can be decoded after an error, nor before the one before it is taken"
)


class RowFormat:
    """The rows of a format.

    :param rows: the fields that a row may set, all of them messages. The first holds options, the
        second and third hold statements.
    :param rules: the tables of the order of rows.
    """

    def __init__(
        self, rows: Iterable[IntEnum], rules: Any, message: str, options: type[CommonOptions]
    ) -> None:
        self.options = options
        self.rules = rules
        self.message = message
        #: Rows by tag.
        self.tags: dict[int, Any] = {row << 3 | BYTES: row for row in rows}
        self.numbers = {tag >> 3: row for tag, row in self.tags.items()}
        self.wire_types = dict.fromkeys(self.numbers, BYTES)
        named = {row.name: row for row in self.tags.values()}
        self.entry_rows = named["NAME"], named["PREFIX"], named["DATATYPE"]


class RowReader(ABC):
    """Reads the rows of a stream's frames, one frame after the other.

    :param limits: the limits on untrusted input.
    :param first_frame: number of the first frame, if the stream is part of a longer one.
    """

    _format: ClassVar[RowFormat]
    _frame_class: ClassVar[Any]

    def __init__(self, limits: Limits, first_frame: int = 0) -> None:
        self._limits = limits
        self._frames = first_frame
        #: Whether the reader is at a field that is not a row, so that errors have no row.
        self._outside_rows = False
        self._state: Any = min(self._format.rules.NEXT)
        self._terms: Any = None
        #: The stream's options; None before the first row is read.
        self.options: Any = None
        #: What the frame before may have expanded to.
        self._usual = 0
        #: Whether a frame is not decoded, or its contents are not taken, or it ended in an error.
        self._unfinished = False

    @property
    def state(self) -> Any:
        """The position in the order of rows, a member of the format's states."""
        return self._state

    @property
    def next_frame(self) -> int:
        """Number of the next frame."""
        return self._frames

    def _decode_frame(self, data: bytes, frame: Any, taken: list[Any]) -> None:
        """Decode a frame into ``frame`` and its statements into ``taken``.

        :raises OrderError: the previous frame is unfinished.
        """
        if self._unfinished:
            raise OrderError(NOT_ITS_TURN, frame=self._frames)
        self._unfinished = True
        try:
            if len(data) > self._limits.frame_bytes:
                raise over(self._limits, "frame_bytes", len(data), "the length of a frame")
            self._decode_rows(data, frame, taken)
            self._usual = usual_expansion(len(data), frame.rows)
        except JellyError as error:
            in_a_row = frame.rows and not self._outside_rows
            error.locate(frame=frame.index, row=frame.rows - 1 if in_a_row else None)
            raise
        self._frames += 1
        self._unfinished = False

    def _decode_rows(self, data: bytes, frame: Any, taken: list[Any]) -> None:
        format_ = self._format
        options, first, second = (format_.numbers[number] for number in (1, 2, 3))
        if self._terms is not None:
            self._terms.begin_frame(self._usual)
        # The previous statement, if repeating it in full gives the same object.
        before: Any = None
        repeats = 0
        pos = 0
        end = len(data)
        while pos < end:
            # An error in a field with the usual tag of rows is one of a row.
            is_row = data[pos] == ROW_TAG
            frame.rows += is_row
            self._outside_rows = not is_row
            row = None
            if is_row and end - pos > 3 and data[pos + 3] + 2 == data[pos + 1] < 0x80:
                # Most rows are short and have one field, so that their two lengths agree.
                row = format_.tags.get(data[pos + 2])
                start = pos + 4
                stop = start + data[pos + 3]
            if row is not None and stop <= end:
                pos = stop
            else:
                tag, start, pos, _ = read_field(data, pos, end)
                if tag != ROW_TAG:
                    self.read_frame_field(tag, data, start, pos, frame)
                    self._outside_rows = False
                    continue
                row, start, stop = self._read_row_tag(data, start, pos)
            self._outside_rows = False
            frame.rows += not is_row
            if frame.rows > self._limits.frame_rows:
                what = "the number of rows in a frame"
                raise over(self._limits, "frame_rows", frame.rows, what)
            state = format_.rules.NEXT[self._state].get(row)
            if state is None:
                raise self._misplaced(row)
            if row is first or row is second:
                if self._terms.statement(data, start, stop) or before is None:
                    before = self._terms.make_statement()
                else:
                    repeats += 1
                    if repeats > self._limits.frame_repeats:
                        what = "repeats in a frame: their number"
                        raise over(self._limits, "frame_repeats", repeats, what)
                taken.append(self._taken(row, before))
            elif row in format_.entry_rows:
                table = self._terms.tables[format_.entry_rows.index(row)]
                self._terms.set_entry(table, data, start, stop)
            elif row is options:
                self.read_options_row(data, start, stop)
                continue
            elif self._read_row(row, data, start, stop, frame):
                before = None
            self._state = state
        self.end_frame(frame)

    def _taken(self, row: Any, statement: Any) -> Any:  # noqa: ARG002
        """Return what a row with a statement adds to the frame."""
        return statement

    @abstractmethod
    def _read_row(self, row: Any, data: bytes, pos: int, end: int, frame: Any) -> bool:
        """Read a row that is neither options, nor a statement, nor a lookup entry.

        :return: whether a subsequent statement that repeats every term is a new object.
        """

    @abstractmethod
    def end_frame(self, frame: Any) -> None:
        """Process the end of a frame."""

    def _misplaced(self, row: Any) -> JellyError:
        if self.options is None:
            return OptionsError("the stream does not start with its options")
        return OrderError(f"a row {row.name} {self._format.rules.WHERE[self._state]}")

    def read_options_row(self, data: bytes, pos: int, end: int) -> None:
        options = read_options(self._format.options, data, pos, end, self._limits)
        if self.options is None:
            options.check(self._limits)
            self._begin_stream(options)
        elif options != self.options:
            raise OptionsError("the stream options differ from those at the stream's start")

    def error_of_row(self, row: bytes, options: Any, before: Checkpoint) -> JellyError:
        """Read a row that the compiled kernel has rejected, and return the error.

        This reader must be new, and its limit on the expansion of a frame out of reach: the kernel
        counts that itself.

        :param row: the row, with the subsequent bytes if its end is not known.
        :param options: the stream's options; None if they were not read yet.
        """
        if options is not None:
            self._begin_stream(options)
            self._terms.restore(before)
        self._state = type(self._state)(before.state)
        frame = self._frame_class(0)
        try:
            self._decode_rows(row, frame, [])
        except JellyError as error:
            return error
        return WireError(
            "the row is not valid (the kernels do not agree on it: please report this)"
        )

    @abstractmethod
    def _begin_stream(self, options: Any) -> None:
        """Begin to read a stream with these options."""

    def read_frame_field(self, tag: int, data: bytes, pos: int, end: int, frame: Any) -> None:  # noqa: ARG002
        """Read a field of a frame that is not a row. No such field is common to all formats."""
        if tag >> 3 == ROW_NUMBER:
            raise wrong_type(ROW_NUMBER, f"{self._format.message}Frame")

    def _read_row_tag(self, data: bytes, pos: int, end: int) -> tuple[Any, int, int]:
        """Find the one field that a row sets; return the row and its message's start and end."""
        found = [
            (self._format.numbers[number], start, stop)
            for number, start, stop, _ in read_fields(
                data, pos, end, self._format.wire_types, f"{self._format.message}Row"
            )
        ]
        if not found:
            raise WireError("a row is empty, or of an unknown kind")
        if len(found) > 1:
            raise WireError("a row has two fields set")
        return found[0]
