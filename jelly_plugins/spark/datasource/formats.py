"""What a format of files has in common with others: its columns, how it is read and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Generic, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql.types import StructType

from .files import DataFile, Files
from .options import FileReading, FileWriting
from .splits import FileSplit
from .terms import split_terms

_ReadingT = TypeVar("_ReadingT", bound=FileReading)
_WritingT = TypeVar("_WritingT", bound=FileWriting)


class BatchWriter(Protocol):
    """Writes batches to an open file, which stays open.

    :ivar rows: number of rows written.
    """

    rows: int

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch.

        :raises JellyError: a row is invalid; has the row, counted from the writer's first.
        """

    def finish(self) -> None:
        """Finish the file."""


class Format(ABC, Generic[_ReadingT, _WritingT]):
    """A format of files.

    :ivar suffix: suffix of file names, before that of the compression.
    """

    suffix: str

    # Reading

    @abstractmethod
    def split(self, file: DataFile, files: Files, target: int) -> Iterable[tuple[FileSplit, int]]:
        """Divide a file into splits of about ``target`` bytes; return them with their sizes."""

    @abstractmethod
    def read(
        self, file: BinaryIO, split: FileSplit, settings: _ReadingT, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Read the batches of a split.

        :param file: open at its start.
        :param schema: the requested columns.
        :raises JellyError: the file is corrupt; the batches before the error are returned first.
        """

    # Writing

    @abstractmethod
    def check(self, schema: StructType, settings: _WritingT) -> None:
        """Check columns and settings before any task runs.

        :raises OptionsError: a column or an option is invalid.
        """

    @abstractmethod
    def divide(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Divide batches so that each has the columns of its file: where the columns change, a new
        file starts."""

    @abstractmethod
    def writer(
        self, file: BinaryIO, name: str, schema: pa.Schema, settings: _WritingT
    ) -> BatchWriter:
        """Return a writer to an open file.

        :param name: the same for each attempt of a task, and different for all other files.
        :param schema: the columns, named in lower case.
        """


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
