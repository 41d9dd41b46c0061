"""Solutions to frames of a Jelly-SPARQL stream.

A variable starts in the most specific type of column that can hold its values. When the column
cannot hold a value, a new header moves the variable to another type. The tables must hold all
lookup entries of a frame at once: a frame that needs too many is split.

Reference: sparql.proto.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...errors import JellyError, StatementError, TermError
from ..common.limits import Limits, over
from ..common.options import write_options
from ..common.row_writer import DEFAULT_FRAME_BYTES
from ..common.term_writer import NoRoomError
from ..common.terms import Describe, Kind, describe
from ..common.wire import bytes_field, string_field, varint_field
from .kernel import ColumnWriter
from .options import BLANK_NODES, IRIS, LITERALS, MIXED, RESULTS_LIMITS, ResultsOptions

#: Default number of cells of a frame: rows times variables.
DEFAULT_FRAME_CELLS: Final = 4096

#: The type of column for terms of one kind, by the kind's bit.
_TYPES: Final = {
    1 << Kind.IRI: IRIS,
    1 << Kind.BLANK_NODE: BLANK_NODES,
    1 << Kind.LITERAL: LITERALS,
}


class ResultsEncoder:
    """Writes solutions as a Jelly-SPARQL stream. Use it from one thread at a time.

    :param variables: their names, in order.
    :param options: of the stream.
    :param describe: describes the caller's terms, see ``codec.Describe``.
    :param frame_cells: cells (rows times variables) after which a frame ends.
    :param frame_bytes: bytes of terms after which a frame ends.
    :param limits: limits on the output; by default a reader's default limits.
    :raises JellyError: the variables or options cannot be written.

    After an error the encoder cannot write further frames.

    >>> from jelly_plugins.codec import GenericFactory, Iri
    >>> encoder = ResultsEncoder(["s"])
    >>> frames = encoder.add([(Iri("urn:a"),), (None,)]) + encoder.finish()
    >>> from .decoder import ResultsDecoder
    >>> [ResultsDecoder(GenericFactory()).decode(frame).solutions() for frame in frames]
    [[(Iri(value='urn:a'),), (None,)]]
    """

    def __init__(
        self,
        variables: Sequence[str],
        *,
        options: ResultsOptions | None = None,
        describe: Describe = describe,
        frame_cells: int = DEFAULT_FRAME_CELLS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        limits: Limits = RESULTS_LIMITS,
    ) -> None:
        if frame_cells < 1 or frame_bytes < 1:
            raise ValueError("frame_cells and frame_bytes must be at least 1")
        options = options or ResultsOptions()
        options.check(limits)
        if len(variables) > limits.variables:
            raise over(limits, "variables", len(variables), "the number of variables")
        if len(set(variables)) < len(variables):
            raise TermError("two variables have the same name")
        self._writer = ColumnWriter(options, describe, limits)
        for name in variables:
            if not self._writer.text(name, "a variable's name"):
                raise TermError("a variable has no name")
        self._variables = tuple(variables)
        self._limits = limits
        self._frame_bytes = min(frame_bytes, limits.frame_bytes // 2)
        rows = max(1, frame_cells // max(1, len(variables)))
        self._frame_rows = max(1, min(rows, limits.frame_rows))
        self._options: bytes | None = bytes_field(1, write_options(options))
        #: The type of each variable's column; None for a variable without a value so far.
        self._types: list[int | None] = [None] * len(variables)
        self._header: bytes | None = None
        self._rows: list[Sequence[Any]] = []
        self._count = 0

    def add(self, solutions: Iterable[Sequence[Any]]) -> list[bytes]:
        """Write solutions: a term for each variable, or None if it is unbound.

        :return: the completed frames, without delimiters.
        :raises JellyError: a term cannot be written.
        """
        rows = self._rows
        rows += solutions
        frames: list[bytes] = []
        if len(rows) >= self._frame_rows:
            whole = len(rows) - len(rows) % self._frame_rows
            self._rows = rows[whole:]
            for start in range(0, whole, self._frame_rows):
                frames += self._frames(rows[start : start + self._frame_rows])
        return frames

    def finish(self) -> list[bytes]:
        """End the stream; return the remaining frames, or an empty one if there was none before."""
        rows, self._rows = self._rows, []
        return self._frames(rows) if rows or self._options is not None else []

    def _frames(self, rows: list[Sequence[Any]]) -> list[bytes]:
        try:
            columns = self._columns(rows)
            return self._written(columns, len(rows))
        except JellyError as error:
            error.locate(frame=self._count)
            raise

    def _columns(self, rows: list[Sequence[Any]]) -> list[Sequence[Any]]:
        width = len(self._variables)
        try:
            sizes = set(map(len, rows))
        except TypeError as error:
            raise TermError(f"not a solution: {error}") from None
        for size in sizes - {width}:
            raise StatementError(f"a solution has {size} terms for {width} variables")
        return list(zip(*rows, strict=True)) if rows else [()] * width

    def _written(self, cells: list[Sequence[Any]], rows: int) -> list[bytes]:
        """Return the frames of some rows, whose cells are given by column; a frame that would be
        too large is split in half.
        """
        writer = self._writer
        columns = [writer.column(each) for each in cells]
        if sum(size for _, size, _ in columns) <= self._frame_bytes or rows < 2:
            writer.begin()
            types, order = self._settle([kinds for _, _, kinds in columns])
            ordered = [(types[place] or IRIS, columns[place][0]) for place in order]
            try:
                return [self._frame(types, order, rows, writer.columns(ordered))]
            except NoRoomError as error:
                if rows < 2:
                    table = error.table
                    raise TermError(
                        f"the solution needs more {table.name} entries than the table has "
                        f"({table.size}): raise max_{table.name}_table_size"
                    ) from None
        half = rows // 2
        return self._written([each[:half] for each in cells], half) + self._written(
            [each[half:] for each in cells], rows - half
        )

    def _settle(self, columns: list[int]) -> tuple[list[int | None], list[int]]:
        """Return the types of the columns that hold values of these kinds, and the column of each
        variable.
        """
        types = list(self._types)
        for place, kinds in enumerate(columns):
            if kinds:
                needed = _TYPES.get(kinds, MIXED)
                types[place] = needed if types[place] in (None, needed) else MIXED
        order = sorted(range(len(types)), key=lambda place: types[place] or IRIS)
        return types, order

    def _frame(self, types: list[int | None], order: list[int], rows: int, body: bytes) -> bytes:
        parts = []
        if self._options is not None:
            parts.append(self._options)
        indices = {place: index for index, place in enumerate(order)}
        header = b"".join(
            bytes_field(2, string_field(1, name) + varint_field(2, indices[place]))
            for place, name in enumerate(self._variables)
        )
        # The numbers of columns can change with the types even if the indices do not.
        if self._header is None or [each or IRIS for each in types] != [
            each or IRIS for each in self._types
        ]:
            parts.append(header)
        parts += (varint_field(3, rows), self._writer.take_entries(), body)
        frame = b"".join(parts)
        if len(frame) > self._limits.frame_bytes:
            raise over(self._limits, "frame_bytes", len(frame), "the length of a frame")
        self._options = None
        self._header = header
        self._types = types
        self._count += 1
        return frame


def encode_boolean(value: bool, *, options: ResultsOptions | None = None) -> bytes:
    """Write the only frame of the result of an ASK query.

    >>> encode_boolean(True).hex()[-8:]
    '5a020801'
    """
    options = options or ResultsOptions()
    options.check(RESULTS_LIMITS)
    return bytes_field(1, write_options(options)) + bytes_field(11, varint_field(1, int(value)))


__all__ = ["DEFAULT_FRAME_CELLS", "ResultsEncoder", "encode_boolean"]
