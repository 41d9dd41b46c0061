"""The text of a store, and a store as Jelly by way of that text, which the compiled kernel reads.

Making quads in Python costs more than all the rest of a dump: 4 to 5 times its time in memory, 1.6
times on disk (weather, so, qudt; time of the processor). What the store's N-Quads do not have, such
as an order by subjects or empty graphs, is left to :mod:`.dumper`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pyoxigraph import NamedNode, Quad, RdfFormat, Store

from ...codec import TextEncoder, delimit
from ...io.progress import Steps
from ...io.sinks import Writable
from ..patches.bookkeeping import BOOKKEEPING
from ..terms import GraphName
from .statements import lines_of, naming_lines

#: Bytes of text that are handed on at once.
_CHUNK: Final = 1 << 17


def dump_text(
    store: Store,
    graph: GraphName | None,
    take: Callable[[bytes], object],
    *,
    bookkeeping: bool = True,
) -> None:
    """Give the statements of a store as N-Quads, or those of one graph as N-Triples.

    :param take: called with chunks of whole lines.
    :param bookkeeping: give the graph :data:`.BOOKKEEPING` too.
    :raises Exception: what the store or ``take`` raises.
    """
    if graph is None and hidden_graph(store, bookkeeping) is not None:
        for text in nquads(store):
            take(text)
        return
    # The store calls `_Lines.write`.
    lines: Any = _Lines(take)
    store.dump(lines, RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES, from_graph=graph)
    take(bytes(lines.pending))


def hidden_graph(store: Store, bookkeeping: bool) -> NamedNode | None:
    """Return the graph that a dump leaves out; None if the store has no such graph, so that its
    quads need no check.
    """
    return BOOKKEEPING if not bookkeeping and store.contains_named_graph(BOOKKEEPING) else None


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


def encode_text(
    store: Store,
    encoder: TextEncoder,
    graph: GraphName | None,
    out: Writable,
    steps: Steps,
    *,
    bookkeeping: bool = True,
) -> int:
    """Write a store as Jelly by way of text: N-Quads or, with ``graph``, N-Triples.

    :param steps: called with the number of statements as it grows.
    :param bookkeeping: see :func:`dump_text`.
    :return: number of statements that the encoder has written.
    :raises JellyError: Jelly cannot express a term, at least not with the encoder's options.
    """

    def encode(text: bytes) -> None:
        with naming_lines(text, encoder):
            frames = encoder.feed(text)
        deliver(frames, encoder.statements, out, steps)

    dump_text(store, graph, encode, bookkeeping=bookkeeping)
    deliver(encoder.finish(), encoder.statements, out, steps)
    return encoder.statements


def deliver(frames: list[bytes], statements: int, out: Writable, steps: Steps) -> None:
    """Write frames.

    :param statements: number of statements so far.
    """
    for frame in frames:
        out.write(delimit(frame))
    steps.reach(statements)


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
