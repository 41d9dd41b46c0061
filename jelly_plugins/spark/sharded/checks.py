"""Check the caller's settings early: everything that a commit stores must be readable again."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

#: A time with a time zone, as an object or as text of RFC 3339.
Time: TypeAlias = datetime | str

#: Maximum of a signed 64-bit number, which Spark uses for batches.
_MOST: Final = (1 << 63) - 1


def whole_number(name: str, value: Any, least: int = 0, most: int = _MOST) -> int:
    """Check a setting that is an ``int``, or an integer of numpy.

    :param name: name of the setting in errors.
    :raises TypeError: it has another type, such as ``bool``.
    :raises ValueError: it is out of range.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number (got {value!r})") from None
    if found < least and not least:
        raise ValueError(f"{name} must not be negative (got {value!r})")
    if not least <= found <= most:
        raise ValueError(f"{name} must be from {least} to {most} (got {value!r})")
    return found


def text(name: str, value: Any) -> str:
    """Check a setting that is a ``str``, which can be encoded as UTF-8.

    :raises TypeError: it has another type.
    :raises ValueError: it has half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str (got {value!r})")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must not have half of a surrogate pair (got {value!r})") from None
    return str(value)


def metadata_of(value: Any) -> dict[str, str]:
    """Check the caller's description of a version.

    :raises TypeError, ValueError: it is not a mapping of texts, or cannot be encoded as UTF-8.
    """
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"metadata must be a dict of str by str (got {value!r})")
    return {
        text("a name in metadata", name): text(f"metadata[{name!r}]", each)
        for name, each in (value or {}).items()
    }


def parse_time(value: Time) -> datetime:
    """Parse a time with a time zone.

    :raises TypeError, ValueError: it is not such a time.
    >>> parse_time("2026-11-21T15:45:59Z").isoformat()
    '2026-11-21T15:45:59+00:00'
    """
    if not isinstance(value, datetime | str):
        raise TypeError(f"timestamp must be a datetime or a str (got {value!r})")
    try:
        found = datetime.fromisoformat(value.upper()) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(
            f"timestamp must be a time such as 2026-11-21T15:45:59Z (got {value!r})"
        ) from None
    if found.utcoffset() is None:
        raise ValueError(f"timestamp must have a time zone, such as Z (got {value!r})")
    return found
