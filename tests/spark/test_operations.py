"""Patch files by column: the same rows as one by one. No Spark session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from jelly_plugins.codec import OperationKind, delimit
from jelly_plugins.patch import PatchReader, write_patches
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.spark.patch_rows import OperationRows, PatchRow

from ..codec.test_patch_columns import frames, rows
from ..conversions import written
from ..ntriples import WholeTexts
from .shards.logs import Writer

TEXT = b"""H id <urn:1> . PA ex <urn:ex#> . TX . A <urn:s> <urn:p> "o" . TC .
A <urn:s> <urn:p> <urn:o> <urn:g> . Z .
H prev <urn:1> . D _:b <urn:p> <urn:o> . PD ex . TX . TA ."""


def logs() -> dict[str, bytes]:
    writer = Writer(seed=3)
    patches = [writer.patch(50) for _ in range(6)]
    everything = b"".join(map(delimit, frames(rows(star=True))))
    return {"writer": written(write_patches, patches), "everything": everything, "text": TEXT}


def rows_of(data: bytes, *, about: bool) -> Iterator[PatchRow]:
    """The rows of a log, made one by one.

    :param about: whether headers and ends of patches are rows too.
    """
    patch = transactions = 0
    transaction: int | None = None
    ids: dict[str, str] = {}
    with PatchReader(data, factory=WholeTexts()) as operations:
        for order, (kind, value) in enumerate(operations):
            terms: dict[str, str | None] = {}
            if kind is OperationKind.BEGIN:
                transaction = transactions
                transactions += 1
            elif kind in (OperationKind.ADD, OperationKind.DELETE):
                terms = dict(zip(("subject", "predicate", "object", "graph"), value, strict=False))
                terms["graph"] = terms.get("graph") or None
            elif kind is OperationKind.HEADER:
                ids.setdefault(value.key, value.value)
                terms = {"name": value.key, "value": value.value}
            elif kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
                terms = {"name": value.name, "value": value.iri, "graph": value.graph or None}
            if about or kind not in (OperationKind.HEADER, OperationKind.END):
                names = (ids.get("id"), ids.get("prev"))
                yield PatchRow(patch, *names, transaction, order, kind.code, **terms)
            if kind in (OperationKind.COMMIT, OperationKind.ABORT):
                transaction = None
            elif kind is OperationKind.END:
                patch += 1
                ids.clear()


@pytest.mark.parametrize("name", logs())
@pytest.mark.parametrize("about", [False, True])
def test_columns_have_the_same_rows(name: str, about: bool) -> None:
    data = logs()[name]
    expected = list(rows_of(data, about=about))
    for batch_rows in (1, 7, 10_000):
        with PatchColumnReader(data, batch_rows=batch_rows) as batches:
            found = [
                PatchRow(*row)
                for table in OperationRows(about).batches(batches)
                for row in zip(*(table[each].to_pylist() for each in PatchRow._fields), strict=True)
            ]
        assert found == expected
