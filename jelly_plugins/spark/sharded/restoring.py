"""An earlier version made the newest again, with its quads and with what it says was applied."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ...errors import JellyError
from .commits import Commit, CommitLog
from .errors import RootError
from .layout import open_root
from .storage import AnyRoot, storage_at
from .versions import Time, find_version


def restore(
    root: AnyRoot,
    version: int | None = None,
    *,
    timestamp: Time | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Commit:
    """Make a new version of a sharded store that is as an earlier one was. Nothing is copied.

    Its positions in logs, its namespaces and the batches of applications come back with its quads:
    the store is as if nothing had been applied since, so that a log that is given again is applied
    from where the version stood in it. A log of which only what follows the newest version is given
    is refused, as after any gap: by its ``prev``.

    An application whose batches were undone has to give them again, beginning with the first one
    that was; a batch behind the undone ones is refused before it (:class:`.CheckpointError`). A
    stream does not give batches again, so it needs another application name and checkpoint: what
    the restored version has of logs with ids is passed over then.

    The versions in between stay, and can be restored in their turn.

    :param root: as for :class:`.ShardedStore`; likewise ``storage_options``.
    :param version: the version to restore; or ``timestamp``, a time at which it was the newest.
    :return: the newest version: that which was made, or the one there is, if it is to be restored.
    :raises CommitConflictError: another writer has made a version meanwhile. Nothing was restored.
    :raises RootError: there is no such version, or it cannot be opened any more.
    :raises TypeError, ValueError: as for :class:`.ShardedStore`; or neither is given.
    """
    if version is None and timestamp is None:
        raise ValueError("give a version, or a time at which it was the newest")
    storage = storage_at(root, storage_options)
    log = CommitLog(storage, open_root(storage))
    head = log.head()
    old = find_version(log, version, timestamp)
    if old.version == head.version:
        return head
    commit = head.next(
        shards=old.shards,
        quads=old.quads,
        positions=old.positions,
        archives=old.archives,
        applications=old.applications,
        namespaces=old.namespaces,
        operations=0,
        restored=old.version,
        undone=_undone(head, old),
    )
    announcement = log.announce(commit)
    # A vacuum that has made its version forget its stores before has not seen that.
    if not log.read(old.version).readable:
        message = f"a vacuum has removed the stores of version {old.version} meanwhile"
        raise RootError(message, source=storage.name)
    log.publish(commit)
    # It is left for a vacuum otherwise, as after an error.
    with suppress(JellyError, OSError):
        storage.remove([announcement])
    return commit


def first_undone(log: CommitLog, application: str, least: int) -> int | None:
    """The first batch of an application that a restore has undone and that was not applied again.

    :param least: the number that it has at least.
    :return: None if that is known of none.
    """
    found = None
    for commit in log.lineage():
        if application not in commit.undone:
            break
        if commit.restored is None:
            continue
        for version in log.versions():
            if commit.restored < version < commit.version:
                batch = log.read(version).applications.get(application)
                if batch is not None and batch.number >= least:
                    found = batch.number if found is None else min(found, batch.number)
                    break
    return found


def _undone(head: Commit, old: Commit) -> dict[str, int]:
    """The last batches that were applied of those applications of which a restore undoes some."""
    last = {name: batch.number for name, batch in head.applications.items()}
    for name, number in head.undone.items():
        last[name] = max(number, last.get(name, 0))
    return {
        name: number
        for name, number in last.items()
        if name not in old.applications or old.applications[name].number < number
    }
