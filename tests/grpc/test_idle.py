"""Clients that neither send nor read: each of their calls ends, and its slot becomes free."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest

from jelly_plugins import Literal, LogicalType, ServiceError, StreamOptions, Triple
from jelly_plugins.grpc import Bounds, Broadcast, Client, Topics, aio, protocol, serve
from jelly_plugins.grpc.security import authorization

from .support import PATIENCE, Fixed, Kept, frames_of, numbered, rejected, service
from .test_clients import Waiting

BOUNDS = Bounds(streams=4, idle=0.5)

METHODS = [
    protocol.PUBLISH,
    protocol.SUBSCRIBE,
    "/grpc.health.v1.Health/Check",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
]


def silent_calls(address: str, method: str, count: int, token: str | None = None) -> list[str]:
    """Return the statuses of calls that send nothing except a token."""
    over = threading.Event()

    def silent() -> Iterator[bytes]:
        over.wait(PATIENCE)
        yield from ()

    with grpc.insecure_channel(address) as channel:
        call: Any = channel.stream_unary(method)
        calls = [call.future(silent(), metadata=authorization(token)) for _ in range(count)]
        codes = [call.exception(timeout=PATIENCE).code().name for call in calls]
        over.set()
    return codes


def publish_at_last(client: Client) -> None:
    """Publish, and retry while slots are in use or this process is too slow for the server."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            client.publish(numbered(3))
            return
        except ServiceError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("token", [None, "secret"])
def test_silent_clients_give_their_slots_back(method: str, token: str | None) -> None:
    topics = Topics({"t": Fixed(frames_of(numbered(3)))}, sink=Kept())
    with serve(topics, bounds=BOUNDS, token=token) as server:
        codes = silent_calls(server.address, method, 20, token)
        assert "CANCELLED" in codes
        assert set(codes) <= {"CANCELLED", "RESOURCE_EXHAUSTED"}
        with Client(server.address, token=token) as client:
            publish_at_last(client)
            assert list(client.subscribe("t").statements()) == numbered(3)


def test_silent_clients_of_a_server_in_a_loop() -> None:
    async def main() -> None:
        topics = Topics({"t": Fixed(frames_of(numbered(3)))}, sink=Kept())
        async with await aio.serve(topics, bounds=BOUNDS) as server:
            codes = await asyncio.to_thread(silent_calls, server.address, METHODS[0], 10)
            # How many depends on whether all calls begin before the first ones are cancelled.
            assert "CANCELLED" in codes
            assert set(codes) <= {"CANCELLED", "RESOURCE_EXHAUSTED"}
            with Client(server.address) as client:
                await asyncio.to_thread(publish_at_last, client)

    asyncio.run(main())


def test_a_publisher_that_falls_silent() -> None:
    sink = Kept()
    over = threading.Event()

    def frames() -> Iterator[bytes]:
        yield from frames_of(numbered(3))
        over.wait(PATIENCE)

    with service(sink=sink, bounds=BOUNDS) as (_, client):
        with rejected("CANCELLED"):
            client.publish_frames(frames())
        assert sink.done.wait(PATIENCE)
        over.set()
    assert not sink.streams
    assert "idle" in str(sink.errors)


def test_fifty_idle_publishers_give_their_slots_back() -> None:
    """Each publisher sends three statements and then nothing."""
    over = threading.Event()
    bounds = Bounds(streams=50, idle=1)

    with service(sink=Kept(), bounds=bounds) as (_, client):

        def publish(_number: int) -> str:
            def frames() -> Iterator[bytes]:
                yield from frames_of(numbered(3))
                over.wait(PATIENCE)

            with pytest.raises(ServiceError) as found:
                client.publish_frames(frames())
            return str(found.value.status)

        with ThreadPoolExecutor(bounds.streams) as pool:
            assert set(pool.map(publish, range(bounds.streams))) == {"CANCELLED"}
            over.set()
        client.publish(numbered(3))


def test_a_subscriber_that_does_not_read() -> None:
    long = Triple(*numbered(1)[0][:2], Literal("x" * (1 << 20)))
    left = threading.Event()

    class Large:
        def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
            frames = frames_of([long])
            try:
                yield frames[0]
                while True:
                    yield from frames_of([long])
            finally:
                left.set()

    with service({"large": Large()}, bounds=BOUNDS) as (_, client):
        stream = client.subscribe("large")
        next(stream)
        assert left.wait(PATIENCE)
        stream.close()


def test_a_topic_without_news_and_a_service_that_takes_its_time_are_not_idle() -> None:
    bounds = Bounds(idle=0.2)
    go_on = threading.Event()

    class Slow:
        def publish(self, frames: Any) -> None:
            list(frames)
            go_on.wait(1)

    live = Broadcast(StreamOptions(logical_type=LogicalType.FLAT_TRIPLES))
    with (
        service({"live": live}, sink=Slow(), bounds=bounds) as (_, client),
        client.subscribe("live") as stream,
    ):
        assert stream.options
        client.publish(numbered(1))
        live.send(numbered(2))
        statements = stream.statements()
        assert [next(statements) for _ in range(2)] == numbered(2)


def test_without_a_bound_clients_may_be_silent() -> None:
    waiting = Waiting()
    go_on = threading.Event()

    def frames() -> Iterator[bytes]:
        yield from frames_of(numbered(3))
        go_on.wait(1)

    with service(sink=waiting, bounds=Bounds(idle=None)) as (_, client):
        client.publish_frames(frames())


def test_there_is_a_bound_by_default() -> None:
    assert Bounds().idle == 300
