"""A Jelly source as pyoxigraph quads, made one by one: what every way into a store can read.

Where the compiled kernel runs, text for Oxigraph's own parser is faster (``nquads_reader``); what
text cannot express, such as reifiers, is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Literal, get_args

from pyoxigraph import BlankNode, NamedNode, Quad

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...io.sources import Source
from ...io.streams import AnyFrameReader, FrameBytes, FrameReader
from ...reserved import is_reserved
from ..terms import DEFAULT_GRAPH, GraphName, QuadFactory, check_graph
from .lexical_forms import LexicalForm, in_quads
from .nquads_reader import check_target, text_of
from .reify import ReifyingFactory

#: How quoted triples outside the object position are handled: an error, or a reifier.
QuotedTriples = Literal["reject", "reify"]


def check_settings(graph: object, blank_nodes: object, quoted_triples: object) -> None:
    """Check what a caller has chosen.

    :raises ValueError: or TypeError: it is nothing that can be chosen.
    """
    if quoted_triples not in get_args(QuotedTriples):
        raise ValueError(f"quoted_triples must be 'reject' or 'reify' (got {quoted_triples!r})")
    if blank_nodes not in get_args(BlankNodes):
        raise ValueError(
            "blank_nodes must be 'fresh', 'keep' or, in a load, 'canonicalize' "
            f"(got {blank_nodes!r})"
        )
    if graph is not None:
        check_graph(graph)


class QuadReader:
    """Reads a source; an iterator of one list of quads per frame.

    :param graph: where the triples of a stream of triples go; None for the default graph. A stream
        of quads names its graphs itself and is rejected with one.
    :param on_namespace: called with the name and the IRI of each namespace that is declared.
    :raises JellyError: while iterating, with source, frame and row.

    :ivar name: the source's name.
    :ivar frame: the number of the frame that was read last, if the source has frames.
    :ivar statements: statements read so far, repeats included.
    :ivar empty_graphs: names of graphs that ended without a statement, in a stream of physical
        type GRAPHS.
    """

    def __init__(
        self,
        src: Source | FrameBytes,
        *,
        graph: GraphName | None,
        blank_nodes: BlankNodes,
        quoted_triples: QuotedTriples,
        limits: Limits,
        concatenated: bool,
        on_namespace: Callable[[str, str], object] | None = None,
    ) -> None:
        self.frame: int | None = None
        self.statements = 0
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self._target = graph
        self._on_namespace = on_namespace
        self._frames = src if isinstance(src, FrameBytes) else FrameBytes(src, limits=limits)
        self.name = self._frames.name
        self._checked = self._frames.peek_options() if graph is not None else None
        check_target(self._frames, self._checked, graph)
        into = DEFAULT_GRAPH if graph is None else graph
        kind = ReifyingFactory if quoted_triples == "reify" else QuadFactory
        self._factory: QuadFactory

        def factory() -> QuadFactory:
            self._factory = kind(graph=into, blank_nodes=blank_nodes, limits=limits)
            return self._factory

        self._reader: AnyFrameReader = FrameReader(
            self._frames,
            factory=factory(),
            limits=limits,
            concatenated=concatenated,
            # Labels of a stream mean nothing in the next one.
            next_factory=factory,
        )

    def __iter__(self) -> Iterator[list[Quad]]:
        with self._reader as frames:
            for frame in frames:
                self.frame = frame.index
                if frame.rows and self._reader.options is not self._checked:
                    # Another one of several streams.
                    self._checked = self._reader.options
                    check_target(self._frames, self._checked, self._target)
                if self._on_namespace is not None:
                    for name, iri in frame.namespaces:
                        self._on_namespace(name, iri.value)
                quads: list[Quad] = frame.statements
                self.statements += len(quads)
                self.empty_graphs.update(
                    graph for graph in frame.empty_graphs if graph != DEFAULT_GRAPH
                )
                quads += self._factory.added
                self._factory.added.clear()
                # The next frame is decoded after this.
                self._factory.begin_frame()
                yield quads

    def has_reserved(self, quads: list[Quad]) -> bool:
        """Whether one of the quads that were read last is in the reserved graph."""
        return self._factory.may_have_reserved and any(
            is_reserved(quad.graph_name.value)
            for quad in quads
            if isinstance(quad.graph_name, NamedNode)
        )

    def rewritten(self, parts: Iterable[list[Quad]], form: LexicalForm) -> Iterator[list[Quad]]:
        """Quads with other lexical forms."""
        return in_quads(parts, form)

    def quads(
        self,
        parts: Iterable[list[Quad]],
        graph: GraphName | None,  # noqa: ARG002
        *,
        fresh: bool = False,  # noqa: ARG002
    ) -> Iterator[Quad]:
        """The quads of parts, which have their graph and labels already."""
        return chain.from_iterable(parts)


def read_quads(
    src: Source,
    *,
    graph: GraphName | None = None,
    blank_nodes: BlankNodes = "keep",
    quoted_triples: QuotedTriples = "reject",
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
) -> Iterator[Quad]:
    """Read a Jelly-RDF stream as pyoxigraph quads, one after the other.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param graph: the graph of the triples in a stream of triples, by default the default graph. A
        stream of quads is rejected with one.
    :param blank_nodes: ``"keep"`` keeps labels, as ``pyoxigraph.parse`` does, so that two readings
        of a file give equal quads; a label that Oxigraph rejects is mapped, see
        :func:`.terms.kept`. ``"fresh"`` makes new nodes for each reading: two sources that use
        the same labels stay apart.
    :param quoted_triples: ``"reject"`` raises an error for those that are not objects, ``"reify"``
        reifies them, see
        :func:`.load`.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream.
    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins import Iri, Literal, Triple
    >>> from jelly_plugins.io.streams import write_bytes
    >>> for quad in read_quads(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))])):
    ...     print(quad)
    <urn:s> <urn:p> "o"
    """
    check_settings(graph, blank_nodes, quoted_triples)
    frames = FrameBytes(src, limits=limits)
    if blank_nodes == "keep" and quoted_triples == "reject" and not concatenated:
        text = text_of(frames, graph=graph, blank_nodes=blank_nodes, limits=limits)
        if text is not None:
            yield from text.read(graph)
            return
    for quads in QuadReader(
        frames,
        graph=graph,
        blank_nodes=blank_nodes,
        quoted_triples=quoted_triples,
        limits=limits,
        concatenated=concatenated,
    ):
        yield from quads
