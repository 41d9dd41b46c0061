"""Clients: accepted data, results, and errors."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pyoxigraph as ox
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rdflib import Dataset, Graph, URIRef

from jelly_plugins import JellyError, SourceError, StreamOptions, TermError, convert, read, write
from jelly_plugins.codec import Limits, PhysicalType
from jelly_plugins.grpc import Bounds, Client, Published, protocol, publish, serve, subscribe
from jelly_plugins.oxigraph import load

from .. import programs
from .support import (
    PATIENCE,
    Fixed,
    Kept,
    delimited,
    foreign,
    frames_of,
    numbered,
    quads,
    raw,
    rejected,
    service,
)


def published(data: Any, **settings: Any) -> list[Any]:
    """Publish data; return the statements that the server received."""
    sink = Kept()
    with service(sink=sink) as (server, _):
        publish(data, server.address, **settings)
    return list(read(delimited(sink.streams[0])))


def test_sources_are_published(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.gz"
    write(numbered(600), path)
    for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        assert published(source) == numbered(600)
        if isinstance(source, io.BytesIO):
            source.seek(0)
        assert published(source, topic="t") == numbered(600)


def test_text_is_published(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    convert([delimited(frames_of(numbered(600)))], path, source_format="jelly")
    for data, form in ((path, None), (path.read_bytes(), "nt"), (path.read_bytes(), "turtle")):
        assert published(data, format=form) == numbered(600)
        options = StreamOptions.small()
        assert published(data, format=form, topic="t", options=options) == numbered(600)
    with pytest.raises(ValueError, match="tutrle"):
        published(path, format="tutrle")


# rdflib itself uses features about which it warns.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_statements_stores_and_graphs_are_published() -> None:
    store = ox.Store()
    load(store, delimited(frames_of(quads(600))))
    graph = Graph().add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    dataset = Dataset()
    dataset.parse(data=delimited(frames_of(quads(5))), format="jelly-plugins")
    for topic in (None, "t"):
        assert published(iter(numbered(600)), topic=topic) == numbered(600)
        assert set(published(store, topic=topic)) == set(quads(600))
        assert len(published(graph, topic=topic)) == 1
        assert len(published(dataset, topic=topic)) == 5
        assert len(published(list(graph), backend="rdflib", topic=topic)) == 1
        assert len(published(list(store), backend="oxigraph", topic=topic)) == 600


def test_a_stream_has_the_given_name_and_options(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write(numbered(3), path, restart_every=1)
    found = []

    class Sink:
        def publish(self, frames: Published) -> None:
            found.append(frames.options)
            list(frames)

    with service(sink=Sink()) as (_, client):
        client.publish(path, topic="t", options=StreamOptions.small())
        client.publish(path, topic="u")
        client.publish(numbered(3), topic="v", options=StreamOptions.small())
    assert [options.stream_name for options in found] == ["t", "u", "v"]
    assert [options.max_name_table_size for options in found] == [128, 4000, 128]


def test_statements_in_the_terms_of_a_backend() -> None:
    with service({"t": Fixed(frames_of(quads(3)))}) as (server, client):
        found = list(client.subscribe("t", backend="rdflib").statements())
        assert found[0][0] == URIRef("http://example.org/0")
        with subscribe("t", server.address, backend="oxigraph") as stream:
            assert isinstance(next(stream.statements()), ox.Quad)


def test_a_stream_becomes_a_file_a_store_or_a_graph(tmp_path: Path) -> None:
    frames = frames_of(quads(600))
    with service({"t": Fixed(frames)}) as (_, client):
        client.subscribe("t").save(tmp_path / "x.jelly")
        assert (tmp_path / "x.jelly").read_bytes() == delimited(frames)
        for store in (ox.Store(), Dataset()):
            assert client.subscribe("t").load(store) == 600
        with client.subscribe("t").open() as file:
            assert file.read() == delimited(frames)
        with client.subscribe("t") as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            assert sum(len(frame.statements) for frame in stream) == 600
        with client.subscribe("t") as stream:
            assert stream.options.physical_type is PhysicalType.QUADS
            stream.save(tmp_path / "y.jelly")
        assert (tmp_path / "y.jelly").read_bytes() == delimited(frames)


class BreaksOff:
    """A topic whose stream ends with an error."""

    def subscribe(self, _topic: str, _options: object) -> Iterator[bytes]:
        yield from frames_of(quads(20_000))[:-1]
        raise TermError("no more")


def test_a_truncated_stream_leaves_nothing(tmp_path: Path) -> None:
    store = ox.Store()
    dataset = Dataset()
    with service({"t": BreaksOff()}) as (_, client):
        for taker in (store, dataset):
            with rejected("DATA_LOSS", "no more"):
                client.subscribe("t").load(taker)
        with rejected("DATA_LOSS"):
            client.subscribe("t").save(tmp_path / "x.jelly")
    assert len(store) == len(dataset) == 0
    assert list(tmp_path.iterdir()) == []


def test_limits_of_the_client_hold() -> None:
    with (
        service({"t": Fixed(frames_of(numbered(3)))}) as (server, _),
        Client(server.address, limits=Limits(name_table=100)) as client,
        pytest.raises(JellyError, match=r"Limits\.name_table") as caught,
    ):
        list(client.subscribe("t"))
    assert caught.value.source == f"{server.address}: t"
    assert caught.value.frame == 0


def test_a_server_that_ignores_the_requested_options() -> None:
    """Test with a server of another program."""
    handler: Any = grpc.unary_stream_rpc_method_handler(lambda *_: iter(frames_of(numbered(3))))
    with foreign({"SubscribeRdf": handler}) as address:
        for take in (list, lambda stream: list(stream.frames())):
            with (
                subscribe("t", address, options=StreamOptions.small()) as stream,
                pytest.raises(JellyError, match="max_name_table_size is 4000"),
            ):
                take(stream)


def test_a_server_that_sends_nothing() -> None:
    handler: Any = grpc.unary_stream_rpc_method_handler(lambda *_: iter(()))
    with foreign({"SubscribeRdf": handler}) as address:
        for take in (list, lambda stream: stream.load(ox.Store()), lambda stream: stream.options):
            with subscribe("t", address) as stream, pytest.raises(JellyError, match=r"no (f|o)"):
                take(stream)


def test_a_server_without_the_service() -> None:
    with foreign({}) as address, rejected("UNIMPLEMENTED"):
        publish(numbered(1), address)


def test_an_address_without_a_server() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with rejected("UNAVAILABLE", address):
            publish(numbered(1), address)
        with rejected("UNAVAILABLE", address), subscribe("t", address) as stream:
            next(stream)


def test_a_port_that_is_taken() -> None:
    with serve({}) as server, pytest.raises(SourceError, match="cannot be listened on"):
        serve({}, port=server.port)


def test_unreadable_data_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(delimited(frames_of(numbered(5000)))[:-1])
    sink = Kept()
    with service(sink=sink) as (_, client):
        with pytest.raises(JellyError, match="inside a frame") as caught:
            client.publish(path)
        assert caught.value.source == str(path)
        assert sink.ended()
    assert sink.streams == []


def test_failing_statements_are_not_published() -> None:
    def statements() -> Iterator[Any]:
        yield from numbered(20_000)
        raise ZeroDivisionError

    sink = Kept()
    with service(sink=sink) as (_, client):
        with pytest.raises(ZeroDivisionError):
            client.publish(statements())
        assert sink.ended()
    assert sink.streams == []


class Waiting:
    """A topic and a sink that do nothing until a client disconnects."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.entered = threading.Event()

    def subscribe(self, _topic: str, _options: object) -> Waiting:
        return self

    def publish(self, frames: Published) -> None:
        self.entered.set()
        try:
            list(frames)
        except Exception:
            self.left.set()
            raise

    def __iter__(self) -> Iterator[bytes]:
        yield frames_of([])[0]
        self.entered.set()
        assert self.left.wait(PATIENCE)

    def cancel(self) -> None:
        self.left.set()


def test_deadlines_end_calls_on_both_sides() -> None:
    waiting = Waiting()
    with service({"t": waiting}) as (_, client):
        with rejected("DEADLINE_EXCEEDED"):
            list(client.subscribe("t", timeout=0.2))
        assert waiting.left.wait(PATIENCE)
    sink = Waiting()
    forever = threading.Event()

    def frames() -> Iterator[bytes]:
        yield from frames_of(numbered(1))
        forever.wait(PATIENCE)

    with service(sink=sink) as (_, client):
        with rejected("DEADLINE_EXCEEDED"):
            client.publish_frames(frames(), timeout=0.2)
        assert sink.left.wait(PATIENCE)
        forever.set()


def test_a_server_limits_the_duration_of_a_stream() -> None:
    waiting = Waiting()
    sink = Waiting()
    bounds = Bounds(seconds=0.2)
    forever = threading.Event()

    def frames() -> Iterator[bytes]:
        yield from frames_of(numbered(1))
        forever.wait(PATIENCE)

    with service({"t": waiting}, sink=sink, bounds=bounds) as (_, client):
        with rejected("CANCELLED"):
            list(client.subscribe("t"))
        with rejected("CANCELLED"):
            client.publish_frames(frames())
        assert waiting.left.wait(PATIENCE)
        assert sink.left.wait(PATIENCE)
        forever.set()


def test_a_server_limits_the_number_of_streams() -> None:
    waiting = Waiting()
    with service({"t": waiting}, sink=Kept(), bounds=Bounds(streams=1)) as (_, client):
        with client.subscribe("t") as stream:
            next(stream)
            with rejected("RESOURCE_EXHAUSTED", "1 streams"):
                list(client.subscribe("t"))
            with rejected("RESOURCE_EXHAUSTED"):
                client.publish(numbered(1))
        assert waiting.left.wait(PATIENCE)


@pytest.mark.parametrize(
    "bounds",
    [{"streams": 0}, {"message_bytes": 1}, {"stream_bytes": 0}, {"seconds": 0}, {"idle": -1}],
)
def test_invalid_bounds(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"bound|seconds|idle"):
        Bounds(**bounds)


def test_active_calls_end_when_a_server_stops() -> None:
    sink = Kept()
    go_on = threading.Event()

    def frames() -> Iterator[bytes]:
        made = frames_of(numbered(600))
        yield made[0]
        assert go_on.wait(PATIENCE)
        yield from made[1:]

    with service(sink=sink) as (server, client):
        publisher = threading.Thread(target=lambda: client.publish_frames(frames()), daemon=True)
        publisher.start()
        assert sink.begun.wait(PATIENCE)
        stopper = threading.Thread(target=server.stop, daemon=True)
        stopper.start()
        while is_healthy(server.address):
            pass
        go_on.set()
        publisher.join(PATIENCE)
        stopper.join(PATIENCE)
        assert server.wait(PATIENCE)
        with rejected("UNAVAILABLE"):
            client.publish(numbered(1), timeout=5)
    assert len(sink.streams) == 1


def is_healthy(address: str) -> bool:
    """Whether a server still accepts calls."""
    with grpc.insecure_channel(address) as channel:
        try:
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
        except grpc.RpcError:
            return False
    return True


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
    with serve({}) as server, raw(server), grpc.insecure_channel(server.address) as channel:
        call: Any = channel.unary_unary(f"/{protocol.SERVICE}/Other")
        with pytest.raises(grpc.RpcError):
            call(b"")


def test_the_error_without_grpc_names_the_extra() -> None:
    done = programs.run(
        "import sys; sys.modules['grpc'] = None\n"
        "from jelly_plugins import MissingExtraError\n"
        "try:\n    import jelly_plugins.grpc\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    assert "pip install 'jelly-plugins[grpc]'" in done.stdout, done.stderr


def test_nothing_is_registered_in_protobufs_own_pool() -> None:
    """Another package, such as pyjelly, may have registered its ``rdf.proto`` there."""
    done = programs.run(
        "import jelly_plugins.grpc\n"
        "from google.protobuf import descriptor_pool\n"
        "try:\n    descriptor_pool.Default().FindFileByName('rdf.proto')\n"
        "except KeyError:\n    print('free')"
    )
    assert done.stdout.strip() == "free", done.stderr
