"""An earlier version made the newest again, with its quads and with what it says was applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .commits import Commit, CommitLog, open_log
from .settings import Time, metadata_of
from .storage import AnyRoot


def restore(
    root: AnyRoot,
    version: int | None = None,
    *,
    timestamp: Time | None = None,
    metadata: Mapping[str, str] | None = None,
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
    :param metadata: what is to be said of the new version, see :func:`.apply_patches`.
    :return: the newest version: that which was made, or the one there is, if it is to be restored.
    :raises CommitConflictError: another writer has made a version meanwhile. Nothing was restored.
    :raises RootError: there is no such version, or it cannot be opened any more.
    :raises TypeError, ValueError: as for :class:`.ShardedStore`; or neither is given.
    """
    if version is None and timestamp is None:
        raise ValueError("give a version, or a time at which it was the newest")
    said = metadata_of(metadata)
    log = open_log(root, storage_options)
    # In this order, see ``cleaning``.
    head = log.head()
    old = log.find(version, timestamp)
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
        metadata=said,
    )
    # Had a vacuum made the old version forget its stores meanwhile, it has made the next version.
    return log.publish(commit)


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
