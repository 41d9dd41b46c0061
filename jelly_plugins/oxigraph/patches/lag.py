"""Deferred positions, which make recording many small transactions cheap.

Writing its position takes a store longer than adding a statement. So a recorder does not write it
with each small transaction. The position in the store is marked ``recording``: the store has the
log up to there, and may have more. How much more is bounded by :data:`LAG`.

No data is lost: patches state which quads exist and which do not, so that applying the last ones
again, all of them and in their order, gives the same result. But no other change to the store may
come between, or it might be undone. So code that changes a store, or reports its positions, has the
active recorder write the exact one first (:func:`catch_up`); and where the process of the recorder
has ended before it could, nothing but its own log is applied until the store is as far as that
(:func:`check_recorded`).
"""

from __future__ import annotations

from typing import Final, Protocol
from weakref import ref

from pyoxigraph import Store

from ...errors import ChainError
from ...patch.replay.position import Position
from ...patch.replay.target import lock_of
from ..rows import row_of
from ..terms import check_store
from .bookkeeping import noted_positions, position_quad, position_quads, recordings
from .transaction import apply

#: Maximum number of patches that a store may have after its recorded position.
LAG: Final = 100


class Lagging(Protocol):
    """A recorder whose store has a deferred position."""

    def write_position(self) -> None:
        """Write the exact position to the store. The lock of the store is held."""
        ...


#: By the address of the store. A store has one of them at most: another one would have it catch up
#: first. One that was dropped and not closed leaves a note of that.
_LAGGING: Final[dict[int, ref[Lagging]]] = {}


def lags(store: Store, recorder: Lagging) -> None:
    """Note that a store's position in this recorder's log is deferred."""
    known = _LAGGING.get(id(store))
    if known is None or known() is not recorder:
        _LAGGING[id(store)] = ref(recorder)


def catches_up(store: Store) -> None:
    """Note that it is exact again."""
    _LAGGING.pop(id(store), None)


def catch_up(store: Store, *, but: Lagging | None = None) -> None:
    """Write a store's exact position in the log that is being recorded, if there is one.

    :param but: the recorder whose position may stay deferred.
    """
    known = _LAGGING.get(id(store))
    if known is None:
        return
    found = known()
    if found is not None and found is but:
        return
    with lock_of(store):
        if found is not None:
            found.write_position()
        elif not recordings(store):
            # It was caught up with, or another store had this address.
            catches_up(store)


def is_alone(store: Store, recorder: Lagging) -> bool:
    """Whether a store's position is deferred by this recorder and by no other."""
    known = _LAGGING.get(id(store))
    return known is not None and known() is recorder


def is_left(store: Store) -> bool:
    """Whether the recorder of a store was dropped without closing it, with a deferred position."""
    known = _LAGGING.get(id(store))
    return known is not None and known() is None


def positions(store: Store) -> list[Position]:
    """The positions of a store in the logs that were replayed into it, or recorded: for each log
    and each graph used instead of the default graph one position.

    After a recorder that was not closed, the store may be further.

    >>> positions(Store())
    []
    """
    check_store(store)
    catch_up(store)
    return noted_positions(store)


def set_position(store: Store, position: Position) -> None:
    """Set a store's position in a log, replacing its own.

    For a store that was filled otherwise: from a copy of another one, for example.
    """
    with lock_of(store):
        catch_up(store)
        before = set(map(row_of, position_quads(store, position.log, position.graph)))
        after = {row_of(position_quad(position))}
        apply(store, before - after, after - before)


def check_recorded(store: Store, log: str | None = None) -> None:
    """Refuse to change a store that may have more of a log than its position says.

    :param log: the log that may be that one.
    :raises ChainError: its recorder has ended without closing it.
    """
    catch_up(store)
    for each in recordings(store):
        if each != log:
            raise ChainError(
                f"the process that recorded log {each} has ended without closing it, and the store "
                "may have more of the log than it says: record or replay that log first"
            )
