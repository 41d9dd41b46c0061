"""Spark: Jelly in DataFrames and columns, sharded stores, and sessions on machines without Java.

Modules that need Spark are imported on first use: reading a sharded store does not need Spark.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .functions import from_jelly, from_jelly_patch, to_jelly, to_jelly_patch
    from .registration import register
    from .sessions import session
    from .sharded import ShardedStore, apply_patches, batch_sink

#: The module that defines each public name.
_MODULES: Final = {
    "ShardedStore": "sharded",
    "apply_patches": "sharded",
    "batch_sink": "sharded",
    "from_jelly": "functions",
    "from_jelly_patch": "functions",
    "register": "registration",
    "session": "sessions",
    "to_jelly": "functions",
    "to_jelly_patch": "functions",
}

__all__ = [
    "ShardedStore",
    "apply_patches",
    "batch_sink",
    "from_jelly",
    "from_jelly_patch",
    "register",
    "session",
    "to_jelly",
    "to_jelly_patch",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name != "ShardedStore":
        from . import _requirement  # noqa: F401  (first: its error names the extra to install)
    return getattr(import_module(f".{_MODULES[name]}", __name__), name)
