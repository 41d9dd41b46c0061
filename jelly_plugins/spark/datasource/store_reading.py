"""A version of a sharded store as a batch source: a task for each shard."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from ..sharded.commits import open_log
from ..sharded.errors import RootError, of_shard
from ..sharded.layout import shard_of
from ..sharded.scanning import pattern_of, reading, scan
from ..sharded.storage import Storage
from .batches import complete
from .options import of_option
from .schema import arrow_schema
from .settings import ReadSettings, StoreSettings
from .shipping import Shipped
from .splits import FileSplit


@dataclass
class ShardPartition(InputPartition):
    """A shard that one task reads.

    :ivar version: version of the store.
    :ivar shard: number of the shard; None if there is nothing to read.
    :ivar named: name of its store, and the checksum of the list of its files.
    :ivar quads: number of its quads.
    """

    version: int
    shard: int | None = None
    named: tuple[str, str] = ("", "")
    quads: int = 0


class VersionReader(Shipped, DataSourceReader):
    """Reads the quads of a version, which is determined when the partitions are.

    Does not implement ``pushFilters``, see :class:`.FolderReader`.
    """

    def __init__(
        self, storage: Storage, store: StoreSettings, settings: ReadSettings, schema: StructType
    ) -> None:
        self._storage = storage
        self._store = store
        self._conditions = {name: text for name, (text,) in settings.conditions.items()}
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        pattern_of(self._conditions)
        log, store = open_log(self._storage), self._store
        option = "timestampAsOf" if store.version is None else "versionAsOf"
        with of_option(option if (store.timestamp or store.version) is not None else None):
            commit = log.find(store.version, store.timestamp)
        layout = log.layout_of(commit)
        key = self._conditions.get(layout.shard_by)
        only = None if key is None else shard_of(key, layout.shards)
        return [
            ShardPartition(commit.version, number, shard.named, shard.quads)
            for number, shard in enumerate(commit.shards or ())
            if shard.named is not None and only in (None, number)
        ] or [ShardPartition(commit.version)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, ShardPartition)
        if partition.shard is None:
            return
        try:
            with of_shard(partition.version, partition.shard):
                yield from self._batches(partition, arrow_schema(self._schema))
        except RootError as error:
            # A vacuum removes a version's stores after its commit has forgotten them.
            commit = open_log(self._storage).get(partition.version)
            if commit is None or commit.readable:
                raise
            raise RootError(
                f"the stores of version {partition.version} were removed by a vacuum after the "
                "query was planned: load again, and vacuum with a grace longer than queries take",
                source=self._storage.name,
            ) from error

    def _batches(self, partition: ShardPartition, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        rows = 0
        with reading(self._storage, *partition.named) as store:
            for batch in scan(store, pattern_of(self._conditions)):
                rows += batch.num_rows
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                yield complete(columns, batch.num_rows, FileSplit(""), schema)
        if rows != partition.quads and not self._conditions:
            raise RootError(
                f"{partition.named[0]} has {rows} quads, but the commit has {partition.quads}",
                source=self._storage.name,
            )
