"""The rules of the service for subscribing and publishing, each tested over a socket.

Reference: Jelly gRPC streaming protocol; grpc.proto.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import Iri, Literal, OptionsError, Quad, StreamOptions, Triple, WireError
from jelly_plugins.codec import Encoder, Limits, LogicalType, PhysicalType
from jelly_plugins.codec.common.options import write_options
from jelly_plugins.codec.common.wire import bytes_field, string_field, varint_field
from jelly_plugins.grpc import Client, protocol, subscribe

from .support import Fixed, Kept, code_of, frames_of, numbered, raw, rejected, sending, service

# Subscribing

TABLES = {"max_name_table_size": 64, "max_prefix_table_size": 16, "max_datatype_table_size": 8}


@pytest.mark.parametrize(
    ("stream", "requested", "words"),
    [
        ({}, {}, None),
        ({}, {"version": 2}, None),
        ({}, {"max_name_table_size": 65}, None),
        ({}, {"generalized_statements": True, "rdf_star": True}, None),
        ({}, {"logical_type": LogicalType.FLAT_TRIPLES, "stream_name": "x"}, None),
        ({"logical_type": LogicalType.GRAPHS, "stream_name": "x"}, {}, None),
        ({}, {"physical_type": PhysicalType.QUADS}, "physical type is TRIPLES"),
        ({}, {"physical_type": PhysicalType.GRAPHS}, "physical type is TRIPLES"),
        ({}, {"max_name_table_size": 63}, "max_name_table_size is 64"),
        ({}, {"max_prefix_table_size": 15}, "max_prefix_table_size is 16"),
        ({}, {"max_datatype_table_size": 7}, "max_datatype_table_size is 8"),
        ({"rdf_star": True}, {}, "rdf_star"),
        ({"rdf_star": True}, {"rdf_star": True}, None),
        ({"generalized_statements": True}, {}, "generalized_statements"),
        ({"generalized_statements": True}, {"generalized_statements": True}, None),
        ({"version": 2}, {}, "version is 2"),
        # Clients of Jelly-JVM do not set a version.
        ({"version": 2}, {"version": 0}, None),
        ({"version": 2}, {"version": 2}, None),
    ],
)
def test_a_stream_has_at_most_what_was_requested(
    stream: dict[str, Any], requested: dict[str, Any], words: str | None
) -> None:
    """The server checks its applications, and the client a server of another program."""
    made = {**TABLES, **stream}
    options = StreamOptions(**{"version": 1, **TABLES, **requested})
    frames = frames_of(numbered(3), **made)
    with (
        service({"t": Fixed(frames)}) as (_, client),
        client.subscribe("t", options=options) as received,
    ):
        if words is None:
            assert list(received.statements()) == numbered(3)
            # The server chooses the logical type and the name.
            for name, value in made.items():
                assert getattr(received.options, name) == value
            assert received.options.stream_name == made.get("stream_name", "")
            assert received.options.rdf_star == made.get("rdf_star", False)
            return
        with rejected("INVALID_ARGUMENT", words):
            list(received)
    with (
        sending(frames) as address,
        subscribe("t", address, options=options) as received,
        pytest.raises(OptionsError, match=f"{address}: t: .*{words}"),
    ):
        list(received)


def asking(options: bytes) -> bytes:
    return string_field(1, "t") + bytes_field(2, options)


@pytest.mark.parametrize(
    "request_",
    [
        asking(varint_field(2, 0) + varint_field(9, 128) + varint_field(15, 1)),  # no physical type
        asking(varint_field(2, 9) + varint_field(9, 128) + varint_field(15, 1)),  # unknown
        asking(varint_field(2, 1) + varint_field(9, 7) + varint_field(15, 1)),  # too small a table
        asking(
            varint_field(2, 1) + varint_field(9, 128) + varint_field(14, 2)
        ),  # quads for triples
        asking(b"\xff"),
        asking(bytes_field(2, b"x")),
        b"\xff\xff",
        b"\x0a\x05t",
        b"\x08\x01",
        b"\x0a\x01\xff",
    ],
)
def test_requests_that_no_stream_can_satisfy(request_: bytes) -> None:
    with service({"t": Fixed(frames_of(numbered(3)))}) as (server, _), raw(server) as (call, _p):
        assert code_of(lambda: list(call(request_))) == "INVALID_ARGUMENT"


def test_a_topic_that_does_not_exist() -> None:
    with service({"t": Fixed([])}) as (_, client), rejected("NOT_FOUND", "'nowhere'"):
        list(client.subscribe("nowhere"))


# Publishing


METADATA = bytes_field(15, bytes_field(1, b"at") + bytes_field(2, b"now"))


@pytest.mark.parametrize("first", [[], [b"", METADATA]], ids=["options", "frames without rows"])
def test_a_stream_is_sent_as_it_is(first: list[bytes]) -> None:
    sink = Kept()
    frames = [*first, *frames_of(numbered(600))]
    with service({"t": Fixed(frames)}, sink=sink) as (server, client), raw(server) as (_, publish):
        client.publish_frames(frames)
        assert publish(iter(frames)) == protocol.RECEIVED
        with client.subscribe("t") as stream:
            assert list(stream.frames()) == frames
    assert sink.streams == [frames, frames]


@pytest.mark.parametrize(
    ("frames", "error", "words"),
    [
        ([], OptionsError, "the stream has no frames"),
        ([b""], OptionsError, "the stream has no options"),
        ([b""] * 2000, OptionsError, "does not begin with options"),
        ([bytes_field(15, bytes_field(1, b"x" * (1 << 18)))] * 8, OptionsError, "not begin with"),
        (frames_of(numbered(40), rows=32)[1:], OptionsError, "frame 0, row 0: .*options"),
        ([b"\xff" * 9], WireError, "frame 0"),
        ([b"\x00" * 100], WireError, "frame 0"),
        ([b"", b"\x0a\xff"], WireError, "frame 1, row 0"),
        ([b"\x0a\x00"], WireError, "frame 0, row 0"),
    ],
)
def test_a_stream_begins_with_options(frames: list[bytes], error: Any, words: str) -> None:
    """The server checks publishers and its applications, and the client a server of another
    program, in whatever way it takes the stream."""
    sink = Kept()
    with service({"t": Fixed(frames)}, sink=sink) as (_, client):
        with rejected("INVALID_ARGUMENT") as caught:
            client.publish_frames(frames)
        assert re.search(words, str(caught.value))
        with rejected("DATA_LOSS") as caught, client.subscribe("t") as stream:
            list(stream)
        assert re.search(words, str(caught.value))
    assert sink.streams == []
    takes: list[Callable[[Any], Any]] = [
        list,
        lambda stream: list(stream.frames()),
        lambda stream: stream.load(ox.Store()),
        lambda stream: stream.options,
    ]
    with sending(frames) as address, Client(address) as client:
        for take in takes:
            with (
                client.subscribe("t") as stream,
                pytest.raises(error, match=f"{address}: t: .*{words}"),
            ):
                take(stream)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"version": 3}, "version 3"),
        ({"version": 0}, "version 0"),
        ({"max_name_table_size": 5000}, "name table"),
        ({"max_prefix_table_size": 5000}, "prefix table"),
        ({"max_datatype_table_size": 5000}, "datatype table"),
        ({"max_name_table_size": 7}, "too small"),
        ({"logical_type": LogicalType.FLAT_QUADS}, "does not match"),
    ],
)
def test_options_that_are_not_supported_are_rejected(options: dict[str, Any], words: str) -> None:
    sink = Kept()
    row = bytes_field(1, write_options(StreamOptions(**{"version": 1, **options})))
    with service(sink=sink) as (_, client), rejected("INVALID_ARGUMENT", words):
        client.publish_frames([bytes_field(1, row)])
    assert sink.streams == []


def test_the_limits_of_the_server_apply() -> None:
    limits = Limits(name_table=100)
    with service(sink=Kept(), limits=limits) as (_, client):
        client.publish(numbered(3), options=StreamOptions(max_name_table_size=100))
        with rejected("INVALID_ARGUMENT", "Limits.name_table"):
            client.publish(numbered(3), options=StreamOptions(max_name_table_size=101))


def test_a_server_without_a_sink() -> None:
    with service({"t": Fixed([])}) as (_, client):
        with rejected("INVALID_ARGUMENT", "nothing is published here"):
            client.publish(numbered(3))
        with rejected("INVALID_ARGUMENT", "'t'"):
            client.publish(numbered(3), topic="t")


# Frames


def test_a_large_frame_of_a_flat_stream_is_divided() -> None:
    statements = numbered(60_000)
    frames = frames_of(statements, rows=1_000_000, logical_type=LogicalType.FLAT_TRIPLES)
    big = b"".join(frames)
    assert len(big) > 1 << 20
    sink = Kept()
    with service({"t": Fixed([big])}, sink=sink) as (_, client):
        with client.subscribe("t") as stream:
            sizes = []
            found = []
            for each in stream:
                sizes.append(each.size)
                found += each.statements
        assert found == statements
        assert len(sizes) > 1
        assert max(sizes) <= 1 << 20
        client.publish_frames([big])
    [received] = sink.streams
    assert b"".join(received) == big
    assert max(map(len, received)) <= 1 << 20


def grouped(count: int) -> list[bytes]:
    """Make a frame of a number of statements of a kilobyte each."""
    encoder = Encoder(
        StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.DATASETS)
    )
    s, p = Iri("urn:s"), Iri("urn:p")
    encoder.add(Quad(s, p, Literal(f"{n:08}" * 125), Iri("urn:g")) for n in range(count))
    return [encoder.flush()]


def test_a_frame_that_is_an_element_is_never_divided() -> None:
    [frame] = grouped(2000)
    assert 1 << 20 < len(frame) < 4 << 20
    sink = Kept()
    with service({"t": Fixed([frame])}, sink=sink) as (_, client):
        assert [len(each.statements) for each in client.subscribe("t")] == [2000]
        client.publish_frames([frame])
    assert sink.streams == [[frame]]


def test_an_element_larger_than_a_message_is_an_error() -> None:
    [frame] = grouped(5000)
    assert len(frame) > 4 << 20
    with service({"t": Fixed([frame])}, sink=Kept()) as (server, client):
        with rejected("DATA_LOSS", "one element"):
            list(client.subscribe("t"))
        with pytest.raises(Exception, match="one element"):
            client.publish_frames([frame])
        with raw(server) as (_, publish):
            assert code_of(lambda: publish(iter([frame]))) == "RESOURCE_EXHAUSTED"


def test_a_row_larger_than_a_message_is_an_error() -> None:
    statement = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:" + "x" * (5 << 20)))
    frames = frames_of([statement])
    with service({"t": Fixed(frames)}) as (_, client), rejected("DATA_LOSS", "a row takes"):
        list(client.subscribe("t"))
