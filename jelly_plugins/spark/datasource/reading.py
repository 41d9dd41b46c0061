"""The formats as batch sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from .batches import Format, read_partition
from .files import Files
from .schema import arrow_schema
from .settings import ReadSettings
from .shipping import Shipped
from .splits import FileSplit, numbered, pack


@dataclass
class FilePartition(InputPartition):
    """The splits that one task reads."""

    splits: Sequence[FileSplit]


class PartitionReader(Shipped):
    """Files of a format, and how a task reads its splits; common to all readers.

    :param paths: files, folders or patterns.
    :param schema: schema of the rows.
    :param kind: the files' format.
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
        """Read a partition; Spark calls this in a task."""
        assert isinstance(partition, FilePartition)
        schema = arrow_schema(self._schema)
        return read_partition(partition.splits, self._settings, schema, self._kind.read)


class FolderReader(PartitionReader, DataSourceReader):
    """Reads the existing files.

    Does not implement ``pushFilters``: in PySpark 4.2 and 4.3, a DataFrame keeps the filters that
    were pushed into it once, and other queries over it lack rows. Conditions are therefore options.
    """

    def partitions(self) -> list[InputPartition]:
        settings = self._settings
        files = Files(settings.storage)
        columns = settings.partition_columns is not None
        found = files.list(self._paths, settings.pattern, columns=columns)
        splits = [self._kind.cut(file, files, settings.partition_bytes) for file in found]
        partitions = pack(numbered(splits), settings.partition_bytes)
        # Without any partition, Spark would not know the number of partitions.
        return [FilePartition(each) for each in partitions] or [FilePartition(())]
