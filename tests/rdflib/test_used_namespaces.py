"""Namespaces that are written because an IRI begins with them."""

from __future__ import annotations

import io

import pytest
from rdflib import RDF, Dataset, Graph, Literal, URIRef, namespace

from jelly_plugins import read_frames


@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_only_those_that_are_used(store: str) -> None:
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib")
    graph = Graph(store=store)
    graph.bind("ex", "http://example.org/")
    graph.bind("not", "http://example.com/")
    graph.add((URIRef("http://example.org/s"), RDF.type, URIRef("urn:t")))
    graph.add((URIRef("urn:s"), URIRef("urn:p"), Literal(1)))
    out = io.BytesIO()
    graph.serialize(out, format="jelly-plugins", namespaces="used")
    with read_frames(out.getvalue()) as frames:
        names = {name: iri.value for frame in frames for name, iri in frame.namespaces}
    assert names == {"ex": "http://example.org/", "rdf": str(RDF), "xsd": str(namespace.XSD)}


def test_names_of_graphs_count() -> None:
    dataset = Dataset()
    dataset.bind("ex", "http://example.org/")
    dataset.add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"), URIRef("http://example.org/g")))
    out = io.BytesIO()
    dataset.serialize(out, format="rdf-thrift", namespaces="used")
    assert b"http://example.org/" in out.getvalue()
    assert b"http://www.w3.org/2001/XMLSchema#" not in out.getvalue()
