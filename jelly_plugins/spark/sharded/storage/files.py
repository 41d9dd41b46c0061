"""Files on a disk that last, and the list of the files that a store of a shard has.

A store's list has the size and the checksum of each of its files, and the object that has its
bytes. The list is written where the store is made, is sealed, and the commit that names the store
has its checksum. So a commit says which bytes each file of each store has, and stays small.

In a folder each file is an object of its own, in the store's folder. In an object store, one of
more than a megabyte is; what else is new in a version is one object, its pack. What a store shares
with the one before is in that one's objects, or in those of even earlier ones: the list says so.

Oxigraph, which is RocksDB, writes no file of a store that is closed, nor when the store is opened
for reading only: all files are listed but its own text log and its lock, which are removed.
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

#: The list, in the folder of a store.
LIST: Final = "_files.json"

#: The object that has all small files which are new in a version.
PACK: Final = "_pack"

_FILE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_CHECKSUM: Final = re.compile(r"[0-9a-f]{32}")
_OBJECT: Final = re.compile(r"(shard=[0-9]+)/v[0-9]+-[A-Za-z0-9]+/[A-Za-z0-9_][A-Za-z0-9_.\-]*")

_BLOCK: Final = 1 << 20

#: Without it, opening a pipe waits for a writer. Not all systems have it, nor such pipes.
_NO_WAITING: Final = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class File(NamedTuple):
    """A file of a store: where its bytes are.

    :ivar size: how many.
    :ivar checksum: of them.
    :ivar object: the object that has them, relative to the root.
    :ivar offset: where they begin in it.
    """

    size: int
    checksum: str
    object: str
    offset: int


def list_name(store: str) -> str:
    """The list of a store's files."""
    return f"{store}/{LIST}"


def to_list(files: Mapping[str, File]) -> bytes:
    """A list, as bytes."""
    return seal({"files": {name: list(files[name]) for name in sorted(files)}})


def parse_list(data: bytes, store: str, checksum: str, place: str) -> dict[str, File]:
    """The files of a list, by name.

    :param store: whose list it is.
    :param checksum: of the list, as the commit has it.
    :param place: what errors call it.
    :raises RootError: it is not a list, or not the one that the commit names.
    """
    found = parse_json(data, place)
    if found.get("checksum") != checksum:
        raise RootError("is not the list that the commit names", source=place)
    try:
        return {_name(name): _file(each, store) for name, each in found["files"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RootError("damaged: not a list of files", source=place) from None


def _name(name: str) -> str:
    # Nothing outside of a folder is written because a list says so.
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
    """The files of a store that is complete and closed, by name: size and checksum of each.

    Those that have nothing of what is stored are removed. What the store has by a hard link from
    another one is not read again: it is listed with the checksum that it had when it was written.

    :param base: folder of the store that it is a copy of.
    :param known: the files of that one.
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
    """Whether nothing of what is stored is in a file: RocksDB's own text log, and its lock."""
    return name == "LOCK" or name == "LOG" or name.startswith("LOG.old")


def _is_same(path: Path, other: os.stat_result) -> bool:
    """Whether a file is another one's, by its hard link."""
    try:
        return os.path.samestat(path.stat(), other)
    except FileNotFoundError:
        return False


def checksum_of_file(path: Path) -> str:
    """XXH3 in 128 bits of a file's bytes."""
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def read_document(path: Path) -> bytes:
    """A document's bytes; of one that is longer than any may be, somewhat more.

    A user with write access to a root could have left a pipe, or a link to a device.

    :raises FileNotFoundError: there is none.
    :raises RootError: it is not a file, or cannot be read.
    """
    try:
        with open(os.open(path, os.O_RDONLY | _NO_WAITING), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RootError("is no file", source=str(path))
            return file.read(MAX_JSON + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise RootError(f"cannot be read: {error.strerror}", source=str(path)) from error
    except UnicodeEncodeError as error:
        raise RootError(f"cannot be read: {error}", source=str(path)) from error


def write_file(path: Path, data: bytes) -> None:
    """Write a file under a name of its own, so that it lasts."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_beside(path: Path, data: bytes) -> Path:
    """Write a file, so that it lasts, under a name for a moment."""
    temporary = path.with_name(f"{path.name}.{uuid4().hex}.tmp")
    write_file(temporary, data)
    return temporary


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, so that it lasts, under a name that nothing has."""
    with source.open("rb") as read, target.open("xb") as file:
        shutil.copyfileobj(read, file, _BLOCK)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
