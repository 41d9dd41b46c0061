"""Settings of callers, looked at before anything is done: what a commit says must be read again."""

from __future__ import annotations

import operator
from typing import Any, Final

#: What fits 64 bits with a sign, as a number of a batch does in Spark.
_MOST: Final = (1 << 63) - 1


def whole_number(name: str, value: Any, least: int = 0, most: int = _MOST) -> int:
    """A setting that is an ``int``, or what numpy has for one.

    :param name: of the setting, for what is said.
    :raises TypeError: it is something else, a ``bool`` among others.
    :raises ValueError: it is out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, not a whole number") from None
    if found < least and not least:
        raise ValueError(f"{name} is {value!r}, and cannot be negative")
    if not least <= found <= most:
        raise ValueError(f"{name} is {value!r}, not a number from {least} to {most}")
    return found


def text(name: str, value: Any) -> str:
    """A setting that is a ``str``, and can be stored as UTF-8.

    :raises TypeError: it is something else.
    :raises ValueError: it has half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}, not a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is {value!r}, which has half of a surrogate pair") from None
    return str(value)
