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
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from .checksums import LIST
from .commits import CommitLog
from .errors import CommitConflictError
from .layout import COMMITS, STAGING, Root, open_root, shard_folder
from .positions import FOLDER

DEFAULT_KEEP: Final = 10
DEFAULT_GRACE: Final = timedelta(days=1)
#: What may be of an attempt at work is left so long, however short the grace period is.
LEAST_GRACE: Final = timedelta(hours=1)

_MADE_FOR: Final = re.compile(r"shard=[0-9]+/v([0-9]+)-")


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
    root: str | os.PathLike[str],
    *,
    keep: int = DEFAULT_KEEP,
    grace: timedelta = DEFAULT_GRACE,
    dry_run: bool = False,
) -> Vacuumed:
    """See :meth:`.ShardedStore.vacuum`."""
    if keep < 1:
        raise ValueError(f"keep is {keep}, and the newest version is always kept")
    if grace < timedelta():
        raise ValueError("grace cannot be negative")
    layout = open_root(root)
    log = CommitLog(root, layout)
    now = datetime.now(UTC)
    limit, at_work = now - grace, now - max(grace, LEAST_GRACE)
    stores = _stores(log.root, layout)
    while True:
        head = log.head()
        forgotten, needed = _versions(log, keep, limit)
        unused = [name for name in stores if name not in needed]
        lost = [
            name
            for name in unused
            if _made_for(name) <= head.version and _is_older(log.root / name, limit)
        ]
        pending = [
            name
            for name in unused
            if _made_for(name) > head.version and _is_older(log.root / name, at_work)
        ]
        if dry_run or not pending:
            break
        try:
            log.publish(head.next(operations=0))
            break
        except CommitConflictError:
            # Another one has taken the number; what was pending is lost, or named by it.
            continue
    old = sorted(lost + pending)
    staged = [
        f"{STAGING}/{name}"
        for name in _names(log.root / STAGING)
        if _is_older(log.root / STAGING / name, at_work)
    ] + [
        f"{COMMITS}/{name}"
        for name in _names(log.root / COMMITS)
        if name.endswith(".tmp") and _is_older(log.root / COMMITS / name, at_work)
    ]
    staged += _unused_archives(log, forgotten, at_work)
    size = sum(_freed(log.root / name) for name in old + staged)
    if not dry_run:
        for version in forgotten:
            log.forget(version)
        for name in old + staged:
            _remove(log.root / name)
    return Vacuumed(versions=forgotten, stores=old, staged=staged, size=size)


def _versions(log: CommitLog, keep: int, limit: datetime) -> tuple[list[int], set[str]]:
    """The versions to forget, and the stores that the others name."""
    forgotten = []
    needed: set[str] = set()
    newer = None
    for number, commit in enumerate(log.history()):
        if commit.shards is None:
            continue
        # A version was current until the one after it was made.
        if number >= keep and newer is not None and newer.made() <= limit:
            forgotten.append(commit.version)
        else:
            needed.update(shard.store for shard in commit.shards if shard.store is not None)
        newer = commit
    return forgotten, needed


def unclaimed(log: CommitLog, layout: Root) -> list[str]:
    """Finished stores of versions that do not exist, relative to the root.

    An attempt has made them that is at work, or was killed; or the commit was lost that named them.
    """
    # In this order: what an attempt commits meanwhile is not among them.
    stores = _stores(log.root, layout)
    newest = max(log.versions(), default=0)
    return [
        name for name in stores if _made_for(name) > newest and (log.root / name / LIST).exists()
    ]


def _stores(root: Path, layout: Root) -> list[str]:
    """All stores there are, relative to the root."""
    return [
        f"{shard_folder(shard)}/{name}"
        for shard in range(layout.shards)
        for name in _names(root / shard_folder(shard))
    ]


def _made_for(store: str) -> int:
    """The version that a store was made for; 0 if its name does not say."""
    found = _MADE_FOR.match(store)
    return int(found[1]) if found else 0


def _unused_archives(log: CommitLog, forgotten: list[int], limit: datetime) -> list[str]:
    """Archives of positions that no version names which can be opened."""
    folder = log.root / FOLDER
    names = [name for name in _names(folder) if _is_older(folder / name, limit)]
    if not names:
        return []
    needed = {
        archive.file
        for commit in log.history()
        if commit.version not in forgotten
        for archive in commit.archives
    }
    return [f"{FOLDER}/{name}" for name in names if name not in needed]


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _tree(path: Path) -> Iterator[os.stat_result]:
    """What is known of a folder or file and of all in it, as far as it is still there."""
    try:
        yield path.lstat()
        if path.is_dir() and not path.is_symlink():
            for name in os.listdir(path):
                yield from _tree(path / name)
    except FileNotFoundError:
        return


def _is_older(path: Path, limit: datetime) -> bool:
    # Of a store that is a copy, linked files are as old as the first of them; its folder is not.
    changed = max((found.st_mtime for found in _tree(path)), default=float("inf"))
    return changed <= limit.timestamp()


def _freed(path: Path) -> int:
    return sum(found.st_size for found in _tree(path) if found.st_nlink == 1)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
