"""Copy sharded stores between folders and buckets, one version or all of them.

Files are copied unchanged, and verified with their checksums. Files that versions share in the
source are shared in the target.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...notebook import Shown
from .commits import Commit, CommitLog, Shard
from .errors import RootError
from .layout import Root, make_root, new_store_name, open_root
from .storage import AnyRoot, Storage, storage_at
from .storage.files import File, copy_file
from .store import ShardedStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Shown):
    """The result of a copy.

    :ivar version: the newest version of the copy; 0 if the source has none.
    :ivar versions: its number of versions.
    :ivar stores: number of stores of shards.
    :ivar size: bytes of their files, with shared files counted once, and without files that an
        earlier call has copied.
    """

    version: int
    versions: int
    stores: int
    size: int


def copy_store(
    source: AnyRoot,
    target: AnyRoot,
    *,
    version: int | None = None,
    history: bool = False,
    source_options: Mapping[str, Any] | None = None,
    target_options: Mapping[str, Any] | None = None,
) -> Copied:
    """Copy a sharded store to a root that does not exist yet, and verify the copy.

    If a copy fails, the same call completes it: files that were copied are kept. Therefore, copying
    the whole history again adds the versions that were made since.

    The store's positions in logs, and its applied batches, are copied too: what was applied to the
    source is skipped by the copy.

    :param source: root of the store.
    :param target: a folder, or the URL of one in a bucket, which has no versions of another store.
    :param version: the version to copy, by default the newest; it becomes version 1.
    :param history: copy all versions instead, with their numbers; vacuumed versions stay vacuumed.
    :param source_options: settings and credentials of the source's bucket, see
        docs/sharded-store.md.
    :param target_options: settings and credentials of the target's bucket.
    :raises RootError: the store or the version does not exist; or the target has another store; or
        a file is damaged.
    :raises TypeError, ValueError: ``version`` is not a whole number, or ``history`` is given too.
    """
    if history and version is not None:
        raise ValueError("give either version or history, not both")
    copying = _Copying(storage_at(source, source_options), storage_at(target, target_options))
    return copying.history() if history else copying.version(version)


class _Copying:
    """A running copy."""

    def __init__(self, source: Storage, target: Storage) -> None:
        layout = open_root(source)
        self._source = source
        self._target = target
        self._from = CommitLog(source, layout)
        self._layout = layout
        #: Copies of stores, by the names of the originals.
        self._made: dict[str, Shard] = {}
        self._size = 0

    def version(self, version: int | None) -> Copied:
        commit = ShardedStore(self._source, version=version).commit
        first = replace(commit, version=1, restored=None)
        versions = [1] if commit.version else []
        return self._all(self._from.layout_of(commit), versions, lambda _: first)

    def history(self) -> Copied:
        return self._all(self._layout, self._from.versions(), self._from.read)

    def _all(self, layout: Root, versions: Sequence[int], read: Callable[[int], Commit]) -> Copied:
        """Copy versions that the target does not have, and verify the copy.

        :param versions: their numbers.
        :param read: returns a version of the source, with the number that its copy has.
        """
        made = make_root(self._target, layout.shards, layout.shard_by)
        log = CommitLog(self._target, made)
        if made.shards != layout.shards:
            message = f"the target exists, but not with {layout.shards} shards: choose another one"
            raise RootError(message, source=self._target.name)
        there = log.versions()
        before: Commit | None = None
        if there != versions[: len(there)]:
            raise self._taken()
        for version in there:
            before = self._known(read(version), log.read(version))
        for version in versions[len(there) :]:
            before = self._copy(log, read(version), before)
        problems = ShardedStore(self._target).verify()
        if problems:
            message = f"the copy failed verification: {problems[0]}"
            raise RootError(message, source=self._target.name)
        return Copied(
            version=max(versions, default=0),
            versions=len(versions),
            stores=len(self._made),
            size=self._size,
        )

    def _taken(self) -> RootError:
        message = "the target has a sharded store with other versions: choose an empty target"
        return RootError(message, source=self._target.name)

    def _known(self, commit: Commit, copy: Commit) -> Commit:
        """Record the stores that an earlier call has copied.

        :param copy: the target's version with the commit's number.
        :raises RootError: it is not a copy of the commit.
        """
        if copy.id != commit.id:
            raise self._taken()
        for shard, made in zip(commit.shards or (), copy.shards or (), strict=False):
            if shard.store is not None:
                self._made[shard.store] = made
        return copy

    def _copy(self, log: CommitLog, commit: Commit, before: Commit | None) -> Commit:
        """Copy one version.

        :param log: commits of the copy.
        :param before: the copy of the previous version.
        """
        shards = commit.shards
        if shards is not None:
            bases = before.shards if before is not None else None
            if bases is None or len(bases) != len(shards):
                bases = (Shard(),) * len(shards)
            shards = tuple(
                self._shard(commit.version, number, shard, bases[number])
                for number, shard in enumerate(shards)
            )
        archives = before.archives if before is not None else ()
        log.put(replace(commit, shards=shards, archives=archives))
        return log.read(commit.version)

    def _shard(self, version: int, number: int, shard: Shard, base: Shard) -> Shard:
        if shard.named is None or shard.store is None:
            return shard
        if shard.store not in self._made:
            name = new_store_name(number, version)
            checksum = self._store(shard.named, name, base.named)
            self._made[shard.store] = replace(shard, store=name, checksum=checksum)
        return self._made[shard.store]

    def _store(self, store: tuple[str, str], name: str, base: tuple[str, str] | None) -> str:
        """Copy a store, and return the checksum of the list of its files."""
        wanted = self._source.files(*store)
        there = {} if base is None else _contents(self._target.files(*base))
        with self._source.open(*store) as opened, self._target.make(name, base) as making:
            making.folder.mkdir()
            for file, listed in _contents(wanted).items():
                if making.base is not None and there.get(file) == listed:
                    os.link(making.base / file, making.folder / file)
                    continue
                try:
                    copy_file(opened.folder / file, making.folder / file)
                except OSError as error:
                    message = f"{store[0]}/{file} cannot be copied: {error.strerror}"
                    raise RootError(message, source=self._source.name) from error
                self._size += listed[0]
            made = making.finish()
        copied = _contents(self._target.files(name, made))
        for file, listed in _contents(wanted).items():
            if copied.get(file) != listed:
                message = f"{store[0]}/{file}: damaged: its checksum does not match"
                raise RootError(message, source=self._source.name)
        return made


def _contents(files: Mapping[str, File]) -> dict[str, tuple[int, str]]:
    """Return the size and checksum of files, independent of their location."""
    return {name: (file.size, file.checksum) for name, file in files.items()}
