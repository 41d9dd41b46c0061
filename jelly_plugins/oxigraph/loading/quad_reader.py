"""A Jelly source as pyoxigraph quads, made one by one: where text for Oxigraph's own parser
(``loader``) does not suffice, since labels or quoted triples become other terms.

Quoted triples where Oxigraph has no triple terms are replaced by reifiers, as RDF 1.2 has them:
``<< s p o >> q r`` becomes ``_:x q r`` and ``_:x rdf:reifies <<( s p o )>>``. A quoted triple as
object stays what it is, a triple term.

Reference: RDF 1.2 Concepts, section "Triple Terms and Reification".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError
from ...formats.settings import ConversionSettings
from ...io.progress import Steps
from ...io.streams import AnyFrameReader, FrameBytes, FrameReader
from ...reserved import BOOKKEEPING_IRI, is_reserved, reject_graph
from ..terms import DEFAULT_GRAPH, Fresh, GraphName, QuadFactory, make_quad, make_triple
from .held import Held

RDF_REIFIES: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")

#: With labels kept, reading a source again gives the nodes that it gave before; reifiers too.
_FIXED_KEY: Final = b"jelly_plugins rdf:reifies"


class _Quoted(NamedTuple):
    """A quoted triple before it is known which graph its reifiers go to."""

    subject: Any
    predicate: Any
    object: Any


def _parts(term: Any) -> tuple[Any, ...]:
    """The terms that a quoted triple is made of, or the term itself."""
    if not isinstance(term, _Quoted):
        return (term,)
    return tuple(part for inner in term for part in _parts(inner))


class ReifyingFactory(QuadFactory):
    """Makes quads of the statements, and more quads for the reifiers that they need.

    A quoted triple has one reifier in the whole stream, stated in each graph that uses it.
    """

    def __init__(
        self, *, graph: GraphName | None, blank_nodes: BlankNodes, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        super().__init__(graph=graph, blank_nodes=blank_nodes, limits=limits)
        self._reifier = Fresh(_FIXED_KEY if blank_nodes == "keep" else None)

    def quoted_triple(self, subject: Any, predicate: Any, object_: Any) -> Any:
        return _Quoted(subject, predicate, object_)

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return self._reified(terms, DEFAULT_GRAPH if self._graph is None else self._graph)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        if self._graph is None:
            return self._reified(terms[:3], terms[3])
        self.check_default(terms[3])
        return self._reified(terms[:3], self._graph)

    def _reified(self, terms: tuple[Any, Any, Any], graph: Any) -> Any:
        subject, predicate, object_ = terms
        if isinstance(subject, _Quoted):
            subject = self._reify(subject, graph)
        if isinstance(object_, _Quoted):
            object_ = self._triple_term(object_, graph)
        if self._long:
            self.count_copies((*_parts(terms[0]), predicate, *_parts(terms[2]), graph))
        return make_quad((subject, predicate, object_, graph))

    def _triple_term(self, quoted: _Quoted, graph: Any) -> Triple:
        subject, predicate, object_ = quoted
        if isinstance(subject, _Quoted):
            subject = self._reify(subject, graph)
        if isinstance(object_, _Quoted):
            object_ = self._triple_term(object_, graph)
        return make_triple((subject, predicate, object_), quoted=True)

    def _reify(self, quoted: _Quoted, graph: Any) -> BlankNode:
        term = self._triple_term(quoted, graph)
        reifier = self._reifier(str(term))
        self.added.append(make_quad((reifier, RDF_REIFIES, term, graph)))
        return reifier


class QuadReader:
    """Reads a source as quads.

    :param steps: called as statements are read, and at the end.
    :param graph: the graph that all statements go into, which may be in no other.
    :param reify: whether quoted triples are reified.
    :param bookkeeping: whether the reserved graph is read, too.

    :ivar name: the source's name.
    :ivar statements: statements read so far, repeats included.
    :ivar held: counts the bytes of their long terms.
    :ivar empty_graphs: names of graphs that ended without a statement, in a stream of physical
        type GRAPHS.
    """

    def __init__(
        self,
        frames: FrameBytes,
        settings: ConversionSettings,
        steps: Steps,
        *,
        graph: GraphName | None,
        reify: bool,
        on_namespace: Callable[[str, str], object] | None,
        bookkeeping: bool,
    ) -> None:
        self.name = frames.name
        self.statements = 0
        self.held = Held()
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self._steps = steps
        self._on_namespace = on_namespace
        self._bookkeeping = bookkeeping
        self._frame: int | None = None
        kind = ReifyingFactory if reify else QuadFactory
        self._factory: QuadFactory

        def factory() -> QuadFactory:
            self._factory = kind(
                graph=graph, blank_nodes=settings.blank_nodes, limits=settings.limits
            )
            return self._factory

        self._reader: AnyFrameReader = FrameReader(
            frames,
            factory=factory(),
            limits=settings.limits,
            concatenated=settings.concatenated,
            # Labels of a stream mean nothing in the next one.
            next_factory=factory,
        )

    def quads(self) -> Iterator[Quad]:
        """The quads, those of reifiers included.

        :raises JellyError: while iterating, with source, frame and row.
        :raises LimitError: the quads are too long to be held.
        """
        for frame in self._reader:
            self._frame = frame.index
            if self._on_namespace is not None:
                for name, iri in frame.namespaces:
                    self._on_namespace(name, iri.value)
            quads: list[Quad] = frame.statements
            self.statements += len(quads)
            self.empty_graphs.update(
                graph for graph in frame.empty_graphs if graph != DEFAULT_GRAPH
            )
            quads += self._factory.added
            self._check(quads)
            self._factory.added.clear()
            self.held.count(len(quads), self._factory.copied)
            # The next frame is decoded after this.
            self._factory.begin_frame()
            yield from quads
            self._steps.reach(self.statements)
        self._steps.end(self.statements)

    def _check(self, quads: list[Quad]) -> None:
        """Check the quads that were read last, and the empty graphs.

        :raises TermError: one is in the reserved graph.
        """
        if self._bookkeeping or not self._factory.may_have_reserved:
            return
        names = {quad.graph_name for quad in quads} | self.empty_graphs
        if any(is_reserved(name.value) for name in names if isinstance(name, NamedNode)):
            try:
                reject_graph(BOOKKEEPING_IRI)
            except JellyError as error:
                raise self.located(error) from None

    def located(self, error: JellyError) -> JellyError:
        """An error as one of the source."""
        return error.locate(source=self.name, frame=self._frame)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._reader.close()
