"""Canonical labels for the blank nodes of a source that is loaded: see ``canonical_labels``.

All quads with blank nodes are held in memory. Labels come from terms as the source has them, before
the store changes any, so that other readers of the same source find the same labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pyoxigraph import BlankNode, NamedNode, Quad, Triple

from ...codec.common.canonical_labels import canonical_labels
from ..terms import DEFAULT_GRAPH, GraphName, describe_directed, may_have_blank_nodes


def relabelled(
    quads: Iterable[Quad],
    graph: GraphName | None,
    empty_graphs: set[NamedNode | BlankNode],
) -> Iterator[Quad]:
    """Quads with canonical labels for their blank nodes, in another order.

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
