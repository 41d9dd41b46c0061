"""Positions that lag behind the store: what makes recording many small transactions cheap.

To keep its position takes a store longer than to add a statement. So a recorder does not have it
kept with each small transaction: it says ``recording`` in its place, which means that the store has
what the log says up to there, and may have more. How much more is bounded by :data:`LAG`.

Nothing is lost by that: patches say what is there and what is not, so that to apply the last ones
again, all of them and in their order, leads to the same. But nobody else may change the store in
between, or the change might be undone. So whoever is to change a store, or tells of its positions,
has the recorder at work write the exact one first (:func:`catch_up`); and where the process of the
recorder has ended before it could, nothing but its own log is applied until the store is as far as
that (:func:`check_recorded`).
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

#: Patches that a store may have behind the position that it says.
LAG: Final = 100


class Lagging(Protocol):
    """A recorder whose store does not say how far it is."""

    def write_position(self) -> None:
        """Have the store say it. The lock of the store is held."""
        ...


#: By the address of the store. A store has one of them at most: another one would have it catch up
#: first. One that was dropped and not closed leaves a note of that.
_LAGGING: Final[dict[int, ref[Lagging]]] = {}


def lags(store: Store, recorder: Lagging) -> None:
    """Note that the position of a store lags, of the log of this recorder."""
    known = _LAGGING.get(id(store))
    if known is None or known() is not recorder:
        _LAGGING[id(store)] = ref(recorder)


def catches_up(store: Store) -> None:
    """Note that it does not lag any more."""
    _LAGGING.pop(id(store), None)


def catch_up(store: Store, *, but: Lagging | None = None) -> None:
    """Have a store say exactly how far it is in the log that is being recorded, if there is one.

    :param but: the recorder whose position may lag on.
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
    """Whether the position of a store lags because of this recorder, and of nothing else."""
    known = _LAGGING.get(id(store))
    return known is not None and known() is recorder


def is_left(store: Store) -> bool:
    """Whether the recorder of a store was dropped and not closed, and the store lags."""
    known = _LAGGING.get(id(store))
    return known is not None and known() is None


def positions(store: Store) -> list[Position]:
    """Where a store stands in the logs that were replayed into it, or recorded: for each log and
    each graph in the place of the default graph one position.

    After a recorder that was not closed, the store may be further.

    >>> positions(Store())
    []
    """
    check_store(store)
    catch_up(store)
    return noted_positions(store)


def set_position(store: Store, position: Position) -> None:
    """Say where a store stands in a log, in place of what it says itself.

    For a store that was filled otherwise: from a copy of another one, for example.
    """
    with lock_of(store):
        catch_up(store)
        before = set(map(row_of, position_quads(store, position.log, position.graph)))
        after = {row_of(position_quad(position))}
        apply(store, before - after, after - before)


def check_recorded(store: Store, log: str | None = None) -> None:
    """Refuse to change a store that has more of some log than it says.

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
