"""A Jelly source as text for Oxigraph's own parser, which is faster than quads made one by one.

The compiled kernel writes the text, and has the terms' factory validate whatever is not plainly
well-formed (see ``codec.TextDecoder``). The parser is then told to be lenient: it would check every
term of every statement again, where each term needs it once.

What text cannot say is left to :class:`.quad_reader.QuadReader`, and so is everything without the
kernel: see :func:`text_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, parse

from ...backends import BlankNodes
from ...codec import AnyFrame, Limits, PhysicalType, StreamOptions, native
from ...codec.text.ntriples import Notation
from ...errors import LimitError, OptionsError, SourceError
from ...io.streams import FrameBytes, TextPieces
from .. import descriptors
from ..terms import DEFAULT_GRAPH, GraphName, QuadFactory

#: Bytes of a line that Oxigraph's parser takes, at most.
LONGEST_LINE: Final = (1 << 24) - 1

#: Pieces up to this size are not searched for lines that are too long.
_LONG_PIECE: Final = 1 << 20

_LINE_END: Final = b" .\n"


class NQuadsReader:
    """Reads a source; an iterator of pieces of N-Triples, or N-Quads for a stream that has graphs.

    The other side of :class:`.quad_reader.QuadReader`, with the same attributes.

    :param graph: where the triples of a stream of triples are to go; it is not in the text.
    :raises JellyError: while iterating, with source, frame and row.
    """

    def __init__(
        self,
        src: FrameBytes,
        options: StreamOptions,
        *,
        graph: GraphName | None,
        limits: Limits,
        on_namespace: Callable[[str, str], object] | None = None,
    ) -> None:
        self.bytes = 0
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self.has_graphs = options.physical_type is not PhysicalType.TRIPLES
        if graph is not None and self.has_graphs:
            src.close()
            raise OptionsError(
                "a stream of quads names its graphs itself: leave graph out", source=src.name
            )
        self._on_namespace = on_namespace
        # Labels are kept in the text; the validator's nodes are for nothing but to be refused.
        validator = QuadFactory(graph=DEFAULT_GRAPH, blank_nodes="keep")
        self._text = TextPieces(
            src, notation=Notation.RDF_1_2, validator=validator, limits=limits, on_frame=self._take
        )

    @property
    def statements(self) -> int:
        """Number of statements so far, repeats included."""
        return self._text.statements

    @property
    def frame(self) -> int | None:
        """The number of the frame that is being read."""
        return self._text.next_frame

    @property
    def format(self) -> RdfFormat:
        """What the text is."""
        return RdfFormat.N_QUADS if self.has_graphs else RdfFormat.N_TRIPLES

    def __iter__(self) -> Iterator[bytes]:
        """The text in pieces, each of whole lines."""
        rest: list[bytes] = []
        size = 0
        with self._text as pieces:
            for piece in pieces:
                cut = piece.rfind(_LINE_END) + len(_LINE_END)
                if cut < len(_LINE_END):
                    # A line that goes on; it cannot be cut inside its end.
                    rest.append(piece)
                    size += len(piece)
                    self._check(size)
                    continue
                whole = b"".join((*rest, piece[:cut])) if rest else piece[:cut]
                rest = [piece[cut:]] if cut < len(piece) else []
                size = len(piece) - cut
                if len(whole) > _LONG_PIECE:
                    self._check(max(map(len, whole.split(_LINE_END))) + len(_LINE_END))
                yield whole

    def quads(
        self, graph: GraphName | None, pieces: Iterable[bytes] | None = None
    ) -> Iterator[Iterator[Quad]]:
        """The statements of each piece as quads, labels kept.

        :param graph: the graph that was named for the feed.
        :param pieces: those of this text, if they were taken by somebody else.
        """
        end = _LINE_END if graph is None or graph == DEFAULT_GRAPH else f" {graph} .\n".encode()
        for text in self if pieces is None else pieces:
            if end is not _LINE_END:
                text = text.replace(_LINE_END, end)
            yield parse(text, RdfFormat.N_QUADS, lenient=True)

    def all_quads(self, graph: GraphName | None) -> Iterator[Quad]:
        """All quads, one after the other."""
        with refusals_as_ours(self._text.name):
            for quads in self.quads(graph):
                yield from quads

    def _check(self, size: int) -> None:
        """Refuse a line that Oxigraph's parser does not take.

        :raises LimitError: it is too long.
        """
        if size > LONGEST_LINE:
            raise LimitError(
                f"a statement takes {size:,} bytes as N-Quads: Oxigraph reads {LONGEST_LINE:,}",
                source=self._text.name,
                frame=self._text.next_frame,
            )

    def _take(self, frame: AnyFrame) -> None:
        """Take what a frame has besides statements."""
        self.bytes += frame.size
        if self._on_namespace is not None:
            for name, iri in frame.namespaces:
                self._on_namespace(name, iri[1:-1])
        for graph in frame.empty_graphs:
            if graph:
                self.empty_graphs.add(_graph_of(graph))


@contextmanager
def refusals_as_ours(source: str) -> Iterator[None]:
    """Name the source where Oxigraph's parser refuses what the validator has let pass. It should
    not; if it does, nothing is worse than that the error has no row.

    :raises SourceError: it does.
    """
    try:
        yield
    except SyntaxError as error:
        raise SourceError(f"Oxigraph refuses this as N-Quads: {error}", source=source) from error


def _graph_of(text: str) -> NamedNode | BlankNode:
    """A graph's name as N-Quads has it; the text was validated before."""
    return NamedNode(text[1:-1]) if text.startswith("<") else BlankNode(text[2:])


def text_of(
    src: FrameBytes,
    *,
    graph: GraphName | None,
    blank_nodes: BlankNodes,
    limits: Limits,
    on_namespace: Callable[[str, str], object] | None = None,
) -> NQuadsReader | None:
    """The source as text; None where that cannot be, and the source is as it was.

    It cannot be without the kernel, or, for fresh labels, a pipe's name; without options that can
    be read; and where a blank node that names a graph has to be known outside the text: an empty
    graph in a stream of physical type GRAPHS with fresh labels, or ``graph`` with labels kept.
    """
    options = src.peek_options() if native else None
    if options is None:
        return None
    if blank_nodes == "fresh" and (
        options.physical_type is PhysicalType.GRAPHS or not descriptors.POSSIBLE
    ):
        return None
    if blank_nodes == "keep" and isinstance(graph, BlankNode):
        return None
    return NQuadsReader(src, options, graph=graph, limits=limits, on_namespace=on_namespace)
