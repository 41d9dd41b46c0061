"""Changes to rdflib graphs that are written to a log of patches as they are made.

The graph changes first, the log when the transaction ends; if it cannot be written, the graph is as
it was before the transaction. Whoever needs log and store to agree after a crash has a store on
disk, and :func:`jelly_plugins.oxigraph.record`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Self

from rdflib.graph import ConjunctiveGraph, Graph
from rdflib.store import Store
from rdflib.term import URIRef

from ...codec import DEFAULT_GRAPH, DEFAULT_LIMITS, Limits, PatchOptions, PatchStatementType
from ...codec.patch.operations import (
    AnyOperation,
    Operation,
    OperationKind,
    add_namespace,
    delete_namespace,
)
from ...patch.recording import LogWriter
from ...patch.replay.locks import lock_of
from ...patch.replay.position import Position, check_name
from ...patch.replay.refusals import moved
from ...reserved import is_reserved
from ..callers import default_graph
from ..oxigraph_store import inner_store_of
from ..terms import refuse_no_graph
from .interrupts import guard, interruptible, unguard, uninterrupted
from .journal import namespace_restorer
from .replay import positions, replay, set_position
from .watch import ChangeKind, StoreWatch

_KINDS: Final = {ChangeKind.ADD: OperationKind.ADD, ChangeKind.REMOVE: OperationKind.DELETE}


def record(
    graph: Graph,
    log: str | os.PathLike[str],
    *,
    name: str | None = None,
    catch_up: bool = True,
    options: PatchOptions | None = None,
    sync: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> GraphRecorder:
    """Record what changes a graph, in a ``with`` block or through the object's own methods.

    In a ``with`` block every change to the graph is recorded, whoever makes it and through whatever
    object of the same store: one transaction, and one patch, up to the end of the block or to
    :meth:`GraphRecorder.commit`. An exception in the block takes the transaction back. Namespaces
    that are bound are recorded too.

    Literals are written as they are read back. Of two forms of one literal that rdflib keeps apart
    (``"x"`` with and without the datatype xsd:string; ``"01"^^xsd:integer``, as SPARQL makes it,
    and ``"1"^^xsd:integer``, as rdflib's constructor does) the log has one: it is added with the
    first and deleted with the last of them. So a replica may have fewer statements, that say the
    same.

    :param graph: a Graph, whose changes are recorded as triples; or a Dataset or ConjunctiveGraph,
        whose changes are recorded as quads.
    :param log: path of the log; made if there is none. Only one recorder at a time may have it.
    :param name: what the log is called, see :func:`.replay`.
    :param catch_up: apply patches first that the log has and the graph has not.
    :param options: of a new log; by default a Jelly-Patch stream of triples or of quads.
    :param sync: see :class:`~jelly_plugins.patch.recording.LogWriter`.
    :param limits: what is believed of the log that is there.
    :raises JellyError: the log cannot be read, or not be written to.

    >>> import tempfile
    >>> graph, copy = Graph(), Graph()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with record(graph, f"{folder}/log.jellyp"):
    ...         _ = graph.update("INSERT DATA { <urn:s> <urn:p> 1, 2 }")
    ...     replay(copy, f"{folder}/log.jellyp").operations, len(copy)
    (2, 2)
    """
    refuse_no_graph(graph)
    check_name(name)
    if options is None:
        quads = isinstance(graph, ConjunctiveGraph)
        statements = PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES
        options = PatchOptions(statement_type=statements)
    watch = _watch(graph.store)
    writer = LogWriter(log, describe=watch.describe, options=options, sync=sync, limits=limits)
    try:
        if writer.patches and catch_up:
            replay(graph, log, name=name, limits=limits)
        return GraphRecorder(graph, writer, watch, name=name)
    except BaseException:
        writer.close()
        raise


@interruptible
def _call(change: Callable[[], object]) -> None:
    change()


def _watch(store: Store) -> StoreWatch:
    if inner_store_of(store) is None:
        return StoreWatch(store)
    from .oxigraph_watch import OxigraphWatch

    return OxigraphWatch(store)


class GraphRecorder:
    """Records what changes a graph; made by :func:`record`.

    Outside of a ``with`` block, each of the methods :meth:`add`, :meth:`addN`, :meth:`remove` and
    :meth:`update` is one transaction, and nothing else is recorded.

    Threads may share it, as far as they may share the graph's store: what changes a graph is
    recorded in the order in which it does, and a transaction of one thread outside of a ``with``
    block waits for that of another. An interrupt (Ctrl-C) waits for a change that is being made.

    :ivar graph: the graph.
    """

    def __init__(
        self, graph: Graph, writer: LogWriter, watch: StoreWatch, *, name: str | None
    ) -> None:
        self.graph: Final = graph
        self._writer = writer
        self._name = name
        main = graph
        self._whole = isinstance(graph, ConjunctiveGraph)
        if isinstance(graph, ConjunctiveGraph):
            main = default_graph(graph)
        self._watch = watch
        self._main: Final = watch.name_of(main)
        self._inside = False
        inner = inner_store_of(graph.store)
        #: Held by whoever moves the graph in a log. What is recorded comes with the watch's lock,
        #: and a replay of another log takes that one second.
        self._moving = lock_of(graph.store if inner is None else inner)
        #: Where the graph stood after the last transaction that was recorded here.
        self._reached: Position | None = None
        # Its first use binds rdflib's own namespaces, which is no change.
        _ = graph.namespace_manager
        self._begin()

    @uninterrupted
    def __enter__(self) -> Self:
        self._writer.check_open()
        with self._moving, self._watch.lock:
            # First: where it is refused, a block that runs keeps what it has changed.
            self._watch.attach()
            try:
                self._begin()
            except BaseException:
                self._watch.detach()
                raise
            self._inside = True
        return self

    @uninterrupted
    def __exit__(self, kind: object, *_: object) -> None:
        try:
            # Another thread's transaction comes before all of it, or behind.
            with self._moving, self._watch.lock:
                self._inside = False
                try:
                    if kind is None:
                        self.commit()
                    else:
                        self.rollback()
                finally:
                    self._watch.detach()
        finally:
            self.close()

    def close(self) -> None:
        """Close the log."""
        self._writer.close()

    def add(self, statement: Any) -> None:
        """Add a triple, or a quad to a Dataset."""
        self._run(partial(self.graph.add, statement))

    def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802
        """Add quads, as ``Graph.addN`` does."""
        self._run(partial(self.graph.addN, quads))

    def remove(self, pattern: Any) -> None:
        """Remove what a pattern matches, as the graph's own ``remove`` does."""
        self._run(partial(self.graph.remove, pattern))

    def update(self, update: Any, **settings: Any) -> None:
        """Run a SPARQL update as ``Graph.update`` does, in rdflib's own engine unless it is for a
        Dataset over an Oxigraph store."""
        self._run(partial(self.graph.update, update, **settings))

    @uninterrupted
    def _run(self, change: Callable[[], object]) -> None:
        """Make a change: a transaction of its own, unless there is one already.

        :raises SourceError: the recorder is closed.
        """
        self._writer.check_open()
        guard()
        try:
            with self._moving, self._watch.lock:
                if self._inside:
                    _call(change)
                else:
                    self._run_alone(change)
        finally:
            unguard()

    @uninterrupted
    def _run_alone(self, change: Callable[[], object]) -> None:
        self._watch.attach()
        try:
            self._begin()
            try:
                _call(change)
            except BaseException:
                self.rollback()
                raise
            self.commit()
        finally:
            self._watch.detach()

    def _begin(self) -> None:
        self._namespaces = dict(self.graph.store.namespaces())
        self._restore_namespaces = namespace_restorer(self.graph)
        self._watch.keep()

    @uninterrupted
    def commit(self) -> None:
        """End the transaction, and start another: write what has changed as a patch.

        :raises JellyError: the log cannot say a statement; the transaction was taken back.
        :raises OSError: the log cannot be written; the transaction was taken back.
        """
        # Whoever else moves the graph waits here, and then finds that it has moved.
        with self._moving, self._watch.lock:
            try:
                rows = self._namespace_changes()
                rows += self._changes()
                if rows:
                    self._check_position()
                    self._writer.append(rows)
            except BaseException:
                self.rollback()
                raise
            if rows:
                self._move()
            self._begin()

    @uninterrupted
    def rollback(self) -> None:
        """Take the transaction back, and start another."""
        with self._watch.lock:
            self._watch.undo()
            if dict(self.graph.store.namespaces()) != self._namespaces:
                self._restore_namespaces()
            self._begin()

    def _changes(self) -> list[AnyOperation]:
        """What has changed in the end."""
        return [
            Operation(_KINDS[what], statement)
            for what, statement in self._watch.changed(self._place)
        ]

    def _place(self, name: Any) -> tuple[Any, ...] | None:
        """What a statement of a graph has behind its triple; None if it is not recorded."""
        # What an Oxigraph store keeps for itself goes with all the rest, and is no data.
        if is_reserved(str(name)):
            return None
        main = name is None or name == self._main
        if self._whole:
            return (DEFAULT_GRAPH if main else name,)
        # Or it is another graph of the same store.
        return () if main else None

    def _namespace_changes(self) -> list[AnyOperation]:
        before = self._namespaces
        now = dict(self.graph.store.namespaces())
        graph = DEFAULT_GRAPH if self._whole else None
        gone = [delete_namespace(name, None, graph) for name in before if name not in now]
        return gone + [
            add_namespace(name, URIRef(iri), graph)
            for name, iri in now.items()
            if before.get(name) != iri
        ]

    def _move(self) -> None:
        """Have replays know that the graph has what was recorded."""
        writer = self._writer
        assert writer.head is not None
        assert writer.root is not None
        if self._name is None:
            known = [each.log for each in positions(self.graph) if each.patch == writer.before]
            self._name = known[0] if known else writer.root
        self._reached = Position(
            log=self._name,
            patch=writer.head,
            number=writer.patches,
            transactions=1,
            complete=True,
            closed=True,
        )
        set_position(self.graph, self._reached)

    def _check_position(self) -> None:
        """Refuse to go on where somebody else has moved the graph.

        :raises ChainError: it stands elsewhere in the log.
        """
        reached = self._reached
        if reached is None:
            return
        found = next((each for each in positions(self.graph) if each.log == reached.log), None)
        # Where it is not known any more, all of the store was cleared: a change like others.
        if found is not None and found.patch != reached.patch:
            by = "a replay or another recorder"
            raise moved("graph", reached.log, reached, found, by=by)
