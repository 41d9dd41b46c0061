"""rdflib's plugins: graphs and datasets, and results of queries."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from rdflib import BNode, Dataset, Graph, Literal, URIRef, namespace
from rdflib.compare import isomorphic
from rdflib.query import Result

from jelly_plugins import Iri, JellyError, Quad, TermError, Triple
from jelly_plugins import Literal as GenericLiteral
from jelly_plugins.codec import DEFAULT_GRAPH
from jelly_plugins.jena import JenaFormat, write
from jelly_plugins.jena.rdflib_plugins import dump
from jelly_plugins.rdflib import load

from ..fuzz.jena import random_rows
from ..shared_data import shared

# rdflib warns of features that it uses itself, and of lexical forms.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

NAMES = {JenaFormat.THRIFT: "rdf-thrift", JenaFormat.PROTOBUF: "rdf-protobuf"}
FORMATS = list(JenaFormat)
S, P, G = URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:g")
XSD_INTEGER = namespace.XSD.integer


def dataset_of(store: str = "default") -> Dataset:
    dataset = Dataset(store=store)
    for graph in (dataset.default_graph, dataset.graph(G), dataset.graph(BNode("g"))):
        graph.add((S, P, Literal("x", lang="en")))
        graph.add((BNode("b"), P, Literal(7)))
    return dataset


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["plugin", "media type"])
def test_a_graph(form: JenaFormat, name: str) -> None:
    title = NAMES[form] if name == "plugin" else f"application/{NAMES[form].replace('-', '+')}"
    graph = Graph()
    graph.parse(data="@prefix e: <http://e/> . e:s e:p e:o, 'x'@en, 1, [] .", format="turtle")
    data = graph.serialize(format=title, encoding="utf-8")
    copy = Graph().parse(data=data, format=title)
    assert isomorphic(copy, graph)
    assert copy.namespace_manager.store.namespace("e") is None
    data = graph.serialize(format=title, encoding="utf-8", namespaces={"e": URIRef("http://e/")})
    copy = Graph().parse(data=data, format=title)
    assert isomorphic(copy, graph)
    assert copy.namespace_manager.store.namespace("e") == URIRef("http://e/")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_dataset(form: JenaFormat, store: str) -> None:
    dataset = dataset_of(store)
    data = dataset.serialize(format=NAMES[form], encoding="utf-8")
    copy = Dataset(store=store)
    copy.parse(data=data, format=NAMES[form])
    assert len(list(copy.quads())) == len(list(dataset.quads())) == 6
    assert {type(graph.identifier) for graph in copy.graphs()} == {URIRef, BNode}
    assert len(copy.graph(G)) == 2
    with pytest.raises(JellyError, match="graph"):
        Graph(store=store).parse(data=data, format=NAMES[form])
    one = Graph(store=store)
    one.parse(data=write_bytes([Quad(*TRIPLE, DEFAULT_GRAPH)], form), format=NAMES[form])
    assert len(one) == 1


TRIPLE = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))


def write_bytes(statements: Any, form: JenaFormat) -> bytes:
    file = io.BytesIO()
    write(statements, file, format=form)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_files(tmp_path: Path, form: JenaFormat) -> None:
    import jelly_plugins.rdflib  # noqa: F401 (teaches rdflib the endings)

    graph = Graph().add((S, P, Literal("01", datatype=XSD_INTEGER)))
    endings = {"rt": ("rt", "trdf"), "rpb": ("rpb", "pbrdf")}[form]
    for ending in endings:
        path = tmp_path / f"x.{ending}"
        graph.serialize(path, format=NAMES[form])
        assert isomorphic(Graph().parse(path), graph)
    packed = tmp_path / f"x.{form}.gz"
    graph.serialize(packed, format=NAMES[form])
    assert gzip.decompress(packed.read_bytes()) == (tmp_path / f"x.{endings[0]}").read_bytes()
    assert isomorphic(Graph().parse(packed, format=NAMES[form]), graph)
    # rdflib decodes the bytes; those that are text by chance are the same after encoding.
    text = graph.serialize(format=NAMES[form])
    assert text.encode() == (tmp_path / f"x.{endings[0]}").read_bytes()
    graph.add((S, P, Literal("\xe9" * 100)))
    with pytest.raises(UnicodeDecodeError):
        graph.serialize(format=NAMES[form])
    graph.remove((S, P, Literal("\xe9" * 100)))
    assert dump(graph, tmp_path / f"y.{form}") == 1
    assert isomorphic(Graph().parse(tmp_path / f"y.{form}"), graph)
    assert load(Graph(), tmp_path / f"y.{form}") == 1


@pytest.mark.parametrize("form", FORMATS)
def test_rejected_data_leaves_the_graph_unchanged(form: JenaFormat) -> None:
    for last in (
        Triple(Iri("urn:s"), Iri("urn:p"), TRIPLE),
        Triple(Iri("urn:s"), Iri("urn:p"), GenericLiteral("x", "en--ltr")),
        Quad(*TRIPLE, Iri("urn:g")),
    ):
        graph = Graph().add((S, P, S))
        with pytest.raises(TermError) as caught:
            graph.parse(data=write_bytes([TRIPLE, last], form), format=NAMES[form])
        assert caught.value.source is not None
        assert len(graph) == 1
    graph = Graph()
    good = write_bytes([TRIPLE], form)
    with pytest.raises(JellyError):
        graph.parse(data=good + good[:-1], format=NAMES[form])
    assert len(graph) == 0
    with pytest.raises(JellyError):
        graph.parse(data=good + good[:-1], format=NAMES[form], atomic=False)


@pytest.mark.parametrize("form", FORMATS)
def test_mutated_rows_end_in_one_error(form: JenaFormat) -> None:
    draw = random.Random(3)
    for _ in range(150):
        data = random_rows(draw, form)
        dataset = Dataset()
        try:
            dataset.parse(data=data, format=NAMES[form])
        except JellyError:
            assert list(dataset.quads()) == []


# Results


@pytest.mark.parametrize("form", ["srt", "srp"])
def test_results_are_those_of_the_same_query(form: str) -> None:
    path = shared(f"data/jena/g.{form}")
    with open(path, "rb") as file:
        found = Result.parse(file, format=form)
    answers = json.loads(shared("data/jena/g.srj").read_text())["results"]["bindings"]
    expected = Result.parse(io.StringIO(shared("data/jena/g.srj").read_text()), format="json")
    assert [str(name) for name in found.vars or ()] == ["s", "p", "o", "g"]
    assert len(found.bindings) == len(answers) == 13
    for ours, theirs in zip(found.bindings, expected.bindings, strict=True):
        assert set(ours) == set(theirs)
        for name, term in ours.items():
            if not isinstance(term, BNode):
                assert term.n3() == theirs[name].n3()
    data = found.serialize(format=form)
    assert data is not None
    again = Result.parse(io.BytesIO(data), format=form)
    assert [set(each) for each in again.bindings] == [set(each) for each in found.bindings]


@pytest.mark.parametrize("form", ["srt", "application/sparql-results+protobuf"])
def test_results_of_a_graph(form: str, tmp_path: Path) -> None:
    graph = Graph().add((S, P, Literal("x", lang="en"))).add((S, P, BNode("b")))
    query = "SELECT ?s ?o ?none { ?s ?p ?o OPTIONAL { ?o <urn:no> ?none } }"
    result = graph.query(query)
    result.serialize(destination=str(tmp_path / "x"), format=form)
    with open(tmp_path / "x", "rb") as file:
        copy = Result.parse(file, format=form)
    assert [str(name) for name in copy.vars or ()] == ["s", "o", "none"]
    assert len(copy.bindings) == 2
    assert Literal("x", lang="en") in [row.get("o") for row in copy]  # type: ignore[union-attr]
    with pytest.raises(TermError, match="no place"):
        graph.query("ASK { ?s ?p ?o }").serialize(format=form)
