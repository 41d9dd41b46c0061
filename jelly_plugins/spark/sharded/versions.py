"""Which version is meant: by its number, or by the time at which it was the newest."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from .commits import Commit, CommitLog
from .errors import RootError
from .settings import whole_number

#: A time with a time zone, or a text of one as RFC 3339 has it.
Time: TypeAlias = datetime | str


def find_version(
    log: CommitLog, version: int | None = None, timestamp: Time | None = None
) -> Commit:
    """A version that can be opened; the newest, unless something is said.

    :param version: its number.
    :param timestamp: a time at which it was the newest.
    :raises RootError: there is none, or it cannot be opened any more.
    :raises TypeError, ValueError: the version is not a whole number, or the time none with a time
        zone; or both are given.
    """
    if version is not None and timestamp is not None:
        raise ValueError("a version is given by its number or by a time, not by both")
    if timestamp is not None:
        commit = log.at(parse_time(timestamp))
    elif version is not None:
        commit = log.read(whole_number("version", version))
    else:
        commit = log.head()
    if not commit.readable:
        message = f"the stores of version {commit.version} were removed by a vacuum"
        raise RootError(message, source=log.storage.name)
    return commit


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
