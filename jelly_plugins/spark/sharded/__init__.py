"""Sharded stores: many Oxigraph stores as one, with patches applied to all of them at once.

A root folder has the shards, each an Oxigraph store that is never changed, and a log of commits,
each of which names a store for every shard. Applying patches makes new stores beside the old ones
and then, in one step, a commit; see docs/sharded-store.md. Applying runs on Spark
(:func:`apply_patches`, :func:`batch_sink`), reading does not need it (:class:`ShardedStore`).
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
        f"sharded stores need a library ({error}): pip install 'jelly-plugins[spark]'"
    ) from error

from .apply import Applied
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
from .store import ShardedStore

if TYPE_CHECKING:
    from .driver import apply_patches, batch_sink

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
    # These need Spark, the others do not.
    if name not in ("apply_patches", "batch_sink"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .. import _requirement  # noqa: F401  (first: it says what to install)
    from . import driver

    return getattr(driver, name)
