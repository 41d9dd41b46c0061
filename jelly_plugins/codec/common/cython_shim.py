"""What interpreted code needs of the ``cython`` module where Cython is not installed.

Modules in Cython's pure Python mode are compiled where there is a compiler, and run as they are
otherwise. Their types are annotations, which Python does not evaluate, except for those of
``declare``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T")

#: Whether the module is compiled.
compiled = False

int = p_int = p_char = bint = uint = uchar = p_uchar = ulonglong = None  # noqa: A001
Py_ssize_t = p_Py_ssize_t = None  # noqa: N816


def _unchanged(item: _T) -> _T:
    return item


# Marks of classes and functions: extension types and functions of C, final ones, and types whose
# objects are in no cycle.
cclass = cfunc = ccall = final = no_gc = _unchanged


def exceptval(*_: object, **__: object) -> Callable[[_T], _T]:
    """Name the value that a function of C returns where it raised an exception."""
    return _unchanged


def declare(_: object = None, value: Any = None, **__: object) -> Any:
    """Return the value of a typed variable."""
    return value


def cast(_: object, value: Any) -> Any:
    """Return a value as another type."""
    return value
