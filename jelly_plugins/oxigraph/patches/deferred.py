"""Deferred positions, which make recording many small transactions cheap.

Writing its position takes a store longer than adding a statement. So a recorder does not write it
with each small transaction. The position in the store is marked ``recording``: the store has the
log up to there, and may have more: at most :data:`MOST_DEFERRED` patches, less one. Measured with
transactions of one statement: 5 times as fast in memory, 7 times on disk.

No data is lost: patches state which quads exist and which do not, so that applying the last ones
again, all of them and in their order, gives the same result. But no other change to the store may
come between, or it might be undone. So code that changes a store, or reports its positions, has the
active recorder write the exact one first (:func:`write_deferred`); and where the process of the
recorder has ended before it could, nothing but its own log is applied until the store is as far as
that (:func:`check_recorded`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from weakref import ref

from pyoxigraph import NamedNode, Store

from ...errors import ChainError
from ...patch.replay.position import Position
from ...patch.replay.target import lock_of
from ..rows import row_of
from ..terms import check_store
from .bookkeeping import (
    namespace_row,
    namespace_rows,
    noted_positions,
    position_quad,
    position_quads,
    recordings,
)
from .transaction import apply

if TYPE_CHECKING:
    from .record import Recorder

#: Patches after which the position is written.
MOST_DEFERRED: Final = 100

#: Recorders whose stores have a deferred position, by the address of the store. A store has one of
#: them at most. A recorder that was dropped without closing it leaves its dead reference.
_RECORDERS: Final[dict[int, ref[Recorder]]] = {}


def note_deferred(store: Store, recorder: Recorder) -> None:
    """Note that a store's position in this recorder's log is deferred."""
    _RECORDERS[id(store)] = ref(recorder)


def note_written(store: Store) -> None:
    """Note that it is exact again."""
    _RECORDERS.pop(id(store), None)


def write_deferred(store: Store, *, keep: Recorder | None = None) -> bool:
    """Write a store's exact position in the log that is being recorded, if there is one.

    :param keep: the recorder whose position may stay deferred.
    :return: whether the recorder was dropped without closing it, so that the store may have more of
        its log than the position says.
    """
    known = _RECORDERS.get(id(store))
    if known is None:
        return False
    recorder = known()
    if recorder is not None and recorder is keep:
        return False
    with lock_of(store):
        if recorder is not None:
            recorder.write_position()
            return False
        if recordings(store):
            return True
        # The log was recorded or replayed to its end, or another store had this address.
        note_written(store)
        return False


def positions(store: Store) -> list[Position]:
    """The positions of a store in the logs that were replayed into it, or recorded: for each log
    and each graph used instead of the default graph one position.

    After a recorder that was not closed, the store may be further.

    >>> positions(Store())
    []
    """
    check_store(store)
    write_deferred(store)
    return noted_positions(store)


def set_position(store: Store, position: Position) -> None:
    """Set a store's position in a log, replacing its own.

    For a store that was filled otherwise: from a copy of another one, for example.
    """
    set_recorded(store, position, {})


def set_recorded(
    store: Store, position: Position, namespaces: Mapping[str, NamedNode | None]
) -> None:
    """Set a store's position in a log, and namespaces of the position's graph, in one transaction.

    :param namespaces: the IRI of each name, None for those that are not bound any more.
    """
    graph = position.graph
    with lock_of(store):
        write_deferred(store)
        before = set(map(row_of, position_quads(store, position.log, graph)))
        after = {row_of(position_quad(position))}
        for name, iri in namespaces.items():
            before |= namespace_rows(store, graph, name)
            if iri is not None:
                after.add(namespace_row(graph, name, str(iri)))
        apply(store, before - after, after - before)


def check_recorded(store: Store, log_name: str | None = None) -> None:
    """Reject changes to a store that may have more of a log than its position says.

    :param log_name: name of the log that may be that one.
    :raises ChainError: its recorder has ended without closing it.
    """
    write_deferred(store)
    for each in recordings(store):
        if each != log_name:
            raise ChainError(
                f"the process that recorded log {each} has ended without closing it, and the store "
                "may have more of the log than it says: record or replay that log first"
            )
