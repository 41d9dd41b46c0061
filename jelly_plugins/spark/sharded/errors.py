"""What goes wrong with sharded stores, as :class:`~jelly_plugins.JellyError` like all else."""

from __future__ import annotations

from ...errors import JellyError


class RootError(JellyError):
    """A folder that is no root of a sharded store, is a damaged one, or one of another layout."""


class CommitConflictError(JellyError):
    """Another writer has committed first. Nothing was changed; the same call may be made again.

    :ivar version: the version that the other writer has made.
    """

    def __init__(self, message: str, *, version: int, source: str | None = None) -> None:
        super().__init__(message, source=source)
        self.version = version
