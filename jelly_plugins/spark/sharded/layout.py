"""The root of a sharded store: what lies where, and which shard a quad belongs to.

Says nothing about versions (``commits``) nor about what is in a shard. No Spark, no Oxigraph.
The layout is described in docs/sharded-store.md.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, get_args
from urllib.parse import urlsplit
from urllib.request import url2pathname
from uuid import uuid4

import xxhash

from .errors import RootError
from .settings import whole_number

#: The version of the layout that this code writes, and the only one that it reads.
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
STAGING: Final = "_staging"

#: Bytes of a description or commit that are believed to be one.
MAX_JSON: Final = 64 << 20

_SIGN: Final = 1 << 63

#: The end of a sealed JSON object, and bytes that it does not reach beyond.
_SEAL: Final = re.compile(rb',\n "checksum": "[0-9a-f]{32}"\n}\n\Z')
_SEAL_BYTES: Final = 64
#: How a URL begins; ``pathlib`` makes one slash of two, and a drive has one letter.
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/|(?i:file):")


def local_path(root: str | os.PathLike[str]) -> Path:
    """The folder that a root means: a path, or a ``file:`` URL.

    :raises RootError: it is on no local file system, or not a path.

    >>> local_path("file:///data/my%20store").as_posix()
    '/data/my store'
    """
    text = os.fsdecode(root)
    if "\0" in text:
        raise RootError(f"{text!r} has a NUL in it, which no path may have")
    url = _URL.match(text)
    if url is None:
        return Path(text)
    if url[1] is None:
        raise RootError("a file URL has an absolute path: file:///folder", source=text)
    parts = urlsplit(text)
    if url[1].lower() != "file" or parts.netloc not in ("", "localhost"):
        raise RootError(
            "not a local path: a root is a folder on a file system that the driver and all "
            "executors have under the same path, such as NFS; object stores and HDFS are not",
            source=text,
        )
    if "?" in text or "#" in text:
        raise RootError(
            "a file URL of a root has no query and no fragment; in a name, ? is %3F and # is %23",
            source=text,
        )
    path = url2pathname(parts.path)
    if "\0" in path:
        raise RootError("%00 is a NUL, which no path may have", source=text)
    return Path(path)


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
    """How a root is laid out; never changes.

    :ivar shards: number of shards.
    :ivar shard_by: the term that decides on the shard of a quad.
    :ivar hash: name of the hash function.
    :ivar format: version of the layout.
    """

    shards: int
    shard_by: ShardBy = "subject"
    hash: str = HASH
    format: int = FORMAT


def open_root(root: str | os.PathLike[str]) -> Root:
    """The layout of an existing root.

    :raises RootError: it is none, or of a layout that is not known here.
    """
    path = local_path(root) / ROOT_FILE
    try:
        found = read_json(path)
    except FileNotFoundError:
        raise RootError("no sharded store is here", source=os.fspath(root)) from None
    except (OSError, UnicodeEncodeError) as error:
        raise RootError(f"no sharded store can be read here: {error}", source=str(path)) from error
    problem = _problem(found)
    if problem is not None:
        raise RootError(problem, source=str(path))
    return Root(**{name: found[name] for name in Root.__dataclass_fields__})


def _problem(found: dict[str, Any]) -> str | None:
    if found.get("format") != FORMAT:
        return f"layout {found.get('format')!r} is not known here: {FORMAT} is"
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
        raise ValueError(f"shard_by is one of {get_args(ShardBy)}, not {shard_by!r}")
    return shards


def make_root(
    root: str | os.PathLike[str],
    shards: int | None = None,
    shard_by: ShardBy | None = None,
    *,
    create: bool = True,
) -> Root:
    """The layout of a root, which is made if it is not there.

    :param shards: number of shards; without it, that of the root, or 16 in a new one.
    :param shard_by: likewise; ``"subject"`` in a new one.
    :param create: whether it may be made.
    :raises RootError: the root has another layout, or the folder something else in it; or it is not
        there, and may not be made.
    :raises TypeError, ValueError: a setting is of another type, or out of range.
    """
    shards = check_layout(shards, shard_by)
    folder = local_path(root)
    path = folder / ROOT_FILE
    if create and not path.exists():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = os.listdir(folder)
        except OSError as error:
            raise RootError(f"cannot be made: {error.strerror}", source=str(folder)) from error
        # Another process may be making it just now: its file shows before anything else.
        strangers = [each for each in names if not _ours(each)]
        if strangers and not path.exists():
            raise RootError(
                f"no sharded store is here, but {strangers[0]!r} is", source=os.fspath(root)
            )
        wanted = Root(shards=shards or DEFAULT_SHARDS, shard_by=shard_by or "subject")
        put_if_absent(path, to_json(asdict(wanted)))
    found = open_root(root)
    for name, asked in (("shards", shards), ("shard_by", shard_by)):
        there = getattr(found, name)
        if asked is not None and asked != there:
            raise RootError(f"{name} is {there}, not {asked}", source=os.fspath(root))
    return found


def _ours(name: str) -> bool:
    return name.startswith(ROOT_FILE)


def shard_folder(shard: int) -> str:
    """The folder of a shard's stores, in the root."""
    return f"shard={shard}"


def new_store_name(shard: int, version: int) -> str:
    """A name for a store that no other attempt has, relative to the root."""
    return f"{shard_folder(shard)}/v{version}-{uuid4().hex}"


# Files that appear whole or not at all


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    :raises RootError: the file has none, or another one than it was sealed with.
    :raises FileNotFoundError: there is no file.
    """
    with path.open("rb") as file:
        data = file.read(MAX_JSON + 1)
    if len(data) > MAX_JSON:
        raise RootError(f"longer than {MAX_JSON} bytes", source=str(path))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RootError(f"not JSON: {error}", source=str(path)) from error
    if not isinstance(found, dict):
        raise RootError("not a JSON object", source=str(path))
    if "checksum" in found:
        sealed = _SEAL.search(data, max(0, len(data) - _SEAL_BYTES))
        if sealed is None or checksum_of(data[: sealed.start()]) != found["checksum"]:
            raise RootError("damaged: its checksum is another", source=str(path))
    return found


def to_json(value: dict[str, Any]) -> bytes:
    """A JSON object as the bytes of a file."""
    return json.dumps(value, ensure_ascii=False, indent=1).encode() + b"\n"


def seal(value: dict[str, Any]) -> bytes:
    """A JSON object as the bytes of a file that can tell whether they are damaged.

    The last field is ``checksum``, of all bytes before the comma that it follows.
    """
    body = to_json(value).removesuffix(b"\n}\n")
    return body + f',\n "checksum": "{checksum_of(body)}"\n}}\n'.encode()


def checksum_of(data: bytes) -> str:
    """XXH3 in 128 bits, in hexadecimal: against accidents, not against forgery."""
    return xxhash.xxh3_128_hexdigest(data)


def put_if_absent(path: Path, data: bytes) -> bool:
    """Write a file that is not there yet; it appears with all of its bytes, and stays.

    :return: whether it was written; if not, somebody else's is there.
    :raises RootError: the file system cannot do it, for example because it has no hard links.
    """
    try:
        temporary = _write_beside(path, data)
    except OSError as error:
        raise RootError(f"cannot be written: {error.strerror}", source=str(path)) from error
    try:
        os.link(temporary, path)
    except FileExistsError:
        # A network file system may report as a failure what it has done.
        return path.read_bytes() == data
    except OSError as error:
        raise RootError(
            f"no hard link can be made here ({error.strerror}), and a root needs a file system "
            "that has them",
            source=str(path.parent),
        ) from error
    finally:
        temporary.unlink()
    sync_folder(path.parent)
    return True


def replace_file(path: Path, data: bytes) -> None:
    """Put other bytes in the place of a file's, at once."""
    temporary = _write_beside(path, data)
    os.replace(temporary, path)
    sync_folder(path.parent)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that nobody else has a name for, so that it lasts."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _write_beside(path: Path, data: bytes) -> Path:
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    write_file(temporary, data)
    return temporary


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
