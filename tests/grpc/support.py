"""Streams, clients and services for the tests of the streaming service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent import futures
from contextlib import contextmanager
from itertools import count, islice
from typing import Any, Self

import grpc
import pytest

from jelly_plugins import Iri, Literal, Quad, ServiceError, StreamOptions, Triple
from jelly_plugins.codec import LogicalType, PhysicalType, delimit
from jelly_plugins.grpc import Client, Published, Server, Topics, protocol, serve
from jelly_plugins.io.streams import encode

#: Time limit in seconds that is sufficient on any machine.
PATIENCE = 60

G = Iri("http://example.org/g")
FLAT = StreamOptions(logical_type=LogicalType.FLAT_TRIPLES)
#: A frame that no decoder accepts.
GARBAGE = b"\x0a\x02\x4a"


def numbered(count: int) -> list[Triple]:
    """Make different triples."""
    p = Iri("http://example.org/p")
    return [Triple(Iri(f"http://example.org/{n}"), p, Literal(str(n))) for n in range(count)]


def quads(count: int) -> list[Quad]:
    return [Quad(*triple, G) for triple in numbered(count)]


def endless() -> Iterator[Triple]:
    """Yield triples without end."""
    return (triple for _ in count() for triple in numbered(100))


def frames_of(statements: Iterable[Any], *, rows: int = 256, **options: Any) -> list[bytes]:
    """Make the frames of a stream with some options."""
    given = list(statements)
    if given and len(given[0]) == 4:
        options.setdefault("physical_type", PhysicalType.QUADS)
    return list(encode(given, options=StreamOptions(**options), frame_rows=rows))


def delimited(frames: Iterable[bytes]) -> bytes:
    return b"".join(map(delimit, frames))


def taken(stream: Iterator[Any], count: int) -> list[Any]:
    """Return the next items."""
    return [next(stream) for _ in range(count)]


def eventually(condition: Callable[[], bool]) -> None:
    """Wait for a condition that other threads will make true."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Fixed:
    """A topic that always streams the same frames."""

    def __init__(self, frames: Iterable[bytes]) -> None:
        self._frames = list(frames)

    def subscribe(self, _topic: str, _options: StreamOptions | None) -> Iterator[bytes]:
        return iter(self._frames)


class Endless:
    """A topic that streams empty frames until the client stops reading."""

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


class Waiting:
    """A topic that streams nothing after the options until the client disconnects."""

    def __init__(self) -> None:
        self.left = threading.Event()

    def subscribe(self, _topic: str, _options: object) -> Waiting:
        return self

    def __iter__(self) -> Iterator[bytes]:
        yield frames_of([])[0]
        assert self.left.wait(PATIENCE)

    def cancel(self) -> None:
        self.left.set()


class Kept:
    """A sink that keeps published streams."""

    def __init__(self) -> None:
        self.streams: list[list[bytes]] = []
        self.options: list[StreamOptions] = []
        self.errors: list[Exception] = []
        self.begun = threading.Event()
        self.done = threading.Event()

    def publish(self, frames: Published) -> None:
        self.begun.set()
        self.options.append(frames.options)
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


class Paused:
    """Frames of which the first comes at once, and the others when it is ``released``."""

    def __init__(self, frames: Iterable[bytes] | None = None) -> None:
        self._frames = list(frames or frames_of(numbered(3)))
        self.released = threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield self._frames[0]
        assert self.released.wait(PATIENCE)
        yield from self._frames[1:]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()


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
def sending(frames: Iterable[bytes]) -> Iterator[str]:
    """Run a server that sends these frames to any subscriber; yield its address."""
    handler: Any = grpc.unary_stream_rpc_method_handler(lambda *_: iter(frames))
    with foreign({"SubscribeRdf": handler}) as address:
        yield address


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
