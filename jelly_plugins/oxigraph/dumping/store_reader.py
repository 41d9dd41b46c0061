"""The statements of a store as chunks of N-Quads.

Oxigraph writes the text, in a thread of its own, since it does not hold Python's lock meanwhile:
what reads the chunks runs at the same time. Making quads in Python costs more than all the rest of
a dump.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import suppress
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, Final

from pyoxigraph import NamedNode, RdfFormat, Store

from ...errors import TermError
from ...io.chunks import Chunk, ChunkReader
from ...io.sources import name_of
from ...reserved import BOOKKEEPING_TEXT
from ..patches.bookkeeping import BOOKKEEPING
from ..terms import GraphName

#: Bytes of text in a chunk, approximately.
_CHUNK: Final = 1 << 17
#: Chunks that wait to be read.
_WAITING: Final = 8

#: How a line of N-Quads ends whose statement is in the reserved graph.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()


class StoreReader(ChunkReader):
    """Reads a store, or one graph of it, whose statements are then in the default graph.

    :param namespaces: those that go with the statements, IRI by prefix.
    :param bookkeeping: read the graph :data:`.BOOKKEEPING` too.
    """

    validated = True

    def __init__(
        self,
        store: Store,
        graph: GraphName | None = None,
        *,
        namespaces: dict[str, str] | None = None,
        bookkeeping: bool = False,
    ) -> None:
        self.name = name_of(store)
        self.namespaces = namespaces or {}
        self.has_namespaces = bool(self.namespaces)
        self.has_graphs = graph is None
        hidden = graph is None and hidden_graph(store, bookkeeping) is not None
        self._chunks = _chunks(store, graph, without_reserved=hidden)

    def __iter__(self) -> Iterator[Chunk]:
        return self._chunks

    def close(self) -> None:
        """End the thread in which the store writes."""
        self._chunks.close()


def hidden_graph(store: Store, bookkeeping: bool) -> NamedNode | None:
    """Return the graph that a dump leaves out; None if the store has no such graph, so that its
    quads need no check.
    """
    return BOOKKEEPING if not bookkeeping and store.contains_named_graph(BOOKKEEPING) else None


#: A blank node whose label has a colon, which pyoxigraph accepts and N-Quads does not have.
_ODD_LABEL: Final = re.compile(rb'^(?:[^"\n]* )?_:([^ "\n]*:[^ "\n]*+) ', re.MULTILINE)


class _StoppedError(Exception):
    """The reader needs no more text."""


class _Lines:
    """A file for a store to write to, which puts whole lines into a queue."""

    def __init__(self, queue: Queue[bytes | None], stop: Event) -> None:
        self._queue = queue
        self._stop = stop
        self._pending = bytearray()

    def write(self, data: bytes, /) -> int:
        self._pending += data
        if len(self._pending) >= _CHUNK:
            end = self._pending.rfind(b"\n") + 1
            if end:
                self.put(bytes(self._pending[:end]))
                del self._pending[:end]
        return len(data)

    def flush(self) -> None:
        """Required by pyoxigraph; the rest is put once the store has written all."""

    def finish(self) -> None:
        """Put the rest."""
        self.put(bytes(self._pending))

    def put(self, item: bytes | None) -> None:
        """Put something into the queue once there is space.

        :raises _StoppedError: the reader has stopped.
        """
        if self._stop.is_set():
            raise _StoppedError
        self._queue.put(item)


def _chunks(
    store: Store, graph: GraphName | None, *, without_reserved: bool
) -> Generator[Chunk, None, None]:
    queue: Queue[bytes | None] = Queue(_WAITING)
    stop = Event()
    failed: list[BaseException] = []
    form = RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES

    def write() -> None:
        file: Any = _Lines(queue, stop)
        with suppress(_StoppedError):
            try:
                store.dump(file, form, from_graph=graph)
                file.finish()
            except _StoppedError:
                raise
            except BaseException as error:
                failed.append(error)
            file.put(None)

    thread = Thread(target=write, name="jelly-dump", daemon=True)
    thread.start()
    try:
        while (text := queue.get()) is not None:
            if without_reserved and _RESERVED_LINE in text:
                lines = text.splitlines(keepends=True)
                text = b"".join(line for line in lines if not line.endswith(_RESERVED_LINE))
            if b"_:" in text and (found := _ODD_LABEL.search(text)):
                label = found[1].decode()
                raise TermError(f"the blank node _:{label} has a label that no format can express")
            if text:
                yield Chunk(text, text.count(b"\n"))
    finally:
        stop.set()
        # The thread may wait for space; it stops at the next chunk.
        with suppress(Empty):
            while True:
                queue.get_nowait()
        thread.join()
    if failed:
        raise failed[0]
