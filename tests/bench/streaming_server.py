"""A server in a separate process, for the jobs of the streaming service.

    python -m tests.bench.streaming_server FILE

It serves ``file`` and ``live``. It loads streams published under the name ``store`` into a store in
memory, and decodes all others. It writes its address, and answers each line on stdin with its
memory in bytes: current, and peak.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from pyoxigraph import Store

from jelly_plugins import StreamOptions
from jelly_plugins.codec import DEFAULT_LIMITS, Decoder, LogicalType
from jelly_plugins.grpc import Bounds, Broadcast, Published, StoreSink, Topics, serve
from jelly_plugins.io.streams import GENERIC

from ..memory import peak


class Decoding:
    """Reads a stream like an application: all of its statements."""

    def publish(self, frames: Published) -> None:
        decoder = Decoder(GENERIC, limits=DEFAULT_LIMITS)
        for frame in frames:
            for _ in decoder.decode(frame).statements:
                pass
        decoder.finish()


class Loading:
    """Loads each stream into a separate store."""

    def subscribe(self, _topic: str, _options: Any) -> Any:
        return iter(())

    def publish(self, frames: Published) -> None:
        StoreSink(Store()).publish(frames)


def main(path: str) -> None:
    options = StreamOptions(
        logical_type=LogicalType.FLAT_TRIPLES, rdf_star=True, generalized_statements=True
    )
    topics: dict[str, Any] = {
        "file": Path(path),
        "live": Broadcast(options, subscriber_timeout=60),
        "stalled": Broadcast(options, subscriber_timeout=0),
        "store": Loading(),
    }
    with serve(Topics(topics, sink=Decoding()), bounds=Bounds(streams=500)) as server:
        print(server.address, flush=True)
        for _ in sys.stdin:
            now = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            print(now, peak(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
