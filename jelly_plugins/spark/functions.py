"""Functions on columns of binary values, such as Kafka's, each a Jelly stream or a patch log.

Modelled on ``pyspark.sql.avro.functions``. The functions run in Arrow, batch by batch: the codec's
column decoder or encoder processes each value, and the values of a batch share their arrays.
"""

from __future__ import annotations

import io
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import Column, SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, DataType, StructField, StructType

from ..arrow import QUADS, record_batch
from ..codec import Encoder, FrameSplitter, StreamOptions
from ..codec.common.positions import POSITIONS
from ..errors import JellyError, LimitError, OptionsError, StatementError
from ..io.chunks import ChunkFile
from ..io.sources import Input
from ..patch.columns import PatchColumnReader
from .datasource.columns import (
    GRAPH,
    KIND,
    arrow_schema,
    check_written,
    complete,
    operation_fields,
    plain,
    statement_fields,
)
from .datasource.operations import encode_log
from .datasource.options import READING, WRITING, Settings
from .datasource.statements import StreamWriter, decode_frames
from .patch_rows import ROWS, OperationRows

if TYPE_CHECKING:
    from pyspark.sql._typing import ColumnOrName

__all__ = ["from_jelly", "from_jelly_patch", "register_functions", "to_jelly", "to_jelly_patch"]

#: Maximum rows, and bytes, of a batch of results.
MAX_ROWS: Final = 1 << 16
BYTES: Final = 16 << 20
#: Maximum bytes of a decompressed, and of a decoded value: a few bytes can repeat a long term many
#: times.
VALUE_BYTES: Final = 256 << 20


def from_jelly(
    data: ColumnOrName,
    stream_options: StreamOptions | None = None,
    options: Mapping[str, str] | None = None,
    *,
    source: ColumnOrName | None = None,
) -> Column:
    """Convert a binary column of Jelly-RDF into arrays of statements.

    Each value is a stream; compressed values are decompressed. Null becomes null, and an empty
    value an empty array. The elements are structures with the columns of the data source
    ``jelly``.

    :param data: the binary column.
    :param stream_options: each value is a single frame without a delimiter, of a stream with these
        options; needed if the frames do not contain them.
    :param options: ``mode``: with ``FAILFAST``, the default, the query fails at a corrupt value;
        with ``PERMISSIVE``, a corrupt value becomes null. ``terms`` and ``concatenated``: as in the
        data source.
    :param source: a column that names the value in errors, such as its topic, partition and offset.
    :raises OptionsError: an option or its value is invalid.
    """
    opening = b""
    if stream_options is not None:
        # The frame of an empty stream contains its options, and nothing else.
        opening = b"".join(Encoder(stream_options).finish())
    return _call(FromJelly(options or {}, opening), data, source)


def to_jelly(
    data: ColumnOrName,
    options: Mapping[str, str] | None = None,
    *,
    source: ColumnOrName | None = None,
) -> Column:
    """Convert a column of arrays of statements into binary values, each a Jelly-RDF stream.

    Null becomes null, and an empty array a stream without statements. A stream has triples if no
    statement has a graph, otherwise quads.

    :param data: the column; its elements are structures with the columns of the data source
        ``jelly``.
    :param options: ``mode``: with ``FAILFAST``, the default, the query fails at a value that cannot
        be written; with ``PERMISSIVE``, it becomes null. ``quotedTriples``, ``maxNameTableSize``,
        ``maxPrefixTableSize`` and ``maxDatatypeTableSize``: as in the data source.
    :param source: a column that names the value in errors.
    :raises OptionsError: an option or its value is invalid.
    """
    return _call(ToJelly(options or {}), data, source)


def from_jelly_patch(
    data: ColumnOrName,
    options: Mapping[str, str] | None = None,
    *,
    source: ColumnOrName | None = None,
) -> Column:
    """Convert a binary column of Jelly-Patch or RDF Patch text into arrays of operations.

    The elements are structures with the columns of the data source ``jelly-patch``, without
    ``source``; numbers count within the value. Null becomes null, and an empty value an empty
    array.

    :param data: the binary column; each value is a log of one or more patches, compressed or not.
    :param options: as in :func:`from_jelly`, and ``headers``, as in the data source.
    :param source: a column that names the value in errors.
    :raises OptionsError: an option or its value is invalid.
    """
    return _call(FromJellyPatch(options or {}), data, source)


def to_jelly_patch(
    data: ColumnOrName,
    options: Mapping[str, str] | None = None,
    *,
    source: ColumnOrName | None = None,
) -> Column:
    """Convert a column of arrays of operations into binary values, each a Jelly-Patch log.

    :param data: the column; its elements are structures with the fields ``kind``, ``subject``,
        ``predicate`` and ``object``, and optionally the other fields that :func:`from_jelly_patch`
        returns. Without ``TX``, ``TC`` and ``TA``, the operations of each patch become one
        transaction.
    :param options: as in :func:`to_jelly`.
    :param source: a column that names the value in errors.
    :raises OptionsError: an option or its value is invalid.
    """
    return _call(ToJellyPatch(options or {}), data, source)


def register_functions(spark: SparkSession) -> None:
    for kind in (FromJelly, ToJelly, FromJellyPatch, ToJellyPatch):
        spark.udf.register(kind.name, _udf(kind({})))


def _call(function: _Function, data: ColumnOrName, source: ColumnOrName | None) -> Column:
    called: Column = _udf(function)(*(each for each in (data, source) if each is not None))
    return called


def _udf(function: _Function) -> Any:
    # Spark infers the kind of the function from its annotations.
    def call(batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        return function(batches)

    call.__name__ = function.name
    return arrow_udf(call, function.type)


class _Function:
    """The function that tasks call: converts batches of arguments to batches of results, which may
    have other sizes.

    :ivar type: type of the result.
    """

    name: ClassVar[str]
    type: DataType

    def __init__(self, options: Mapping[str, str]) -> None:
        self._settings = Settings.of((*READING, *WRITING), self.name, options)

    @abstractmethod
    def _results(self, values: Any, sources: Any) -> Iterator[Any]:
        """Convert a batch; ``sources`` has the names of the values in errors, if there are any."""

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for arguments in batches:
            values, *others = arguments if isinstance(arguments, tuple) else (arguments,)
            if len(others) > 1 or any(pa.types.is_nested(each.type) for each in others):
                raise OptionsError(f"{self.name} takes a value, and a name for it in errors")
            yield from self._results(values, others[0] if others else None)

    def _failed(self, error: JellyError, row: int, sources: Any) -> None:
        """Raise the error of a value in mode FAILFAST."""
        given = None if sources is None else sources[row].as_py()
        context = TaskContext.get()
        task = "" if context is None else f" in partition {context.partitionId()}"
        error.source = f"a value{task}" if given is None else str(given)
        if not self._settings.is_permissive:
            raise error


class _Reading(_Function):
    """Converts binary values to arrays of structures."""

    #: The columns of what is decoded; terms are text.
    _decoded: ClassVar[pa.Schema]
    _fields: ClassVar[Callable[[Settings], list[StructField]]]

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(options)
        self._schema = StructType(type(self)._fields(self._settings))
        self.type = ArrayType(self._schema)

    @abstractmethod
    def _decode(self, chunks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        """Decode a value, which is not empty, into batches of the schema :attr:`_decoded`."""

    def _results(self, values: Any, sources: Any) -> Iterator[Any]:
        if str(values.type) not in ("binary", "large_binary", "binary_view", "null"):
            raise OptionsError(f"{self.name} takes binary values (got {values.type})")
        # Of the values that are not returned yet: whether each is null, the rows at which they
        # start, and their batches.
        nulls: list[bool] = []
        offsets = [0]
        batches: list[pa.RecordBatch] = []
        size = 0
        for row, value in enumerate(values):
            data = value.as_py()
            found: list[pa.RecordBatch] | None = None
            try:
                if data is not None:
                    found = self._value(data)
            except JellyError as error:
                self._failed(error, row, sources)
            nulls.append(found is None)
            batches += found or ()
            offsets.append(offsets[-1] + sum(batch.num_rows for batch in found or ()))
            size += sum(batch.get_total_buffer_size() for batch in found or ())
            if max(offsets[-1], len(nulls)) >= MAX_ROWS or size >= BYTES:
                yield self._array(nulls, offsets, batches)
                nulls, offsets, batches, size = [], [0], [], 0
        yield self._array(nulls, offsets, batches)

    def _value(self, data: bytes) -> list[pa.RecordBatch]:
        """Return all batches of a value."""
        found: list[pa.RecordBatch] = []
        size = 0
        chunks = _chunks(data)
        if first := next(chunks, b""):
            for batch in self._decode(chain((first,), chunks)):
                found.append(batch)
                size += batch.get_total_buffer_size()
                if size > VALUE_BYTES:
                    raise LimitError(
                        f"the statements of a value must not exceed {VALUE_BYTES} bytes"
                    )
        return found

    def _array(self, nulls: list[bool], offsets: list[int], batches: list[pa.RecordBatch]) -> Any:
        empty = pa.RecordBatch.from_pylist([], schema=self._decoded)
        found = pa.concat_batches(batches or [empty])
        elements = complete(found, "", arrow_schema(self._schema))
        return pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()),
            elements.to_struct_array(),
            type=to_arrow_type(self.type, timezone="UTC"),
            mask=pa.array(nulls, pa.bool_()),
        )


def _chunks(value: bytes) -> Iterator[bytes]:
    """Return the chunks of a value, decompressed; the compression is detected as in files."""
    size = 0
    with Input(value) as source:
        for chunk in source.chunks():
            size += len(chunk)
            if size > VALUE_BYTES:
                raise LimitError(f"a decompressed value must not exceed {VALUE_BYTES} bytes")
            yield chunk


class FromJelly(_Reading):
    name = "from_jelly"
    _decoded = QUADS
    _fields = statement_fields

    def __init__(self, options: Mapping[str, str], opening: bytes = b"") -> None:
        super().__init__(options)
        self._opening = opening
        if opening and self._settings["concatenated"]:
            raise OptionsError(
                "option concatenated excludes stream_options, with which a value is a single frame"
            )

    def _decode(self, chunks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        concatenated = self._settings["concatenated"]
        splitter = FrameSplitter()
        frames = [b"".join(chunks)] if self._opening else _frames(chunks, splitter)
        found = decode_frames(frames, splitter, opening=self._opening, concatenated=concatenated)
        return map(record_batch, found)


def _frames(chunks: Iterator[bytes], splitter: FrameSplitter) -> Iterator[bytes]:
    for chunk in chunks:
        yield from splitter.feed(chunk)
    yield from splitter.finish()


class FromJellyPatch(_Reading):
    name = "from_jelly_patch"
    _decoded = ROWS
    _fields = operation_fields

    def _decode(self, chunks: Iterator[bytes]) -> Iterator[pa.RecordBatch]:
        with PatchColumnReader(ChunkFile(chunks)) as batches:
            yield from OperationRows(self._settings["headers"]).batches(batches)


class _Writing(_Function):
    """Converts arrays of structures to binary values."""

    #: Required fields besides the terms, and optional ones.
    _besides: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = ((), ())
    type = BinaryType()

    @abstractmethod
    def _encode(self, rows: Any) -> bytes:
        """Encode a batch of rows as one value."""

    def _results(self, values: Any, sources: Any) -> Iterator[Any]:
        if pa.types.is_null(values.type):
            yield pa.nulls(len(values), pa.binary())
            return
        rows = self._rows(values)
        nulls = values.values.is_null() if values.values.null_count else None
        found: list[bytes | None] = []
        size = 0
        for row, (start, stop) in enumerate(pairwise(values.offsets.to_pylist())):
            data = None
            if values[row].is_valid:
                try:
                    if nulls is not None and pc.any(nulls[start:stop]).as_py():
                        raise StatementError("an element of the array is null")
                    data = self._encode(rows.slice(start, stop - start))
                except JellyError as error:
                    self._failed(error, row, sources)
            found.append(data)
            size += len(data or b"")
            if size >= BYTES:
                yield pa.array(found, pa.binary())
                found, size = [], 0
        yield pa.array(found, pa.binary())

    def _rows(self, values: Any) -> pa.RecordBatch:
        """Return the elements of all arrays."""
        required, optional = self._besides
        if pa.types.is_list(values.type) and pa.types.is_null(values.type.value_type):
            # Spark's type of array().
            struct = pa.struct([(name, pa.string()) for name in (*required, *POSITIONS)])
            values = values.cast(pa.list_(struct))
        if not pa.types.is_list(values.type) or not pa.types.is_struct(values.type.value_type):
            raise OptionsError(f"{self.name} takes arrays of structures (got {values.type})")
        fields = from_arrow_schema(pa.schema(list(values.type.value_type)))
        check_written(fields, required, optional)
        return plain(pa.RecordBatch.from_struct_array(values.values))


class ToJelly(_Writing):
    name = "to_jelly"

    def _encode(self, rows: Any) -> bytes:
        if GRAPH in rows.schema.names and rows[GRAPH].null_count == rows.num_rows:
            rows = rows.drop_columns([GRAPH])
        out = io.BytesIO()
        writer = StreamWriter(out, "", rows.schema, self._settings)
        writer.add(rows)
        writer.finish()
        return out.getvalue()


class ToJellyPatch(_Writing):
    name = "to_jelly_patch"
    _besides = (KIND,), tuple({*ROWS.names} - {KIND, *POSITIONS})

    def _encode(self, rows: Any) -> bytes:
        return encode_log(rows, self._settings)
