"""A Jelly source as text for Oxigraph's own parser, which is faster than quads made one by one.

The compiled kernel writes the text, and has the terms' factory validate whatever is not certainly
well-formed (see ``codec.TextDecoder``). The parser is lenient: it would check every term of every
statement again, where each term needs it once.

Loads take 1.4 to 2.4 times as long without it (weather, so, qudt; time of the processor). What text
cannot express is read by :class:`.quad_reader.QuadReader`, and so is everything without the kernel:
see
:func:`text_of`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, Store, parse

from ...codec import AnyFrame, PhysicalType, StreamOptions, native
from ...codec.text.ntriples import Notation
from ...errors import LimitError, OptionsError, SourceError
from ...io.streams import FrameBytes, TextChunks
from ...jena.streams import JenaText
from ...reserved import BOOKKEEPING_TEXT
from ..terms import DEFAULT_GRAPH, GraphName, QuadFactory
from .lexical_forms import in_text
from .settings import LoadSettings

#: Bytes of a line that Oxigraph's parser takes, at most.
LONGEST_LINE: Final = (1 << 24) - 1

#: Chunks up to this size are not searched for lines that are too long.
_LONG_CHUNK: Final = 1 << 20

_LINE_END: Final = b" .\n"

#: How a line of N-Quads ends whose statement is in the reserved graph.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()


class NQuadsReader:
    """Reads a source; an iterator of chunks of N-Triples, or N-Quads for a stream that has graphs.

    The other side of :class:`.quad_reader.QuadReader`, with the same attributes.

    :param lines: the source as text; the graph that triples go into is not in it.
    :param settings: their ``graph`` is where triples go.
    :param has_graphs: whether the text is N-Quads.
    :param empty_graphs: names of graphs without a statement, complete once the text has ended.
    :raises JellyError: while iterating, with source, frame and row.
    """

    _given: _Readable | None = None

    def __init__(
        self,
        lines: TextChunks | JenaText,
        settings: LoadSettings,
        *,
        has_graphs: bool,
        empty_graphs: set[NamedNode | BlankNode] | None = None,
    ) -> None:
        self._text: Final = lines
        self._settings: Final = settings
        self.name: Final = lines.name
        self.has_graphs: Final = has_graphs
        self.empty_graphs: Final = set() if empty_graphs is None else empty_graphs

    @property
    def statements(self) -> int:
        """Number of statements so far, repeats included."""
        return self._text.statements

    @property
    def frame(self) -> int | None:
        """The number of the frame that is being read."""
        return self._text.frame

    def __iter__(self) -> Iterator[bytes]:
        """The text in chunks, each of whole lines."""
        rest: list[bytes] = []
        size = 0
        with self._text as chunks:
            for chunk in chunks:
                cut = chunk.rfind(_LINE_END) + len(_LINE_END)
                if cut < len(_LINE_END):
                    # A line that goes on; it cannot be cut inside its end.
                    rest.append(chunk)
                    size += len(chunk)
                    self._check(size)
                    continue
                whole = b"".join((*rest, chunk[:cut])) if rest else chunk[:cut]
                rest = [chunk[cut:]] if cut < len(chunk) else []
                size = len(chunk) - cut
                if len(whole) > _LONG_CHUNK:
                    self._check(max(map(len, whole.split(_LINE_END))) + len(_LINE_END))
                yield whole

    def has_reserved(self, chunk: bytes) -> bool:
        """Whether a statement of a chunk is in the reserved graph."""
        # A line has one end, and no term contains another.
        return self.has_graphs and _RESERVED_LINE in chunk

    def quads(self, chunks: Iterable[bytes]) -> Iterator[Quad]:
        """The statements of chunks as quads. Fresh labels are made here, others stay.

        :raises SyntaxError: while iterating, see :func:`rejected`.
        """
        graph = self._settings.graph
        chunks = self._rewritten(chunks)
        if graph is not None and graph != DEFAULT_GRAPH:
            end = f" {graph} .\n".encode()
            chunks = (chunk.replace(_LINE_END, end) for chunk in chunks)
        text: Any = _Readable(chunks)
        fresh = self._settings.blank_nodes == "fresh"
        return parse(text, RdfFormat.N_QUADS, lenient=True, rename_blank_nodes=fresh)

    def _rewritten(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        form = self._settings.lexical_form
        return chunks if form is None else in_text(chunks, form)

    def load(self, chunks: Iterable[bytes], store: Store, graph: BlankNode) -> None:
        """Have a store load chunks into a graph, all or nothing, with relabelled blank nodes.

        This is for a blank node as the graph, which :meth:`quads` would rename, too.

        :raises SyntaxError: see :func:`rejected`.
        """
        text: Any = _Readable(self._rewritten(chunks))
        self._given = text
        try:
            store.bulk_load(text, RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
        except Exception:
            text.has_ended = False
            raise

    @property
    def is_loaded(self) -> bool:
        """Whether the store has everything after :meth:`load`, which may have raised an interrupt
        all the same."""
        return self._given is not None and self._given.has_ended

    def _check(self, size: int) -> None:
        """Reject a line that Oxigraph's parser does not accept.

        :raises LimitError: it is too long.
        """
        if size > LONGEST_LINE:
            raise LimitError(
                f"a statement takes {size:,} bytes as N-Quads: Oxigraph reads {LONGEST_LINE:,}",
                source=self.name,
                frame=self._text.frame,
            )


def rejected(error: SyntaxError, name: str) -> SourceError:
    """The error for text that Oxigraph's parser rejects, and the validator has accepted. It should
    not happen; if it does, the error has no row."""
    return SourceError(f"Oxigraph rejects this as N-Quads: {error}", source=name)


def check_target(src: FrameBytes, options: StreamOptions | None, graph: GraphName | None) -> None:
    """Check that a graph was named for a stream of triples only.

    :param options: the stream's; None where they cannot be read.
    :raises OptionsError: it was named for another stream, which is closed.
    """
    if graph is None or options is None or options.physical_type is PhysicalType.TRIPLES:
        return
    src.close()
    raise OptionsError(
        "a stream of quads names its graphs itself: leave graph out", source=src.name
    )


class _Readable:
    """Chunks of bytes as a file to read.

    :ivar has_ended: whether all was read.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._chunk = b""
        self._pos = 0
        self.has_ended = False

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end."""
        while self._pos == len(self._chunk):
            chunk = next(self._chunks, None)
            if chunk is None:
                # Python handles no signal between this and the store's own work.
                self.has_ended = True
                return b""
            self._chunk, self._pos = chunk, 0
        start = self._pos
        self._pos = min(start + size, len(self._chunk))
        return self._chunk[start : self._pos]


def _graph_of(text: str) -> NamedNode | BlankNode:
    """A graph's name as N-Quads has it; the text was validated before."""
    return NamedNode(text[1:-1]) if text.startswith("<") else BlankNode(text[2:])


def text_of(src: FrameBytes, settings: LoadSettings) -> NQuadsReader | None:
    """The source as text; None where that cannot be, and the source is as it was.

    It cannot be without the kernel; without options that can be read; and where a blank node that
    names a graph has to be known outside the text: with labels kept as ``graph``, and with new
    ones in physical type GRAPHS, where it may name an empty graph.
    """
    options = src.peek_options() if native else None
    fresh = settings.blank_nodes == "fresh"
    if options is None or (not fresh and isinstance(settings.graph, BlankNode)):
        return None
    if fresh and options.physical_type is PhysicalType.GRAPHS:
        return None
    check_target(src, options, settings.graph)
    empty_graphs: set[NamedNode | BlankNode] = set()

    def take(frame: AnyFrame) -> None:
        for name, iri in frame.namespaces:
            settings.declare(name, iri[1:-1])
        empty_graphs.update(map(_graph_of, filter(None, frame.empty_graphs)))

    # Labels are kept in the text; the validator's nodes only serve to reject labels.
    validator = QuadFactory(graph=DEFAULT_GRAPH, blank_nodes="keep")
    lines = TextChunks(
        src, notation=Notation.RDF_1_2, validator=validator, limits=settings.limits, on_frame=take
    )
    has_graphs = options.physical_type is not PhysicalType.TRIPLES
    return NQuadsReader(lines, settings, has_graphs=has_graphs, empty_graphs=empty_graphs)
