"""Streams and services for the tests of the streaming service."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager
from itertools import count, islice
from typing import Any

import grpc
import pytest

from jelly_plugins import Iri, Literal, Quad, ServiceError, StreamOptions, Triple
from jelly_plugins.codec import PhysicalType, delimit
from jelly_plugins.grpc import Client, Published, Server, Topics, protocol, serve
from jelly_plugins.io.streams import encode

#: Time limit in seconds that is sufficient on any machine.
PATIENCE = 60

G = Iri("http://example.org/g")


def numbered(count: int) -> list[Triple]:
    """Make different triples."""
    p = Iri("http://example.org/p")
    return [Triple(Iri(f"http://example.org/{n}"), p, Literal(str(n))) for n in range(count)]


def quads(count: int) -> list[Quad]:
    return [Quad(*triple, G) for triple in numbered(count)]


def frames_of(statements: Iterable[Any], *, rows: int = 256, **options: Any) -> list[bytes]:
    """Make the frames of a stream with some options."""
    given = list(statements)
    if given and len(given[0]) == 4:
        options.setdefault("physical_type", PhysicalType.QUADS)
    return list(encode(given, options=StreamOptions(**options), frame_rows=rows))


def delimited(frames: Iterable[bytes]) -> bytes:
    return b"".join(map(delimit, frames))


class Fixed:
    """A topic that always streams the same frames."""

    def __init__(self, frames: Iterable[bytes]) -> None:
        self._frames = list(frames)

    def subscribe(self, _topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
        return iter(self._frames)


class Kept:
    """A sink that keeps published streams."""

    def __init__(self) -> None:
        self.streams: list[list[bytes]] = []
        self.errors: list[Exception] = []
        self.begun = threading.Event()
        self.done = threading.Event()

    def publish(self, frames: Published) -> None:
        self.begun.set()
        try:
            self.streams.append(list(frames))
        except Exception as error:
            self.errors.append(error)
            raise
        finally:
            self.done.set()

    def ended(self) -> bool:
        """Wait for a call that was cancelled, which may not have begun.

        :return: whether it ended.
        """
        return not self.begun.is_set() or self.done.wait(PATIENCE)


@contextmanager
def service(
    topics: dict[str, Any] | None = None, *, sink: Any = None, **settings: Any
) -> Iterator[tuple[Server, Client]]:
    """Run a server on the loopback interface, with a client of it."""
    with (
        serve(Topics(topics or {}, sink=sink), **settings) as server,
        Client(server.address) as client,
    ):
        yield server, client


@contextmanager
def answering(answer: bytes, *, read: int | None = None) -> Iterator[str]:
    """Run a server that answers published streams with these bytes; yield its address.

    :param read: number of messages that it reads of each before answering; None for all.
    """

    def publish(requests: Iterator[bytes], _context: grpc.ServicerContext) -> bytes:
        for _ in islice(requests, read):
            pass
        return answer

    handler: Any = grpc.stream_unary_rpc_method_handler(publish)
    with foreign({"PublishRdf": handler}) as address:
        yield address


@contextmanager
def foreign(methods: dict[str, Any]) -> Iterator[str]:
    """Run a server of another program; yield its address."""
    with futures.ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads)
        handler = grpc.method_handlers_generic_handler(protocol.SERVICE, methods)
        server.add_generic_rpc_handlers((handler,))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(0).wait()


def endless() -> Iterator[Triple]:
    """Yield triples without end."""
    return (triple for _ in count() for triple in numbered(100))


@contextmanager
def rejected(status: str, *words: str) -> Iterator[Any]:
    """Check that the block raises a ServiceError with a status."""
    with pytest.raises(ServiceError) as caught:
        yield caught
    assert caught.value.status == status, caught.value
    for word in words:
        assert word in str(caught.value)


@contextmanager
def raw(server: Server) -> Iterator[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return the two methods as gRPC calls for messages as bytes."""
    with grpc.insecure_channel(server.address) as channel:
        yield (
            channel.unary_stream(protocol.SUBSCRIBE),
            channel.stream_unary(protocol.PUBLISH),
        )


def code_of(call: Callable[[], object]) -> str:
    """Return the status that a call ends with."""
    try:
        call()
    except grpc.RpcError as error:
        found: Any = error
        return str(found.code().name)
    return "OK"
