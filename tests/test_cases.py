"""Inputs that other tools read: each gives its right value, or an error that says why not.

They are shared data (``cases``), whose README describes them; tests are skipped without it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import rdflib
from pyoxigraph import RdfFormat, Store, parse
from rdflib.compare import isomorphic

from jelly_plugins import ConversionSettings, Iri, Literal, convert
from jelly_plugins import oxigraph as for_oxigraph
from jelly_plugins import rdflib as for_rdflib
from jelly_plugins.errors import ChainError, TermError, TextError
from jelly_plugins.patch import check
from jelly_plugins.patch.logs import convert as convert_patches
from jelly_plugins.sparql import read_results, write_results

from .conversions import written
from .shared_data import SHARED, shared

BASE = "http://b/x/y"
CONTEXT = "http://s.example/"
#: Documents that are rejected, with an error that says why.
REJECTED = {
    "05-integer-of-21-digits.jsonld": "the number 100000000000000000000 cannot be read",
    "06-type-map.jsonld": "@type must be the first key",
}


def cases(folder: str, *patterns: str) -> list[Any]:
    """The names of the files of a folder of cases, none without the shared data."""
    found = (path for each in patterns for path in (SHARED / "cases" / folder).glob(each))
    return sorted(path.name for path in found)


def case(folder: str, name: str) -> Path:
    return shared(f"cases/{folder}/{name}")


def test_cases_exist() -> None:
    shared("cases/README.md")
    assert len(cases("text", "*.rdf", "*.jsonld")) >= 10
    assert len(cases("results", "*")) >= 10
    assert len(cases("patches", "*")) >= 7


# Text


def expected(path: Path) -> set[str]:
    return {str(quad) for quad in parse(path.read_bytes(), RdfFormat.N_TRIPLES)}


def contexts() -> dict[str, Any]:
    return {CONTEXT: json.loads(case("text", "07-context.json").read_bytes())}


def read_by_oxigraph(path: Path) -> set[str]:
    store = Store()
    for_oxigraph.load(store, path, base=BASE, contexts=contexts())
    return {str(quad.triple) for quad in store}


def read_by_rdflib(path: Path) -> set[str]:
    graph = rdflib.Graph()
    for_rdflib.load(graph, path, base=BASE, contexts=contexts())
    assert isomorphic(graph, rdflib.Graph().parse(path.with_suffix(".nt")))
    return expected(path.with_suffix(".nt"))


def converted(path: Path) -> set[str]:
    settings = ConversionSettings(base=BASE, contexts=contexts())
    text = written(convert, path, target_format="nt", settings=settings)
    return {str(quad) for quad in parse(text, RdfFormat.N_TRIPLES)}


@pytest.mark.parametrize("read", [read_by_oxigraph, read_by_rdflib, converted])
@pytest.mark.parametrize("name", cases("text", "*.rdf", "*.jsonld"))
def test_text(name: str, read: Any) -> None:
    path = case("text", name)
    if name in REJECTED:
        with pytest.raises(TextError, match=REJECTED[name]):
            read(path)
    else:
        assert read(path) == expected(path.with_suffix(".nt"))


def test_contexts_as_bytes() -> None:
    store = Store()
    path = case("text", "07-remote-context.jsonld")
    given = {CONTEXT: case("text", "07-context.json").read_bytes()}
    for_oxigraph.load(store, path, contexts=given)
    assert {str(quad.triple) for quad in store} == expected(path.with_suffix(".nt"))


@pytest.mark.parametrize("name", cases("text", "10-*"))
def test_an_iri_that_oxigraph_rejects_has_the_same_error_everywhere(name: str) -> None:
    with pytest.raises((TermError, TextError), match=r"'\['"):
        for_oxigraph.load(Store(), case("text", name))


# Results

#: The solutions of the cases, by their number.
SOLUTIONS: dict[str, list[Any]] = {
    "01": [(Iri("urn:a"),)],
    "02": [(Iri("urn:a"),)],
    "04": [(Literal("a", datatype="http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"),)],
    "05": [(Iri("http://ex/100%"),)],
    "06": [(Literal("a"),)],
    "07": [(Iri("urn:a"),)],
}


@pytest.mark.parametrize("name", cases("results", "*"))
def test_results(name: str) -> None:
    reader = read_results(case("results", name))
    rows = list(reader)
    if name.startswith("03"):
        assert [row[0].label for row in rows] == ["nodeID://b10"]
    else:
        assert rows == SOLUTIONS[name[:2]]
    for format_ in ("srj", "srx", "jelly-sparql"):
        text = written(write_results, reader.variables, rows, format=format_)
        assert list(read_results(text, format=format_)) == rows


# Patches


def replayed(path: Path) -> set[str]:
    store = Store()
    for_oxigraph.replay(store, path)
    return {str(quad.triple) for quad in store if quad.graph_name != for_oxigraph.BOOKKEEPING}


@pytest.mark.parametrize("name", ["08-bom.rdfp", "11-default-graph-names.rdfp"])
def test_patches(name: str) -> None:
    path = case("patches", name)
    assert check(path).problems == []
    assert replayed(path) == {'<urn:s> <urn:p> "1"'}
    assert check(written(convert_patches, [path], target_format="jellyp")).problems == []


@pytest.mark.parametrize(
    ("name", "problems", "error"),
    [
        ("09-header-previous.rdfp", 0, "follows patch <uuid:p0>, but nothing was applied"),
        ("09-header-upper-case-gap.rdfp", 1, "follows patch <uuid:p1>, but the patch before it"),
        ("10-prev-is-own-id.rdfp", 1, "follows patch <uuid:a>, but nothing was applied"),
    ],
)
def test_chains_of_patches(name: str, problems: int, error: str) -> None:
    path = case("patches", name)
    assert len(check(path).problems) == problems
    with pytest.raises(ChainError, match=error):
        replayed(path)


@pytest.mark.parametrize("name", cases("patches", "12-*"))
def test_rows_that_rdf_patch_does_not_allow(name: str) -> None:
    with pytest.raises(TextError, match="line 2, column"):
        replayed(case("patches", name))
