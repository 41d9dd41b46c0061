"""A Jelly source as pyoxigraph quads, made one by one: what every way into a store can read.

Where the compiled kernel runs, text for Oxigraph's own parser is faster (``nquads_reader``); what
text cannot express, such as reifiers, is read here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from pyoxigraph import BlankNode, NamedNode, Quad

from ...io.streams import AnyFrameReader, FrameBytes, FrameReader
from ...reserved import is_reserved
from ..terms import DEFAULT_GRAPH, QuadFactory
from .lexical_forms import in_quads
from .nquads_reader import check_target
from .reify import ReifyingFactory
from .settings import LoadSettings


class QuadReader:
    """Reads a source; an iterator of one list of quads per frame.

    :param settings: their ``graph`` is where the triples of a stream of triples go. A stream of
        quads names its graphs itself and is rejected with one.
    :raises JellyError: while iterating, with source, frame and row.

    :ivar name: the source's name.
    :ivar frame: the number of the frame that was read last, if the source has frames.
    :ivar statements: statements read so far, repeats included.
    :ivar empty_graphs: names of graphs that ended without a statement, in a stream of physical
        type GRAPHS.
    """

    def __init__(self, frames: FrameBytes, settings: LoadSettings) -> None:
        self.frame: int | None = None
        self.statements = 0
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self._settings = settings
        self._frames = frames
        self.name = frames.name
        graph = settings.graph
        self._checked = frames.peek_options() if graph is not None else None
        check_target(frames, self._checked, graph)
        into = DEFAULT_GRAPH if graph is None else graph
        kind = ReifyingFactory if settings.quoted_triples == "reify" else QuadFactory
        self._factory: QuadFactory

        def factory() -> QuadFactory:
            self._factory = kind(graph=into, blank_nodes=settings.labels, limits=settings.limits)
            return self._factory

        self._reader: AnyFrameReader = FrameReader(
            self._frames,
            factory=factory(),
            limits=settings.limits,
            concatenated=settings.concatenated,
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
                    check_target(self._frames, self._checked, self._settings.graph)
                for name, iri in frame.namespaces:
                    self._settings.declare(name, iri.value)
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

    def quads(self, parts: Iterable[list[Quad]]) -> Iterator[Quad]:
        """The quads of parts, which have their graph and labels already."""
        form = self._settings.lexical_form
        return chain.from_iterable(parts if form is None else in_quads(parts, form))
