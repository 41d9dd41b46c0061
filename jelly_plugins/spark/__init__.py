"""Spark: Jelly in DataFrames and columns, sharded stores, and sessions on machines without Java.

Modules that need Spark are imported on first use: sharded stores work without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lazy

if TYPE_CHECKING:
    from .functions import from_jelly, from_jelly_patch, to_jelly, to_jelly_patch
    from .sessions import register, session
    from .shards import (
        ShardedStore,
        apply_patches,
        batch_sink,
        restore,
        vacuum,
        verify,
        write_shards,
    )
    from .shards.frames import net_changes

__all__ = [
    "ShardedStore",
    "apply_patches",
    "batch_sink",
    "from_jelly",
    "from_jelly_patch",
    "net_changes",
    "register",
    "restore",
    "session",
    "to_jelly",
    "to_jelly_patch",
    "vacuum",
    "verify",
    "write_shards",
]

if not TYPE_CHECKING:
    _OF_SPARK = {
        "functions": ("from_jelly", "from_jelly_patch", "to_jelly", "to_jelly_patch"),
        "sessions": ("register", "session"),
        "shards.frames": ("net_changes",),
    }
    _get, __dir__ = lazy.attributes(__name__, __all__, {**_OF_SPARK, "shards": __all__})

    def __getattr__(name):
        if any(name in names for names in _OF_SPARK.values()):
            from . import _requirement  # noqa: F401  (first: its error names the extra to install)
        return _get(name)
