"""Restore an earlier version: commit its quads and its positions as a new version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .checks import Time, metadata_of
from .commits import Commit, CommitLog, open_log
from .storage import AnyRoot, storage_at


def restore(
    root: AnyRoot,
    version: int | None = None,
    *,
    timestamp: Time | None = None,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Commit:
    """Commit a new version of a sharded store that equals an earlier one. Nothing is copied.

    The version's positions in logs, its namespaces and its applied batches are restored with its
    quads, as if nothing had been applied since. If a log is given again, it is applied from the
    position of that version. If only the continuation after the newest version is given, it is
    rejected because of its ``prev``, like any gap.

    An application whose batches were undone must repeat them, starting with the first; a later
    batch is rejected (:class:`.CheckpointError`). A stream does not repeat batches, so it needs
    another application name and checkpoint; patches with ids that the restored version has are then
    skipped.

    The versions in between remain, and can be restored too.

    :param root: root of the store, see :class:`.ShardedStore`.
    :param version: the version to restore.
    :param timestamp: instead of a version, a time at which it was the newest.
    :param metadata: a description of the new version, see :func:`.apply_patches`.
    :param storage_options: settings and credentials of a bucket, see :class:`.ShardedStore`.
    :return: the new version; the newest one, if that is the version to restore.
    :raises CommitConflictError: another writer has committed a version meanwhile. Nothing was
        restored.
    :raises RootError: the version does not exist, or can no longer be opened.
    :raises TypeError, ValueError: an argument is invalid, see :class:`.ShardedStore`; or neither a
        version nor a time is given.
    """
    if version is None and timestamp is None:
        raise ValueError("give a version or a timestamp")
    metadata = metadata_of(metadata)
    log = open_log(storage_at(root, storage_options))
    # The order matters, see ``cleaning``.
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
        metadata=metadata,
    )
    # If a vacuum removes the old version's stores meanwhile, it commits the next version first.
    return log.publish(commit)


def first_undone(log: CommitLog, application: str, least: int) -> int | None:
    """Return the first batch of an application that was undone and not applied again.

    :param least: minimum number of the batch.
    :return: None if no such batch is known.
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
    """Return the last applied batch of each application with batches that a restore undoes."""
    last = {name: batch.number for name, batch in head.applications.items()}
    for name, number in head.undone.items():
        last[name] = max(number, last.get(name, 0))
    return {
        name: number
        for name, number in last.items()
        if name not in old.applications or old.applications[name].number < number
    }
