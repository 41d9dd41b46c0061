"""Clients, blocking and for asyncio: accepted data, results, and errors."""

from __future__ import annotations

import asyncio
import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Dataset, Graph, URIRef

from jelly_plugins import (
    JellyError,
    OptionsError,
    StreamOptions,
    TermError,
    TruncatedError,
    WireError,
    convert,
    read,
    write,
)
from jelly_plugins.codec import Limits, PhysicalType
from jelly_plugins.grpc import Client, aio, subscribe
from jelly_plugins.oxigraph import load

from .. import programs
from .support import (
    Endless,
    Fixed,
    Kept,
    Paused,
    answering,
    clients,
    delimited,
    endless,
    foreign,
    frames_of,
    numbered,
    quads,
    rejected,
    sending,
    service,
)


def published(data: Any, kind: Any = Client, **settings: Any) -> list[Any]:
    """Publish data; return the statements that the server received."""
    sink = Kept()
    with service(sink=sink, kind=kind) as (_, client):
        client.publish(data, **settings)
    return list(read(delimited(sink.streams[0])))


# Publishing


@pytest.mark.parametrize("topic", [None, "t"])
def test_sources_are_published(tmp_path: Path, topic: str | None) -> None:
    path = tmp_path / "x.jelly.gz"
    write(numbered(600), path)
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        assert published(source, topic=topic) == numbered(600)


@pytest.mark.parametrize("settings", [{}, {"topic": "t", "options": StreamOptions.small()}])
def test_text_is_published(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = tmp_path / "x.nt"
    convert([delimited(frames_of(numbered(600)))], path, source_format="jelly")
    for data, form in ((path, None), (path.read_bytes(), "nt"), (path.read_bytes(), "turtle")):
        assert published(data, format=form, **settings) == numbered(600)
    with pytest.raises(ValueError, match="tutrle"):
        published(path, format="tutrle")


# rdflib itself uses features about which it warns.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@clients
@pytest.mark.parametrize("topic", [None, "t"])
def test_statements_stores_and_graphs_are_published(kind: Any, topic: str | None) -> None:
    store = ox.Store()
    load(store, delimited(frames_of(quads(600))))
    graph = Graph().add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    dataset = Dataset()
    dataset.parse(data=delimited(frames_of(quads(5))), format="jelly-plugins")
    assert published(iter(numbered(600)), kind, topic=topic) == numbered(600)
    assert set(published(store, kind, topic=topic)) == set(quads(600))
    assert len(published(graph, kind, topic=topic)) == 1
    assert len(published(dataset, kind, topic=topic)) == 5
    assert len(published(list(graph), kind, backend="rdflib", topic=topic)) == 1
    assert len(published(list(store), kind, backend="oxigraph", topic=topic)) == 600


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


@clients
@pytest.mark.parametrize(
    ("publish", "error", "words"),
    [
        (lambda client, _: client.publish(failing()), ZeroDivisionError, None),
        (lambda client, _: client.publish_frames(failing_frames()), ZeroDivisionError, None),
        (lambda client, path: client.publish(path), TruncatedError, "cut.jelly: .*inside a frame"),
    ],
)
def test_failing_data_is_not_published(
    kind: Any, publish: Callable[[Any, Path], None], error: Any, words: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "cut.jelly"
    path.write_bytes(delimited(frames_of(numbered(5000)))[:-1])
    sink = Kept()
    with service(sink=sink, kind=kind) as (_, client):
        with pytest.raises(error, match=words):
            publish(client, path)
        assert sink.ended()
    assert sink.streams == []


@clients
@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_answer_before_the_end_of_the_stream(kind: Any, count: int) -> None:
    with answering(b"", read=count) as address, kind(address) as client:
        with rejected("DATA_LOSS", "before it had received all") as caught:
            client.publish(endless())
        assert caught.value.source == address


@clients
@pytest.mark.parametrize("answer", [b"", b"\x0a\x01x"])
def test_an_answer_of_a_later_version(kind: Any, answer: bytes) -> None:
    with answering(answer) as address, kind(address) as client:
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


@clients
def test_statements_in_the_terms_of_a_backend(kind: Any) -> None:
    with service({"t": Fixed(frames_of(quads(3)))}, kind=kind) as (_, client):
        with client.subscribe("t", backend="rdflib") as stream:
            assert next(stream.statements())[0] == URIRef("http://example.org/0")
        with client.subscribe("t", backend="oxigraph") as stream:
            assert isinstance(next(stream.statements()), ox.Quad)


@clients
def test_a_stream_is_taken_by_frames_or_loaded(kind: Any) -> None:
    frames = frames_of(quads(600))
    with service({"t": Fixed(frames)}, kind=kind) as (_, client):
        for store in (ox.Store(), Dataset()):
            with client.subscribe("t") as stream:
                assert stream.load(store) == 600
                assert len(store) == 600
        with client.subscribe("t") as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            assert sum(len(frame.statements) for frame in stream) == 600
        with client.subscribe("t") as stream:
            assert list(stream.frames()) == frames


def test_a_stream_becomes_a_file(tmp_path: Path) -> None:
    frames = frames_of(quads(600))
    with service({"t": Fixed(frames)}) as (_, client):
        with client.subscribe("t").open() as file:
            assert file.read() == delimited(frames)
        with client.subscribe("t") as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            stream.save(tmp_path / "x.jelly")
        assert (tmp_path / "x.jelly").read_bytes() == delimited(frames)


class BreaksOff:
    """A topic whose stream ends with an error."""

    def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
        yield from frames_of(quads(20_000))[:-1]
        raise TermError("no more")


@clients
@pytest.mark.parametrize("new", [ox.Store, Dataset])
def test_nothing_is_taken_of_a_truncated_stream(
    kind: Any, new: Callable[[], Any], tmp_path: Path
) -> None:
    store = new()
    with service({"t": BreaksOff()}, kind=kind) as (server, client):
        with rejected("DATA_LOSS", "no more"), client.subscribe("t") as stream:
            stream.load(store)
        with rejected("DATA_LOSS"), subscribe("t", server.address) as stream:
            stream.save(tmp_path / "x.jelly")
    assert len(store) == 0
    assert list(tmp_path.iterdir()) == []


@contextmanager
def closed_later(kind: Any) -> Iterator[Any]:
    """Open a stream that another thread closes after its first frame."""
    topic = Endless()

    def close() -> None:
        topic.sent.wait()
        stream.close()

    with service({"t": topic}, kind=kind) as (_, client), client.subscribe("t") as stream:
        thread = threading.Thread(target=close)
        thread.start()
        yield stream
        thread.join()


@clients
@pytest.mark.parametrize("new", [ox.Store, Graph])
def test_closing_a_stream_while_it_is_loaded(kind: Any, new: Callable[[], Any]) -> None:
    store = new()
    with closed_later(kind) as stream, rejected("CANCELLED", "closed before its end"):
        stream.load(store)
    assert len(store) == 0


def test_closing_a_stream_while_it_is_saved(tmp_path: Path) -> None:
    with closed_later(Client) as stream, rejected("CANCELLED"):
        stream.save(tmp_path / "saved.jelly")
    assert not list(tmp_path.iterdir())


@clients
def test_limits_of_the_client_hold(kind: Any) -> None:
    with (
        service({"t": Fixed(frames_of(numbered(3)))}) as (server, _),
        kind(server.address, limits=Limits(name_table=100)) as client,
        client.subscribe("t") as stream,
        pytest.raises(JellyError, match=r"Limits\.name_table") as caught,
    ):
        list(stream)
    assert caught.value.source == f"{server.address}: t"
    assert caught.value.frame == 0


@clients
@pytest.mark.parametrize(
    "take",
    [
        list,
        lambda stream: list(stream.frames()),
        lambda stream: stream.load(ox.Store()),
        lambda stream: stream.options,
    ],
)
@pytest.mark.parametrize(
    ("frames", "error", "words"),
    [
        ([], OptionsError, "has no frames"),
        ([b""] * 2000, OptionsError, "options"),
        ([b"\xff" * 9], WireError, "frame 0"),
        (frames_of(numbered(3)), OptionsError, "max_name_table_size is 4000"),
    ],
    ids=["nothing", "no rows", "garbage", "more than requested"],
)
def test_a_server_that_breaks_the_rules(
    kind: Any, take: Callable[[Any], Any], frames: list[bytes], error: Any, words: str
) -> None:
    """Test with a server of another program."""
    with (
        sending(frames) as address,
        kind(address) as client,
        client.subscribe("t", options=StreamOptions.small()) as stream,
        pytest.raises(error, match=f"{address}: t: .*{words}"),
    ):
        take(stream)


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


@clients
def test_a_server_without_the_service(kind: Any) -> None:
    with foreign({}) as address, kind(address) as client, rejected("UNIMPLEMENTED"):
        client.publish(numbered(1))


@clients
def test_an_address_without_a_server(kind: Any) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with kind(address) as client:
            with rejected("UNAVAILABLE", address):
                client.publish(numbered(1))
            with rejected("UNAVAILABLE", address), client.subscribe("t") as stream:
                next(stream)


@clients
def test_deadlines_end_calls_on_both_sides(kind: Any) -> None:
    topic, sink = Endless(), Kept()
    with (
        service({"t": topic}, sink=sink, kind=kind) as (_, client),
        Paused() as paused,
    ):
        with rejected("DEADLINE_EXCEEDED"), client.subscribe("t", timeout=0.2) as stream:
            list(stream)
        assert topic.left.wait()
        with rejected("DEADLINE_EXCEEDED"):
            client.publish_frames(paused, timeout=0.2)
        assert sink.ended()
    assert sink.streams == []


def test_nothing_is_registered_in_protobufs_own_pool() -> None:
    """Another package, such as pyjelly, may have registered its ``rdf.proto`` there."""
    done = programs.run(
        "import jelly_plugins.grpc\n"
        "from google.protobuf import descriptor_pool\n"
        "try:\n    descriptor_pool.Default().FindFileByName('rdf.proto')\n"
        "except KeyError:\n    print('free')"
    )
    assert done.stdout.strip() == "free", done.stderr
