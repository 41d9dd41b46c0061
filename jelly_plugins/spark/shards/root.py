"""The versions of a sharded store, and the shard of a quad. No Spark, no Oxigraph.

A version is one file, which names the store of each shard and everything else that belongs to the
content. It is created if it does not exist yet, and never changed: that single step is the commit.
docs/sharded-store-failures.md describes the layout.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args
from uuid import uuid4

import xxhash

from ...errors import LimitError
from .errors import CommitConflictError, RootError

if TYPE_CHECKING:
    from .storage import Storage

#: The layout that this module reads and writes.
FORMAT: Final = 1
#: Default number of shards of a new store, and the maximum.
DEFAULT_SHARDS: Final = 16
MAX_SHARDS: Final = 1 << 16
#: Maximum number of logs whose positions a version has.
MAX_LOGS: Final = 10_000
#: Maximum size of a version's file.
MAX_BYTES: Final = 64 << 20

#: The folder of versions.
VERSIONS: Final = "_versions"

#: The term of a quad that determines its shard.
ShardBy = Literal["subject", "graph"]

#: Seed of Spark's ``xxhash64``.
_SEED: Final = 42
_SIGN: Final = 1 << 63


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
    """How far a log was applied.

    :ivar first: id of the first patch that was applied of it, in the syntax of N-Triples.
    :ivar last: id of the last one.
    :ivar rows: number of rows of the last patch.
    """

    first: str
    last: str
    rows: int


class Batch(NamedTuple):
    """The last batch of an application.

    :ivar number: its number.
    :ivar query: id of the streaming query that numbers the batches; None if unknown.
    """

    number: int
    query: str | None = None


class Bound(NamedTuple):
    """An operation on a namespace.

    :ivar graph: the graph, empty for the default graph.
    :ivar iri: the IRI that the name is bound to; None to remove the name.
    """

    graph: str
    name: str
    iri: str | None


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
    restored: int | None = None

    @property
    def quads(self) -> int:
        """Number of quads in all shards."""
        return sum(shard.quads for shard in self.shards)

    def stored(self) -> Iterator[str]:
        """Return the names of what the version needs in the root: stores, or objects of files."""
        for shard in self.shards:
            if shard.files is not None:
                yield from (file.object for file in shard.files.values())
            elif shard.store is not None:
                yield shard.store


def version_file(number: int) -> str:
    """Return the name of a version's file, relative to the root."""
    return f"{VERSIONS}/{number:012d}.json"


def numbers_of(names: Iterable[str]) -> list[int]:
    """Return the numbers of versions whose files have these names, in order."""
    stems = (name.removesuffix(".json") for name in names if name.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())


# Reading


def newest(storage: Storage) -> Version | None:
    """Return the newest version; None without versions.

    :raises RootError: its file is damaged.
    """
    # Between listing and reading, a vacuum may remove a version, but never the newest one.
    while known := storage.versions():
        if (found := _read(storage, known[-1])) is not None:
            return found
    return None


def find(storage: Storage, number: int | None = None) -> Version:
    """Return a version, by default the newest.

    :raises RootError: it does not exist, or its file is damaged.
    """
    found = newest(storage) if number is None else _read(storage, number)
    if found is not None:
        return found
    message = "there is no sharded store here"
    if number is not None:
        known = ", ".join(map(str, storage.versions())) or "none"
        message = f"version {number} does not exist, or was vacuumed (versions: {known})"
    raise RootError(message, source=storage.name)


def every(storage: Storage) -> list[Version]:
    """Return all versions, the newest first.

    :raises RootError: a file is damaged.
    """
    found = (_read(storage, number) for number in reversed(storage.versions()))
    return [version for version in found if version is not None]


def _read(storage: Storage, number: int) -> Version | None:
    """Read a version; None if it does not exist."""
    try:
        data = storage.read(number)
    except FileNotFoundError:
        return None
    try:
        return _parse(json.loads(data), number)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise RootError(
            f"the file of version {number} is damaged: {error}", source=storage.name
        ) from error


def _parse(found: dict[str, Any], number: int) -> Version:
    if found.pop("format") != FORMAT:
        raise ValueError("its format is unknown")
    if found["number"] != number:
        raise ValueError(f"it is of version {found['number']}")
    shards = tuple(_shard(each) for each in found.pop("shards"))
    check_layout(len(shards), found["shard_by"])
    logs = tuple(Log(str(first), str(last), int(rows)) for first, last, rows in found.pop("logs"))
    batches = {
        str(name): Batch(int(last), query) for name, (last, query) in found.pop("batches").items()
    }
    namespaces = {graph: dict(names) for graph, names in found.pop("namespaces").items()}
    return Version(shards=shards, logs=logs, batches=batches, namespaces=namespaces, **found)


def _shard(fields: dict[str, Any]) -> Shard:
    store, files = fields.get("store"), fields.get("files")
    listed = None
    if files is not None:
        listed = {
            name: File(str(where), int(size), str(sum_))
            for name, (where, size, sum_) in files.items()
        }
    names = [*(listed or ()), *(file.object for file in (listed or {}).values())]
    # The names become paths.
    for name in (*names, *([] if store is None else [store])):
        if ".." in name.split("/") or name.startswith("/"):
            raise ValueError("a name is outside of the root")
    if any("/" in name for name in listed or ()):
        raise ValueError("the name of a file has a slash")
    return Shard(store, int(fields["quads"]), listed)


# Writing


def begin(
    storage: Storage, shards: int | None, shard_by: ShardBy | None, *, create: bool = True
) -> Version:
    """Return the version to change: the newest one, or that of an empty store.

    :param shards: number of shards of a new store; an existing one must have it. None for any.
    :param shard_by: likewise.
    :param create: whether a store without versions may be created.
    :raises RootError: the store has another layout; or it does not exist, without ``create``.
    """
    found = newest(storage) if create else find(storage)
    if found is None:
        return Version(
            shards=(Shard(),) * (shards or DEFAULT_SHARDS), shard_by=shard_by or "subject"
        )
    for name, given, has in (
        ("shards", shards, len(found.shards)),
        ("shard_by", shard_by, found.shard_by),
    ):
        if given is not None and given != has:
            raise RootError(
                f"the store has {name}={has!r}, not {given!r}: omit {name}, or rewrite the store "
                "with write_shards(…, mode='overwrite')",
                source=storage.name,
            )
    return found


def commit(storage: Storage, version: Version) -> Version:
    """Create a version, whose stores are complete.

    :return: the version, with the time and an id of its own.
    :raises CommitConflictError: another writer has created this version; nothing was changed.
    :raises LimitError: its file would be too large to be read.
    :raises RootError: the storage cannot be written.
    """
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    version = replace(version, time=now, id=uuid4().hex)
    fields = asdict(version)
    fields["shards"] = [
        {name: value for name, value in shard.items() if value is not None}
        for shard in fields["shards"]
    ]
    data = json.dumps({"format": FORMAT, **fields}).encode()
    if len(data) > MAX_BYTES:
        raise LimitError(
            f"the file of a version must not exceed {MAX_BYTES} bytes (got {len(data)})",
            source=storage.name,
        )
    try:
        storage.create(version.number, data)
    except FileExistsError:
        raise CommitConflictError(
            f"another writer has committed version {version.number}", source=storage.name
        ) from None
    return version


# Settings


def check_layout(shards: Any, shard_by: Any) -> None:
    """Check the layout that a caller gives; None is valid for both.

    :raises TypeError, ValueError: it is not valid.
    """
    if shards is not None and not 1 <= whole_number("shards", shards) <= MAX_SHARDS:
        raise ValueError(f"shards must be from 1 to {MAX_SHARDS} (got {shards})")
    if shard_by is not None and shard_by not in get_args(ShardBy):
        raise ValueError(f"shard_by must be 'subject' or 'graph' (got {shard_by!r})")


def whole_number(name: str, value: Any) -> int:
    """Return a setting that is a whole number, of Python or NumPy, and not negative.

    :raises TypeError: it has another type, such as ``bool``.
    :raises ValueError: it is negative, or does not fit 64 bits.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        found = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number (got {value!r})") from None
    if not 0 <= found < _SIGN:
        raise ValueError(f"{name} must be from 0 to {_SIGN - 1} (got {value!r})")
    return found
