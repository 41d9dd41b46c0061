"""The formats as streaming sources: a folder with new files."""

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

from .files import Files
from .progress import INITIAL, Offset, Progress
from .reading import FilePartition, PartitionReader
from .schema import arrow_schema
from .splits import numbered, pack


class FolderStreamReader(PartitionReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads new files in folders."""

    @cached_property
    def _progress(self) -> Progress:
        settings = self._settings
        columns = settings.partition_columns is not None
        files = Files(settings.storage)
        return Progress(files, self._paths, settings.pattern, columns=columns)

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
        splits = [self._kind.cut(file, files, target) for file in self._progress.batch(start, end)]
        return [FilePartition(each) for each in pack(numbered(splits), target)] or [
            FilePartition(())
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FilePartition)
        if partition.splits:
            return super().read(partition)
        return self._kind.read_none(arrow_schema(self._schema))
