"""The formats as batch sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from .batches import read_part
from .files import Files
from .formats import Format
from .parts import Piece, numbered, pack
from .schema import arrow_schema
from .settings import ReadSettings
from .shipping import Shipped


@dataclass
class Part(InputPartition):
    """What one task reads."""

    pieces: Sequence[Piece]


class PartReader(Shipped):
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
    """Reads the files that are there.

    Has no ``pushFilters``: with PySpark 4.3, a DataFrame that filters were pushed into once keeps
    them, and any other query over it lacks rows. Conditions are options, therefore.
    """

    def partitions(self) -> list[InputPartition]:
        settings = self._settings
        files = Files(settings.storage)
        columns = settings.partition_columns is not None
        found = files.list(self._paths, settings.pattern, columns=columns)
        pieces = [self._kind.cut(file, files, settings.partition_bytes) for file in found]
        parts = pack(numbered(pieces), settings.partition_bytes)
        # No partition at all would be one that nothing is known of.
        return [Part(part) for part in parts] or [Part(())]
