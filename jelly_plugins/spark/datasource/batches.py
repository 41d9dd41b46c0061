"""What a task reads, as Arrow record batches: what the formats have in common.

Runs in Spark's Python workers, but knows nothing of Spark but the schema of its batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from ...errors import JellyError
from .files import Files, folder_columns
from .parts import Piece
from .settings import ReadSettings
from .terms import split_terms

#: Gives the batches of a piece of a file, which is open at its start.
ReadPiece: TypeAlias = Callable[
    [BinaryIO, Piece, ReadSettings, pa.Schema], Iterator[pa.RecordBatch]
]
#: Opens a file to be read.
Opened: TypeAlias = Callable[[str], AbstractContextManager[BinaryIO]]


def read_part(
    pieces: Iterable[Piece],
    settings: ReadSettings,
    schema: pa.Schema,
    read: ReadPiece,
    opened: Opened | None = None,
) -> Iterator[pa.RecordBatch]:
    """The batches of what one task reads; of a file that is corrupt, those before that come out.

    :param schema: says which columns there are.
    :param read: of the format.
    :param opened: opens a file by its path; by default in the file system.
    :raises JellyError: a file cannot be opened; or it is corrupt, in mode FAILFAST.
    """
    opened = opened or Files(settings.storage).open
    for piece in pieces:
        with opened(piece.path) as file:
            try:
                yield from read(file, piece, settings, schema)
            except JellyError as error:
                error.locate(source=piece.path)
                if settings.bad_records is not None:
                    _record(error, piece, settings)
                elif settings.corrupt_column is not None:
                    yield _row(error, settings.corrupt_column, schema)
                else:
                    raise


def complete(
    found: Mapping[str, pa.Array], rows: int, piece: Piece, schema: pa.Schema
) -> pa.RecordBatch:
    """The batch that ``schema`` says, of the columns that were read.

    :param found: columns by name; terms are text.
    """
    columns = []
    folders = folder_columns(piece.path)
    for field in schema:
        if field.name in found:
            column = found[field.name]
            if pa.types.is_struct(field.type):
                column = split_terms(column.cast(pa.string()), field.type)
            columns.append(column if column.type == field.type else column.cast(field.type))
        elif field.name == "source":
            columns.append(pa.repeat(pa.scalar(piece.path, pa.string()), rows))
        elif (said := folders.get(field.name)) is not None:
            columns.append(pa.repeat(pa.scalar(said, pa.string()), rows))
        else:
            columns.append(pa.nulls(rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _row(error: JellyError, column: str, schema: pa.Schema) -> pa.RecordBatch:
    """The row that stands for what could not be read."""
    known = {"source": error.source, "frame": error.frame, column: str(error)}
    values = [pa.array([known.get(field.name)], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(values, schema=schema)


def _record(error: JellyError, piece: Piece, settings: ReadSettings) -> None:
    """Write the record of what could not be read: a JSON object in a file of its own.

    A task that runs again writes the same file again.
    """
    name = hashlib.sha256(f"{piece.path}\n{piece.start}\n{piece.first}".encode()).hexdigest()[:32]
    record = {
        "source": piece.path,
        "frame": error.frame,
        "row": error.row,
        "error": type(error).__name__,
        "message": str(error),
    }
    system, folder = Files(settings.storage).system(str(settings.bad_records))
    folder = folder.rstrip("/")
    system.makedirs(folder, exist_ok=True)
    with system.open(f"{folder}/{name}.json", "wb") as file:
        file.write(json.dumps(record).encode() + b"\n")
