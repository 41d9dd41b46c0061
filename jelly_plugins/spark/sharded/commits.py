"""The versions of a sharded store: a log of commits, each of which describes all shards.

Rules of this file:
1. A version exists if and only if its commit file does. Files are numbered without gaps from 1.
2. A commit file is created atomically, by put-if-absent, and its name is never released: a writer
   that loses the race for a number always detects it, however late it is.
3. Everything that a commit names is complete and durable before the commit is written.

Does not modify stores. No Spark, no Oxigraph.
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
from . import documents
from .checks import Time, parse_time, whole_number
from .documents import parse_json, seal
from .errors import CommitConflictError, RootError
from .layout import COMMITS, FORMAT, MAX_SHARDS, Root, ShardBy, made_for, make_root, open_root
from .positions import FOLDER, Archive, packed, position_of, to_fields, unpacked
from .replaying.position import Position
from .storage import LIST, Storage

#: Tolerated difference between a writer's clock and the storage's, and of the head's time to now.
TOLERANCE: Final = timedelta(minutes=1)

_NAME: Final = re.compile(r"([0-9]{12})\.json")

#: The names of archives.
_ARCHIVE: Final = re.compile(r"[0-9a-f]+\.json")
_STORE: Final = re.compile(r"shard=([0-9]+)/v[0-9]+-[A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard in one version.

    :ivar store: folder of its store, relative to the root; None if nothing was ever added.
    :ivar quads: number of quads.
    :ivar checksum: checksum of the list of its store's files; None without a store.
    """

    store: str | None = None
    quads: int = 0
    checksum: str | None = None

    @property
    def named(self) -> tuple[str, str] | None:
        """The store and its checksum."""
        return None if self.store is None or self.checksum is None else (self.store, self.checksum)


class RowPosition(NamedTuple):
    """The position of a row in a patch file: number of its patch, and of the row, from 0."""

    patch: int
    order: int

    def continues(self, before: RowPosition | None) -> bool:
        """Return whether this may be a later row of the same patch."""
        return before is not None and self.patch == before.patch and self.order > before.order


@dataclass(frozen=True, slots=True)
class Batch:
    """The last applied batch of an application.

    :ivar number: number of the batch; batches with this or a lower number are skipped.
    :ivar log: log in which it reached a position; None if it reached none.
    :ivar last: position of its last row; None if it was not read from a file of rows.
    :ivar query: id of the streaming query that numbers the batches, which its checkpoint keeps;
        None without a query, or if it is unknown.
    """

    number: int
    log: str | None = None
    last: RowPosition | None = None
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """One version.

    :ivar version: its number; 0 is the empty store before the first commit.
    :ivar id: random id, with which a writer recognises its own commit.
    :ivar timestamp: UTC time of the commit in the format of RFC 3339; later than those before it.
    :ivar shards: the shards in order; None after :meth:`CommitLog.forget`.
    :ivar quads: number of quads in all shards.
    :ivar positions: the store's positions in all logs that were applied.
    :ivar archives: files with positions, as read with the commit or inherited from the one before.
    :ivar applications: the last applied batch of each application.
    :ivar namespaces: IRI by name that patches have bound, by text of the graph's name.
    :ivar operations: number of operations on statements that this commit has applied.
    :ivar restored: the version with the same content, if this commit is a restore.
    :ivar undone: for each application with applied batches that a restore has undone and that were
        not applied again, the last of them; batches with higher numbers are rejected.
    :ivar metadata: the writer's description of the version.
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
        """Return the time of the commit."""
        return datetime.fromisoformat(self.timestamp)

    def ahead(self) -> str | None:
        """Return a warning if the version's time is in the future, by the local clock."""
        if not self.timestamp or self.made() <= datetime.now(UTC) + TOLERANCE:
            return None
        minutes = int((self.made() - datetime.now(UTC)).total_seconds() // 60)
        return f"its time, {self.timestamp}, is {minutes:,} minutes in the future"

    def stores(self) -> dict[str, str]:
        """Return the stores that the commit names, with the checksums of their lists of files."""
        return dict(each.named for each in self.shards or () if each.named is not None)

    def next(self, **changes: Any) -> Commit:
        """Return a commit for the next version, with the same content except for ``changes``.

        It has the time of this commit until it is published.
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

    :ivar storage: the storage of the root.
    :param layout: its layout.
    """

    def __init__(self, storage: Storage, layout: Root) -> None:
        self.storage = storage
        self._layout = layout

    def layout_of(self, commit: Commit) -> Root:
        """Return the layout of a version that can be opened: with its number of shards."""
        assert commit.shards is not None
        return replace(self._layout, shards=len(commit.shards))

    def versions(self) -> list[int]:
        """Return the numbers of all versions except 0, in order.

        :raises RootError: there are versions, but they are not listed.
        """
        names = self.storage.names(COMMITS)
        # A listing in several pages may repeat a name.
        found = sorted({int(found[1]) for found in map(_NAME.fullmatch, names) if found})
        # Some clients take a proxy's error page for an empty listing, which must not lose data.
        if not found and self.storage.exists(_name(1)):
            raise RootError(
                f"version 1 exists, but {COMMITS} is listed as empty: the storage's listing is "
                "wrong",
                source=self.storage.name,
            )
        return found

    def gaps(self) -> Iterator[tuple[int, int]]:
        """Return the first and last version of each gap: versions without a commit file.

        Writers leave no gaps, so a file was removed. Other versions are not affected.
        """
        expected = 1
        for version in self.versions():
            if version > expected:
                yield expected, version - 1
            expected = version + 1

    def head(self) -> Commit:
        """Return the newest version."""
        versions = self.versions()
        return self.read(versions[-1] if versions else 0)

    def get(self, version: int) -> Commit | None:
        """Return a version, without the positions in archives; None if it does not exist.

        Does not depend on listings.

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
            raise RootError(f"damaged: it has the commit of version {commit.version}", source=place)
        return commit

    def find(self, version: int | None = None, timestamp: Time | None = None) -> Commit:
        """Return a version that can be opened, by default the newest.

        :param version: its number.
        :param timestamp: a time at which it was the newest.
        :raises RootError: it does not exist, or can no longer be opened.
        :raises TypeError, ValueError: the version is not a whole number, or the time is invalid or
            has no time zone; or both are given.
        """
        if version is not None and timestamp is not None:
            raise ValueError("give either version or timestamp, not both")
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
        """Return all versions, the newest first."""
        for version in reversed(self.versions()):
            yield self.read(version)

    def lineage(self) -> Iterator[Commit]:
        """Return the newest version and its ancestors, the newest first.

        Versions that a restore has undone are not included.

        :raises RootError: a commit is damaged.
        """
        below: int | None = None
        for version in reversed(self.versions()):
            if below is None or version <= below:
                commit = self.read(version)
                yield commit
                below = version - 1 if commit.restored is None else commit.restored

    def at(self, timestamp: datetime) -> Commit:
        """Return the version that was the newest at a time.

        :raises RootError: there was no version yet.
        """
        versions = self.versions()
        found = bisect_right(versions, timestamp, key=lambda version: self._read(version).made())
        if not found:
            first = "there are no versions"
            if versions:
                first = f"the first was made at {self._read(versions[0]).timestamp}"
            message = f"there was no version at {timestamp.isoformat()}: {first}"
            raise RootError(message, source=self.storage.name)
        return self.read(versions[found - 1])

    def read(self, version: int) -> Commit:
        """Return a version.

        :raises RootError: it does not exist, or its file is damaged.
        """
        if version == 0:
            return Commit(shards=(Shard(),) * self._layout.shards)
        commit = self._read(version)
        if not commit.archives:
            return commit
        positions = unpacked(self.storage, commit.positions, commit.archives)
        return replace(commit, positions=positions)

    def _read(self, version: int) -> Commit:
        """Return a version, without the positions in archives."""
        commit = self.get(version)
        if commit is None:
            raise self._absent(version)
        return commit

    def _absent(self, version: int) -> RootError:
        """Return the error for a version without a commit."""
        message = f"there is no version {version}"
        # If versions cannot be listed, no more is known.
        with suppress(RootError):
            versions = self.versions()
            if version in versions:
                message = (
                    f"version {version} is listed, but {_name(version)} was not found: it was "
                    "removed just now, or one of the storage's answers is wrong"
                )
            elif versions and version < versions[-1]:
                message += f": its commit was lost, as version {versions[-1]} exists"
        return RootError(message, source=self.storage.name)

    def publish(self, commit: Commit) -> Commit:
        """Make a commit the head, with the current time.

        Writers' clocks may be wrong: if the local clock differs from the storage's, which all
        writers share, the storage's is used. Times of versions always increase.

        :return: the commit.
        :raises CommitConflictError: a commit with its number exists.
        :raises RootError: a store that it names does not exist.
        :raises LimitError: it is too long to be read again.
        """
        local = datetime.now(UTC)
        shared = datetime.fromtimestamp(self.storage.clock(), UTC)
        made = local if abs(local - shared) < TOLERANCE else shared
        if commit.timestamp:
            made = max(made, commit.made() + timedelta(milliseconds=1))
        commit = replace(commit, timestamp=made.isoformat(timespec="milliseconds"))
        self.put(commit)
        return commit

    def put(self, commit: Commit) -> None:
        """Put a commit without changing its time, see :meth:`publish`."""
        data, archives = self._written(commit)
        name = _name(commit.version)
        # Stores of earlier versions are protected by the commits that first named them.
        new = [store for store in commit.stores() if made_for(store) == commit.version]
        missing = self.storage.missing(f"{store}/{LIST}" for store in new)
        # If this writer has lost the race, its stores may have been removed.
        if missing is not None and not self.storage.exists(name):
            raise RootError(f"{missing} no longer exists", source=self.storage.name)
        for archive, content in archives.items():
            self.storage.put_if_absent(archive, content)
        if not self.storage.put_if_absent(name, data):
            self.storage.remove(archives)
            raise self.conflict(commit.version)

    def conflict(self, version: int) -> CommitConflictError:
        """Return the error for a writer whose version another writer has made."""
        return CommitConflictError(
            f"another writer has committed version {version} first; nothing of this batch was "
            "applied: call again to retry",
            version=version,
            source=self.storage.name,
        )

    def _written(self, commit: Commit) -> tuple[bytes, dict[str, bytes]]:
        """Return the bytes of a commit, and of new files that it names."""
        changing = frozenset(
            each.log for each in commit.applications.values() if each.log is not None
        )
        inline, archives, new = packed(self.storage, commit.positions, commit.archives, changing)
        data = _bytes(replace(commit, positions=inline, archives=archives))
        for each in (data, *new.values()):
            excess = documents.excess_of(each)
            if excess is not None:
                raise LimitError(
                    f"the commit of version {commit.version} would be {excess}, which is more than "
                    "a reader accepts: it has too many or too long names of logs, applications and "
                    "namespaces",
                    source=self.storage.name,
                )
        return data, {f"{FOLDER}/{name}": each for name, each in new.items()}

    def forget(self, version: int) -> None:
        """Remove the names of its stores, and of archives of positions, from a commit.

        The stores may then be removed. The commit file remains: while its name is taken, no late
        writer can create this version again.
        """
        commit = self._read(version)
        if commit.shards is not None:
            data = _bytes(replace(commit, shards=None, archives=()))
            self.storage.replace(_name(version), data)


def open_log(storage: Storage) -> CommitLog:
    """Open the commits of an existing root.

    :raises RootError: it does not exist.
    """
    return CommitLog(storage, open_root(storage))


def make_log(
    storage: Storage,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    *,
    create: bool = True,
) -> tuple[CommitLog, Commit]:
    """Open the commits of a root, and create the root if it does not exist; see :func:`.make_root`.

    :return: the commits, and the newest one.
    :raises RootError: the newest version has another number of shards.
    """
    log = CommitLog(storage, make_root(storage, shards, shard_by, create=create))
    head = log.head()
    there = log.layout_of(head).shards
    if shards not in (None, there):
        raise RootError(
            f"the store has {there} shards (got shards={shards}): omit shards, or reshard",
            source=storage.name,
        )
    return log, head


def _name(version: int) -> str:
    return f"{COMMITS}/{version:012d}.json"


def _bytes(commit: Commit) -> bytes:
    positions = [to_fields(each) for each in commit.positions]
    return seal(
        {"format": FORMAT} | asdict(replace(commit, positions=())) | {"positions": positions}
    )


def _commit(found: dict[str, Any]) -> Commit:
    """Parse a commit.

    :raises KeyError, TypeError, ValueError, AttributeError: it is not a commit.
    """
    if found["format"] != FORMAT or "checksum" not in found:
        raise ValueError(f"format {found['format']!r} is unknown, or the checksum is missing")
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
        raise ValueError(f"it restores version {commit.restored}, which is not an earlier one")
    return commit


def _shard(number: int, found: dict[str, Any]) -> Shard:
    store, checksum = found["store"], found["checksum"]
    if store is None:
        return Shard(quads=_natural(found["quads"]))
    # A damaged file must not open a path outside of the root, or another shard's store.
    match = _STORE.fullmatch(store)
    if match is None or int(match[1]) != number:
        raise ValueError(f"{store!r} is not a store of shard {number}")
    return Shard(store, _natural(found["quads"]), _text(checksum))


def _batch(found: dict[str, Any]) -> Batch:
    log, last, query = found["log"], found["last"], found["query"]
    return Batch(
        _natural(found["number"]),
        None if log is None else _text(log),
        None if last is None else RowPosition(*map(_natural, last)),
        None if query is None else _text(query),
    )


def _archive(found: dict[str, Any]) -> Archive:
    file = _text(found["file"])
    if _ARCHIVE.fullmatch(file) is None:
        raise ValueError(f"{file!r} is not the name of an archive")
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
