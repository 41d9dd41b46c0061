"""The root of a sharded store: what lies where, and which shard a quad belongs to.

Says nothing about versions (``commits``) nor about what is in a shard. No Spark, no Oxigraph.
The layout is described in docs/sharded-store.md.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, get_args
from uuid import uuid4

import xxhash

from .documents import parse_json, seal
from .errors import RootError
from .settings import whole_number
from .storage import AnyRoot, storage_at

#: The version of the layout in folders; what other storages have, they say.
FORMAT: Final = 1

#: The hash that spreads quads over shards: XXH64 of the UTF-8 bytes with Spark's seed.
HASH: Final = "xxhash64"
SEED: Final = 42

#: Shards of a root that is made without a number.
DEFAULT_SHARDS: Final = 16
#: Shards that a root may have: what a commit can list in a few megabytes.
MAX_SHARDS: Final = 1 << 16

#: Which term of a quad says what shard it is in.
ShardBy = Literal["subject", "graph"]

ROOT_FILE: Final = "_root.json"
COMMITS: Final = "_commits"

_SIGN: Final = 1 << 63


def shard_of(key: str, shards: int) -> int:
    """The shard of a quad.

    The same as ``pmod(xxhash64(key), shards)`` in Spark SQL.

    :param key: the term that decides, its subject or its graph, in the syntax of N-Triples, as
        Oxigraph writes it; the default graph is the empty string.
    :param shards: number of shards.

    >>> shard_of("<urn:s>", 4), shard_of("", 4)
    (0, 0)
    """
    digest = xxhash.xxh64_intdigest(key.encode(), SEED)
    # Spark's hash is a signed number.
    return (digest - (1 << 64) if digest & _SIGN else digest) % shards


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """How a root is laid out.

    :ivar shards: number of shards: in the root's file, that of the first version; a version that
        was made by resharding has another one, and so have those that follow.
    :ivar shard_by: the term that decides on the shard of a quad.
    :ivar hash: name of the hash function.
    :ivar format: version of the layout.
    """

    shards: int
    shard_by: ShardBy = "subject"
    hash: str = HASH
    format: int = FORMAT


def open_root(root: AnyRoot) -> Root:
    """The layout of an existing root.

    :raises RootError: it is none, or of a layout that is not known here.
    """
    storage = storage_at(root)
    place = storage.place(ROOT_FILE)
    try:
        found = parse_json(storage.read(ROOT_FILE), place)
    except FileNotFoundError:
        message = "there is no sharded store here"
        try:
            if storage.names(COMMITS):
                message += f": there are versions, but {ROOT_FILE} is said not to be there"
        except RootError as error:
            # As where there is no such bucket, which the object store says of a list only.
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
        return f"layout {found.get('format')!r} is not known here: {expected} is"
    if found.get("hash") != HASH:
        return f"hash {found.get('hash')!r} is not known here: {HASH} is"
    if found.get("shard_by") not in get_args(ShardBy):
        return f"shard_by is {found.get('shard_by')!r}, not one of {get_args(ShardBy)}"
    shards = found.get("shards")
    if type(shards) is not int or not 0 < shards <= MAX_SHARDS:
        return f"shards is {shards!r}, not a number from 1 to {MAX_SHARDS}"
    return None


def check_layout(shards: int | None, shard_by: ShardBy | None) -> int | None:
    """Look at the settings of a layout, see :func:`make_root`.

    :return: number of shards.
    :raises TypeError, ValueError: one is of another type, or out of range.
    """
    if shards is not None:
        shards = whole_number("shards", shards, 1, MAX_SHARDS)
    if shard_by is not None and shard_by not in get_args(ShardBy):
        raise ValueError(f"shard_by must be one of {get_args(ShardBy)}, not {shard_by!r}")
    return shards


def make_root(
    root: AnyRoot,
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    *,
    create: bool = True,
) -> Root:
    """The layout of a root, which is made if it is not there.

    :param shards: number of shards of a new root, by default 16. How many there are in one that is
        there, its versions say.
    :param shard_by: what a quad's shard is decided by; ``"subject"`` in a new root.
    :param create: whether it may be made.
    :raises RootError: the root has another layout, or the folder something else in it; or it is not
        there, and may not be made.
    :raises TypeError, ValueError: a setting is of another type, or out of range.
    """
    shards = check_layout(shards, shard_by)
    storage = storage_at(root)
    if create and not storage.exists(ROOT_FILE):
        storage.prepare()
        # Another process may be making it just now: its file shows before anything else.
        strangers = [each for each in storage.names("") if not each.startswith(ROOT_FILE)]
        if strangers and not storage.exists(ROOT_FILE):
            raise RootError(
                f"there is no sharded store here, but there is {strangers[0]!r}",
                source=storage.name,
            )
        wanted = Root(
            shards=shards or DEFAULT_SHARDS,
            shard_by=shard_by or "subject",
            format=storage.format,
        )
        storage.put_if_absent(ROOT_FILE, seal(asdict(wanted)))
        storage.check_exclusive(ROOT_FILE)
    found = open_root(storage)
    if shard_by not in (None, found.shard_by):
        message = f"shard_by is {found.shard_by}, not {shard_by}"
        raise RootError(message, source=storage.name)
    return found


def new_store_name(shard: int, version: int) -> str:
    """A name for a store that no other attempt has, relative to the root."""
    return f"shard={shard}/v{version}-{uuid4().hex}"


def made_for(store: str) -> int:
    """The version that a store was made for, by its name."""
    return int(store.partition("/v")[2].partition("-")[0])
