"""The package's topics and sinks, over a socket."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox
import pytest
from rdflib import BNode, Dataset, Graph, URIRef
from rdflib import Literal as RdflibLiteral
from rdflib.compare import isomorphic

from jelly_plugins import BlankNode, Iri, Literal, StreamOptions, Triple, write
from jelly_plugins.codec import Encoder, LogicalType, PhysicalType
from jelly_plugins.errors import ServiceError
from jelly_plugins.grpc import FileTopic, FrameSink, Published, StoreSink, StoreTopic, Topics
from jelly_plugins.oxigraph import load
from jelly_plugins.reserved import BOOKKEEPING_IRI

from .support import (
    GARBAGE,
    G,
    delimited,
    eventually,
    frames_of,
    numbered,
    quads,
    rejected,
    service,
)

S, P = ox.NamedNode("urn:s"), ox.NamedNode("urn:p")


def filled(count: int = 5) -> ox.Store:
    store = ox.Store()
    load(store, delimited(frames_of(quads(count))))
    return store


# Topics


def test_a_file_is_streamed_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.gz"
    write(numbered(600), path)
    with service({"t": str(path), "u": path, "v": FileTopic(path)}) as (_, client):
        for name in "tuv":
            with client.subscribe(name) as stream:
                assert list(stream.statements()) == numbered(600)
        with rejected("INVALID_ARGUMENT"):
            list(client.subscribe("t", options=StreamOptions.small()))


def test_a_file_that_is_missing_or_broken(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    with service({"t": path}) as (_, client):
        with rejected("UNAVAILABLE", "does not exist now") as missing:
            list(client.subscribe("t"))
        path.write_bytes(delimited(frames_of(numbered(600)))[:-1])
        with rejected("DATA_LOSS", "inside a frame") as broken:
            list(client.subscribe("t"))
        path.write_text("<urn:s> <urn:p> <urn:o> .")
        with rejected("DATA_LOSS", "this is text, not Jelly") as other:
            list(client.subscribe("t"))
    for caught in (missing, broken, other):
        assert str(tmp_path) not in str(caught.value)


def test_a_store_is_written_with_the_requested_options() -> None:
    asked = StreamOptions(
        physical_type=PhysicalType.GRAPHS,
        max_name_table_size=8,
        max_prefix_table_size=0,
        max_datatype_table_size=100_000,
        version=1,
    )
    with service({"t": filled()}) as (_, client), client.subscribe("t", options=asked) as stream:
        assert set(stream.statements()) == set(quads(5))
        found = stream.options
    assert found.physical_type is PhysicalType.GRAPHS
    # Tables are never larger than by default.
    assert (found.max_name_table_size, found.max_prefix_table_size) == (8, 0)
    assert found.max_datatype_table_size == 32
    assert (found.version, found.stream_name) == (1, "t")


def test_a_graph_of_a_store_is_triples() -> None:
    topic = StoreTopic(filled(), graph=ox.NamedNode(G.value))
    with service({"t": topic}) as (_, client):
        assert set(client.subscribe("t").statements()) == set(numbered(5))
        asked = StreamOptions(physical_type=PhysicalType.QUADS)
        found = set(client.subscribe("t", options=asked).statements())
        assert {statement[:3] for statement in found} == set(map(tuple, numbered(5)))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (StreamOptions(), "has quads"),
        (
            StreamOptions(
                physical_type=PhysicalType.QUADS, logical_type=LogicalType.TIMESTAMPED_NAMED_GRAPHS
            ),
            "no frames",
        ),
    ],
)
def test_options_that_a_store_does_not_have(asked: StreamOptions, words: str) -> None:
    with service({"t": filled()}) as (_, client), rejected("INVALID_ARGUMENT", words):
        list(client.subscribe("t", options=asked))


def test_triple_terms_are_sent_only_on_request() -> None:
    store = filled()
    store.add(ox.Quad(S, P, ox.Triple(S, P, S)))
    asked = StreamOptions(physical_type=PhysicalType.QUADS)
    with service({"t": store}) as (_, client):
        with rejected("INVALID_ARGUMENT", "rdf_star"):
            list(client.subscribe("t", options=asked))
        for options in (None, StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)):
            assert len(list(client.subscribe("t", options=options).statements())) == 6


def test_bookkeeping_is_not_streamed() -> None:
    store = filled()
    store.add(ox.Quad(S, P, P, ox.NamedNode(BOOKKEEPING_IRI)))
    with service({"t": store}) as (_, client):
        assert set(client.subscribe("t").statements()) == set(quads(5))


def test_a_subscriber_that_leaves_ends_the_dump() -> None:
    store = ox.Store()
    load(store, delimited(frames_of(quads(40_000))))
    with service({"t": store}) as (_, client):
        with client.subscribe("t", backend="oxigraph") as stream:
            next(stream)
        with client.subscribe("t") as stream:
            stream.close()
            assert list(stream) == []
    # The server waits for active dumps; it would wait forever for one that continued.
    assert not [each for each in threading.enumerate() if each.name == "jelly-chunks"]


def test_rdflib_graphs_and_datasets_are_streamed() -> None:
    graph = Graph()
    node = BNode()
    graph.add((URIRef("urn:s"), URIRef("urn:p"), node))
    graph.add((node, URIRef("urn:p"), RdflibLiteral("x", lang="en")))
    dataset = Dataset()
    dataset.graph(URIRef("urn:g")).add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    with service({"graph": graph, "dataset": StoreTopic(dataset)}) as (_, client):
        copy = Graph()
        client.subscribe("graph").load(copy)
        assert isomorphic(graph, copy)
        other = Dataset()
        client.subscribe("dataset").load(other)
        assert set(other.quads()) == set(dataset.quads())
        with rejected("INVALID_ARGUMENT", "named graphs"):
            list(client.subscribe("dataset", options=StreamOptions()))
        asked = StreamOptions(
            physical_type=PhysicalType.TRIPLES, logical_type=LogicalType.SUBJECT_GRAPHS
        )
        found = [len(frame.statements) for frame in client.subscribe("graph", options=asked)]
        assert found == [1, 1]


def test_a_value_that_is_not_a_topic() -> None:
    with pytest.raises(TypeError, match="no graph, dataset or store"):
        Topics({"t": 7})


# Sinks


@pytest.mark.parametrize("on_disk", [False, True])
@pytest.mark.parametrize("count", [1, 600, 9_000])
def test_a_published_stream_is_loaded_and_streamed(
    tmp_path: Path, on_disk: bool, count: int
) -> None:
    store = ox.Store(str(tmp_path / "store")) if on_disk else ox.Store()
    copy, expected = ox.Store(), filled(count)
    with service({"t": store}, sink=StoreSink(store)) as (_, client):
        client.publish(quads(count))
        client.publish(quads(count))
        with client.subscribe("t") as stream:
            assert stream.load(copy) == count
    assert set(store) == set(copy) == set(expected)


sinks = pytest.mark.parametrize("sink", [StoreSink, FrameSink])
AnySink: TypeAlias = type[StoreSink | FrameSink]


@pytest.mark.parametrize("new", [filled, Dataset])
def test_nothing_is_loaded_of_a_broken_stream(new: Callable[[], Any]) -> None:
    store = new()
    before = len(store)
    with service(sink=StoreSink(store)) as (_, client), rejected("INVALID_ARGUMENT", "row 0"):
        client.publish_frames([*frames_of(quads(9_000)), GARBAGE])
    assert len(store) == before


@sinks
@pytest.mark.parametrize(
    ("term", "words"),
    [({"subject": Iri("no iri")}, ""), ({"graph": Iri(BOOKKEEPING_IRI)}, "bookk")],
)
def test_nothing_is_loaded_of_a_stream_that_a_store_cannot_hold(
    sink: AnySink, term: dict[str, Any], words: str
) -> None:
    store = filled()
    with service(sink=sink(store)) as (_, client), rejected("INVALID_ARGUMENT", words):
        client.publish([*quads(3), quads(1)[0]._replace(**term)])
    assert len(store) == 5


@sinks
def test_labels_of_two_streams_are_two_nodes(sink: AnySink) -> None:
    store = ox.Store()
    statement = Triple(BlankNode("b"), Iri("urn:p"), Iri("urn:o"))
    with service(sink=sink(store)) as (_, client):
        client.publish([statement])
        client.publish([statement])
    assert len(store) == 2


class Noted(StoreSink):
    """Records the last published stream."""

    def publish(self, frames: Published) -> None:
        self.frames = frames
        super().publish(frames)

    def is_cancelled(self) -> bool:
        try:
            self.frames.check()
        except ServiceError:
            return True
        return False


def test_reads_and_changes_of_a_graph_exclude_each_other() -> None:
    graph = Graph()
    topic, sink = StoreTopic(graph), Noted(graph)
    assert topic.lock is sink.lock
    with service({"t": topic}, sink=sink) as (_, client):
        with topic.lock:
            for call in (
                lambda: list(client.subscribe("t", timeout=0.2)),
                lambda: client.publish(numbered(3), timeout=0.2),
            ):
                with rejected("DEADLINE_EXCEEDED"):
                    call()
            # The server notices the disconnection a moment after the client.
            eventually(sink.is_cancelled)
        assert list(client.subscribe("t").statements()) == []
    # The calls that timed out have changed nothing.
    assert len(graph) == 0


def test_settings_of_the_load_are_passed_on() -> None:
    store = ox.Store()
    with service(sink=StoreSink(store, graph=ox.NamedNode("urn:g"))) as (_, client):
        client.publish(numbered(2))
    assert {quad.graph_name for quad in store} == {ox.NamedNode("urn:g")}


def test_frames_are_loaded_as_they_arrive() -> None:
    store = ox.Store()
    with service(sink=FrameSink(store)) as (_, client), rejected("INVALID_ARGUMENT"):
        client.publish_frames([*frames_of(quads(3000)), GARBAGE])
    # Frames before the error are kept.
    assert len(store) == 3000


def test_frames_of_triples_and_of_empty_graphs() -> None:
    store = ox.Store()
    encoder = Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS))
    encoder.start_graph(Iri("urn:empty"))
    with service(sink=FrameSink(store)) as (_, client):
        client.publish_frames(encoder.finish())
        client.publish(numbered(2))
    assert list(store.named_graphs()) == [ox.NamedNode("urn:empty")]
    assert len(store) == 2
    with pytest.raises(TypeError, match="Oxigraph"):
        FrameSink(Graph())


@sinks
def test_nothing_is_loaded_of_a_frame_with_an_empty_graph_named_by_a_literal(
    sink: AnySink,
) -> None:
    store = ox.Store()
    encoder = Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS, generalized_statements=True))
    encoder.add(quads(2))
    encoder.start_graph(Literal("x"))
    message = "cannot hold a literal as graph name"
    with service(sink=sink(store)) as (_, client), rejected("INVALID_ARGUMENT", message):
        client.publish_frames(encoder.finish())
    assert len(store) == 0


def test_a_stream_goes_to_its_topic_or_to_the_sink() -> None:
    store = ox.Store()
    with service({"t": filled(), "u": store}, sink=StoreSink(store)) as (_, client):
        # Streams cannot be published to this topic, so that the sink receives the stream.
        client.publish(numbered(2), topic="t")
        client.publish(numbered(3))
    assert len(store) == 3
