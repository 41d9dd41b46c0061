"""The formats as batch sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from .batches import read_part
from .conditions import Conditions, both
from .files import Files
from .formats import Format
from .parts import Piece, numbered, pack
from .pushing import PushFilters
from .schema import arrow_schema
from .settings import Mode, ReadSettings, Terms


@dataclass
class Part(InputPartition):
    """What one task reads."""

    pieces: Sequence[Piece]


class PartReader:
    """Files of a format, and how a task reads its part of them: what all readers have in common.

    :param paths: files, folders or patterns.
    :param schema: of what is read.
    """

    def __init__(
        self,
        paths: Sequence[str],
        settings: ReadSettings,
        schema: StructType,
        kind: Format,
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._schema = schema
        self._kind = kind

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What Spark's task of a partition calls."""
        assert isinstance(partition, Part)
        schema = arrow_schema(self._schema)
        return read_part(partition.pieces, self._settings, schema, self._kind.read)


class FolderReader(PartReader, DataSourceReader):
    """Reads the files that are there."""

    def __init__(
        self, paths: Sequence[str], settings: ReadSettings, schema: StructType, kind: Format
    ) -> None:
        super().__init__(paths, settings, schema, kind)
        if kind.conditions:
            exact = settings.mode is Mode.FAILFAST
            split = settings.terms is Terms.SPLIT
            # Parts of terms have conditions of their own, which are Spark's.
            if not split:
                self.pushFilters = PushFilters(self._narrow, exact=exact)  # type: ignore[method-assign]

    def _narrow(self, conditions: Conditions) -> None:
        """Give out no rows but those that meet conditions, besides others."""
        merged = both(self._settings.conditions, conditions)
        self._settings = replace(self._settings, conditions=merged)

    def partitions(self) -> list[InputPartition]:
        settings = self._settings
        files = Files(settings.storage)
        columns = settings.partition_columns is not None
        found = files.list(self._paths, settings.pattern, columns=columns)
        pieces = [self._kind.cut(file, files, settings.partition_bytes) for file in found]
        parts = pack(numbered(pieces), settings.partition_bytes)
        # No partition at all would be one that nothing is known of.
        return [Part(part) for part in parts] or [Part(())]
