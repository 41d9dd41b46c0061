"""What sharded stores ask of the place where their root lies.

Rules of this file:
1. Names are relative to the root, with ``/``; no name has ``..`` in it.
2. Nothing here knows what a version is. That one exists if and only if its commit does, and that
   of two writers one wins, follows from :meth:`Storage.put_if_absent`; whatever else a storage does
   cannot be seen before that.
3. A storage can be sent to another process (``pickle``); its ``repr`` says no more than the root.
4. What goes wrong is a :class:`~jelly_plugins.JellyError`, or an ``OSError`` of the disk's.
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

#: The folder of operations on their way, in the root.
STAGING: Final = "_staging"

#: How often a file is written that is not there afterwards.
TRIES: Final = 3


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


def _nothing() -> None:
    """What there is to do where files are read where they lie."""


class OpenStore:
    """The files of a shard's store in a folder, from which Oxigraph reads, until it is closed.

    :param folder: the folder. Nothing may be written to it.
    :param close: what to do once nothing reads from the folder any more.
    :param doubt: what to do if the files may be damaged, where they are copies.
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
    """A store that is being made: as long as it is not finished nobody sees it.

    :ivar folder: where Oxigraph writes it; not there yet.
    :ivar base: folder of the store that it is to be a copy of, by hard links; None if of none.
    :ivar disk: what errors call the disk that both are on.
    """

    folder: Path
    base: Path | None
    disk: str

    @abstractmethod
    def finish(self) -> str:
        """List the files, which nobody writes any more, and make them last.

        :return: the list's checksum, for the commit.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        self.close(failed=error is not None)

    def close(self, *, failed: bool) -> None:  # noqa: B027
        """Let go of what is not part of the result; what is not finished is left for a vacuum.

        :param failed: whether files that it was made of may be damaged, where they are copies.
        """


class Attempt(ABC):
    """Operations on their way: what one attempt of a batch has staged. Readers never see it.

    :ivar name: its own, which is no other attempt's.
    """

    name: str

    def begin(self) -> None:  # noqa: B027
        """Make what tasks look for, if they could see another root: what the driver does first."""

    def check(self) -> None:  # noqa: B027
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


class Found(NamedTuple):
    """A file that is there, or in a file system a folder.

    :ivar name: relative to the root.
    :ivar size: bytes that are freed when it is removed, about.
    :ivar changed: when it was put, by the storage's clock: seconds since 1970.
    """

    name: str
    size: int
    changed: float


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
        """Write a document that is not there yet, so that it lasts, see :meth:`put_if_absent`.

        :raises FileExistsError: there is one, maybe this one.
        :raises UncertainError: it is not known whether it was written.
        :raises RootError: it was not, and cannot be.
        """

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Write a document that is not there yet; it appears with all of its bytes, and stays.

        Storages report as failed what they have done, and clients try again what was done already:
        they then find their own file in the place. So it is the bytes that decide. A commit has a
        random number in it; no other writer's has the same bytes.

        :return: whether these bytes are there now; if not, another writer's are.
        :raises RootError: it cannot be written, or it is not known whether it was.
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
                    error.message = f"it is not known whether this was written: {error.message}"
                raise
        raise problem or RootError("keeps appearing and disappearing", source=self.place(name))

    def check_exclusive(self, name: str) -> None:
        """Check that a document that is there is not replaced, by putting it again as it is.

        :raises RootError: it is; then it is removed, so that the next caller checks again.
        """
        try:
            self.create(name, self.read(name))
        except (FileExistsError, UncertainError):
            return
        self.remove([name])
        raise RootError(
            "this storage ignores If-None-Match, and writes over what is there: two "
            "writers would overwrite each other's versions",
            source=self.name,
        )

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Put other bytes in the place of a document's, at once."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove files, and in a file system folders with all that is in them, if they exist."""

    @abstractmethod
    def objects(self, folder: str) -> Iterable[Found]:
        """All files in a folder, and in those that it has; the root itself is ``""``."""

    @abstractmethod
    def clock(self) -> float:
        """The time by the clock that says when files were put: seconds since 1970.

        All who use the root have that clock in common, whatever their own says.
        """

    # Stores of shards: their names are made by ``layout.new_store_name``

    @abstractmethod
    def missing(self, names: Iterable[str]) -> str | None:
        """One of some documents that is not there; None if all are."""

    def files(self, store: str, checksum: str) -> Mapping[str, File]:
        """The files of a store, by name.

        :param checksum: of the list of its files, as the commit has it.
        :raises RootError: the list is not there, or damaged.
        """
        name = list_name(store)
        try:
            data = self.read(name)
        except FileNotFoundError:
            raise RootError("is not there", source=self.place(name)) from None
        return parse_list(data, store, checksum, self.place(name))

    @abstractmethod
    def open(self, store: str, checksum: str) -> OpenStore:
        """A store to be read.

        :param checksum: of the list of its files, as the commit has it.
        :raises RootError: it is not there, or damaged.
        """

    @abstractmethod
    def make(self, store: str, base: tuple[str, str] | None) -> MakingStore:
        """A store to be written.

        :param store: its name, which is no other store's.
        :param base: name and checksum of the store that it is to be a copy of.
        :raises RootError: that is not there, or damaged.
        """

    def damages(self, store: str, checksum: str, seen: set[object]) -> Iterator[str]:
        """What is wrong with a store's files, a text for each of them that begins with its name.

        :param checksum: see :meth:`files`.
        :param seen: gets what was read, which is not read again.
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
        """The objects that stores need, where one may need what lies in another one's folder.

        :param stores: names, with the checksums of the lists of their files.
        :raises RootError: a list cannot be read, so that this cannot be known.
        """

    @abstractmethod
    def discard(self, stores: Iterable[str]) -> None:
        """Remove stores that no commit will ever name, as far as that can be done."""

    # Operations on their way

    @abstractmethod
    def attempt(self, name: str) -> Attempt:
        """What an attempt of this name has staged, or will."""

    @abstractmethod
    def checkpoint(self, application: str) -> Path | None:
        """The folder in which Spark keeps the checkpoint of a stream that is applied in one call.

        None if that cannot be in the root.
        """


#: How callers say where a root is.
AnyRoot: TypeAlias = str | os.PathLike[str] | Storage
