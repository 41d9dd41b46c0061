"""Spark: Jelly as a format of DataFrames, sharded stores, and sessions on machines without Java."""

from __future__ import annotations

from . import _requirement  # noqa: F401  (first: it says what to install)
from .registration import register
from .session import session
from .sharded import ShardedStore, apply_patches, batch_sink

__all__ = ["ShardedStore", "apply_patches", "batch_sink", "register", "session"]
