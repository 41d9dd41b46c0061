"""Jelly into an Oxigraph store: all or nothing, or batch by batch.

Statements come as quads, from text (``nquads_reader``) or made one by one (``quad_reader``). How
they go in (measured with pyoxigraph 0.5.13):

- On disk: ``Store.bulk_extend``, the fastest. It reads quads from an iterator, holds some millions
  of them at most, and makes them visible in one step at the end. It writes new files each time,
  which pays off from some thousand quads on; fewer go in with ``Store.extend``, one transaction.
  (Many transactions are as fast as bulk loads of 50,000, but RocksDB's memory grows with them.)
- In memory: ``Store.extend``, which is as fast there. ``bulk_extend`` would lock the store while
  the source is being read, and a second load from another thread would wait for that lock
  without ever letting the first one continue.

An exception on the way, the source's as well as one of ``progress``, leaves the store as it was in
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from pyoxigraph import BlankNode, NamedNode, Quad, Store

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError
from ...io.sources import Source
from ...io.streams import FrameBytes
from ...reserved import BOOKKEEPING_IRI, is_reserved, refuse_graph
from ..patches.lag import check_recorded
from ..terms import GraphName, check_store
from .lexical_forms import LexicalForm
from .nquads_reader import NQuadsReader, rejected, text_of
from .quad_reader import QuadReader, QuotedTriples, check_settings
from .relabelling import LoadedBlankNodes, relabelled

#: Called with the number of statements and of bytes of frames so far.
Progress: TypeAlias = Callable[[int, int], object]


#: Reads a source part by part.
StatementReader: TypeAlias = NQuadsReader | QuadReader

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

    Empty graphs of a stream of physical type GRAPHS exist in the store afterwards. They
    are added after all statements; if the process is killed in between, the store has all
    statements and lacks some empty graphs. (Streams of quads have no empty graphs.)

    A process that is killed during an atomic load of millions of statements may leave files
    ``bulk-*.sst`` in the store's folder, which Oxigraph does not remove. They are not part of
    the store and can be deleted while it is closed.

    An interrupt (Ctrl-C) while the store finishes is raised afterwards. If the
    store then has all statements, the exception has an attribute ``loaded``, the number that would
    have been returned, and a note that says so.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param graph: the graph that a stream of triples goes into, by default the default graph. A
        stream of quads is rejected with one. Streams of graphs and datasets go into the same
        graphs, whatever frame a statement is from.
    :param blank_nodes: ``"fresh"`` makes new nodes for each load, so that no label equals one that
        the store has from elsewhere. ``"keep"`` keeps labels, so that loading a source again adds
        nothing; a label that Oxigraph rejects is mapped, see :func:`.terms.kept`. The scope
        of a label is the whole source. ``"canonicalize"`` gives labels that depend on the
        statements alone, so that patches of :func:`jelly_plugins.patch.diff` fit; all statements
        with blank nodes are held in memory, and equal nodes of two sources become one.
    :param atomic: load all statements or none, even after an error in the last byte or if the
        process is killed. This takes memory: on disk up to 1.5 GB, in memory up to half of the
        store's own. With False, the load proceeds in constant memory in atomic batches of 50,000
        quads, and the batches before an error stay.
    :param quoted_triples: ``"refuse"`` raises an error for those that are not objects, ``"reify"``
        reifies them: a blank node replaces the quoted triple, and ``_:node rdf:reifies <<( s p o
        )>>`` is added in the same graph. A triple that is quoted again has the same node.
    :param progress: called every 10,000 statements and at the end, with the number of statements
        and of bytes so far (those of frames, unpacked). With ``atomic``, none of them are in the
        store before the last call. It may read the store but must not change it. An exception that
        it raises ends the load, as an error in the source would.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream.
    :param strict: whether to reject a source of no bytes, which is otherwise an empty stream.
    :param on_namespace: called with the name and the IRI of each namespace that is declared; the
        store cannot hold them.
    :param bookkeeping: whether to load the graph :data:`.BOOKKEEPING` too, which a dump can have:
        the store then has the positions of the dumped one. Otherwise the graph is rejected.
    :param lexical_form: rewrites literals that have a datatype other than ``xsd:string``: called
        with the lexical form and the IRI of the datatype, it returns the form to store.
    :return: number of statements in the source, repeats included. The store may grow by less,
        because it holds a statement once, and by more, because of ``"reify"``.
    :raises JellyError: with source, frame and row: the source is invalid, or has data that
        the store cannot hold.
    :raises ChainError: a process that recorded changes to the store has ended without closing its
        log, see :func:`jelly_plugins.oxigraph.record`.
    :raises OSError: the store cannot be written.
    :raises RuntimeError: the store is open for reading only.
    """
    check_store(store)
    reading: BlankNodes = "keep" if blank_nodes == "canonicalize" else blank_nodes
    check_settings(graph, reading, quoted_triples)
    if isinstance(graph, NamedNode) and not bookkeeping:
        refuse_graph(graph.value, what="what is to be loaded")
    check_recorded(store)
    frames = FrameBytes(src, limits=limits, strict=strict)
    text = None
    # Reifiers are made of terms; each stream of several has labels of its own; and batches are made
    # of what Oxigraph's parser gives, which renames a blank node as the graph.
    if (
        quoted_triples == "refuse"
        and not concatenated
        and (atomic or not isinstance(graph, BlankNode))
    ):
        text = text_of(
            frames, graph=graph, blank_nodes=reading, limits=limits, on_namespace=on_namespace
        )
    reader: StatementReader | None = text
    if reader is None:
        reader = QuadReader(
            frames,
            graph=graph,
            # Each of several streams has labels of its own.
            blank_nodes="fresh" if blank_nodes == "canonicalize" else reading,
            quoted_triples=quoted_triples,
            limits=limits,
            concatenated=concatenated,
            on_namespace=on_namespace,
        )
    return add_statements(
        store,
        reader,
        frames.name,
        graph=graph,
        blank_nodes=blank_nodes,
        atomic=atomic,
        progress=progress,
        bookkeeping=bookkeeping,
        lexical_form=lexical_form,
    )


def add_statements(
    store: Store,
    reader: StatementReader,
    name: str,
    *,
    graph: GraphName | None,
    blank_nodes: LoadedBlankNodes,
    atomic: bool,
    progress: Progress | None,
    bookkeeping: bool,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Add the statements of a source to a store; see :func:`load` for the parameters.

    :param name: the source's.
    :return: number of statements in the source, repeats included.
    """
    stored = _Stored()
    try:
        parts = _parts(reader, progress, bookkeeping)
        if lexical_form is not None:
            parts = reader.rewritten(parts, lexical_form)
        fresh = blank_nodes == "fresh"
        if fresh and isinstance(graph, BlankNode) and isinstance(reader, NQuadsReader):
            try:
                reader.load(parts, store, graph)
            finally:
                stored.all = reader.is_loaded
        else:
            quads = reader.quads(parts, graph, fresh=fresh)
            if blank_nodes == "canonicalize":
                quads = relabelled(quads, graph, reader.empty_graphs)
            in_memory = _in_memory(store)
            if atomic:
                _add_at_once(store, quads, stored, in_memory=in_memory)
            else:
                while batch := list(islice(quads, BATCH)):
                    _add_at_once(store, iter(batch), _Stored(), in_memory=in_memory)
        stored.all = True
        for empty in reader.empty_graphs:
            store.add_graph(empty)
        if progress is not None:
            progress(reader.statements, reader.bytes)
        # Created here, since Python may handle a signal at this point.
        statements = reader.statements
    except SyntaxError as error:
        raise rejected(error, name) from error
    except JellyError as error:
        error.locate(source=name)
        raise
    except BaseException as error:
        if stored.all and not isinstance(error, Exception):
            error.loaded = reader.statements  # type: ignore[attr-defined]
            error.add_note(f"the load is complete: the store has all statements of {name}")
        raise
    return statements


def _parts(reader: StatementReader, progress: Progress | None, bookkeeping: bool) -> Iterator[Any]:
    """The parts of a reader, and calls of ``progress`` between them.

    :param bookkeeping: whether statements and empty graphs may be reserved.
    :raises TermError: one is, and may not.
    """
    due = PROGRESS_STATEMENTS
    parts: Iterator[Any] = iter(reader)
    for part in parts:
        if not bookkeeping and reader.has_reserved(part):
            _refuse(reader)
        yield part
        if progress is not None and reader.statements >= due:
            due = reader.statements + PROGRESS_STATEMENTS
            progress(reader.statements, reader.bytes)
    for graph in reader.empty_graphs:
        if not bookkeeping and is_reserved(graph.value):
            _refuse(reader)


def _refuse(reader: StatementReader) -> None:
    try:
        refuse_graph(BOOKKEEPING_IRI)
    except JellyError as error:
        error.locate(frame=reader.frame)
        raise


class _Stored:
    """Whether a store has all statements of a source, unless it has raised an error itself."""

    all = False

    def at_end(self) -> Iterator[Quad]:
        """No quads: what follows those of the source."""
        # Python handles no signal between this and the store's own work.
        self.all = True
        return
        yield


def _add_at_once(store: Store, quads: Iterator[Quad], stored: _Stored, *, in_memory: bool) -> None:
    """Add all of the quads or, if their iterator or the store fails, none."""
    if in_memory:
        store.extend(chain(quads, stored.at_end()))
        return
    first = list(islice(quads, SMALL))
    if len(first) < SMALL:
        store.extend(chain(first, stored.at_end()))
    else:
        store.bulk_extend(chain(first, quads, stored.at_end()))


def _in_memory(store: Store) -> bool:
    """Whether a store has no folder; pyoxigraph has no other way to find out.

    A backup to a folder without a name always fails, with a different reason for each kind.
    """
    try:
        store.backup("")
    except (RuntimeError, OSError) as error:
        return "in-memory" in str(error)
    return False
