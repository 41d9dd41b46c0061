"""Errors of sharded stores; all are a :class:`~jelly_plugins.JellyError`."""

from __future__ import annotations

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
    """Another writer has committed first. Nothing was changed; the call can be repeated."""


class CheckpointError(JellyError):
    """The batches of an application are of another streaming query than before."""


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
