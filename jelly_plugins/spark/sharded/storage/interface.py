"""The interface of storages, on which sharded stores keep their roots.

Rules of this file:
1. Names are relative to the root, with ``/``; no name has ``..`` in it.
2. Nothing here depends on versions. That a version exists if and only if its commit does, and that
   one of two concurrent writers wins, follows from :meth:`Storage.put_if_absent`; no other
   operation has visible effects before that.
3. A storage can be sent to another process (``pickle``); its ``repr`` shows only the root.
4. Errors are a :class:`~jelly_plugins.JellyError`, or an ``OSError`` of the disk.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, NamedTuple, Self, TypeAlias

from ....errors import JellyError
from ..errors import RootError
from .files import LIST, File, list_name, parse_list

#: The folder of staged operations, in the root.
STAGING: Final = "_staging"

#: How often to write a file that does not exist afterwards.
TRIES: Final = 3


class UncertainError(Exception):
    """It is unknown whether a file was written: there was no answer, or an unreliable one.

    :ivar problem: the error to raise if this cannot be determined.
    """

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


class StagedExtent(NamedTuple):
    """A range of bytes of a file with staged operations.

    :ivar name: name of the file.
    :ivar offset: offset of the first byte.
    :ivar size: number of bytes.
    """

    name: str
    offset: int
    size: int


def _nothing() -> None:
    """Do nothing: files are read in place."""


class OpenStore:
    """The files of a shard's store in a folder for Oxigraph, until it is closed.

    :param folder: the folder, which must not be written to.
    :param close: called when no reader needs the folder any more.
    :param doubt: called if the files may be damaged copies.
    """

    def __init__(
        self,
        folder: Path,
        close: Callable[[], None] = _nothing,
        doubt: Callable[[], None] = _nothing,
    ) -> None:
        self.folder: Final = folder
        self.close: Final = close
        self.doubt: Final = doubt

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self.doubt()
        self.close()


class MakingStore(ABC):
    """A new store, which is invisible to readers until it is finished.

    :ivar folder: folder for Oxigraph to create.
    :ivar base: folder of the store to copy, by hard links; None for an empty store.
    :ivar disk: name of the disk with both in errors.
    """

    folder: Path
    base: Path | None
    disk: str

    @abstractmethod
    def finish(self) -> str:
        """List the files, which must not be written to any more, and make them durable.

        :return: the list's checksum, for the commit.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.close(failed=error is not None)

    def close(self, *, failed: bool) -> None:  # noqa: B027
        """Release temporary resources; an unfinished store is left for a vacuum.

        :param failed: whether files of the base may be damaged copies.
        """


class Attempt(ABC):
    """The staged operations of one attempt at a batch. Readers never see them.

    :ivar name: unique name.
    """

    name: str

    def begin(self) -> None:  # noqa: B027
        """Prepare for :meth:`check`; the driver calls this first."""

    def check(self) -> None:  # noqa: B027
        """Check that this process has the same root as the driver; tasks call this first.

        :raises RootError: it has another root.
        """

    @abstractmethod
    def folder(self, part: str) -> Path:
        """Return the folder for staging a part of the log, one file for each shard.

        The caller creates it.
        """

    @abstractmethod
    def finish(self, part: str) -> None:
        """Bring the staged files of a part to the root, once all are complete."""

    @abstractmethod
    def extents(self, part: str) -> Mapping[int, StagedExtent]:
        """Return the staged operations of a part by shard, for the shards that have any.

        :raises RootError: they do not exist, and that differs from a part without operations.
        """

    @abstractmethod
    def open(self, extent: StagedExtent) -> BinaryIO:
        """Open staged operations."""

    @abstractmethod
    def end(self) -> None:
        """Remove everything, as far as possible."""


class Found(NamedTuple):
    """An existing file, or a folder of a file system.

    :ivar name: relative to the root.
    :ivar size: approximate number of bytes that removing it frees.
    :ivar changed: when it was put, by the storage's clock: seconds since 1970.
    """

    name: str
    size: int
    changed: float


class Storage(ABC):
    """The storage of a root.

    Storages with the same name are equal.

    :ivar name: name of the root in messages.
    :ivar format: version of the layout of roots in such storages.
    """

    name: str
    format: ClassVar[int]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    @abstractmethod
    def root(self) -> Path | str:
        """The root: a folder's path, or a URL."""

    @abstractmethod
    def everywhere(self) -> Storage:
        """Return this storage in a form that other processes can use."""

    def place(self, name: str) -> str:
        """Return the name of a file in errors."""
        return f"{self.name}/{name}"

    # Documents: files that are written atomically

    @abstractmethod
    def prepare(self) -> None:
        """Create the root, if files cannot be written without.

        :raises RootError: it cannot be created.
        """

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; ``""`` is the root. Empty if the folder does not exist.

        :raises RootError: they cannot be listed.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Read a document; of one that is too long, slightly more than the maximum.

        :raises FileNotFoundError: it does not exist.
        :raises RootError: it cannot be read.
        """

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Return whether a document exists."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Write a new document durably, see :meth:`put_if_absent`.

        :raises FileExistsError: it exists, possibly with this content.
        :raises UncertainError: it is unknown whether it was written.
        :raises RootError: it was not written, and cannot be.
        """

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write a document if it does not exist; it appears atomically, and is never removed.

        Storages may report failure for a completed write, and clients may repeat a completed write
        and then find their own file. The bytes therefore decide: a commit contains a random number,
        so no other writer's commit has the same bytes.

        :return: whether the document has these bytes; otherwise, another writer's.
        :raises RootError: it cannot be written, or it is unknown whether it was.
        """
        problem: Exception | None = None
        for _ in range(TRIES):
            try:
                self.create(name, data)
                return True
            except FileExistsError:
                pass
            except UncertainError as error:
                problem = error.problem
            try:
                return self.read(name) == data
            except FileNotFoundError:
                continue
            except JellyError as error:
                if problem is not None:
                    error.message = f"it is unknown whether this was written: {error.message}"
                raise
        raise problem or RootError("appears and disappears repeatedly", source=self.place(name))

    def check_exclusive(self, name: str) -> None:
        """Check that the storage does not overwrite an existing document, by putting it again.

        :raises RootError: it does; the document is then removed, so that the next caller checks
            again.
        """
        try:
            self.create(name, self.read(name))
        except (FileExistsError, UncertainError):
            return
        self.remove([name])
        raise RootError(
            "this storage ignores If-None-Match and overwrites existing files, so that two "
            "writers would overwrite each other's versions: use a storage that supports it",
            source=self.name,
        )

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Replace a document atomically."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove files that exist, and on a file system folders with their contents."""

    @abstractmethod
    def objects(self, folder: str) -> Iterable[Found]:
        """Return all files in a folder and its subfolders; ``""`` is the root."""

    @abstractmethod
    def clock(self) -> float:
        """Return the time of the clock that dates files: seconds since 1970.

        All users of the root share that clock, whatever their own clocks show.
        """

    # Stores of shards; ``layout.new_store_name`` creates their names

    @abstractmethod
    def missing(self, names: Iterable[str]) -> str | None:
        """Return one of the documents that does not exist; None if all exist."""

    def files(self, store: str, checksum: str) -> Mapping[str, File]:
        """Return the files of a store, by name.

        :param checksum: checksum of the list of its files, from the commit.
        :raises RootError: the list is missing or damaged.
        """
        name = list_name(store)
        try:
            data = self.read(name)
        except FileNotFoundError:
            raise RootError("does not exist", source=self.place(name)) from None
        return parse_list(data, store, checksum, self.place(name))

    @abstractmethod
    def open(self, store: str, checksum: str) -> OpenStore:
        """Open a store for reading.

        :param checksum: checksum of the list of its files, from the commit.
        :raises RootError: it is missing or damaged.
        """

    @abstractmethod
    def make(self, store: str, base: tuple[str, str] | None) -> MakingStore:
        """Create a store.

        :param store: its name, which must be unique.
        :param base: name and checksum of the store to copy.
        :raises RootError: that store is missing or damaged.
        """

    def damages(self, store: str, checksum: str, seen: set[object]) -> Iterator[str]:
        """Return a message for each damaged file of a store, which begins with the file's name.

        :param checksum: see :meth:`files`.
        :param seen: records what was read, which is not read again.
        """
        try:
            files = self.files(store, checksum)
        except JellyError as error:
            yield f"{LIST}: {error.message}"
            return
        yield from self.wrong(store, files, seen)

    @abstractmethod
    def wrong(self, store: str, files: Mapping[str, File], seen: set[object]) -> Iterator[str]:
        """See :meth:`damages`."""

    @abstractmethod
    def needed(self, stores: Iterable[tuple[str, str]]) -> set[str]:
        """Return the objects that stores need, including objects in folders of other stores.

        :param stores: names, with the checksums of the lists of their files.
        :raises RootError: a list cannot be read, so that this is unknown.
        """

    @abstractmethod
    def discard(self, stores: Iterable[str]) -> None:
        """Remove stores that no commit will ever name, as far as possible."""

    # Staged operations

    @abstractmethod
    def attempt(self, name: str) -> Attempt:
        """Return the attempt with this name."""

    @abstractmethod
    def checkpoint(self, application: str) -> Path | None:
        """Return the folder for Spark's checkpoint of a stream that is applied in one call.

        None if it cannot be in the root.
        """


#: The location of a root.
AnyRoot: TypeAlias = str | os.PathLike[str] | Storage
