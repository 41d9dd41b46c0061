"""The versions of a sharded store: a log of commits, each of which says what all shards are.

Rules of this file:
1. A version exists if and only if its commit file does. Files are numbered without gaps from 1.
2. A commit file appears whole, by put-if-absent, and its name is never free again: what loses the
   race for a number, however late it comes, can tell.
3. What a commit names is complete and on the disk before the commit is.

Stores themselves are not touched here. No Spark, no Oxigraph.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import uuid4

from ...errors import LimitError
from ...patch.replay.position import Position
from . import documents
from .documents import parse_json, seal
from .errors import CommitConflictError, RootError
from .layout import COMMITS, FORMAT, MAX_SHARDS, Root, ShardBy, made_for, make_root, open_root
from .positions import FOLDER, Archive, packed, plain, position_of, unpacked
from .settings import Time, parse_time, whole_number
from .storage import LIST, AnyRoot, storage_at

#: How far a writer's clock may be from the storage's, and the head's time be in the future.
TOLERANCE: Final = timedelta(minutes=1)

_NAME: Final = re.compile(r"([0-9]{12})\.json")

#: The names of archives.
_ARCHIVE: Final = re.compile(r"[0-9a-f]+\.json")
_STORE: Final = re.compile(r"shard=([0-9]+)/v[0-9]+-[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Shard:
    """What one shard is in one version.

    :ivar store: folder of its store, relative to the root; None if nothing was ever in it.
    :ivar quads: number of quads in it.
    :ivar checksum: of the list of its store's files; None if it has none.
    """

    store: str | None = None
    quads: int = 0
    checksum: str | None = None

    @property
    def named(self) -> tuple[str, str] | None:
        """Its store and checksum."""
        return None if self.store is None or self.checksum is None else (self.store, self.checksum)


class Place(NamedTuple):
    """Where a row stands in a file of patches: number of its patch, and its own, from 0."""

    patch: int
    order: int

    def continues(self, before: Place | None) -> bool:
        """Whether this may be a later row of the same patch."""
        return before is not None and self.patch == before.patch and self.order > before.order


@dataclass(frozen=True, slots=True)
class Batch:
    """The last batch of an application that was applied.

    :ivar number: its number; none that is lower or equal is applied again.
    :ivar log: the log that it has reached a position in, None if there was none.
    :ivar last: where its last row stands; None if it came in no file of rows.
    :ivar query: id of the streaming query that numbers the batches, which its checkpoint keeps;
        None if no query does, or if it is not known.
    """

    number: int
    log: str | None = None
    last: Place | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One version.

    :ivar version: its number; 0 is the empty store that no commit has made.
    :ivar id: a random name, by which a writer knows its own commit again.
    :ivar timestamp: when it was made, UTC, in the format of RFC 3339: later than all before it.
    :ivar shards: the shards in their order; None once :meth:`CommitLog.forget` took them away.
    :ivar quads: number of quads in all shards.
    :ivar positions: where the stores stand in the logs that were applied, all of them.
    :ivar archives: files that have positions; those that a commit was read with, or follows.
    :ivar applications: the last batch of each application that was applied.
    :ivar namespaces: what the patches have bound, IRI by name, by the text of the graph's name.
    :ivar operations: operations on statements that this commit has applied.
    :ivar restored: the version whose content this one has, if it was made by a restore.
    :ivar undone: the last batch of each application that has a batch which was applied, undone by a
        restore, and not applied again: what has a higher number does not follow.
    :ivar metadata: what its writer says of it.
    """

    version: int = 0
    id: str = ""
    timestamp: str = ""
    shards: tuple[Shard, ...] | None
    quads: int = 0
    positions: tuple[Position, ...] = ()
    applications: Mapping[str, Batch] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    operations: int = 0
    archives: tuple[Archive, ...] = ()
    restored: int | None = None
    undone: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def readable(self) -> bool:
        """Whether the version can be opened: no vacuum has removed its stores."""
        return self.shards is not None

    def made(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.timestamp)

    def ahead(self) -> str | None:
        """What is said of a version whose time is in the future, by the clock here."""
        if not self.timestamp or self.made() <= datetime.now(UTC) + TOLERANCE:
            return None
        minutes = int((self.made() - datetime.now(UTC)).total_seconds() // 60)
        return f"its time, {self.timestamp}, is {minutes:,} minutes in the future"

    def stores(self) -> dict[str, str]:
        """The stores that it names, with the checksums of their lists."""
        return dict(each.named for each in self.shards or () if each.named is not None)

    def next(self, **changes: Any) -> Commit:
        """The commit after this one, with the same content but for ``changes``.

        Its time is that of this one, until it is published.
        """
        new: dict[str, Any] = {
            "version": self.version + 1,
            "id": uuid4().hex,
            "restored": None,
            "metadata": {},
        }
        return replace(self, **new | changes)


class CommitLog:
    """The commits of a root.

    :param root: where it lies.
    :param layout: how it is laid out.

    :ivar storage: where the root lies.
    """

    def __init__(self, root: AnyRoot, layout: Root) -> None:
        self.storage = storage_at(root)
        self._layout = layout

    def layout_of(self, commit: Commit) -> Root:
        """How the root is laid out in one version, which can be opened: its number of shards."""
        assert commit.shards is not None
        return replace(self._layout, shards=len(commit.shards))

    def check_shards(self, commit: Commit, asked: int | None) -> None:
        """Refuse a number of shards that is not that of a version.

        :raises RootError: it is another one.
        """
        there = self.layout_of(commit).shards
        if asked not in (None, there):
            raise RootError(f"there are {there} shards, not {asked}", source=self.storage.name)

    def versions(self) -> list[int]:
        """The numbers of all versions, without 0, in order.

        :raises RootError: there are some, but they are not listed.
        """
        names = self.storage.names(COMMITS)
        # Some lists, put together of pages, have a name twice.
        found = sorted({int(found[1]) for found in map(_NAME.fullmatch, names) if found})
        # A proxy's page is a list of nothing to some clients, and nobody's quads are none.
        if not found and self.storage.exists(_name(1)):
            raise RootError(
                f"there is a version 1, but {COMMITS} is listed as empty", source=self.storage.name
            )
        return found

    def gaps(self) -> Iterator[tuple[int, int]]:
        """The versions before the newest that have no commit file: first and last of each gap.

        No writer leaves any: a file was removed. What other versions are is not changed by that.
        """
        expected = 1
        for version in self.versions():
            if version > expected:
                yield expected, version - 1
            expected = version + 1

    def head(self) -> Commit:
        """The newest version."""
        versions = self.versions()
        return self.read(versions[-1] if versions else 0)

    def get(self, version: int) -> Commit | None:
        """One version, without the positions that are in archives; None if there is none.

        Whether there is does not depend on what is listed.

        :raises RootError: its file is damaged.
        """
        name = _name(version)
        place = self.storage.place(name)
        try:
            found = parse_json(self.storage.read(name), place)
        except FileNotFoundError:
            return None
        try:
            commit = _commit(found)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RootError(f"not a commit: {error!r}", source=place) from error
        if commit.version != version:
            raise RootError(f"this is the commit of version {commit.version}", source=place)
        return commit

    def find(self, version: int | None = None, timestamp: Time | None = None) -> Commit:
        """A version that can be opened; the newest, unless one is given.

        :param version: its number.
        :param timestamp: a time at which it was the newest.
        :raises RootError: there is none, or it cannot be opened any more.
        :raises TypeError, ValueError: the version is not a whole number, or the time none with a
            time zone; or both are given.
        """
        if version is not None and timestamp is not None:
            raise ValueError("a version is given by its number or by a time, not by both")
        if timestamp is not None:
            commit = self.at(parse_time(timestamp))
        elif version is not None:
            commit = self.read(whole_number("version", version))
        else:
            commit = self.head()
        if not commit.readable:
            message = f"the stores of version {commit.version} were removed by a vacuum"
            raise RootError(message, source=self.storage.name)
        return commit

    def history(self) -> Iterator[Commit]:
        """All versions, the newest first."""
        for version in reversed(self.versions()):
            yield self.read(version)

    def lineage(self) -> Iterator[Commit]:
        """The versions that the newest has come from, the newest first.

        What a restore has undone is not among them.

        :raises RootError: a commit is damaged.
        """
        below: int | None = None
        for version in reversed(self.versions()):
            if below is None or version <= below:
                commit = self.read(version)
                yield commit
                below = version - 1 if commit.restored is None else commit.restored

    def at(self, timestamp: datetime) -> Commit:
        """The version that was the newest at a time.

        :raises RootError: there was none yet.
        """
        versions = self.versions()
        found = bisect_right(versions, timestamp, key=lambda version: self._read(version).made())
        if not found:
            first = (
                f"the first was made at {self._read(versions[0]).timestamp}"
                if versions
                else ("there is none")
            )
            message = f"there was no version at {timestamp.isoformat()}: {first}"
            raise RootError(message, source=self.storage.name)
        return self.read(versions[found - 1])

    def read(self, version: int) -> Commit:
        """One version.

        :raises RootError: there is none of this number, or its file is damaged.
        """
        if version == 0:
            return Commit(shards=(Shard(),) * self._layout.shards)
        commit = self._read(version)
        if not commit.archives:
            return commit
        positions = unpacked(self.storage, commit.positions, commit.archives)
        return replace(commit, positions=positions)

    def _read(self, version: int) -> Commit:
        """One version, without the positions that are in archives."""
        commit = self.get(version)
        if commit is None:
            raise self._absent(version)
        return commit

    def _absent(self, version: int) -> RootError:
        """The error of a version whose commit is not found."""
        message = f"there is no version {version}"
        # Where the others cannot be listed, nothing more is known.
        with suppress(RootError):
            versions = self.versions()
            if version in versions:
                message = (
                    f"version {version} is listed, but {_name(version)} is said not to be there: "
                    "it was removed just now, or one of the two answers is wrong"
                )
            elif versions and version < versions[-1]:
                message += f": its commit is lost, as there is a version {versions[-1]}"
        return RootError(message, source=self.storage.name)

    def publish(self, commit: Commit) -> Commit:
        """Make a commit the head, with the time that it is now.

        Clocks of writers may be wrong: where the one here differs from the storage's, which all of
        them have in common, that counts. In any case versions have times in their order.

        :return: the commit.
        :raises CommitConflictError: there is one of its number already.
        :raises RootError: a store that it names is not there.
        :raises LimitError: it is too long to be read again.
        """
        here = datetime.now(UTC)
        there = datetime.fromtimestamp(self.storage.clock(), UTC)
        made = here if abs(here - there) < TOLERANCE else there
        if commit.timestamp:
            made = max(made, commit.made() + timedelta(milliseconds=1))
        commit = replace(commit, timestamp=made.isoformat(timespec="milliseconds"))
        self.put(commit)
        return commit

    def put(self, commit: Commit) -> None:
        """Put a commit as it is, see :meth:`publish`."""
        data, archives = self._written(commit)
        name = _name(commit.version)
        # Those of earlier versions are kept by what named them first.
        new = [store for store in commit.stores() if made_for(store) == commit.version]
        gone = self.storage.missing(f"{store}/{LIST}" for store in new)
        # Of what has lost the race, anything may be gone.
        if gone is not None and not self.storage.exists(name):
            raise RootError(f"{gone} is not there any more", source=self.storage.name)
        for archive, content in archives.items():
            self.storage.put_if_absent(archive, content)
        if not self.storage.put_if_absent(name, data):
            self.storage.remove(archives)
            raise self.conflict(commit.version)

    def conflict(self, version: int) -> CommitConflictError:
        """The error of a writer whose version another one has made."""
        return CommitConflictError(
            f"another writer has committed version {version} first; nothing of this batch was "
            "applied, and the same call may be made again",
            version=version,
            source=self.storage.name,
        )

    def _written(self, commit: Commit) -> tuple[bytes, dict[str, bytes]]:
        """The bytes of a commit, and those of files that it names and that are not there yet."""
        lively = frozenset(
            each.log for each in commit.applications.values() if each.log is not None
        )
        inline, archives, new = packed(self.storage, commit.positions, commit.archives, lively)
        data = _bytes(replace(commit, positions=inline, archives=archives))
        for each in (data, *new.values()):
            excess = documents.excess_of(each)
            if excess is not None:
                raise LimitError(
                    f"the commit of version {commit.version} would be {excess}, which cannot be "
                    "read: it has too many or too long names of logs, applications and namespaces",
                    source=self.storage.name,
                )
        return data, {f"{FOLDER}/{name}": each for name, each in new.items()}

    def forget(self, version: int) -> None:
        """Take the names of its stores out of a commit, so that they may be removed.

        Those of archives of positions too. The file stays: as long as its name is taken, no late
        writer can make this version again.
        """
        commit = self._read(version)
        if commit.shards is not None:
            data = _bytes(replace(commit, shards=None, archives=()))
            self.storage.replace(_name(version), data)


def open_log(root: AnyRoot, options: Mapping[str, Any] | None = None) -> CommitLog:
    """The commits of a root that is there.

    :param options: settings and credentials of a bucket.
    :raises RootError: there is none.
    """
    storage = storage_at(root, options)
    return CommitLog(storage, open_root(storage))


def make_log(
    root: AnyRoot,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    *,
    create: bool = True,
) -> CommitLog:
    """The commits of a root, which is made if it is not there, see :func:`.make_root`.

    :raises RootError: the newest version has another number of shards.
    """
    log = CommitLog(root, make_root(root, shards, shard_by, create=create))
    if shards is not None:
        log.check_shards(log.head(), shards)
    return log


def _name(version: int) -> str:
    return f"{COMMITS}/{version:012d}.json"


def _bytes(commit: Commit) -> bytes:
    positions = [plain(each) for each in commit.positions]
    return seal(
        {"format": FORMAT} | asdict(replace(commit, positions=())) | {"positions": positions}
    )


def _commit(found: dict[str, Any]) -> Commit:
    """A commit from JSON.

    :raises KeyError, TypeError, ValueError, AttributeError: it is none.
    """
    if found["format"] != FORMAT or "checksum" not in found:
        raise ValueError(f"format {found['format']!r}, or without its checksum")
    shards, restored = found["shards"], found["restored"]
    made = datetime.fromisoformat(found["timestamp"])
    if made.utcoffset() is None:
        raise ValueError(f"{found['timestamp']!r} has no time zone")
    commit = Commit(
        version=_natural(found["version"]),
        id=_text(found["id"]),
        timestamp=made.isoformat(timespec="milliseconds"),
        shards=None if shards is None else tuple(map(_shard, range(len(shards)), shards)),
        quads=_natural(found["quads"]),
        positions=tuple(map(position_of, found["positions"])),
        applications={name: _batch(batch) for name, batch in found["applications"].items()},
        namespaces={graph: _texts(bound) for graph, bound in found["namespaces"].items()},
        operations=_natural(found["operations"]),
        archives=tuple(map(_archive, found["archives"])),
        restored=None if restored is None else _natural(restored),
        undone={name: _natural(batch) for name, batch in found["undone"].items()},
        metadata=_texts(found["metadata"]),
    )
    if commit.shards == () or len(commit.shards or ()) > MAX_SHARDS:
        raise ValueError(f"{len(shards)} shards")
    if commit.restored is not None and commit.restored >= commit.version:
        raise ValueError(f"version {commit.restored} is restored")
    return commit


def _shard(number: int, found: dict[str, Any]) -> Shard:
    store, checksum = found["store"], found["checksum"]
    if store is None:
        return Shard(quads=_natural(found["quads"]))
    # Nothing outside of the root, nor another shard's, is to be opened because a file says so.
    match = _STORE.fullmatch(store)
    if match is None or int(match[1]) != number:
        raise ValueError(f"the store of shard {number} is {store!r}")
    return Shard(store, _natural(found["quads"]), _text(checksum))


def _batch(found: dict[str, Any]) -> Batch:
    log, last, query = found["log"], found["last"], found["query"]
    return Batch(
        _natural(found["number"]),
        None if log is None else _text(log),
        None if last is None else Place(*map(_natural, last)),
        None if query is None else _text(query),
    )


def _archive(found: dict[str, Any]) -> Archive:
    file = _text(found["file"])
    if _ARCHIVE.fullmatch(file) is None:
        raise ValueError(f"an archive is {file!r}")
    return Archive(file, _natural(found["positions"]), _text(found["checksum"]))


def _natural(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a number")
    return value


def _text(value: Any) -> str:
    if type(value) is not str:
        raise TypeError(f"{value!r} is not text")
    return value


def _texts(found: dict[str, Any]) -> dict[str, str]:
    return {name: _text(each) for name, each in found.items()}
