"""Clients and servers that disappear: each stream is loaded entirely or not at all, and no
resources are left.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pyoxigraph as ox
import pytest

from jelly_plugins import Iri, Literal, Quad, ServiceError, StreamOptions, Triple
from jelly_plugins.codec import DEFAULT_LIMITS, LogicalType, PhysicalType
from jelly_plugins.grpc import Client, Published, Server, StoreSink, Topics, protocol, serve

from .. import programs
from .support import PATIENCE, frames_of, numbered

#: Number of statements of a stream, more than one transaction of a store holds.
COUNT = 5000

QUADS = StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS)


#: Statuses of a call whose server has disappeared.
GONE = {"UNAVAILABLE", "UNKNOWN", "CANCELLED"}


def long_ones(count: int) -> list[Triple]:
    """Make statements of 10 kB each."""
    p = Iri("http://example.org/p")
    return [
        Triple(Iri(f"http://example.org/{n}"), p, Literal(f"{n:05}" * 2000)) for n in range(count)
    ]


def stream_of(name: str) -> list[Quad]:
    """Make statements in a separate graph."""
    p, graph = Iri("http://example.org/p"), Iri(f"urn:{name}")
    return [
        Quad(Iri(f"http://example.org/{n}"), p, Literal(f"{name} {n}"), graph) for n in range(COUNT)
    ]


def assert_whole_or_absent(store: ox.Store, received: set[str]) -> None:
    """Check that each stream is loaded entirely or not at all, and that all confirmed ones are
    loaded.
    """
    found = Counter(quad.graph_name.value for quad in store)
    assert set(found.values()) <= {COUNT}
    assert {f"urn:{name}" for name in received} <= set(found)


PUBLISHER = """
import sys
from jelly_plugins.grpc import Client
from tests.grpc.test_faults import stream_of
target, name = sys.argv[1:]
with Client(target) as client:
    for number in range(1000):
        client.publish(stream_of(f"{name}-{number}"))
        print(number, flush=True)
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_publishers_that_are_killed(tmp_path: Path, rounds: int) -> None:
    store = ox.Store(str(tmp_path / "store"))
    random_ = random.Random(7)
    received = set()
    with serve(Topics({}, sink=StoreSink(store))) as server:
        for number in range(rounds):
            publishers = [
                programs.start(PUBLISHER, server.address, f"{number}-{which}") for which in range(2)
            ]
            for publisher in publishers:
                assert publisher.stdout is not None
                publisher.stdout.readline()
            time.sleep(random_.random() * 0.3)
            for which, publisher in enumerate(publishers):
                publisher.kill()
                out, _ = publisher.communicate()
                received |= {
                    f"{number}-{which}-{confirmed}" for confirmed in (0, *map(int, out.split()))
                }
    assert_whole_or_absent(store, received)


SERVER = """
import sys, time
import pyoxigraph as ox
from jelly_plugins.grpc import StoreSink, Topics, serve
store = ox.Store(sys.argv[1])
server = serve(Topics({"all": store}, sink=StoreSink(store)))
print(server.address, flush=True)
server.wait()
"""


@pytest.mark.parametrize("rounds", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_servers_that_are_killed(tmp_path: Path, rounds: int) -> None:
    random_ = random.Random(8)
    statuses: set[str] = set()
    for number in range(rounds):
        if number % 5 == 0:
            # A store that only grows would take most of the time.
            store = tmp_path / str(number)
            received: set[str] = set()
        server = programs.start(SERVER, store)
        assert server.stdout is not None
        address = server.stdout.readline().decode().strip()

        def publish(who: str, address: str = address, received: set[str] = received) -> None:
            with Client(address) as client:
                for again in range(1000):
                    name = f"{who}-{again}"
                    try:
                        client.publish(stream_of(name), timeout=PATIENCE)
                    except ServiceError as error:
                        statuses.add(error.status)
                        return
                    received.add(name)

        with ThreadPoolExecutor(2) as threads:
            at_work = [threads.submit(publish, f"{number}-{which}") for which in range(2)]
            time.sleep(random_.random() * 0.8)
            server.kill()
            server.communicate()
            for each in at_work:
                each.result(PATIENCE)
        assert_whole_or_absent(ox.Store(str(store)), received)
    assert statuses <= GONE


def test_streams_that_are_cancelled_at_any_moment() -> None:
    store = ox.Store()
    random_ = random.Random(9)
    frames = frames_of(stream_of("x"))
    received = threading.Event()
    with (
        serve(Topics({}, sink=StoreSink(store))) as server,
        grpc.insecure_channel(server.address) as channel,
    ):
        publish: Any = channel.stream_unary(protocol.PUBLISH)
        for _ in range(100):
            upto = random_.randrange(1, len(frames))
            go_on = threading.Event()

            def requests(upto: int = upto, go_on: threading.Event = go_on) -> Iterator[bytes]:
                yield from frames[:upto]
                received.set()
                go_on.wait(PATIENCE)

            received.clear()
            call = publish.future(requests())
            assert received.wait(PATIENCE)
            call.cancel()
            go_on.set()
    assert len(store) == 0


def test_the_end_of_requests_alone_does_not_end_a_stream() -> None:
    """After a lost connection the requests sometimes end like those of a complete stream. gRPC
    reports the loss at the second answer."""

    class Lost:
        def __init__(self) -> None:
            self._answers = iter([frames_of(numbered(3))[0], StopIteration, grpc.RpcError])

        def __next__(self) -> bytes:
            answer: Any = next(self._answers, grpc.RpcError)
            if isinstance(answer, bytes):
                return answer
            raise answer

    class Context:
        def is_active(self) -> bool:
            return True

        def time_remaining(self) -> float:
            return 1.0

    lost: Any = Lost()
    frames = Published(lost, Context(), 1 << 20, DEFAULT_LIMITS)
    for _ in range(2):
        with pytest.raises(ServiceError, match="has disconnected"):
            list(frames)


def come_and_go(server: Server, number: int) -> None:
    """Use and leave a connection in one of several ways."""
    with Client(server.address) as client:
        if number % 5 == 0:
            client.publish(numbered(10), topic="none")
        elif number % 5 == 1:
            with client.subscribe("live") as stream:
                assert stream.options
        elif number % 5 == 2:
            with client.subscribe("file") as stream:
                next(stream)
        elif number % 5 == 3:
            assert len(list(client.subscribe("file").statements())) == 2000
        else:
            client.subscribe("live")


class Discarded:
    """A sink that keeps nothing."""

    def publish(self, frames: Published) -> None:
        for _ in frames:
            pass


# What a process of pytest has allocated before would hide what these programs allocate.
measures_memory = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="memory is not reported"
)

CONNECTIONS = """
import gc, sys, threading, tracemalloc
from concurrent.futures import ThreadPoolExecutor
from jelly_plugins.grpc import Broadcast
from tests.grpc.support import Fixed, eventually, frames_of, numbered, service
from tests.grpc.test_faults import QUADS, Discarded, come_and_go
from tests.memory import resident
live = Broadcast(QUADS)
topics = {"live": live, "file": Fixed(frames_of(numbered(2000)))}
threads = threading.active_count()
with service(topics, sink=Discarded()) as (server, _):
    with ThreadPoolExecutor(8) as pool:
        tracemalloc.start()
        list(pool.map(lambda n: come_and_go(server, n), range(50)))
        gc.collect()
        before = resident(), tracemalloc.get_traced_memory()[0]
        list(pool.map(lambda n: come_and_go(server, n), range(int(sys.argv[1]))))
    eventually(lambda: live.subscribers == 0)
    gc.collect()
    print(resident() - before[0], tracemalloc.get_traced_memory()[0] - before[1])
eventually(lambda: threading.active_count() <= threads)
"""


@measures_memory
@pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_connections_that_are_opened_and_lost(count: int) -> None:
    done = programs.run(CONNECTIONS, str(count))
    assert done.returncode == 0, done.stderr
    grown, of_python = map(int, done.stdout.split())
    assert of_python < 50_000 + count * 100
    # gRPC's own memory, and malloc's for each thread, vary.
    assert grown < (8 << 20) + count * 30_000


STALLED = """
from jelly_plugins.grpc import Broadcast, serve
from tests.grpc.support import FLAT, delimited, eventually, frames_of
from tests.grpc.test_faults import long_ones
from tests.memory import resident
topic = Broadcast(FLAT, subscriber_timeout=0)
sent = delimited(frames_of(long_ones(20)))
with serve({"t": topic}) as server:
    print(server.address, flush=True)
    eventually(lambda: topic.subscribers == 1)
    before = resident()
    for _ in range(1000):
        topic.send(sent)
    print(resident() - before, flush=True)
    assert not topic.subscribers
"""


@measures_memory
def test_a_stalled_subscriber_takes_bounded_memory() -> None:
    server = programs.start(STALLED)
    assert server.stdout is not None
    address = server.stdout.readline().decode().strip()
    with grpc.insecure_channel(address) as channel:
        call: Any = channel.unary_stream(protocol.SUBSCRIBE)
        stalled = call(protocol.write_subscribe("t", None))
        next(stalled)
        grown = int(server.stdout.readline())
        server.communicate(timeout=PATIENCE)
    # 4 MB, where 1 MB waits; a buffer without a bound would hold 200 MB.
    assert grown < 40 << 20
    assert server.returncode == 0
