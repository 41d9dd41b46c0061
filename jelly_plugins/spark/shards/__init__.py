"""Sharded stores: Oxigraph stores that share a dataset and change together.

A store is read, and patches are applied to it, with or without Spark. The layout in a folder or
bucket is described in docs/sharded-store-failures.md.
"""

from __future__ import annotations

from ...errors import MissingExtraError

try:
    import numpy as _numpy  # noqa: F401
    import pyarrow as _pyarrow  # noqa: F401
    import xxhash as _xxhash  # noqa: F401
except ImportError as error:
    raise MissingExtraError.of(f"sharded stores need a library ({error})", "spark") from error

from .applying import (
    Applied,
    ApplyOptions,
    ApplySettings,
    apply_patches,
    batch_sink,
    write_shards,
)
from .queries import QueryError
from .root import (
    Batch,
    CheckpointError,
    CommitConflictError,
    File,
    Log,
    RootError,
    Shard,
    Version,
    shard_of,
)
from .store import ShardedStore, Vacuumed, restore, vacuum, verify

__all__ = [
    "Applied",
    "ApplyOptions",
    "ApplySettings",
    "Batch",
    "CheckpointError",
    "CommitConflictError",
    "File",
    "Log",
    "QueryError",
    "RootError",
    "Shard",
    "ShardedStore",
    "Vacuumed",
    "Version",
    "apply_patches",
    "batch_sink",
    "restore",
    "shard_of",
    "vacuum",
    "verify",
    "write_shards",
]
