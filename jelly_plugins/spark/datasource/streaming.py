"""The formats as streaming sources: a folder with new files, or with files that grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from .files import DataFile, Files
from .progress import INITIAL, Offset, Progress
from .reading import FilePartition, PartitionReader
from .schema import arrow_schema
from .splits import FileSplit, numbered, pack


class FolderStreamReader(PartitionReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new data in folders."""

    @cached_property
    def _progress(self) -> Progress:
        settings = self._settings
        files = Files(settings.storage)

        def boundary(file: DataFile, before: int) -> int:
            with files.open(file.path) as opened:
                return self._kind.boundary(opened, file, before)

        grow = boundary if settings.growing else None
        columns = settings.partition_columns is not None
        return Progress(files, self._paths, settings.pattern, grow, columns=columns)

    def initialOffset(self) -> Offset:  # noqa: N802
        return INITIAL

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._settings.most_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._progress.stop_here()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        return self._progress.latest(start, most)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        target = self._settings.partition_bytes
        files = Files(self._settings.storage)
        splits = [
            self._kind.cut(DataFile(split.path, size), files, target)
            if split == FileSplit(split.path)
            else [(split, size)]
            for split, size in self._progress.splits(start, end)
        ]
        return [FilePartition(each) for each in pack(numbered(splits), target)] or [
            FilePartition(())
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FilePartition)
        if partition.splits:
            return super().read(partition)
        return self._kind.read_none(arrow_schema(self._schema))
