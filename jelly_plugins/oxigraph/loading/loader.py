"""Jelly into an Oxigraph store: all or nothing, or batch by batch.

How statements go in (measured with pyoxigraph 0.5.13):

- With the compiled kernel, as text (``nquads_reader``). Fresh labels: ``Store.bulk_load``, which
  reads the text from a pipe while the next of it is written (``pipe``); the parser gives the
  labels. Labels kept: the text is parsed to quads, and these go in as below.

Quads:

- On disk: ``Store.bulk_extend``, the fastest. It takes quads as they come, holds some millions of
  them at most, and makes them visible in one step at the end. It writes new files each time,
  which pays off from some thousand quads on; fewer go in with ``Store.extend``, one transaction.
  (Many transactions are as fast as bulk loads of 50,000, but RocksDB's memory grows with them.)
- In memory: ``Store.extend``, which is as fast there. ``bulk_extend`` would lock the store while
  the source is being read, and a second load from another thread would wait for that lock
  without ever letting the first one continue.

An exception on the way, the source's as well as one of ``progress``, leaves the store as it was in
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Final, TypeAlias, TypeVar

from pyoxigraph import NamedNode, Quad, Store

from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError
from ...io.sources import Source
from ...io.streams import FrameBytes
from ...reserved import BOOKKEEPING_IRI, BOOKKEEPING_TEXT, is_reserved, refuse_graph
from ..patches.lag import check_recorded
from ..terms import GraphName, check_store
from .lexical_forms import LexicalForm, in_quads, in_text
from .nquads_reader import NQuadsReader, refusals_as_ours, text_of
from .pipe import bulk_load
from .quad_reader import QuadReader, QuotedTriples, check_settings
from .relabelling import LoadedBlankNodes, read_as, relabelled

#: Told how many statements and how many bytes of frames there were so far.
Progress: TypeAlias = Callable[[int, int], object]

_Part = TypeVar("_Part")

#: How a line of N-Quads ends that is in a graph which is no data.
_RESERVED_LINE: Final = f" {BOOKKEEPING_TEXT} .\n".encode()

#: Quads up to which one transaction on disk is cheaper than a bulk load.
SMALL: Final = 4096

#: Quads that go in at once when a load is not atomic.
BATCH: Final = 50_000

#: Statements between two calls of ``progress``.
PROGRESS_STATEMENTS: Final = 10_000


def load(
    store: Store,
    src: Source,
    *,
    graph: GraphName | None = None,
    blank_nodes: LoadedBlankNodes = "fresh",
    atomic: bool = True,
    quoted_triples: QuotedTriples = "refuse",
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
    on_namespace: Callable[[str, str], object] | None = None,
    bookkeeping: bool = False,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Read a Jelly-RDF source into a store, in memory or on disk.

    Graphs that are empty in a stream of physical type GRAPHS exist in the store afterwards. They
    are added once all statements are in; a process that is killed just there has all statements and
    lacks some empty graphs. (Streams of quads have no empty graphs.)

    A process that is killed during an atomic load of millions of statements may leave files
    ``bulk-*.sst`` in the store's folder, which Oxigraph does not clear away. They are no part of
    the store and can be deleted while it is closed.

    An interrupt (Ctrl-C) that comes while the store ends its work is raised after that. If the
    store has all statements then, the exception has an attribute ``loaded``, the number that would
    have been returned, and a note that says so.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param graph: the graph that a stream of triples goes into, by default the default graph. A
        stream of quads is refused with one. Streams of graphs and datasets go into the same
        graphs whole, whatever frame a statement is from.
    :param blank_nodes: ``"fresh"`` makes new nodes for each load, so that no label meets one that
        the store has from elsewhere. ``"keep"`` keeps labels, so that loading a source again adds
        nothing; a label that Oxigraph refuses is mapped, see :func:`.labels.kept`. The scope
        of a label is the whole source. ``"canonicalize"`` gives labels that depend on the
        statements alone, so that patches of :func:`jelly_plugins.patch.diff` fit; all statements
        with blank nodes are held in memory, and equal nodes of two sources become one.
    :param atomic: all or nothing: whatever happens, an error in the last byte or the end of the
        process, the store has all of the statements or none. It takes memory: on disk up to
        1.5 GB, in memory up to half of what the store itself takes. With False, batches of 50,000
        quads, each all or nothing, follow one another in constant memory, and those before an
        error stay.
    :param quoted_triples: ``"refuse"`` those that are not objects, or ``"reify"`` them: a
        blank node takes the place of the quoted triple, and ``_:node rdf:reifies <<( s p o )>>`` is
        added in the same graph. A triple that is quoted again has the same node.
    :param progress: called every 10,000 statements and at the end, with the number of statements
        and of bytes so far (those of frames, unpacked). With ``atomic`` nothing of it is in the
        store then, but for the last call. It may read the store but must not change it. An
        exception that it raises ends the load, as an error in the source would.
    :param limits: the limits on untrusted input.
    :param concatenated: options that stand first in a frame start a new stream.
    :param strict: whether to refuse a source of no bytes, which is an empty stream otherwise.
    :param on_namespace: called with the name and the IRI of each namespace that is declared; the
        store has no place for them.
    :param bookkeeping: take the graph :data:`.BOOKKEEPING` too, which a dump can have: the store
        then believes that it stands where the dumped one did. It is refused otherwise.
    :param lexical_form: rewrites literals that have a datatype other than ``xsd:string``: called
        with the lexical form and the IRI of the datatype, it returns the form to store.
    :return: number of statements in the source, repeats included. The store may grow by less,
        because it has a statement once, and by more, because of ``"reify"``.
    :raises JellyError: with source, frame and row, whatever is wrong with the source, and where it
        says what the store cannot hold.
    :raises ChainError: a process that recorded changes to the store has ended without closing its
        log, see :func:`jelly_plugins.oxigraph.record`.
    :raises OSError: the store cannot be written.
    :raises RuntimeError: the store is open for reading only.
    """
    check_store(store)
    reading = read_as(blank_nodes)
    check_settings(graph, reading, quoted_triples)
    if isinstance(graph, NamedNode) and not bookkeeping:
        refuse_graph(graph.value, what="what is to be loaded")
    check_recorded(store)
    frames = FrameBytes(src, limits=limits, strict=strict)
    text = None
    # Reifiers are made of terms; and each stream of several has labels of its own.
    if quoted_triples == "refuse" and not concatenated and (atomic or reading == "keep"):
        text = text_of(
            frames, graph=graph, blank_nodes=reading, limits=limits, on_namespace=on_namespace
        )
    feed: QuadReader | NQuadsReader | None = text
    if feed is None:
        feed = QuadReader(
            frames,
            graph=graph,
            # Each of several streams has labels of its own.
            blank_nodes="fresh" if blank_nodes == "canonicalize" else reading,
            quoted_triples=quoted_triples,
            limits=limits,
            concatenated=concatenated,
            on_namespace=on_namespace,
        )
    return add_feed(
        store,
        feed,
        frames.name,
        graph=graph,
        blank_nodes=blank_nodes,
        atomic=atomic,
        progress=progress,
        bookkeeping=bookkeeping,
        lexical_form=lexical_form,
    )


def add_feed(
    store: Store,
    feed: QuadReader | NQuadsReader,
    name: str,
    *,
    graph: GraphName | None,
    blank_nodes: LoadedBlankNodes,
    atomic: bool,
    progress: Progress | None,
    bookkeeping: bool,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Add what a source says to a store; see :func:`load` for the parameters.

    :param name: the source's.
    :return: number of statements in the source, repeats included.
    """
    stored = _Stored()
    try:
        pieces: Iterable[bytes] = ()
        if isinstance(feed, NQuadsReader):
            pieces = feed if bookkeeping else _checked_text(feed, name)
            if lexical_form is not None:
                pieces = _located(in_text(pieces, lexical_form), name)
        if isinstance(feed, NQuadsReader) and blank_nodes == "fresh":
            with refusals_as_ours(name):
                _add_text_at_once(store, feed, graph, _told(pieces, feed, progress), stored)
        else:
            parts: Iterable[Iterable[Quad]]
            if isinstance(feed, NQuadsReader):
                parts = feed.quads(graph, pieces)
            else:
                parts = feed if bookkeeping else _checked_quads(feed, name)
                if lexical_form is not None:
                    parts = _located(in_quads(parts, lexical_form), name)
            quads: Iterator[Quad] = chain.from_iterable(_told(parts, feed, progress))
            if blank_nodes == "canonicalize":
                quads = relabelled(quads, graph)
            with refusals_as_ours(name):
                in_memory = _in_memory(store)
                if atomic:
                    _add_at_once(store, quads, stored, in_memory=in_memory)
                else:
                    while batch := list(islice(quads, BATCH)):
                        _add_at_once(store, iter(batch), _Stored(), in_memory=in_memory)
        stored.all = True
        for empty in feed.empty_graphs:
            store.add_graph(empty)
        if progress is not None:
            progress(feed.statements, feed.bytes)
        # Here, since Python may handle a signal when it is asked for.
        statements = feed.statements
    except BaseException as error:
        if stored.all and not isinstance(error, Exception):
            error.loaded = feed.statements  # type: ignore[attr-defined]
            error.add_note(f"the load is complete: the store has all statements of {name}")
        raise
    return statements


class _Stored:
    """Whether a store has all statements of a source, unless it has raised an error itself."""

    all = False


def _located(parts: Iterator[_Part], name: str) -> Iterator[_Part]:
    """The same, with the source in errors."""
    try:
        yield from parts
    except JellyError as error:
        error.locate(source=name)
        raise


def _checked_text(feed: NQuadsReader, name: str) -> Iterator[bytes]:
    """The pieces of a text, if no statement and no graph in it is reserved.

    :raises TermError: one is.
    """
    for text in feed:
        # A line has one end, and no term that holds another.
        if feed.has_graphs and _RESERVED_LINE in text:
            _refuse(feed, name)
        yield text
    _check_graphs(feed, name)


def _checked_quads(feed: QuadReader, name: str) -> Iterator[list[Quad]]:
    """The quads of a feed, if none of them and no graph is reserved.

    :raises TermError: one is.
    """
    for quads in feed:
        if feed.may_have_reserved and any(
            is_reserved(quad.graph_name.value)
            for quad in quads
            if isinstance(quad.graph_name, NamedNode)
        ):
            _refuse(feed, name)
        yield quads
    _check_graphs(feed, name)


def _check_graphs(feed: QuadReader | NQuadsReader, name: str) -> None:
    if any(is_reserved(graph.value) for graph in feed.empty_graphs):
        _refuse(feed, name)


def _refuse(feed: QuadReader | NQuadsReader, name: str) -> None:
    try:
        refuse_graph(BOOKKEEPING_IRI)
    except JellyError as error:
        error.locate(source=name, frame=feed.frame)
        raise


def _told(
    parts: Iterable[_Part], feed: QuadReader | NQuadsReader, progress: Progress | None
) -> Iterator[_Part]:
    """The parts of a feed, and progress told between them."""
    due = PROGRESS_STATEMENTS
    for part in parts:
        yield part
        if progress is not None and feed.statements >= due:
            due = feed.statements + PROGRESS_STATEMENTS
            progress(feed.statements, feed.bytes)


def _add_text_at_once(
    store: Store,
    feed: NQuadsReader,
    graph: GraphName | None,
    pieces: Iterator[bytes],
    stored: _Stored,
) -> None:
    """Add all statements of a text, with labels of the store's own, or none."""

    def on_loaded() -> None:
        stored.all = True

    opening = []
    for piece in pieces:
        opening.append(piece)
        if feed.statements >= SMALL:
            bulk_load(store, chain(opening, pieces), feed.format, graph, on_loaded)
            return
    text = b"".join(opening)
    form = feed.format
    # From here on, Python handles a signal only after the next call.
    stored.all = True
    store.load(text, format=form, to_graph=graph, lenient=True)


def _add_at_once(store: Store, quads: Iterator[Quad], stored: _Stored, *, in_memory: bool) -> None:
    """Add all of the quads or, if their iterator or the store fails, none."""
    if in_memory:
        store.extend(_noting_end(quads, stored))
        return
    first = list(islice(quads, SMALL))
    if len(first) < SMALL:
        store.extend(_noting_end(first, stored))
    else:
        store.bulk_extend(_noting_end(chain(first, quads), stored))


def _noting_end(quads: Iterable[Quad], stored: _Stored) -> Iterator[Quad]:
    yield from quads
    # Python handles no signal between this and the store's own work.
    stored.all = True


def _in_memory(store: Store) -> bool:
    """Whether a store has no folder; pyoxigraph tells it nowhere but here.

    A backup to a folder without a name is always refused, with another reason for each kind.
    """
    try:
        store.backup("")
    except (RuntimeError, OSError) as error:
        return "in-memory" in str(error)
    return False
