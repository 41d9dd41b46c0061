"""A folder that receives the files of many tasks at once, either all or none of them.

Tasks write to a hidden folder beside the data. When all tasks have finished, the driver moves their
files into the folder and creates ``_SUCCESS``. Files of tasks that failed, ran twice or finished
too late stay hidden and are removed. Does not import Spark.

Moving several files is not atomic. Readers see the following:

1. The ``_SUCCESS`` of an earlier job is removed before the first file moves, and the new one is
   created after the last. A folder that has ``_SUCCESS`` before and after it is listed is
   consistent; a folder without it may be incomplete. A visible file is always complete.
2. Meanwhile, when appending: the existing files and some of the new ones. When overwriting: the
   remaining old files, then some of the new ones; never old and new files together.
3. An error meanwhile is rolled back. If the driver is killed, the folder stays as it is, without
   ``_SUCCESS``. The files of the job have its first eight digits in their names. Files that were
   not moved yet are in ``_temporary-<job>``, and the old files are in ``replaced`` there. Writing
   again with ``overwrite`` repairs the folder; to restore the earlier state, remove the files of
   the job and move the old files back.
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
    """One write job.

    :ivar folder: path or URL of the folder that receives the files.
    :ivar overwrite: whether the files replace all visible files in the folder.
    :ivar job: id that makes the names of the job's files unique.
    """

    folder: str
    overwrite: bool = False
    storage: Mapping[str, Any] = field(default_factory=dict)
    job: str = field(default_factory=lambda: uuid4().hex)

    @contextmanager
    def new_file(self, task: int, suffix: str) -> Iterator[tuple[str, BinaryIO]]:
        """Open a file with a unique name, for one attempt of a task.

        :param task: number of the task.
        :param suffix: suffix of the name, such as ``.jelly``.
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
        """Make the named files visible, and remove all other files that were written.

        :raises SourceError: that failed, and the folder is unchanged.
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
                # The job is complete. Files that remain here are hidden, and no reader opens them.
                system.rm(staging, recursive=True)

    def discard(self) -> None:
        """Remove all files of the job; the folder is unchanged, or exists and is empty."""
        system, folder = self.open()
        with named(self.folder):
            if system.exists(f"{folder}/{self.staging}"):
                system.rm(f"{folder}/{self.staging}", recursive=True)

    @property
    def staging(self) -> str:
        """Name of the hidden folder that tasks write to."""
        return f"_temporary-{self.job}"

    def open(self) -> tuple[AbstractFileSystem, str]:
        """Return the file system of the folder, and the path within it."""
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
    """Convert exceptions of a file system to a :class:`SourceError` that names the folder."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        # Each file system has its own library, with its own exceptions.
        raise SourceError(f"cannot be written: {error}", source=folder) from error
