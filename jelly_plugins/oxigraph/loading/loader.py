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
from typing import Any, Final, TypeAlias, get_args

from pyoxigraph import BlankNode, Quad, Store

from ...backends import BlankNodes
from ...codec import DEFAULT_LIMITS, Limits
from ...errors import JellyError
from ...io.progress import Steps
from ...io.sources import Source
from ...io.streams import FrameBytes
from ...reserved import BOOKKEEPING_IRI, is_reserved, reject_graph
from ..patches.bookkeeping import check_recorded
from ..terms import GraphName, check_store
from .nquads_reader import NQuadsReader, rejected, text_of
from .quad_reader import QuadReader
from .relabelling import relabelled
from .settings import LoadSettings, QuotedTriples

#: Reads a source part by part.
StatementReader: TypeAlias = NQuadsReader | QuadReader

#: Quads up to which one transaction on disk is cheaper than a bulk load.
SMALL: Final = 2048

#: Quads that go in at once when a load is not atomic.
BATCH: Final = 50_000


def open_reader(src: Source, settings: LoadSettings) -> StatementReader:
    """Choose the reader of Jelly: text where that can be."""
    frames = FrameBytes(src, limits=settings.limits, strict=settings.strict)
    # Reifiers are made of terms; each stream of several has labels of its own; and batches are made
    # of what Oxigraph's parser gives, which renames a blank node as the graph.
    if (
        settings.quoted_triples == "reject"
        and not settings.concatenated
        and (settings.atomic or not isinstance(settings.graph, BlankNode))
    ):
        text = text_of(frames, settings)
        if text is not None:
            return text
    return QuadReader(frames, settings)


def statements_of(reader: StatementReader) -> Iterator[Quad]:
    """The statements of a source, one after the other.

    :raises JellyError: while iterating, with source, frame and row.
    """
    parts: Any = reader
    try:
        yield from reader.quads(parts)
    except SyntaxError as error:
        raise rejected(error, reader.name) from None


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
    :param graph: the graph of the triples in a stream of triples, by default the default graph. A
        stream of quads is rejected with one.
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
    settings = LoadSettings(
        graph=graph,
        blank_nodes=blank_nodes,
        # The quads come one by one.
        atomic=False,
        quoted_triples=quoted_triples,
        limits=limits,
        concatenated=concatenated,
        # The caller may want what is in the reserved graph.
        bookkeeping=True,
    )
    yield from statements_of(open_reader(src, settings))


def add_statements(
    store: Store, settings: LoadSettings, open_: Callable[[], StatementReader]
) -> int:
    """Add the statements of a source to a store.

    :param open_: opens the source, once the store is known to be one that can be loaded into.
    :return: number of statements in the source, repeats included.
    :raises JellyError: see :func:`jelly_plugins.oxigraph.load`.
    """
    check_store(store)
    check_recorded(store)
    reader = open_()
    stored = _Stored()
    name = reader.name
    statements: int | None = None
    try:
        steps = Steps(settings.progress)
        parts = _parts(reader, steps, settings)
        graph = settings.graph
        if isinstance(graph, BlankNode) and isinstance(reader, NQuadsReader):
            # Its labels are fresh: others are read one by one.
            try:
                reader.load(parts, store, graph)
            finally:
                stored.all = reader.is_loaded
        else:
            quads = reader.quads(parts)
            if settings.blank_nodes == "canonicalize":
                quads = relabelled(quads, graph, reader.empty_graphs)
            in_memory = _in_memory(store)
            if settings.atomic:
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


def _parts(reader: StatementReader, steps: Steps, settings: LoadSettings) -> Iterator[Any]:
    """The parts of a reader, and steps of the progress between them.

    :raises TermError: a statement or an empty graph is reserved, and may not be.
    """
    parts: Iterator[Any] = iter(reader)
    for part in parts:
        if not settings.bookkeeping and reader.has_reserved(part):
            _reject(reader)
        yield part
        steps.reach(reader.statements)
    for graph in reader.empty_graphs:
        if not settings.bookkeeping and is_reserved(graph.value):
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
