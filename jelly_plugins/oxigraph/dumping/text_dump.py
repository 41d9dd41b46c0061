"""A store as Jelly by way of the text that it writes itself, which the compiled kernel reads.

A quad in Python costs more than all the rest of a dump: so none is made. What the store's N-Quads
do not have, such as the order of subjects or empty graphs, is left to :mod:`.dumper`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyoxigraph import RdfFormat, Store

from ...codec import PhysicalType, StreamOptions, TextEncoder, delimit, native
from ...errors import TermError, TextError
from ...io.sinks import Writable
from ..loading.loader import PROGRESS_STATEMENTS, Progress
from ..terms import GraphName
from .store_text import PIECE, StoreText, is_possible


def text_says_it(options: StreamOptions, graph: GraphName | None, hidden: GraphName | None) -> bool:
    """Whether what is to be written is one text of the store's, and there is the kernel."""
    expected = PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES
    return native and options.physical_type is expected and hidden is None


class TextWriting:
    """One dump under way: see ``dumper._Writing``, which has the same methods.

    :param encoder: reads N-Quads, or, with ``graph``, N-Triples.

    :ivar bytes: bytes of frames so far.
    """

    def __init__(
        self,
        store: Store,
        encoder: TextEncoder,
        graph: GraphName | None,
        progress: Progress | None,
    ) -> None:
        self.encoder = encoder
        self.bytes = 0
        self._store = store
        self._graph = graph
        self._progress = progress
        self._due = PROGRESS_STATEMENTS

    @property
    def statements(self) -> int:
        """Number of statements so far."""
        return self.encoder.statements

    def write(self, out: Writable) -> None:
        """Write all of it.

        :raises JellyError: a term cannot be said in Jelly, or not with these options.
        """
        self._out = out
        try:
            if is_possible():
                self._read_pipe()
            else:
                self._be_written_to()
            self._deliver(self.encoder.finish())
        except TextError as error:
            # The store's text is sound; what it says may be more than Jelly can (a base direction).
            raise TermError(error.message) from error

    @property
    def _format(self) -> RdfFormat:
        return RdfFormat.N_QUADS if self._graph is None else RdfFormat.N_TRIPLES

    def _read_pipe(self) -> None:
        text = StoreText(self._store, self._format, self._graph)
        try:
            for piece in text.pieces():
                self._encode(piece)
        finally:
            text.close()

    def _be_written_to(self) -> None:
        # The store calls `_Sink.write`.
        sink: Any = _Sink(self._encode)
        self._store.dump(sink, self._format, from_graph=self._graph)
        sink.end()

    def report(self) -> None:
        if self._progress is not None:
            self._progress(self.statements, self.bytes)

    def _encode(self, piece: bytes) -> None:
        self._deliver(self.encoder.feed(piece))
        if self.statements >= self._due:
            self._due = self.statements + PROGRESS_STATEMENTS
            self.report()

    def _deliver(self, frames: list[bytes]) -> None:
        for frame in frames:
            self._out.write(delimit(frame))
            self.bytes += len(frame)


class _Sink:
    """What the store writes to.

    :param take: takes a larger piece of it.
    """

    def __init__(self, take: Callable[[bytes], None]) -> None:
        self._take = take
        self._pending = bytearray()

    def write(self, data: bytes, /) -> int:
        self._pending += data
        if len(self._pending) >= PIECE:
            self.end()
        return len(data)

    def flush(self) -> None:
        """The store asks for it; whoever opened the output flushes it."""

    def end(self) -> None:
        """Hand over what is left."""
        self._take(bytes(self._pending))
        self._pending.clear()
