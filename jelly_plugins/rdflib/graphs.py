"""The default graph of a Dataset or ConjunctiveGraph."""

from __future__ import annotations

from rdflib.graph import ConjunctiveGraph, Graph


def default_graph(dataset: ConjunctiveGraph) -> Graph:
    """The default graph. rdflib 7.6 deprecates one of its two names; older ones lack the other."""
    name = "default_graph" if hasattr(dataset, "default_graph") else "default_context"
    graph: Graph = getattr(dataset, name)
    return graph
