"""Patch files by column: the same rows as one by one. No Spark session."""

from __future__ import annotations

import io
import random
from typing import Any

import pyarrow as pa
import pytest

from jelly_plugins.codec import Literal, delimit
from jelly_plugins.codec.common.positions import OBJECT
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import JellyError
from jelly_plugins.patch import write_patches
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.spark.datasource.operations import OperationRows
from jelly_plugins.spark.datasource.schema import PatchRow
from jelly_plugins.spark.marks import Begin, mark
from jelly_plugins.spark.sharded.completeness import Segments
from jelly_plugins.spark.sharded.frames import _Reading
from jelly_plugins.spark.sharded.terms import canonical_terms

from ..codec.test_patch_columns import frames, literals, rows
from .patch_rows import read_rows
from .sharded.logs import Writer

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
                for table in OperationRows(about).tables(batches)
                for row in zip(*(table[each].to_pylist() for each in PatchRow._fields), strict=True)
            ]
        assert found == [row._replace(graph=row.graph or None) for row in expected]


def test_objects_get_the_form_of_the_store() -> None:
    forms = {}
    for literal in literals():
        text = term_text(literal)
        try:
            forms[text] = canonical_terms(pa.array([text]), OBJECT)[0].as_py()
        except JellyError:
            continue
    assert len(forms) > 400
    texts = random.Random(1).sample(list(forms), len(forms))
    assert canonical_terms(pa.array(texts), OBJECT).to_pylist() == [forms[text] for text in texts]
    assert term_text(Literal("x")) in texts


def read_row(row: PatchRow) -> Any:
    """What staging reads of a DataFrame with one row."""
    columns = {name: [value] for name, value in row._asdict().items()}
    columns |= {"source": [1], "mark": [mark(Begin("x", 0, 1), 1)]}
    batch = pa.table(columns).to_batches()[0]
    numbers = ("source", "patch", "transaction", "order")
    strings = [name for name in columns if name not in numbers]
    schema = pa.schema([(name, pa.string() if name in strings else pa.int64()) for name in columns])
    [found] = _Reading(Segments()).columns([batch.cast(schema)])
    return found.statements


ROW = PatchRow(0, None, None, None, 0, "A", "<urn:s>", "<urn:p>", "<urn:o>")


@pytest.mark.parametrize(
    "changes",
    [
        {"predicate": None},
        {"kind": "X"},
        {"kind": None},
        {"graph": ""},
        {"subject": "<urn:A> <urn:p> <urn:o> .\n<urn:B>"},
        {"subject": '"literal"'},
        {"predicate": "_:b"},
        {"object": '"a"@en--ltr'},
        {"graph": "<urn:g> .\n<urn:s> <urn:p> <urn:o>"},
        {"graph": "<urn:jelly-plugins:bookkeeping>"},
    ],
)
def test_rows_that_are_not_operations_are_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(JellyError):
        read_row(ROW._replace(**changes))


def test_terms_that_were_rewritten_get_the_form_of_the_store() -> None:
    found = read_row(ROW._replace(subject="<urn:\\u0041>", graph="<urn:\\u0067>"))
    assert [found.subject.values(), found.graph.values()] == [["<urn:A>"], ["<urn:g>"]]
