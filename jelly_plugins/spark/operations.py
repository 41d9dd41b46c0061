"""Jelly-Patch and RDF Patch files, a row for each operation."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO, Final

import pyarrow as pa

from ..errors import JellyError
from .batches import complete
from .decoding import section
from .files import DataFile, Files
from .formats import Format
from .parts import Piece
from .patch_row import PatchRow
from .patch_rows import boundary, read_rows
from .settings import ReadSettings

#: Rows of a batch.
_BATCH: Final = 1 << 14


def read_operations(
    file: BinaryIO, piece: Piece, settings: ReadSettings, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """The batches of a piece of a file."""
    source = section(file, piece.path)
    rows = read_rows(source, about=settings.about, first=piece.first, stop=piece.stop)
    for batch in _in_batches(rows):
        columns = map(pa.array, zip(*batch, strict=True))
        found = dict(zip(PatchRow._fields, columns, strict=True))
        yield complete(found, len(batch), piece, schema)


def _in_batches(rows: Iterator[PatchRow]) -> Iterator[list[PatchRow]]:
    """Rows, some thousand at a time; those before an error come out."""
    error = None
    while error is None:
        batch: list[PatchRow] = []
        try:
            for row in islice(rows, _BATCH):
                batch.append(row)
        except JellyError as found:
            error = found
        if not batch:
            break
        yield batch
    if error is not None:
        raise error


def _whole(file: DataFile, files: Files, target: int) -> list[tuple[Piece, int]]:  # noqa: ARG001
    return [(Piece(file.path), file.size)]


def _boundary(file: BinaryIO, about: DataFile, before: int) -> int:  # noqa: ARG001
    # Rows are counted from the start: what stands there is referred to.
    return boundary(section(file, about.path))


OPERATIONS: Final = Format(_whole, read_operations, _boundary)
