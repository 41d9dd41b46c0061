"""The formats as data sources of Spark's Python Data Source API.

These classes only implement the interface; other modules of this package do the work.
Instances are sent between processes and hold only options. For each query Spark starts processes
that call a single method; slow imports are therefore inside the methods that need them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from ...errors import OptionsError
from .. import _requirement  # noqa: F401  (first: its error names the extra to install)
from .options import check_options
from .schema import check_schema, patch_schema, requested_schema, statement_schema
from .settings import (
    ReadSettings,
    StoreSettings,
    WriteSettings,
    given_path,
    given_paths,
    storage_of,
)
from .shipping import Shipped

if TYPE_CHECKING:
    from .batches import Format
    from .writing import Sink


class _ReadableSource(Shipped, DataSource):
    """A source whose options determine its columns."""

    @abstractmethod
    def _columns(self, settings: ReadSettings) -> StructType:
        """Return all columns."""

    @property
    def _settings(self) -> ReadSettings:
        return ReadSettings.of(self.options)

    def schema(self) -> StructType:
        check_options(self.options, self.name())
        given_paths(self.options)
        settings = self._settings
        return requested_schema(self._columns(settings), settings)

    def _read(self, schema: StructType) -> tuple[ReadSettings, StructType]:
        """Check the options and the schema, and return the settings and the schema for a reader."""
        check_options(self.options, self.name(), writes=False)
        check_schema(schema, self.schema(), self._settings)
        return self._settings, schema


class _FolderSource(_ReadableSource):
    """Files of a format."""

    @abstractmethod
    def _format(self) -> Format:
        """Return the files' format."""

    @abstractmethod
    def _sink(self) -> Sink:
        """Return the writer of such files."""

    def reader(self, schema: StructType) -> DataSourceReader:
        from .reading import FolderReader

        settings, schema = self._read(schema)
        return FolderReader(given_paths(self.options), settings, schema, self._format())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from .streaming import FolderStreamReader

        settings, schema = self._read(schema)
        return FolderStreamReader(given_paths(self.options), settings, schema, self._format())

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .writing import FolderWriter

        return FolderWriter(*self._written(schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from .writing import FolderStreamWriter

        return FolderStreamWriter(*self._written(schema, overwrite))

    def _written(
        self, schema: StructType, overwrite: bool
    ) -> tuple[str, StructType, bool, WriteSettings, Sink]:
        """Check the options, and return the arguments of a writer."""
        check_options(self.options, self.name(), writes=True)
        path = given_path(self.options)
        return path, schema, overwrite, WriteSettings.of(self.options), self._sink()


class JellyDataSource(_FolderSource):
    """Jelly-RDF files: ``spark.read.format("jelly").load(path)``."""

    @classmethod
    def name(cls) -> str:
        return "jelly"

    def _format(self) -> Format:
        from .statements import STATEMENTS

        return STATEMENTS

    def _columns(self, settings: ReadSettings) -> StructType:
        return statement_schema(settings)

    def _sink(self) -> Sink:
        from .sinks import STATEMENTS

        return STATEMENTS


class JellyPatchDataSource(_FolderSource):
    """Jelly-Patch and RDF Patch files: ``spark.read.format("jelly-patch").load(path)``."""

    @classmethod
    def name(cls) -> str:
        return "jelly-patch"

    def _format(self) -> Format:
        from .operations import OPERATIONS

        return OPERATIONS

    def _columns(self, settings: ReadSettings) -> StructType:
        return patch_schema(settings)

    def _sink(self) -> Sink:
        from .sinks import OPERATIONS

        return OPERATIONS


class JellyStoreDataSource(_ReadableSource):
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
        store, storage = StoreSettings.of(self.options), storage_of(self.options)
        if store.changes:
            from .feed import FeedReader

            return FeedReader(storage, store, settings, schema)
        from .store_reading import VersionReader

        return VersionReader(storage, store, settings, schema)

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
        return FeedStreamReader(storage_of(self.options), store, settings, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .store_writing import StoreWriter

        check_options(self.options, self.name(), writes=True)
        return StoreWriter(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        raise OptionsError(
            "a stream is written to a sharded store by foreachBatch: patches with batch_sink, and "
            "statements with batch.write.format('jelly-store') and the options txnAppId, and "
            "txnVersion for the number of the batch"
        )
