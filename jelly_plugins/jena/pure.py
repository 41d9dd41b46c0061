"""What ``rows`` uses of the module ``cython`` where it runs uncompiled and Cython is not installed.

Types occur in annotations only, which are not evaluated.
"""

from __future__ import annotations

from typing import Any, TypeVar

_T = TypeVar("_T")

#: Whether the module is compiled.
compiled = False

int = bint = uint = uchar = p_uchar = ulonglong = Py_ssize_t = None  # noqa: A001


def _unchanged(item: _T) -> _T:
    return item


cclass = cfunc = ccall = final = _unchanged


def exceptval(*_: object, **__: object) -> Any:
    """Decorate a function; its exception value exists only where it is compiled."""
    return _unchanged


def declare(_: object = None, value: Any = None, **__: object) -> Any:
    """Return the value of a typed variable."""
    return value
