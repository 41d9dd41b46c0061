"""Patch files by column: the same rows as one by one. No Spark session."""

from __future__ import annotations

import io

import pytest

from jelly_plugins.codec import delimit
from jelly_plugins.patch import write_patches
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.spark.patch_rows import OperationRows, PatchRow

from ..codec.test_patch_columns import frames, rows
from .patch_rows import read_rows
from .shards.logs import Writer

TEXT = b"""H id <urn:1> . PA ex <urn:ex#> . TX . A <urn:s> <urn:p> "o" . TC .
A <urn:s> <urn:p> <urn:o> <urn:g> . Z .
H prev <urn:1> . D _:b <urn:p> <urn:o> . PD ex . TX . TA ."""


def logs() -> dict[str, bytes]:
    writer = Writer(seed=3)
    file = io.BytesIO()
    write_patches([writer.patch(50) for _ in range(6)], file)
    everything = b"".join(map(delimit, frames(rows(star=True))))
    return {"writer": file.getvalue(), "everything": everything, "text": TEXT}


@pytest.mark.parametrize("name", logs())
@pytest.mark.parametrize("about", [False, True])
def test_columns_have_the_same_rows(name: str, about: bool) -> None:
    data = logs()[name]
    expected = list(read_rows(data, about=about))
    for batch_rows in (1, 7, 10_000):
        with PatchColumnReader(data, batch_rows=batch_rows) as batches:
            found = [
                PatchRow(*row)
                for table in OperationRows(about).batches(batches)
                for row in zip(*(table[each].to_pylist() for each in PatchRow._fields), strict=True)
            ]
        assert found == [row._replace(graph=row.graph or None) for row in expected]
