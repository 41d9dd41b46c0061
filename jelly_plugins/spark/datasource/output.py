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

Each batch of a stream has a folder of its own, see :class:`StreamOutput`.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, BinaryIO, Final
from uuid import uuid4

from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from ...errors import SourceError
from .files import Files

SUCCESS: Final = "_SUCCESS"


class Output:
    """One write job.

    :param folder: path or URL of the folder that receives the files.
    :param overwrite: whether the files replace all visible files in the folder.
    :ivar job: id that makes the names of the job's files unique.
    """

    def __init__(
        self,
        folder: str,
        storage: Mapping[str, Any] | None = None,
        *,
        overwrite: bool = False,
        job: str | None = None,
    ) -> None:
        self.folder = folder
        self.job = job or uuid4().hex
        self._storage = storage
        self._overwrite = overwrite

    @contextmanager
    def new_file(self, task: int, suffix: str) -> Iterator[tuple[str, BinaryIO]]:
        """Open a file with a unique name, for one attempt of a task.

        :param task: number of the task.
        :param suffix: suffix of the name, such as ``.jelly``.
        :return: the name, for :meth:`publish`, and the file.
        """
        name = f"part-{task:05}-{self.job[:8]}-{uuid4().hex[:8]}{suffix}"
        with self._opened() as (system, _, staging):
            system.makedirs(staging, exist_ok=True)
            file = system.open(f"{staging}/{name}", "wb")
        with file:
            yield name, file

    def publish(self, names: Sequence[str]) -> None:
        """Make the named files visible, and remove all other files that were written.

        :raises SourceError: that failed, and the folder is unchanged.
        """
        with self._opened() as (system, folder, staging), ExitStack() as undo:
            system.makedirs(staging, exist_ok=True)
            mark = f"{folder}/{SUCCESS}"
            if system.exists(mark):
                _move(system, mark, f"{staging}/{SUCCESS}", undo)
            if self._overwrite:
                system.makedirs(f"{staging}/replaced", exist_ok=True)
                for old in _visible(system, folder):
                    _move(system, old, f"{staging}/replaced/{posixpath.basename(old)}", undo)
            for name in names:
                _move(system, f"{staging}/{name}", f"{folder}/{name}", undo)
            system.touch(mark)
            undo.pop_all()
            _clear(system, staging)

    def discard(self) -> None:
        """Remove all files of the job; the folder is unchanged, or exists and is empty."""
        with self._opened() as (system, _, staging):
            if system.exists(staging):
                system.rm(staging, recursive=True)

    @contextmanager
    def _opened(self) -> Iterator[tuple[AbstractFileSystem, str, str]]:
        """Return the file system, the folder, and the hidden folder that tasks write to.

        Converts exceptions of the file system to a :class:`SourceError` that names the folder.
        """
        system, folder = Files(self._storage).system(self.folder)
        folder = folder.rstrip("/")
        try:
            yield system, folder, f"{folder}/_temporary-{self.job}"
        except SourceError:
            raise
        except Exception as error:
            # Each file system has its own library, with its own exceptions.
            raise SourceError(f"cannot be written: {error}", source=self.folder) from error


class StreamOutput(Output):
    """One batch of a stream, which becomes a folder of its own, exactly once.

    A batch's folder is named after the batch number and the query's id, which the checkpoint keeps
    over restarts. If Spark repeats a batch, because the driver was lost after the batch and before
    Spark recorded it, its folder exists already and the batch is skipped. On a local file system,
    the folder is made beside it and renamed: the batch appears atomically. On others, files are
    moved one by one: a batch's folder is complete once it has ``_SUCCESS``, and an incomplete one
    is replaced when Spark repeats the batch.

    :param query: id of the query, which is the same for as long as its checkpoint exists.
    :param batch: number of the batch.
    """

    def __init__(
        self, folder: str, query: str, batch: int, storage: Mapping[str, Any] | None = None
    ) -> None:
        # The job is the same for each attempt at the batch.
        super().__init__(folder, storage, job=f"{query}-{batch}")
        self._name = f"batch-{batch}-{query}"

    def publish(self, names: Sequence[str]) -> None:
        """Make the named files visible, unless the batch exists; remove all other files of it.

        :raises SourceError: that failed.
        """
        with self._opened() as (system, folder, staging):
            target = f"{folder}/{self._name}"
            if names and not system.exists(f"{target}/{SUCCESS}"):
                local = isinstance(system, LocalFileSystem)
                made = f"{staging}/whole" if local else target
                for place in (made, target):
                    if system.exists(place):
                        system.rm(place, recursive=True)
                system.makedirs(made)
                for name in names:
                    system.mv(f"{staging}/{name}", f"{made}/{name}")
                system.touch(f"{made}/{SUCCESS}")
                if local:
                    os.rename(made, target)
            _clear(system, staging)


def _visible(system: AbstractFileSystem, folder: str) -> list[str]:
    names = [str(name) for name in system.ls(folder, detail=False)]
    return [name for name in names if not posixpath.basename(name).startswith(("_", "."))]


def _move(system: AbstractFileSystem, source: str, target: str, undo: ExitStack) -> None:
    system.mv(source, target, recursive=system.isdir(source))
    back: Callable[..., Any] = system.mv
    undo.callback(back, target, source, recursive=system.isdir(target))


def _clear(system: AbstractFileSystem, staging: str) -> None:
    # The job is complete. Files that remain here are hidden, and no reader opens them.
    with suppress(Exception):
        system.rm(staging, recursive=True)
