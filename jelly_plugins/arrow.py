"""Jelly-RDF as Apache Arrow tables and back, and query results as tables: for pyarrow, Spark,
DuckDB, Polars, pandas.

A statement is a row, its terms are strings in the syntax of N-Triples, and the default graph is
null. ``codec.text.columns`` does the work; this module shares its buffers with pyarrow without
copying.

>>> import io
>>> table = pyarrow.table({"subject": ["_:s"], "predicate": ["<urn:p>"], "object": ['"o"@en']})
>>> file = io.BytesIO()
>>> write(table, file)
1
>>> read(file.getvalue()).read_all().equals(table.cast(TRIPLES))
True
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from typing import Any, Final, NamedTuple, Protocol, Self, TypeAlias

from .codec import (
    DEFAULT_BATCH_BYTES,
    DEFAULT_BATCH_ROWS,
    DEFAULT_LIMITS,
    Column,
    ColumnDecoder,
    ColumnEncoder,
    Columns,
    Limits,
    PhysicalType,
    StreamOptions,
    delimit,
)
from .codec.common.options import member
from .codec.sparql.decoder import ResultsColumnDecoder, ResultsFrame
from .codec.sparql.options import RESULTS_LIMITS
from .codec.text.columns import column_of
from .codec.text.ntriples import Dialect, Notation
from .codec.text.transcoding import Text, TextFactory, whole
from .errors import MissingExtraError, StatementError
from .io.sinks import Destination, check_jelly_name, open_output
from .io.sources import Source
from .io.streams import FrameBytes, Progress, Steps, StreamReader
from .sparql import ResultsFormat, ResultsReader

try:
    import pyarrow  # type: ignore[import-untyped,unused-ignore]
    import pyarrow.compute
except ImportError as error:
    raise MissingExtraError.of("Arrow needs a library", "arrow") from error

__all__ = [
    "QUADS",
    "TRIPLES",
    "BatchReader",
    "Batches",
    "Rows",
    "columns",
    "read",
    "read_results",
    "record_batch",
    "write",
]

#: Statements without graphs.
TRIPLES: Final = pyarrow.schema(
    [
        pyarrow.field("subject", pyarrow.string(), nullable=False),
        pyarrow.field("predicate", pyarrow.string(), nullable=False),
        pyarrow.field("object", pyarrow.string(), nullable=False),
    ]
)
#: Statements with graphs; null is the default graph.
QUADS: Final = TRIPLES.append(pyarrow.field("graph", pyarrow.string()))

#: Types whose values are text, or null.
_TEXT_TYPES: Final = frozenset(
    ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null")
)
#: Number of rows whose strings are copied at a time, if they must be copied.
_COPIED_ROWS: Final = 1 << 10


class Rows(Protocol):
    """A ``pyarrow.Table`` or ``RecordBatch``, for type checkers: the most common members, because
    pyarrow has no type annotations.
    """

    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    def to_pylist(self) -> list[dict[str, str | None]]: ...
    def to_pydict(self) -> dict[str, list[str | None]]: ...
    def __getitem__(self, key: str | int, /) -> Any: ...
    def __getattr__(self, name: str, /) -> Any: ...


class BatchReader(Protocol):
    """A ``pyarrow.RecordBatchReader``, for type checkers; see :class:`Rows`."""

    def __iter__(self) -> Iterator[Rows]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def __arrow_c_stream__(self, requested_schema: object = None, /) -> object: ...
    def read_all(self) -> Rows: ...
    def read_next_batch(self) -> Rows: ...
    def close(self) -> None: ...
    def __getattr__(self, name: str, /) -> Any: ...


#: Rows to write: a table, a batch, an iterable of batches, or an object with Arrow's C stream
#: interface, such as the data frames of other libraries.
Batches: TypeAlias = Any


def record_batch(columns: Columns, schema: pyarrow.Schema = QUADS) -> pyarrow.RecordBatch:
    """Convert columns of the codec to a batch, whose arrays share their memory.

    :param schema: :data:`QUADS`, or :data:`TRIPLES` to omit the graphs.
    """
    arrays = [_array(getattr(columns, name), columns.rows) for name in schema.names]
    return pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _array(column: Column | None, rows: int) -> pyarrow.Array:
    if column is None:
        return pyarrow.nulls(rows, pyarrow.string())
    offsets = pyarrow.py_buffer(column.offsets)
    data = pyarrow.py_buffer(column.data)
    validity = None if column.validity is None else pyarrow.py_buffer(column.validity)
    return pyarrow.StringArray.from_buffers(rows, offsets, data, validity, -1, column.offset)


def columns(batch: pyarrow.RecordBatch) -> Columns:
    """Convert a batch, with strings in any layout of Arrow, to columns for the codec.

    :param batch: with columns ``subject``, ``predicate``, ``object``, and optionally ``graph``;
        other columns are ignored.
    :raises StatementError: a column is missing, occurs twice, or does not contain strings.
    """
    return _columns(_named(batch), 0, batch.num_rows)


def _parts(batch: pyarrow.RecordBatch) -> Iterator[Columns]:
    """Convert a batch to columns for the codec, in parts if strings must be copied: together they
    may be much longer than their source, and than 32-bit offsets can address."""
    arrays = _named(batch)
    step = batch.num_rows or 1
    if any(array.type != pyarrow.string() for array in arrays.values()):
        step = _COPIED_ROWS
    for start in range(0, batch.num_rows, step):
        yield _columns(arrays, start, min(step, batch.num_rows - start))


def _named(batch: pyarrow.RecordBatch) -> dict[str, pyarrow.Array]:
    """Find the columns of a statement by name; their strings may have any layout."""
    found: dict[str, pyarrow.Array] = {}
    for name in QUADS.names:
        indices = batch.schema.get_all_field_indices(name)
        if len(indices) > 1:
            raise StatementError(f"{len(indices)} columns are named {name}: rename all but one")
        if indices:
            found[name] = _text(batch.column(indices[0]), name)
        elif name in TRIPLES.names:
            raise StatementError(f"column {name} is missing")
    return found


def _text(array: pyarrow.Array, name: str) -> pyarrow.Array:
    """Convert a column to Arrow's strings or binaries, or to a dictionary of strings."""
    if pyarrow.types.is_dictionary(array.type):
        values = _strings(_text(array.dictionary, name), name)
        return pyarrow.DictionaryArray.from_arrays(array.indices, values, safe=False)
    if str(array.type) not in _TEXT_TYPES:
        raise StatementError(
            f"column {name} has type {array.type}, not string: write terms in N-Triples syntax"
        )
    return array


def _strings(array: pyarrow.Array, name: str) -> pyarrow.Array:
    """Convert a column to strings with 32-bit offsets."""
    if pyarrow.types.is_dictionary(array.type):
        return _converted(array.dictionary.take, name, array.indices)
    if array.type == pyarrow.string():
        return array
    return _converted(array.cast, name, pyarrow.string())


def _converted(convert: Callable[[Any], Any], name: str, given: object) -> pyarrow.Array:
    try:
        return convert(given)
    except pyarrow.ArrowException as error:
        raise StatementError(f"column {name} cannot be read as strings: {error}") from error


def _columns(arrays: dict[str, pyarrow.Array], start: int, rows: int) -> Columns:
    found = {name: _column(array.slice(start, rows), name) for name, array in arrays.items()}
    return Columns(
        rows=rows,
        subject=found["subject"],
        predicate=found["predicate"],
        object=found["object"],
        graph=found.get("graph"),
    )


def _column(array: pyarrow.Array, name: str) -> Column:
    array = _strings(array, name)
    validity, offsets, data = array.buffers()
    return Column(
        rows=len(array),
        offsets=b"" if offsets is None else offsets,
        data=b"" if data is None else data,
        validity=validity if array.null_count else None,
        offset=array.offset,
    )


def read(
    src: Source,
    *,
    notation: Notation | str = Notation.RDF_1_2,
    limits: Limits = DEFAULT_LIMITS,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
    concatenated: bool = False,
) -> BatchReader:
    """Read a Jelly-RDF stream batch by batch, in bounded memory.

    Blank node labels are kept; their scope is the stream.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param notation: how quoted triples are written: a ``Notation``, or ``"RDF_STAR"`` or
        ``"RDF_1_2"``.
    :param limits: the limits on untrusted input.
    :param batch_rows: maximum number of rows of a batch.
    :param batch_bytes: number of bytes of text after which a batch ends earlier.
    :param concatenated: whether options at the start of a frame start a new stream, as in files
        made with ``cat``. Without it, the terms of a second stream are wrong.
    :return: a reader of batches; its schema is :data:`TRIPLES` for a stream of physical type
        TRIPLES that is not concatenated, otherwise :data:`QUADS`.
    :raises JellyError: here or while reading, with source, frame and row.
    """
    notation = member(Notation, notation, "notation")
    decoder = ColumnDecoder(notation, limits=limits, batch_rows=batch_rows, batch_bytes=batch_bytes)
    frames = FrameBytes(src, limits=limits)
    options = frames.peek_options()

    def make(first_frame: int) -> ColumnDecoder:
        if not first_frame:
            return decoder
        sizes: Any = {"batch_rows": batch_rows, "batch_bytes": batch_bytes}
        return ColumnDecoder(notation, limits=limits, first_frame=first_frame, **sizes)

    found: StreamReader[Columns] = StreamReader(frames, make, concatenated=concatenated)
    first: list[Columns] = []
    if options is None:
        # The first frame does not begin with valid options.
        first = list(islice(found, 1))
        options = decoder.options
        assert options is not None
    triples = options.physical_type is PhysicalType.TRIPLES and not concatenated
    schema = TRIPLES if triples else QUADS
    batches = (record_batch(each, schema) for each in chain(first, found))
    reader: BatchReader = pyarrow.RecordBatchReader.from_batches(schema, batches)
    return reader


_INTEGER: Final = "[+-]?[0-9]+"
_DECIMAL: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE: Final = rf"{_DECIMAL}(?:[Ee][+-]?[0-9]+)?|[+-]?INF|NaN"
_DAY: Final = r"-?[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_ZONE: Final = "(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))?"
_TIME: Final = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"


#: Datatypes of XML Schema whose cells can be converted to values: a regular expression for their
#: lexical forms, and the Arrow types to try.
_VALUE_TYPES: Final[dict[str, tuple[str, tuple[pyarrow.DataType, ...]]]] = {
    "integer": (_INTEGER, (pyarrow.int64(),)),
    "long": (_INTEGER, (pyarrow.int64(),)),
    "int": (_INTEGER, (pyarrow.int32(),)),
    "short": (_INTEGER, (pyarrow.int16(),)),
    "byte": (_INTEGER, (pyarrow.int8(),)),
    "nonNegativeInteger": (_INTEGER, (pyarrow.uint64(),)),
    "positiveInteger": ("[+]?0*[1-9][0-9]*", (pyarrow.uint64(),)),
    "unsignedInt": (_INTEGER, (pyarrow.uint32(),)),
    # Of an integer with more digits than fit, Arrow makes another number without an error.
    "decimal": (
        r"[+-]?0*(?:[0-9]{1,20}(?:\.[0-9]*)?|\.[0-9]+)",
        (pyarrow.decimal128(38, 18),),
    ),
    "double": (_DOUBLE, (pyarrow.float64(),)),
    "float": (_DOUBLE, (pyarrow.float64(),)),
    "boolean": ("true|false|1|0", (pyarrow.bool_(),)),
    "dateTime": (
        f"{_DAY}T{_TIME}{_ZONE}",
        (pyarrow.timestamp("us", "UTC"), pyarrow.timestamp("us")),
    ),
    "date": (f"{_DAY}{_ZONE}", (pyarrow.date32(),)),
}
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


def read_results(
    src: Source,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    values: bool = False,
    limits: Limits = RESULTS_LIMITS,
) -> BatchReader:
    """Read the results of a SELECT query: a column for each variable, null where it is unbound.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: a :class:`~jelly_plugins.sparql.ResultsFormat` or a name of one; by default
        the source's name or content decides.
    :param values: whether a column becomes one of numbers, booleans, dates or timestamps if all of
        its cells in the first frame with rows are literals of one such datatype, with lexical forms
        that XML Schema allows, and Arrow's type holds them. Other columns, and without it all, hold
        terms in N-Triples syntax. Frames without rows before that one give no batch.
    :param limits: the limits on untrusted input.
    :return: a reader of batches, one for each frame of Jelly-SPARQL.
    :raises JellyError: here or while reading, with the source and the frame.
    :raises StatementError: likewise; a cell is not a value of its column's type, or the source has
        the result of an ASK query.
    """
    results = _ColumnResults(src, format=format, limits=limits)
    if results.boolean is not None:
        results.close()
        raise StatementError("the result of an ASK query has no columns", source=results.name)
    frames = results.frames()
    kinds: list[_Kind | None] = [None] * len(results.variables)
    if values:
        # Frames without rows do not define the types of the columns.
        for frame in frames:
            if frame.rows:
                kinds = [_kind(_array(column, frame.rows)) for column in frame.columns]
                frames = chain([frame], frames)
                break
    schema = pyarrow.schema(
        [
            pyarrow.field(name, pyarrow.string() if kind is None else kind.type)
            for name, kind in zip(results.variables, kinds, strict=True)
        ]
    )
    batches = _result_batches(results, frames, kinds, schema)
    reader: BatchReader = pyarrow.RecordBatchReader.from_batches(schema, batches)
    return reader


class _ColumnResults(ResultsReader):
    """Query results of any format as columns of text."""

    def __init__(
        self,
        src: Source,
        *,
        format: ResultsFormat | str | None,  # noqa: A002
        limits: Limits,
    ) -> None:
        factory: Any = TextFactory(limits=limits)
        super().__init__(src, format=format, factory=factory, limits=limits)

    def _decoder(self) -> ResultsColumnDecoder:
        return ResultsColumnDecoder(limits=self._limits)

    def _column(self, cells: Sequence[Text | None]) -> Column:
        return column_of([None if cell is None else whole(cell).encode() for cell in cells])


def _result_batches(
    results: ResultsReader,
    frames: Iterable[ResultsFrame],
    kinds: list[_Kind | None],
    schema: pyarrow.Schema,
) -> Iterator[pyarrow.RecordBatch]:
    with results:
        for frame in frames:
            if not kinds:
                # A batch without columns still has a number of rows.
                empty = pyarrow.nulls(frame.rows, pyarrow.struct([]))
                yield pyarrow.RecordBatch.from_struct_array(empty)
                continue
            arrays = []
            for at, (column, kind) in enumerate(zip(frame.columns, kinds, strict=True)):
                array = _array(column, frame.rows)
                try:
                    arrays.append(array if kind is None else _values(array, kind))
                except (pyarrow.ArrowException, StatementError) as error:
                    field = schema.field(at)
                    raise StatementError(
                        f"a cell of ?{field.name} is not of type {field.type} like the previous "
                        f"ones: read with values=False ({error})",
                        source=results.name,
                        frame=frame.index,
                    ) from error
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


class _Kind(NamedTuple):
    """Literals of one datatype: the end of their text, their forms, and their Arrow type."""

    mark: str
    forms: str
    type: pyarrow.DataType


def _kind(array: pyarrow.Array) -> _Kind | None:
    """Return the kind of all cells; None if they differ, or no Arrow type can hold them."""
    cells = array.drop_null()
    first: str = cells[0].as_py() if len(cells) else ""
    mark = first[first.rfind('"') :]
    name = mark.removeprefix(f'"^^<{_XSD}').removesuffix(">")
    forms, types = _VALUE_TYPES.get(name, ("", ()))
    for type_ in types:
        kind = _Kind(mark, forms, type_)
        with suppress(pyarrow.ArrowException, StatementError):
            _values(cells, kind)
            return kind
    return None


def _values(array: pyarrow.Array, kind: _Kind) -> pyarrow.Array:
    """Convert literals of one kind to values."""
    compute = pyarrow.compute
    forms = f'^"(?:{kind.forms}){re.escape(kind.mark)}$'
    others = array.filter(compute.invert(compute.match_substring_regex(array, forms)))
    if len(others):
        raise StatementError(others[0].as_py()[:80])
    lexes = compute.utf8_slice_codeunits(array, 1, -len(kind.mark))
    # Arrow does not read a plus sign.
    return compute.replace_substring_regex(lexes, "^[+]", "").cast(kind.type)


def write(
    batches: Batches,
    dst: Destination,
    *,
    options: StreamOptions | None = None,
    dialect: Dialect | str = Dialect.RDF_STAR,
    generalized: bool = False,
    relative_iris: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    **settings: Any,
) -> int:
    """Write rows as a delimited Jelly-RDF stream.

    :param batches: a table, batch or data frame (Polars, DuckDB, pandas: anything with one of
        Arrow's PyCapsule interfaces), or an iterable of those, with columns as for
        :func:`columns`.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param options: the stream's options; by default those of a flat stream, of quads if there is a
        column ``graph``, otherwise of triples.
    :param dialect: which triples may be terms: a ``Dialect`` or its name, such as ``"RDF 1.2"``.
    :param generalized: whether any kind of term may occur in any position.
    :param relative_iris: whether IRIs without a scheme are accepted.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param settings: ``frame_rows`` and ``frame_bytes``, see ``codec.Encoder``.
    :return: number of statements.
    :raises JellyError: a row cannot be written; with its number, from 0, counting all batches.
    :raises ValueError: the dialect is unknown.
    :raises TypeError: ``batches`` is not a table, for example a lazy data frame.

    A stream has quoted triples or generalized statements only if its options declare them.
    """
    check_jelly_name(dst)
    dialect = member(Dialect, dialect, "dialect")
    encoder: ColumnEncoder | None = None
    steps = Steps(progress)
    written = 0
    with open_output(dst) as out:
        for batch in _batches(batches):
            if encoder is None:
                encoder = ColumnEncoder(
                    options or _options(batch.schema),
                    dialect=dialect,
                    generalized=generalized,
                    relative_iris=relative_iris,
                    limits=limits,
                    **settings,
                )
            for part in _parts(batch):
                for frame in encoder.add(part):
                    out.write(delimit(frame))
                written += part.rows
                steps.reach(written)
        if encoder is None:
            encoder = ColumnEncoder(options or _options(TRIPLES), limits=limits, **settings)
        for frame in encoder.finish():
            out.write(delimit(frame))
        steps.end(written)
    return written


def _batches(batches: Batches) -> Iterable[pyarrow.RecordBatch]:
    if hasattr(batches, "__arrow_c_stream__") or hasattr(batches, "__arrow_c_array__"):
        return _imported(batches)
    if not isinstance(batches, Iterable) or hasattr(batches, "collect"):
        # A lazy data frame of Polars has __getitem__, which raises another error.
        return _imported(batches)
    return chain.from_iterable(map(_imported, batches))


def _imported(batches: Any) -> Iterable[pyarrow.RecordBatch]:
    """Convert an object with one of Arrow's C interfaces to batches."""
    if isinstance(batches, pyarrow.RecordBatch):
        return (batches,)
    if hasattr(batches, "__arrow_c_stream__"):
        reader = pyarrow.RecordBatchReader.from_stream(batches)
        # A table without rows may have no batch, but it has columns.
        none = [pyarrow.nulls(0, field.type) for field in reader.schema]
        return chain([pyarrow.RecordBatch.from_arrays(none, reader.schema.names)], reader)
    if hasattr(batches, "__arrow_c_array__"):
        return (pyarrow.record_batch(batches),)
    if hasattr(batches, "collect"):
        raise TypeError(f"{type(batches).__name__} is not computed yet: pass its collect()")
    raise TypeError(
        f"{type(batches).__name__} has none of Arrow's C interfaces: pass tables, record batches "
        "or data frames"
    )


def _options(schema: pyarrow.Schema) -> StreamOptions:
    quads = "graph" in schema.names
    return StreamOptions.flat(PhysicalType.QUADS if quads else PhysicalType.TRIPLES)
