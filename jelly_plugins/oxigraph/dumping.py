"""An Oxigraph store, or one graph of it, in any format; and quads from anywhere as Jelly.

Both go by way of Oxigraph's own text: making quads in Python costs more than all the rest of a
dump. A store writes its text in a thread of its own, since Oxigraph does not hold Python's lock
meanwhile: what reads the chunks runs at the same time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Final, Unpack

from pyoxigraph import NamedNode, Quad, RdfFormat, Store, Triple, serialize

from ..codec import (
    Encoder,
    PhysicalType,
    StreamOptions,
    delimit,
)
from ..codec.common.options import GROUPED, logical_name
from ..errors import JellyError, OptionsError, StatementError, TermError
from ..formats.convert import FORMATS
from ..formats.jelly import encoded
from ..formats.jelly_text import text_output
from ..formats.settings import ConversionSettings, Counter, Job
from ..io.chunks import Chunk, ChunkReader, in_thread
from ..io.sinks import Destination, is_replaceable, open_output
from ..io.sources import Format, FormatName, format_named, format_of, name_of, rewinder
from ..io.streams import (
    BATCH,
    WriteOptions,
    WriteSettings,
    with_options,
    write_delimited,
    write_jelly,
)
from ..reserved import BOOKKEEPING_TEXT
from .patches.store import BOOKKEEPING, check_recorded
from .terms import DEFAULT_GRAPH, GraphName, check_graph, check_store, describe

_ASK: Final = """
ASK {
  { ?s ?p ?o FILTER(isTRIPLE(?o)) } UNION { GRAPH ?g { ?s ?p ?o FILTER(isTRIPLE(?o)) } }
}
"""
_ASK_DEFAULT: Final = "ASK { ?s ?p ?o FILTER(isTRIPLE(?o)) }"


class DumpOptions(WriteOptions, total=False):
    """The fields of :class:`DumpSettings`, as keyword arguments."""

    bookkeeping: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpSettings(WriteSettings):
    """Settings of a dump: those of :class:`~jelly_plugins.WriteSettings`, and these.

    :ivar options: of Jelly; by default flat quads, or flat triples of a single graph. Where there
        are triple terms, ``rdf_star`` is added: what was written without is written again, or,
        where a destination cannot take that (a pipe), a query over all statements goes before
        (about 1 µs each in memory). Of the logical types with one element per frame, GRAPHS and
        DATASETS are possible: the whole dump is one frame then.
    :ivar bookkeeping: write the graph :data:`.BOOKKEEPING` too, which replays keep in the store.
        A store that is being recorded does not have its exact position: close the recorder first.
    """

    bookkeeping: bool = False


def dump(
    store: Store,
    dst: Destination,
    *,
    format: FormatName | None = None,  # noqa: A002
    graph: GraphName | None = None,
    **settings: Unpack[DumpOptions],
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
    :param settings: see :class:`DumpSettings`.
    :return: number of statements written.
    :raises ChainError: ``bookkeeping``, and the store is being recorded.
    :raises OptionsError: ``options`` do not match the data.
    :raises JellyError: the format cannot express a term, at least not with these options.
    :raises SourceError: the path cannot be written.
    :raises ValueError: there is no format of that name, or ``options`` are given, and the format is
        not Jelly.
    """
    chosen = DumpSettings(**settings)
    check_store(store)
    if chosen.bookkeeping:
        check_recorded(store, remedy="close the recorder, which writes the store's position")
    if graph is not None:
        check_graph(graph)
    for iri in (chosen.namespaces or {}).values():
        try:
            NamedNode(iri)
        except ValueError as error:
            raise TermError(f"Oxigraph would reject the namespace {iri!r}: {error}") from None
    path = dst if isinstance(dst, str | os.PathLike) else None
    form = format_named(format) if format is not None else format_of(path) or Format.JELLY
    job = _job(chosen)
    if form in (Format.JELLY, Format.JELLY_TEXT):
        jelly: Destination
        text = text_output(dst, chosen.limits) if form is Format.JELLY_TEXT else nullcontext(dst)
        with text as jelly:
            _dump_jelly(store, jelly, graph, chosen, job)
        return job.counter.statements
    if chosen.options is not None:
        raise ValueError(f"options apply to Jelly only, and the format is {form}")
    with StoreReader(store, graph, chosen) as source, open_output(dst) as out:
        try:
            FORMATS[form].write(source, out, form, job)
        except JellyError as error:
            raise source.located(error) from error.__cause__
        job.counter.end()
    return job.counter.statements


def _job(settings: WriteSettings) -> Job:
    return Job(
        settings=ConversionSettings(
            frame_rows=settings.frame_rows,
            frame_bytes=settings.frame_bytes,
            restart_every=settings.restart_every,
            limits=settings.limits,
        ),
        counter=Counter(settings.progress),
    )


def _dump_jelly(
    store: Store, dst: Destination, graph: GraphName | None, chosen: DumpSettings, job: Job
) -> None:
    """Write Jelly; again with ``rdf_star`` if there are triple terms, or with it at once if the
    destination cannot be written again."""
    options = _options(graph, chosen.options)
    again = None if options.rdf_star else _restarter(dst)
    if again is None and not options.rdf_star and _has_triple_terms(store, graph):
        options = replace(options, rdf_star=True)

    def write(options: StreamOptions) -> None:
        text = PhysicalType.QUADS if graph is None else PhysicalType.TRIPLES
        if options.physical_type is text:
            with (
                StoreReader(store, graph, chosen) as source,
                closing(encoded(source, options, job)) as frames,
            ):
                write_jelly(job.counter.ended(frames), dst)
        else:
            write_jelly(job.counter.ended(_frames(store, graph, options, chosen, job)), dst)

    try:
        write(options)
    except StatementError:
        if again is None or options.rdf_star or not _has_triple_terms(store, graph):
            raise
        again()
        job.counter.restart()
        write(replace(options, rdf_star=True))


def _restarter(dst: Destination) -> Callable[[], object] | None:
    """What makes the destination ready for another attempt; None if there can be one attempt."""
    if isinstance(dst, str | os.PathLike):
        return (lambda: None) if is_replaceable(dst) else None
    file: Any = dst
    rewind = rewinder(file) if hasattr(file, "truncate") else None
    return None if rewind is None else lambda: (rewind(), file.truncate())


def _frames(
    store: Store,
    graph: GraphName | None,
    options: StreamOptions,
    chosen: DumpSettings,
    job: Job,
) -> Iterator[bytes]:
    """Frames made of terms, graph by graph, which text is not."""
    by_graph = options.physical_type is PhysicalType.GRAPHS
    encoding = job.settings.encoding
    encoder = Encoder(options, describe, namespaces=bool(chosen.namespaces), **encoding)
    for prefix, iri in (chosen.namespaces or {}).items():
        encoder.add_namespace(prefix, iri)
    for name in _graphs(store, chosen.bookkeeping) if graph is None else (graph,):
        if by_graph:
            encoder.start_graph(name)
            if not options.grouped and encoder.pending >= encoding["frame_rows"]:
                yield encoder.flush()
        terms: Iterator[tuple[Any, ...]] = map(
            tuple, store.quads_for_pattern(None, None, None, name)
        )
        while batch := list(islice(terms, BATCH)):
            job.counter.add(len(batch))
            yield from encoder.add(batch)
    yield from encoder.finish()


def _graphs(store: Store, bookkeeping: bool) -> Iterator[GraphName]:
    # The default graph always exists; it is worth a row only if it has statements.
    if next(store.quads_for_pattern(None, None, None, DEFAULT_GRAPH), None) is not None:
        yield DEFAULT_GRAPH
    yield from (name for name in store.named_graphs() if bookkeeping or name != BOOKKEEPING)


def _options(graph: GraphName | None, options: StreamOptions | None) -> StreamOptions:
    """The options to write with, but for ``rdf_star``."""
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


# The text of a store

#: Bytes of text in a chunk, approximately.
_CHUNK: Final = 1 << 17

#: How a line of N-Quads ends whose statement is in the reserved graph.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()


class StoreReader(ChunkReader):
    """Reads a store, or one graph of it, whose statements are then in the default graph.

    :param settings: the namespaces that go with the statements, and whether to read the graph
        :data:`.BOOKKEEPING` too.
    """

    validated = True

    def __init__(self, store: Store, graph: GraphName | None, settings: DumpSettings) -> None:
        self.name = name_of(store)
        self.namespaces = dict(settings.namespaces or {})
        self.has_namespaces = bool(self.namespaces)
        self.has_graphs = graph is None
        #: Whether there are statements that a dump leaves out.
        self._hides = (
            graph is None and not settings.bookkeeping and store.contains_named_graph(BOOKKEEPING)
        )
        self._texts = in_thread(partial(_dump_lines, store, graph))

    def __iter__(self) -> Iterator[Chunk]:
        for text in self.lines():
            yield Chunk(text, text.count(b"\n"))

    def lines(self) -> Iterator[bytes]:
        for text in self._texts:
            if self._hides and _RESERVED_LINE in text:
                lines = text.splitlines(keepends=True)
                text = b"".join(line for line in lines if not line.endswith(_RESERVED_LINE))
            if text:
                yield text

    def close(self) -> None:
        """End the thread in which the store writes."""
        self._texts.close()


class _Lines:
    """A file for a store to write to, which hands over whole lines.

    :param put: takes them.
    """

    def __init__(self, put: Callable[[bytes], None]) -> None:
        self._put = put
        self._pending: list[bytes] = []
        self._size = 0

    def write(self, data: bytes, /) -> int:
        self._size += len(data)
        if self._size >= _CHUNK and (end := data.rfind(b"\n") + 1):
            self._put(b"".join((*self._pending, data[:end])))
            self._pending = [data[end:]]
            self._size = len(data) - end
        else:
            self._pending.append(data)
        return len(data)

    def flush(self) -> None:
        """Required by pyoxigraph; the rest is put once the store has written all."""

    def finish(self) -> None:
        """Put the rest."""
        self._put(b"".join(self._pending))


def _dump_lines(store: Store, graph: GraphName | None, put: Callable[[bytes], None]) -> None:
    """Write a store, or one graph of it, in chunks of whole lines."""
    file: Any = _Lines(put)
    form = RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES
    store.dump(file, form, from_graph=graph)
    file.finish()


# Quads from anywhere


def encode_quads(
    quads: Iterable[Quad | Triple], **settings: Unpack[WriteOptions]
) -> Iterator[bytes]:
    """Encode quads or triples as a delimited Jelly-RDF stream, frame by frame.

    For a response over HTTP, for example. See :func:`write_quads` for the parameters, and for what
    is raised.

    :return: the frames as bytes, each with its delimiter.

    >>> from pyoxigraph import RdfFormat, parse
    >>> len(b"".join(encode_quads(parse(b"<urn:s> <urn:p> <urn:o> .", RdfFormat.N_TRIPLES))))
    70
    """
    return (delimit(frame) for frame in _encode(quads, WriteSettings(**settings)))


def write_quads(
    quads: Iterable[Quad | Triple], dst: Destination, **settings: Unpack[WriteOptions]
) -> int:
    """Write quads or triples as a flat, delimited Jelly-RDF stream.

    The quads can come from anywhere: a list, :func:`pyoxigraph.parse`, ``Store.quads_for_pattern``
    or a CONSTRUCT query. They are written one by one, in constant memory.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param settings: see :class:`~jelly_plugins.WriteSettings`. The options are by default flat
        triples if the first is a ``Triple``, flat quads otherwise. In a stream of quads, a triple
        is in the default graph. Triple terms need ``rdf_star``.
    :return: number of statements written.
    :raises StatementError: the options have no place for a statement.
    :raises JellyError: Jelly cannot express a term.
    :raises SourceError: the path cannot be written.

    >>> from io import BytesIO
    >>> from pyoxigraph import RdfFormat, parse
    >>> write_quads(parse(b"<urn:s> <urn:p> <urn:o> .", RdfFormat.TURTLE), BytesIO())
    1
    """
    written: int = write_delimited(_encode(quads, WriteSettings(**settings)), dst)
    return written


def _encode(quads: Iterable[Quad | Triple], settings: WriteSettings) -> Generator[bytes, None, int]:
    """The frames without delimiters, and the number of statements.

    With the compiled kernel, text takes two thirds of the time that it takes to ask Python for each
    term (weather; time of the processor); without it, 1.6 times.
    """
    job = _job(settings)
    options, iterator = with_options(quads, settings.options, _infer_options)
    triples = options.physical_type is PhysicalType.TRIPLES
    source = _QuadReader(iterator, triples=triples, namespaces=settings.namespaces or {})
    yield from job.counter.ended(encoded(source, options, job))
    return job.counter.statements


class _QuadReader(ChunkReader):
    """Reads quads as chunks.

    :param triples: whether none may be in a named graph.
    """

    def __init__(
        self, quads: Iterable[Quad | Triple], *, triples: bool, namespaces: Mapping[str, str]
    ) -> None:
        self.name = ""
        self.namespaces = dict(namespaces)
        self.has_namespaces = bool(namespaces)
        self.has_graphs = not triples
        self._lines = lines_of(quads, RdfFormat.N_TRIPLES if triples else RdfFormat.N_QUADS)

    def __iter__(self) -> Iterator[Chunk]:
        try:
            for text in self._lines:
                yield Chunk(text, text.count(b"\n"))
        except JellyError as error:
            raise error.locate(source=self.name) from error.__cause__

    def close(self) -> None:
        """Quads need no closing."""


def _infer_options(first: Quad | Triple | None) -> StreamOptions:
    triples = isinstance(first, Triple)
    return StreamOptions.flat(PhysicalType.TRIPLES if triples else PhysicalType.QUADS)


def lines_of(statements: Iterable[Any], format_: RdfFormat) -> Iterator[bytes]:
    """Quads and triples in chunks of N-Triples or N-Quads."""
    iterator = iter(statements)
    while batch := list(islice(iterator, BATCH)):
        try:
            text = serialize(batch, format=format_)
        except ValueError:
            raise StatementError("a stream of triples has no place for a named graph") from None
        assert text is not None
        yield text
