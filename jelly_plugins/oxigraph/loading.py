"""A source of any format into an Oxigraph store: all or nothing, or batch by batch.

Text that Oxigraph parses is handed over as it is, where nothing has to be known of its statements
and its bytes show that this is safe (:func:`_load_text`). Any other source comes as chunks of
N-Quads, which Oxigraph's own parser reads. How they go in (measured with pyoxigraph 0.5.13):

- ``Store.load`` of text, one transaction, is the fastest in memory, and for few statements on
  disk. ``Store.bulk_load`` writes new files each time, which pays off from some thousand statements
  on (:func:`_loader`). Both relabel blank nodes.
- Where labels stay, quads are parsed from the text: ``Store.bulk_extend`` on disk, and
  ``Store.extend`` for few quads and in memory.

The store reads pieces of 2 KB of a file, and takes Python's lock for each: to read the source in a
thread of its own made loads slower (5 to 20% of wall time on two idle cores), and text that is not
too long is handed over as bytes.

An exception on the way, the source's as well as one of ``progress``, leaves the store as it was in
all of them.

Quoted triples where Oxigraph has no triple terms are replaced by reifiers, as RDF 1.2 has them:
``<< s p o >> q r`` becomes ``_:x q r`` and ``_:x rdf:reifies <<( s p o )>>``.

Reference: RDF 1.2 Concepts, section "Triple Terms and Reification".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, Unpack, get_args

from pyoxigraph import BlankNode, NamedNode, Quad, RdfFormat, Store, parse

from ..backends import BlankNodes
from ..codec import DEFAULT_LIMITS, AnyFrame, Limits, PhysicalType
from ..codec.common.canonical_labels import canonical_labels
from ..codec.text.lines import unescaped
from ..codec.text.ntriples import read_label
from ..errors import ChainError, JellyError, LimitError, TermError
from ..formats.convert import open_reader, reject_jelly
from ..formats.lines import without_graphs
from ..formats.reading import (
    DEPTH,
    gathered,
    parser_error,
    parser_of,
    rejection,
    turtle_scan,
    with_bounded_turtle,
)
from ..formats.settings import (
    DEFAULT_LOAD,
    ConversionSettings,
    Given,
    Job,
    LoadOptions,
    LoadSettings,
    OptionChanges,
)
from ..io.chunks import Chunk, ChunkFile, relabelled
from ..io.sources import Format, Input, Source, rewinder, without_mark
from ..io.streams import FrameBytes, Progress, Steps
from ..reserved import BOOKKEEPING_TEXT, reject_graph
from .patches.store import BOOKKEEPING, check_recorded
from .terms import (
    DEFAULT_GRAPH,
    LEAVE_OUT,
    REIFY,
    Fresh,
    GraphName,
    OxigraphFactory,
    check_graph,
    check_store,
    describe_directed,
)

if TYPE_CHECKING:
    from ..formats.scans import TurtleScan

#: Quads up to which one transaction on disk is cheaper than a bulk load.
SMALL: Final = 1 << 13

#: Quads that go in at once when a load is not atomic, and bytes of their text. A namespace of
#: megabytes makes long statements out of a few bytes of Turtle.
BATCH: Final = 50_000
_BATCH_BYTES: Final = 1 << 25

#: Statements that Oxigraph's bulk loader holds before it writes them to disk.
_HELD: Final = 1_000_000
#: Bytes that may be held, and how many more for each statement.
_HELD_BYTES: Final = 1 << 28
_BYTES_PER_STATEMENT: Final = 1 << 10

#: How blank node labels are handled in a load: new nodes, unchanged labels, or labels that depend
#: on the statements alone.
LoadedBlankNodes: TypeAlias = Literal["fresh", "keep", "canonicalize"]

#: How quoted triples outside the object position are handled: an error, or a reifier.
QuotedTriples: TypeAlias = Literal["reject", "reify"]

#: How a line of N-Quads ends whose statement is in the reserved graph.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()

#: A quoted triple as subject, perhaps in a string; and the terms of a line.
_QUOTED_SUBJECT: Final = re.compile(rb"^<<\(|<<\( <<\(", re.MULTILINE)
_TOKEN: Final = re.compile(
    rb'<<\(|\)>>|<[^>]*+>|_:[^ ]++|"(?:[^"\\]++|\\.)*+"(?:@[^ ]++|\^\^<[^>]*+>)?+'
)
_REIFIES: Final = b" <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> "


#: The formats whose text may be handed over.
_SYNTAXES: Final = {
    Format.N_TRIPLES: RdfFormat.N_TRIPLES,
    Format.N_QUADS: RdfFormat.N_QUADS,
    Format.TURTLE: RdfFormat.TURTLE,
    Format.TRIG: RdfFormat.TRIG,
}

#: Bytes of text up to which one transaction on disk is cheaper than a bulk load.
SMALL_BYTES: Final = 1 << 18
#: Bytes of text that are held, so that the store parses bytes: of a file it takes 2 KB at a time,
#: and reads a longer line again with each of them (measured: loads take 5 to 30% less time). In
#: bytes it has no limit for the length of a term, which has to be known to be kept.
_HELD_TEXT: Final = 128 << 20
_TERM_BYTES: Final = DEFAULT_LIMITS.string_bytes

#: Parts of the IRI of the reserved graph. Whatever prefix or base TriG makes it of, the text has
#: one of them, or an escape of an ASCII character.
_RESERVED: Final = (b"bookkeeping", b"jelly-plugins")
_ASCII_ESCAPE: Final = re.compile(rb"\\(?:u00|U000000)[2-7]")
#: Bytes at the ends of two chunks that are searched together: more than any pattern needs.
_OVERLAP: Final = 16
#: Bytes of a prefix or base that does not make long statements of short names; and of another IRI
#: that does not make long ones of those that have it as subject, see ``ParsedReader``.
_LONG_IRI: Final = 1024
_LONG_SUBJECT: Final = 1 << 16
#: Reifiers and annotations, which repeat the object of a statement however long it is.
_MOST_REPEATS: Final = 64


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
    memory up to half of the store's own, on disk up to 1.5 GB; and up to 128 MiB for the statements
    as text. On disk, statements are rejected that take more than 256 MiB and 1 KiB for each. With
    ``atomic=False``, the load proceeds in constant memory in atomic batches of 50,000 quads, and
    the batches before an error stay.

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
        the store, which must have no positions yet, then has those of the dumped one. Otherwise the
        graph is rejected.
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
        log, see :func:`jelly_plugins.oxigraph.record`; or the store has positions, and
        ``bookkeeping`` is set.
    :raises OSError: the store cannot be written.
    :raises RuntimeError: the store is open for reading only.
    """
    settings = replace(settings, **options)
    form = settings.format_for(src)
    if blank_nodes not in get_args(LoadedBlankNodes):
        raise ValueError(
            f"blank_nodes must be 'fresh', 'keep' or 'canonicalize' (got {blank_nodes!r})"
        )
    changes = _checked(graph, quoted_triples)
    if isinstance(graph, NamedNode) and not bookkeeping:
        reject_graph(graph.value, what="what is to be loaded")
    check_store(store)
    check_recorded(store)
    if bookkeeping and store.contains_named_graph(BOOKKEEPING):
        raise ChainError(
            "the store has positions, which those of the dump would contradict: load the dump into "
            "a store without any"
        )
    in_memory = _in_memory(store)
    rewind = rewinder(src)
    if (
        form in _SYNTAXES
        and rewind is not None
        and settings.atomic
        and settings.progress is None
        and blank_nodes == "fresh"
        and quoted_triples == "reject"
        and on_namespace is None
        # Oxigraph ignores the graph for formats with graphs.
        and (graph is None or not form.has_graphs)
        # Its parser has limits of its own.
        and settings.limits == DEFAULT_LIMITS
    ):
        reject_jelly(Given(src, form))
        try:
            _load_text(
                store,
                src,
                form,
                base=settings.base,
                graph=graph,
                bookkeeping=bookkeeping,
                in_memory=in_memory,
            )
        except _UnsureError:
            rewind()
        else:
            return None
    conversion = settings.conversion(
        changes, blank_nodes="keep" if blank_nodes == "keep" else "fresh"
    )
    with _Text(
        Given(src, form),
        conversion,
        graph=graph,
        renames=blank_nodes == "fresh",
        on_namespace=on_namespace,
        bookkeeping=bookkeeping,
        progress=settings.progress,
    ) as text:
        text.canonical = blank_nodes == "canonicalize"
        text.limited = text.canonical or (settings.atomic and not (in_memory and text.renames))
        if settings.atomic and text.renames:
            source, size = _held(chunk.text for chunk in text.chunks())
            try:
                _loader(store, size, in_memory=in_memory)(
                    source,
                    RdfFormat.N_QUADS if graph is None else RdfFormat.N_TRIPLES,
                    to_graph=graph,
                    lenient=text.reader.validated,
                )
            except SyntaxError as error:
                if isinstance(source, bytes):
                    raise TermError(rejection(error, source)) from None
                raise
        else:
            quads = text.quads()
            if settings.atomic:
                _add_at_once(store, quads, in_memory=in_memory)
            while batch := _batch(quads, text):
                _add_at_once(store, iter(batch), in_memory=in_memory)
    for name in text.empty_graphs:
        store.add_graph(name)
    return text.statements


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
    conversion = ConversionSettings(
        changes=_checked(graph, quoted_triples),
        limits=limits,
        concatenated=concatenated,
        blank_nodes=blank_nodes,
    )
    # The caller may want what is in the reserved graph.
    with _Text(
        Given(src, Format.JELLY),
        conversion,
        graph=graph,
        renames=blank_nodes == "fresh",
        bookkeeping=True,
    ) as text:
        yield from text.quads()


def _checked(graph: GraphName | None, quoted_triples: str) -> OptionChanges:
    """Check arguments; whether to read RDF-star's quoted triples, whose subjects may be quoted
    triples too."""
    if quoted_triples not in get_args(QuotedTriples):
        raise ValueError(f"quoted_triples must be 'reject' or 'reify' (got {quoted_triples!r})")
    if graph is not None:
        check_graph(graph)
    return OptionChanges(rdf_star=True if quoted_triples == "reify" else None)


class _Text:
    """A source as text for Oxigraph's parser. For the parameters see :func:`load`.

    :param conversion: how the source is read; with ``rdf_star``, quoted triples are reified.

    :ivar statements: number of statements so far, repeats included.
    :ivar size: bytes of their text.
    :ivar limited: whether the statements are held, so that their bytes are bounded: a long
        namespace makes gigabytes of quads out of many short statements.
    :ivar canonical: whether blank nodes get canonical labels.
    :ivar empty_graphs: names of graphs without a statement, complete at the end.
    :ivar renames: whether Oxigraph's parser makes the new blank nodes. In a stream of graphs they
        are made here, since a node may name an empty graph, too.
    """

    def __init__(
        self,
        given: Given,
        conversion: ConversionSettings,
        *,
        graph: GraphName | None,
        renames: bool,
        bookkeeping: bool,
        on_namespace: Callable[[str, str], object] | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.statements = self.size = 0
        self.limited = self.canonical = False
        self.empty_graphs: set[NamedNode | BlankNode] = set()
        self.renames = renames
        self._steps = Steps(progress)
        self._graph = graph
        self._reify = conversion.changes.rdf_star is True
        self._on_namespace = on_namespace
        self._bookkeeping = bookkeeping
        self._fresh: Callable[[str], BlankNode] = BlankNode
        src: Any = given.source
        if given.format is Format.JELLY:
            src = FrameBytes(src, limits=conversion.limits, strict=conversion.strict)
            options = src.peek_options()
            if options is not None and options.physical_type is PhysicalType.GRAPHS:
                self._fresh = Fresh() if self.renames else BlankNode
                self.renames = False
        # Labels are kept in the text; the validator's nodes only serve to reject labels.
        self._terms = OxigraphFactory(blank_nodes="keep", way_out=REIFY)
        validator = None if self._reify else self._terms
        job = Job(settings=conversion, validator=validator, on_frame=self._take_frame)
        self.reader = open_reader(Given(src, given.format), job)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        """Close the source, and report what Oxigraph raises as an error of it."""
        self.reader.close()
        name = self.reader.name
        if isinstance(error, JellyError):
            error.locate(source=name)
        if isinstance(error, SyntaxError):
            # The text is valid; Oxigraph rejects a term. Where it was in the source is not known.
            raise TermError(parser_error(error).message, source=name) from None
        if isinstance(error, MemoryError):
            raise parser_error(error).locate(source=name) from None

    def _take_frame(self, frame: AnyFrame) -> None:
        """Note the empty graphs of a frame of Jelly."""
        for name in filter(None, frame.empty_graphs):
            if name.startswith("_:"):
                self.empty_graphs.add(self._fresh(name[2:]))
                continue
            if name.startswith(("<<", '"')):
                kind = "a literal" if name.startswith('"') else "a quoted triple"
                raise TermError(f"Oxigraph cannot hold {kind} as graph name", frame=frame.index)
            try:
                if not self._bookkeeping:
                    reject_graph(name)
                self.empty_graphs.add(self._terms.iri(unescaped(name[1:-1])))
            except JellyError as error:
                raise error.locate(frame=frame.index) from None

    def chunks(self) -> Iterator[Chunk]:
        """The text of the source, with the calls for what is in it."""
        reader = self.reader
        declared: dict[str, str] = {}
        read = start = begun = 0
        relabels = isinstance(self._fresh, Fresh)
        given = iter(reader) if self._graph is None else without_graphs(reader, LEAVE_OUT)
        for chunk in given:
            text = chunk.text
            if not self._bookkeeping and _RESERVED_LINE in text:
                try:
                    reject_graph(BOOKKEEPING_TEXT)
                except JellyError as error:
                    raise reader.located(error) from None
            self.statements += chunk.statements
            self.size += len(text)
            # Formats without a number of bytes bound this themselves.
            read = self.size if reader.source_bytes is None else reader.source_bytes
            held = self.size - read - start
            most = _HELD_BYTES + (self.statements - begun) * _BYTES_PER_STATEMENT
            if self.limited and held > most:
                raise LimitError(
                    f"statements take {held:,} bytes more as quads than in the source, above the "
                    f"{most:,} that a load may hold in memory; load them with atomic=False"
                )
            if self.statements - begun >= _HELD:
                start, begun = self.size - read, self.statements
            self._declare(declared)
            if self._reify and _QUOTED_SUBJECT.search(text):
                text = b"".join(map(_reified, text.splitlines(keepends=True)))
            if relabels:
                text = relabelled(text, lambda label: self._fresh(label.decode()).value.encode())
            yield Chunk(text, chunk.statements)
            self._steps.reach(self.statements)
        self._declare(declared)
        self._steps.end(self.statements)

    def _canonical(self) -> Iterator[bytes]:
        """The text of the source with canonical labels for its blank nodes. Statements with blank
        nodes are held in memory, and come last.

        Labels come from terms as the source has them, before the store changes any, so that other
        readers of the same source find the same labels. Empty graphs get the labels of nodes in
        statements, and new ones if no statement has them.
        """
        held: list[bytes] = []
        for chunk in self.chunks():
            lines = chunk.text.splitlines(keepends=True) if b"_:" in chunk.text else []
            held += (line for line in lines if b"_:" in line)
            yield b"".join(line for line in lines if b"_:" not in line) if lines else chunk.text
        text = b"".join(held)
        quads = parse(text, RdfFormat.N_QUADS, lenient=self.reader.validated)
        labels = canonical_labels(map(tuple, quads), describe_directed)
        yield relabelled(text, lambda label: labels[read_label(label.decode())].encode())
        for node in [name for name in self.empty_graphs if isinstance(name, BlankNode)]:
            label = labels.get(read_label(node.value))
            self.empty_graphs.remove(node)
            self.empty_graphs.add(BlankNode() if label is None else BlankNode(label))

    def _declare(self, declared: dict[str, str]) -> None:
        if self._on_namespace is None or declared == self.reader.namespaces:
            return
        for prefix, iri in self.reader.namespaces.items():
            if declared.get(prefix) != iri:
                self._on_namespace(prefix, iri)
                declared[prefix] = iri

    def quads(self) -> Iterator[Quad]:
        """The statements as quads."""
        graph = self._graph
        read: Callable[[Any], Iterator[Any]] = partial(
            parse,
            format=RdfFormat.N_QUADS,
            lenient=self.reader.validated,
            rename_blank_nodes=self.renames,
        )
        texts = self._canonical() if self.canonical else (chunk.text for chunk in self.chunks())
        # New nodes are those of one source; otherwise bytes are parsed faster than a file, of which
        # the parser takes 2 KB at a time.
        quads: Iterator[Quad] = (
            read(ChunkFile(texts)) if self.renames else chain.from_iterable(map(read, texts))
        )
        if graph is None or graph == DEFAULT_GRAPH:
            return quads
        return (Quad(quad.subject, quad.predicate, quad.object, graph) for quad in quads)


def _reified(line: bytes) -> bytes:
    """A statement with reifiers instead of quoted triples as subjects, and those of the reifiers.

    The label of a reifier depends on what it reifies alone: a triple that is quoted again, or read
    again with labels kept, has the same one.
    """
    tokens = iter(_TOKEN.findall(line))
    reifiers: dict[bytes, bytes] = {}

    def term(*, is_subject: bool = False) -> bytes:
        token: bytes = next(tokens, b"")
        if token != b"<<(":
            return token
        parts = (token, term(is_subject=True), term(), term(), next(tokens, b""))
        quoted = b" ".join(parts)
        if not is_subject:
            return quoted
        label = b"_:b" + blake2b(quoted, digest_size=16).hexdigest()[1:].encode()
        reifiers[label] = quoted
        return label

    statement = b" ".join((term(is_subject=True), term(), term()))
    graph = b"".join(name + b" " for name in tokens)
    statements = [label + _REIFIES + quoted for label, quoted in reifiers.items()]
    return b"".join(b"%b %b.\n" % (each, graph) for each in (statement, *statements))


def _batch(quads: Iterator[Quad], text: _Text) -> list[Quad]:
    """The next quads that go in at once."""
    batch: list[Quad] = []
    start = text.size
    for quad in quads:
        batch.append(quad)
        if len(batch) == BATCH or text.size - start >= _BATCH_BYTES:
            break
    return batch


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


class _UnsureError(Exception):
    """Whether text is safe to load cannot be seen from its bytes."""


def _load_text(
    store: Store,
    src: Source,
    form: Format,
    *,
    base: str | None,
    graph: GraphName | None,
    bookkeeping: bool,
    in_memory: bool,
) -> None:
    """Load a source, all or nothing, with new blank nodes.

    :param form: one of :data:`_SYNTAXES`.
    :param graph: the graph of triples.
    """
    has_names = form in (Format.TURTLE, Format.TRIG)
    base = base if has_names else None
    syntax = _SYNTAXES[form]
    reserved = bookkeeping or not form.has_graphs
    if not reserved and not _cannot_name_reserved((base or "").encode()):
        raise _UnsureError
    with Input(src) as source:
        chunks = without_mark(source.chunks())
        try:
            scan = turtle_scan(base) if has_names else None
            if scan is not None:
                chunks = with_bounded_turtle(chunks, base, scan)
            # The error of a parser says that it is about the base, that of a store does not.
            parser_of(b"", syntax, base)
            # A store in memory holds equal terms once.
            guarded = _guarded(chunks, scan, reserved=reserved, long=in_memory)
            text, size = _held(guarded, _TERM_BYTES)
            _loader(store, size, in_memory=in_memory)(text, syntax, base_iri=base, to_graph=graph)
        except JellyError as error:
            raise error.locate(source=source.name) from error.__cause__
        except (SyntaxError, MemoryError) as error:
            raise parser_error(error).locate(source=source.name) from None


def _guarded(
    chunks: Iterator[bytes], scan: TurtleScan | None, *, reserved: bool, long: bool
) -> Iterator[bytes]:
    """Chunks of text whose statements need no check.

    :param scan: has scanned the chunks, if they are Turtle or TriG.
    :param reserved: whether the text may name the reserved graph.
    :param long: whether it may have long statements.
    """
    openings = 0
    before = b""
    for chunk in chunks:
        joint = before + chunk[:_OVERLAP]
        if scan is None:
            openings += chunk.count(b"<<(") + (before[-2:] + chunk[:2]).count(b"<<(")
            unsure = openings > DEPTH
        else:
            unsure = (
                scan.longest > _LONG_IRI
                or scan.longest_iri > (_LONG_SUBJECT if long else _LONG_IRI)
                or (scan.repeats > _MOST_REPEATS and not long)
            )
        if unsure or not (reserved or _cannot_name_reserved(chunk, joint)):
            raise _UnsureError
        before = (before + chunk[-_OVERLAP:])[-_OVERLAP:]
        yield chunk


def _cannot_name_reserved(*texts: bytes) -> bool:
    return not any(part in text for text in texts for part in _RESERVED) and not any(
        map(_ASCII_ESCAPE.search, texts)
    )


def _held(chunks: Iterator[bytes], most: int = _HELD_TEXT) -> tuple[Any, int]:
    """Text to load: bytes, or a file if there are more than may be held; and the bytes so far."""
    first: list[bytes] = []
    size = 0
    for chunk in chunks:
        first.append(chunk)
        size += len(chunk)
        if size > most:
            return ChunkFile(chain((b"".join(first),), gathered(chunks))), size
    return b"".join(first), size


def _loader(store: Store, size: int, *, in_memory: bool) -> Callable[..., None]:
    """One transaction or, where that is faster, a bulk load; both are all or nothing."""
    return store.load if in_memory or size <= SMALL_BYTES else store.bulk_load
