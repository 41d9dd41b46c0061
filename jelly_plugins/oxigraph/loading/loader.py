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
from ...io.progress import Progress, Steps
from ...io.sources import Source
from ...io.streams import FrameBytes
from ...reserved import BOOKKEEPING_IRI, is_reserved, reject_graph
from ..patches.deferred import check_recorded
from ..terms import GraphName, check_store
from .lexical_forms import LexicalForm
from .nquads_reader import NQuadsReader, rejected, text_of
from .quad_reader import QuadReader, QuotedTriples, check_settings
from .relabelling import LoadedBlankNodes, relabelled

#: Reads a source part by part.
StatementReader: TypeAlias = NQuadsReader | QuadReader

#: Quads up to which one transaction on disk is cheaper than a bulk load.
SMALL: Final = 2048

#: Quads that go in at once when a load is not atomic.
BATCH: Final = 50_000


def check_load(
    store: Store,
    graph: GraphName | None,
    blank_nodes: LoadedBlankNodes,
    quoted_triples: QuotedTriples,
    *,
    bookkeeping: bool,
) -> BlankNodes:
    """Check the parameters of a load and its store, before the source is opened.

    :return: how the reader treats labels.
    :raises TermError: ``graph`` is reserved.
    :raises ChainError: see :func:`jelly_plugins.oxigraph.load`.
    """
    check_store(store)
    reading: BlankNodes = "keep" if blank_nodes == "canonicalize" else blank_nodes
    check_settings(graph, reading, quoted_triples)
    if isinstance(graph, NamedNode) and not bookkeeping:
        reject_graph(graph.value, what="what is to be loaded")
    check_recorded(store)
    return reading


def load_jelly(
    store: Store,
    src: Source,
    *,
    graph: GraphName | None = None,
    blank_nodes: LoadedBlankNodes = "fresh",
    atomic: bool = True,
    quoted_triples: QuotedTriples = "reject",
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
    on_namespace: Callable[[str, str], object] | None = None,
    bookkeeping: bool = False,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Read a Jelly-RDF source into a store; see :func:`jelly_plugins.oxigraph.load`."""
    reading = check_load(store, graph, blank_nodes, quoted_triples, bookkeeping=bookkeeping)
    return add_statements(
        store,
        _reader(
            FrameBytes(src, limits=limits, strict=strict),
            graph=graph,
            blank_nodes=blank_nodes,
            reading=reading,
            atomic=atomic,
            quoted_triples=quoted_triples,
            limits=limits,
            concatenated=concatenated,
            on_namespace=on_namespace,
        ),
        graph=graph,
        blank_nodes=blank_nodes,
        atomic=atomic,
        progress=progress,
        bookkeeping=bookkeeping,
        lexical_form=lexical_form,
    )


def _reader(
    frames: FrameBytes,
    *,
    graph: GraphName | None,
    blank_nodes: LoadedBlankNodes,
    reading: BlankNodes,
    atomic: bool,
    quoted_triples: QuotedTriples,
    limits: Limits,
    concatenated: bool,
    on_namespace: Callable[[str, str], object] | None,
) -> StatementReader:
    """Choose the reader of a source: text where that can be."""
    # Reifiers are made of terms; each stream of several has labels of its own; and batches are made
    # of what Oxigraph's parser gives, which renames a blank node as the graph.
    if (
        quoted_triples == "reject"
        and not concatenated
        and (atomic or not isinstance(graph, BlankNode))
    ):
        text = text_of(
            frames, graph=graph, blank_nodes=reading, limits=limits, on_namespace=on_namespace
        )
        if text is not None:
            return text
    return QuadReader(
        frames,
        graph=graph,
        # Each of several streams has labels of its own.
        blank_nodes="fresh" if blank_nodes == "canonicalize" else reading,
        quoted_triples=quoted_triples,
        limits=limits,
        concatenated=concatenated,
        on_namespace=on_namespace,
    )


def add_statements(
    store: Store,
    reader: StatementReader,
    *,
    graph: GraphName | None,
    blank_nodes: LoadedBlankNodes,
    atomic: bool,
    progress: Progress | None,
    bookkeeping: bool,
    lexical_form: LexicalForm | None = None,
) -> int:
    """Add the statements of a source to a store; see :func:`load_jelly` for the parameters.

    :param reader: of the source, to which the caller keeps no reference.
    :return: number of statements in the source, repeats included.
    """
    stored = _Stored()
    name = reader.name
    statements: int | None = None
    try:
        steps = Steps(progress)
        parts = _parts(reader, steps, bookkeeping)
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
        steps.end(reader.statements)
        # Created here, since Python may handle a signal at this point.
        statements = reader.statements
        # Freeing its terms takes time, in which an interrupt may come: the call raises it.
        del reader
        _let_signals_in()
    except SyntaxError as error:
        raise rejected(error, name) from None
    except JellyError as error:
        error.locate(source=name)
        raise
    except BaseException as error:
        if stored.all and not isinstance(error, Exception):
            # Before there is a number, there is the reader.
            count = reader.statements if statements is None else statements  # noqa: F821
            error.loaded = count  # type: ignore[attr-defined]
            error.add_note(f"the load is complete: the store has all statements of {name}")
        raise
    return statements


def _let_signals_in() -> None:
    """Do nothing: Python handles pending signals when it calls a function."""


def _parts(reader: StatementReader, steps: Steps, bookkeeping: bool) -> Iterator[Any]:
    """The parts of a reader, and steps of the progress between them.

    :param bookkeeping: whether statements and empty graphs may be reserved.
    :raises TermError: one is, and may not.
    """
    parts: Iterator[Any] = iter(reader)
    for part in parts:
        if not bookkeeping and reader.has_reserved(part):
            _reject(reader)
        yield part
        steps.reach(reader.statements)
    for graph in reader.empty_graphs:
        if not bookkeeping and is_reserved(graph.value):
            _reject(reader)


def _reject(reader: StatementReader) -> None:
    try:
        reject_graph(BOOKKEEPING_IRI)
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
