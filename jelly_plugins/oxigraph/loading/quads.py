"""A Jelly source as pyoxigraph quads, made one by one: where text for Oxigraph's own parser
(``loader``) does not suffice, since labels or quoted triples become other terms.

Quoted triples where Oxigraph has no triple terms are replaced by reifiers, as RDF 1.2 has them:
``<< s p o >> q r`` becomes ``_:x q r`` and ``_:x rdf:reifies <<( s p o )>>``. A quoted triple as
object stays what it is, a triple term.

:func:`relabelled` gives quads canonical labels, and :class:`HeldBytes` bounds what a load holds.

Reference: RDF 1.2 Concepts, section "Triple Terms and Reification".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...codec.common.canonical_labels import canonical_labels
from ...errors import JellyError, LimitError
from ...formats.settings import ConversionSettings
from ...io.progress import Steps
from ...io.streams import AnyFrameReader, FrameBytes, FrameReader
from ...reserved import BOOKKEEPING_IRI, is_reserved, reject_graph
from ..terms import (
    DEFAULT_GRAPH,
    Fresh,
    GraphName,
    QuadFactory,
    describe_directed,
    make_quad,
    make_triple,
    may_have_blank_nodes,
)

RDF_REIFIES: Final = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies")

#: With labels kept, reading a source again gives the nodes that it gave before; reifiers too.
_FIXED_KEY: Final = b"jelly_plugins rdf:reifies"

#: Statements that Oxigraph's bulk loader holds before it writes them to disk.
_STATEMENTS: Final = 1_000_000

#: Bytes that may be held, and how many more for each statement.
_BYTES: Final = 1 << 28
_BYTES_PER_STATEMENT: Final = 1 << 10


class HeldBytes:
    """Counts the bytes of statements: a prefix of a megabyte makes gigabytes of quads out of a
    thousand short statements.

    :ivar limited: whether the statements are held, so that the limit applies.
    :ivar size: bytes counted so far.
    """

    def __init__(self) -> None:
        self.limited = False
        self.size = 0
        self._statements = self._start = self._source = 0

    def count(self, statements: int, size: int, source: int = 0) -> None:
        """Count statements that are about to be loaded.

        :param size: bytes of their text, or of their long terms.
        :param source: bytes of the source that they are from, if those are known. They may be held.
        :raises LimitError: those that are held are too long.
        """
        self.size += size
        self._source += source
        self._statements += statements
        held = self.size - self._source - self._start
        most = _BYTES + self._statements * _BYTES_PER_STATEMENT
        if self.limited and held > most:
            raise LimitError(
                f"{self._statements:,} statements take {held:,} bytes more as quads than in the "
                f"source, above the {most:,} that a load may hold in memory; load them with "
                "atomic=False"
            )
        if self._statements >= _STATEMENTS:
            self._start, self._statements = self.size - self._source, 0


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
        self.held = HeldBytes()
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


def relabelled(
    quads: Iterable[Quad],
    graph: GraphName | None,
    empty_graphs: set[NamedNode | BlankNode],
) -> Iterator[Quad]:
    """Quads with canonical labels for their blank nodes, in another order; see
    ``canonical_labels``.

    All quads with blank nodes are held in memory. Labels come from terms as the source has them,
    before the store changes any, so that other readers of the same source find the same labels.

    :param graph: the graph that a source of triples goes into, which is not part of the source.
    :param empty_graphs: names of graphs without statements, all of them once ``quads`` have ended.
        Blank nodes among them get the same labels as in quads, and new ones if no quad has them.
    :raises LimitError: the blank nodes are too symmetric.
    """
    held: list[Quad] = []
    for quad in quads:
        if may_have_blank_nodes(quad):
            held.append(quad)
        else:
            yield quad
    own_graphs = graph is None
    labels = canonical_labels(
        (tuple(quad) if own_graphs else (*quad.triple, DEFAULT_GRAPH) for quad in held),
        describe_directed,
    )

    for node in [name for name in empty_graphs if isinstance(name, BlankNode)]:
        label = labels.get(describe_directed(node)[1])
        empty_graphs.remove(node)
        empty_graphs.add(BlankNode() if label is None else BlankNode(label))

    def term(old: Any) -> Any:
        if isinstance(old, BlankNode):
            return BlankNode(labels[describe_directed(old)[1]])
        if isinstance(old, Triple):
            return Triple(*map(term, old))
        return old

    for quad in held:
        name = quad.graph_name
        made = Triple(*map(term, quad.triple))
        yield Quad(made.subject, made.predicate, made.object, term(name) if own_graphs else name)
