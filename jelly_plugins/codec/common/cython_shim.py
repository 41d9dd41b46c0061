"""What interpreted code needs of the ``cython`` module where Cython is not installed.

Modules in Cython's pure Python mode are compiled where there is a compiler, and run as they are
otherwise. Their types are annotations, which Python does not evaluate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

compiled = False


def cclass(cls: _T) -> _T:
    """Mark a class that becomes an extension type."""
    return cls


def cfunc(function: _T) -> _T:
    """Mark a function that only compiled code calls."""
    return function


def final(cls: _T) -> _T:
    """Mark an extension type without subclasses."""
    return cls


def no_gc(cls: _T) -> _T:
    """Mark an extension type whose objects are in no cycle."""
    return cls


def exceptval(*_: Any, **__: Any) -> Callable[[_T], _T]:
    """Name the value that a function of C returns where it raised an exception."""
    return lambda function: function
