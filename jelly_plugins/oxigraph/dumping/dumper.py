"""An Oxigraph store, or one graph of it, in any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, nullcontext
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
)
from ...codec.rdf.options import GROUPED, logical_name
from ...errors import JellyError, OptionsError, StatementError
from ...formats.jelly import encoded
from ...formats.jelly_text import text_output
from ...formats.settings import ConversionSettings, Counter, Job
from ...formats.table import FORMATS
from ...io.names import Format, FormatName, format_named, format_of
from ...io.progress import Progress
from ...io.sinks import Destination, is_replaceable, open_output
from ...io.sources import rewinder
from ...io.streams import BATCH, write_jelly
from ..patches.bookkeeping import check_recorded
from ..terms import DEFAULT_GRAPH, GraphName, check_graph, check_store, describe
from .store_reader import StoreReader, hidden_graph

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
    format: FormatName | None = None,  # noqa: A002
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
    """Write a store, or one graph of it, in any format; Jelly by default.

    Blank nodes have the labels that the store has for them. Empty named graphs are written as Jelly
    with physical type GRAPHS; with QUADS, the default, and in other formats they have no place.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param format: a :class:`~jelly_plugins.Format` or its name, as in :func:`load`; by default
        from the destination if that is a path, and Jelly where it says nothing.
    :param graph: write this graph only, as triples. Turtle, RDF/XML and N-Triples need it if there
        are named graphs.
    :param options: of Jelly; by default flat quads, or flat triples with ``graph``. Where
        there are triple terms, ``rdf_star`` is added: what was written without is written again,
        or, where a destination cannot take that (a pipe), a query over all statements goes before
        (about 1 µs each in memory). Of the logical types with one
        element per frame, GRAPHS and DATASETS are possible: the whole dump is one frame then.
    :param namespaces: declarations to write first, IRI by name.
    :param frame_rows: rows of a frame of Jelly, at most.
    :param frame_bytes: bytes of a frame after which it ends.
    :param order: ``"store"`` streams in constant memory. A store on disk has statements in order
        of their subjects; one in memory has them as they came, and if they came shuffled,
        ``"subject"`` makes Jelly about a quarter smaller. It holds a graph's subjects in
        memory, and sees changes that are made to the store meanwhile.
    :param bookkeeping: write the graph :data:`.BOOKKEEPING` too, which replays keep in the store.
        A store that is being recorded does not have its exact position: close the recorder first.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :param limits: limits on the output, by default those of a reader.
    :return: number of statements written.
    :raises ChainError: ``bookkeeping``, and the store is being recorded.
    :raises OptionsError: ``options`` do not match the data.
    :raises JellyError: the format cannot express a term, at least not with these options.
    :raises SourceError: the path cannot be written.
    :raises ValueError: there is no format of that name, or ``options`` or ``order`` are for Jelly,
        and the format is another.
    """
    check_store(store)
    if bookkeeping:
        check_recorded(store, remedy="close the recorder, which writes the store's position")
    if graph is not None:
        check_graph(graph)
    if order not in get_args(Order):
        raise ValueError(f"order must be 'store' or 'subject' (got {order!r})")
    path = dst if isinstance(dst, str | os.PathLike) else None
    form = format_named(format) if format is not None else format_of(path) or Format.JELLY
    counter = Counter(progress)
    job = Job(
        settings=ConversionSettings(frame_rows=frame_rows, frame_bytes=frame_bytes, limits=limits),
        counter=counter,
    )

    def opened() -> StoreReader:
        return StoreReader(store, graph, namespaces=dict(namespaces or {}), bookkeeping=bookkeeping)

    if form not in (Format.JELLY, Format.JELLY_TEXT):
        if options is not None or order != "store":
            raise ValueError(f"options and order apply to Jelly only, and the format is {form}")
        with opened() as source, open_output(dst) as out:
            try:
                FORMATS[form].write(source, out, form, job)
            except JellyError as error:
                raise source.located(error) from error.__cause__
        return counter.conversion().statements
    options = _options(graph, options)
    text = PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES
    by_text = options.physical_type is text and order == "store"
    jelly: Destination
    with text_output(dst, limits) if form is Format.JELLY_TEXT else nullcontext(dst) as jelly:
        again = None if options.rdf_star else _restarter(jelly)
        if again is None and not options.rdf_star and _has_triple_terms(store, graph):
            options = replace(options, rdf_star=True)
        while True:
            try:
                if by_text:
                    with opened() as source, closing(encoded(source, options, job)) as frames:
                        write_jelly(frames, jelly, delimited=True)
                else:
                    parts = _Parts(store, graph, order, bookkeeping=bookkeeping)
                    _write_terms(parts, jelly, options, namespaces or {}, job)
            except StatementError:
                if again is None or options.rdf_star or not _has_triple_terms(store, graph):
                    raise
                again()
                counter.restart()
                options = replace(options, rdf_star=True)
                continue
            return counter.conversion().statements


def _restarter(dst: Destination) -> Callable[[], object] | None:
    """What makes the destination ready for another attempt; None if there can be one attempt."""
    if isinstance(dst, str | os.PathLike):
        return (lambda: None) if is_replaceable(dst) else None
    file: Any = dst
    rewind = rewinder(file) if hasattr(file, "truncate") else None
    return None if rewind is None else lambda: (rewind(), file.truncate())


def _write_terms(
    parts: _Parts,
    dst: Destination,
    options: StreamOptions,
    namespaces: Mapping[str, str],
    job: Job,
) -> None:
    """Write a store by way of terms, in the order and by the graphs that text does not have."""
    settings = job.settings
    by_graph = options.physical_type is PhysicalType.GRAPHS
    encoder = Encoder(options, describe, namespaces=bool(namespaces), **settings.encoding)
    for prefix, iri in namespaces.items():
        encoder.add_namespace(prefix, iri)

    def frames() -> Iterator[bytes]:
        for graph in parts.graphs(by_graph):
            if by_graph and graph is not None:
                encoder.start_graph(graph)
                if not options.grouped and encoder.pending >= settings.encoding["frame_rows"]:
                    yield encoder.flush()
            terms: Iterator[tuple[Any, ...]] = map(tuple, parts.quads(graph))
            while batch := list(islice(terms, BATCH)):
                if options.physical_type is PhysicalType.TRIPLES:
                    batch = [statement[:3] for statement in batch]
                job.counter.add(len(batch))
                yield from encoder.add(batch)
        yield from encoder.finish()

    write_jelly(frames(), dst, delimited=True)


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
