"""Sharded stores: many Oxigraph stores that act as one, with patches applied to all of them.

A root contains the shards, each an Oxigraph store that is never modified, and a log of commits,
each of which names one store for every shard. Applying patches creates new stores beside the old
ones and then, atomically, a commit; see docs/sharded-store.md. Applying requires Spark
(:func:`apply_patches`, :func:`batch_sink`); reading does not (:class:`ShardedStore`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import MissingExtraError

try:
    import numpy as _numpy  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import xxhash as _xxhash  # noqa: F401
except ImportError as error:
    raise MissingExtraError(
        f"sharded stores need a library ({error}): pip install 'jelly-plugins[spark]', or in a "
        "checkout pip install '.[spark]'"
    ) from error

from .batch import Applied
from .cleaning import Vacuumed, vacuum
from .commits import Commit, Shard
from .copying import Copied, copy_store
from .errors import (
    CheckpointError,
    CommitConflictError,
    IncompleteLogError,
    RootError,
    StorageError,
)
from .layout import Root, ShardBy, shard_of
from .queries import QueryError
from .resharding import reshard
from .restoring import restore
from .storage.interface import Storage
from .store import ShardedStore, ShardStatistics

if TYPE_CHECKING:
    from .applying import apply_patches, batch_sink

__all__ = [
    "Applied",
    "CheckpointError",
    "Commit",
    "CommitConflictError",
    "Copied",
    "IncompleteLogError",
    "QueryError",
    "Root",
    "RootError",
    "Shard",
    "ShardBy",
    "ShardStatistics",
    "ShardedStore",
    "Storage",
    "StorageError",
    "Vacuumed",
    "apply_patches",
    "batch_sink",
    "copy_store",
    "reshard",
    "restore",
    "shard_of",
    "vacuum",
]


def __getattr__(name: str) -> Any:
    # Only these need Spark.
    if name not in ("apply_patches", "batch_sink"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import _requirement  # noqa: F401  (first: its error names the extra to install)
    from . import applying

    return getattr(applying, name)
