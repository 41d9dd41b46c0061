"""A version of a sharded store as a batch source: a task for each shard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..shards.root import RootError, Shard, find, shard_of
from ..shards.store import pattern_of, reading, scan, storage_at
from .columns import arrow_schema, complete
from .options import Settings


@dataclass
class ShardPartition(InputPartition):
    """A shard that one task reads; None if there is nothing to read."""

    shard: Shard | None = None


@dataclass(eq=False)
class VersionReader(DataSourceReader):
    """Reads the quads of a version, which is determined when the partitions are. Does not implement
    ``pushFilters``, see :mod:`.reading`."""

    root: str
    settings: Settings
    schema: StructType

    def __post_init__(self) -> None:
        self._storage = storage_at(self.root, self.settings["storageOptions"] or None)

    def partitions(self) -> Sequence[InputPartition]:
        conditions = self.settings.conditions
        pattern_of(conditions)
        version = find(self._storage, self.settings["versionAsOf"])
        key = conditions.get(version.shard_by)
        only = None if key is None else shard_of(key, len(version.shards))
        return [
            ShardPartition(shard)
            for number, shard in enumerate(version.shards)
            if shard.store is not None and only in (None, number)
        ] or [ShardPartition()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ShardPartition)
        shard = partition.shard
        if shard is None:
            return
        schema = arrow_schema(self.schema)
        conditions = self.settings.conditions
        rows = 0
        with reading(self._storage, shard) as store:
            for batch in scan(store, pattern_of(conditions)):
                rows += batch.num_rows
                yield complete(batch, "", schema)
        if rows != shard.quads and not conditions:
            raise RootError(
                f"{shard.store} has {rows} quads, but its version has {shard.quads}",
                source=self._storage.name,
            )
