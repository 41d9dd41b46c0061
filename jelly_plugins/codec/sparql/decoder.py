"""Frames of a Jelly-SPARQL stream to columns of terms.

Bytes in, terms of the caller's factory out. No I/O.

The first frame of a stream has the options and either the header (the variables, each with its
column) or the result of an ASK query. Subsequent frames have as many columns of each type as the
last header. A later header may only move variables to other columns.

Reference: sparql.proto.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from ...errors import JellyError, OptionsError, OrderError, StatementError, WireError
from ..common.limits import Limits, over
from ..common.options import read_options
from ..common.terms import TermFactory
from ..common.wire import BYTES, VARINT, read_fields, read_metadata_entry, uint32
from .kernel import read_column
from .layouts import BLANK_NODES, COLUMNS, IRIS, LITERALS, MIXED, expand, too_many
from .options import RESULTS_LIMITS, ResultsOptions
from .term_reader import Field, ResultsTermReader, gather, read_numbers

_OPTIONS: Final = 1
_VARIABLES: Final = 2
_ROW_COUNT: Final = 3
_NAMES: Final = 4
_PREFIXES: Final = 5
_DATATYPES: Final = 6
_ASK: Final = 11
_METADATA: Final = 15

_FRAME: Final = dict.fromkeys((*range(1, 12), _METADATA), BYTES) | {_ROW_COUNT: VARINT}
_REPEATED: Final = frozenset((_VARIABLES, _NAMES, _PREFIXES, _DATATYPES, *COLUMNS, _METADATA))
_NUMBERS: Final = {
    IRIS: frozenset({1, 2, 3}),
    BLANK_NODES: frozenset({2}),
    LITERALS: frozenset({2}),
    MIXED: frozenset({2}),
}
#: Fields of each type of column, and those that may occur more than once.
_COLUMN: Final[dict[int, tuple[dict[int, int], frozenset[int], str]]] = {
    IRIS: (dict.fromkeys((1, 2, 3), BYTES), frozenset({1, 2, 3}), "SparqlIriColumn"),
    BLANK_NODES: (dict.fromkeys((1, 2), BYTES), frozenset({1, 2}), "SparqlBnodeColumn"),
    LITERALS: (
        {1: BYTES, 2: BYTES, 3: BYTES, 4: VARINT},
        frozenset({1, 2, 3}),
        "SparqlLiteralColumn",
    ),
    MIXED: (dict.fromkeys((1, 2), BYTES), frozenset({1, 2}), "SparqlPolyColumn"),
}
_VARIABLE_FIELDS: Final = {1: BYTES, 2: VARINT}
_ASK_FIELDS: Final = {1: VARINT}


@dataclass(slots=True)
class ResultsFrame:
    """The contents of one frame.

    :ivar rows: number of solutions.
    :ivar columns: the cells of each variable, in the order of the variables; unbound cells are
        None. Empty for the result of an ASK query.
    :ivar types: the type of each variable's column, as the number of its field in a frame.
    :ivar metadata: the frame's metadata, by key.
    :ivar size: number of bytes, without a delimiter.
    """

    index: int
    rows: int = 0
    columns: list[Any] = field(default_factory=list)
    types: tuple[int, ...] = ()
    metadata: dict[str, bytes] = field(default_factory=dict)
    size: int = 0

    def solutions(self) -> list[tuple[Any, ...]]:
        """Solutions of the frame: a term for each variable, or None if it is unbound."""
        return list(zip(*self.columns, strict=True)) if self.columns else [()] * self.rows


class ResultsDecoder:
    """Reads the frames of one stream, in order. Use it from one thread at a time.

    :param factory: makes terms.
    :param limits: the limits on untrusted input.
    :ivar options: the stream's options; None before the first frame.
    :ivar variables: names of the variables; None before the first frame, and for the result of an
        ASK query.
    :ivar boolean: the result of an ASK query; None if the stream has solutions.

    After an error the decoder's state is undefined: the stream ends there.
    """

    def __init__(self, factory: TermFactory[Any], *, limits: Limits = RESULTS_LIMITS) -> None:
        self.options: ResultsOptions | None = None
        self.variables: tuple[str, ...] | None = None
        self.boolean: bool | None = None
        self._factory = factory
        self._limits = limits
        self._frames = 0
        #: The column of each variable according to the last header.
        self._indices: tuple[int, ...] = ()
        #: Number of columns of each type; None until a frame after the last header has columns.
        self._layout: tuple[int, ...] | None = None

    @property
    def next_frame(self) -> int:
        """Number of the next frame."""
        return self._frames

    def decode(self, data: bytes) -> ResultsFrame:
        """Decode the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with the frame; its message names the variable of the column.
        """
        try:
            frame = self._decode(data)
        except JellyError as error:
            error.locate(frame=self._frames)
            raise
        self._frames += 1
        return frame

    def finish(self) -> None:
        """Mark the end of the stream.

        :raises OptionsError: the stream is empty.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")

    def _decode(self, data: bytes) -> ResultsFrame:
        most = self._limits.frame_rows
        fields = gather(data, 0, len(data), _FRAME, _REPEATED, "SparqlResultsFrame", most)
        self._begin(data, fields)
        frame = ResultsFrame(self._frames, size=len(data))
        if _ROW_COUNT in fields:
            frame.rows = uint32(fields[_ROW_COUNT][0][2], "row_count")
        if frame.rows > self._limits.frame_rows:
            raise over(self._limits, "frame_rows", frame.rows, "the number of rows")
        if _ASK in fields:
            self._read_ask(data, fields[_ASK][0])
        elif self._frames == 0 or _VARIABLES in fields:
            self._read_header(data, fields.get(_VARIABLES, []))
        if self.boolean is not None and (
            frame.rows or any(number in fields for number in (_VARIABLES, *COLUMNS))
        ):
            raise OrderError("the result of an ASK query has variables, columns or rows")
        terms = self._terms
        terms.begin_frame()
        for number, enter in self._lookups:
            if number in fields:
                terms.set_packed(enter, data, fields[number])
        if self.variables is not None:
            self._read_columns(data, fields, frame)
        for entry in fields.get(_METADATA, ()):
            self._read_metadata(data, entry, frame)
        return frame

    def _begin(self, data: bytes, fields: dict[int, list[Field]]) -> None:
        """Read the options, which only the first frame has."""
        if self._frames:
            if _OPTIONS in fields:
                raise OrderError("only the first frame may have options")
            return
        if _OPTIONS not in fields:
            raise OptionsError("the first frame has no options")
        start, stop, _ = fields[_OPTIONS][0]
        options = read_options(ResultsOptions, data, start, stop, self._limits)
        options.check(self._limits)
        self.options = options
        self._terms = terms = ResultsTermReader(self._factory, options, self._limits, 3)
        self._lookups: tuple[tuple[int, Callable[[int, str], None]], ...] = (
            (_NAMES, terms.enter_name),
            (_PREFIXES, terms.enter_prefix),
            (_DATATYPES, terms.enter_datatype),
        )

    def _read_ask(self, data: bytes, place: Field) -> None:
        if self._frames:
            raise OrderError("only the first frame may have the result of an ASK query")
        start, stop, _ = place
        self.boolean = False
        for _, _, _, value in read_fields(data, start, stop, _ASK_FIELDS, "SparqlAskResult"):
            self.boolean = value != 0

    def _read_header(self, data: bytes, places: list[Field]) -> None:
        """Read the variables and the column of each."""
        if len(places) > self._limits.variables:
            what = "the number of variables"
            raise over(self._limits, "variables", len(places), what)
        names = []
        indices = []
        for start, stop, _ in places:
            name = ""
            index = 0
            for number, begin, end, value in read_fields(
                data, start, stop, _VARIABLE_FIELDS, "SparqlVariable"
            ):
                if number == 1:
                    name = self._terms.string(data, begin, end, "a variable's name")
                else:
                    index = value
            if not name:
                raise StatementError("a variable has no name")
            if index >= len(places):
                raise StatementError(
                    f"variable {name} has column {index}, but there are {len(places)} variables"
                )
            names.append(name)
            indices.append(index)
        if len(set(names)) < len(names):
            raise StatementError("two variables have the same name")
        if len(set(indices)) < len(indices):
            raise StatementError("two variables have the same column")
        if self.variables is None and self._frames == 0:
            self.variables = tuple(names)
        elif tuple(names) != self.variables and self.boolean is None:
            raise OrderError("a header in mid-stream has other variables than the first one")
        self._indices = tuple(indices)
        self._layout = None

    def _read_columns(
        self, data: bytes, fields: dict[int, list[Field]], frame: ResultsFrame
    ) -> None:
        assert self.variables is not None
        layout = tuple(len(fields.get(number, ())) for number in COLUMNS)
        if sum(layout) == frame.rows == 0:
            # The frame has only lookup entries or metadata.
            frame.columns = [self._no_cells() for _ in self.variables]
            return
        if sum(layout) != len(self.variables):
            raise StatementError(
                f"the frame has {sum(layout)} columns for {len(self.variables)} variables"
            )
        if self._layout is None:
            self._layout = layout
        elif layout != self._layout:
            raise StatementError("the frame has other columns than the header announced")
        self._terms.check_copies(frame.rows * len(self.variables))
        places = [(number, place) for number in COLUMNS for place in fields.get(number, ())]
        names = dict(zip(self._indices, self.variables, strict=True))
        columns = []
        for index, (number, (start, stop, _)) in enumerate(places):
            try:
                columns.append(self._read_column(number, data, start, stop, frame.rows))
            except JellyError as error:
                error.message = f"column {index} (?{names[index]}): {error.message}"
                raise
        frame.columns = [columns[index] for index in self._indices]
        frame.types = tuple(places[index][0] for index in self._indices)

    def _no_cells(self) -> Any:
        """The column of a variable in a frame without rows."""
        return []

    def _read_column(self, number: int, data: bytes, pos: int, end: int, rows: int) -> Any:
        cells = read_column(self._terms, number, data, pos, end, rows)
        if cells is not None:
            return cells
        known, repeated, message = _COLUMN[number]
        # A layout has at most two numbers for a cell, and there are at most two other fields.
        most = 3 * rows + 2
        fields = gather(data, pos, end, known, repeated, message, most, _NUMBERS[number])
        if len(fields.get(1, ())) > rows or len(fields.get(3, ())) > max(rows, 1):
            raise too_many(rows)
        terms = self._terms
        if number == IRIS:
            values = terms.iris(
                read_numbers(data, fields.get(1, []), "a name's id", rows),
                read_numbers(data, fields.get(3, []), "a prefix's id", max(rows, 1)),
            )
        elif number == BLANK_NODES:
            values = [terms.blank_node(data, start, stop) for start, stop, _ in fields.get(1, ())]
        elif number == MIXED:
            terms.begin_column()
            values = [terms.term(data, start, stop) for start, stop, _ in fields.get(1, ())]
        elif 3 in fields:
            if 1 in fields:
                raise WireError("a literal column has both values and lex_values")
            datatype = uint32(fields[4][0][2], "a datatype's id") if 4 in fields else 0
            values = terms.same_literals(data, fields[3], datatype)
        else:
            if 4 in fields and fields[4][0][2]:
                raise WireError("a literal column has a datatype, but no lex_values")
            values = [terms.literal(data, start, stop) for start, stop, _ in fields.get(1, ())]
        return expand(values, read_numbers(data, fields.get(2, []), "a layout", 2 * rows), rows)

    def _read_metadata(self, data: bytes, place: Field, frame: ResultsFrame) -> None:
        start, stop, _ = place
        key, value = read_metadata_entry(data, start, stop)
        frame.metadata[key] = value
