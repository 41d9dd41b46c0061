"""Locks for objects that have no place for one, such as stores of other libraries."""

from __future__ import annotations

from threading import Lock
from typing import Final

#: Two objects may share a lock; that costs no more than waiting.
_LOCKS: Final = tuple(Lock() for _ in range(64))


def lock_of(store: object) -> Lock:
    """The lock of a store: always the same one while the store lives."""
    # Addresses are multiples of 16.
    return _LOCKS[(id(store) >> 4) % len(_LOCKS)]
