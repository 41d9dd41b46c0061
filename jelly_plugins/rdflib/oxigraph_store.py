"""Graphs over an Oxigraph store (package oxrdflib): the backend ``oxigraph``, found by its entry
point, reads and writes the inner store without terms of rdflib."""

from __future__ import annotations

from typing import Any

from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, Graph
from rdflib.term import BNode

from ..backends import get_backend
from ..errors import TermError
from ..io.sinks import Destination, check_jelly_name
from ..io.sources import Source
from ..patch.replay.transactions import lock_of
from .memory import overridden
from .namespaces import DeclaredNamespaces


def inner_store(graph: Graph) -> Any | None:
    """The ``pyoxigraph.Store`` inside a graph's store, if there is one."""
    store: Any = graph.store
    if (type(store).__module__, type(store).__name__) != ("oxrdflib.store", "OxigraphStore"):
        return None
    # It is made at its first use: two threads would make one each, and one would be lost.
    with lock_of(store):
        return store._inner


def fillable(graph: Graph, *, whole: bool) -> bool:
    """Whether statements may go into the inner store without the graph's own methods.

    :param whole: whether statements of other graphs than this one are added, too. For Oxigraph the
        default graph of a ConjunctiveGraph is a named one.
    """
    named = whole and graph.identifier != DATASET_DEFAULT_GRAPH_ID
    return not named and inner_store(graph) is not None and not overridden(graph)


def writable(graph: Graph) -> bool:
    """Whether the backend can write the graph; see :func:`fillable` for a ConjunctiveGraph."""
    whole = isinstance(graph, Dataset) or not isinstance(graph, ConjunctiveGraph)
    return whole and inner_store(graph) is not None


def graph_name(graph: Graph) -> Any:
    """A graph's name in the store."""
    import pyoxigraph

    name = graph.identifier
    if name == DATASET_DEFAULT_GRAPH_ID:
        return pyoxigraph.DefaultGraph()
    kind = pyoxigraph.BlankNode if isinstance(name, BNode) else pyoxigraph.NamedNode
    return kind(str(name))


def load(graph: Graph, src: Source, *, whole: bool, **settings: Any) -> int:
    """Read a source into the store, or, unless ``whole``, triples into the one graph; see
    ``reading.load`` for the settings."""
    namespaces = DeclaredNamespaces()
    try:
        count: int = get_backend("oxigraph").load(
            inner_store(graph),
            src,
            graph=None if whole else graph_name(graph),
            on_namespace=namespaces.add,
            **settings,
        )
    except TermError as error:
        if not whole and "a quad in a named graph" in error.message:
            error.add_note(
                "A Graph takes triples; rdflib.Dataset(store='Oxigraph') takes quads, and "
                "jelly_plugins.rdflib.load fills a ConjunctiveGraph."
            )
        raise
    namespaces.bind(graph)
    return count


def dump(graph: Graph, dst: Destination, **settings: Any) -> int:
    """Write all of a Dataset's store, or the one graph as triples. See ``writing.dump``."""
    name = None if isinstance(graph, Dataset) else graph_name(graph)
    if "format" not in settings:
        check_jelly_name(dst)
        settings["format"] = "jelly"
    return get_backend("oxigraph").dump(inner_store(graph), dst, graph=name, **settings)
