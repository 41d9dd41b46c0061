"""Published streams: a publisher returns only after the server has received the whole stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from jelly_plugins.grpc import Published, aio, publish, serve

from .support import answering, endless, frames_of, numbered, rejected, service


def publish_in_loop(data: Any, target: str) -> None:
    asyncio.run(aio.publish(data, target))


clients = pytest.mark.parametrize("client", [publish, publish_in_loop])


@clients
@pytest.mark.parametrize("read", [0, 1, 3])
def test_an_answer_before_the_end_of_the_stream(client: Callable[..., None], read: int) -> None:
    with answering(b"", read=read) as address:
        with rejected("DATA_LOSS", "before it had received all") as caught:
            client(endless(), address)
        assert caught.value.source == address


@clients
@pytest.mark.parametrize("answer", [b"\xff", b"\x0a\x05x", b"not protobuf"])
def test_an_answer_that_is_not_an_rdf_stream_received(
    client: Callable[..., None], answer: bytes
) -> None:
    with answering(answer) as address, rejected("INTERNAL", "the server's answer is malformed"):
        client(numbered(3), address)


@clients
@pytest.mark.parametrize("answer", [b"", b"\x0a\x01x"])
def test_an_answer_of_a_later_version(client: Callable[..., None], answer: bytes) -> None:
    with answering(answer) as address:
        client(numbered(3), address)


@clients
def test_an_error_of_the_data_precedes_an_early_answer(
    client: Callable[..., None],
) -> None:
    def failing() -> Any:
        yield from numbered(10)
        raise OSError("no more")

    with answering(b"", read=0) as address, pytest.raises((OSError, ValueError)):
        client(failing(), address)


@pytest.mark.parametrize("taken", [0, 1])
def test_an_application_that_reads_a_part(taken: int) -> None:
    class Part:
        def publish(self, frames: Published) -> None:
            for _ in range(taken):
                next(iter(frames))

    with service(sink=Part()) as (_, client), rejected("INTERNAL", "only a part"):
        client.publish_frames(frames_of(numbered(600)))


def test_an_application_that_reads_all_frames_but_not_the_end() -> None:
    class Exact:
        def publish(self, frames: Published) -> None:
            next(iter(frames))

    with service(sink=Exact()) as (_, client):
        client.publish_frames(frames_of(numbered(10)))


def test_an_application_of_a_loop_that_reads_a_part() -> None:
    class Part:
        def subscribe(self, _topic: str, _options: object) -> Any:
            raise AssertionError

        async def publish(self, frames: Any) -> None:
            await anext(frames)

    async def main() -> None:
        async with await aio.serve(Part()) as server:
            with rejected("INTERNAL", "only a part"):
                await aio.publish(numbered(5000), server.address)

    asyncio.run(main())


def test_a_server_that_reads_nothing() -> None:
    class Nothing:
        def subscribe(self, _topic: str, _options: object) -> Any:
            raise AssertionError

        def publish(self, frames: Published) -> None:
            """Read nothing."""

    with serve(Nothing()) as server, rejected("INTERNAL", "only a part"):
        publish(numbered(1), server.address)
