"""Settings of callers, looked at before anything is done: what a commit says must be read again."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

#: A time with a time zone, or a text of one as RFC 3339 has it.
Time: TypeAlias = datetime | str

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


def metadata_of(value: Any) -> dict[str, str]:
    """What a caller says of a version, by name.

    :raises TypeError, ValueError: it is not text by text, or cannot be stored as UTF-8.
    """
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"metadata is {value!r}, not a dict of str by str")
    return {
        text("a name in metadata", name): text(f"metadata[{name!r}]", said)
        for name, said in (value or {}).items()
    }


def parse_time(value: Time) -> datetime:
    """A time with a time zone.

    :raises TypeError, ValueError: it is none.

    >>> parse_time("2026-11-21T15:45:59Z").isoformat()
    '2026-11-21T15:45:59+00:00'
    """
    if not isinstance(value, datetime | str):
        raise TypeError(f"timestamp is {value!r}, not a datetime or a str")
    try:
        found = datetime.fromisoformat(value.upper()) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(
            f"timestamp is {value!r}, not a time such as 2026-11-21T15:45:59Z"
        ) from None
    if found.utcoffset() is None:
        raise ValueError(f"timestamp is {value!r}, without a time zone")
    return found
