"""What goes wrong with sharded stores, as :class:`~jelly_plugins.JellyError` like all else."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import JellyError


class RootError(JellyError):
    """A folder that is no root of a sharded store, is a damaged one, or one of another layout."""


class StorageError(RootError):
    """An object store that is not reached, refuses, or cannot do what it is asked.

    What it says of the reason has no credentials in it.
    """


class CommitConflictError(JellyError):
    """Another writer has committed first. Nothing was changed; the same call may be made again.

    :ivar version: the version that the other writer has made.
    """

    def __init__(self, message: str, *, version: int, source: str | None = None) -> None:
        super().__init__(message, source=source)
        self.version = version


class CheckpointError(JellyError):
    """The batches of an application come from another streaming query than before."""


class IncompleteLogError(JellyError):
    """The rows of a DataFrame are not those of whole logs, in the order in which they were read."""


def without_secrets(url: str) -> str:
    """A URL as errors show it: without a user, a password, a query and a fragment.

    Any of these may have characters that should have been escaped. What may be part of one is left
    out: all before the last @, and all after the first ? and #.

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
    """Let errors of a root say what an executor may lack: a file system that the driver has."""
    try:
        yield
    except RootError as error:
        error.message += (
            f" (on the executor {socket.gethostname()}: the root has to be on a file system that "
            "the driver and every executor have under the same path)"
        )
        raise


@contextmanager
def unreadable(what: str, source: str) -> Iterator[None]:
    """Make an error of the library of what Oxigraph raises where a store is damaged.

    :param what: cannot be done.
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
    """Let errors say which shard of which version they are about."""
    try:
        yield
    except JellyError as error:
        error.message = f"version {version}, shard {shard}: {error.message}"
        raise
