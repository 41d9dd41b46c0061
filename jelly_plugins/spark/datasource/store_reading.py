"""A version of a sharded store as a batch source: a task for each shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from .settings import ReadSettings, StoreSettings
from .shipping import Shipped


class VersionReader(Shipped, DataSourceReader):
    """Reads the quads of a version."""

    def __init__(self, store: StoreSettings, settings: ReadSettings, schema: StructType) -> None:
        self._store = store
        self._settings = settings
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        raise NotImplementedError

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError
