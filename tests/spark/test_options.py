"""The options of the formats: each is in the table, and nothing else is taken. No Spark session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StringType, StructField, StructType

from jelly_plugins.codec.common.positions import POSITIONS
from jelly_plugins.errors import JellyError, OptionsError
from jelly_plugins.spark.datasource.options import OPTIONS, check_options, table
from jelly_plugins.spark.datasource.settings import (
    ReadSettings,
    StoreSettings,
    WriteSettings,
    given_path,
    number,
)
from jelly_plugins.spark.datasource.sources import (
    JellyDataSource,
    JellyPatchDataSource,
    JellyStoreDataSource,
)
from jelly_plugins.spark.datasource.store_writing import batch_settings
from jelly_plugins.spark.sharded.commits import make_log
from jelly_plugins.spark.sharded.storage import storage_at

DOCS = Path(__file__).parents[2] / "docs" / "spark-options.md"


class Asked(Mapping[str, str]):
    """Options that note which of them are asked for."""

    def __init__(self, **given: str) -> None:
        self.names: set[str] = set()
        self._given = given

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def test_the_table_has_all_options_that_are_asked_for() -> None:
    reading, writing = Asked(mode="PERMISSIVE", path="r"), Asked(path="r", shardBy="graph")
    ReadSettings.of(reading)
    StoreSettings.of(reading)
    WriteSettings.of(writing)
    batch_settings(writing)
    number(writing, "processes")
    assert reading.names - {"path", "paths"} == {each.name for each in OPTIONS if not each.writes}
    assert writing.names - {"path", "paths", "storageOptions"} == {
        each.name for each in OPTIONS if each.writes
    }


#: For each option: the format, an invalid value, other options, and what the error has besides the
#: name. Of texts that are valid whatever they are, there is none.
INVALID: dict[str, tuple[str, str, dict[str, str], str]] = {
    "terms": ("jelly", "x", {}, "must be one of"),
    "columns": ("jelly", "subject,x", {}, "'x' is not a column"),
    "subject": ("jelly", "a", {}, "is not a valid term"),
    "predicate": ("jelly", "x", {}, "is not a valid term"),
    "object": ("jelly-store", "<", {}, "is not a valid term"),
    "graph": ("jelly", "x", {}, "is not a valid term"),
    "blankNodes": ("jelly", "x", {}, "must be one of"),
    "sourceColumns": ("jelly", "yes", {}, "must be 'true' or 'false'"),
    "headers": ("jelly-store", "true", {}, "requires option readChangeFeed"),
    "mode": ("jelly", "DROPMALFORMED", {}, "must be one of"),
    "columnNameOfCorruptRecord": ("jelly", "x", {}, "requires mode PERMISSIVE"),
    "badRecordsPath": ("jelly", "x", {}, "requires mode PERMISSIVE"),
    "partitionColumns": ("jelly", "graph", {}, "two columns have the same name"),
    "maxPartitionBytes": ("jelly", "0", {}, "must be a size"),
    "maxFilesPerTrigger": ("jelly", "0", {}, "must be a whole number of at least 1"),
    "concatenated": ("jelly", "x", {}, "must be 'true' or 'false'"),
    "storageOptions": ("jelly-store", '{"a": "b"}', {}, "only for roots in object stores"),
    "versionAsOf": ("jelly-store", "9", {}, "there is no version 9"),
    "timestampAsOf": ("jelly-store", "2026-11-21", {}, "must have a time zone"),
    "readChangeFeed": ("jelly-store", "x", {}, "must be 'true' or 'false'"),
    "startingVersion": ("jelly-store", "9", {"readChangeFeed": "true"}, "there is no version 8"),
    "endingVersion": ("jelly-store", "9", {"readChangeFeed": "true"}, "there is no version 9"),
    "compression": ("jelly", "x", {}, "must be one of"),
    "restartEvery": ("jelly", "x", {}, "must be a size"),
    "streamName": ("jelly", "\ud800", {}, "half of a surrogate pair"),
    "quotedTriples": ("jelly-patch", "x", {}, "must be 'true' or 'false'"),
    "maxNameTableSize": ("jelly-patch", "7", {}, "must be a whole number from 8 to 4096"),
    "maxPrefixTableSize": ("jelly", "5000", {}, "must be a whole number from 0 to 4096"),
    "maxDatatypeTableSize": ("jelly", "-1", {}, "must be a whole number from 0 to 256"),
    "shards": ("jelly-store", "65537", {}, "must be a whole number from 1 to 65536"),
    "shardBy": ("jelly-store", "object", {}, "must be one of"),
    "create": ("jelly-store", "x", {}, "must be 'true' or 'false'"),
    "txnAppId": ("jelly-store", "\ud800", {"txnVersion": "1"}, "half of a surrogate pair"),
    "txnVersion": ("jelly-store", "9" * 19, {"txnAppId": "a"}, "must be a whole number"),
    "metadata": ("jelly-store", '{"a": "\\ud800"}', {}, "half of a surrogate pair"),
    "retries": ("jelly-store", "-1", {}, "must be a whole number of at least 0"),
    "processes": ("jelly-store", "0", {}, "must be a whole number of at least 1"),
}
SOURCES = (JellyDataSource, JellyPatchDataSource, JellyStoreDataSource)


def use(kind: str, options: dict[str, str], *, writes: bool) -> None:
    """Call what Spark calls before any task."""
    columns = ("kind", *POSITIONS) if kind == "jelly-patch" else POSITIONS
    schema = StructType([StructField(each, StringType()) for each in columns])
    source: Any = next(
        each(CaseInsensitiveDict(options))  # type: ignore[arg-type]
        for each in SOURCES
        if each.name() == kind
    )
    if writes:
        source.writer(schema, overwrite=False)
    else:
        source.reader(source.schema()).partitions()


def test_an_error_names_the_option_as_it_was_written(tmp_path: Path) -> None:
    assert INVALID.keys() == {each.name for each in OPTIONS} - {"pathGlobFilter"}
    make_log(storage_at(tmp_path), 1)
    writes = {each.name for each in OPTIONS if each.writes}
    for name, (kind, value, others, message) in INVALID.items():
        given = {"path": str(tmp_path), name: value, **others}
        with pytest.raises(JellyError) as caught:
            use(kind, given, writes=name in writes)
        assert re.search(rf"option {name}\b|\({name}[,)]", str(caught.value))
        assert message in str(caught.value)


@pytest.mark.parametrize("writes", [False, True])
def test_the_documentation_has_the_table(writes: bool) -> None:
    assert table(writes=writes) in DOCS.read_text()


@pytest.mark.parametrize(
    ("name", "kind", "writes", "message"),
    [
        ("sourceColums", "jelly", False, "did you mean sourceColumns?"),
        ("header", "jelly-patch", False, "did you mean headers?"),
        ("headers", "jelly", False, "jelly has no option 'headers' for reading: "),
        ("compresion", "jelly", True, "did you mean compression?"),
        ("compression", "jelly", False, "choose from terms, columns, "),
        ("x", "jelly", None, "jelly has no option 'x': choose from"),
    ],
)
def test_misspelt_options_are_reported(
    name: str, kind: str, writes: bool | None, message: str
) -> None:
    with pytest.raises(OptionsError) as caught:
        check_options([name], kind, writes=writes)
    assert message in str(caught.value)


def test_options_may_be_of_any_case() -> None:
    check_options(["PATH", "paths", "MAXPARTITIONBYTES", "headers"], "jelly-patch", writes=False)
    check_options(["storageoptions", "Compression"], "jelly", writes=True)


def test_one_path_is_written() -> None:
    with pytest.raises(OptionsError, match=r"give one path \(got a, b\)"):
        given_path({"paths": '["a", "b"]'})
