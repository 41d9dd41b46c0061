"""The versions of a sharded store, and the folder that has them; for a bucket see :mod:`.bucket`.
No Spark, no Oxigraph.

A version is one file, which names the store of each shard and everything else that belongs to the
content. It is created if it does not exist yet, and never changed: that single step is the commit.
Because a vacuum removes versions, a writer that was slow may find an old number free: it then looks
whether the next version was made from its own. docs/sharded-store-failures.md describes the layout.
"""

from __future__ import annotations

import json
import operator
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, get_args
from uuid import uuid4

import xxhash

from ...errors import JellyError, LimitError

if TYPE_CHECKING:
    from .bucket import Bucket

#: The layout that this module reads and writes.
FORMAT: Final = 1
#: Default number of shards of a new store, and the maximum.
DEFAULT_SHARDS: Final = 16
MAX_SHARDS: Final = 1 << 16
#: Maximum size of a version's file.
MAX_BYTES: Final = 64 << 20
#: The folder of versions, and the names of their files.
VERSIONS: Final = "_versions"
_VERSION: Final = re.compile(rf"{VERSIONS}/([0-9]{{12,}})\.json")

#: The term of a quad that determines its shard.
ShardBy = Literal["subject", "graph"]

#: Seed of Spark's ``xxhash64``.
_SEED: Final = 42
_SIGN: Final = 1 << 63


class RootError(JellyError):
    """The root of a sharded store is missing, damaged, cannot be reached, or has another layout.

    The message contains no credentials.
    """


class CommitConflictError(JellyError):
    """Another writer has committed first. Nothing was changed; the call can be repeated."""


class CheckpointError(JellyError):
    """The batches of an application are of another streaming query than before."""


def shard_of(key: str, shards: int) -> int:
    """Return the shard of a quad: ``pmod(xxhash64(key), shards)`` in Spark SQL.

    :param key: the subject or the graph, in the syntax of N-Triples, as Oxigraph writes it; the
        empty string for the default graph.

    >>> shard_of("<urn:s>", 4)
    0
    """
    unsigned = xxhash.xxh64_intdigest(key.encode(), _SEED)
    return (unsigned - (unsigned & _SIGN) * 2) % shards


class File(NamedTuple):
    """A file of a store in a bucket.

    :ivar object: name of the object that has its bytes, relative to the root.
    :ivar size: number of bytes.
    :ivar checksum: 128-bit XXH3 of the bytes, in hexadecimal digits.
    """

    object: str
    size: int
    checksum: str


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard in a version.

    :ivar store: name of its store, relative to the root; None if it is empty.
    :ivar quads: number of its quads.
    :ivar files: the files of the store by name, in a bucket; None in a folder.
    """

    store: str | None = None
    quads: int = 0
    files: Mapping[str, File] | None = None


class Log(NamedTuple):
    """How far a log of patches with ids was applied.

    :ivar first: id of its first patch, in the syntax of N-Triples.
    :ivar last: id of the last patch that was applied.
    :ivar rows: number of rows of that patch, without headers and its end.
    """

    first: str
    last: str
    rows: int


class Batch(NamedTuple):
    """The last batch of an application.

    :ivar number: its number.
    :ivar query: id of the streaming query, if it is one.
    """

    number: int
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A version of a sharded store.

    :ivar number: from 1; 0 for a store without versions.
    :ivar shards: the shards, in order.
    :ivar shard_by: the term of a quad that determines its shard.
    :ivar logs: how far logs of patches with ids were applied, the most recent last.
    :ivar batches: the last batch of each application.
    :ivar namespaces: graph (empty for the default graph) to name to IRI.
    :ivar time: when it was committed, by the writer's clock, in UTC.
    :ivar id: unique to the version.
    :ivar parent: id of the version before it; empty for the first.
    :ivar restored: the version whose content it has again; None if it is not a restore.
    """

    number: int = 0
    shards: tuple[Shard, ...]
    shard_by: ShardBy = "subject"
    logs: tuple[Log, ...] = ()
    batches: Mapping[str, Batch] = field(default_factory=dict)
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    time: str = ""
    id: str = ""
    parent: str = ""
    restored: int | None = None

    @property
    def quads(self) -> int:
        """Number of quads in all shards."""
        return sum(shard.quads for shard in self.shards)

    @property
    def age(self) -> float:
        """Seconds since it was committed."""
        return time.time() - datetime.fromisoformat(self.time).timestamp()

    def stored(self) -> Iterator[str]:
        """Return the names of what the version needs in the root: stores, or objects of files."""
        for shard in self.shards:
            if shard.files is not None:
                yield from (file.object for file in shard.files.values())
            elif shard.store is not None:
                yield shard.store


# Reading and committing versions


def find(storage: Storage, number: int | None = None) -> Version:
    """Return a version, by default the newest."""
    found = newest(storage) if number is None else _read(storage, number)
    if found is not None:
        return found
    message = "there is no sharded store here"
    if number is not None:
        known = ", ".join(map(str, storage.versions())) or "none"
        message = f"version {number} does not exist, or was vacuumed (versions: {known})"
    raise RootError(message, source=storage.name)


def newest(storage: Storage) -> Version | None:
    """Return the newest version; None without versions."""
    missing = 0
    while known := storage.versions():
        if (found := _read(storage, known[-1])) is not None:
            return found
        # Between listing and reading, a vacuum may remove a version, but never the newest one.
        if known[-1] == missing:
            raise RootError(f"the file of version {missing} cannot be read", source=storage.name)
        missing = known[-1]
    return None


def every(storage: Storage) -> list[Version]:
    """Return all versions, the newest first."""
    found = (_read(storage, number) for number in reversed(storage.versions()))
    return [version for version in found if version is not None]


def _read(storage: Storage, number: int) -> Version | None:
    try:
        found = json.loads(storage.read(number))
        if found.pop("format") != FORMAT or whole_number("number", found["number"]) != number:
            raise ValueError("its format or its number is another one")
        check_layout(len(found["shards"]), str(found["shard_by"]))
        datetime.fromisoformat(found["time"]).timestamp()
        return Version(
            **{
                **found,
                "shards": tuple(map(_shard, found["shards"])),
                "logs": tuple(
                    Log(str(a), str(z), whole_number("rows", rows)) for a, z, rows in found["logs"]
                ),
                "batches": {
                    name: Batch(whole_number("batch", last), query)
                    for name, (last, query) in found["batches"].items()
                },
                "namespaces": {graph: {**names} for graph, names in found["namespaces"].items()},
            }
        )
    except FileNotFoundError:
        return None
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        RecursionError,
    ) as error:
        raise RootError(
            f"the file of version {number} is damaged: {error}", source=storage.name
        ) from error


def _shard(fields: dict[str, Any]) -> Shard:
    store, files = fields["store"], fields["files"]
    if files is not None:
        files = {
            name: File(str(at), whole_number("size", size), str(sum_))
            for name, (at, size, sum_) in files.items()
        }
    if not isinstance(store, str | None):
        raise TypeError("the name of a store is not text")
    # The names become paths.
    for name in filter(None, (store, *(file.object for file in (files or {}).values()))):
        if name.startswith("/") or ".." in name.split("/"):
            raise ValueError("a name is outside of the root")
    if any("/" in name or name in (".", "..") for name in files or ()):
        raise ValueError("the name of a file is a path")
    return Shard(store, whole_number("quads", fields["quads"]), files)


def begin(storage: Storage, shards: int | None, shard_by: ShardBy | None) -> Version:
    """Return the version to change: the newest one, which must have the layout that is given, or
    that of an empty store."""
    found = newest(storage)
    if found is None:
        if isinstance(storage, Folder):
            storage.check_new()
        shard_by = shard_by or "subject"
        return Version(shards=(Shard(),) * (shards or DEFAULT_SHARDS), shard_by=shard_by)
    has = {"shards": len(found.shards), "shard_by": found.shard_by}
    for name, given in (("shards", shards), ("shard_by", shard_by)):
        if given not in (None, has[name]):
            raise RootError(
                f"the store has {name}={has[name]!r}, not {given!r}: omit {name}, or rewrite the "
                "store with write_shards(…, mode='overwrite')",
                source=storage.name,
            )
    return found


def commit(storage: Storage, before: Version, version: Version) -> Version:
    """Create the version after another one, with the content of ``version``, whose stores are
    complete. Return it with its number, the time and an id of its own.

    :raises CommitConflictError: another writer has created this version; nothing was changed.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    number = before.number + 1
    version = replace(version, number=number, time=now, id=uuid4().hex, parent=before.id)
    data = json.dumps({"format": FORMAT, **asdict(version)}).encode()
    if len(data) > MAX_BYTES:
        raise LimitError(
            f"the file of a version must not exceed {MAX_BYTES} bytes (got {len(data)})",
            source=storage.name,
        )
    conflict = CommitConflictError(
        f"another writer has committed version {number}", source=storage.name
    )
    try:
        storage.create(number, data)
    except FileExistsError:
        raise conflict from None
    later = [each for each in storage.versions() if each > number]
    if later:
        # Either another writer has continued from this version; or the number was another
        # writer's, whose version a vacuum has removed, perhaps with the next ones.
        following = _read(storage, number + 1)
        if following is None or following.parent != version.id:
            storage.remove([version_file(number)])
            raise conflict
    return version


# Settings


def check_layout(shards: Any, shard_by: Any) -> None:
    """Check the layout that a caller gives; None is valid for both."""
    if shards is not None and not 1 <= whole_number("shards", shards) <= MAX_SHARDS:
        raise ValueError(f"shards must be from 1 to {MAX_SHARDS} (got {shards})")
    if shard_by is not None and shard_by not in get_args(ShardBy):
        raise ValueError(f"shard_by must be 'subject' or 'graph' (got {shard_by!r})")


def whole_number(name: str, value: Any) -> int:
    """Check a setting that is a whole number, of Python or NumPy, not negative, of 64 bits."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number (got {value!r})")
    if not 0 <= operator.index(value) < _SIGN:
        raise ValueError(f"{name} must be from 0 to {_SIGN - 1} (got {value!r})")
    return operator.index(value)


# Names


def version_file(number: int) -> str:
    return f"{VERSIONS}/{number:012d}.json"


def numbers_of(names: Iterable[str]) -> list[int]:
    """Return the numbers of versions whose files have these names, relative to the root, in order.
    Other names are ignored."""
    found = (_VERSION.fullmatch(name) for name in names)
    return sorted(int(each[1]) for each in found if each is not None)


@contextmanager
def root_errors(what: str, source: str, *passed: type[Exception]) -> Iterator[None]:
    """Convert exceptions of the file system, and those that Oxigraph raises for a damaged store, to
    a :class:`RootError`, except those of some types."""
    try:
        yield
    except JellyError:
        raise
    except passed:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise RootError(f"{what}: {error}", source=source) from error


# Where a store is


class Folder:
    """A folder of a file system with hard links, which each process reaches by the same path.

    It keeps files of versions, which are created only if they do not exist, and stores of shards,
    which never change. A :class:`.Bucket` has the same methods. Both can be sent to other
    processes.
    """

    def __init__(self, root: Path) -> None:
        self.root: Final = root
        self.name = str(root)

    def versions(self) -> list[int]:
        """Return the numbers of all versions, in order."""
        try:
            with root_errors("its versions cannot be listed", self.name, FileNotFoundError):
                return numbers_of(f"{VERSIONS}/{name}" for name in os.listdir(self.root / VERSIONS))
        except FileNotFoundError:
            return []

    def check_new(self) -> None:
        """Check that there are only files of a sharded store, such as a killed process leaves."""
        with (
            suppress(FileNotFoundError),
            root_errors("it cannot be listed", self.name, FileNotFoundError),
        ):
            for name in os.listdir(self.root):
                if name != VERSIONS and not name.startswith("shard="):
                    raise RootError(
                        f"the folder is neither a sharded store nor empty: it has {name}",
                        source=self.name,
                    )

    def read(self, number: int) -> bytes:
        """Return the file of a version.

        :raises FileNotFoundError: it does not exist.
        """
        with (
            root_errors(f"version {number} cannot be read", self.name, FileNotFoundError),
            (self.root / version_file(number)).open("rb") as file,
        ):
            return file.read(MAX_BYTES + 1)

    def create(self, number: int, data: bytes) -> None:
        """Create the file of a version, durably.

        :raises FileExistsError: it exists, with other content.
        """
        path = self.root / version_file(number)
        temporary = path.parent / f".{uuid4().hex}"
        with root_errors(f"version {number} cannot be written", self.name, FileExistsError):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(data)
                _sync(temporary)
                os.link(temporary, path)
            except FileExistsError:
                # Over NFS, a request that is sent again reports that the first one was done.
                if temporary.stat().st_nlink == 1:
                    raise
            finally:
                temporary.unlink(missing_ok=True)
            for folder in (path.parent, self.root, self.root.parent):
                _sync(folder)

    @contextmanager
    def open(self, shard: Shard) -> Iterator[Path | None]:
        """Return the folder of a shard's store, to read; None if the shard is empty."""
        self.check((shard,), "is missing")
        yield None if shard.store is None else self.root / shard.store

    @contextmanager
    def making(self, number: int) -> Iterator[Path]:
        """Return the folder for a new store of a shard, which does not exist yet.

        What is there in the end, and was not kept, is removed.
        """
        folder = self.root / f"shard={number}" / f".{uuid4().hex}"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:  # noqa: ARG002
        """Bring a finished store to the root, durably, and return its shard without the number of
        quads.

        :param folder: the folder, from :meth:`making`.
        :param base: the shard that it was copied from, and ``opened`` its folder.
        """
        for path in folder.iterdir():
            # What is linked was written for an earlier version.
            if path.stat().st_nlink == 1:
                _sync(path)
        _sync(folder)
        final = folder.with_name(folder.name.removeprefix("."))
        folder.rename(final)
        _sync(final.parent)
        return Shard(f"shard={number}/{final.name}")

    def check(self, shards: Iterable[Shard], problem: str) -> None:
        """Check that the stores of shards are in the root.

        :param problem: what an error says of one that is not.
        """
        for shard in shards:
            if shard.store is not None and not (self.root / shard.store).is_dir():
                raise RootError(f"{shard.store} {problem}", source=self.name)

    def stored(self) -> Mapping[str, float]:
        """Return the seconds since stores, or their objects, and unfinished files of versions were
        written, by name."""
        found = {}
        now = time.time()
        for path in (*self.root.glob("shard=*/*"), *self.root.glob(f"{VERSIONS}/.*")):
            try:
                found[path.relative_to(self.root).as_posix()] = now - path.stat().st_mtime
            except FileNotFoundError:
                continue
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Remove files of versions, and names from :meth:`stored`; missing ones are ignored."""
        with root_errors("it cannot be removed", self.name):
            for path in map(self.root.joinpath, names):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


Storage: TypeAlias = "Folder | Bucket"


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
