"""What a log is replayed into: what a backend has to offer, and what is the same for all stores.

Locks are for stores of other libraries, which have no place for one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol

from ...errors import ChainError

if TYPE_CHECKING:
    from .positions import Position
    from .transactions import NetChanges


class Target(Protocol):
    """A store that a log is replayed into."""

    @property
    def graph(self) -> str:
        """The graph of its positions, see :class:`.Position`."""
        ...

    def text(self, term: Any, /) -> str:
        """A term that its operations are made of, in the syntax of N-Triples."""
        ...

    def positions(self) -> Iterable[Position]:
        """The store's positions in this target's graph, one for each log."""
        ...

    def apply(self, changes: NetChanges, before: Position | None, after: Position | None, /) -> int:
        """Change the data and the position, both or none. The changes may be used up.

        :param before: the store's position, which must not have changed meanwhile.
        :param after: its next position; None if the log has none.
        :return: number of deletions of statements that were not there.
        :raises ChainError: it has changed. The store was not changed.
        """
        ...


#: Two objects may share a lock; that only costs waiting. A thread may acquire its lock again:
#: code under the lock of one store may need another store's, which may be the same.
_LOCKS: Final = [RLock() for _ in range(64)]


def _renew() -> None:
    """Have new locks in a child that was forked: the threads that hold the old ones, if any, are
    not there to release them."""
    _LOCKS[:] = [RLock() for _ in _LOCKS]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def lock_of(store: object) -> RLock:
    """The lock of a store: always the same one while the store lives.

    What is done under it may wait for the lock of a watch of the same store (rdflib's recorder has
    one), never the other way round; nothing of ours takes the locks of two stores.
    """
    # Addresses are multiples of 16.
    return _LOCKS[(id(store) >> 4) % len(_LOCKS)]


def moved(
    what: str, log_name: str, before: Position | None, found: Position | None, *, by: str
) -> ChainError:
    """The error for a store whose position in a log has changed.

    :param what: ``"store"`` or ``"graph"``.
    :param by: who may have moved it.
    """
    position = "nowhere" if found is None else f"at patch {found.patch}"
    return ChainError(
        f"the {what} is {position} in log {log_name} now: {by} has changed it",
        expected=None if before is None else before.patch,
        found=None if found is None else found.patch,
    )
