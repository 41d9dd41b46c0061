"""An Oxigraph store, or one graph of it, as a Jelly-RDF stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final, Literal, get_args

from pyoxigraph import Quad, Store

from ...codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    Encoder,
    Limits,
    PhysicalType,
    StreamOptions,
    TextEncoder,
    native,
)
from ...codec.rdf.options import GROUPED, logical_name
from ...errors import OptionsError, StatementError
from ...io.names import check_jelly_name
from ...io.progress import Progress, Steps
from ...io.sinks import Destination, Writable, is_replaceable, open_output
from ...io.sources import rewinder
from ...io.streams import BATCH
from ..terms import DEFAULT_GRAPH, GraphName, check_graph, check_store, describe
from .text_dump import deliver, encode_text, hidden_graph

#: The order of statements: as the store has them, or each subject's together.
Order = Literal["store", "subject"]

_ASK: Final = """
ASK {
  { ?s ?p ?o FILTER(isTRIPLE(?o)) } UNION { GRAPH ?g { ?s ?p ?o FILTER(isTRIPLE(?o)) } }
}
"""
_ASK_DEFAULT: Final = "ASK { ?s ?p ?o FILTER(isTRIPLE(?o)) }"


def dump(
    store: Store,
    dst: Destination,
    *,
    graph: GraphName | None = None,
    options: StreamOptions | None = None,
    namespaces: Mapping[str, str] | None = None,
    frame_rows: int = DEFAULT_FRAME_ROWS,
    frame_bytes: int = DEFAULT_FRAME_BYTES,
    order: Order = "store",
    bookkeeping: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a store, or one graph of it, as a delimited Jelly-RDF stream.

    Blank nodes have the labels that the store has for them. Empty named graphs are written with
    physical type GRAPHS; with QUADS, the default, they have no place in the stream.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param graph: write this graph only, by default as triples.
    :param options: of the stream; by default flat quads, or flat triples with ``graph``. Where
        there are triple terms, ``rdf_star`` is added: what was written without is written again,
        or, where a destination cannot take that (a pipe), a query over all statements goes before
        (about 1 µs each in memory). Of the logical types with one
        element per frame, GRAPHS and DATASETS are possible: the whole dump is one frame then.
    :param namespaces: declarations to write first, IRI by name.
    :param frame_rows: rows of a frame, at most.
    :param frame_bytes: bytes of a frame after which it ends.
    :param order: ``"store"`` streams in constant memory. A store on disk has statements in order
        of their subjects; one in memory has them as they came, and if they came shuffled,
        ``"subject"`` makes the stream about a quarter smaller. It holds a graph's subjects in
        memory, and sees changes that are made to the store meanwhile.
    :param bookkeeping: write the graph :data:`.BOOKKEEPING` too, which replays keep in the store.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output, by default those of a reader.
    :return: number of statements written.
    :raises OptionsError: ``options`` do not match the data.
    :raises JellyError: Jelly cannot express a term, at least not with these options.
    :raises SourceError: the path cannot be written.
    """
    check_store(store)
    check_jelly_name(dst)
    if graph is not None:
        check_graph(graph)
    if order not in get_args(Order):
        raise ValueError(f"order must be 'store' or 'subject' (got {order!r})")
    options = _options(graph, options)
    again = None if options.rdf_star else _restarter(dst)
    if again is None and not options.rdf_star and _has_triple_terms(store, graph):
        options = replace(options, rdf_star=True)
    settings: dict[str, Any] = {
        "namespaces": bool(namespaces),
        "frame_rows": frame_rows,
        "frame_bytes": frame_bytes,
        "limits": limits,
    }
    text = PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES
    by_text = native and options.physical_type is text and order == "store"
    while True:
        encoder: Any = (
            TextEncoder(options, **settings) if by_text else Encoder(options, describe, **settings)
        )
        for name, iri in (namespaces or {}).items():
            encoder.add_namespace(name, iri)
        steps = Steps(progress)
        try:
            with open_output(dst) as out:
                if by_text:
                    count = encode_text(store, encoder, graph, out, steps, bookkeeping=bookkeeping)
                else:
                    parts = _Parts(store, graph, order, bookkeeping=bookkeeping)
                    count = _encode_terms(parts, encoder, out, steps, frame_rows)
        except StatementError:
            if again is None or options.rdf_star or not _has_triple_terms(store, graph):
                raise
            again()
            options = replace(options, rdf_star=True)
            continue
        steps.end(count)
        return count


def _restarter(dst: Destination) -> Callable[[], object] | None:
    """What makes the destination ready for another attempt; None if there can be one attempt."""
    if isinstance(dst, str | os.PathLike):
        return (lambda: None) if is_replaceable(dst) else None
    file: Any = dst
    rewind = rewinder(file) if hasattr(file, "truncate") else None
    return None if rewind is None else lambda: (rewind(), file.truncate())


def _encode_terms(
    parts: _Parts, encoder: Encoder, out: Writable, steps: Steps, frame_rows: int
) -> int:
    """Write a store by way of terms, in the order and by the graphs that text does not have.

    :return: number of statements.
    """
    physical_type = encoder.options.physical_type
    by_graph = physical_type is PhysicalType.GRAPHS
    written = 0
    for graph in parts.graphs(by_graph):
        if by_graph and graph is not None:
            encoder.start_graph(graph)
            if not encoder.options.grouped and encoder.pending >= frame_rows:
                deliver([encoder.flush()], written, out, steps)
        terms: Iterator[tuple[Any, ...]] = map(tuple, parts.quads(graph))
        while batch := list(islice(terms, BATCH)):
            if physical_type is PhysicalType.TRIPLES:
                batch = [statement[:3] for statement in batch]
            written += len(batch)
            deliver(encoder.add(batch), written, out, steps)
    deliver(encoder.finish(), written, out, steps)
    return written


class _Parts:
    """The quads of a store, or of one graph of it, in an order."""

    def __init__(
        self, store: Store, graph: GraphName | None, order: Order, *, bookkeeping: bool
    ) -> None:
        self._store = store
        self._graph = graph
        self._order = order
        self._hidden = hidden_graph(store, bookkeeping)

    def graphs(self, by_graph: bool) -> Iterator[GraphName | None]:
        """The graphs to write one after the other; None for all of them at once."""
        if self._graph is not None:
            yield self._graph
        elif by_graph or self._order == "subject":
            # The default graph always exists; it is worth a row only if it has statements.
            if next(self.quads(DEFAULT_GRAPH), None) is not None:
                yield DEFAULT_GRAPH
            yield from (name for name in self._store.named_graphs() if name != self._hidden)
        else:
            yield None

    def quads(self, graph: GraphName | None) -> Iterator[Quad]:
        """The quads of a graph; None for all of them."""
        find = self._store.quads_for_pattern
        if self._order == "store":
            quads = find(None, None, None, graph)
            if graph is None and self._hidden is not None:
                quads = (quad for quad in quads if quad.graph_name != self._hidden)
            yield from quads
            return
        for subject in dict.fromkeys(quad.subject for quad in find(None, None, None, graph)):
            yield from find(subject, None, None, graph)


def _options(graph: GraphName | None, options: StreamOptions | None) -> StreamOptions:
    """The options to write with, but for ``rdf_star``.

    :raises OptionsError: they need a graph, or frames that a dump does not have.
    """
    if options is None:
        options = StreamOptions.flat(PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES)
    if graph is None and options.physical_type is PhysicalType.TRIPLES:
        raise OptionsError("a store has quads: name the graph that is to be written as triples")
    if options.grouped and options.logical_type not in GROUPED:
        raise OptionsError(
            f"a dump has no frames for logical type {logical_name(options.logical_type)}"
        )
    return options


def _has_triple_terms(store: Store, graph: GraphName | None) -> bool:
    if graph is None:
        return bool(store.query(_ASK))
    return bool(store.query(_ASK_DEFAULT, default_graph=graph))
