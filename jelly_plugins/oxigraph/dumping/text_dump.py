"""The text of a store, and a store as Jelly by way of that text, which the compiled kernel reads.

Making quads in Python costs more than all the rest of a dump: 4 to 5 times its time in memory, 1.6
times on disk (weather, so, qudt; time of the processor). What the store's N-Quads do not have, such
as an order by subjects or empty graphs, is left to :mod:`.dumper`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pyoxigraph import Quad, RdfFormat, Store

from ...codec import Encoder, PhysicalType, StreamOptions, TextEncoder, delimit, native
from ...errors import TermError, TextError
from ...io.progress import Progress, Steps
from ...io.sinks import Writable
from ..patches.bookkeeping import BOOKKEEPING
from ..terms import GraphName
from .statements import lines_of

#: Bytes of text that are handed on at once.
_CHUNK: Final = 1 << 17


def text_says_it(options: StreamOptions, graph: GraphName | None, hidden: GraphName | None) -> bool:
    """Whether what is to be written is one text of the store's, and there is the kernel."""
    expected = PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES
    return native and options.physical_type is expected and hidden is None


def dump_text(store: Store, graph: GraphName | None, take: Callable[[bytes], object]) -> None:
    """Give the statements of a store as N-Quads, or those of one graph as N-Triples.

    :param take: called with chunks of whole lines.
    :raises Exception: what the store or ``take`` raises.
    """
    # The store calls `_Lines.write`.
    lines: Any = _Lines(take)
    store.dump(lines, RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES, from_graph=graph)
    take(bytes(lines.pending))


class _Lines:
    """A file for a store to write to, which gathers whole lines."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self._take = take
        self.pending = bytearray()

    def write(self, data: bytes, /) -> int:
        self.pending += data
        if len(self.pending) >= _CHUNK:
            end = self.pending.rfind(b"\n") + 1
            chunk = bytes(self.pending[:end])
            del self.pending[:end]
            self._take(chunk)
        return len(data)

    def flush(self) -> None:
        """The store calls it; the owner of the output flushes that."""


class Writing(ABC):
    """One dump under way.

    :param encoder: what makes frames of the store's statements.
    :param graph: the graph to write; None for all of them.

    :ivar statements: number of statements so far.
    """

    def __init__(
        self,
        store: Store,
        encoder: TextEncoder | Encoder,
        graph: GraphName | None,
        progress: Progress | None,
    ) -> None:
        self.statements = 0
        self._store = store
        self._encoder: Any = encoder
        self._graph = graph
        self._steps = Steps(progress)

    @abstractmethod
    def write(self, out: Writable) -> None:
        """Write all of it.

        :raises JellyError: Jelly cannot express a term, at least not with these options.
        """

    def report(self) -> None:
        """Call ``progress``, at the end."""
        self._steps.end(self.statements)

    def _deliver(self, frames: list[bytes], out: Writable, statements: int) -> None:
        """Write frames.

        :param statements: number of statements so far.
        """
        for frame in frames:
            out.write(delimit(frame))
        self.statements = statements
        self._steps.reach(statements)


class TextWriting(Writing):
    """Writes by way of text; the encoder reads N-Quads or, with ``graph``, N-Triples."""

    def write(self, out: Writable) -> None:
        encoder: TextEncoder = self._encoder

        def encode(text: bytes) -> None:
            self._deliver(encoder.feed(text), out, encoder.statements)

        try:
            dump_text(self._store, self._graph, encode)
        except TextError as error:
            # The store's text is sound; what it says may be more than Jelly can (a base direction).
            raise TermError(error.message) from None
        self._deliver(encoder.finish(), out, encoder.statements)


def nquads(store: Store, graph: GraphName | None = None) -> Iterator[bytes]:
    """The statements of a store in chunks of N-Quads, without those that replays keep.

    :param graph: only the statements of this graph, as N-Triples.
    """
    quads: Iterable[Quad] = store.quads_for_pattern(None, None, None, graph)
    if graph is None:
        quads = (quad for quad in quads if quad.graph_name != BOOKKEEPING)
    statements = quads if graph is None else (quad.triple for quad in quads)
    format_ = RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES
    yield from lines_of(statements, format_)
