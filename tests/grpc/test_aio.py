"""What only an event loop has: asynchronous data, cancelled tasks, the server's shell."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import URIRef

from jelly_plugins import PhysicalType, read
from jelly_plugins.grpc import Bounds, Broadcast, aio

from .support import (
    FLAT,
    PATIENCE,
    Endless,
    Fixed,
    Kept,
    delimited,
    eventually,
    frames_of,
    numbered,
    rejected,
    service,
)


def run(test: Awaitable[None]) -> None:
    """Run a test, and check that it leaves nothing in the loop."""

    async def main() -> None:
        await asyncio.wait_for(test, PATIENCE)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


class Source:
    """Frames that a loop makes; ``closed`` after the last, or when they are not wanted.

    :param then: what comes after the frames: nothing, a wait without end, or an error.
    """

    def __init__(self, frames: list[bytes], then: str = "end") -> None:
        self._frames = frames
        self._then = then
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            for frame in self._frames:
                await asyncio.sleep(0)
                yield frame
            if self._then == "wait":
                await asyncio.Event().wait()
            if self._then == "fail":
                raise ZeroDivisionError
        finally:
            self.closed = True


def test_the_methods_are_those_of_the_blocking_client() -> None:
    sink, store, frames = Kept(), ox.Store(), frames_of(numbered(600))

    async def test() -> None:
        async with aio.Client(server.address) as client:
            await client.publish(numbered(600))
            await client.publish_frames(frames)
            async with client.subscribe("t") as stream:
                assert (await stream.options()).physical_type is PhysicalType.TRIPLES
                assert [each async for each in stream.statements()] == numbered(600)
            async with client.subscribe("t", backend="rdflib") as stream:
                assert (await anext(stream)).statements[0][0] == URIRef("http://example.org/0")
            async with client.subscribe("t") as stream:
                assert [each async for each in stream.frames()] == frames
            async with client.subscribe("t") as stream:
                assert await stream.load(store) == 600
            assert len(store) == 600

    with service({"t": Fixed(frames)}, sink=sink) as (server, _):
        run(test())
    assert [list(read(delimited(each))) for each in sink.streams] == [numbered(600)] * 2


def failing() -> Iterator[Any]:
    yield from numbered(20_000)
    raise ZeroDivisionError


def test_errors_are_those_of_the_blocking_client() -> None:
    sink, store, topic = Kept(), ox.Store(), Endless()

    async def test() -> None:
        async with aio.Client(server.address) as client:
            with pytest.raises(ZeroDivisionError):
                await client.publish(failing())
            for take in (
                lambda stream: stream.options(),
                lambda stream: anext(stream),
                lambda stream: anext(stream.statements()),
                lambda stream: anext(stream.frames()),
                lambda stream: stream.load(store),
            ):
                async with client.subscribe("nowhere") as stream:
                    with rejected("NOT_FOUND", "nowhere"):
                        await take(stream)
            async with client.subscribe("late", timeout=0.2) as stream:
                with rejected("DEADLINE_EXCEEDED"):
                    await stream.load(store)
            async with client.subscribe("t") as stream:
                loading = asyncio.ensure_future(stream.load(store))
                await asyncio.to_thread(topic.sent.wait, PATIENCE)
                await stream.close()
                with rejected("CANCELLED", "closed before its end"):
                    await loading
                with rejected("CANCELLED", "closed before its end"):
                    await stream.load(store)

    with service({"t": topic, "late": Endless()}, sink=sink) as (server, _):
        run(test())
        assert sink.ended()
    assert (sink.streams, len(store)) == ([], 0)


def test_asynchronous_frames_are_published() -> None:
    sink = Kept()
    # More than the buffer between the loop and gRPC's thread holds.
    frames = frames_of(numbered(60_000))

    async def test() -> None:
        async with aio.Client(server.address) as client:
            source = Source(frames)
            await client.publish_frames(source)
            assert source.closed

    with service(sink=sink) as (server, _):
        run(test())
    assert delimited(frames) == delimited(sink.streams[0])


@pytest.mark.parametrize("end", ["failed", "cancelled", "late", "rejected"])
def test_the_source_is_closed_when_publishing_ends(end: str) -> None:
    threads = threading.active_count()
    sink = Kept()
    source = Source(frames_of(numbered(3)), "fail" if end == "failed" else "wait")
    errors: dict[str, Any] = {
        "failed": pytest.raises(ZeroDivisionError),
        "cancelled": pytest.raises(asyncio.CancelledError),
        "late": rejected("DEADLINE_EXCEEDED"),
        "rejected": rejected("INVALID_ARGUMENT"),
    }

    async def test() -> None:
        async with aio.Client(server.address) as client:
            publishing = asyncio.ensure_future(
                client.publish_frames(source, timeout=0.3 if end == "late" else None)
            )
            if end == "cancelled":
                await asyncio.to_thread(sink.begun.wait, PATIENCE)
                publishing.cancel()
            with errors[end]:
                await publishing
            assert source.closed

    with service(sink=None if end == "rejected" else sink) as (server, _):
        run(test())
        assert sink.ended()
    assert sink.streams == []
    # No thread still waits for frames.
    eventually(lambda: threading.active_count() <= threads)


def test_a_closed_client_closes_the_source() -> None:
    source = Source(frames_of(numbered(600)))

    async def test() -> None:
        client = aio.Client("localhost:1")
        await client.close()
        with pytest.raises(ValueError, match="closed"):
            await client.publish_frames(source)

    run(test())


def test_waiting_streams_leave_threads_to_others() -> None:
    """The loop's executor has a few threads for each processor."""

    async def test() -> None:
        topics = {"live": Broadcast(FLAT)}
        async with await aio.serve(topics) as server, aio.Client(server.address) as client:
            streams = [client.subscribe("live") for _ in range(40)]
            for stream in streams:
                await stream.options()
                await anext(stream)
            waiting = [asyncio.ensure_future(anext(stream)) for stream in streams]
            await client.publish(numbered(3), topic="live")
            for frame in await asyncio.gather(*waiting):
                assert frame.statements == numbered(3)
            for stream in streams:
                await stream.close()

    run(test())


def test_a_cancelled_task_ends_its_stream() -> None:
    live = Broadcast(FLAT)

    async def test() -> None:
        async with await aio.serve({"t": live}) as server, aio.Client(server.address) as client:
            stream = client.subscribe("t")
            await anext(stream)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.1)
            while live.subscribers:
                await asyncio.sleep(0.01)
            for _ in range(2):
                with pytest.raises(StopAsyncIteration):
                    await anext(stream)
                await stream.close()

    run(test())


def test_a_server_that_is_stopped() -> None:
    async def test() -> None:
        topics = {"t": Endless(), "u": Fixed(frames_of(numbered(600)))}
        server = await aio.serve(topics, bounds=Bounds(streams=3))
        async with aio.subscribe("u", server.address) as stream:
            assert [each async for each in stream.statements()] == numbered(600)
        waiting = asyncio.ensure_future(server.wait())
        async with aio.subscribe("t", server.address) as stream:
            await anext(stream)
            await server.stop(0)
            with rejected("UNAVAILABLE"):
                while True:
                    await anext(stream)
        await waiting
        with rejected("UNAVAILABLE"):
            await aio.publish(numbered(1), server.address)

    run(test())
