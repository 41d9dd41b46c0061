"""The format ``jelly``: Jelly-RDF files, with a row for each statement.

A stream has triples as long as no row has a graph, even if there is a column for graphs, because
readers of triples reject a stream of quads. At the first row with a graph, a task starts a second
stream, of quads.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from ...arrow import QUADS, columns, record_batch
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
from .formats import FileSplit, Format, complete
from .options import Settings
from .schema import GRAPH, check_written
from .terms import joined

#: Literals and IRIs, which may contain any text, and the start of a blank node.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:', re.DOTALL)
#: Number of hexadecimal digits of a file's digest.
_DIGITS: Final = 16


class Statements(Format):
    """The format ``jelly``."""

    name = "jelly"
    suffix = ".jelly"

    def split(self, file: DataFile, files: Files, target: int) -> Iterator[tuple[FileSplit, int]]:
        return cut(file, files, target)

    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        relabel = relabelling(split.path) if settings["blankNodes"] == "file" else None
        conditions = settings.conditions
        wanted = {name.lower() for name in schema.names}
        names = [name for name in POSITIONS if name in wanted or name in conditions]
        fields = pa.schema([QUADS.field(name) for name in names])
        for found in decode(file, split, concatenated=settings["concatenated"]):
            batch = record_batch(found, fields)
            arrays = batch.columns if relabel is None else map(relabel, batch.columns)
            by_name = dict(zip(names, arrays, strict=True))
            if "frame" in wanted and settings["sourceColumns"]:
                by_name["frame"] = _frames(found)
            # Without columns, the rows are counted.
            batch = pa.RecordBatch.from_pydict(by_name or {"": pa.nulls(found.rows)})
            for name, term in conditions.items():
                column = batch[name]
                batch = batch.filter(pc.equal(column, term) if term else pc.is_null(column))
            if batch.num_rows:
                yield complete(batch, split.path, schema)

    def check(self, schema: StructType, settings: Settings) -> None:
        check_written(schema)
        ColumnEncoder(_stream_options(settings, True))

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
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
        settings: Settings,
    ) -> StreamWriter:
        return StreamWriter(file, schema, settings)


class StreamWriter:
    """Writes one stream to an open file, see :meth:`.Format.writer`.

    :param schema: schema of the batches: subject, predicate, object, and graph for quads.
    """

    def __init__(self, file: BinaryIO, schema: pa.Schema, settings: Settings) -> None:
        self._stack = ExitStack()
        compression = settings.get("compression")
        self._out = self._stack.enter_context(compressed(file, compression))
        self._encoder = ColumnEncoder(
            _stream_options(settings, GRAPH in schema.names),
            restart_every=None if compression else settings.get("restartEvery") or None,
        )
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        names = [name for name in POSITIONS if name in batch.schema.names]
        terms = [joined(batch.column(name)) for name in names]
        for frame in self._encoder.add(columns(pa.RecordBatch.from_arrays(terms, names=names))):
            self._out.write(delimit(frame))
        self.rows += batch.num_rows

    def finish(self) -> None:
        for frame in self._encoder.finish():
            self._out.write(delimit(frame))
        self._stack.close()


def _stream_options(settings: Settings, graphs: bool) -> StreamOptions:
    """Return the options of a flat stream.

    :param graphs: whether it is a stream of quads.
    """
    return StreamOptions(
        physical_type=PhysicalType.QUADS if graphs else PhysicalType.TRIPLES,
        logical_type=LogicalType.FLAT_QUADS if graphs else LogicalType.FLAT_TRIPLES,
        stream_name=settings.get("streamName", ""),
        **settings.stream_options,
    )


def relabelling(path: str) -> Callable[[pa.Array], pa.Array]:
    """Return a function that gives the blank nodes in a column labels that no other file has.

    :param path: path of the file.

    >>> relabel = relabelling("a.jelly")
    >>> relabel(pa.array(["_:b", '"_:b"', None])).to_pylist()
    ['_:f0c07f1ba14d9654bb', '"_:b"', None]
    """
    opening = f"_:f{hashlib.sha256(path.encode()).hexdigest()[:_DIGITS]}"

    def quoted(text: str) -> str:
        return _PARTS.sub(lambda found: opening if found[0] == "_:" else found[0], text)

    def relabel(terms: pa.Array) -> pa.Array:
        encoded = terms if pa.types.is_dictionary(terms.type) else terms.dictionary_encode()
        found = encoded.dictionary
        labels = pc.binary_join_element_wise(opening, pc.utf8_slice_codeunits(found, 2), "")
        changed = pc.if_else(pc.starts_with(found, "_:"), labels, found)
        triples = pc.starts_with(found, "<<")
        inner = [quoted(text) for text in found.filter(triples).to_pylist()]
        changed = pc.replace_with_mask(changed, triples, pa.array(inner, changed.type))
        return changed.take(encoded.indices)

    return relabel


def _frames(found: Columns) -> pa.Array:
    """Return the frame number of each row."""
    numbers = [pa.repeat(pa.scalar(frame, pa.int64()), rows) for frame, rows in found.frames]
    return pa.concat_arrays(numbers)
