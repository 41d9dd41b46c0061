"""The options of the formats: each is in the table, and nothing else is taken. No Spark session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jelly_plugins.errors import OptionsError
from jelly_plugins.spark.datasource.options import OPTIONS, check_options, table
from jelly_plugins.spark.datasource.settings import (
    ReadSettings,
    StoreSettings,
    StoreWriteSettings,
    WriteSettings,
)

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
    reading, writing = Asked(mode="PERMISSIVE", path="r"), Asked(path="r")
    ReadSettings.of(reading)
    StoreSettings.of(reading)
    WriteSettings.of(writing)
    StoreWriteSettings.of(writing)
    assert reading.names - {"path", "paths"} == {each.name for each in OPTIONS if not each.writes}
    assert writing.names - {"path", "paths", "storageOptions"} == {
        each.name for each in OPTIONS if each.writes
    }


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
        StoreWriteSettings.of({"paths": '["a", "b"]'})
