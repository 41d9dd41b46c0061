"""The root of a sharded store: the location of its files, and the shard of a quad.

Does not depend on versions (``commits``) or on the contents of shards. No Spark, no Oxigraph. The
layout is described in docs/sharded-store.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args
from uuid import uuid4

import xxhash

from .checks import whole_number
from .documents import parse_json, seal
from .errors import RootError
from .storage import Storage

#: The version of the layout in folders; other storages have their own.
FORMAT: Final = 1

#: The hash that spreads quads over shards: XXH64 of the UTF-8 bytes with Spark's seed.
HASH: Final = "xxhash64"
SEED: Final = 42

#: Default number of shards of a new root.
DEFAULT_SHARDS: Final = 16
#: Maximum number of shards: a commit lists them in a few megabytes.
MAX_SHARDS: Final = 1 << 16

#: The term of a quad that determines its shard.
ShardBy = Literal["subject", "graph"]

ROOT_FILE: Final = "_root.json"
COMMITS: Final = "_commits"

_SIGN: Final = 1 << 63


def shard_of(key: str, shards: int) -> int:
    """Return the shard of a quad.

    The same as ``pmod(xxhash64(key), shards)`` in Spark SQL.

    :param key: the subject or the graph, in the syntax of N-Triples, as Oxigraph writes it; the
        empty string for the default graph.
    :param shards: number of shards.

    >>> shard_of("<urn:s>", 4), shard_of("", 4)
    (0, 0)
    """
    digest = xxhash.xxh64_intdigest(key.encode(), SEED)
    # Spark's hash is a signed number.
    return (digest - (1 << 64) if digest & _SIGN else digest) % shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """The layout of a root.

    :ivar shards: number of shards. In the root's file, that of the first version; resharding makes
        versions with another number.
    :ivar shard_by: the term that determines the shard of a quad.
    :ivar hash: name of the hash function.
    :ivar format: version of the layout.
    """

    shards: int
    shard_by: ShardBy = "subject"
    hash: str = HASH
    format: int = FORMAT


def open_root(storage: Storage) -> Root:
    """Read the layout of an existing root.

    :raises RootError: it is not a root, or has an unknown layout.
    """
    place = storage.place(ROOT_FILE)
    try:
        found = parse_json(storage.read(ROOT_FILE), place)
    except FileNotFoundError:
        message = "there is no sharded store here"
        try:
            if storage.names(COMMITS):
                message += f": it has versions, but {ROOT_FILE} was not found"
        except RootError as error:
            # For example, an object store reports only in listings that there is no such bucket.
            message += f": {COMMITS} {error.message}"
        raise RootError(message, source=storage.name) from None
    problem = _problem(found, storage.format)
    if problem is not None:
        raise RootError(problem, source=place)
    return Root(**{name: found[name] for name in Root.__dataclass_fields__})


def _problem(found: dict[str, Any], expected: int) -> str | None:
    if "checksum" not in found:
        return "damaged: it has no checksum"
    if found.get("format") != expected:
        return f"layout {found.get('format')!r} is not supported (supported: {expected})"
    if found.get("hash") != HASH:
        return f"hash {found.get('hash')!r} is not supported (supported: {HASH})"
    if found.get("shard_by") not in get_args(ShardBy):
        return f"shard_by must be one of {get_args(ShardBy)} (got {found.get('shard_by')!r})"
    shards = found.get("shards")
    if type(shards) is not int or not 0 < shards <= MAX_SHARDS:
        return f"shards must be a number from 1 to {MAX_SHARDS} (got {shards!r})"
    return None


def check_layout(shards: int | None, shard_by: ShardBy | None) -> int | None:
    """Check the settings of a layout, see :func:`make_root`.

    :return: number of shards.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    if shards is not None:
        shards = whole_number("shards", shards, 1, MAX_SHARDS)
    if shard_by is not None and shard_by not in get_args(ShardBy):
        raise ValueError(f"shard_by must be one of {get_args(ShardBy)} (got {shard_by!r})")
    return shards


def make_root(
    storage: Storage,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    *,
    create: bool = True,
) -> Root:
    """Return the layout of a root, and create the root if it does not exist.

    :param shards: number of shards of a new root, by default 16. Not compared with the number of an
        existing one.
    :param shard_by: the term that determines a quad's shard; ``"subject"`` in a new root.
    :param create: whether to create the root.
    :raises RootError: the root has another layout, or the folder has other files; or it does not
        exist, with ``create=False``.
    :raises TypeError, ValueError: a setting has an invalid type, or is out of range.
    """
    shards = check_layout(shards, shard_by)
    if create and not storage.exists(ROOT_FILE):
        storage.prepare()
        # Another process may be creating the root: its file appears before anything else.
        others = [each for each in storage.names("") if not each.startswith(ROOT_FILE)]
        if others and not storage.exists(ROOT_FILE):
            raise RootError(
                f"there is no sharded store here, but another file, {others[0]!r}: choose an empty "
                "folder",
                source=storage.name,
            )
        layout = Root(
            shards=shards or DEFAULT_SHARDS,
            shard_by=shard_by or "subject",
            format=storage.format,
        )
        storage.put_if_absent(ROOT_FILE, seal(asdict(layout)))
        storage.check_exclusive(ROOT_FILE)
    found = open_root(storage)
    if shard_by not in (None, found.shard_by):
        message = f"shard_by is {found.shard_by} in this store (got {shard_by})"
        raise RootError(message, source=storage.name)
    return found


def new_store_name(shard: int, version: int) -> str:
    """Return a unique name for a store, relative to the root."""
    return f"shard={shard}/v{version}-{uuid4().hex}"


def made_for(store: str) -> int:
    """Return the version that a store was made for, according to its name."""
    return int(store.partition("/v")[2].partition("-")[0])
