"""Spark: Jelly in DataFrames and columns, sharded stores, and sessions on machines without Java.

Modules that need Spark are imported on first use: sharded stores work without it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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

#: The module that defines each public name.
_MODULES: Final = {
    "ShardedStore": "shards",
    "apply_patches": "shards",
    "batch_sink": "shards",
    "from_jelly": "functions",
    "from_jelly_patch": "functions",
    "net_changes": "shards.frames",
    "register": "sessions",
    "restore": "shards",
    "session": "sessions",
    "to_jelly": "functions",
    "to_jelly_patch": "functions",
    "vacuum": "shards",
    "verify": "shards",
    "write_shards": "shards",
}

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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _MODULES[name] != "shards":
        from . import _requirement  # noqa: F401  (first: its error names the extra to install)
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
