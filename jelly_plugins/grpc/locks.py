"""The lock under which a graph or store is read or changed as a whole."""

from __future__ import annotations

from threading import RLock

from ..patch.replay.locks import lock_of


def shared_lock(graph: object) -> RLock:
    """The lock of a store, or of the store that a graph of rdflib's is in: the same one for all
    topics and sinks of it, and for replays of logs."""
    return lock_of(getattr(graph, "store", graph))
