"""Find and remove data that a sharded store no longer needs.

Rules of this file:
1. The head, and everything that a kept version names, is never removed. Versions are read by
   number; a listing that is incomplete can only prevent a removal.
2. Nothing younger than the grace period is removed. Data that may belong to an active attempt is
   kept for an hour at least. Ages count from when a file was put, by the storage's clock.
3. First, old versions forget their stores: their commits are replaced by commits that name no
   stores, so that every version that can be opened is complete. The files remain, see ``commits``.
4. Then the vacuum commits a version without changes. A concurrent writer therefore loses the race
   for that version, and cannot name stores that are removed. This concerns a batch that takes
   longer than the grace period, or a restore that has read an old version before it forgot its
   stores. If another writer commits first, the vacuum keeps what that version names.
5. Last, stores are removed that no kept version names. A store is first named by the commit of the
   version that it was made for, so no later commit can name it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from ...notebook import Shown
from .checks import metadata_of
from .commits import Commit, CommitLog, open_log
from .errors import CommitConflictError
from .layout import made_for
from .positions import FOLDER
from .storage import LIST, STAGING, AnyRoot, Found, Storage, storage_at

DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)
#: Minimum age of data that may belong to an active attempt, even with a shorter grace period.
LEAST_GRACE: Final = timedelta(hours=1)

#: What a vacuum considers, including contents: stores, commits, and remains of attempts.
_STORE: Final = re.compile(r"shard=[0-9]+/v[0-9]+-[A-Za-z0-9]+")
_COMMIT: Final = re.compile(r"_commits/([0-9]{12})\.json")
_PASSING: Final = re.compile(
    rf"{STAGING}/[^/]+|{FOLDER}/[^/]+|_commits/[^/]+\.tmp|(_root\.json|clock)\.[0-9a-f]+\.tmp"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuumed(Shown):
    """What a vacuum has removed.

    :ivar versions: numbers of versions that can no longer be opened.
    :ivar stores: folders of stores, relative to the root.
    :ivar staged: folders and files of unfinished attempts, relative to the root.
    :ivar size: approximate number of bytes freed; a file that has other hard links frees none.
    """

    versions: list[int]
    stores: list[str]
    staged: list[str]
    size: int


def vacuum(
    root: AnyRoot,
    *,
    keep: int = DEFAULT_KEEP,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = False,
    metadata: Mapping[str, str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Vacuumed:
    """See :meth:`.ShardedStore.vacuum`."""
    if keep < 1:
        raise ValueError(f"keep must be at least 1 (got {keep}): the newest version is always kept")
    if grace < timedelta():
        raise ValueError(f"grace must not be negative (got {grace})")
    metadata = metadata_of(metadata)
    log = open_log(storage_at(root, storage_options))
    forgotten: list[int] = []
    head = log.head()
    while True:
        # The listing may have missed newer versions.
        while (newer := log.get(head.version + 1)) is not None:
            head = newer
        plan = _Plan(log, head.version, keep, grace)
        forgotten += plan.forgotten
        if dry_run:
            break
        for version in plan.forgotten:
            log.forget(version)
        try:
            if forgotten or plan.takes_what_is_named:
                log.publish(log.read(head.version).next(operations=0, metadata=metadata))
        except CommitConflictError:
            # The other writer's version may name what was unused before.
            continue
        log.storage.remove(each.name for found in plan.removed.values() for each in found)
        break
    return Vacuumed(
        versions=forgotten,
        stores=sorted(plan.stores),
        staged=sorted(plan.passing),
        size=sum(each.size for found in plan.removed.values() for each in found),
    )


class _Contents:
    """The contents of a root, listed once.

    :ivar stores: the files of each store; folders with other names belong to other programs.
    :ivar passing: the files of attempts, archives, and temporary files.
    :ivar commits: time at which each version's commit was put.
    """

    def __init__(self, storage: Storage) -> None:
        self.stores: Final[dict[str, list[Found]]] = {}
        self.passing: Final[dict[str, list[Found]]] = {}
        self.commits: Final[dict[int, float]] = {}
        for each in storage.objects(""):
            name = "/".join(each.name.split("/")[:2])
            if (commit := _COMMIT.fullmatch(each.name)) is not None:
                self.commits[int(commit[1])] = each.changed
            elif _STORE.fullmatch(name):
                self.stores.setdefault(name, []).append(each)
            elif _PASSING.fullmatch(name):
                self.passing.setdefault(name, []).append(each)


class _Plan:
    """What a vacuum removes.

    :ivar forgotten: versions to make unreadable, the newest first.
    :ivar stores: the files to remove, for each store.
    :ivar passing: the other files to remove.
    """

    def __init__(self, log: CommitLog, newest: int, keep: int, grace: timedelta) -> None:
        storage = log.storage
        # Listed first, so that data added later is not considered.
        contents = _Contents(storage)
        now = storage.clock()
        limit = now - grace.total_seconds()
        at_work = now - max(grace, LEAST_GRACE).total_seconds()
        kept, self.forgotten = _versions(log, newest, contents.commits, keep, limit)
        named = {name: each for commit in kept for name, each in commit.stores().items()}
        unused = {
            name: found
            for name, found in contents.stores.items()
            if name not in named
            # A store of a version that does not exist may belong to an active attempt.
            and _is_older(found, limit if made_for(name) <= newest else at_work)
        }
        needed = storage.needed(named.items()) if unused else set()
        self.stores = {
            name: rest
            for name, found in unused.items()
            if (rest := [each for each in found if each.name not in needed])
        }
        archives = {f"{FOLDER}/{each.file}" for commit in kept for each in commit.archives}
        self.passing = {
            name: found
            for name, found in contents.passing.items()
            if name not in archives and _is_older(found, at_work)
        }

    @property
    def takes_what_is_named(self) -> bool:
        """Whether a version may have named any of it: stores, and archives of positions."""
        return bool(self.stores) or any(name.startswith(FOLDER) for name in self.passing)

    @property
    def removed(self) -> dict[str, list[Found]]:
        """All files to remove."""
        return self.stores | self.passing


def _versions(
    log: CommitLog, newest: int, put: Mapping[int, float], keep: int, limit: float
) -> tuple[list[Commit], list[int]]:
    """Return the versions to keep, and the versions to forget.

    :param put: time at which each commit was put.
    """
    kept: list[Commit] = []
    forgotten: list[int] = []
    counted = 0
    for version in range(newest, 0, -1):
        commit = log.get(version)
        if commit is None or commit.shards is None:
            continue
        # A version with the same stores as the next one takes no space: keep it, without counting.
        same = bool(kept) and commit.shards == kept[-1].shards
        # A version was current until the next one was put.
        if not same and counted >= keep and put.get(version + 1, float("inf")) <= limit:
            forgotten.append(version)
        else:
            kept.append(commit)
            counted += not same
    return kept, forgotten


def _is_older(found: list[Found], limit: float) -> bool:
    """Return whether all files were put before a time."""
    return max(each.changed for each in found) <= limit


def unclaimed(log: CommitLog) -> list[str]:
    """Return the finished stores of versions that do not exist, relative to the root.

    They were made by an active or a killed attempt, or the commit that named them was lost.
    """
    # In this order, so that stores that an attempt commits meanwhile are not included.
    stores = _Contents(log.storage).stores
    newest = max(log.versions(), default=0)
    return [
        name
        for name, found in sorted(stores.items())
        if made_for(name) > newest and any(each.name == f"{name}/{LIST}" for each in found)
    ]
