"""Roots in folders of a file system: stores that share files by hard links, nothing is copied.

The file system is one that every reader and writer sees under the same path, and that has hard
links, ``fsync``, and renames that replace.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, ClassVar, Final
from urllib.parse import quote, urlsplit
from urllib.request import url2pathname

from ..errors import RootError
from .checksums import LIST, damages, files_of, list_files
from .durable import replace_file, sync_folder, write_beside
from .interface import STAGING, Attempt, Contents, MakingStore, OpenStore, Piece, Storage, Sweep
from .probe import check_probe, put_probe
from .reading import read_document

#: Checkpoints of streaming queries, in the root.
CHECKPOINTS: Final = "_checkpoints"

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
        raise RootError(f"{text!r} contains a NUL, which no path may")
    url = _URL.match(text)
    if url is None:
        return Path(text)
    if url[1] is None:
        raise RootError("a file URL needs an absolute path: file:///folder", source=text)
    parts = urlsplit(text)
    if url[1].lower() != "file" or parts.netloc not in ("", "localhost"):
        raise RootError(
            "not a local path: a root is a folder on a file system that the driver and all "
            "executors have under the same path, such as NFS, or one in a bucket: s3://, gs://, "
            "az://; HDFS is neither",
            source=text,
        )
    if "?" in text or "#" in text:
        raise RootError(
            "a file URL of a root cannot have a query or a fragment; in a name, ? is %3F and # is "
            "%23",
            source=text,
        )
    path = url2pathname(parts.path)
    if "\0" in path:
        raise RootError("%00 is a NUL, which no path may contain", source=text)
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
        # Executors have working folders of their own.
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
                f"no hard link can be made here ({error.strerror}), and a root needs a file system "
                "that has them",
                source=str(path.parent),
            ) from error
        finally:
            temporary.unlink()
        sync_folder(path.parent)

    def replace(self, name: str, data: bytes) -> None:
        replace_file(self.path / name, data)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            _remove(self.path / name)

    # Stores of shards

    def missing(self, stores: Iterable[str], version: int) -> str | None:  # noqa: ARG002
        gone = (store for store in stores if not (self.path / store / "CURRENT").exists())
        return next(gone, None)

    def files(self, store: str, checksum: str | None) -> Mapping[str, tuple[int, str]]:
        return files_of(self.path / store, checksum)

    def open(self, store: str, checksum: str | None) -> OpenStore:  # noqa: ARG002
        return _LocalStore(self.path / store)

    def make(self, store: str, base: tuple[str, str | None] | None) -> MakingStore:
        return _MakingLocalStore(self.path, store, None if base is None else base[0])

    def damages(self, store: str, checksum: str) -> Iterator[str]:
        return damages(self.path / store, checksum)

    def discard(self, stores: Iterable[str]) -> None:
        for store in stores:
            shutil.rmtree(self.path / store, ignore_errors=True)

    # Operations on their way

    def attempt(self, name: str) -> Attempt:
        return _LocalAttempt(self.path, name)

    def checkpoint(self, application: str) -> str:
        return (self.path.absolute() / CHECKPOINTS / quote(application, safe="")).as_uri()

    # Cleaning

    def contents(self) -> Contents:
        return _LocalContents(self.path)


class _LocalStore(OpenStore):
    """A store that is read where it lies."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def close(self) -> None:
        """It stays where it is."""


class _MakingLocalStore(MakingStore):
    """A store that is made where it will lie."""

    def __init__(self, root: Path, store: str, base: str | None) -> None:
        self._root: Final = root
        self.folder = root / store
        self.base = None if base is None else root / base
        self.folder.parent.mkdir(exist_ok=True)

    def finish(self) -> str:
        checksum = list_files(self.folder, self.base)
        for each in (self.folder, self.folder.parent, self._root):
            sync_folder(each)
        return checksum

    def close(self) -> None:
        """What is not finished is left for a vacuum: another process may be at it."""


class _LocalAttempt(Attempt):
    """A folder of staged operations: one for each part, with one file for each shard."""

    def __init__(self, root: Path, name: str) -> None:
        self.name = name
        self._root: Final = root
        self._folder: Final = root / STAGING / name

    def begin(self) -> None:
        put_probe(self._folder)

    def check(self) -> None:
        check_probe(self._folder)

    def folder(self, part: str) -> Path:
        return self._folder / part

    def finish(self, part: str) -> None:
        """It was staged where it is read."""

    def pieces(self, part: str) -> Mapping[int, Piece]:
        folder = f"{STAGING}/{self.name}/{part}"
        return {
            int(name): Piece(f"{folder}/{name}", 0, (self._root / folder / name).stat().st_size)
            for name in _names(self._root / folder)
        }

    def open(self, piece: Piece) -> BinaryIO:
        return (self._root / piece.name).open("rb")

    def end(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


class _LocalContents(Contents):
    """What a folder has; nothing is looked at before it is asked for."""

    def __init__(self, root: Path) -> None:
        self._root: Final = root

    def names(self, folder: str) -> list[str]:
        return _names(self._root / folder)

    def changed(self, name: str) -> float:
        # In a store that is a copy, linked files are as old as the first of them; not its folder.
        return max((found.st_mtime for found in _tree(self._root / name)), default=float("inf"))

    def size(self, name: str) -> int:
        return sum(found.st_size for found in _tree(self._root / name) if found.st_nlink == 1)

    def is_finished(self, store: str) -> bool:
        return (self._root / store / LIST).exists()

    def sweep(
        self,
        stores: Iterable[str],
        needed: Mapping[str, str | None],  # noqa: ARG002
    ) -> Sweep:
        return _LocalSweep(self._root, {store: self.size(store) for store in stores})


class _LocalSweep(Sweep):
    """Folders of stores. What they share with others stays there by its other links."""

    def __init__(self, root: Path, sizes: Mapping[str, int]) -> None:
        self._root: Final = root
        self.sizes = sizes

    def run(self) -> None:
        for store in self.sizes:
            _remove(self._root / store)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RootError(f"cannot be listed: {error.strerror}", source=str(folder)) from error


def _tree(path: Path) -> Iterator[os.stat_result]:
    """What is known of a folder or file and of all in it, as far as it is still there."""
    try:
        yield path.lstat()
        if path.is_dir() and not path.is_symlink():
            for name in os.listdir(path):
                yield from _tree(path / name)
    except FileNotFoundError:
        return


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
