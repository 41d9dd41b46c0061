"""The formats as data sources of Spark's Python Data Source API.

These classes only implement the interface; other modules of this package do the work.
Instances are sent between processes and hold only options. For each query Spark starts processes
that call a single method; slow imports are therefore inside the methods that need them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import LongType, StringType, StructField, StructType

from ...errors import OptionsError
from .. import _requirement  # noqa: F401  (first: its error names the extra to install)
from .columns import check_requested, operation_fields, statement_fields
from .options import (
    CORRUPT,
    OF_SPARK,
    READING,
    WRITING,
    Option,
    Settings,
    given_path,
    given_paths,
)

if TYPE_CHECKING:
    from .reading import Format


class _Source(DataSource):
    """A source whose options determine its columns."""

    @abstractmethod
    def _fields(self, settings: Settings) -> list[StructField]:
        """Return all columns, given the options for reading, but for that of errors."""

    def _columns(self, settings: Settings) -> StructType:
        errors = [StructField(CORRUPT, StringType())] if settings.is_permissive else []
        return StructType([*self._fields(settings), *errors])

    def _settings(self, table: Sequence[Option], use: str = "") -> Settings:
        given = {name: text for name, text in self.options.items() if name.lower() not in OF_SPARK}
        return Settings.of(table, self.name(), given, use)

    def schema(self) -> StructType:
        # Spark also asks for the schema of a source that is written to.
        settings = self._settings((*READING, *WRITING))
        given_paths(self.options)
        return self._columns(settings)

    def _to_read(self, schema: StructType) -> Settings:
        """Check a schema and the options for reading, and return the options."""
        settings = self._settings(READING, " for reading")
        check_requested(schema, self._columns(settings))
        return settings


class _FolderSource(_Source):
    """Files of a format."""

    @abstractmethod
    def _format(self) -> Format: ...

    def reader(self, schema: StructType) -> DataSourceReader:
        from .reading import FolderReader

        paths = given_paths(self.options)
        return FolderReader(self._format(), paths, self._to_read(schema), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        from .reading import FolderStreamReader

        paths = given_paths(self.options)
        return FolderStreamReader(self._format(), paths, self._to_read(schema), schema)

    def _to_write(self, schema: StructType) -> tuple[Format, Settings, str]:
        """Check the columns and the options for writing, and return the arguments of a writer."""
        settings, found = self._settings(WRITING, " for writing"), self._format()
        path = given_path(self.options)
        found.check(schema, settings)
        return found, settings, path

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from .writing import FolderWriter

        return FolderWriter(*self._to_write(schema), overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: N802
        from .writing import FolderStreamWriter

        if overwrite:
            raise OptionsError(
                "a stream of this format supports only output mode append: each batch adds files, "
                "and replaces none"
            )
        return FolderStreamWriter(*self._to_write(schema))


class JellyDataSource(_FolderSource):
    """Jelly-RDF files: ``spark.read.format("jelly").load(path)``."""

    @classmethod
    def name(cls) -> str:
        return "jelly"

    def _format(self) -> Format:
        from .statements import Statements

        return Statements()

    def _fields(self, settings: Settings) -> list[StructField]:
        fields = statement_fields(settings)
        if settings["sourceColumns"]:
            fields += [StructField("source", StringType()), StructField("frame", LongType())]
        return fields


class JellyPatchDataSource(_FolderSource):
    """Jelly-Patch and RDF Patch files: ``spark.read.format("jelly-patch").load(path)``.

    The columns always include ``source``, because patch numbers count within a file.
    """

    @classmethod
    def name(cls) -> str:
        return "jelly-patch"

    def _format(self) -> Format:
        from .operations import Operations

        return Operations()

    def _fields(self, settings: Settings) -> list[StructField]:
        return [StructField("source", StringType()), *operation_fields(settings)]


class JellyStoreDataSource(_Source):
    """A version of a sharded store: ``spark.read.format("jelly-store").load(root)``."""

    @classmethod
    def name(cls) -> str:
        return "jelly-store"

    def _fields(self, settings: Settings) -> list[StructField]:
        return statement_fields(settings)

    def reader(self, schema: StructType) -> DataSourceReader:
        from .store_reading import VersionReader

        return VersionReader(given_path(self.options), self._to_read(schema), schema)
