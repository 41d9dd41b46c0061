"""Servers: their bounds, idle clients, stopping, health and reflection."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from jelly_plugins import Literal, ServiceError, SourceError, StreamOptions, Triple
from jelly_plugins.grpc import Bounds, Broadcast, Client, Published, Topics, protocol, serve
from jelly_plugins.grpc.security import authorization

from .support import (
    FLAT,
    PATIENCE,
    Endless,
    Fixed,
    Kept,
    Paused,
    Waiting,
    code_of,
    eventually,
    frames_of,
    numbered,
    rejected,
    service,
    taken,
)

BOUNDS = Bounds(streams=4, idle=0.5)


# Bounds


@pytest.mark.parametrize(
    ("seconds", "timeout", "status"),
    [(0.2, None, "CANCELLED"), (None, 0.2, "DEADLINE_EXCEEDED")],
    ids=["server", "client"],
)
def test_the_duration_of_a_stream_is_bounded(
    seconds: float | None, timeout: float | None, status: str
) -> None:
    topic, sink = Waiting(), Kept()
    with (
        service({"t": topic}, sink=sink, bounds=Bounds(seconds=seconds)) as (_, client),
        Paused() as paused,
    ):
        with rejected(status), client.subscribe("t", timeout=timeout) as stream:
            list(stream)
        with rejected(status):
            client.publish_frames(paused, timeout=timeout)
        assert topic.left.wait(PATIENCE)
        assert sink.ended()
    assert sink.streams == []


def test_the_number_of_streams_is_bounded() -> None:
    topic = Waiting()
    with service({"t": topic}, sink=Kept(), bounds=Bounds(streams=1)) as (_, client):
        with client.subscribe("t") as stream:
            next(stream)
            with rejected("RESOURCE_EXHAUSTED", "1 streams"), client.subscribe("t") as other:
                list(other)
            with rejected("RESOURCE_EXHAUSTED"):
                client.publish(numbered(1))
        assert topic.left.wait(PATIENCE)


def test_the_bytes_of_a_published_stream_are_bounded() -> None:
    sink = Kept()
    with service(sink=sink, bounds=Bounds(stream_bytes=10_000)) as (_, client):
        client.publish(numbered(10))
        with rejected("RESOURCE_EXHAUSTED", "10,000 bytes"):
            client.publish(numbered(10_000))
    assert len(sink.streams) == 1


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"streams": 0}, "streams must be at least 1 "),
        ({"message_bytes": 8191}, "message_bytes must be at least 8192 "),
        ({"stream_bytes": 0}, "stream_bytes must be at least 1 "),
        ({"seconds": 0}, "seconds must be greater than 0 "),
        ({"idle": -1}, "idle must be greater than 0 "),
    ],
)
def test_invalid_bounds(bounds: dict[str, Any], words: str) -> None:
    assert Bounds(streams=1, message_bytes=1 << 13, stream_bytes=1, idle=0.1)
    with pytest.raises(ValueError, match=words):
        Bounds(**bounds)


# Idle clients


def publishes(client: Client) -> bool:
    """Whether a stream was published: slots may still be in use, and this process too slow."""
    with suppress(ServiceError):
        client.publish(numbered(3))
        return True
    return False


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        (protocol.PUBLISH, []),
        (protocol.PUBLISH, frames_of(numbered(3))),
        (protocol.SUBSCRIBE, []),
        ("/grpc.health.v1.Health/Check", []),
        ("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", []),
    ],
)
@pytest.mark.parametrize("token", [None, "secret"])
def test_silent_clients_give_their_slots_back(
    method: str, sent: list[bytes], token: str | None
) -> None:
    sink, over = Kept(), threading.Event()

    def silent() -> Iterator[bytes]:
        yield from sent
        over.wait(PATIENCE)

    topics = Topics({"t": Fixed(frames_of(numbered(3)))}, sink=sink)
    with (
        serve(topics, bounds=BOUNDS, token=token) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        call: Any = channel.stream_unary(method)
        calls = [call.future(silent(), metadata=authorization(token)) for _ in range(20)]
        codes = {each.exception(timeout=PATIENCE).code().name for each in calls}
        over.set()
        # How many depends on whether all calls begin before the first ones are cancelled.
        assert "CANCELLED" in codes
        assert codes <= {"CANCELLED", "RESOURCE_EXHAUSTED"}
        # Under load, all calls may end before a frame comes; the server reports it afterwards.
        if sink.begun.is_set():
            eventually(lambda: "idle" in str(sink.errors))
        with Client(server.address, token=token) as client:
            eventually(lambda: publishes(client))
            assert list(client.subscribe("t").statements()) == numbered(3)


def test_a_subscriber_that_does_not_read() -> None:
    long = Triple(*numbered(1)[0][:2], Literal("x" * (1 << 20)))
    left = threading.Event()

    class Large:
        def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
            frames = frames_of([long])
            try:
                while True:
                    yield from frames
            finally:
                left.set()

    with (
        service({"large": Large()}, bounds=BOUNDS) as (_, client),
        client.subscribe("large") as stream,
    ):
        next(stream)
        assert left.wait(PATIENCE)


class Slow(Kept):
    """A sink that takes a second."""

    def publish(self, frames: Published) -> None:
        super().publish(frames)
        time.sleep(1)


def test_a_topic_without_news_and_a_service_that_takes_its_time_are_not_idle() -> None:
    live = Broadcast(FLAT)
    with (
        service({"live": live}, sink=Slow(), bounds=Bounds(idle=0.2)) as (_, client),
        client.subscribe("live") as stream,
    ):
        assert stream.options
        # Under load, the client may be silent for too long.
        eventually(lambda: publishes(client))
        live.send(numbered(2))
        assert taken(stream.statements(), 2) == numbered(2)


def test_without_a_bound_clients_may_be_silent() -> None:
    assert Bounds().idle == 300
    with service(sink=Kept(), bounds=Bounds(idle=None)) as (_, client), Paused() as paused:
        threading.Timer(0.2, paused.released.set).start()
        client.publish_frames(paused)


# Applications


@pytest.mark.parametrize(("count", "whole"), [(0, False), (1, False), (5, True)])
def test_an_application_that_does_not_read_to_the_end(count: int, whole: bool) -> None:
    """It may leave out the end, but no frame."""

    class Part:
        def publish(self, frames: Published) -> None:
            taken(frames, count)

    frames = frames_of(numbered(600))
    assert len(frames) == 5
    with service(sink=Part()) as (_, client):
        if whole:
            client.publish_frames(frames)
            return
        with rejected("INTERNAL", "only a part"):
            client.publish_frames(frames)


class Failing:
    """A topic and sink that fails in the middle."""

    def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
        yield frames_of(numbered(1))[0]
        raise ZeroDivisionError("/secret/path")

    def publish(self, frames: Published) -> None:
        next(frames)
        raise OSError("/secret/path: disk full")


def test_an_application_that_fails() -> None:
    """The client gets no message of unexpected errors."""
    with service({"t": Failing()}, sink=Failing()) as (_, client):
        with client.subscribe("t") as stream:
            assert len(next(stream).statements) == 1
            with rejected("INTERNAL") as caught:
                next(stream)
        assert "secret" not in str(caught.value)
        with rejected("INTERNAL") as caught:
            client.publish(numbered(3))
        assert "secret" not in str(caught.value)


def test_an_error_that_is_not_unicode_is_reported() -> None:
    class Odd(Endless):
        def subscribe(self, _topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
            raise ServiceError("no \ud800", status="NOT_FOUND")

    with service({"t": Odd()}) as (_, client), client.subscribe("t") as stream:
        with rejected("NOT_FOUND") as caught:
            next(stream)
        assert caught.value.message == "no \\ud800"


# Stopping


def test_active_calls_end_when_a_server_stops() -> None:
    sink = Kept()
    with (
        service(sink=sink) as (server, client),
        Paused(frames_of(numbered(600))) as paused,
        ThreadPoolExecutor(2) as threads,
    ):
        publishing = threads.submit(client.publish_frames, paused)
        assert sink.begun.wait(PATIENCE)
        stopping = threads.submit(server.stop)
        eventually(lambda: not is_healthy(server.address))
        paused.released.set()
        publishing.result(PATIENCE)
        stopping.result(PATIENCE)
        assert server.wait(PATIENCE)
        with rejected("UNAVAILABLE"):
            client.publish(numbered(1), timeout=5)
    assert len(sink.streams) == 1


def is_healthy(address: str) -> bool:
    """Whether a server still accepts calls."""
    with grpc.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        return code_of(lambda: stub.Check(health_pb2.HealthCheckRequest(), timeout=5)) == "OK"


def test_another_thread_stops_a_waiting_server() -> None:
    topic = Endless()
    server = serve({"t": topic})
    with Client(server.address) as client, ThreadPoolExecutor(1) as threads:
        next(client.subscribe("t"))
        patient = threads.submit(server.stop)
        server.stop(0)
        assert server.wait(PATIENCE)
        assert topic.left.is_set()
        patient.result(PATIENCE)


@pytest.mark.parametrize("grace", [0, None])
def test_a_call_stops_its_server(grace: float | None) -> None:
    done = threading.Event()

    class Stopping:
        def publish(self, _frames: Published) -> None:
            server.stop(grace)
            done.set()

    server = serve(Topics({}, sink=Stopping()))
    with Client(server.address) as client, suppress(ServiceError):  # with or without an answer
        client.publish(numbered(1))
    assert done.wait(PATIENCE)
    server.stop()
    assert server.wait(PATIENCE)


def test_a_server_stops_despite_errors_of_the_application() -> None:
    class Unclosable(Endless):
        def close(self) -> None:
            raise OSError("no")

    server = serve({"t": Unclosable()})
    with Client(server.address) as client:
        next(client.subscribe("t"))
        with pytest.raises(OSError, match="no"):
            server.stop(0)
    assert server.wait(PATIENCE)
    assert not [each for each in threading.enumerate() if each.name.startswith("jelly-grpc")]


# Addresses, health, reflection


def test_ports() -> None:
    with serve({}) as server, pytest.raises(SourceError, match="cannot be listened on"):
        serve({}, port=server.port)
    for port in (-1, 1 << 16):
        with pytest.raises(ValueError, match="is not a port"):
            serve({}, port=port)


def test_a_server_listens_on_the_loopback_interface() -> None:
    with service() as (server, _):
        assert server.address == f"127.0.0.1:{server.port}"
    with service(sink=Kept(), host="::1") as (server, client):
        assert server.address == f"[::1]:{server.port}"
        client.publish(numbered(1))


def test_health_is_reported() -> None:
    with serve({}) as server, grpc.insecure_channel(server.address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", protocol.SERVICE):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=name))
            assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_reflection_describes_the_service() -> None:
    with serve({}) as server, grpc.insecure_channel(server.address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        requests = [
            reflection_pb2.ServerReflectionRequest(list_services=""),
            reflection_pb2.ServerReflectionRequest(file_containing_symbol=protocol.SERVICE),
        ]
        services, file = stub.ServerReflectionInfo(iter(requests))
    names = {service.name for service in services.list_services_response.service}
    assert protocol.SERVICE in names
    assert b"PublishRdf" in file.file_descriptor_response.file_descriptor_proto[0]


def test_unknown_methods() -> None:
    with serve({}) as server, grpc.insecure_channel(server.address) as channel:
        call: Any = channel.unary_unary(f"/{protocol.SERVICE}/Other")
        assert code_of(lambda: call(b"")) == "UNIMPLEMENTED"
