"""Where roots of sharded stores lie: what is asked of a storage, and who does it.

``interface`` says what a storage does. ``local`` does it with folders of a file system. What is
common to all of them is stated once: ``put`` for the one step that decides who was first.
"""

from __future__ import annotations

from .interface import (
    STAGING,
    AnyRoot,
    Attempt,
    Contents,
    MakingStore,
    OpenStore,
    Piece,
    Storage,
    Sweep,
)
from .opening import storage_at
from .put import check_exclusive, put_if_absent

__all__ = [
    "STAGING",
    "AnyRoot",
    "Attempt",
    "Contents",
    "MakingStore",
    "OpenStore",
    "Piece",
    "Storage",
    "Sweep",
    "check_exclusive",
    "put_if_absent",
    "storage_at",
]
