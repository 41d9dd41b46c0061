"""Terms in the form of the store, and the quads of columns."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from jelly_plugins.arrow import QUADS
from jelly_plugins.codec import Literal
from jelly_plugins.codec.common.positions import OBJECT, POSITIONS
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import JellyError
from jelly_plugins.spark.shards import shard
from jelly_plugins.spark.shards.shard import canonical_terms, quads_of

from ...codec.test_patch_columns import literals


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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("predicate", None),
        ("graph", ""),
        ("subject", "<urn:A> <urn:p> <urn:o> .\n<urn:B>"),
        ("subject", '"literal"'),
        ("predicate", "_:b"),
        ("object", '"a"@en--ltr'),
        ("graph", "<urn:g> .\n<urn:s> <urn:p> <urn:o>"),
        ("graph", "<urn:jelly-plugins:bookkeeping>"),
    ],
)
def test_terms_that_are_rejected(name: str, text: str | None) -> None:
    with pytest.raises(JellyError) as caught:
        canonical_terms(pa.array(["<urn:x>", text], pa.string()), POSITIONS.index(name))
    assert caught.value.row == 1


def test_terms_that_were_rewritten_get_the_form_of_the_store() -> None:
    for position in range(4):
        assert canonical_terms(pa.array(["<urn:\\u0041>"]), position)[0].as_py() == "<urn:A>"


def test_long_lines_are_the_same_quads(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[Any] = [
        ("<urn:s>", "<urn:p>", '"a\\n\\"é"@en', None),
        ("_:b", "<urn:p>", '<<( _:b <urn:p> "x" )>>', "_:g"),
        ("_:b", "<urn:p>", '"1"^^<http://www.w3.org/2001/XMLSchema#integer>', "<urn:g>"),
    ]
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    batch = pa.RecordBatch.from_arrays(columns, schema=QUADS)
    expected = set(quads_of(batch))
    assert len(expected) == 3
    monkeypatch.setattr(shard, "_LONG_LINE", 1)
    assert set(quads_of(batch)) == expected
