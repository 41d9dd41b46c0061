"""Frames of a Jelly-SPARQL stream to columns of terms.

Bytes in, terms of the caller's factory out. No I/O.

The first frame of a stream has the options and either the header (the variables, each with its
column) or the result of an ASK query. Subsequent frames have as many columns of each type as the
last header. A later header may only move variables to other columns.

Reference: sparql.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ...errors import JellyError, OptionsError, OrderError, StatementError
from ..common.limits import Limits, over
from ..common.options import read_options
from ..common.terms import TermFactory
from ..common.wire import BYTES, VARINT, read_fields, read_metadata_entry, read_string, uint32
from ..text.transcoding import TextFactory
from .kernel import ColumnReader, TextColumnReader, frame_fields
from .options import COLUMNS, LOOKUPS, RESULTS_LIMITS, ResultsOptions

_OPTIONS: Final = 1
_VARIABLES: Final = 2
_ROW_COUNT: Final = 3
_ASK: Final = 11
_METADATA: Final = 15

_FRAME: Final = dict.fromkeys((*range(1, 12), _METADATA), BYTES) | {_ROW_COUNT: VARINT}
_ONCE: Final = frozenset((_OPTIONS, _ROW_COUNT, _ASK))
_VARIABLE_FIELDS: Final = {1: BYTES, 2: VARINT}
_ASK_FIELDS: Final = {1: VARINT}

#: Start and end of a field's payload, and its value if it is a number.
_Field = tuple[int, int, int]


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
        self._columns: ColumnReader | None = None
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
        fields = frame_fields(data, _FRAME, _ONCE, self._limits)
        reader = self._begin(data, fields)
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
        reader.begin_frame()
        for number in LOOKUPS:
            for start, stop, _ in fields.get(number, ()):
                reader.set_entries(number, data, start, stop)
        if self.variables is not None:
            self._read_columns(reader, data, fields, frame)
        for start, stop, _ in fields.get(_METADATA, ()):
            read_metadata_entry(data, start, stop, frame.metadata)
        return frame

    def _begin(self, data: bytes, fields: dict[int, list[_Field]]) -> ColumnReader:
        """Read the options, which only the first frame has."""
        if self._columns is not None:
            if _OPTIONS in fields:
                raise OrderError("only the first frame may have options")
            return self._columns
        if _OPTIONS not in fields:
            raise OptionsError("the first frame has no options")
        start, stop, _ = fields[_OPTIONS][0]
        options = read_options(ResultsOptions, data, start, stop, self._limits)
        options.check(self._limits)
        self.options = options
        self._columns = self._new_reader(options)
        return self._columns

    def _new_reader(self, options: ResultsOptions) -> ColumnReader:
        return ColumnReader(self._factory, options, self._limits)

    def _read_ask(self, data: bytes, place: _Field) -> None:
        if self._frames:
            raise OrderError("only the first frame may have the result of an ASK query")
        start, stop, _ = place
        self.boolean = False
        for _, _, _, value in read_fields(data, start, stop, _ASK_FIELDS, "SparqlAskResult"):
            self.boolean = value != 0

    def _read_header(self, data: bytes, places: list[_Field]) -> None:
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
                    name = self._name(data, begin, end)
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

    def _name(self, data: bytes, pos: int, end: int) -> str:
        if end - pos > self._limits.string_bytes:
            what = "the length of a variable's name"
            raise over(self._limits, "string_bytes", end - pos, what)
        return read_string(data, pos, end, "a variable's name")

    def _read_columns(
        self,
        reader: ColumnReader,
        data: bytes,
        fields: dict[int, list[_Field]],
        frame: ResultsFrame,
    ) -> None:
        assert self.variables is not None
        layout = tuple(len(fields.get(number, ())) for number in COLUMNS)
        if sum(layout) == frame.rows == 0:
            # The frame has only lookup entries or metadata.
            frame.columns = [reader.column(COLUMNS[0], b"", 0, 0, 0) for _ in self.variables]
            return
        if sum(layout) != len(self.variables):
            raise StatementError(
                f"the frame has {sum(layout)} columns for {len(self.variables)} variables"
            )
        if self._layout is None:
            self._layout = layout
        elif layout != self._layout:
            raise StatementError("the frame has other columns than the header announced")
        cells = frame.rows * len(self.variables)
        if cells > self._limits.frame_cells:
            raise over(self._limits, "frame_cells", cells, "the number of cells of a frame")
        places = [(number, place) for number in COLUMNS for place in fields.get(number, ())]
        columns = []
        for index, (number, (start, stop, _)) in enumerate(places):
            try:
                columns.append(reader.column(number, data, start, stop, frame.rows))
            except JellyError as error:
                name = self.variables[self._indices.index(index)]
                error.message = f"column {index} (?{name}): {error.message}"
                raise
        frame.columns = [columns[index] for index in self._indices]
        frame.types = tuple(places[index][0] for index in self._indices)


class ResultsColumnDecoder(ResultsDecoder):
    """Reads frames like :class:`ResultsDecoder`, with a :class:`~jelly_plugins.codec.Column` of
    terms in N-Triples syntax for each variable; unbound cells are null.

    :param limits: the limits on untrusted input; ``frame_expansion`` bounds the bytes of text in
        all columns of a frame.

    >>> from jelly_plugins.codec import Iri
    >>> from .encoder import ResultsEncoder
    >>> encoder = ResultsEncoder(["s"])
    >>> [data] = encoder.add([(Iri("urn:a"),), (None,)]) + encoder.finish()
    >>> ResultsColumnDecoder().decode(data).columns[0].values()
    ['<urn:a>', None]
    """

    def __init__(self, *, limits: Limits = RESULTS_LIMITS) -> None:
        factory: Any = TextFactory(limits=limits)
        super().__init__(factory, limits=limits)

    def _new_reader(self, options: ResultsOptions) -> ColumnReader:
        return TextColumnReader(self._factory, options, self._limits)
