"""What sharded stores ask of the place where their root lies.

Rules of this file:
1. Names are relative to the root, with ``/``; no name has ``..`` in it.
2. Nothing here knows what a version is. That one exists if and only if its commit does, and that
   of two writers one wins, follows from :func:`~.put.put_if_absent`; whatever else a storage does
   cannot be seen before that.
3. A storage can be sent to another process (``pickle``); its ``repr`` says no more than the root.
4. What goes wrong is a :class:`~jelly_plugins.JellyError`, or an ``OSError`` of the disk's.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, ClassVar, Final, NamedTuple, Self, TypeAlias

#: The folder of operations on their way, in the root.
STAGING: Final = "_staging"


class UncertainError(Exception):
    """A file was written, or not: who asked for it was not told, or was told wrong.

    :ivar problem: the error, for whoever cannot find out.
    """

    def __init__(self, problem: Exception) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Piece(NamedTuple):
    """Staged operations: some bytes of a file.

    :ivar name: of the file.
    :ivar offset: where they begin.
    :ivar size: how many they are.
    """

    name: str
    offset: int
    size: int


class _Using(ABC):
    """Files of stores that somebody uses until they are closed."""

    @abstractmethod
    def close(self) -> None:
        """Say that nobody uses them any more."""

    def doubt(self) -> None:  # noqa: B027
        """Say that they may be damaged, where they are copies of what is not."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is not None:
            self.doubt()
        self.close()


class OpenStore(_Using):
    """The files of a shard's store in a folder, from which Oxigraph reads, until it is closed.

    :ivar folder: the folder. Nothing may be written to it.
    """

    folder: Path

    @abstractmethod
    def close(self) -> None:
        """Say that nothing reads from the folder any more."""


class MakingStore(_Using):
    """A store that is being made: as long as it is not finished nobody sees it.

    :ivar folder: where Oxigraph writes it; not there yet.
    :ivar base: folder of the store that it is to be a copy of, by hard links; None if of none.
    """

    folder: Path
    base: Path | None

    @abstractmethod
    def finish(self) -> str:
        """List the files, which nobody writes any more, and make them last.

        :return: the list's checksum, for the commit.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of what is not part of the result."""


class Attempt(ABC):
    """Operations on their way: what one attempt of a batch has staged. Readers never see it.

    :ivar name: its own, which is no other attempt's.
    """

    name: str

    @abstractmethod
    def begin(self) -> None:
        """Make what tasks look for: what the driver does first."""

    @abstractmethod
    def check(self) -> None:
        """See whether this process has the same root as the driver: what a task does first.

        :raises RootError: it has not.
        """

    @abstractmethod
    def folder(self, part: str) -> Path:
        """Where a part of the log is staged, as one file for each shard; made by who writes."""

    @abstractmethod
    def finish(self, part: str) -> None:
        """Bring to the root what was staged in a part's folder, all of which is there now."""

    @abstractmethod
    def pieces(self, part: str) -> Mapping[int, Piece]:
        """What a part has, by shard; nothing for shards that it does not change.

        :raises RootError: it is not there, where that can be told from a part without operations.
        """

    @abstractmethod
    def open(self, piece: Piece) -> BinaryIO:
        """Read staged operations."""

    @abstractmethod
    def end(self) -> None:
        """Remove everything, as far as that can be done."""


class Sweep(ABC):
    """Stores that are to be removed, and that share files with others.

    :ivar sizes: bytes that each of them frees, about. One all of whose files are still needed is
        not among them.
    """

    sizes: Mapping[str, int]

    @abstractmethod
    def run(self) -> None:
        """Remove them, but for what others need."""


class Contents(ABC):
    """What there is in a root, looked at once, for a vacuum."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Names of what is in a folder, in order; nothing if it is not there."""

    @abstractmethod
    def changed(self, name: str) -> float:
        """When a file, or the latest of what is in a folder, was written: seconds since 1970.

        Infinity if it is not there any more.
        """

    @abstractmethod
    def size(self, name: str) -> int:
        """Bytes that are freed when a file or a folder is removed, about."""

    @abstractmethod
    def is_finished(self, store: str) -> bool:
        """Whether a store has the list of its files, which is written last."""

    @abstractmethod
    def sweep(self, stores: Iterable[str], needed: Mapping[str, str | None]) -> Sweep:
        """Plan the removal of stores.

        :param needed: all stores that stay, with the checksums of their lists, as commits have
            them.
        :raises RootError: it cannot be known what those that stay need.
        """


class Storage(ABC):
    """A place where a root lies.

    Two of the same name are the same place.

    :ivar name: the root, for people.
    :ivar format: version of the layout that a root has there.
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
        """This storage, as other processes can have it."""

    def place(self, name: str) -> str:
        """What errors call a file."""
        return f"{self.name}/{name}"

    # Documents: files that appear whole or not at all

    @abstractmethod
    def prepare(self) -> None:
        """Make the root, if there has to be something before a file can be written there.

        :raises RootError: it cannot be made.
        """

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Names of what is in a folder, the root itself being ``""``; nothing if it is not there.

        :raises RootError: they cannot be listed.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A document's bytes, or somewhat more than there may be.

        :raises FileNotFoundError: there is none.
        :raises RootError: it cannot be read.
        """

    @abstractmethod
    def exists(self, name: str) -> bool:
        """Whether there is a document."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Write a document that is not there yet, so that it lasts, see :func:`~.put_if_absent`.

        :raises FileExistsError: there is one, maybe this one.
        :raises UncertainError: it is not known whether it was written.
        :raises RootError: it was not, and cannot be.
        """

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Put other bytes in the place of a document's, at once."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove documents, and folders with all that is in them, as far as they are there."""

    # Stores of shards: their names are made by ``layout.new_store_name``

    @abstractmethod
    def missing(self, stores: Iterable[str], version: int) -> str | None:
        """One of some stores that is not there; None if all are.

        :param version: of the commit that is to name them. Those that were made for an earlier one,
            whose commit keeps them, are looked at where that costs little.
        """

    @abstractmethod
    def files(self, store: str, checksum: str | None) -> Mapping[str, tuple[int, str]]:
        """The files of a store: size and checksum by name.

        :param checksum: see :meth:`open`. Without it, the files are read where there is no list.
        :raises RootError: it is not there, or damaged.
        """

    @abstractmethod
    def open(self, store: str, checksum: str | None) -> OpenStore:
        """A store to be read.

        :param checksum: of the list of its files, as the commit has it.
        :raises RootError: it is not there, or damaged.
        """

    @abstractmethod
    def make(self, store: str, base: tuple[str, str | None] | None) -> MakingStore:
        """A store to be written.

        :param store: its name, which is no other store's.
        :param base: name and checksum of the store that it is to be a copy of.
        :raises RootError: that is not there, or damaged.
        """

    @abstractmethod
    def damages(self, store: str, checksum: str) -> Iterator[str]:
        """What is wrong with a store's files, a text for each of them that begins with its name.

        :param checksum: see :meth:`open`.
        """

    @abstractmethod
    def discard(self, stores: Iterable[str]) -> None:
        """Remove stores that no commit will ever name, as far as that can be done."""

    # Operations on their way

    @abstractmethod
    def attempt(self, name: str) -> Attempt:
        """What an attempt of this name has staged, or will."""

    @abstractmethod
    def checkpoint(self, application: str) -> str | None:
        """Where Spark keeps the checkpoint of a stream that is applied in one call, as a URL.

        None if that cannot be in the root.
        """

    # Cleaning

    @abstractmethod
    def contents(self) -> Contents:
        """What there is now."""


#: How callers say where a root is.
AnyRoot: TypeAlias = str | os.PathLike[str] | Storage
