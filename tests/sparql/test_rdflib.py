"""rdflib's result plugins, and its store over HTTP."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("rdflib")

from rdflib import RDF, BNode, Graph, Literal, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from rdflib.query import Result

from jelly_plugins.errors import TermError
from jelly_plugins.sparql import ResultsFormat, read_results

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


class Endpoint(BaseHTTPRequestHandler):
    """Answers queries in the requested media type, if that is Jelly-SPARQL."""

    accepted: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)["query"][0]
        self.accepted.append(self.headers["Accept"])
        data = graph().query(query).serialize(format="jelly-sparql")
        self.send_response(200 if MEDIA_TYPE in self.headers["Accept"] else 406)
        self.send_header("Content-Type", f"{MEDIA_TYPE}; charset=binary")
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/sparql"
        server.shutdown()
        thread.join()


def test_a_store_over_http(endpoint: str) -> None:
    store = SPARQLStore(endpoint, returnFormat=MEDIA_TYPE)
    result = Graph(store).query(QUERY)
    assert len(list(result)) == 100
    assert Endpoint.accepted[-1] == MEDIA_TYPE
    assert bool(Graph(store).query("ASK { ?s ?p ?o }")) is True
