"""A store, or one graph of it, as lines of N-Quads or N-Triples, which conversions read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pyoxigraph import Quad, RdfFormat, Store, serialize

from ...io.streams import BATCH
from ..patches.bookkeeping import BOOKKEEPING
from ..terms import GraphName


def nquads(store: Store, graph: GraphName | None = None) -> Iterator[bytes]:
    """The statements of a store in chunks of N-Quads, without those that replays keep.

    :param graph: only the statements of this graph, as N-Triples.
    """
    quads: Iterable[Quad] = store.quads_for_pattern(None, None, None, graph)
    if graph is None:
        quads = (quad for quad in quads if quad.graph_name != BOOKKEEPING)
    statements: Iterator[Any] = iter(quads) if graph is None else (quad.triple for quad in quads)
    format_ = RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES
    while batch := list(islice(statements, BATCH)):
        data = serialize(batch, format=format_)
        assert data is not None
        yield data
