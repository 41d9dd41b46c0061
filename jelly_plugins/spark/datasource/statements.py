"""Jelly-RDF files, a row for each statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

import pyarrow as pa

from ... import arrow
from ...codec import Columns
from .batches import complete
from .decoding import complete_frames, decode
from .files import DataFile
from .formats import Format
from .parts import Piece, cut
from .relabelling import Relabelling
from .settings import BlankNodes, ReadSettings


def read_statements(
    file: BinaryIO, piece: Piece, settings: ReadSettings, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The batches of a piece of a file."""
    relabel = Relabelling(piece.path) if settings.blank_nodes is BlankNodes.FILE else None
    for columns in decode(file, piece):
        batch = arrow.record_batch(columns)
        found = dict(zip(batch.schema.names, batch.columns, strict=True))
        if relabel is not None:
            found = {name: relabel.column(column) for name, column in found.items()}
        if settings.source_columns:
            found["frame"] = _frames(columns)
        yield complete(found, columns.rows, piece, schema)


def _frames(columns: Columns) -> pa.Array:
    """The number of each row's frame."""
    numbers = [pa.repeat(pa.scalar(frame, pa.int64()), rows) for frame, rows in columns.frames]
    return pa.concat_arrays(numbers)


def _boundary(file: BinaryIO, about: DataFile, before: int) -> int:
    # What is shorter than it was has no place to go on from.
    return complete_frames(file, about.path, before) if about.size >= before else about.size


def _none(schema: pa.Schema) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
    return iter(())


STATEMENTS: Final = Format(cut, read_statements, _boundary, _none)
