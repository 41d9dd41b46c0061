"""Patch logs into graphs over an Oxigraph store (package oxrdflib), by the backend ``oxigraph``.

That backend has transactions, and changes the store inside without a term of rdflib being made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph

from ..backends import get_backend
from ..patch.position import Position, Replayed
from ..patch.replay import convert
from .oxigraph_store import graph_name, inner_store, inner_store_of
from .terms import RdflibFactory


def replay(graph: Graph, log: Any, *, whole: bool, **settings: Any) -> Replayed:
    """Replay a log into the store, or, unless ``whole``, into the one graph; and bind the
    namespaces that it has then. See ``oxigraph.replay``.

    :param graph: the graph in the place of the default graph.
    """
    backend: Any = get_backend("oxigraph")
    store = inner_store(graph)
    name = graph_name(graph)
    done: Replayed = backend.replay(store, log, graph=name, named_graphs=whole, **settings)
    for prefix, iri in backend.namespaces(store, name).items():
        graph.bind(prefix, iri, override=True, replace=True)
    return done


def positions(graph: Graph) -> list[Position]:
    """Where the graph stands. See ``oxigraph.positions``."""
    backend: Any = get_backend("oxigraph")
    found: list[Position] = backend.positions_in(inner_store(graph), _text(graph))
    return found


def set_position(graph: Graph, position: Position) -> None:
    """Say where the graph stands. See ``oxigraph.set_position``."""
    backend: Any = get_backend("oxigraph")
    backend.set_position(inner_store(graph), replace(position, graph=_text(graph)))


def _text(graph: Graph) -> str:
    """The graph's name as positions have it."""
    name = graph_name(graph)
    return "" if graph.identifier == DATASET_DEFAULT_GRAPH_ID else str(name)


class NativeUpdate:
    """A SPARQL update of the store's own, and what it is to change.

    :param prefixes: IRIs by prefix, for those that the update does not declare.
    :raises SyntaxError: the update is none.
    :raises RuntimeError: it fails.
    :raises TermError: it is to change what rdflib cannot hold.
    """

    def __init__(self, store: Any, update: str, prefixes: Mapping[str, str]) -> None:
        self._store = store
        backend: Any = get_backend("oxigraph")
        self._transaction = backend.transaction(inner_store_of(store))
        self._transaction.update(update, prefixes=dict(prefixes))
        factory = RdflibFactory(blank_nodes="keep")
        self._staged = self._transaction.staged()

        def statement(quad: Any) -> tuple[Any, Graph]:
            *triple, name = (convert(term, factory, backend.describe) for term in quad)
            return tuple(triple), Graph(store, name)

        #: Triples that go and that come, each with its graph.
        self.deletes, self.adds = (list(map(statement, part.quads)) for part in self._staged)

    def run(self) -> None:
        """Make the changes, all of them or none."""
        self._transaction.make(*self._staged)
