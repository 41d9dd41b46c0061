"""Patch logs into graphs over an Oxigraph store (package oxrdflib), by the backend ``oxigraph``.

That backend has transactions, and changes the store inside without a term of rdflib being made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.term import URIRef

from ...backends import get_backend
from ...patch.replay.position import Position, Replayed
from ..oxigraph_store import graph_name, inner_store
from .stores import bind_beside


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
        bind_beside(graph, prefix, URIRef(iri))
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
