"""Quoted triples where Oxigraph has no triple terms: replaced by reifiers, as RDF 1.2 has them.

``<< s p o >> q r`` becomes ``_:x q r`` and ``_:x rdf:reifies <<( s p o )>>``. A quoted triple as
object stays what it is, a triple term.

Reference: RDF 1.2 Concepts, section "Triple Terms and Reification".
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from pyoxigraph import BlankNode, NamedNode, Triple

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ..terms import Fresh, GraphName, QuadFactory, make_quad, make_triple

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
        self, *, graph: GraphName, blank_nodes: BlankNodes, limits: Limits = DEFAULT_LIMITS
    ) -> None:
        super().__init__(graph=graph, blank_nodes=blank_nodes, limits=limits)
        self._reifier = Fresh(_FIXED_KEY if blank_nodes == "keep" else None)

    def quoted_triple(self, subject: Any, predicate: Any, object_: Any) -> Any:
        return _Quoted(subject, predicate, object_)

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        return self.quad((*terms, self._graph))

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        subject, predicate, object_, graph = terms
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
