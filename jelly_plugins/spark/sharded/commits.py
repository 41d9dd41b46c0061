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
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from uuid import uuid4

from ...errors import LimitError
from ...patch.replay.position import Position
from . import documents
from .documents import parse_json, seal
from .errors import CommitConflictError, RootError
from .layout import COMMITS, FORMAT, MAX_SHARDS, Root, ShardBy, make_root
from .positions import FOLDER, Archive, packed, plain, position_of, unpacked
from .storage import STAGING, AnyRoot, put_if_absent, storage_at

_NAME: Final = re.compile(r"([0-9]{12})\.json")
#: What a commit says its format is once it names archives of positions: who does not know of them
#: would apply logs again.
_ARCHIVING: Final = 2
#: What it is once it restores an earlier version, has batches undone, or has another number of
#: shards than the root began with: who does not know of these would pass over what was undone, or
#: look for quads where they are not.
_GROWN: Final = 3

#: The names of archives, and of announcements.
_ARCHIVE: Final = re.compile(r"[0-9a-f]+\.json")
_STORE: Final = re.compile(r"shard=([0-9]+)/[A-Za-z0-9_.\-]+")


@dataclass(frozen=True, slots=True)
class Shard:
    """What one shard is in one version.

    :ivar store: folder of its store, relative to the root; None if nothing was ever in it.
    :ivar quads: number of quads in it.
    :ivar checksum: of the list of its store's files; None if it was made without one.
    """

    store: str | None = None
    quads: int = 0
    checksum: str | None = None


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
    :ivar timestamp: when it was made, UTC, in the format of RFC 3339.
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

    @property
    def readable(self) -> bool:
        """Whether the version can be opened: no vacuum has removed its stores."""
        return self.shards is not None

    def made(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.timestamp)

    def next(self, **changes: Any) -> Commit:
        """The commit after this one, with the same content but for ``changes``.

        Clocks of writers differ; times of versions are in the order of the versions all the same.
        """
        now = datetime.now(UTC)
        return replace(
            self,
            id=uuid4().hex,
            timestamp=(max(now, self.made()) if self.timestamp else now).isoformat(
                timespec="milliseconds"
            ),
            **{"version": self.version + 1, "restored": None, **changes},
        )


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
        name = _name(version)
        try:
            commit = self._parsed(name)
        except FileNotFoundError:
            raise self._absent(version) from None
        if commit.version != version:
            place = self.storage.place(name)
            raise RootError(f"this is the commit of version {commit.version}", source=place)
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

    def _parsed(self, name: str) -> Commit:
        place = self.storage.place(name)
        found = parse_json(self.storage.read(name), place)
        try:
            return _commit(found, self._layout.shards)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RootError(f"not a commit: {error!r}", source=place) from error

    def publish(self, commit: Commit) -> None:
        """Make a commit the head.

        :raises CommitConflictError: there is one of its number already.
        :raises RootError: a store that it names is not there.
        :raises LimitError: it is too long to be read again.
        """
        data, archives = self._written(commit)
        name = _name(commit.version)
        named = [shard.store for shard in commit.shards or () if shard.store is not None]
        gone = self.storage.missing(named, commit.version)
        # Of what has lost the race, anything may be gone.
        if gone is not None and not self.storage.exists(name):
            raise RootError(f"{gone} is not there any more", source=self.storage.name)
        for archive, content in archives.items():
            put_if_absent(self.storage, archive, content)
        if not put_if_absent(self.storage, name, data):
            self.storage.remove(archives)
            raise self.conflict(commit.version)

    def announce(self, commit: Commit) -> str:
        """Say what a commit is going to name that is not the head's: a vacuum leaves that.

        What a vacuum has made a version forget before may be gone, and has to be looked at again.

        :return: the name of the announcement, which is removed once the commit is there.
        """
        name = f"{STAGING}/{commit.id}.json"
        put_if_absent(
            self.storage, name, _bytes(replace(commit, positions=()), self._layout.shards)
        )
        return name

    def announced(self) -> dict[str, Commit]:
        """What is announced now, without its positions, by the name of the announcement.

        :raises RootError: an announcement is damaged.
        """
        found = {}
        for each in self.storage.names(STAGING):
            if _ARCHIVE.fullmatch(each):
                # One that is not there any more has its commit, or will have none.
                with suppress(FileNotFoundError):
                    found[f"{STAGING}/{each}"] = self._parsed(f"{STAGING}/{each}")
        return found

    def conflict(self, version: int) -> CommitConflictError:
        """The error of a writer whose version another one has made."""
        return CommitConflictError(
            f"another writer has committed version {version} first; nothing of this batch was "
            "applied, and the same call may be made again",
            version=version,
            source=self.storage.name,
        )

    def check_length(self, commit: Commit) -> None:
        """Refuse a commit that would be too long to be read again.

        :raises LimitError: it is.
        """
        self._written(commit)

    def _written(self, commit: Commit) -> tuple[bytes, dict[str, bytes]]:
        """The bytes of a commit, and those of files that it names and that are not there yet."""
        lively = frozenset(
            each.log for each in commit.applications.values() if each.log is not None
        )
        found = packed(self.storage, commit.positions, commit.archives, lively)
        data = _bytes(
            replace(commit, positions=found.inline, archives=found.archives), self._layout.shards
        )
        for each in (data, *found.new.values()):
            excess = documents.excess_of(each)
            if excess is not None:
                raise LimitError(
                    f"the commit of version {commit.version} would be {excess}, which cannot be "
                    "read: it has too many or too long names of logs, applications and namespaces",
                    source=self.storage.name,
                )
        return data, {f"{FOLDER}/{name}": each for name, each in found.new.items()}

    def forget(self, version: int) -> None:
        """Take the names of its stores out of a commit, so that they may be removed.

        Those of archives of positions too. The file stays: as long as its name is taken, no late
        writer can make this version again.
        """
        commit = self._read(version)
        if commit.shards is not None:
            data = _bytes(replace(commit, shards=None, archives=()), self._layout.shards)
            self.storage.replace(_name(version), data)


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


def _format(commit: Commit, shards: int) -> int:
    """What a commit says its format is.

    :param shards: number of shards that the root began with.
    """
    others = commit.shards is not None and len(commit.shards) != shards
    if others or commit.undone or commit.restored is not None:
        return _GROWN
    return _ARCHIVING if commit.archives else FORMAT


def _bytes(commit: Commit, shards: int) -> bytes:
    fields = {"format": _format(commit, shards)} | asdict(commit)
    fields["positions"] = [plain(each) for each in commit.positions]
    # Who does not know of these need not.
    for name in ("archives", "restored", "undone"):
        if fields[name] is None or not (fields[name] or name == "restored"):
            del fields[name]
    return seal(fields)


def _commit(found: dict[str, Any], number: int) -> Commit:
    """A commit from JSON.

    :param number: of the shards that the root began with.
    :raises KeyError, TypeError, ValueError, AttributeError: it is none.
    """
    archives = tuple(map(_archive, found.get("archives", ())))
    shards = found["shards"]
    if "checksum" not in found and any(each.get("checksum") for each in shards or ()):
        raise ValueError("without its checksum")
    restored = found.get("restored")
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
        namespaces={
            graph: {name: _text(iri) for name, iri in bound.items()}
            for graph, bound in found["namespaces"].items()
        },
        operations=_natural(found["operations"]),
        archives=archives,
        restored=None if restored is None else _natural(restored),
        undone={name: _natural(batch) for name, batch in found.get("undone", {}).items()},
    )
    if commit.shards == () or len(commit.shards or ()) > MAX_SHARDS:
        raise ValueError(f"{len(shards)} shards")
    if commit.restored is not None and commit.restored >= commit.version:
        raise ValueError(f"version {commit.restored} is restored")
    if found["format"] != _format(commit, number):
        expected = f"with {len(shards)} shards, of {number}" if shards is not None else "as it is"
        raise ValueError(f"format {found['format']!r} of a commit {expected}")
    return commit


def _shard(number: int, found: dict[str, Any]) -> Shard:
    store = found["store"]
    if store is not None:
        # Nothing outside of the root, nor another shard's, is to be opened because a file says so.
        match = _STORE.fullmatch(store)
        if match is None or int(match[1]) != number:
            raise ValueError(f"the store of shard {number} is {store!r}")
    checksum = found.get("checksum")
    return Shard(store, _natural(found["quads"]), None if checksum is None else _text(checksum))


def _batch(found: dict[str, Any]) -> Batch:
    log, last, query = found["log"], found["last"], found.get("query")
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
