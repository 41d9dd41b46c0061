"""Clients and servers in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Graph, URIRef

from jelly_plugins import JellyError, LogicalType, ServiceError, StreamOptions, write
from jelly_plugins.grpc import Bounds, Broadcast, Client, StoreSink, Topics, aio, subscribe

from .support import PATIENCE, Fixed, Kept, frames_of, numbered, quads, rejected


def run(test: Awaitable[None]) -> None:
    """Run a test, and check that it leaves nothing in the loop."""

    async def main() -> None:
        await asyncio.wait_for(test, PATIENCE)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


class Application:
    """An application for the loop in which it is created."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.streams: list[list[bytes]] = []
        self.names: list[str] = []
        self.failures: list[Exception] = []
        self.ended: list[str] = []
        self.closed = False
        self.changed = asyncio.Event()

    async def subscribe(self, topic: str, _options: StreamOptions | None) -> AsyncIterator[bytes]:
        assert asyncio.get_running_loop() is self.loop
        await asyncio.sleep(0)
        if topic == "nowhere":
            raise ServiceError("no such topic", status="NOT_FOUND")
        return self._frames(topic)

    async def _frames(self, topic: str) -> AsyncIterator[bytes]:
        try:
            for frame in frames_of(numbered(600)):
                await asyncio.sleep(0)
                yield frame
            if topic == "endless":
                await asyncio.Event().wait()
        finally:
            self.ended.append(topic)
            self.changed.set()

    async def publish(self, frames: aio.AsyncPublished) -> None:
        self.names.append(frames.options.stream_name)
        if self.names[-1] == "rejected":
            raise ServiceError("not this one", status="PERMISSION_DENIED")
        try:
            self.streams.append([frame async for frame in frames])
        except Exception as error:
            self.failures.append(error)
            raise
        finally:
            self.changed.set()

    async def close(self) -> None:
        self.closed = True


def test_an_application_of_the_loop() -> None:
    async def test() -> None:
        application = Application()
        async with await aio.serve(application) as server:
            async with aio.subscribe("t", server.address) as stream:
                assert [each async for each in stream.statements()] == numbered(600)
            async with aio.subscribe("t", server.address) as stream:
                assert (await stream.options()).max_name_table_size == 4000
                assert sum([len(frame.statements) async for frame in stream]) == 600
            await aio.publish(numbered(600), server.address, topic="x")
            await aio.publish([], server.address)
            # A blocking client works as well.
            blocking = Client(server.address)
            await asyncio.to_thread(blocking.publish, numbered(3))
            blocking.close()
            assert list(map(len, application.streams)) == [1, 1, 1]
            assert application.names == ["x", "", ""]
        assert application.closed
        assert application.ended == ["t", "t"]

    run(test())


def test_statuses_of_an_application() -> None:
    async def test() -> None:
        async with await aio.serve(Application()) as server, aio.Client(server.address) as client:
            with rejected("NOT_FOUND"):
                async with client.subscribe("nowhere") as stream:
                    await anext(stream)
            with rejected("PERMISSION_DENIED", "not this one"):
                await client.publish(numbered(3), topic="rejected")
            with rejected("INVALID_ARGUMENT", "no frames"):
                await client.publish_frames([])

    run(test())


def test_an_application_is_notified_when_a_subscriber_leaves() -> None:
    async def test() -> None:
        application = Application()
        async with await aio.serve(application) as server:
            async with aio.subscribe("endless", server.address) as stream:
                for _ in range(3):
                    await anext(stream)
            await application.changed.wait()
            assert application.ended == ["endless"]

    run(test())


def test_an_application_is_notified_when_a_publisher_leaves() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield frames_of(numbered(3))[0]
        await asyncio.Event().wait()

    async def test() -> None:
        application = Application()
        async with await aio.serve(application) as server, aio.Client(server.address) as client:
            publishing = asyncio.ensure_future(client.publish_frames(frames()))
            while not application.names:
                await asyncio.sleep(0)
            publishing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await publishing
            await application.changed.wait()
            assert application.streams == []
            assert isinstance(application.failures[0], ServiceError)
            with rejected("DEADLINE_EXCEEDED"):
                await client.publish_frames(frames(), timeout=0.2)

    run(test())


def test_an_application_that_blocks(tmp_path: Path) -> None:
    async def test() -> None:
        store = ox.Store()
        write(quads(600), tmp_path / "x.jelly")
        topics = Topics({"t": store, "u": Fixed(frames_of(numbered(3)))}, sink=StoreSink(store))
        async with await aio.serve(topics) as server, aio.Client(server.address) as client:
            await client.publish(tmp_path / "x.jelly")
            await client.publish(store)
            copy = ox.Store()
            async with client.subscribe("t") as stream:
                assert await stream.load(copy) == 600
            graph = Graph()
            async with client.subscribe("u") as stream:
                assert await stream.load(graph) == 3
            async with client.subscribe("u", backend="rdflib") as stream:
                found = [each async for each in stream.statements()]
            assert found[0][0] == URIRef("http://example.org/0")
        assert set(copy) == set(store)

    run(test())


def test_failing_data_is_not_published() -> None:
    def statements() -> Iterator[Any]:
        yield from numbered(20_000)
        raise ZeroDivisionError

    async def frames() -> AsyncIterator[bytes]:
        yield frames_of(numbered(3))[0]
        raise ZeroDivisionError

    async def test() -> None:
        sink = Kept()
        async with (
            await aio.serve(Topics({}, sink=sink)) as server,
            aio.Client(server.address) as client,
        ):
            with pytest.raises(ZeroDivisionError):
                await client.publish(statements())
            with pytest.raises(ZeroDivisionError):
                await client.publish_frames(frames())
            assert await asyncio.to_thread(sink.ended)
        assert sink.streams == []

    run(test())


def test_options_are_checked() -> None:
    async def test() -> None:
        topics = {"t": Fixed(frames_of(numbered(3)))}
        async with await aio.serve(topics) as server:
            with rejected("INVALID_ARGUMENT", "max_name_table_size"):
                async with aio.subscribe(
                    "t", server.address, options=StreamOptions.small()
                ) as stream:
                    await anext(stream)

    run(test())


@pytest.mark.parametrize("subscribe", [subscribe, aio.subscribe])
@pytest.mark.parametrize("wrong", [{"backend": "unknown"}, {"timeout": "long"}])
def test_a_wrong_request_is_an_error_at_once(
    subscribe: Callable[..., Any], wrong: dict[str, Any]
) -> None:
    with pytest.raises(KeyError if "backend" in wrong else TypeError, match=r"unknown|'str'"):
        subscribe("t", "localhost:1", **wrong)


def test_waiting_streams_leave_threads_to_others() -> None:
    """The loop's executor has a few threads for each processor."""

    async def test() -> None:
        topics = {"live": Broadcast(StreamOptions(logical_type=LogicalType.FLAT_TRIPLES))}
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
    async def test() -> None:
        application = Application()
        async with await aio.serve(application) as server, aio.Client(server.address) as client:
            stream = client.subscribe("endless")
            received = 0
            while received < 600:
                received += len((await anext(stream)).statements)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(stream), 0.1)
            await application.changed.wait()
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
            await stream.close()
            with pytest.raises(StopAsyncIteration):
                await anext(stream)
        assert application.ended == ["endless"]

    run(test())


def test_a_server_that_is_stopped() -> None:
    async def test() -> None:
        server = await aio.serve({}, bounds=Bounds(streams=3))
        waiting = asyncio.ensure_future(server.wait())
        await server.stop()
        await waiting
        with rejected("UNAVAILABLE"):
            await aio.publish(numbered(1), server.address)
        with pytest.raises(JellyError):
            async with aio.subscribe("t", server.address) as stream:
                await stream.options()

    run(test())
