"""The formats of files as sources of batches and of streams, and how files are divided over tasks.

The readers do not implement ``pushFilters``: in PySpark 4.2 and 4.3, a DataFrame keeps the filters
that were pushed into it once, and other queries over it lack rows. So conditions are options.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO, ClassVar, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from ...errors import JellyError
from ...io.sinks import compressed
from .columns import arrow_schema
from .files import DataFile, Files
from .options import CORRUPT, Settings
from .progress import INITIAL, Offset, Progress

#: Cost of opening a file, in bytes read.
_OPENING_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file, or a range of one.

    :ivar start: offset of the first frame (of its delimiter).
    :ivar stop: offset after the last frame; None for the end of the file.
    :ivar first_frame: number of the frame at ``start``.
    """

    path: str
    start: int = 0
    stop: int | None = None
    first_frame: int = 0


class FileWriter(ABC):
    """Writes a file of a format; the file object stays open.

    :param name: the same for each attempt of a task, and different for all other files.
    :param schema: the columns, named in lower case.
    :ivar rows: number of rows so far.
    """

    def __init__(
        self,
        file: BinaryIO,
        name: str,  # noqa: ARG002
        schema: pa.Schema,  # noqa: ARG002
        settings: Settings,
    ) -> None:
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings.get("compression")))
        self.rows = 0

    @abstractmethod
    def add(self, batch: pa.RecordBatch) -> None:
        """Write rows. Errors have the row."""

    def finish(self) -> None:
        self._stack.close()


class Format(ABC):
    """A format of files.

    :cvar suffix: suffix of file names, before that of the compression.
    """

    suffix: ClassVar[str]
    writer: ClassVar[type[FileWriter]]

    def split(self, file: DataFile, files: Files, target: int) -> Iterable[tuple[FileSplit, int]]:  # noqa: ARG002
        """Divide a file into splits of about ``target`` bytes; return them with their sizes."""
        return [(FileSplit(file.path), file.size)]

    @abstractmethod
    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        """Read the requested columns of a split. Those before an error are returned first.

        :param file: open at its start.
        """

    @abstractmethod
    def check(self, schema: StructType, settings: Settings) -> None:
        """Check columns and settings before any task writes."""

    def divide(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Divide batches so that each has the columns of its file: where the columns change, a new
        file starts."""
        return batches


def pack(splits: Iterable[tuple[FileSplit, int]], target: int) -> list[list[FileSplit]]:
    """Group splits, given with their sizes, into partitions of about ``target`` bytes, in order.

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


@dataclass
class FilePartition(InputPartition):
    """The splits that one task reads."""

    splits: Sequence[FileSplit]


@dataclass(eq=False)
class _Reader:
    """What both readers of files have in common."""

    format: Format
    paths: Sequence[str]
    settings: Settings
    schema: StructType

    @property
    def _files(self) -> Files:
        return Files(self.settings["storageOptions"])

    def _pack(self, found: Iterable[DataFile]) -> Sequence[InputPartition]:
        """Distribute files over partitions; without files, one empty partition."""
        target = self.settings["maxPartitionBytes"]
        files = self._files
        splits = (split for file in found for split in self.format.split(file, files, target))
        return [FilePartition(each) for each in pack(splits, target)] or [FilePartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a partition; Spark calls this in a task."""
        assert isinstance(partition, FilePartition)
        schema = arrow_schema(self.schema)
        for split in partition.splits:
            with self._files.open(split.path) as file:
                try:
                    yield from self.format.read(file, split, self.settings, schema)
                except JellyError as error:
                    error.locate(source=split.path)
                    if not self.settings.is_permissive:
                        raise
                    known = {"source": error.source, "frame": error.frame, CORRUPT: str(error)}
                    values = [
                        pa.array([known.get(field.name.lower())], field.type) for field in schema
                    ]
                    yield pa.RecordBatch.from_arrays(values, schema=schema)


class FolderReader(_Reader, DataSourceReader):
    """Reads the existing files."""

    def partitions(self) -> Sequence[InputPartition]:
        return self._pack(self._files.list(self.paths))


class FolderStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new files in folders."""

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self._files, self.paths)

    def initialOffset(self) -> Offset:  # noqa: N802
        return INITIAL

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self.settings["maxFilesPerTrigger"]
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._progress.stop_here()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        return self._progress.latest(start, most)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self._pack(self._progress.batch(start, end))
