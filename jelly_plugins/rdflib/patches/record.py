"""Changes to rdflib graphs, written to a log of patches as they are made.

The graph changes first, the log when the transaction ends; if the log cannot be written, the graph
is as it was before the transaction. If log and store must agree after a crash, use a store
on disk and :func:`jelly_plugins.oxigraph.record`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import starmap
from typing import Any, Final, Self, Unpack

from rdflib.graph import ConjunctiveGraph, Dataset, Graph
from rdflib.namespace import NamespaceManager
from rdflib.plugins.stores.memory import Memory
from rdflib.term import URIRef

from ...codec import DEFAULT_GRAPH, PatchOptions, PatchStatementType
from ...codec.patch.operations import (
    AnyOperation,
    Operation,
    add_namespace,
    delete_namespace,
)
from ...errors import OptionsError
from ...patch.recording import DEFAULT, LogWriter, RecordOptions, RecordSettings
from ..oxigraph_store import inner_store
from ..terms import describe, name_of
from .journal import Journal, mark_recorded
from .replay import keep_position, known_positions, main_graph, replay


def record(
    graph: Graph,
    log: str | os.PathLike[str],
    settings: RecordSettings = DEFAULT,
    **options: Unpack[RecordOptions],
) -> GraphRecorder:
    """Record the changes that are made through the recorder's graph.

    :attr:`GraphRecorder.graph` is a graph of the same kind over the same statements. Whatever
    changes it, SPARQL Update and parsers included, is recorded, and so are changes to its other
    graphs and to namespaces. Changes made through ``graph`` itself are not recorded.

    Literals are added in the form in which the log is read back, also to the graph itself:
    ``"x"`` without the datatype xsd:string; and ``"1"^^xsd:integer``, as rdflib's constructor makes
    it, for ``"01"^^xsd:integer``, as SPARQL does, unless ``rdflib.NORMALIZE_LITERALS`` is off.
    Other forms that the graph has already are found and removed too; a replica has one literal for
    all forms of it.

    Patches of the log that the graph lacks are applied first. While the recorder is open, changes
    to the graph by other functions of this package (``load``, ``replay``, another recorder) raise
    an error that names the log.

    :param graph: a Graph, whose changes are recorded as triples; or a Dataset, whose changes are
        recorded as quads.
    :param log: path of the log; created if it does not exist. It has one recorder at a time.
    :param settings: see :class:`~jelly_plugins.patch.recording.RecordSettings`. A new log is by
        default a Jelly-Patch stream of triples or of quads.
    :param options: fields of the settings that differ.
    :raises ChainError: the graph is being recorded, or the log does not belong to it.
    :raises JellyError: the log cannot be read or written.
    :raises OptionsError: the graph is over an Oxigraph store (package oxrdflib): record that with
        :func:`jelly_plugins.oxigraph.record`. Or it is a ConjunctiveGraph but not a Dataset, or a
        recorder's graph.

    >>> import tempfile
    >>> graph, copy = Graph(), Graph()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with record(graph, f"{folder}/log.jellyp") as recorder:
    ...         _ = recorder.graph.update("INSERT DATA { <urn:s> <urn:p> 1, 2 }")
    ...     replay(copy, f"{folder}/log.jellyp").operations, len(graph), len(copy)
    (2, 2, 2)
    """
    main_graph(graph)
    if isinstance(graph, ConjunctiveGraph) and not isinstance(graph, Dataset):
        raise OptionsError("a ConjunctiveGraph cannot be recorded: use rdflib.Dataset")
    quads = isinstance(graph, Dataset)
    statements = PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES
    settings = settings.but(options, PatchOptions(statement_type=statements))
    if inner_store(graph) is not None:
        raise OptionsError(
            "a graph over an Oxigraph store cannot be recorded: record the store itself, with "
            "jelly_plugins.oxigraph.record(store, log)"
        )
    writer = LogWriter(log, settings, describe=describe)
    try:
        name = settings.name
        if writer.patches:
            done = replay(graph, log, name=name, limits=settings.limits)
            name = name if done.position is None else done.position.log
        elif name is not None:
            writer.check_new(known_positions(main_graph(graph)).get(name))
        mark_recorded(graph.store, writer)
        return GraphRecorder(graph, writer, name)
    except BaseException:
        writer.abandon()
        raise


class GraphRecorder:
    """Records the changes to a graph; made by :func:`record`.

    A transaction, and so a patch, ends at :meth:`commit` or at the end of a ``with`` block, which
    also closes the log. An exception in the block undoes the transaction. A transaction that
    changes nothing writes no patch.

    It is for one thread at a time, as rdflib's stores are.

    :ivar graph: the graph to change. It is of no use once the recorder is closed.
    """

    def __init__(self, graph: Graph, writer: LogWriter, name: str | None) -> None:
        self._recorded = graph
        self._writer = writer
        self._journal = journal = Journal(main_graph(graph), writer.check_open, written=True)
        self._name = name
        self._whole = isinstance(graph, Dataset)
        self._main: Final = name_of(main_graph(graph))
        self.graph: Final = (
            Dataset(journal, default_union=graph.default_union)
            if isinstance(graph, Dataset)
            else Graph(journal, graph.identifier, base=graph.base)
        )
        # Its first use binds rdflib's own namespaces, if it is to have any; that is not a change.
        _ = graph.namespace_manager
        self.graph.namespace_manager = NamespaceManager(self.graph, bind_namespaces="none")
        #: Whether statements were changed, and their number when the block began.
        self._changed = False
        self._size: int | None = None
        journal.keep()

    def __enter__(self) -> Self:
        self._writer.check_open()
        self._size = self._count()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is not None:
                self.rollback()
        finally:
            self.close()

    def close(self) -> None:
        """End the transaction as :meth:`commit` does, and close the log.

        :raises OptionsError: nothing was recorded in the ``with`` block, and the graph that was
            given to :func:`record` has changed.
        """
        with self._writer:
            if self._writer.closed:
                return
            self.commit()
            if self._size is not None and not self._changed and self._count() != self._size:
                raise OptionsError(
                    "nothing was recorded, but the graph has changed: change the recorder's "
                    "graph, not the one that was given to record()"
                )

    def _count(self) -> int | None:
        store = self._journal.store
        return len(store) if isinstance(store, Memory) else None

    def commit(self) -> None:
        """End the transaction and start another: write what has changed as a patch.

        :raises JellyError: a statement cannot be written to the log; the transaction was undone.
        :raises OSError: the log cannot be written; the transaction was undone.
        """
        journal = self._journal
        try:
            self._changed |= bool(journal.changes)
            rows: list[AnyOperation] = list(self._namespace_rows())
            rows += starmap(Operation, journal.net_changes(self._place))
            if rows:
                self._writer.append(rows)
        except BaseException:
            self.rollback()
            raise
        if rows:
            # So that replays skip what was recorded.
            keep_position(self._recorded, self._writer.place.position(self._name))
        journal.keep()

    def rollback(self) -> None:
        """Undo the transaction and start another."""
        self._journal.undo()
        self.graph.namespace_manager.reset()

    def _place(self, name: Any) -> tuple[Any, ...] | None:
        """The terms that follow the triple in a statement; None if it is not recorded."""
        main = name is None or name == self._main
        if self._whole:
            return (DEFAULT_GRAPH if main else name,)
        # Or it is another graph of the same store.
        return () if main else None

    def _namespace_rows(self) -> Iterator[AnyOperation]:
        """Operations for the names whose namespaces have changed: all deletions first."""
        graph = DEFAULT_GRAPH if self._whole else None
        before = self._journal.before
        if before is None:
            return
        now = dict(self._journal.namespaces())
        for name, iri in before.items():
            if now.get(name) != iri:
                # With its IRI, so that the patch can be inverted.
                yield delete_namespace(name, URIRef(iri), graph)
        for name, iri in now.items():
            if before.get(name) != iri:
                yield add_namespace(name, URIRef(iri), graph)
