"""Streams read as triples or as quads, whatever their type."""

from __future__ import annotations

import pytest
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

import jelly_plugins.rdflib
from jelly_plugins import (
    DEFAULT_GRAPH,
    Iri,
    JellyError,
    Quad,
    StatementError,
    Triple,
    read_quads,
    read_triples,
)
from jelly_plugins.io.streams import write_bytes

S, P, OBJECT, G = (Iri(f"urn:{name}") for name in "spog")
TRIPLES = write_bytes([Triple(S, P, OBJECT), Triple(S, P, G)])
QUADS = write_bytes([Quad(S, P, OBJECT, DEFAULT_GRAPH), Quad(S, P, OBJECT, G)])
DEFAULT = write_bytes([Quad(S, P, OBJECT, DEFAULT_GRAPH)])


def test_generic_terms() -> None:
    assert [(s, o) for s, _, o in read_triples(TRIPLES)] == [(S, OBJECT), (S, G)]
    assert list(read_triples(DEFAULT)) == [Triple(S, P, OBJECT)]
    assert [g for _, _, _, g in read_quads(QUADS)] == [DEFAULT_GRAPH, G]
    assert list(read_quads(TRIPLES))[1] == Quad(S, P, G, DEFAULT_GRAPH)
    found = read_triples(QUADS)
    assert next(found) == Triple(S, P, OBJECT)
    with pytest.raises(StatementError, match="named graph: read_quads") as caught:
        next(found)
    assert (caught.value.source, caught.value.frame) == ("<bytes>", 0)


def test_rdflib_terms() -> None:
    assert [str(o) for _, _, o in jelly_plugins.rdflib.read_triples(TRIPLES)] == ["urn:o", "urn:g"]
    assert [len(each) for each in jelly_plugins.rdflib.read_triples(DEFAULT)] == [3]
    names = [g for _, _, _, g in jelly_plugins.rdflib.read_quads(QUADS)]
    assert names[0] == DATASET_DEFAULT_GRAPH_ID
    assert str(names[1]) == "urn:g"
    assert [len(each) for each in jelly_plugins.rdflib.read_quads(TRIPLES)] == [4, 4]
    with pytest.raises(JellyError, match="Dataset"):
        list(jelly_plugins.rdflib.read_triples(QUADS))
