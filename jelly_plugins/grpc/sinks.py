"""Sinks that load published streams into stores and graphs.

A published stream arrives at the client's pace and may break off. A stream that is loaded as a
whole is first kept in a temporary file: a slow client does not block the store, and an incomplete
stream leaves nothing in it.
"""

from __future__ import annotations

import tempfile
from threading import RLock
from typing import Any, Final

from ..backends import BlankNodes, owner_of
from ..codec import DEFAULT_LIMITS, Decoder, Limits, delimit
from ..errors import OptionsError
from ..patch.replay.target import lock_of
from ..reserved import reject_graph
from .service import Published

#: Bytes of a stream that are held in memory; what is more is in a temporary file.
_IN_MEMORY: Final = 4 << 20


def shared_lock(graph: object) -> RLock:
    """The lock under which a graph or store is read or changed as a whole: that of the store that a
    graph of rdflib is in. All topics and sinks of the store have the same, and replays of logs."""
    return lock_of(getattr(graph, "store", graph))


class StoreSink:
    """Loads streams into a store, graph or dataset: each whole, or not at all.

    One is loaded at a time. Blank nodes are new ones for each stream.

    :param store: an Oxigraph store, or a graph or dataset of rdflib's.
    :param lock: held while something is loaded; by default one that topics of the same graph have.
    :param settings: for the store's ``load``, such as ``graph=`` or ``blank_nodes=``.
    """

    def __init__(
        self, store: Any, *, lock: Any = None, limits: Limits = DEFAULT_LIMITS, **settings: Any
    ) -> None:
        self._store = store
        self._backend = owner_of(store)
        self._limits = limits
        self._settings = settings
        self.lock = lock or shared_lock(store)

    def publish(self, frames: Published) -> None:
        """Load a stream.

        :raises JellyError: it cannot be read, or the store cannot hold it.
        """
        file: Any
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
            for frame in frames:
                file.write(delimit(frame))
            file.seek(0)
            with self.lock:
                # A call may be cancelled by the time it gets the lock.
                frames.check()
                self._backend.load(self._store, file, limits=self._limits, **self._settings)


class FrameSink:
    """Loads streams into an Oxigraph store frame by frame: each frame whole, or not at all, as soon
    as it has come. The frames before an error stay.

    :param store: a ``pyoxigraph.Store``.
    :param graph: the graph that triples go into, by default the default graph. Quads are rejected
        with one.
    :param blank_nodes: new nodes for each stream, or its labels as they are.
    """

    def __init__(
        self,
        store: Any,
        *,
        graph: Any = None,
        blank_nodes: BlankNodes = "fresh",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._store = store
        self._backend = owner_of(store)
        if self._backend.name != "oxigraph":
            raise TypeError(f"frames are loaded into Oxigraph stores, not into {store!r}")
        self._graph = graph
        self._blank_nodes = blank_nodes
        self._limits = limits

    def publish(self, frames: Published) -> None:
        """Load a stream.

        :raises JellyError: a frame cannot be read, or the store cannot hold it.
        """
        from pyoxigraph import DefaultGraph, NamedNode, Quad

        graph = DefaultGraph() if self._graph is None else self._graph
        decoder = Decoder(self._backend.factory(blank_nodes=self._blank_nodes), limits=self._limits)
        for data in frames:
            frame = decoder.decode(data)
            quads = []
            for statement in frame.statements:
                if isinstance(statement, Quad):
                    if self._graph is not None:
                        raise OptionsError("a stream of quads names its graphs itself")
                    quads.append(statement)
                else:
                    subject, predicate, object_ = statement
                    quads.append(Quad(subject, predicate, object_, graph))
            for name in {quad.graph_name for quad in quads} | set(frame.empty_graphs):
                if isinstance(name, NamedNode):
                    reject_graph(name.value)
            self._store.extend(quads)
            for empty in frame.empty_graphs:
                self._store.add_graph(empty)
        decoder.finish()
