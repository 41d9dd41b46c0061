"""What one task reads, as Arrow record batches; common to all formats.

Runs in Spark's Python workers. Uses nothing of Spark except the schema of its batches.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

import pyarrow as pa

from ...errors import JellyError
from .files import DataFile, Files, folder_columns
from .settings import ReadSettings
from .splits import FileSplit
from .terms import split_terms

#: Reads the batches of a split of a file. The file is open at its start.
ReadSplit: TypeAlias = Callable[
    [BinaryIO, FileSplit, ReadSettings, pa.Schema], Iterator[pa.RecordBatch]
]
#: Opens a file by its path.
OpenFile: TypeAlias = Callable[[str], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True)
class Format:
    """A format of files, for readers.

    :ivar cut: divides a file into splits of about the given number of bytes, with their sizes.
    :ivar read: reads the batches of a split.
    :ivar read_none: returns the batches of a stream's batch without files, given their schema.
    """

    cut: Callable[[DataFile, Files, int], Iterable[tuple[FileSplit, int]]]
    read: ReadSplit
    read_none: Callable[[pa.Schema], Iterator[pa.RecordBatch]]


def read_partition(
    splits: Iterable[FileSplit],
    settings: ReadSettings,
    schema: pa.Schema,
    read: ReadSplit,
    open_file: OpenFile | None = None,
) -> Iterator[pa.RecordBatch]:
    """Read the batches of one task.

    The batches of a corrupt file before the error are returned first.

    :param schema: the requested columns.
    :param read: reads a split of the format.
    :param open_file: opens a file by its path; by default in the file system.
    :raises JellyError: a file cannot be opened; or it is corrupt, in mode FAILFAST.
    """
    open_file = open_file or Files(settings.storage).open
    for split in splits:
        with open_file(split.path) as file:
            try:
                yield from read(file, split, settings, schema)
            except JellyError as error:
                error.locate(source=split.path)
                if settings.bad_records is not None:
                    _record(error, split, settings)
                elif settings.corrupt_column is not None:
                    yield _row(error, settings.corrupt_column, schema)
                else:
                    raise


def complete(
    found: Mapping[str, pa.Array], rows: int, split: FileSplit, schema: pa.Schema
) -> pa.RecordBatch:
    """Return a batch with the columns of ``schema``, made of the columns that were read.

    :param found: columns by name, in lower case; terms are text.
    :param rows: number of rows.
    """
    columns = []
    folders = folder_columns(split.path)
    for field in schema:
        name = field.name.lower()
        if name in found:
            column = found[name]
            if pa.types.is_struct(field.type):
                column = split_terms(column.cast(pa.string()), field.type)
            columns.append(column if column.type == field.type else column.cast(field.type))
        elif name == "source":
            columns.append(pa.repeat(pa.scalar(split.path, pa.string()), rows))
        elif (value := folders.get(field.name)) is not None:
            columns.append(pa.repeat(pa.scalar(value, pa.string()), rows))
        else:
            columns.append(pa.nulls(rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _row(error: JellyError, column: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return a row that reports an error instead of data."""
    known = {"source": error.source, "frame": error.frame, column.lower(): str(error)}
    values = [pa.array([known.get(field.name.lower())], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(values, schema=schema)


def _record(error: JellyError, split: FileSplit, settings: ReadSettings) -> None:
    """Write an error record: a JSON object in its own file.

    A task that runs again overwrites the same file.
    """
    name = hashlib.sha256(f"{split.path}\n{split.start}".encode()).hexdigest()[:32]
    record = {
        "source": split.path,
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
