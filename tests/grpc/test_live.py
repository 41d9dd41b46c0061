"""A topic with several publishers and subscribers."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from rdflib import Graph, URIRef

from jelly_plugins import BlankNode, Frame, Iri, Literal, ServiceError, StreamOptions, Triple
from jelly_plugins.codec import Decoder, Encoder, LogicalType, PhysicalType
from jelly_plugins.grpc import Broadcast, Client, Server, Subscription, broadcast, protocol
from jelly_plugins.grpc.frames import FrameBuffer
from jelly_plugins.io.streams import GENERIC, encode_frames

from .support import (
    FLAT,
    GARBAGE,
    PATIENCE,
    Paused,
    code_of,
    eventually,
    frames_of,
    numbered,
    quads,
    rejected,
    service,
    taken,
)

S_P_O = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))


def listening(client: Client, topic: Broadcast, **settings: Any) -> Subscription:
    """Return a subscription that the topic has registered."""
    before = topic.subscribers
    stream: Subscription = client.subscribe("t", **settings)
    eventually(lambda: topic.subscribers > before)
    return stream


def test_late_subscribers_receive_subsequent_streams() -> None:
    topic = Broadcast(FLAT)
    with service({"t": topic}) as (_, client):
        client.publish(numbered(10), topic="t")
        first = listening(client, topic).statements()
        client.publish(numbered(20), topic="t")
        second = listening(client, topic).statements()
        topic.send(numbered(30))
        third = listening(client, topic, backend="rdflib").statements()
        graph = Graph().add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
        topic.send(graph)
        topic.send(list(graph), backend="rdflib")
        topic.send(numbered(600))
        assert taken(first, 652) == [*numbered(20), *numbered(30), S_P_O, S_P_O, *numbered(600)]
        assert taken(second, 632) == [*numbered(30), S_P_O, S_P_O, *numbered(600)]
        assert taken(third, 2) == list(graph) * 2
        assert len(taken(third, 600)) == 600


def test_a_subscriber_in_the_middle_of_a_stream() -> None:
    topic = Broadcast(FLAT)
    statements = numbered(1000)
    with (
        service({"t": topic}) as (_, client),
        Paused(frames_of(statements, stream_name="t")) as paused,
        ThreadPoolExecutor(1) as threads,
    ):
        first = listening(client, topic).statements()
        publishing = threads.submit(client.publish_frames, paused)
        head = taken(first, 50)
        second = listening(client, topic).statements()
        paused.released.set()
        publishing.result(PATIENCE)
        assert head + taken(first, 950) == statements
        rest = [next(second)]
        start = statements.index(rest[0])
        assert start > 0
        assert rest + taken(second, 999 - start) == statements[start:]


def test_streams_of_several_publishers_are_one() -> None:
    topic = Broadcast(FLAT)
    node = [Triple(BlankNode("b"), Iri("urn:p"), Iri(f"urn:{n}")) for n in range(300)]
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic).statements()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: client.publish(node, topic="t"), range(4)))
        found = taken(stream, 1200)
    # Blank nodes of different streams are different.
    subjects = {statement.subject for statement in found}
    assert len(subjects) == 4
    for subject in subjects:
        own = [statement.object for statement in found if statement.subject == subject]
        assert own == [statement.object for statement in node]


def test_elements_stay_elements() -> None:
    options = StreamOptions(
        physical_type=PhysicalType.QUADS, logical_type=LogicalType.DATASETS, stream_name="t"
    )
    topic = Broadcast(options)
    elements = [
        Frame(0, statements=list(quads(3)), metadata={"k": b"v"}),
        Frame(1),
        Frame(2, statements=list(quads(700))),
    ]
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic)
        client.publish_frames(encode_frames(elements, options=options))
        assert stream.options == replace(options, version=2)
        # The options precede the first element in its frame: they are not an element.
        for element in elements:
            frame = next(stream)
            assert frame.statements == element.statements
            assert frame.metadata == element.metadata
        with rejected("INVALID_ARGUMENT", "logical type of the stream"):
            client.publish(
                quads(1),
                topic="t",
                options=StreamOptions(
                    physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS
                ),
            )


@pytest.mark.parametrize("version", [1, 2])
def test_empty_graphs_are_sent_and_namespaces_with_version_2(version: int) -> None:
    options = StreamOptions(
        physical_type=PhysicalType.GRAPHS, stream_name="t", version=version, rdf_star=False
    )
    encoder = Encoder(replace(options, version=2), namespaces=True)
    encoder.add_namespace("ex", "http://example.org/")
    encoder.add(quads(1))
    encoder.start_graph(Iri("urn:empty"))
    topic = Broadcast(options)
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic, options=options)
        next(stream)
        client.publish_frames(encoder.finish())
        frame = next(stream)
    assert frame.namespaces == [("ex", Iri("http://example.org/"))] * (version - 1)
    assert frame.statements == quads(1)
    assert frame.empty_graphs == [Iri("urn:empty")]


@pytest.mark.parametrize(
    ("published", "words"),
    [
        ({"physical_type": PhysicalType.QUADS}, "that of the topic TRIPLES"),
        ({"rdf_star": True}, "rdf_star"),
        ({"generalized_statements": True}, "generalized_statements"),
    ],
)
def test_statements_that_the_topic_cannot_express_are_rejected(
    published: dict[str, Any], words: str
) -> None:
    with service({"t": Broadcast(FLAT)}) as (_, client), rejected("INVALID_ARGUMENT", words):
        client.publish([], topic="t", options=StreamOptions(**published))


def test_requested_options_are_checked_at_once() -> None:
    with service({"t": Broadcast(FLAT)}) as (_, client):
        with rejected("INVALID_ARGUMENT", "physical type"):
            list(client.subscribe("t", options=StreamOptions(physical_type=PhysicalType.QUADS)))
        with rejected("INVALID_ARGUMENT", "name_table"):
            list(client.subscribe("t", options=StreamOptions.small()))


def test_a_broken_stream_ends_only_for_its_publisher() -> None:
    topic = Broadcast(FLAT)
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic).statements()
        broken = [*frames_of(numbered(3), stream_name="t"), GARBAGE]
        with rejected("INVALID_ARGUMENT", "frame 1, row 0"):
            client.publish_frames(broken)
        client.publish(numbered(4), topic="t")
        assert taken(stream, 7) == numbered(3) + numbered(4)


GROUPED = StreamOptions(logical_type=LogicalType.GRAPHS, stream_name="t")


def element(count: int, label: str = "{}") -> Frame:
    p = Iri("urn:p")
    nodes = [BlankNode(label.format(n)) for n in range(count)]
    return Frame(0, statements=[Triple(node, p, node) for node in nodes])


def test_namespaces_without_a_subscriber_do_not_change_later_terms() -> None:
    encoder = Encoder(StreamOptions(stream_name="t"), namespaces=True)
    encoder.add_namespace("ex", "http://example.org/")
    topic = Broadcast(FLAT)
    with service({"t": topic}) as (_, client):
        client.publish_frames(encoder.finish())
        stream = listening(client, topic).statements()
        client.publish([S_P_O], topic="t")
        assert taken(stream, 1) == [S_P_O]


def test_an_element_that_grows_beyond_a_message_is_rejected() -> None:
    """It is encoded again with other labels. The publisher gets the error, not the subscribers."""
    topic = Broadcast(GROUPED)
    large = next(encode_frames([element(230_000, "{:x}")], options=GROUPED))
    assert len(large) < 4 << 20
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic)
        client.publish_frames(encode_frames([element(2)], options=GROUPED))
        with rejected("INVALID_ARGUMENT", "one element", "message"):
            client.publish_frames([large])
        client.publish_frames(encode_frames([element(3)], options=GROUPED))
        later = listening(client, topic)
        client.publish_frames(encode_frames([element(4)], options=GROUPED))
        assert [len(next(stream).statements) for _ in range(3)] == [2, 3, 4]
        assert len(next(later).statements) == 4
        assert topic.subscribers == 2


def test_a_row_that_does_not_fit_a_message_is_rejected() -> None:
    topic = Broadcast(FLAT, message_bytes=10_000)
    row = Triple(*numbered(1)[0][:2], Literal("x" * 20_000))
    with service({"t": topic}) as (_, client):
        stream = listening(client, topic).statements()
        with rejected("INVALID_ARGUMENT", "a row"):
            client.publish([*numbered(2), row], topic="t")
        client.publish(numbered(3), topic="t")
        assert taken(stream, 3) == numbered(3)
        assert topic.subscribers == 1


def test_subscribers_that_do_not_read_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    topic = Broadcast(FLAT, buffer_bytes=10_000, subscriber_timeout=1)
    for _ in range(8):
        topic.subscribe("t", None)
    clock, put, waits = count(step=0.25), FrameBuffer.put, []

    def note(buffer: FrameBuffer, frame: bytes, *, timeout: float | None = None) -> bool:
        waits.append(timeout)
        return put(buffer, frame, timeout=0)

    monkeypatch.setattr(broadcast, "time", SimpleNamespace(monotonic=clock.__next__))
    monkeypatch.setattr(FrameBuffer, "put", note)
    while topic.subscribers:
        topic.send(numbered(100))
    assert list(filter(None, waits)) == [0.75, 0.5, 0.25]


def test_frames_without_bytes_fill_a_buffer_too() -> None:
    topic = Broadcast(GROUPED, buffer_bytes=10_000, subscriber_timeout=0)
    slow: Any = topic.subscribe("t", None)
    for _ in range(1000):
        topic.send([], options=GROUPED)
    assert topic.subscribers == 0
    # Frames that wait are discarded.
    with rejected("RESOURCE_EXHAUSTED", "too slow"):
        next(slow)


def test_a_slow_subscriber_is_disconnected_with_a_timeout_of_0() -> None:
    topic = Broadcast(FLAT, buffer_bytes=100_000, subscriber_timeout=0)
    with service({"t": topic}) as (server, client), stalled(server) as slow:
        decoder = Decoder(GENERIC)
        decoder.decode(next(slow))
        quick = listening(client, topic).statements()
        sent = 0
        while topic.subscribers == 2:
            topic.send(numbered(1000))
            sent += 1000
            # The topic does not disconnect a subscriber that reads all available frames.
            assert taken(quick, 1000) == numbered(1000)
        found: list[Any] = []

        def rest() -> None:
            for frame in slow:
                found.extend(decoder.decode(frame).statements)

        assert code_of(rest) == "RESOURCE_EXHAUSTED"
        # No statement between the received ones is missing.
        assert found == (numbered(1000) * (len(found) // 1000 + 1))[: len(found)]
        assert 0 < len(found) < sent


@contextmanager
def stalled(server: Server) -> Iterator[Any]:
    """Open a subscription whose client buffers little and does not read."""
    options = [("grpc.http2.bdp_probe", 0), ("grpc.http2.lookahead_bytes", 1 << 16)]
    with grpc.insecure_channel(server.address, options) as channel:
        call = channel.unary_stream(protocol.SUBSCRIBE)
        yield call(protocol.write_subscribe("t", None))


def test_publishers_wait_for_a_slow_subscriber_without_a_timeout() -> None:
    topic = Broadcast(FLAT, buffer_bytes=10_000, subscriber_timeout=None)
    number = 20_000
    with (
        service({"t": topic}) as (server, client),
        stalled(server) as slow,
        ThreadPoolExecutor(1) as threads,
    ):
        decoder = Decoder(GENERIC)
        decoder.decode(next(slow))
        publishing = threads.submit(client.publish, numbered(number), topic="t")
        with pytest.raises(TimeoutError):
            publishing.result(0.5)
        # The publisher is far from finished, and nothing is lost.
        found: list[Any] = []
        while len(found) < number:
            found += decoder.decode(next(slow)).statements
        assert found == numbered(number)
        publishing.result(PATIENCE)


def test_a_subscriber_that_leaves_is_forgotten() -> None:
    topic = Broadcast(FLAT, buffer_bytes=10_000, subscriber_timeout=None)
    with service({"t": topic}) as (_, client):
        with listening(client, topic):
            pass
        # A disconnected subscriber does not block a publisher.
        topic.send(numbered(20_000))
        assert topic.subscribers == 0


def test_a_topic_without_news_keeps_no_subscriber_that_has_left() -> None:
    topic = Broadcast(FLAT)
    left: Any = topic.subscribe("t", None)
    left.cancel()
    kept = weakref.ref(left)
    del left
    topic.subscribe("t", None)
    assert kept() is None


def test_a_topic_that_is_closed_ends_with_a_status() -> None:
    topic = Broadcast(FLAT)
    with service({"t": topic}) as (server, client):
        stream = listening(client, topic).statements()
        topic.send(numbered(3))
        server.stop()
        assert taken(stream, 3) == numbered(3)
        with rejected("UNAVAILABLE", "being stopped"):
            next(stream)
    with pytest.raises(ServiceError, match="being stopped"):
        topic.subscribe("t", None)
