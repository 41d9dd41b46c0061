"""What goes wrong with sharded stores, as :class:`~jelly_plugins.JellyError` like all else."""

from __future__ import annotations

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


@contextmanager
def of_shard(version: int, shard: int) -> Iterator[None]:
    """Let errors say which shard of which version they are about."""
    try:
        yield
    except JellyError as error:
        error.message = f"version {version}, shard {shard}: {error.message}"
        raise
