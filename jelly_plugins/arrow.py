"""Jelly-RDF as Apache Arrow tables and back: for pyarrow, Spark, DuckDB, Polars, pandas.

A statement is a row, its terms are strings in the syntax of N-Triples, and the default graph is
null. The work is the codec's (``codec.text.columns``); here its buffers become pyarrow's, and
pyarrow's become its own, without a copy.

>>> import io
>>> table = pyarrow.table({"subject": ["_:s"], "predicate": ["<urn:p>"], "object": ['"o"@en']})
>>> file = io.BytesIO()
>>> write(table, file)
1
>>> read(file.getvalue()).read_all().equals(table.cast(TRIPLES))
True
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol, Self, TypeAlias

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
from .codec.text.ntriples import Dialect, Notation
from .errors import JellyError, MissingExtraError, StatementError
from .io.sinks import Destination, open_output
from .io.sources import Source
from .io.streams import FrameBytes

try:
    import pyarrow  # type: ignore[import-untyped,unused-ignore]
except ImportError as error:
    raise MissingExtraError("Arrow needs a library: pip install 'jelly-plugins[arrow]'") from error

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


class Rows(Protocol):
    """A ``pyarrow.Table`` or ``RecordBatch``, for type checkers: pyarrow has no types of its own,
    and here are those of what is used most."""

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


#: What is written: a table, a batch, some batches, or what gives out Arrow's C stream, as data
#: frames of other libraries do.
Batches: TypeAlias = Any


def record_batch(columns: Columns, schema: pyarrow.Schema = QUADS) -> pyarrow.RecordBatch:
    """Columns of the codec as a batch, whose arrays share their memory.

    :param schema: :data:`QUADS`, or :data:`TRIPLES` where the graphs are of no interest.
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
    """A batch as columns for the codec; strings of any of Arrow's layouts are taken.

    :param batch: with columns ``subject``, ``predicate``, ``object``, and ``graph`` where there are
        graphs; others are of no interest.
    :raises StatementError: one of them is missing, or is not of strings.
    """
    found = {name: _column(batch, name) for name in QUADS.names}
    return Columns(rows=batch.num_rows, **found)


def _column(batch: pyarrow.RecordBatch, name: str) -> Any:
    if name not in batch.schema.names:
        if name == "graph":
            return None
        raise StatementError(f"there is no column {name}")
    array = batch.column(name)
    if array.type != pyarrow.string():
        try:
            array = array.cast(pyarrow.string())
        except pyarrow.ArrowException as error:
            raise StatementError(f"column {name} is not of strings: {error}") from error
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
    notation: Notation = Notation.RDF_1_2,
    limits: Limits = DEFAULT_LIMITS,
    batch_rows: int = DEFAULT_BATCH_ROWS,
    batch_bytes: int = DEFAULT_BATCH_BYTES,
) -> BatchReader:
    """Read a Jelly-RDF stream batch by batch, in memory that does not grow with it.

    Blank node labels are kept as they are; their scope is the stream.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param notation: how quoted triples are written.
    :param limits: the limits on untrusted input.
    :param batch_rows: rows of a batch, at most.
    :param batch_bytes: bytes of text after which a batch ends before that.
    :return: a reader of batches; its schema is :data:`TRIPLES` for a stream of physical type
        TRIPLES, otherwise :data:`QUADS`.
    :raises JellyError: here or while reading, with source, frame and row.
    """
    decoder = ColumnDecoder(notation, limits=limits, batch_rows=batch_rows, batch_bytes=batch_bytes)
    found = _decode(src, decoder, limits)
    # The first comes out once the options are known.
    next(found)
    assert decoder.options is not None
    schema = TRIPLES if decoder.options.physical_type is PhysicalType.TRIPLES else QUADS
    batches = (record_batch(each, schema) for each in found if each is not None)
    reader: BatchReader = pyarrow.RecordBatchReader.from_batches(schema, batches)
    return reader


def _decode(src: Source, decoder: ColumnDecoder, limits: Limits) -> Iterator[Columns | None]:
    """The columns of a source, after a first None once the stream's options are known."""
    known = False
    with FrameBytes(src, limits=limits) as frames:
        try:
            for frame in frames:
                pieces = decoder.decode(frame)
                first = next(pieces, None)
                if not known and decoder.options is not None:
                    known = True
                    yield None
                if first is not None:
                    yield first
                yield from pieces
            yield from decoder.finish()
        except JellyError as error:
            frames.refuse(error, decoder)


def write(
    batches: Batches,
    dst: Destination,
    *,
    options: StreamOptions | None = None,
    dialect: Dialect = Dialect.RDF_STAR,
    generalized: bool = False,
    relative_iris: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    **settings: Any,
) -> int:
    """Write rows as a delimited Jelly-RDF stream.

    :param batches: table, batch, iterable of batches, or data frame with Arrow's C stream
        interface (Polars, DuckDB, pandas). Columns as of :func:`columns`.
    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param options: of the stream; by default flat, of quads where there is a column ``graph``,
        otherwise of triples.
    :param dialect: which triples may be terms.
    :param generalized: whether any kind of term may stand in any position.
    :param relative_iris: whether IRIs without a scheme are taken as they are.
    :param settings: ``frame_rows`` and ``frame_bytes``, see ``codec.Encoder``.
    :return: number of statements.
    :raises JellyError: with the row, from 0 over all batches, if one cannot be written.

    A stream has quoted triples or generalized statements only if its options say so.
    """
    encoder: ColumnEncoder | None = None
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
            for frame in encoder.add(columns(batch)):
                out.write(delimit(frame))
            written += batch.num_rows
        if encoder is None:
            encoder = ColumnEncoder(options or _options(TRIPLES), limits=limits, **settings)
        for frame in encoder.finish():
            out.write(delimit(frame))
    return written


def _batches(batches: Batches) -> Iterable[pyarrow.RecordBatch]:
    if isinstance(batches, pyarrow.RecordBatch):
        return (batches,)
    if hasattr(batches, "__arrow_c_stream__"):
        reader: Iterable[pyarrow.RecordBatch] = pyarrow.RecordBatchReader.from_stream(batches)
        return reader
    return batches  # type: ignore[no-any-return]


def _options(schema: pyarrow.Schema) -> StreamOptions:
    quads = "graph" in schema.names
    return StreamOptions.flat(PhysicalType.QUADS if quads else PhysicalType.TRIPLES)
