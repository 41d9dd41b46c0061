"""rdflib's result plugins, and its store over HTTP."""

from __future__ import annotations

import io
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("rdflib")

from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from rdflib.query import Result

from jelly_plugins.errors import TermError
from jelly_plugins.sparql import ResultsFormat, read_results

from ..io.test_http import answer_of, answering

MEDIA_TYPE = ResultsFormat.JELLY.media_type


def graph() -> Graph:
    made = Graph()
    for number in range(100):
        subject = URIRef(f"http://e.org/{number}")
        made.add((subject, RDF.type, URIRef("http://e.org/T")))
        made.add((subject, RDF.value, Literal(number) if number % 2 else BNode()))
    return made


QUERY = f"SELECT ?s ?v ?none {{ ?s a ?t ; <{RDF.value}> ?v OPTIONAL {{ ?s <urn:no> ?none }} }}"


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        *(("jelly-sparql", "jellys"), ("jellys", "jellys"), (MEDIA_TYPE, "jellys")),
        *(("srt", "srt"), ("application/sparql-results+protobuf", "srp")),
    ],
)
def test_there_and_back(name: str, ending: str, tmp_path: Path) -> None:
    result = graph().query(QUERY)
    result.serialize(str(tmp_path / f"x.{ending}"), format=name)
    data = result.serialize(format=name)
    assert data is not None
    for found in (data, (tmp_path / f"x.{ending}").read_bytes()):
        copy = Result.parse(io.BytesIO(found), format=name)
        assert copy.vars == result.vars
        assert len(copy.bindings) == len(result.bindings) == 100
        rows = [
            {key: "b" if isinstance(term, BNode) else term for key, term in row.items()}
            for each in (copy, result)
            for row in each.bindings
        ]
        assert rows[:100] == rows[100:]
    if ending != "jellys":
        with pytest.raises(TermError, match="no place"):
            graph().query("ASK { ?s ?p ?o }").serialize(format=name)


@pytest.mark.parametrize("form", ["json", "xml"])
def test_what_rdflib_writes(form: str) -> None:
    """In JSON the solutions come before the head."""
    result = graph().query(QUERY)
    data = result.serialize(format=form)
    assert data is not None
    with read_results(data, format=form) as found:
        assert found.variables == [str(name) for name in result.vars or ()]
        assert len(list(found)) == 100


def test_ask_and_construct() -> None:
    for query, value in (("ASK { ?s ?p ?o }", True), ("ASK { <urn:no> ?p ?o }", False)):
        data = graph().query(query).serialize(format="jelly-sparql")
        assert data is not None
        assert read_results(data).boolean is value
        assert bool(Result.parse(io.BytesIO(data), format="jelly-sparql")) is value
    result = Result("CONSTRUCT")
    from jelly_plugins.rdflib.results import JellyResultSerializer

    with pytest.raises(TermError, match="cannot express results of type CONSTRUCT"):
        JellyResultSerializer(result).serialize(io.BytesIO())


def test_a_store_over_http() -> None:
    accepted = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        accepted.append(handler.headers["Accept"])
        query = parse_qs(urlsplit(handler.path).query)["query"][0]
        data = graph().query(query).serialize(format="jelly-sparql") or b""
        header = "Content-Type", f"{MEDIA_TYPE}; charset=binary"
        answer_of(200, header, body=data)(handler)

    with answering(answer) as endpoint:
        store = SPARQLStore(endpoint, returnFormat=MEDIA_TYPE)
        assert len(list(Graph(store).query(QUERY))) == 100
        assert bool(Graph(store).query("ASK { ?s ?p ?o }")) is True
    assert accepted == [MEDIA_TYPE] * 2
