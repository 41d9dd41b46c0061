"""Where a sharded store is: a folder, or a folder in a bucket (:mod:`.bucket`)."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from ...errors import OptionsError
from .root import MAX_BYTES, VERSIONS, RootError, Shard, numbers_of, version_file

if TYPE_CHECKING:
    from .bucket import Bucket


class Folder:
    """A folder of a file system with hard links, which each process reaches by the same path.

    It keeps files of versions, which are created only if they do not exist, and stores of shards,
    which never change. A :class:`.Bucket` has the same methods. Both can be sent to other
    processes.

    :ivar name: the root in errors.
    """

    def __init__(self, root: Path) -> None:
        self.root: Final = root
        self.name = str(root)

    def versions(self) -> list[int]:
        """Return the numbers of all versions, in order."""
        try:
            with self._errors("its versions cannot be listed", FileNotFoundError):
                return numbers_of(f"{VERSIONS}/{name}" for name in os.listdir(self.root / VERSIONS))
        except FileNotFoundError:
            return []

    def read(self, number: int) -> bytes:
        """Return the file of a version.

        :raises FileNotFoundError: it does not exist.
        """
        with (
            self._errors(f"version {number} cannot be read", FileNotFoundError),
            (self.root / version_file(number)).open("rb") as file,
        ):
            return file.read(MAX_BYTES + 1)

    def create(self, number: int, data: bytes) -> None:
        """Create the file of a version, durably.

        :raises FileExistsError: it exists, with other content.
        """
        path = self.root / version_file(number)
        temporary = path.parent / f".{uuid4().hex}"
        with self._errors(f"version {number} cannot be written", FileExistsError):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary.write_bytes(data)
                _sync(temporary)
                os.link(temporary, path)
            except FileExistsError:
                # Over NFS, a request that is sent again reports that the first one was done.
                if temporary.stat().st_nlink == 1:
                    raise
            finally:
                temporary.unlink(missing_ok=True)
            for folder in (path.parent, self.root, self.root.parent):
                _sync(folder)

    @contextmanager
    def open(self, shard: Shard) -> Iterator[Path | None]:
        """Return the folder of a shard's store, to read; None if the shard is empty.

        :raises RootError: the store is missing.
        """
        self.check((shard,), "is missing")
        yield None if shard.store is None else self.root / shard.store

    @contextmanager
    def making(self, number: int) -> Iterator[Path]:
        """Return the folder for a new store of a shard, which does not exist yet.

        What is there in the end, and was not kept, is removed.
        """
        folder = self.root / f"shard={number}" / f".{uuid4().hex}"
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def keep(self, folder: Path, number: int, base: Shard, opened: Path | None) -> Shard:  # noqa: ARG002
        """Bring a finished store to the root, durably.

        :param folder: the folder, from :meth:`making`.
        :param number: number of the shard.
        :param base: the shard that it was copied from, and ``opened`` its folder.
        :return: the shard, without the number of quads.
        """
        for path in folder.iterdir():
            # What is linked was written for an earlier version.
            if path.stat().st_nlink == 1:
                _sync(path)
        _sync(folder)
        final = folder.with_name(folder.name.removeprefix("."))
        folder.rename(final)
        _sync(final.parent)
        return Shard(f"shard={number}/{final.name}")

    def check(self, shards: Iterable[Shard], problem: str) -> None:
        """Check that the stores of shards are in the root.

        :param problem: what an error says of one that is not.
        :raises RootError: one is not.
        """
        for shard in shards:
            if shard.store is not None and not (self.root / shard.store).is_dir():
                raise RootError(f"{shard.store} {problem}", source=self.name)

    def stored(self) -> Mapping[str, float]:
        """Return the seconds since stores, or their objects, and unfinished files of versions were
        written, by name."""
        found = {}
        now = time.time()
        for path in (*self.root.glob("shard=*/*"), *self.root.glob(f"{VERSIONS}/.*")):
            try:
                found[path.relative_to(self.root).as_posix()] = now - path.stat().st_mtime
            except FileNotFoundError:
                continue
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Remove files of versions, and names from :meth:`stored`; missing ones are ignored."""
        with self._errors("it cannot be removed"):
            for path in map(self.root.joinpath, names):
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)

    @contextmanager
    def _errors(self, what: str, *passed: type[OSError]) -> Iterator[None]:
        """Convert the exceptions of the file system, except those of some types."""
        try:
            yield
        except passed:
            raise
        except OSError as error:
            raise RootError(f"{what}: {error}", source=self.name) from error


Storage: TypeAlias = "Folder | Bucket"
#: A root, as callers give it: a path, a ``file:`` URL, or the URL of a folder in a bucket.
AnyRoot: TypeAlias = str | os.PathLike[str]


def storage_at(root: AnyRoot | Storage, options: Mapping[str, Any] | None = None) -> Storage:
    """Return the storage of a root.

    :param options: settings of a bucket.
    :raises RootError: the root is not a valid path or URL.
    :raises OptionsError: a setting is invalid, or given for a folder.
    :raises TypeError: the root has another type.
    """
    if not isinstance(root, str | os.PathLike):
        if not hasattr(root, "versions"):
            raise TypeError(f"root must be a path or a URL (got {root!r})")
        return root
    text = os.fspath(root)
    if "://" in text and not text.startswith("file:"):
        from .bucket import Bucket

        return Bucket(text, options or {})
    if options:
        raise OptionsError("storage_options are for buckets, and the root is a folder", source=text)
    if text.startswith("file:"):
        parts = urlsplit(text)
        if parts.netloc not in ("", "localhost"):
            raise RootError("a file: URL must not name a host", source=text)
        text = unquote(parts.path)
    if not text:
        raise RootError("the root must not be empty")
    return Folder(Path(text).absolute())


def _sync(path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
