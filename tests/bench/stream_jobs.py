"""Jobs of the streaming service over the loopback interface.

The server is a separate process of this module. The peer of the service is the codec alone, on the
same bytes in one process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, Final

from jelly_plugins import Iri, Literal, StreamOptions, Triple, read
from jelly_plugins.codec import Decoder, LogicalType
from jelly_plugins.grpc import (
    Bounds,
    Broadcast,
    Client,
    Published,
    Subscription,
    Topics,
    serve,
)
from jelly_plugins.io.streams import GENERIC, write_bytes

from . import data
from .measure import Run, Runs, job
from .term_jobs import count

#: Number of subscribers of one topic, and of statements sent to all of them.
SUBSCRIBERS: Final = 100
SENT: Final = 10_000


# The service


class Decoding:
    """Reads a stream like an application: all of its statements."""

    def publish(self, frames: Published) -> None:
        decoder = Decoder(GENERIC)
        for frame in frames:
            count(decoder.decode(frame).statements)
        decoder.finish()


def _serve(path: str) -> None:
    options = StreamOptions(logical_type=LogicalType.FLAT_TRIPLES)
    topics: dict[str, Any] = {
        "file": Path(path),
        "live": Broadcast(options, subscriber_timeout=60),
    }
    with serve(Topics(topics, sink=Decoding()), bounds=Bounds(streams=500)) as server:
        print(server.address, flush=True)
        server.wait()


class _Served:
    """A server that streams some bytes, and a client of it."""

    def __init__(self, jelly: bytes) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "data.jelly"
        path.write_bytes(jelly)
        command = [sys.executable, "-m", f"{__package__}.stream_jobs", str(path)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()
        self.client = Client(self.address)

    def close(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


@job("grpc", "grpc-subscribe", "gRPC: a file's topic → generic terms, iterate")
def grpc_subscribe(given: data.Data) -> Runs:
    served, jelly = _Served(given.jelly), given.jelly

    def subscribe() -> int:
        with served.client.subscribe("file") as stream:
            return count(stream.statements())

    return Runs({"ours": subscribe, "codec alone": lambda: count(read(jelly))}, close=served.close)


@job("grpc", "grpc-publish", "gRPC: generic terms → a server that reads them")
def grpc_publish(given: data.Data) -> Runs:
    served, statements = _Served(given.jelly), given.statements
    runs: dict[str, Run] = {
        "ours": lambda: served.client.publish(statements),
        "codec alone": lambda: count(read(write_bytes(statements))),
    }
    return Runs(runs, close=served.close)


@job("grpc", "grpc-subscribers", "gRPC: one topic, 100 subscribers, all of which read")
def grpc_subscribers() -> Runs:
    served = _Served(write_bytes([]))
    p = Iri("http://example.org/p")
    sent = [Triple(Iri(f"http://example.org/{n}"), p, Literal(str(n))) for n in range(SENT)]
    clients = [Client(served.address) for _ in range(SUBSCRIBERS)]
    streams = [client.subscribe("live") for client in clients]
    for stream in streams:
        assert stream.options

    def take(stream: Subscription) -> None:
        left = SENT
        while left > 0:
            left -= len(next(stream).statements)

    def fan_out() -> None:
        threads = [threading.Thread(target=take, args=(stream,)) for stream in streams]
        for thread in threads:
            thread.start()
        served.client.publish(sent, topic="live")
        for thread in threads:
            thread.join()

    def alone() -> None:
        jelly = write_bytes(sent)
        for _ in range(SUBSCRIBERS):
            count(read(jelly))

    def close() -> None:
        for client in clients:
            client.close()
        served.close()

    return Runs({"ours": fan_out, "codec alone": alone}, count=SENT * SUBSCRIBERS, close=close)


if __name__ == "__main__":
    _serve(sys.argv[1])
