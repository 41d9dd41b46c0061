"""What a sharded store does not need any more, found and removed.

Rules of this file:
1. The head is never touched, nor anything that a version names which is kept. What versions name is
   read by their numbers; a list that lacks some of what there is can only save what could go.
2. Nothing goes that is younger than the grace period; what may be of an active attempt is left for
   an hour at least. Ages are those since a file was put, by the storage's clock.
3. First, old versions forget their stores: their commits are replaced by ones that name none, so
   that what can be opened is whole. Their files stay, see ``commits``.
4. Then the vacuum makes a version, which changes nothing. So whatever is active loses its race, as
   against any other writer, and cannot name what is removed: a batch that takes longer than the
   grace period, or a restore that has read an old version before that has forgotten its stores. If
   another writer was faster, what its version names is kept.
5. Last, stores are removed that no version names which is kept. Only the commit of the version that
   a store was made for can be the first to name it, so that none can any more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from .commits import Commit, CommitLog, open_log
from .errors import CommitConflictError
from .layout import made_for
from .positions import FOLDER
from .settings import metadata_of
from .storage import LIST, STAGING, AnyRoot, Found, Storage

DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)
#: What may be of an active attempt is left so long, however short the grace period is.
LEAST_GRACE: Final = timedelta(hours=1)

#: What a vacuum looks at, with what is in it: stores, commits, and what may be left of attempts.
_STORE: Final = re.compile(r"shard=[0-9]+/v[0-9]+-[A-Za-z0-9]+")
_COMMIT: Final = re.compile(r"_commits/([0-9]{12})\.json")
_PASSING: Final = re.compile(
    rf"{STAGING}/[^/]+|{FOLDER}/[^/]+|_commits/[^/]+\.tmp|(_root\.json|clock)\.[0-9a-f]+\.tmp"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuumed:
    """What a vacuum has removed.

    :ivar versions: numbers of versions that cannot be opened any more.
    :ivar stores: folders of stores, relative to the root.
    :ivar staged: folders and files that were on their way, relative to the root.
    :ivar size: bytes that were freed, about: a file that stays elsewhere by a hard link frees none.
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
        raise ValueError(f"keep is {keep}, not at least 1: the newest version is always kept")
    if grace < timedelta():
        raise ValueError("grace cannot be negative")
    said = metadata_of(metadata)
    log = open_log(root, storage_options)
    forgotten: list[int] = []
    head = log.head()
    while True:
        # Whether there are newer ones than were listed.
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
                log.publish(log.read(head.version).next(operations=0, metadata=said))
        except CommitConflictError:
            # What was not needed may be named by now.
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
    """What there is in a root, listed once.

    :ivar stores: what is in each store; what is not named as one belongs to another program.
    :ivar passing: likewise of attempts, of archives, and of temporary files.
    :ivar commits: when commits were put, by their versions.
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
    """What a vacuum is to remove.

    :ivar forgotten: versions that are to be made unreadable, the newest first.
    :ivar stores: for each store what is to be removed of it.
    :ivar passing: likewise for what else is left.
    """

    def __init__(self, log: CommitLog, newest: int, keep: int, grace: timedelta) -> None:
        storage = log.storage
        # Listed first: what comes meanwhile is not in it.
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
            # One of a version that does not exist may be an active attempt's.
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
        """Whether a version may have named some of it: stores, and archives of positions."""
        return bool(self.stores) or any(name.startswith(FOLDER) for name in self.passing)

    @property
    def removed(self) -> dict[str, list[Found]]:
        """All that is to be removed."""
        return self.stores | self.passing


def _versions(
    log: CommitLog, newest: int, put: Mapping[int, float], keep: int, limit: float
) -> tuple[list[Commit], list[int]]:
    """The versions that are kept, and those to forget.

    :param put: when commits were put.
    """
    kept: list[Commit] = []
    forgotten: list[int] = []
    counted = 0
    for version in range(newest, 0, -1):
        commit = log.get(version)
        if commit is None or commit.shards is None:
            continue
        # One that has the stores of the one after it costs nothing: it stays, and is not counted.
        same = bool(kept) and commit.shards == kept[-1].shards
        # A version was current until the one after it was put.
        if not same and counted >= keep and put.get(version + 1, float("inf")) <= limit:
            forgotten.append(version)
        else:
            kept.append(commit)
            counted += not same
    return kept, forgotten


def _is_older(found: list[Found], limit: float) -> bool:
    """Whether all of some files were put before a time."""
    return max(each.changed for each in found) <= limit


def unclaimed(log: CommitLog) -> list[str]:
    """Finished stores of versions that do not exist, relative to the root.

    An active attempt has made them, or one that was killed; or the commit was lost that named them.
    """
    # In this order: what an attempt commits meanwhile is not among them.
    stores = _Contents(log.storage).stores
    newest = max(log.versions(), default=0)
    return [
        name
        for name, found in sorted(stores.items())
        if made_for(name) > newest and any(each.name == f"{name}/{LIST}" for each in found)
    ]
