"""What a sharded store does not need any more, found and removed.

Rules of this file:
1. The head is never touched, nor anything that a version names which is kept.
2. Nothing goes that is younger than the grace period; what may be of an attempt at work is left for
   an hour at least.
3. A store carries the number of the version that it was made for, and no other commit than that one
   can be the first to name it. It is removed only once that number is taken: by whoever was faster,
   or by a commit of the vacuum's own, which changes nothing. So a batch that takes longer than the
   grace period loses its race, as against any other writer, instead of its stores.
4. A commit forgets its stores before they are removed, so that what can be opened is whole. Its
   file stays, see ``commits``.
5. A restore makes the stores of an old version those of a new one, and announces that. What was
   announced or committed until versions were forgotten is looked at before anything is removed; a
   restore looks once it is announced whether its version was forgotten. Before an announcement is
   removed that is left, the number is taken of the version that it is of, see 3.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from .commits import Commit, CommitLog
from .errors import CommitConflictError
from .layout import COMMITS, open_root
from .positions import FOLDER
from .storage import STAGING, AnyRoot, Contents, Storage, storage_at

DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)
#: What may be of an attempt at work is left so long, however short the grace period is.
LEAST_GRACE: Final = timedelta(hours=1)

_SHARD: Final = re.compile(r"shard=[0-9]+")
_MADE_FOR: Final = re.compile(r"shard=[0-9]+/v([0-9]+)-[A-Za-z0-9_.\-]+")


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
    storage_options: Mapping[str, Any] | None = None,
) -> Vacuumed:
    """See :meth:`.ShardedStore.vacuum`."""
    if keep < 1:
        raise ValueError(f"keep is {keep}, not at least 1: the newest version is always kept")
    if grace < timedelta():
        raise ValueError("grace cannot be negative")
    storage = storage_at(root, storage_options)
    log = CommitLog(storage, open_root(storage))
    now = datetime.now(UTC)
    limit, at_work = now - grace, now - max(grace, LEAST_GRACE)
    contents = storage.contents()
    stores = _stores(storage, contents)
    while True:
        head = log.head()
        forgotten, needed = _versions(log, keep, limit)
        unused = [name for name in stores if name not in needed]
        lost = [
            name
            for name in unused
            if _made_for(name) <= head.version and _is_older(contents, name, limit)
        ]
        pending = [
            name
            for name in unused
            if _made_for(name) > head.version and _is_older(contents, name, at_work)
        ]
        late = [
            name
            for name, commit in log.announced().items()
            if commit.version > head.version and _is_older(contents, name, at_work)
        ]
        if dry_run or not (pending or late):
            break
        try:
            log.publish(head.next(operations=0))
            break
        except CommitConflictError:
            # Another one has taken the number; what was pending is lost, or named by it.
            continue
    sweep = contents.sweep(sorted(lost + pending), needed)
    staged = [f"{STAGING}/{name}" for name in contents.names(STAGING)]
    staged += [f"{COMMITS}/{name}" for name in contents.names(COMMITS) if name.endswith(".tmp")]
    staged = [name for name in staged if _is_older(contents, name, at_work)]
    staged += _unused_archives(log, contents, forgotten, at_work)
    size = sum(sweep.sizes.values()) + sum(map(contents.size, staged))
    if not dry_run:
        for version in forgotten:
            log.forget(version)
        restored = _restored(log, head.version)
        named = _named(restored)
        if not named.keys().isdisjoint(sweep.sizes):
            unneeded = [store for store in sweep.sizes if store not in named]
            sweep = contents.sweep(unneeded, needed | named)
        archives = _archives(restored)
        staged = [name for name in staged if name not in archives]
        sweep.run()
        storage.remove(staged)
    return Vacuumed(versions=forgotten, stores=list(sweep.sizes), staged=staged, size=size)


def _versions(
    log: CommitLog, keep: int, limit: datetime
) -> tuple[list[int], dict[str, str | None]]:
    """The versions to forget, and the stores that the others name, with their checksums."""
    forgotten = []
    kept = []
    newer = None
    for number, commit in enumerate(log.history()):
        if commit.shards is None:
            continue
        # A version was current until the one after it was made.
        if number >= keep and newer is not None and newer.made() <= limit:
            forgotten.append(commit.version)
        else:
            kept.append(commit)
        newer = commit
    return forgotten, _named(kept)


def _restored(log: CommitLog, version: int) -> list[Commit]:
    """The versions above one, and those that are announced."""
    # In this order: who removes an announcement has committed it.
    announced = log.announced().values()
    made = [log.read(each) for each in log.versions() if each > version]
    newest = made[-1].version if made else version
    return [*made, *(commit for commit in announced if commit.version > newest)]


def _named(commits: Iterable[Commit]) -> dict[str, str | None]:
    """The stores that versions name, with the checksums of their lists."""
    shards = (shard for commit in commits for shard in commit.shards or ())
    return {shard.store: shard.checksum for shard in shards if shard.store is not None}


def _archives(commits: Iterable[Commit]) -> set[str]:
    """The archives of positions that versions name, relative to the root."""
    return {f"{FOLDER}/{archive.file}" for commit in commits for archive in commit.archives}


def unclaimed(log: CommitLog) -> list[str]:
    """Finished stores of versions that do not exist, relative to the root.

    An attempt has made them that is at work, or was killed; or the commit was lost that named them.
    """
    # In this order: what an attempt commits meanwhile is not among them.
    contents = log.storage.contents()
    stores = _stores(log.storage, contents)
    newest = max(log.versions(), default=0)
    return [name for name in stores if _made_for(name) > newest and contents.is_finished(name)]


def _stores(storage: Storage, contents: Contents) -> list[str]:
    """All stores there are, relative to the root, of however many shards.

    What is not named as a store is somebody else's, and not looked at.
    """
    folders = (name for name in storage.names("") if _SHARD.fullmatch(name))
    names = (f"{folder}/{name}" for folder in folders for name in contents.names(folder))
    return [name for name in names if _MADE_FOR.fullmatch(name)]


def _made_for(store: str) -> int:
    """The version that a store was made for."""
    found = _MADE_FOR.fullmatch(store)
    assert found is not None
    return int(found[1])


def _unused_archives(
    log: CommitLog, contents: Contents, forgotten: list[int], limit: datetime
) -> list[str]:
    """Archives of positions that no version names which can be opened."""
    found = (f"{FOLDER}/{name}" for name in contents.names(FOLDER))
    names = [name for name in found if _is_older(contents, name, limit)]
    if not names:
        return []
    needed = _archives(commit for commit in log.history() if commit.version not in forgotten)
    return [name for name in names if name not in needed]


def _is_older(contents: Contents, name: str, limit: datetime) -> bool:
    return contents.changed(name) <= limit.timestamp()
