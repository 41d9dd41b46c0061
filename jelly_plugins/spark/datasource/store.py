"""The format ``jelly-store``: a sharded store as a data source of Spark's Python Data Source API.

The class only implements the interface, see ``sources``.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from ...errors import OptionsError
from .options import check_options
from .schema import patch_schema, statement_schema
from .settings import ReadSettings, StoreSettings, StoreWriteSettings
from .sources import ReadableSource


class JellyStoreDataSource(ReadableSource):
    """A sharded store: ``spark.read.format("jelly-store").load(root)``.

    By default the quads of a version; with the option ``readChangeFeed`` the changes of versions.
    """

    @classmethod
    def name(cls) -> str:
        return "jelly-store"

    def _columns(self, settings: ReadSettings) -> StructType:
        changes = StoreSettings.of(self.options).changes
        return patch_schema(settings) if changes else statement_schema(settings)

    def reader(self, schema: StructType) -> DataSourceReader:
        settings, schema = self._read(schema)
        store = StoreSettings.of(self.options)
        if store.changes:
            from .feed import FeedReader

            return FeedReader(store, settings, schema)
        from .store_reading import VersionReader

        return VersionReader(store, settings, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from .feed import FeedStreamReader

        settings, schema = self._read(schema)
        store = StoreSettings.of(self.options)
        if not store.changes:
            raise OptionsError(
                "a stream of a sharded store has the changes of its versions: set option "
                "readChangeFeed to true"
            )
        if store.last is not None:
            raise OptionsError("option endingVersion is not for streams: remove it")
        return FeedStreamReader(store, settings, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .store_writing import StoreWriter

        check_options(self.options, self.name(), writes=True)
        return StoreWriter(StoreWriteSettings.of(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        raise OptionsError(
            "a stream is written to a sharded store by foreachBatch: patches with batch_sink, and "
            "statements with batch.write.format('jelly-store') and the options txnAppId, and "
            "txnVersion for the number of the batch"
        )
