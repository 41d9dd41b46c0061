"""Clients, blocking and for asyncio: accepted data, results, and errors."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Dataset, Graph, URIRef

from jelly_plugins import (
    JellyError,
    SourceError,
    StreamOptions,
    TermError,
    TruncatedError,
    convert,
    read,
    write,
)
from jelly_plugins.codec import Limits, PhysicalType
from jelly_plugins.grpc import Bounds, Broadcast, Client, aio, subscribe
from jelly_plugins.oxigraph import load

from .. import programs
from .support import (
    FLAT,
    PATIENCE,
    Endless,
    Fixed,
    Kept,
    answering,
    delimited,
    endless,
    eventually,
    foreign,
    frames_of,
    numbered,
    quads,
    rejected,
    service,
)


def published(data: Any, **settings: Any) -> list[Any]:
    """Publish data; return the statements that the server received."""
    sink = Kept()
    with service(sink=sink) as (_, client):
        client.publish(data, **settings)
    return list(read(delimited(sink.streams[0])))


# Publishing


@pytest.mark.parametrize(
    "settings", [{}, {"topic": "t"}, {"topic": "t", "options": StreamOptions.small()}]
)
def test_sources_of_every_format_are_published(tmp_path: Path, settings: dict[str, Any]) -> None:
    path, text = tmp_path / "x.jelly.gz", tmp_path / "x.nt"
    write(numbered(600), path)
    convert(path, text)
    data = path.read_bytes()
    for source in (path, str(path), data, io.BytesIO(data), text):
        assert published(source, **settings) == numbered(600)
    for form in ("nt", "turtle"):
        assert published(text.read_bytes(), format=form, **settings) == numbered(600)
    with pytest.raises(ValueError, match="tutrle"):
        published(path, format="tutrle")


# rdflib itself uses features about which it warns.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("topic", [None, "t"])
def test_statements_stores_and_graphs_are_published(topic: str | None) -> None:
    store = ox.Store()
    load(store, delimited(frames_of(quads(600))))
    graph = Graph().add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    dataset = Dataset()
    dataset.parse(data=delimited(frames_of(quads(5))), format="jelly-plugins")
    assert published(iter(numbered(600)), topic=topic) == numbered(600)
    assert set(published(store, topic=topic)) == set(quads(600))
    assert len(published(graph, topic=topic)) == 1
    assert len(published(dataset, topic=topic)) == 5
    assert len(published(list(graph), backend="rdflib", topic=topic)) == 1
    assert len(published(list(store), backend="oxigraph", topic=topic)) == 600


def test_a_stream_has_the_given_name_and_options(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write(numbered(3), path, restart_every=1)
    sink = Kept()
    with service(sink=sink) as (_, client):
        client.publish(path, topic="t", options=StreamOptions.small())
        client.publish(path, topic="u")
        client.publish(numbered(3), topic="v", options=StreamOptions.small())
    assert [options.stream_name for options in sink.options] == ["t", "u", "v"]
    assert [options.max_name_table_size for options in sink.options] == [128, 4000, 128]


def failing() -> Iterator[Any]:
    yield from numbered(20_000)
    raise ZeroDivisionError


def failing_frames() -> Iterator[bytes]:
    yield frames_of(numbered(3))[0]
    raise ZeroDivisionError


@pytest.mark.parametrize(
    ("publish", "error", "words"),
    [
        (lambda client, _: client.publish(failing()), ZeroDivisionError, None),
        (lambda client, _: client.publish_frames(failing_frames()), ZeroDivisionError, None),
        (lambda client, path: client.publish(path), TruncatedError, "cut.jelly: .*inside a frame"),
        (lambda client, _: client.publish(b"<urn:s> <urn:p> ."), SourceError, "is text, not Jelly"),
    ],
)
def test_failing_data_is_not_published(
    publish: Callable[[Any, Path], None], error: Any, words: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "cut.jelly"
    path.write_bytes(delimited(frames_of(numbered(5000)))[:-1])
    sink = Kept()
    with service(sink=sink) as (_, client):
        with pytest.raises(error, match=words):
            publish(client, path)
        assert sink.ended()
    assert sink.streams == []


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_answer_before_the_end_of_the_stream(count: int) -> None:
    with answering(b"", read=count) as address, Client(address) as client:
        with rejected("DATA_LOSS", "before it had received all") as caught:
            client.publish(endless())
        assert caught.value.source == address


@pytest.mark.parametrize("answer", [b"", b"\x0a\x01x"])
def test_an_answer_of_a_later_version(answer: bytes) -> None:
    with answering(answer) as address, Client(address) as client:
        client.publish(numbered(3))


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


# Subscribing


def test_a_stream_is_taken_in_one_of_several_ways(tmp_path: Path) -> None:
    frames = frames_of(quads(600))
    with service({"t": Fixed(frames)}) as (server, client):
        with client.subscribe("t", backend="rdflib") as stream:
            assert next(stream.statements())[0] == URIRef("http://example.org/0")
        with client.subscribe("t", backend="oxigraph") as stream:
            assert isinstance(next(stream.statements()), ox.Quad)
        for store in (ox.Store(), Dataset()):
            with client.subscribe("t") as stream:
                assert stream.load(store) == 600
                assert len(store) == 600
        with client.subscribe("t") as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            assert sum(len(frame.statements) for frame in stream) == 600
        with client.subscribe("t") as stream:
            assert list(stream.frames()) == frames
        with subscribe("t", server.address) as stream, stream.open() as file:
            assert file.read() == delimited(frames)
        with subscribe("t", server.address) as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            stream.save(tmp_path / "x.jelly")
        assert (tmp_path / "x.jelly").read_bytes() == delimited(frames)


class BreaksOff:
    """A topic whose stream ends with an error."""

    def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
        yield from frames_of(quads(9_000))[:-1]
        raise TermError("no more")


@contextmanager
def cut(how: str) -> Iterator[Any]:
    """A stream that ends with an error of the server, or that another thread closes after its first
    frame."""
    endless = Endless()

    def close() -> None:
        endless.sent.wait()
        stream.close()

    topics = {"failing": BreaksOff(), "closed": endless}
    with service(topics) as (_, client), client.subscribe(how) as stream:
        if how == "failing":
            with rejected("DATA_LOSS", "no more"):
                yield stream
            return
        thread = threading.Thread(target=close)
        thread.start()
        with rejected("CANCELLED", "closed before its end"):
            yield stream
        thread.join()


@pytest.mark.parametrize("how", ["failing", "closed"])
@pytest.mark.parametrize("new", [ox.Store, Dataset])
def test_nothing_is_taken_of_a_stream_that_is_cut(
    how: str, new: Callable[[], Any], tmp_path: Path
) -> None:
    store = new()
    with cut(how) as stream:
        stream.load(store)
    assert len(store) == 0
    with cut(how) as stream:
        stream.save(tmp_path / "x.jelly")
    assert list(tmp_path.iterdir()) == []


def test_limits_of_the_client_hold() -> None:
    with (
        service({"t": Fixed(frames_of(numbered(3)))}) as (server, _),
        Client(server.address, limits=Limits(name_table=100)) as client,
        client.subscribe("t") as stream,
        pytest.raises(JellyError, match=r"Limits\.name_table") as caught,
    ):
        list(stream)
    assert caught.value.source == f"{server.address}: t"
    assert caught.value.frame == 0


# Wrong requests and addresses


@pytest.mark.parametrize("subscribe", [subscribe, aio.subscribe])
@pytest.mark.parametrize("wrong", [{"backend": "unknown"}, {"timeout": "long"}])
def test_a_wrong_request_is_an_error_at_once(
    subscribe: Callable[..., Any], wrong: dict[str, Any]
) -> None:
    with pytest.raises(ValueError if "backend" in wrong else TypeError, match=r"unknown|'str'"):
        subscribe("t", "localhost:1", **wrong)


def test_topics_are_unicode_text() -> None:
    with service({}) as (_, client):
        with pytest.raises(JellyError, match="surrogate"):
            client.subscribe("\udcff")
        with pytest.raises(JellyError, match="surrogate"):
            client.publish(numbered(1), topic="\udcff")


def test_a_server_without_the_service() -> None:
    with foreign({}) as address, Client(address) as client, rejected("UNIMPLEMENTED"):
        client.publish(numbered(1))


def test_an_address_without_a_server() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with Client(address) as client:
            with rejected("UNAVAILABLE", address):
                client.publish(numbered(1))
            with rejected("UNAVAILABLE", address), client.subscribe("t") as stream:
                next(stream)


def test_nothing_is_registered_in_protobufs_own_pool() -> None:
    """Another package, such as pyjelly, may have registered its ``rdf.proto`` there."""
    done = programs.run(
        "import jelly_plugins.grpc\n"
        "from google.protobuf import descriptor_pool\n"
        "try:\n    descriptor_pool.Default().FindFileByName('rdf.proto')\n"
        "except KeyError:\n    print('free')"
    )
    assert done.stdout.strip() == "free", done.stderr


# What only an event loop has: asynchronous data, cancelled tasks, the server's shell


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
