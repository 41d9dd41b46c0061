"""The formats as streaming sources: a folder that gets files, or whose files grow."""

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
from .parts import Piece, numbered, pack
from .progress import INITIAL, Offset, Progress
from .reading import Part, PartReader
from .schema import arrow_schema


class FolderStreamReader(PartReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what comes into folders."""

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
        pieces = [
            self._kind.cut(DataFile(piece.path, size), files, target)
            if piece == Piece(piece.path)
            else [(piece, size)]
            for piece, size in self._progress.pieces(start, end)
        ]
        return [Part(part) for part in pack(numbered(pieces), target)] or [Part(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Part)
        if partition.pieces:
            return super().read(partition)
        return self._kind.read_none(arrow_schema(self._schema))
