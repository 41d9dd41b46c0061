"""The formats ``jelly`` and ``jelly-patch``, as Spark's Python Data Source API has them.

What Spark asks for by name; the work is done in ``reading``, ``streaming`` and ``writing``.
Instances go between processes: they hold options and nothing else. For each query Spark starts
processes that only ask for the columns, or for one of the rest; so what takes time to import is
imported where it is needed.
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

from .. import _requirement  # noqa: F401  (first: it says what to install)
from .options import check_options, is_of_changes
from .schema import asked_schema, check_schema, patch_schema, statement_schema
from .settings import ReadSettings, WriteSettings
from .shipping import Shipped

if TYPE_CHECKING:
    from .formats import Format
    from .writing import Sink


class _FolderSource(Shipped, DataSource):
    """Files of a format; their columns are fixed by the options."""

    @abstractmethod
    def _format(self) -> Format:
        """The files' format."""

    @abstractmethod
    def _sink(self) -> Sink:
        """What writes such files."""

    @abstractmethod
    def _columns(self, settings: ReadSettings) -> StructType:
        """The columns that the files are read as."""

    @property
    def _settings(self) -> ReadSettings:
        return ReadSettings.of(self.options)

    def schema(self) -> StructType:
        check_options(self.options, self.name())
        settings = self._settings
        return asked_schema(self._columns(settings), settings)

    def reader(self, schema: StructType) -> DataSourceReader:
        from .files import given_paths
        from .reading import FolderReader

        settings, schema = self._read(schema)
        return FolderReader(given_paths(self.options), settings, schema, self._format())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from .files import given_paths
        from .streaming import FolderStreamReader

        settings, schema = self._read(schema)
        return FolderStreamReader(given_paths(self.options), settings, schema, self._format())

    def _read(self, schema: StructType) -> tuple[ReadSettings, StructType]:
        """What all readers are made of, but for what they read."""
        check_options(self.options, self.name(), writes=False)
        check_schema(schema, self.schema(), self._settings)
        return self._settings, schema

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .writing import FolderWriter

        return FolderWriter(*self._written(schema, overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from .writing import FolderStreamWriter

        return FolderStreamWriter(*self._written(schema, overwrite))

    def _written(
        self, schema: StructType, overwrite: bool
    ) -> tuple[str, StructType, bool, WriteSettings, Sink]:
        """What all writers are made of."""
        from .files import given_paths

        check_options(self.options, self.name(), writes=True)
        [path] = given_paths(self.options)
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
    """Jelly-Patch and RDF Patch files: ``spark.read.format("jelly-patch").load(path)``; or, with
    the option ``root``, the changes of a sharded store."""

    def reader(self, schema: StructType) -> DataSourceReader:
        if not is_of_changes(self.options, streams=False):
            return super().reader(schema)
        from .feed import FeedReader

        return FeedReader(self.options, *self._read(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        if not is_of_changes(self.options, streams=True):
            return super().streamReader(schema)
        from .feed import FeedStreamReader

        return FeedStreamReader(self.options, *self._read(schema))

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
