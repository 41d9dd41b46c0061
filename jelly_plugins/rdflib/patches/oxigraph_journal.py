"""Changes to an Oxigraph store (package oxrdflib) that can be undone, quad by quad.

What is noted are the store's own quads: rdflib gives literals other forms than the store does, and
has several terms for one literal of the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad
from pyoxigraph import Triple as QuotedTriple
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import BNode, Literal, Node, URIRef

from ...backends import get_backend
from ...errors import TermError
from ..oxigraph_store import inner_store_of, name_in_store
from ..terms import describe as describe_rdflib
from .journal import STATEMENTS, ChangeKind, Journal
from .stores import Triple, name_of

_BACKEND: Any = get_backend("oxigraph")
_TERMS: Any = _BACKEND.factory(blank_nodes="keep")


class OxigraphJournal(Journal):
    """See :class:`.Journal`. Changes have a quad instead of a triple, and no graph.

    Its statements are in pyoxigraph's terms.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self._quads: Any = inner_store_of(graph.store)

    @staticmethod
    def describe(term: Any) -> tuple[Any, ...]:
        """Describe a term of pyoxigraph or, of a namespace, of rdflib."""
        description: tuple[Any, ...]
        known = term is None or isinstance(term, Node)
        description = describe_rdflib(term) if known else _BACKEND.describe(term)
        return description

    def name_of(self, graph: Any) -> Any:
        """The name of a graph in the store."""
        return name_in_store(name_of(graph))

    def add(self, triple: Triple, graph: Any, quoted: bool = False) -> bool:
        """See :meth:`.Journal.add`."""
        subject, predicate, object_ = map(_term, triple)
        quad = Quad(subject, predicate, object_, self.name_of(graph))
        if isinstance(triple[2], Literal) and triple[2].datatype is not None:
            [quad] = _BACKEND.canonical_quads([quad])
        if quad in self._quads:
            return False
        if graph is not self._last_graph:
            self.note_graph(graph)
        self.changes.append((ChangeKind.ADD, quad, None))
        self.store.add(triple, graph, quoted)
        return True

    def remove(self, triple: Triple, graph: Any) -> bool:
        """See :meth:`.Journal.remove`."""
        before = len(self.changes)
        self.remove_matching(triple, graph)
        return len(self.changes) > before

    def remove_matching(self, pattern: Any, graph: Any) -> None:
        """See :meth:`.Journal.remove_matching`."""
        terms = [None if term is None else _term(term) for term in pattern]
        name = None if graph is None else self.name_of(graph)
        self._note_all(ChangeKind.REMOVE, self._quads.quads_for_pattern(*terms, name))
        self.store.remove(pattern, graph)

    def update(
        self,
        update: Any,
        initNs: Any,  # noqa: N803
        initBindings: Any,  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **settings: Any,
    ) -> None:
        """Run an update in the store's own engine.

        :raises NotImplementedError: it needs rdflib's engine.
        :raises SyntaxError: the update cannot be parsed.
        :raises RuntimeError: it fails.
        :raises TermError: it adds what rdflib cannot hold.
        """
        native = isinstance(update, str) and queryGraph == DATASET_DEFAULT_GRAPH_ID
        if not native or initBindings or settings:
            super().update(update)
        prefixes = {name: str(iri) for name, iri in self.store.namespaces()} | dict(initNs)
        changes = _BACKEND.staged_changes(self._quads)
        changes.update(update, prefixes=prefixes)
        deletes, adds = changes.staged()
        for quad in adds.quads:
            if isinstance(quad.object, QuotedTriple):
                raise TermError("rdflib cannot hold quoted triples")
        for name in {quad.graph_name for quad in adds.quads}:
            self.note_graph(Graph(self.store, _identifier(name)))
        self._note_all(ChangeKind.REMOVE, deletes.quads)
        self._note_all(ChangeKind.ADD, adds.quads)
        changes.make(deletes, adds)

    def net_changes(
        self, place: Callable[[Any], tuple[Any, ...] | None]
    ) -> Iterator[tuple[ChangeKind, tuple[Any, ...]]]:
        """See :meth:`.Journal.net_changes`. Literals are as the store has them."""
        places: dict[Any, tuple[Any, ...] | None] = {}
        before: dict[Quad, ChangeKind] = {}
        after: dict[Quad, ChangeKind] = {}
        for what, quad, _ in self.changes:
            if what in STATEMENTS:
                before.setdefault(quad, what)
                after[quad] = what
        for quad, what in after.items():
            if before[quad] is not what:
                continue
            name = quad.graph_name
            if name not in places:
                places[name] = place(name)
            extra = places[name]
            if extra is not None:
                yield what, (quad.subject, quad.predicate, quad.object, *extra)

    def _undo_change(self, what: ChangeKind, quad: Any, graph: Any) -> None:
        if what is ChangeKind.ADD:
            self._quads.remove(quad)
        elif what is ChangeKind.REMOVE:
            self._quads.add(quad)
        else:
            super()._undo_change(what, quad, graph)

    def _note_all(self, what: ChangeKind, quads: Iterable[Quad]) -> None:
        self.changes += [(what, quad, None) for quad in quads]


def _term(term: Any) -> Any:
    """A term of rdflib as the store would have it.

    :raises TermError: it cannot.
    """
    return _literal(term) if isinstance(term, Literal) else _node(term)


def _literal(term: Literal) -> Any:
    datatype = None if term.datatype is None else str(term.datatype)
    return _TERMS.literal(str(term), term.language, datatype)


@lru_cache(maxsize=4096)
def _node(term: Any) -> Any:
    if isinstance(term, URIRef):
        return _TERMS.iri(str(term))
    if isinstance(term, BNode):
        return BlankNode(str(term))
    raise TermError(f"{type(term).__name__} {str(term)[:80]!r} is not an RDF term")


def _identifier(name: NamedNode | BlankNode | DefaultGraph) -> URIRef | BNode:
    if isinstance(name, DefaultGraph):
        return DATASET_DEFAULT_GRAPH_ID
    return BNode(name.value) if isinstance(name, BlankNode) else URIRef(name.value)
