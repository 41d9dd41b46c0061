"""Counts of terms in ``inspect --detail``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    Quad,
    StreamOptions,
    Triple,
    write,
)
from jelly_plugins.codec.common.terms import XSD_STRING
from jelly_plugins.tools import term_counts
from jelly_plugins.tools.inspection import inspect
from tests.cli.command import jelly

S, P = Iri("urn:s"), Iri("urn:p")
ROWS = [
    Quad(S, P, Literal("a"), DEFAULT_GRAPH),
    Quad(S, P, Literal("b", langtag="en"), S),
    Quad(BlankNode("b"), P, Triple(S, P, S), S),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write(
        ROWS,
        tmp_path / "x.jelly",
        options=StreamOptions(physical_type=2, logical_type=2, rdf_star=True),
        namespaces={"x": "urn:"},
    )
    return tmp_path / "x.jelly"


def test_counts(path: Path) -> None:
    assert inspect(path).terms is None
    found = inspect(path, detail=True)
    assert found.namespaces == {"x": ["urn:"]}
    assert found.terms is not None
    counts = found.terms.as_dict()
    assert counts["positions"] == {
        "subject": {"IRIs": 2, "blank nodes": 1},
        "predicate": {"IRIs": 3},
        "object": {"literals": 2, "quoted triples": 1},
        "graph": {"the default graph": 1, "IRIs": 2},
    }
    assert counts["distinct"]["IRIs"] == 2
    assert counts["distinct"]["literals"] == 2
    assert counts["longest"]["IRIs"] == 5
    assert counts["datatypes"] == {XSD_STRING: 1}
    assert counts["languages"] == {"en": 1}
    assert counts["predicates"] == {"urn:p": 3}
    assert counts["complete"]


def test_memory_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_counts, "COUNTED", 2)
    found = inspect(path, detail=True).terms
    assert found is not None
    assert not found.complete
    assert sum(found.distinct.values()) == 2


def test_the_command(path: Path) -> None:
    text = jelly("inspect", path, "--detail").text
    assert "urn:p" in text.partition("predicates, the most frequent first")[2]
    assert "distinct terms" in text
    found = json.loads(jelly("inspect", path, "--detail", "--json").text)
    assert found["terms"]["predicates"] == {"urn:p": 3}
    assert json.loads(jelly("inspect", path, "--json").text)["terms"] is None
