"""Roots in folders of a file system: stores share files by hard links, nothing is copied.

Every reader and writer must access the file system under the same path, and it must have hard
links, ``fsync``, and renames that replace.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, ClassVar, Final
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname
from uuid import uuid4

from ....errors import JellyError
from ..documents import checksum_in
from ..errors import RootError, on_executor, without_secrets
from .files import (
    LIST,
    File,
    checksum_of_file,
    is_idle,
    list_name,
    read_document,
    survey,
    sync_folder,
    to_list,
    write_beside,
    write_file,
)
from .interface import STAGING, Attempt, Found, MakingStore, OpenStore, StagedExtent, Storage

#: A file URL of this machine.
_LOCAL: Final = re.compile(r"(?i)file:(?:/(?!/)|//(?:localhost)?/)")

#: Checkpoints of streaming queries, in the root.
CHECKPOINTS: Final = "_checkpoints"

_PROBE: Final = "probe"

#: A network file system may take a moment to show other machines' writes.
_PATIENCE: Final = 2.0
_PAUSE: Final = 0.1

#: The start of a URL; ``pathlib`` replaces two slashes by one, and a drive has one letter.
_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/|(?i:file):")


def local_path(root: str | os.PathLike[str]) -> Path:
    """Return the folder of a root, given as a path or a ``file:`` URL.

    :raises RootError: it is not on a local file system, or not a path.
    >>> local_path("file:///data/my%20store").as_posix()
    '/data/my store'
    """
    text = os.fsdecode(root)
    if "\0" in text:
        raise RootError(f"{without_secrets(text)!r} contains NUL, which is not allowed in a path")
    url = _URL.match(text)
    if url is None:
        return Path(text)
    shown = without_secrets(text.replace(":/", "://", 1) if "://" not in text else text)
    if url[1] is None:
        raise RootError("a file URL needs an absolute path: file:///folder", source=shown)
    if url[1].lower() != "file" or not _LOCAL.match(text):
        raise RootError(
            "not a local path: use a folder on a file system that the driver and all executors "
            "access under the same path, such as NFS, or a folder in a bucket: s3://, gs://, "
            "az://; HDFS is not supported",
            source=shown,
        )
    parts = urlsplit(text)
    if "?" in text or "#" in text:
        raise RootError(
            "the file URL of a root must not have a query or a fragment; in a name, write ? as %3F "
            "and # as %23",
            source=shown,
        )
    path = url2pathname(parts.path)
    if "\0" in path:
        raise RootError("%00 is NUL, which is not allowed in a path", source=text)
    return Path(path)


class LocalStorage(Storage):
    """A folder of a file system.

    :param path: the folder.
    """

    format: ClassVar[int] = 1

    def __init__(self, path: Path) -> None:
        self.path: Final = path
        self.name = str(path)

    @property
    def root(self) -> Path:
        return self.path

    def everywhere(self) -> LocalStorage:
        # Executors have other working folders.
        return LocalStorage(Path(os.path.abspath(self.path)))

    def place(self, name: str) -> str:
        return str(self.path / name)

    # Documents

    def prepare(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RootError(f"cannot be made: {error.strerror}", source=self.name) from error

    def names(self, folder: str) -> list[str]:
        return _names(self.path / folder)

    def read(self, name: str) -> bytes:
        return read_document(self.path / name)

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def create(self, name: str, data: bytes) -> None:
        path = self.path / name
        try:
            if path.parent != self.path:
                path.parent.mkdir(exist_ok=True)
            temporary = write_beside(path, data)
        except OSError as error:
            raise RootError(f"cannot be written: {error.strerror}", source=str(path)) from error
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError as error:
            raise RootError(
                f"cannot make a hard link here ({error.strerror}): a root needs a file system with "
                "hard links",
                source=str(path.parent),
            ) from error
        finally:
            temporary.unlink()
        sync_folder(path.parent)

    def replace(self, name: str, data: bytes) -> None:
        path = self.path / name
        os.replace(write_beside(path, data), path)
        sync_folder(path.parent)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.path / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def objects(self, folder: str) -> Iterator[Found]:
        # Linked files keep the time of the first link, also in a copied store; its folder does not.
        for name in self.names(folder):
            inner = f"{folder}/{name}" if folder else name
            try:
                found = (self.path / inner).lstat()
            except FileNotFoundError:
                continue
            yield Found(inner, found.st_size if found.st_nlink == 1 else 0, found.st_mtime)
            if stat.S_ISDIR(found.st_mode):
                yield from self.objects(inner)

    def clock(self) -> float:
        # The time of a new file is from the machine that has the disk.
        path = self.path / f"clock.{uuid4().hex}.tmp"
        try:
            path.touch(exist_ok=False)
            found = path.stat().st_mtime
            path.unlink()
        except OSError as error:
            raise RootError(f"cannot be written: {error.strerror}", source=self.name) from error
        return found

    # Stores of shards

    def missing(self, names: Iterable[str]) -> str | None:
        return next((name for name in names if not self.exists(name)), None)

    def open(self, store: str, checksum: str) -> OpenStore:  # noqa: ARG002
        return OpenStore(self.path / store)

    def make(self, store: str, base: tuple[str, str] | None) -> MakingStore:
        return _MakingLocalStore(self, store, base)

    def wrong(self, store: str, files: Mapping[str, File], seen: set[object]) -> Iterator[str]:
        folder = self.path / store
        for name, file in files.items():
            try:
                found = (folder / name).stat()
                same = (found.st_dev, found.st_ino, file.checksum)
                if found.st_size != file.size:
                    yield f"{name}: has {found.st_size} bytes instead of {file.size}"
                elif same not in seen:
                    if checksum_of_file(folder / name) != file.checksum:
                        yield f"{name}: damaged: its checksum does not match"
                    else:
                        seen.add(same)
            except FileNotFoundError:
                yield f"{name}: does not exist"
            except OSError as error:
                yield f"{name}: cannot be read: {error}"
        for name in self.names(store):
            if name not in files and name != LIST and not is_idle(name):
                yield f"{name}: is not a file of this version"

    def needed(self, stores: Iterable[tuple[str, str]]) -> set[str]:  # noqa: ARG002
        # Each store has its own links to shared files.
        return set()

    def discard(self, stores: Iterable[str]) -> None:
        for store in stores:
            shutil.rmtree(self.path / store, ignore_errors=True)

    # Staged operations

    def attempt(self, name: str) -> Attempt:
        return _LocalAttempt(self.path, name)

    def checkpoint(self, application: str) -> Path:
        return self.path.absolute() / CHECKPOINTS / quote(application, safe="")


class _MakingLocalStore(MakingStore):
    """A store that is created at its final location."""

    def __init__(self, storage: LocalStorage, store: str, base: tuple[str, str] | None) -> None:
        self._storage: Final = storage
        self._store: Final = store
        self._base: Final = base
        self.disk = storage.name
        self.folder = storage.path / store
        self.base = None if base is None else storage.path / base[0]
        self.folder.parent.mkdir(exist_ok=True)

    def finish(self) -> str:
        known: Mapping[str, File] = {}
        if self._base is not None:
            # If the list is damaged, all files are read; verify reports it.
            with suppress(JellyError):
                known = self._storage.files(*self._base)
        found = survey(self.folder, self.base, known)
        files = {name: File(*each, f"{self._store}/{name}", 0) for name, each in found.items()}
        data = to_list(files)
        write_file(self._storage.path / list_name(self._store), data)
        for each in (self.folder, self.folder.parent, self._storage.path):
            sync_folder(each)
        return checksum_in(data)


class _LocalAttempt(Attempt):
    """A folder of staged operations: a folder for each part, with one file for each shard."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self._root: Final = root
        self._folder: Final = root / STAGING / name

    def begin(self) -> None:
        """Write the probe for :meth:`check`.

        If executors have another file system under the same path, the root is an empty folder
        there, or can be created, so that their writes would be lost without an error.
        """
        self._folder.mkdir(parents=True)
        (self._folder / _PROBE).write_text(self.name)

    def check(self) -> None:
        until = time.monotonic() + _PATIENCE
        while not self._is_visible():
            if time.monotonic() > until:
                with on_executor():
                    message = "this process does not see the driver's files"
                    raise RootError(message, source=str(self._root))
            time.sleep(_PAUSE)

    def _is_visible(self) -> bool:
        try:
            return (self._folder / _PROBE).read_text() == self.name
        except OSError:
            return False

    def folder(self, part: str) -> Path:
        return self._folder / part

    def finish(self, part: str) -> None:
        """Do nothing: operations are staged in the root."""

    def extents(self, part: str) -> Mapping[int, StagedExtent]:
        folder = f"{STAGING}/{self.name}/{part}"
        return {
            int(name): StagedExtent(
                f"{folder}/{name}", 0, (self._root / folder / name).stat().st_size
            )
            for name in _names(self._root / folder)
        }

    def open(self, extent: StagedExtent) -> BinaryIO:
        return (self._root / extent.name).open("rb")

    def end(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RootError(f"cannot be listed: {error.strerror}", source=str(folder)) from error
