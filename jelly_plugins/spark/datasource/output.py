"""A folder that gets files from many tasks at once: all of them or none.

Tasks write into a hidden folder beside the data; the driver moves their files when all of them are
there, and marks the folder with ``_SUCCESS``. What a task leaves that failed, ran twice or came too
late stays hidden and is thrown away. Knows nothing of Spark.

Moving several files is not one act. What a reader sees, and when:

1. An earlier job's ``_SUCCESS`` goes before the first file moves, and the new one comes after the
   last. So a folder that has one, before it is listed and still after, is all of one state; one
   without is not to be relied on. A file is whole from when its name shows.
2. In between, when appending: what was there, and some of the new files. When overwriting: what is
   left of the old files, then some of the new ones; never old and new ones together.
3. An error in between is undone. A driver that is killed leaves the folder as it was just then,
   without ``_SUCCESS``. Its files have the job's first eight digits in their names, and those that
   it did not come to are in ``_temporary-<job>``, the old ones in ``replaced`` there. Writing again
   with ``overwrite`` makes it whole; to go back instead, remove the job's files and move the old
   ones back.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final
from uuid import uuid4

from fsspec.spec import AbstractFileSystem

from ...errors import SourceError
from .files import Files

SUCCESS: Final = "_SUCCESS"


@dataclass(frozen=True, slots=True)
class Output:
    """One job that writes.

    :ivar folder: path or URL that gets the files.
    :ivar overwrite: whether they take the place of all that is in it, but for hidden files.
    :ivar job: makes the job's names different from those of any other.
    """

    folder: str
    overwrite: bool = False
    storage: Mapping[str, Any] = field(default_factory=dict)
    job: str = field(default_factory=lambda: uuid4().hex)

    @contextmanager
    def new_file(self, task: int, suffix: str) -> Iterator[tuple[str, BinaryIO]]:
        """Open a file for one attempt of a task; it gets a name of its own.

        :param task: number of the task.
        :param suffix: of the name, such as ``.jelly``.
        :return: the name, for :meth:`publish`, and the file.
        """
        system, folder = self.open()
        name = f"part-{task:05}-{self.job[:8]}-{uuid4().hex[:8]}{suffix}"
        staging = f"{folder}/{self.staging}"
        with named(self.folder):
            system.makedirs(staging, exist_ok=True)
            file = system.open(f"{staging}/{name}", "wb")
        with file:
            yield name, file

    def publish(self, names: Sequence[str]) -> None:
        """Make the files of these names visible, and throw away what else was written.

        :raises SourceError: that failed, and the folder is as it was.
        """
        system, folder = self.open()
        staging = f"{folder}/{self.staging}"
        with named(self.folder), ExitStack() as undo:
            system.makedirs(staging, exist_ok=True)
            mark = f"{folder}/{SUCCESS}"
            if system.exists(mark):
                _move(system, mark, f"{staging}/{SUCCESS}", undo)
            if self.overwrite:
                system.makedirs(f"{staging}/replaced", exist_ok=True)
                for old in self._visible(system, folder):
                    _move(system, old, f"{staging}/replaced/{posixpath.basename(old)}", undo)
            for name in names:
                _move(system, f"{staging}/{name}", f"{folder}/{name}", undo)
            system.touch(mark)
            undo.pop_all()
            with suppress(Exception):
                # All is done; what stays here is hidden, and nobody reads it.
                system.rm(staging, recursive=True)

    def discard(self) -> None:
        """Throw away all that was written; the folder is as it was, or there and empty."""
        system, folder = self.open()
        with named(self.folder):
            if system.exists(f"{folder}/{self.staging}"):
                system.rm(f"{folder}/{self.staging}", recursive=True)

    @property
    def staging(self) -> str:
        """Name of the hidden folder that tasks write into."""
        return f"_temporary-{self.job}"

    def open(self) -> tuple[AbstractFileSystem, str]:
        """The file system of the folder, and what it calls it."""
        system, folder = Files(self.storage).system(self.folder)
        return system, folder.rstrip("/")

    def _visible(self, system: AbstractFileSystem, folder: str) -> list[str]:
        names = [str(name) for name in system.ls(folder, detail=False)]
        return [name for name in names if not posixpath.basename(name).startswith(("_", "."))]


def _move(system: AbstractFileSystem, source: str, target: str, undo: ExitStack) -> None:
    system.mv(source, target, recursive=system.isdir(source))
    back: Callable[..., Any] = system.mv
    undo.callback(back, target, source, recursive=system.isdir(target))


@contextmanager
def named(folder: str) -> Iterator[None]:
    """Let what a file system raises be a :class:`SourceError` that names the folder."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        # Each file system has a library of its own, with exceptions of its own.
        raise SourceError(f"cannot be written: {error}", source=folder) from error
