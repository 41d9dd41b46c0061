"""Encode Arrow record batches of statements as one Jelly stream. Needs no Spark session."""

from __future__ import annotations

from contextlib import ExitStack
from typing import BinaryIO

import pyarrow as pa

from ... import arrow
from ...codec import ColumnEncoder, LogicalType, PhysicalType, StreamOptions, delimit
from ...codec.common.positions import POSITIONS
from ...io.sinks import compressed
from .schema import GRAPH
from .settings import WriteSettings
from .terms import join_terms


def stream_options(settings: WriteSettings, graphs: bool) -> StreamOptions:
    """Return the options of a flat stream.

    :param graphs: whether it is a stream of quads.
    """
    return StreamOptions(
        physical_type=PhysicalType.QUADS if graphs else PhysicalType.TRIPLES,
        logical_type=LogicalType.FLAT_QUADS if graphs else LogicalType.FLAT_TRIPLES,
        stream_name=settings.stream_name,
        rdf_star=settings.quoted_triples,
        **settings.tables,
    )


class StreamWriter:
    """Writes one stream to an open file.

    :param file: stays open.
    :param schema: schema of the batches: subject, predicate, object, and graph for quads.
    :ivar rows: number of statements written.
    """

    def __init__(self, file: BinaryIO, schema: pa.Schema, settings: WriteSettings) -> None:
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings.compression))
        options = stream_options(settings, GRAPH in schema.names)
        self._encoder = ColumnEncoder(options, restart_every=settings.restart_every)
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch.

        :raises JellyError: a row is not a valid statement; has the row, counted from the stream's
            first.
        """
        for frame in self._encoder.add(arrow.columns(_joined(batch))):
            self._out.write(delimit(frame))
        self.rows += batch.num_rows

    def finish(self) -> None:
        """End the stream."""
        for frame in self._encoder.finish():
            self._out.write(delimit(frame))
        self._stack.close()


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with the names of columns in lower case, and VOID columns as text."""
    columns = [
        column.cast(pa.string()) if pa.types.is_null(column.type) else column
        for column in batch.columns
    ]
    names = [name.lower() for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=names)


def _joined(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with terms as text."""
    names = [name for name in POSITIONS if name in batch.schema.names]
    columns = [joined(batch.column(name)) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=names)


def joined(column: pa.Array) -> pa.Array:
    """Return a column of terms as text."""
    return join_terms(column) if pa.types.is_struct(column.type) else column
