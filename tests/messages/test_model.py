"""Messages in the terms of other libraries, and messages made from those."""

from __future__ import annotations

from typing import Any

import pyoxigraph
import pytest
import rdflib
from rdflib import namespace
from rdflib.compare import isomorphic

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    Literal,
    Quad,
    TermError,
    Triple,
)
from jelly_plugins.messages import Message, read_messages

from .logs import EX, FORMATS, QUADS, TRIPLES, XSD, quad_sets, read, written

MESSAGE = Message([Quad(*triple, DEFAULT_GRAPH) for triple in TRIPLES])
IN_GRAPHS = Message(
    [
        Quad(*TRIPLES[0], DEFAULT_GRAPH),
        Quad(*TRIPLES[8], Iri(EX + "g")),
        Quad(*TRIPLES[10], BlankNode("b1")),
    ]
)


@pytest.mark.parametrize("format_", FORMATS)
def test_graphs_round_trip(format_: str) -> None:
    graph = MESSAGE.graph()
    assert len(graph) == len(TRIPLES)
    empty, again = (
        each.graph() for each in read(written([rdflib.Graph(), graph], format_), format_)
    )
    assert len(empty) == 0
    assert isomorphic(again, graph)


@pytest.mark.parametrize("format_", QUADS)
def test_datasets_round_trip(format_: str) -> None:
    dataset = IN_GRAPHS.dataset()
    [message] = read(written([dataset], format_), format_)
    again = message.dataset()
    assert len(again) == len(dataset) == 3
    assert {graph.identifier for graph in again.graphs()} > {rdflib.URIRef(EX + "g")}
    assert {len(graph) for graph in again.graphs()} == {1}


@pytest.mark.parametrize("format_", QUADS)
def test_pyoxigraphs_quads_round_trip(format_: str) -> None:
    quads = IN_GRAPHS.oxigraph()
    assert all(isinstance(quad, pyoxigraph.Quad) for quad in quads)
    [message] = read(written([quads], format_), format_)
    assert pyoxigraph.Dataset(message.oxigraph()) != pyoxigraph.Dataset(quads)
    one, other = pyoxigraph.Dataset(message.oxigraph()), pyoxigraph.Dataset(quads)
    for each in (one, other):
        each.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    assert one == other


def test_statements_of_any_kind_are_a_message() -> None:
    expected = [
        Quad(Iri(EX + "s"), Iri(EX + "p"), Literal("1", None, XSD + "integer"), DEFAULT_GRAPH)
    ]
    s, p, one = rdflib.URIRef(EX + "s"), rdflib.URIRef(EX + "p"), rdflib.Literal(1)
    node, number = pyoxigraph.NamedNode, pyoxigraph.Literal(1)
    messages: list[Any] = [
        expected,
        [expected[0][:3]],
        [Triple(*expected[0][:3])],
        [(s, p, one)],
        [(s, p, one, rdflib.graph.DATASET_DEFAULT_GRAPH_ID)],
        [pyoxigraph.Triple(node(EX + "s"), node(EX + "p"), number)],
        iter([pyoxigraph.Quad(node(EX + "s"), node(EX + "p"), number)]),
        Message(expected),
    ]
    assert [m.quads for m in read(written(messages, "nq"), "nq")] == [expected] * len(messages)


def test_blank_nodes_are_each_messages_own() -> None:
    log = b'VERSION "1.2-messages"\n_:a <urn:p> _:b .\nMESSAGE\n_:a <urn:p> _:b .\n'
    graphs = [message.graph() for message in read_messages(log, format="nq")]
    quads = [message.oxigraph() for message in read_messages(log, format="nq")]
    nodes = [set(graph.all_nodes()) for graph in graphs]
    assert not nodes[0] & nodes[1]
    assert len(nodes[0] | nodes[1]) == 4
    assert {quads[0][0].subject, quads[0][0].object}.isdisjoint(
        (quads[1][0].subject, quads[1][0].object)
    )
    everything = rdflib.Graph()
    for graph in graphs:
        everything += graph
    assert len(everything) == 2


def test_a_graph_has_no_graphs() -> None:
    with pytest.raises(TermError, match="named graphs"):
        IN_GRAPHS.graph()


@pytest.mark.parametrize(
    "wrong",
    [
        [1],
        [(Iri("urn:s"), Iri("urn:p"))],
        [("s", "p", "o")],
        [(Iri("urn:s"), rdflib.URIRef("urn:p"), namespace.RDF.type)],
        [(Iri("urn:s"), Iri("urn:p"), Literal("x"), Iri("urn:g"), Iri("urn:x"))],
        [(None, None, None)],
        5,
    ],
)
@pytest.mark.parametrize("format_", FORMATS)
def test_values_that_are_not_statements_are_rejected(wrong: Any, format_: str) -> None:
    with pytest.raises(JellyError, match=r"message 1"):
        written([[], wrong], format_)


def test_messages_with_the_same_statements_are_equal() -> None:
    [one] = read(written([TRIPLES[:2]], "nq"), "nq")
    [other] = read(written([TRIPLES[:2]], "jelly"), "jelly")
    assert one == other
    assert list(one) == one.quads
    assert quad_sets([one]) == quad_sets([other])
    assert (one.line, other.line) == (2, None)
