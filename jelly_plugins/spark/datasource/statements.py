"""The format ``jelly``: Jelly-RDF files, with a row for each statement.

A stream has triples as long as no row has a graph, even if there is a column for graphs, because
readers of triples reject a stream of quads. At the first row with a graph, a task starts a second
stream, of quads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from ... import arrow
from ...codec import (
    ColumnEncoder,
    Columns,
    LogicalType,
    PhysicalType,
    StreamOptions,
    delimit,
)
from ...codec.common.positions import POSITIONS
from ...io.sinks import compressed
from .decoding import cut, decode
from .files import DataFile, Files
from .formats import Format, complete
from .options import FileWriting, JellyReading, JellyWriting
from .patch_rows import GRAPH
from .schema import check_written
from .splits import FileSplit
from .terms import joined

#: Literals and IRIs, which may contain any text, and the start of a blank node.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:', re.DOTALL)

#: Number of hexadecimal digits of a file's digest.
_DIGITS: Final = 16


class Statements(Format[JellyReading, JellyWriting]):
    """The format ``jelly``."""

    suffix = ".jelly"

    def split(self, file: DataFile, files: Files, target: int) -> Iterator[tuple[FileSplit, int]]:
        return cut(file, files, target)

    def read(
        self, file: BinaryIO, split: FileSplit, settings: JellyReading, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        relabel = Relabelling(split.path) if settings.blank_nodes == "file" else None
        conditions = settings.conditions
        wanted = {name.lower() for name in schema.names}
        names = [name for name in POSITIONS if name in wanted or name in conditions]
        for columns in decode(file, split, concatenated=settings.concatenated):
            fields = pa.schema([arrow.QUADS.field(name) for name in names])
            batch = arrow.record_batch(columns, fields)
            if relabel is not None:
                batch = pa.RecordBatch.from_arrays(map(relabel.column, batch.columns), names=names)
            if "frame" in wanted and settings.source_columns:
                batch = batch.append_column("frame", _frames(columns))
            for name, term in conditions.items():
                column = batch[name]
                batch = batch.filter(pc.equal(column, term) if term else pc.is_null(column))
            if batch.num_rows:
                yield complete(batch, split.path, schema)

    def check(self, schema: StructType, settings: JellyWriting) -> None:
        check_written(schema)
        ColumnEncoder(_stream_options(settings, True))

    def divide(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = False
        for batch in batches:
            if named or GRAPH not in batch.schema.names:
                yield batch
                continue
            found = pc.index(pc.is_valid(batch[GRAPH]), value=True).as_py()
            if found != 0:
                yield batch.slice(0, None if found < 0 else found).drop_columns([GRAPH])
            if found >= 0:
                named = True
                yield batch.slice(found)

    def writer(
        self,
        file: BinaryIO,
        name: str,  # noqa: ARG002
        schema: pa.Schema,
        settings: JellyWriting,
    ) -> StreamWriter:
        return StreamWriter(
            file,
            schema,
            settings,
            compression=settings.compression,
            restart_every=None if settings.compression else settings.restart_every or None,
            stream_name=settings.stream_name,
        )


class StreamWriter:
    """Writes one stream to an open file, see :class:`.BatchWriter`.

    :param schema: schema of the batches: subject, predicate, object, and graph for quads.
    """

    def __init__(
        self,
        file: BinaryIO,
        schema: pa.Schema,
        settings: FileWriting,
        *,
        compression: str | None = None,
        restart_every: int | None = None,
        stream_name: str = "",
    ) -> None:
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, compression))
        options = _stream_options(settings, GRAPH in schema.names, stream_name)
        self._encoder = ColumnEncoder(options, restart_every=restart_every)
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        names = [name for name in POSITIONS if name in batch.schema.names]
        terms = [joined(batch.column(name)) for name in names]
        columns = arrow.columns(pa.RecordBatch.from_arrays(terms, names=names))
        for frame in self._encoder.add(columns):
            self._out.write(delimit(frame))
        self.rows += batch.num_rows

    def finish(self) -> None:
        for frame in self._encoder.finish():
            self._out.write(delimit(frame))
        self._stack.close()


def _stream_options(settings: FileWriting, graphs: bool, stream_name: str = "") -> StreamOptions:
    """Return the options of a flat stream.

    :param graphs: whether it is a stream of quads.
    """
    return StreamOptions(
        physical_type=PhysicalType.QUADS if graphs else PhysicalType.TRIPLES,
        logical_type=LogicalType.FLAT_QUADS if graphs else LogicalType.FLAT_TRIPLES,
        stream_name=stream_name,
        rdf_star=settings.quoted_triples,
        **settings.tables,
    )


class Relabelling:
    """Gives the blank nodes of one file labels that no other file has.

    :param path: path of the file.

    >>> relabel = Relabelling("a.jelly")
    >>> relabel.column(pa.array(["_:b", '"_:b"', None])).to_pylist()
    ['_:f0c07f1ba14d9654bb', '"_:b"', None]
    """

    def __init__(self, path: str) -> None:
        digest = hashlib.sha256(path.encode()).hexdigest()
        self._opening: Final = f"_:f{digest[:_DIGITS]}"

    def column(self, terms: pa.Array) -> pa.Array:
        """Return a column of terms, as text of N-Triples, with new labels."""
        encoded = terms if pa.types.is_dictionary(terms.type) else terms.dictionary_encode()
        found = encoded.dictionary
        nodes = pc.starts_with(found, "_:")
        quoted = pc.starts_with(found, "<<")
        labels = pc.utf8_slice_codeunits(found, 2)
        joined_ = pc.binary_join_element_wise(self._opening, labels, "")
        changed = pc.if_else(nodes, joined_, found)
        inner = [self._quoted(text) for text in found.filter(quoted).to_pylist()]
        changed = pc.replace_with_mask(changed, quoted, pa.array(inner, changed.type))
        return changed.take(encoded.indices)

    def _quoted(self, text: str) -> str:
        return _PARTS.sub(self._part, text)

    def _part(self, found: re.Match[str]) -> Any:
        return self._opening if found[0] == "_:" else found[0]


def _frames(columns: Columns) -> pa.Array:
    """Return the frame number of each row."""
    numbers = [pa.repeat(pa.scalar(frame, pa.int64()), rows) for frame, rows in columns.frames]
    return pa.concat_arrays(numbers)
