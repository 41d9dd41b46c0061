"""Restore a version, remove what is no longer needed, and check a store."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final

from ...errors import JellyError
from ...notebook import Shown
from .root import (
    CommitConflictError,
    RootError,
    Version,
    commit,
    every,
    find,
    version_file,
    whole_number,
)
from .storage import AnyRoot, storage_at
from .store import reading

#: Default number of versions that a vacuum keeps, and for how long it keeps others.
DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Vacuumed(Shown):
    """What a vacuum has removed.

    :ivar versions: numbers of the versions.
    :ivar stores: names of stores, or of objects in a bucket, relative to the root.
    """

    versions: tuple[int, ...]
    stores: tuple[str, ...]


def restore(
    root: AnyRoot, version: int, *, storage_options: Mapping[str, Any] | None = None
) -> Version:
    """Create a version with the quads, namespaces and positions in logs of an earlier one.

    No store is copied. A log that is given again is applied from its position in that version. The
    numbers of batches stay those of the newest version, so that a streaming query continues.

    :param root: see :class:`.ShardedStore`, and for ``storage_options``.
    :param version: number of the version.
    :return: the new version.
    :raises RootError: the version does not exist, or was vacuumed.
    :raises CommitConflictError: another writer has committed first; nothing was changed.
    """
    storage = storage_at(root, storage_options)
    number = whole_number("version", version)
    # In this order: a vacuum that removes the old version makes a newer one than this.
    now = find(storage)
    old = find(storage, number)
    return commit(storage, now, replace(old, batches=now.batches, restored=number))


def vacuum(
    root: AnyRoot,
    *,
    keep: int = DEFAULT_KEEP,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> Vacuumed:
    """Remove old versions, stores that only these need, and remains of failed attempts.

    Before it removes stores, this creates a version with the content of the newest one: attempts
    that have begun before can then no longer commit what is removed, and start again.

    :param root: see :class:`.ShardedStore`, and for ``storage_options``.
    :param keep: number of versions to keep, the newest ones; at least 1.
    :param grace: nothing is removed that was written, or was the newest version, within this time.
        It must be longer than any reader keeps a version open.
    :param dry_run: remove nothing, and return what would be removed.
    :return: what was removed.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if whole_number("keep", keep) < 1:
        raise ValueError(f"keep must be at least 1 (got {keep})")
    if not isinstance(grace, timedelta):
        raise TypeError(f"grace must be a timedelta, such as timedelta(hours=24) (got {grace!r})")
    if grace < timedelta():
        raise ValueError(f"grace must not be negative (got {grace})")
    storage = storage_at(root, storage_options)
    stored = storage.stored()
    versions = every(storage)
    if not versions:
        raise RootError("there is no sharded store here", source=storage.name)
    seconds = grace.total_seconds()
    # A version was the newest one until the next one was committed.
    old = [
        version.number for newer, version in pairwise(versions[keep - 1 :]) if newer.age >= seconds
    ]

    def unneeded(versions: list[Version]) -> list[str]:
        kept = (each for each in versions if each.number not in old)
        needed = {name for each in kept for name in each.stored()}
        return [name for name, age in stored.items() if name not in needed and age >= seconds]

    found = unneeded(versions)
    if dry_run:
        return Vacuumed(tuple(sorted(old)), tuple(sorted(found)))
    storage.remove(map(version_file, old))
    if found:
        # After this, no attempt or restore that has begun before can commit: the version of
        # another writer serves as well. What was committed in the meantime is needed.
        with suppress(CommitConflictError):
            newest = find(storage)
            commit(storage, newest, newest)
        found = unneeded(every(storage))
        storage.remove(found)
    return Vacuumed(tuple(sorted(old)), tuple(sorted(found)))


def verify(
    root: AnyRoot, version: int | None = None, *, storage_options: Mapping[str, Any] | None = None
) -> list[str]:
    """Open each store of a version, read it, and compare its number of quads with the version's.

    :param root: see :class:`.ShardedStore`, and for the other parameters.
    :return: a message for each problem; empty if there are none.
    :raises RootError: the version does not exist, or its file is damaged.
    """
    storage = storage_at(root, storage_options)
    problems = []
    for number, shard in enumerate(find(storage, version).shards):
        if shard.store is None:
            continue
        try:
            with reading(storage, shard) as store:
                quads = sum(1 for _ in store)
        except JellyError as error:
            problems.append(f"shard {number}: {error.message}")
            continue
        if quads != shard.quads:
            problems.append(
                f"shard {number}: {shard.store} has {quads} quads, and the version {shard.quads}"
            )
    return problems
