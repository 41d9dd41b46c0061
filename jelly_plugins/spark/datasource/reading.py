"""The formats of files as sources of batches and of streams.

The readers do not implement ``pushFilters``: in PySpark 4.2 and 4.3, a DataFrame keeps the filters
that were pushed into it once, and other queries over it lack rows. So conditions are options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

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
from .files import DataFile, Files
from .formats import FileSplit, Format, pack
from .options import Settings
from .progress import INITIAL, Offset, Progress
from .schema import arrow_schema


@dataclass
class FilePartition(InputPartition):
    """The splits that one task reads."""

    splits: Sequence[FileSplit]


class _Reader:
    """What both readers of files have in common.

    :param paths: files, folders or patterns.
    :param schema: schema of the rows.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002
        paths: Sequence[str],
        settings: Settings,
        schema: StructType,
    ) -> None:
        self._format = format
        self._paths = paths
        self._settings = settings
        self._schema = schema

    @property
    def _files(self) -> Files:
        return Files(self._settings["storageOptions"])

    def _pack(self, found: Iterable[DataFile]) -> Sequence[InputPartition]:
        """Distribute files over partitions; without files, one empty partition."""
        target = self._settings["maxPartitionBytes"]
        files = self._files
        splits = (split for file in found for split in self._format.split(file, files, target))
        return [FilePartition(each) for each in pack(splits, target)] or [FilePartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a partition; Spark calls this in a task.

        The batches of a corrupt file before the error are returned first.

        :raises JellyError: a file cannot be opened; or it is corrupt, in mode FAILFAST.
        """
        assert isinstance(partition, FilePartition)
        schema = arrow_schema(self._schema)
        column = self._settings.corrupt_column
        for split in partition.splits:
            with self._files.open(split.path) as file:
                try:
                    yield from self._format.read(file, split, self._settings, schema)
                except JellyError as error:
                    error.locate(source=split.path)
                    if column is None:
                        raise
                    known = {"source": error.source, "frame": error.frame}
                    known[column.lower()] = str(error)
                    values = [
                        pa.array([known.get(field.name.lower())], field.type) for field in schema
                    ]
                    yield pa.RecordBatch.from_arrays(values, schema=schema)


class FolderReader(_Reader, DataSourceReader):
    """Reads the existing files."""

    def partitions(self) -> Sequence[InputPartition]:
        return self._pack(self._files.list(self._paths))


class FolderStreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new files in folders."""

    @cached_property
    def _progress(self) -> Progress:
        return Progress(self._files, self._paths)

    def initialOffset(self) -> Offset:  # noqa: N802
        return INITIAL

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._settings["maxFilesPerTrigger"]
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._progress.stop_here()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        return self._progress.latest(start, most)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self._pack(self._progress.batch(start, end))
