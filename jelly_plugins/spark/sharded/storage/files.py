"""Durable files on a disk, and lists of the files of shards' stores.

The list of a store has the size and the checksum of each of its files, and the object that has its
bytes. It is written when the store is created, sealed, and the commit that names the store has its
checksum. A commit therefore determines every byte of every store, and is still short.

In a folder, each file is an object of its own, in the store's folder. In an object store, so is
each file of more than a megabyte; all other new files of a version are in one object, its pack.
Files that a store shares with earlier ones are in the objects of those, as the list states.

Oxigraph, which uses RocksDB, does not modify files of a store that is closed or open read-only. All
files are listed except RocksDB's text log and its lock, which are removed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple
from uuid import uuid4

import xxhash

from ..documents import MAX_JSON, parse_json, seal
from ..errors import RootError

#: Name of the list, in the folder of a store.
LIST: Final = "_files.json"

#: Name of the object with all small files that are new in a version.
PACK: Final = "_pack"

_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_CHECKSUM: Final = re.compile(r"[0-9a-f]{32}")
_OBJECT: Final = re.compile(r"(shard=[0-9]+)/v[0-9]+-[A-Za-z0-9]+/[A-Za-z0-9_][A-Za-z0-9_.\-]*")

_BLOCK: Final = 1 << 20

#: Without it, opening a pipe waits for a writer. Some systems have neither the flag nor such pipes.
_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class File(NamedTuple):
    """A file of a store.

    :ivar size: number of bytes.
    :ivar checksum: checksum of the bytes.
    :ivar object: the object that has them, relative to the root.
    :ivar offset: offset of the first byte in the object.
    """

    size: int
    checksum: str
    object: str
    offset: int


def list_name(store: str) -> str:
    """Return the name of the list of a store's files."""
    return f"{store}/{LIST}"


def to_list(files: Mapping[str, File]) -> bytes:
    """Format a list as bytes."""
    return seal({"files": {name: list(files[name]) for name in sorted(files)}})


def parse_list(data: bytes, store: str, checksum: str, place: str) -> dict[str, File]:
    """Parse a list, and return its files by name.

    :param store: the store.
    :param checksum: checksum of the list, from the commit.
    :param place: name of the list in errors.
    :raises RootError: it is not a list, or not the one that the commit names.
    """
    found = parse_json(data, place)
    if found.get("checksum") != checksum:
        raise RootError("damaged: not the list that the commit names", source=place)
    try:
        return {_name(name): _file(each, store) for name, each in found["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RootError("damaged: not a list of files", source=place) from None


def _name(name: str) -> str:
    # A damaged list must not write outside of a folder.
    if _FILE.fullmatch(name) is None:
        raise ValueError(name)
    return name


def _file(found: list[object], store: str) -> File:
    file = File(*found)  # type: ignore[arg-type]
    place = _OBJECT.fullmatch(file.object)
    if place is None or place[1] != store.partition("/")[0]:
        raise ValueError(file.object)
    if not all(type(each) is int and each >= 0 for each in (file.size, file.offset)):
        raise ValueError(file)
    if _CHECKSUM.fullmatch(file.checksum) is None:
        raise ValueError(file.checksum)
    return file


def survey(
    folder: Path, base: Path | None, known: Mapping[str, File]
) -> dict[str, tuple[int, str]]:
    """Return size and checksum of the files of a complete and closed store, by name.

    Removes files without data. A file that is a hard link to a file of another store is not read
    again: its checksum is the one from when it was written.

    :param folder: folder of the store.
    :param base: folder of the store that it is a copy of.
    :param known: the files of that store.
    """
    files: dict[str, tuple[int, str]] = {}
    for path in sorted(folder.iterdir()):
        if is_idle(path.name):
            path.unlink()
            continue
        found = path.stat()
        listed = None if base is None else known.get(path.name)
        same = listed is not None and base is not None and _is_same(base / path.name, found)
        files[path.name] = (
            found.st_size,
            listed.checksum if listed is not None and same else checksum_of_file(path),
        )
    return files


def is_idle(name: str) -> bool:
    """Return whether a file has no data: RocksDB's text log, and its lock."""
    return name == "LOCK" or name == "LOG" or name.startswith("LOG.old")


def _is_same(path: Path, other: os.stat_result) -> bool:
    """Return whether two paths are hard links to one file."""
    try:
        return os.path.samestat(path.stat(), other)
    except FileNotFoundError:
        return False


def checksum_of_file(path: Path) -> str:
    """Return XXH3 in 128 bits of a file's bytes."""
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_document(path: Path) -> bytes:
    """Read a document; of one that is too long, slightly more than the maximum.

    A user with write access to a root could have created a pipe, or a link to a device.

    :raises FileNotFoundError: it does not exist.
    :raises RootError: it is not a regular file, or cannot be read.
    """
    try:
        with open(os.open(path, os.O_RDONLY | _NO_WAITING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RootError("not a regular file", source=str(path))
            return file.read(MAX_JSON + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RootError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except UnicodeEncodeError as error:
        raise RootError(f"cannot be read: {error}", source=str(path)) from error


def write_file(path: Path, data: bytes) -> None:
    """Write a new file durably."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_beside(path: Path, data: bytes) -> Path:
    """Write a file durably under a temporary name, and return its path."""
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    write_file(temporary, data)
    return temporary


def copy_file(source: Path, target: Path) -> None:
    """Copy a file durably to a new name."""
    with source.open("rb") as read, target.open("xb") as file:
        shutil.copyfileobj(read, file, _BLOCK)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
