"""Errors of sharded stores; all are a :class:`~jelly_plugins.JellyError`."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import JellyError


class RootError(JellyError):
    """The root of a sharded store is missing, damaged, or has another layout."""


class StorageError(RootError):
    """An object store cannot be reached, rejects a request, or lacks a feature.

    The message contains no credentials.
    """


class CommitConflictError(JellyError):
    """Another writer has committed first. Nothing was changed; the call can be repeated.

    :ivar version: the version that the other writer has committed.
    """

    def __init__(self, message: str, *, version: int, source: str | None = None) -> None:
        super().__init__(message, source=source)
        self.version = version


class CheckpointError(JellyError):
    """The batches of an application come from another streaming query than before."""


class IncompleteLogError(JellyError):
    """The rows of a DataFrame are not whole logs, in the order in which they were read."""


def without_secrets(url: str) -> str:
    """Return a URL for errors, without user, password, query and fragment.

    Any of these may contain characters that should have been escaped, so everything before the
    last @, and everything after the first ? and #, is left out.

    >>> without_secrets("s3://user:sec/ret@bucket/x?key=y"), without_secrets("s3://user:sec?ret@b")
    ('s3://bucket/x', 's3://(hidden)')
    """
    scheme, slashes, rest = url.partition("://")
    user, _, place = rest.rpartition("@")
    if "?" in user or "#" in user:
        place = "(hidden)"
    return scheme + slashes + place.partition("?")[0].partition("#")[0]


@contextmanager
def on_executor() -> Iterator[None]:
    """Add a hint to errors of a root on an executor: it may lack a file system of the driver."""
    try:
        yield
    except RootError as error:
        error.message += (
            f" (on executor {socket.gethostname()}: the driver and every executor must be able to "
            "access the root under the same path)"
        )
        raise


@contextmanager
def unreadable(what: str, source: str) -> Iterator[None]:
    """Convert exceptions that Oxigraph raises for a damaged store to a :class:`RootError`.

    :param what: what failed.
    :param source: the root.
    """
    try:
        yield
    except JellyError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise RootError(f"{what}: {error}", source=source) from error


@contextmanager
def of_shard(version: int, shard: int) -> Iterator[None]:
    """Add the version and the shard to the message of errors."""
    try:
        yield
    except JellyError as error:
        error.message = f"version {version}, shard {shard}: {error.message}"
        raise
