"""``read_quads``: a source as pyoxigraph quads, lazily."""

from __future__ import annotations

import io
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError, LimitError, Limits, TermError
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import read_quads

from .support import BlankNode, G, Iri, O, P, Quad, S, StreamOptions, Triple, jelly, numbered

GRAPH = ox.NamedNode("urn:g")


def test_triples_are_quads_of_the_default_graph() -> None:
    (quad,) = read_quads(jelly(Triple(S, P, O)))
    assert quad == ox.Quad(*(ox.NamedNode(f"urn:{letter}") for letter in "spo"))


@pytest.mark.parametrize("graph", [GRAPH, ox.BlankNode("g"), ox.DefaultGraph()])
def test_triples_go_into_a_graph(graph: Any) -> None:
    (quad,) = read_quads(jelly(Triple(S, P, O)), graph=graph)
    assert quad.graph_name == graph


def test_quads_are_rejected_with_a_graph() -> None:
    with pytest.raises(TermError, match="a quad in a named graph") as caught:
        list(read_quads(jelly(Quad(S, P, O, G)), graph=GRAPH))
    assert caught.value.source == "<bytes>"


def test_a_graph_is_a_graph_name() -> None:
    with pytest.raises(TypeError, match="got 'urn:g'"):
        list(read_quads(jelly(Triple(S, P, O)), graph="urn:g"))  # type: ignore[arg-type]


def test_labels_are_kept_by_default() -> None:
    data = jelly(Triple(BlankNode("x"), P, BlankNode("a b")))
    (quad,) = read_quads(data)
    assert quad.subject == ox.BlankNode("x")
    assert list(read_quads(data)) == [quad]
    (fresh,) = read_quads(data, blank_nodes="fresh")
    assert fresh.subject not in (quad.subject, fresh.object)
    assert list(read_quads(data, blank_nodes="fresh")) != [fresh]


def test_labels_of_concatenated_streams_are_apart_when_fresh() -> None:
    data = jelly(Triple(BlankNode("x"), P, O)) + jelly(Triple(BlankNode("x"), P, O))
    first, second = read_quads(data, blank_nodes="fresh", concatenated=True)
    assert first.subject != second.subject


def test_a_graph_is_checked_for_each_concatenated_stream() -> None:
    data = jelly(Triple(S, P, O)) + jelly(Quad(S, P, O, G))
    quads = read_quads(data, graph=GRAPH, concatenated=True)
    assert next(quads).graph_name == GRAPH
    with pytest.raises(TermError, match="a quad in a named graph"):
        next(quads)


def test_reading_is_lazy() -> None:
    data = write_bytes(numbered(2000), frame_rows=20, options=StreamOptions())
    source = io.BytesIO(data[:-1])
    quads = read_quads(source)
    assert next(quads).subject == ox.NamedNode("urn:s/0")
    with pytest.raises(JellyError, match="ends inside a frame"):
        list(quads)


def test_limits_hold() -> None:
    with pytest.raises(LimitError, match="frame_rows"):
        list(read_quads(jelly(*numbered(20)), limits=Limits(frame_rows=10)))


def test_what_to_do_with_quoted_triples_is_known() -> None:
    with pytest.raises(ValueError, match="'reject' or 'reify'"):
        list(read_quads(jelly(Triple(S, P, O)), quoted_triples="drop"))  # type: ignore[arg-type]


def test_errors_name_the_row() -> None:
    good = numbered(3)
    with pytest.raises(TermError, match=r"<bytes>: frame 1, row \d+: Oxigraph rejects the IRI"):
        list(read_quads(write_bytes([*good, Triple(Iri("bad"), P, O)], frame_rows=5)))
