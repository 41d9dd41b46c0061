"""Jelly-RDF files, a row for each statement."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from ... import arrow
from ...codec import Columns
from ...codec.common.positions import POSITIONS
from .batches import complete
from .conditions import Conditions
from .decoding import complete_frames, decode
from .files import DataFile
from .formats import Format
from .parts import Piece, cut
from .relabelling import Relabelling
from .settings import BlankNodes, ReadSettings


def read_statements(
    file: BinaryIO, piece: Piece, settings: ReadSettings, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The batches of a piece of a file: of the rows that meet the conditions, and of no columns but
    those that the schema has."""
    relabel = Relabelling(piece.path) if settings.blank_nodes is BlankNodes.FILE else None
    conditions = settings.conditions
    names = [name for name in POSITIONS if name in schema.names or name in conditions]
    for columns in decode(file, piece):
        batch = arrow.record_batch(columns, pa.schema([arrow.QUADS.field(name) for name in names]))
        found = dict(zip(names, batch.columns, strict=True))
        rows = columns.rows
        if relabel is not None:
            found = {name: relabel.column(column) for name, column in found.items()}
        if "frame" in schema.names and settings.source_columns:
            found["frame"] = _frames(columns)
        if conditions:
            met = _meeting(found, conditions)
            found = {name: column.filter(met) for name, column in found.items()}
            rows = pc.sum(met).as_py()
        if rows:
            yield complete(found, rows, piece, schema)


def _meeting(found: Mapping[str, Any], conditions: Conditions) -> pa.Array:
    """For each row, whether it meets the conditions.

    :param found: columns by name; those that have conditions have to be there.
    """
    masks = []
    for name, texts in conditions.items():
        column = found[name]
        mask = pc.is_in(column, value_set=pa.array(sorted(texts), column.type))
        masks.append(pc.or_(mask, pc.is_null(column)) if "" in texts else mask)
    met = masks[0]
    for mask in masks[1:]:
        met = pc.and_(met, mask)
    return met


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
