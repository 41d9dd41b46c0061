"""Locks for objects that have no place for one, such as stores of other libraries."""

from __future__ import annotations

import os
from threading import RLock
from typing import Final

#: Two objects may share a lock; that costs no more than waiting. Whoever has one may take it again:
#: what is done under the lock of one store may need another store's, which may be the same.
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
