"""Calls whose arguments nothing else keeps alive.

Code that keeps a pointer into an argument, without a reference, works while another object keeps
the bytes alive. Here none does: they are copies, freed when the call returns. Python's debug
allocator then overwrites them, so that code that reads them later differs from its reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from jelly_plugins.errors import JellyError

from .comparison import describe_error


class Rejection(NamedTuple):
    """An error instead of a result."""

    error: tuple[Any, ...]


def copied(data: bytes) -> bytes:
    return bytes(bytearray(data))


def lent(call: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a call with copies of bytes, or its :class:`Rejection`.

    :param call: must have consumed its whole result when it returns.
    """
    try:
        return call(*(copied(each) if type(each) is bytes else each for each in given))
    except JellyError as error:
        return Rejection(describe_error(error))
