"""Checksums of the files of a shard's store: listed where the store is made, compared later.

The list is a file in the store's folder, and the commit that names the store has the checksum of
the list. So a commit says which bytes each file of each store has, and stays small.

Oxigraph, which is RocksDB, writes no file of a store that is closed, nor when the store is opened
for reading only: all files are listed but its own text log and its lock, which are removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import xxhash

from ..documents import parse_json, seal
from ..errors import RootError
from .durable import write_file
from .reading import read_document

#: The list, in the folder of a store.
LIST: Final = "_files.json"

_BLOCK: Final = 1 << 20

#: Device, inode and size of a file.
Identity: TypeAlias = tuple[int, int, int]


def list_files(folder: Path, base: Path | None = None) -> str:
    """Write the list of the files of a store that is complete and closed.

    :param folder: of the store.
    :param base: the store that it is a copy of. What both have by a hard link is not read again: it
        is to have the bytes that it had when it was written.
    :return: the list's checksum.
    :raises OSError: a file cannot be read, or the list not written.
    """
    files = survey(folder, {} if base is None else _known(base))
    write_file(folder / LIST, seal({"files": files}))
    return _read(folder)[1]


def survey(folder: Path, known: Mapping[str, tuple[Identity, str]]) -> dict[str, tuple[int, str]]:
    """The files of a store that is complete and closed, by name: size and checksum of each.

    Those that have nothing of what is stored are removed.

    :param known: files of which it has hard links, by name, and their checksums.
    """
    files: dict[str, tuple[int, str]] = {}
    for path in sorted(folder.iterdir()):
        if _is_idle(path.name):
            path.unlink()
            continue
        found = identity(path)
        before = known.get(path.name)
        same = before is not None and before[0] == found
        files[path.name] = (found[2], before[1] if before and same else _checksum(path))
    return files


def identity(path: Path) -> Identity:
    """What tells a file from any other."""
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_size


def files_of(folder: Path, checksum: str | None) -> dict[str, tuple[int, str]]:
    """The files of a store by name, each with its size and checksum.

    :param checksum: of the list, as the commit has it; without it, the files are read.
    :raises RootError: the list is not there, or another one.
    """
    try:
        if checksum is None:
            paths = [path for path in folder.iterdir() if not _is_idle(path.name)]
            return {path.name: (path.stat().st_size, _checksum(path)) for path in paths}
        files, found = _read(folder)
    except OSError as error:
        message = f"a store cannot be read: {error.strerror}"
        raise RootError(message, source=str(folder)) from error
    if found != checksum:
        raise RootError(f"{LIST} is not the list that the commit names", source=str(folder))
    return files


def damages(folder: Path, checksum: str) -> Iterator[str]:
    """What is wrong with the files of a store, a text for each of them that begins with its name.

    :param checksum: of the list of files, as the commit has it.
    """
    try:
        files, found = _read(folder)
    except FileNotFoundError:
        yield f"{LIST}: is not there"
        return
    except (RootError, OSError) as error:
        yield f"{LIST}: {error.message if isinstance(error, RootError) else error}"
        return
    if found != checksum:
        yield f"{LIST}: is not the list that the commit names"
        return
    for name, (size, expected) in files.items():
        try:
            there = (folder / name).stat().st_size
            if there != size:
                yield f"{name}: has {there} bytes instead of {size}"
            elif _checksum(folder / name) != expected:
                yield f"{name}: damaged: its checksum does not match"
        except FileNotFoundError:
            yield f"{name}: is not there"
        except OSError as error:
            yield f"{name}: cannot be read: {error}"
    for name in sorted(os.listdir(folder)):
        if name not in files and name != LIST and not _is_idle(name):
            yield f"{name}: is not a file of this version"


def _is_idle(name: str) -> bool:
    """Whether nothing of what is stored is in a file: RocksDB's own text log, and its lock."""
    return name == "LOCK" or name == "LOG" or name.startswith("LOG.old")


def _known(base: Path) -> dict[str, tuple[Identity, str]]:
    """The checksums of a store by name, each with what tells a file from any other."""
    try:
        files, _ = _read(base)
    except (RootError, OSError):
        # Made before there were lists, or damaged, which verify says.
        return {}
    known = {}
    for name, (_, checksum) in files.items():
        with suppress(FileNotFoundError):
            known[name] = identity(base / name), checksum
    return known


def _read(folder: Path) -> tuple[dict[str, tuple[int, str]], str]:
    """The files of a list, and its checksum."""
    path = folder / LIST
    found = parse_json(read_document(path), str(path))
    try:
        files = {name: (size, checksum) for name, (size, checksum) in found["files"].items()}
        return files, found["checksum"]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RootError("damaged: not a list of files", source=str(path)) from None


def _checksum(path: Path) -> str:
    digest = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
