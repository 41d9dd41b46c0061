"""Where a sharded store is: a folder, or a folder in a bucket (:mod:`.bucket`).

A storage keeps files of versions, which are created only if they do not exist, and stores of
shards, which never change. Storages can be sent to other processes.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from ...errors import OptionsError
from .errors import RootError
from .root import MAX_BYTES, VERSIONS, Shard, numbers_of, version_file

#: A root, as callers give it: a path, a ``file:`` URL, or the URL of a folder in a bucket.
AnyRoot: TypeAlias = "str | os.PathLike[str] | Storage"


class Storage(Protocol):
    """What versions and stores are kept in.

    :ivar name: the root in errors.
    """

    name: str

    def versions(self) -> list[int]:
        """Return the numbers of all versions, in order."""

    def read(self, number: int) -> bytes:
        """Return the file of a version.

        :raises FileNotFoundError: it does not exist.
        """

    def create(self, number: int, data: bytes) -> None:
        """Create the file of a version, durably.

        :raises FileExistsError: it exists, with other content.
        """

    def age(self, number: int) -> float:
        """Return the seconds since a version was committed.

        :raises FileNotFoundError: it does not exist.
        """

    def open(self, shard: Shard) -> AbstractContextManager[Path | None]:
        """Return the folder of a shard's store, to read; None if the shard is empty.

        :raises RootError: the store is missing.
        """

    def making(self, number: int) -> AbstractContextManager[Path]:
        """Return the folder for a new store of a shard, which does not exist yet.

        What is there in the end, and was not kept, is removed.
        """

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:
        """Bring a finished store to the root, durably.

        :param folder: the folder, from :meth:`making`.
        :param number: number of the shard.
        :param base: the shard that it was copied from, and ``opened`` its folder.
        :return: the shard, without the number of quads.
        """

    def check(self, shards: Iterable[Shard]) -> None:
        """Check that new stores are in the root.

        :raises RootError: one is not: another machine has another folder under the path.
        """

    def stored(self) -> Mapping[str, float]:
        """Return the seconds since stores, or their objects, and unfinished files of versions were
        written, by name."""

    def remove(self, versions: Iterable[int], names: Iterable[str]) -> None:
        """Remove versions, then names from :meth:`stored`; missing ones are ignored."""


def storage_at(root: AnyRoot, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the storage of a root.

    :param options: settings of a bucket.
    :raises RootError: the root is not a valid path or URL.
    :raises OptionsError: a setting is invalid, or given for a folder.
    """
    if not isinstance(root, str | os.PathLike):
        return root
    text = os.fspath(root)
    if "://" in text and not text.startswith("file:"):
        # First the module that reports a missing library.
        from . import connecting  # noqa: F401
        from .bucket import Bucket

        return Bucket(text, options or {})
    if options:
        raise OptionsError("storage_options are for buckets, and the root is a folder", source=text)
    if not text:
        raise RootError("the root must not be empty")
    if text.startswith("file:"):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise RootError("a file: URL must not name a host", source=text)
        text = unquote(parts.path)
    return Folder(Path(text).absolute())


class Folder:
    """A folder of a file system with hard links, which each process reaches by the same path."""

    def __init__(self, root: Path) -> None:
        self.root: Final = root
        self.name = str(root)

    # Versions

    def versions(self) -> list[int]:
        try:
            names = os.listdir(self.root / VERSIONS)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise RootError(f"cannot be listed: {error}", source=self.name) from error
        return numbers_of(names)

    def read(self, number: int) -> bytes:
        try:
            with self._version(number).open("rb") as file:
                return file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise RootError(
                f"version {number} cannot be read: {error}", source=self.name
            ) from error

    def create(self, number: int, data: bytes) -> None:
        path = self._version(number)
        temporary = path.parent / f".{uuid4().hex}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)
            except FileExistsError:
                # Over NFS, a request that is sent again reports that the first one was done.
                if temporary.stat().st_nlink == 1:
                    raise
            _sync(path.parent)
        except FileExistsError:
            raise
        except OSError as error:
            raise RootError(
                f"version {number} cannot be written: {error}", source=self.name
            ) from error
        finally:
            temporary.unlink(missing_ok=True)

    def age(self, number: int) -> float:
        return time.time() - self._version(number).stat().st_mtime

    def _version(self, number: int) -> Path:
        return self.root / version_file(number)

    # Stores

    @contextmanager
    def open(self, shard: Shard) -> Iterator[Path | None]:
        folder = None if shard.store is None else self.root / shard.store
        if folder is not None and not folder.is_dir():
            raise RootError(f"{shard.store} is missing", source=self.name)
        yield folder

    @contextmanager
    def making(self, number: int) -> Iterator[Path]:
        folder = self.root / f"shard={number}" / f".{uuid4().hex}"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:  # noqa: ARG002
        for path in folder.iterdir():
            # What is linked was written for an earlier version.
            if path.stat().st_nlink == 1:
                _sync(path)
        _sync(folder)
        final = folder.with_name(folder.name.removeprefix("."))
        folder.rename(final)
        _sync(final.parent)
        return Shard(f"shard={number}/{final.name}")

    def check(self, shards: Iterable[Shard]) -> None:
        for shard in shards:
            if shard.store is not None and not (self.root / shard.store).is_dir():
                raise RootError(
                    f"a task has written {shard.store}, which is not here: the driver and every "
                    "executor must be able to access the root under the same path",
                    source=self.name,
                )

    def stored(self) -> Mapping[str, float]:
        found = {}
        now = time.time()
        for path in (*self.root.glob("shard=*/*"), *self.root.glob(f"{VERSIONS}/.*")):
            try:
                found[path.relative_to(self.root).as_posix()] = now - path.stat().st_mtime
            except FileNotFoundError:
                continue
        return found

    def remove(self, versions: Iterable[int], names: Iterable[str]) -> None:
        for number in versions:
            self._version(number).unlink(missing_ok=True)
        for name in names:
            path = self.root / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
