"""Jobs of the streaming service over the loopback interface; the server is a separate process.

The peer of each is the codec alone, on the same bytes in one process.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyoxigraph import Store

from jelly_plugins import Iri, Literal, Triple, read
from jelly_plugins.grpc import Client, Subscription
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph import load

from .codec_jobs import count
from .data import Data
from .measure import Runs

#: Number of subscribers of one topic.
SUBSCRIBERS: Final = 100
#: Number of statements sent to all of them.
SENT: Final = 10_000
#: How long a subscriber stalls, in seconds.
STALLED_SECONDS = 60.0


class _Served:
    """A server that streams some bytes, and a client of it."""

    def __init__(self, jelly: bytes) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "data.jelly"
        path.write_bytes(jelly)
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.streaming_server", str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = self._line()
        self.client = Client(self.address)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def memory(self) -> tuple[int, int]:
        """Return the memory of the server in bytes: current, and peak."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        now, peak = self._line().split()
        return int(now), int(peak)

    def close(self) -> None:
        self.client.close()
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()


def grpc_subscribe(data: Data) -> Runs:
    """gRPC: a file's topic → generic terms, iterate"""
    served = _Served(data.jelly)
    jelly = data.jelly

    def subscribe() -> int:
        with served.client.subscribe("file") as stream:
            return count(stream.statements())

    return Runs({"ours": subscribe, "codec alone": lambda: count(read(jelly))}, close=served.close)


def grpc_publish(data: Data) -> Runs:
    """gRPC: generic terms → a server that reads them"""
    served = _Served(data.jelly)
    statements = data.statements

    def publish() -> None:
        served.client.publish(statements)

    def alone() -> int:
        return count(read(write_bytes(statements)))

    return Runs({"ours": publish, "codec alone": alone}, close=served.close)


def grpc_publish_into_store(data: Data) -> Runs:
    """gRPC: a file → a server's store in memory, whole"""
    served = _Served(data.jelly)
    jelly = data.jelly

    def publish() -> None:
        served.client.publish(jelly, topic="store")

    return Runs(
        {"ours": publish, "oxigraph.load alone": lambda: load(Store(), jelly)}, close=served.close
    )


def _numbered(number: int) -> list[Triple]:
    p = Iri("http://example.org/p")
    return [Triple(Iri(f"http://example.org/{n}"), p, Literal(str(n))) for n in range(number)]


def grpc_subscribers() -> Runs:
    """gRPC: one topic, 100 subscribers, all of which read"""
    served = _Served(write_bytes([]))
    sent = _numbered(SENT)
    streams: list[Subscription] = []
    clients = [Client(served.address) for _ in range(SUBSCRIBERS)]
    for client in clients:
        stream = client.subscribe("live")
        assert stream.options
        streams.append(stream)

    def take(stream: Subscription) -> None:
        left = SENT
        for frame in stream:
            left -= len(frame.statements)
            if left <= 0:
                return

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


def grpc_stalled() -> Runs:
    """gRPC: what a server's memory grows by while a subscriber stalls, at its peak"""

    def grown(stalls: bool) -> Callable[[], float]:
        def run() -> float:
            served = _Served(write_bytes([]))
            try:
                sent = _numbered(SENT)
                served.client.publish(sent, topic="stalled")
                others: Any = Client(served.address)
                if stalls:
                    stalled = others.subscribe("stalled")
                    assert stalled.options
                before, _ = served.memory()
                deadline = time.monotonic() + STALLED_SECONDS
                while time.monotonic() < deadline:
                    served.client.publish(sent, topic="stalled")
                _, peak = served.memory()
                others.close()
                return (peak - before) / 1e6
            finally:
                served.close()

        return run

    return Runs(
        {"with a stalled subscriber": grown(True), "without one": grown(False)},
        count=SENT,
        unit="MB",
        rounds=1,
    )


JOBS: Final = (
    grpc_subscribe,
    grpc_publish,
    grpc_publish_into_store,
    grpc_subscribers,
    grpc_stalled,
)
