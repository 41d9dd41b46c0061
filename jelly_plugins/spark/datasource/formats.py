"""What the formats of files have in common: how files are divided over tasks, and their columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

import pyarrow as pa
from pyspark.sql.types import StructType

from .files import DataFile, Files
from .options import Settings
from .terms import split_terms

#: Cost of opening a file, in bytes read.
_OPENING_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file, or a range of one.

    :ivar start: offset of the first frame (of its delimiter), in bytes.
    :ivar stop: offset after the last frame, in bytes; None for the end of the file.
    :ivar first_frame: number of the frame at ``start``.
    """

    path: str
    start: int = 0
    stop: int | None = None
    first_frame: int = 0


class Format(ABC):
    """A format of files.

    :cvar name: its name.
    :cvar suffix: suffix of file names, before that of the compression.
    """

    name: str
    suffix: str

    def split(self, file: DataFile, files: Files, target: int) -> Iterable[tuple[FileSplit, int]]:  # noqa: ARG002
        """Divide a file into splits of about ``target`` bytes; return them with their sizes."""
        return [(FileSplit(file.path), file.size)]

    @abstractmethod
    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Read the batches of a split.

        :param file: open at its start.
        :param schema: the requested columns.
        :raises JellyError: the file is corrupt; the batches before the error are returned first.
        """

    @abstractmethod
    def check(self, schema: StructType, settings: Settings) -> None:
        """Check columns and settings before any task writes.

        :raises OptionsError: a column or an option is invalid.
        """

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Divide batches so that each has the columns of its file: where the columns change, a new
        file starts."""
        return batches

    @abstractmethod
    def writer(self, file: BinaryIO, name: str, schema: pa.Schema, settings: Settings) -> Any:
        """Return a writer to an open file, which stays open. It has the methods ``add(batch)``,
        whose errors have the row, and ``finish()``, and the attribute ``rows``.

        :param name: the same for each attempt of a task, and different for all other files.
        :param schema: the columns, named in lower case.
        """


def pack(splits: Iterable[tuple[FileSplit, int]], target: int) -> list[list[FileSplit]]:
    """Group splits into partitions of about ``target`` bytes, in order.

    :param splits: with their sizes in bytes.

    >>> small, large = FileSplit("small"), FileSplit("large")
    >>> [len(splits) for splits in pack([(small, 1), (small, 1), (large, 9 << 20)], 8 << 20)]
    [2, 1]
    """
    partitions: list[list[FileSplit]] = []
    remaining = 0
    for split, size in splits:
        cost = size + _OPENING_BYTES
        if not partitions or cost > remaining:
            partitions.append([])
            remaining = target
        partitions[-1].append(split)
        remaining -= cost
    return partitions


def complete(found: pa.RecordBatch, path: str, schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of ``schema``, made of the columns that were read.

    :param found: columns whose names are in lower case; terms are text.
    :param path: the value of the column ``source``.
    """
    columns = []
    for field in schema:
        name = field.name.lower()
        if name in found.schema.names:
            column = found[name]
            if pa.types.is_struct(field.type):
                column = split_terms(column.cast(pa.string()), field.type)
            columns.append(column if column.type == field.type else column.cast(field.type))
        elif name == "source":
            columns.append(pa.repeat(pa.scalar(path, pa.string()), found.num_rows))
        else:
            columns.append(pa.nulls(found.num_rows, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with the names of columns in lower case, and VOID columns as text."""
    columns = [
        column.cast(pa.string()) if pa.types.is_null(column.type) else column
        for column in batch.columns
    ]
    names = [name.lower() for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(columns, names=names)
