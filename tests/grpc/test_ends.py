"""Ending servers, calls and subscriptions from another thread at an unfavourable moment."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Store
from rdflib import Graph

from jelly_plugins import JellyError, ServiceError, StreamOptions
from jelly_plugins.grpc import (
    Client,
    Published,
    Subscription,
    aio,
    publish,
    serve,
    subscribe,
)

from .support import PATIENCE, answering, endless, frames_of, numbered, rejected, service


class Endless:
    """Streams frames until the client stops reading."""

    def __init__(self) -> None:
        self.sent = threading.Event()
        self.left = threading.Event()

    def subscribe(self, _topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
        try:
            yield frames_of(numbered(1))[0]
            self.sent.set()
            while not self.left.wait(0.001):
                yield b""
        finally:
            self.left.set()

    def publish(self, frames: Published) -> None:
        for _ in frames:
            pass


def closed_later(endless: Endless, stream: Subscription) -> threading.Thread:
    """Close a stream from another thread after it has yielded a frame."""

    def close() -> None:
        endless.sent.wait(PATIENCE)
        stream.close()

    thread = threading.Thread(target=close)
    thread.start()
    return thread


@pytest.mark.parametrize("new", [Store, Graph])
def test_closing_a_stream_while_it_is_loaded(new: Callable[[], Any]) -> None:
    endless, store = Endless(), new()
    with serve(endless) as server, subscribe("any", server.address) as stream:
        closing = closed_later(endless, stream)
        with rejected("CANCELLED", "closed before its end"):
            stream.load(store)
        closing.join()
    assert len(store) == 0


def test_closing_a_stream_while_it_is_saved(tmp_path: Path) -> None:
    endless = Endless()
    with serve(endless) as server, subscribe("any", server.address) as stream:
        closing = closed_later(endless, stream)
        with rejected("CANCELLED"):
            stream.save(tmp_path / "saved.jelly")
        closing.join()
    assert not list(tmp_path.iterdir())


def test_closing_a_stream_in_another_task() -> None:
    async def main() -> None:
        endless, store = Endless(), Store()
        async with await aio.serve(endless) as server, aio.Client(server.address) as client:
            stream = client.subscribe("any")
            loading = asyncio.create_task(stream.load(store))
            await asyncio.to_thread(endless.sent.wait, PATIENCE)
            await stream.close()
            with rejected("CANCELLED"):
                await loading
        assert len(store) == 0

    asyncio.run(main())


def test_another_thread_stops_a_waiting_server() -> None:
    endless = Endless()
    server = serve(endless)
    with Client(server.address) as client:
        stream = client.subscribe("any")
        next(stream)
        patient = threading.Thread(target=server.stop, daemon=True)
        patient.start()
        server.stop(0)
        assert server.wait(PATIENCE)
        assert endless.left.is_set()
        patient.join(PATIENCE)
        assert not patient.is_alive()


@pytest.mark.parametrize("grace", [0, None])
def test_a_call_stops_its_server(grace: float | None) -> None:
    done = threading.Event()

    class Stopping(Endless):
        def publish(self, _frames: Published) -> None:
            server.stop(grace)
            done.set()

    server = serve(Stopping())
    with suppress(ServiceError):  # with or without an answer
        publish(numbered(1), server.address)
    assert done.wait(PATIENCE)
    server.stop()
    assert server.wait(PATIENCE)


def test_a_server_stops_despite_errors_of_the_application() -> None:
    class Failing(Endless):
        def close(self) -> None:
            raise OSError("no")

    server = serve(Failing())
    with Client(server.address) as client:
        next(client.subscribe("any"))
        with pytest.raises(OSError, match="no"):
            server.stop(0)
    assert server.wait(PATIENCE)
    assert not [each for each in threading.enumerate() if each.name.startswith("jelly-grpc")]


def test_an_error_that_is_not_unicode_is_reported() -> None:
    class Odd(Endless):
        def subscribe(self, _topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
            raise ServiceError("no \ud800", status="NOT_FOUND")

    with serve(Odd()) as server, subscribe("any", server.address) as stream:
        with rejected("NOT_FOUND") as caught:
            next(stream)
        assert caught.value.message == "no \\ud800"


class Sleeping:
    """An application of an event loop that waits forever."""

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    async def _sleep(self, what: str) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.cancelled.append(what)

    async def subscribe(self, _topic: str, _options: Any) -> AsyncIterator[bytes]:
        await self._sleep("subscribe")
        raise AssertionError

    async def publish(self, frames: Any) -> None:
        async for _ in frames:
            break
        await self._sleep("publish")


def test_a_waiting_application_ends_with_its_client() -> None:
    async def main() -> None:
        sleeping = Sleeping()
        server = await aio.serve(sleeping)
        async with aio.Client(server.address) as client:
            with rejected("DEADLINE_EXCEEDED"):
                await client.publish(numbered(1), timeout=0.5)
            async with client.subscribe("any", timeout=0.5) as stream:
                with rejected("DEADLINE_EXCEEDED"):
                    await anext(stream)
        await asyncio.wait_for(server.stop(), PATIENCE)
        assert sleeping.cancelled == ["publish", "subscribe"]

    asyncio.run(main())


def test_a_timeout_may_be_endless() -> None:
    with (
        service({"all": Store()}) as (_, client),
        client.subscribe("all", timeout=float("inf")) as stream,
    ):
        assert not list(stream.statements())


def test_a_port_is_a_port() -> None:
    for port in (-1, 1 << 16):
        with pytest.raises(ValueError, match="is not a port"):
            serve({}, port=port)


def test_requests_end_with_the_call() -> None:
    seen: list[Any] = []

    async def main(address: str) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: seen.append(context))
        with rejected("DATA_LOSS"):
            await aio.publish(endless(), address)

    with answering(b"", read=1) as address:
        for _ in range(20):
            asyncio.run(main(address), debug=True)
    assert not seen


def test_topics_are_unicode_text() -> None:
    with service({}) as (_, client):
        with pytest.raises(JellyError, match="surrogate"):
            client.subscribe("\udcff")
        with pytest.raises(JellyError, match="surrogate"):
            client.publish(numbered(1), topic="\udcff")
