"""A source of any format into an Oxigraph store: all or nothing, or batch by batch.

Text that Oxigraph parses is handed over as it is, where that is safe and nothing has to be known of
its statements (``direct``). Any other source comes as chunks of N-Quads, which Oxigraph's own
parser reads (:class:`_Text`), or as quads that are made one by one (``quads``) where text does not
suffice. How they go in (measured with pyoxigraph 0.5.13):

- ``Store.load`` of text, one transaction, is the fastest in memory, and for few statements on
  disk. ``Store.bulk_load`` writes new files each time, which pays off from some thousand statements
  on (``direct.load_chunks``). Both relabel blank nodes.
- Where labels stay, quads are parsed from the text: ``Store.bulk_extend`` on disk, and
  ``Store.extend`` for few quads and in memory.

An exception on the way, the source's as well as one of ``progress``, leaves the store as it was in
all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, Literal, TypeAlias, Unpack, get_args

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, Store, parse

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, AnyFrame, Limits, PhysicalType
from ...errors import JellyError, TermError
from ...formats.convert import as_jelly
from ...formats.lines import without_graphs
from ...formats.reading import ChunkFile, parser_error, reject_jelly
from ...formats.settings import (
    DEFAULT_LOAD,
    ConversionSettings,
    Given,
    Job,
    LoadOptions,
    LoadSettings,
    OptionChanges,
)
from ...formats.table import open_reader
from ...io.chunks import Chunk, ChunkReader
from ...io.names import Format
from ...io.progress import Steps
from ...io.sources import Source, rewinder
from ...io.streams import FrameBytes
from ...reserved import BOOKKEEPING_TEXT, reject_graph
from ..patches.bookkeeping import check_recorded
from ..terms import DEFAULT_GRAPH, LEAVE_OUT, GraphName, QuadFactory, check_graph, check_store
from .direct import SYNTAXES, UnsureError, load_chunks, load_text
from .quads import HeldBytes, QuadReader, relabelled

#: Quads up to which one transaction on disk is cheaper than a bulk load.
SMALL: Final = 1 << 13

#: Quads that go in at once when a load is not atomic, and bytes of their text. A namespace of
#: megabytes makes long statements out of a few bytes of Turtle.
BATCH: Final = 50_000
_BATCH_BYTES: Final = 1 << 25

#: How blank node labels are handled in a load: new nodes, unchanged labels, or labels that depend
#: on the statements alone.
LoadedBlankNodes: TypeAlias = Literal["fresh", "keep", "canonicalize"]

#: How quoted triples outside the object position are handled: an error, or a reifier.
QuotedTriples: TypeAlias = Literal["reject", "reify"]

#: How a line of N-Quads ends whose statement is in the reserved graph.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """The settings of a load; see :func:`load`.

    :raises ValueError: ``blank_nodes`` or ``quoted_triples`` is not one of the values.
    :raises TypeError: ``graph`` is not a pyoxigraph term.
    :raises TermError: ``graph`` is reserved.
    """

    graph: GraphName | None = None
    blank_nodes: LoadedBlankNodes = "fresh"
    quoted_triples: QuotedTriples = "reject"
    on_namespace: Callable[[str, str], object] | None = None
    bookkeeping: bool = False
    conversion: ConversionSettings

    def __post_init__(self) -> None:
        if self.quoted_triples not in get_args(QuotedTriples):
            raise ValueError(
                f"quoted_triples must be 'reject' or 'reify' (got {self.quoted_triples!r})"
            )
        if self.blank_nodes not in get_args(LoadedBlankNodes):
            raise ValueError(
                "blank_nodes must be 'fresh', 'keep' or, in a load, 'canonicalize' "
                f"(got {self.blank_nodes!r})"
            )
        if self.graph is not None:
            check_graph(self.graph)
        if isinstance(self.graph, NamedNode) and not self.bookkeeping:
            reject_graph(self.graph.value, what="what is to be loaded")


class _Text:
    """A source as text for Oxigraph's parser.

    :param steps: called as statements are read, and at the end.
    :ivar statements: number of statements so far, repeats included.
    :ivar held: counts the bytes of their text.
    :ivar empty_graphs: names of graphs without a statement, complete at the end.
    """

    def __init__(self, reader: ChunkReader, settings: _Settings, steps: Steps) -> None:
        self.statements = 0
        self.held = HeldBytes()
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self.name = reader.name
        self.reader = reader
        self._settings = settings
        self._steps = steps

    def take_frame(self, frame: AnyFrame) -> None:
        """Note the empty graphs of a frame of Jelly."""
        for name in filter(None, frame.empty_graphs):
            iri = name.startswith("<")
            self.empty_graphs.add(NamedNode(name[1:-1]) if iri else BlankNode(name[2:]))
            if not self._settings.bookkeeping and iri:
                reject_graph(name)

    def chunks(self) -> Iterator[Chunk]:
        """The text of the source, with the calls for what is in it.

        :raises TermError: a statement is in a reserved graph, or in any where one was given.
        :raises LimitError: the statements are too long to be held.
        """
        reader, settings = self.reader, self._settings
        declared: dict[str, str] = {}
        read = 0
        graph = settings.graph
        chunks = iter(reader) if graph is None else without_graphs(reader, LEAVE_OUT)
        for chunk in chunks:
            if not settings.bookkeeping and _RESERVED_LINE in chunk.text:
                _reject(reader)
            self.statements += chunk.statements
            # Other formats bound this themselves.
            source = len(chunk.text) if reader.source_bytes is None else reader.source_bytes - read
            read += source
            self.held.count(chunk.statements, len(chunk.text), source)
            self._declare(declared)
            yield chunk
            self._steps.reach(self.statements)
        self._declare(declared)
        self._steps.end(self.statements)

    def _declare(self, declared: dict[str, str]) -> None:
        settings = self._settings
        if settings.on_namespace is None or declared == self.reader.namespaces:
            return
        for prefix, iri in self.reader.namespaces.items():
            if declared.get(prefix) != iri:
                settings.on_namespace(prefix, iri)
                declared[prefix] = iri

    def located(self, error: JellyError) -> JellyError:
        """An error of Oxigraph as one of the source."""
        return self.reader.located(error)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self.reader.close()

    def load(self, store: Store, *, in_memory: bool) -> None:
        """Load the text, all or nothing, with new blank nodes."""
        self.held.limited = not in_memory
        graph = self._settings.graph
        load_chunks(
            store,
            (chunk.text for chunk in self.chunks()),
            RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES,
            in_memory=in_memory,
            to_graph=graph,
            lenient=self.reader.validated,
        )

    def quads(self) -> Iterator[Quad]:
        """The statements as quads. Fresh labels are made here, others stay."""
        graph = self._settings.graph
        file: Any = ChunkFile(chunk.text for chunk in self.chunks())
        quads: Iterator[Quad] = parse(
            file,
            RdfFormat.N_QUADS,
            lenient=self.reader.validated,
            rename_blank_nodes=self._settings.blank_nodes == "fresh",
        )
        if graph is None or graph == DEFAULT_GRAPH:
            return quads
        return (Quad(quad.subject, quad.predicate, quad.object, graph) for quad in quads)


def _reject(reader: ChunkReader) -> None:
    try:
        reject_graph(BOOKKEEPING_TEXT)
    except JellyError as error:
        raise reader.located(error) from None


def load(
    store: Store,
    src: Source,
    *,
    graph: GraphName | None = None,
    blank_nodes: LoadedBlankNodes = "fresh",
    quoted_triples: QuotedTriples = "reject",
    on_namespace: Callable[[str, str], object] | None = None,
    bookkeeping: bool = False,
    settings: LoadSettings = DEFAULT_LOAD,
    **options: Unpack[LoadOptions],
) -> int | None:
    """Read a source of any format into a store, in memory or on disk.

    RDF Thrift, RDF Protobuf and Jelly are read by this package; the other formats are parsed by
    Oxigraph.

    An atomic load adds all statements or none, even if the process is killed. This takes memory: in
    memory up to half of the store's own, on disk up to 1.5 GB; there, statements are rejected that
    take more than 256 MiB and 1 KiB for each. With ``atomic=False``, the load proceeds in constant
    memory in atomic batches of 50,000 quads, and the batches before an error stay.

    Empty graphs of a Jelly stream of physical type GRAPHS exist in the store afterwards. They
    are added after all statements; if the process is killed in between, the store has all
    statements and lacks some empty graphs. (Streams of quads have no empty graphs.)

    A process that is killed during an atomic load of millions of statements may leave files
    ``bulk-*.sst`` in the store's folder, which Oxigraph does not remove. They are not part of
    the store and can be deleted while it is closed.

    :param src: path, URL, open binary file or bytes; compressed or not. While it is read, neither
        it nor ``progress`` may write to the store.
    :param graph: the graph that statements go into, by default that of the statement. With it, a
        statement in a named graph is rejected.
    :param blank_nodes: ``"fresh"`` makes new nodes for each load, so that no label equals one that
        the store has from elsewhere. ``"keep"`` keeps labels, so that loading a source again adds
        nothing; a label that Oxigraph rejects is mapped, see :func:`.terms.kept`. The scope
        of a label is the whole source. ``"canonicalize"`` gives labels that depend on the
        statements alone, so that patches of :func:`jelly_plugins.patch.diff` fit; all statements
        with blank nodes are held in memory, and equal nodes of two sources become one.
    :param quoted_triples: ``"reject"`` raises an error for those that are not objects, ``"reify"``
        reifies them: a blank node replaces the quoted triple, and ``_:node rdf:reifies <<( s p o
        )>>`` is added in the same graph. A triple that is quoted again has the same node.
    :param on_namespace: called with the name and the IRI of each namespace that is declared; the
        store cannot hold them.
    :param bookkeeping: whether to load the graph :data:`.BOOKKEEPING` too, which a dump can have:
        the store then has the positions of the dumped one. Otherwise the graph is rejected.
    :param settings: see :class:`~jelly_plugins.LoadSettings`.
    :param options: its fields, as keyword arguments: ``format``, ``base``, ``contexts``,
        ``atomic``, ``concatenated``, ``strict``, ``progress``, ``limits``.
    :return: number of statements in the source, repeats included. The store may grow by less,
        because it holds a statement once, and by more, because of ``"reify"``. None if Oxigraph
        has read the text of the source itself and not counted them, which takes two thirds of the
        time: this may happen with N-Triples, N-Quads, Turtle and TriG, but never with ``progress``
        or ``on_namespace``.
    :raises ValueError: there is no format of that name.
    :raises JellyError: with source, and frame and row, or line and column: the source is invalid,
        or has data that the store cannot hold.
    :raises ChainError: a process that recorded changes to the store has ended without closing its
        log, see :func:`jelly_plugins.oxigraph.record`.
    :raises OSError: the store cannot be written.
    :raises RuntimeError: the store is open for reading only.
    """
    settings = replace(settings, **options)
    form = settings.format_for(src)
    # Read RDF-star's quoted triples, whose subjects may be quoted triples too.
    changes = OptionChanges(rdf_star=True if quoted_triples == "reify" else None)
    chosen = _Settings(
        graph=graph,
        blank_nodes=blank_nodes,
        quoted_triples=quoted_triples,
        on_namespace=on_namespace,
        bookkeeping=bookkeeping,
        conversion=settings.conversion(
            changes, blank_nodes="keep" if blank_nodes == "keep" else "fresh"
        ),
    )
    check_store(store)
    check_recorded(store)
    in_memory = _in_memory(store)
    rewind = rewinder(src)
    direct = settings.atomic and settings.progress is None and _is_direct(form, chosen)
    if direct and rewind is not None:
        reject_jelly(Given(src, form))
        try:
            load_text(
                store,
                src,
                form,
                base=settings.base,
                graph=graph,
                bookkeeping=bookkeeping,
                in_memory=in_memory,
            )
        except UnsureError:
            rewind()
        else:
            return None
    with closing(_open(src, form, chosen, Steps(settings.progress))) as source:
        with _located(source):
            if settings.atomic and blank_nodes == "fresh" and isinstance(source, _Text):
                source.load(store, in_memory=in_memory)
            else:
                _add_quads(store, source, chosen, atomic=settings.atomic, in_memory=in_memory)
        for name in source.empty_graphs:
            store.add_graph(name)
        return source.statements


def read_quads(
    src: Source,
    *,
    graph: GraphName | None = None,
    blank_nodes: BlankNodes = "keep",
    quoted_triples: QuotedTriples = "reject",
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
) -> Iterator[Quad]:
    """Read a Jelly-RDF stream as pyoxigraph quads, one after the other.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param graph: the graph of the statements, by default their own. With it, a statement in a named
        graph is rejected.
    :param blank_nodes: ``"keep"`` keeps labels, as ``pyoxigraph.parse`` does, so that two readings
        of a file give equal quads; a label that Oxigraph rejects is mapped, see
        :func:`.terms.kept`. ``"fresh"`` makes new nodes for each reading: two sources that use
        the same labels stay apart.
    :param quoted_triples: ``"reject"`` raises an error for those that are not objects, ``"reify"``
        reifies them, see :func:`.load`.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream.
    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins import Iri, Literal, Triple
    >>> from jelly_plugins.io.streams import write_bytes
    >>> for quad in read_quads(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))])):
    ...     print(quad)
    <urn:s> <urn:p> "o"
    """
    if blank_nodes not in get_args(BlankNodes):
        raise ValueError(f"blank_nodes must be 'fresh' or 'keep' (got {blank_nodes!r})")
    settings = _Settings(
        graph=graph,
        blank_nodes=blank_nodes,
        quoted_triples=quoted_triples,
        # The caller may want what is in the reserved graph.
        bookkeeping=True,
        conversion=ConversionSettings(
            limits=limits, concatenated=concatenated, blank_nodes=blank_nodes
        ),
    )
    with closing(_open(src, Format.JELLY, settings, Steps(None))) as source, _located(source):
        yield from source.quads()


def _is_direct(form: Format, settings: _Settings) -> bool:
    """Whether Oxigraph may read a source itself: its statements stay as they are, and nothing else
    has to be known of them."""
    return (
        form in SYNTAXES
        and settings.blank_nodes == "fresh"
        and settings.quoted_triples == "reject"
        and settings.on_namespace is None
        # Oxigraph ignores the graph for formats with graphs.
        and (settings.graph is None or not form.has_graphs)
        # Its parser has limits of its own.
        and settings.conversion.limits == DEFAULT_LIMITS
    )


def _open(src: Source, form: Format, settings: _Settings, steps: Steps) -> _Text | QuadReader:
    """Open a source: as text where that suffices."""
    given: Any = src
    by_terms = settings.quoted_triples == "reify"
    if by_terms:
        given = as_jelly(Given(src, form), settings.conversion)
        form = Format.JELLY
    if form is Format.JELLY:
        conversion = settings.conversion
        given = FrameBytes(given, limits=conversion.limits, strict=conversion.strict)
        options = given.peek_options()
        # New labels have to be known outside the text: a node may name an empty graph, too.
        by_terms |= (
            options is not None
            and options.physical_type is PhysicalType.GRAPHS
            and settings.blank_nodes == "fresh"
        )
    if by_terms:
        return QuadReader(
            given,
            settings.conversion,
            steps,
            graph=settings.graph,
            reify=settings.quoted_triples == "reify",
            on_namespace=settings.on_namespace,
            bookkeeping=settings.bookkeeping,
        )
    text: _Text

    def take(frame: AnyFrame) -> None:
        text.take_frame(frame)

    # Labels are kept in the text; the validator's nodes only serve to reject labels.
    validator = QuadFactory(graph=None, blank_nodes="keep")
    job = Job(settings=settings.conversion, validator=validator, on_frame=take)
    text = _Text(open_reader(Given(given, form), job), settings, steps)
    return text


@contextmanager
def _located(source: _Text | QuadReader) -> Iterator[None]:
    """Report what Oxigraph raises as an error of the source."""
    try:
        yield
    except JellyError as error:
        raise error.locate(source=source.name) from error.__cause__
    except (SyntaxError, MemoryError) as error:
        # The text is valid: a term is one that Oxigraph rejects, or is too long.
        found = parser_error(error)
        if isinstance(error, SyntaxError):
            found = TermError(found.message)
        raise source.located(found) from None


def _add_quads(
    store: Store,
    source: _Text | QuadReader,
    settings: _Settings,
    *,
    atomic: bool,
    in_memory: bool,
) -> None:
    source.held.limited = atomic or settings.blank_nodes == "canonicalize"
    quads = source.quads()
    if isinstance(source, QuadReader):
        # A row that repeats the one before is the same quad, whose terms were counted once.
        quads = _without_repeats(quads)
    if settings.blank_nodes == "canonicalize":
        quads = relabelled(quads, settings.graph, source.empty_graphs)
    if atomic:
        _add_at_once(store, quads, in_memory=in_memory)
        return
    while batch := _batch(quads, source.held):
        _add_at_once(store, iter(batch), in_memory=in_memory)


def _batch(quads: Iterator[Quad], held: HeldBytes) -> list[Quad]:
    """The next quads that go in at once."""
    batch: list[Quad] = []
    start = held.size
    for quad in quads:
        batch.append(quad)
        if len(batch) == BATCH or held.size - start >= _BATCH_BYTES:
            break
    return batch


def _without_repeats(quads: Iterator[Quad]) -> Iterator[Quad]:
    before: Quad | None = None
    for quad in quads:
        if quad is not before:
            yield quad
        before = quad


def _add_at_once(store: Store, quads: Iterator[Quad], *, in_memory: bool) -> None:
    """Add all of the quads or, if their iterator or the store fails, none."""
    first = list(islice(quads, SMALL))
    if in_memory or len(first) < SMALL:
        store.extend(chain(first, quads))
    else:
        store.bulk_extend(chain(first, quads))


def _in_memory(store: Store) -> bool:
    """Whether a store has no folder; pyoxigraph has no other way to find out.

    A backup to a folder without a name always fails, with a different reason for each kind.
    """
    try:
        store.backup("")
    except (RuntimeError, OSError) as error:
        return "in-memory" in str(error)
    return False
