"""The formats of files as sinks of batches and of streams: each task writes its own files into a
folder that receives either all or none of them.

Tasks write to a hidden folder beside the data. When all tasks have finished, the driver moves their
files into the folder and creates ``_SUCCESS``. Files of tasks that failed, ran twice or finished
too late stay hidden and are removed. Moving several files is not atomic. Readers see the following:

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

State that the commit needs is in the tasks' commit messages, because Spark creates a new writer for
each step of a stream.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Final, Self
from uuid import uuid4

import pyarrow as pa
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from ...errors import JellyError, SourceError
from .columns import plain
from .files import Files
from .options import Settings
from .reading import Format

SUCCESS: Final = "_SUCCESS"
#: Properties that Spark sets in the tasks of a stream: ids of the query and the batch.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


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
        """Open a file with a unique name, for one attempt of a task."""
        name = f"part-{task:05}-{self.job[:8]}-{uuid4().hex[:8]}{suffix}"
        with self._opened() as (system, _, staging):
            system.makedirs(staging, exist_ok=True)
            file = system.open(f"{staging}/{name}", "wb")
        with file:
            yield name, file

    def publish(self, names: Sequence[str]) -> None:
        """Make the named files visible, and remove all other files that were written."""
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
        """Return the file system, the folder, and the hidden folder that tasks write to; convert
        exceptions of the file system."""
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
    """

    def __init__(
        self, folder: str, query: str, batch: int, storage: Mapping[str, Any] | None = None
    ) -> None:
        # The job is the same for each attempt at the batch.
        super().__init__(folder, storage, job=f"{query}-{batch}")
        self._name = f"batch-{batch}-{query}"

    def publish(self, names: Sequence[str]) -> None:
        """Make the named files visible, unless the batch exists; remove all other files of it."""
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


# Spark's writers


@dataclass
class Written(WriterCommitMessage):
    """The commit message of a task: the names of its files, and the job that they are of."""

    names: Sequence[str]
    output: Output

    @classmethod
    def each(cls, messages: Sequence[WriterCommitMessage | None]) -> list[Self]:
        """Return the messages of tasks that have sent one."""
        return [message for message in messages if isinstance(message, cls)]


@dataclass(eq=False)
class _Writer:
    """What both writers have in common."""

    format: Format
    settings: Settings
    path: str

    def _write(self, batches: Iterator[pa.RecordBatch], output: Output) -> Written:
        """Write the rows of a task. Errors have the file, and the row, counted from the task's
        first."""
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        names: list[str] = []
        rows = 0
        parts = self.format.divide(plain(batch) for batch in batches if batch.num_rows)
        suffix = self.format.suffix + self.settings.suffix
        while (first := next(parts, None)) is not None:
            with output.new_file(task, suffix) as (name, file):
                unique = f"{output.job}-{task}-{len(names)}"
                writer = self.format.writer(file, unique, first.schema, self.settings)
                ahead = None
                try:
                    writer.add(first)
                    for batch in parts:
                        if batch.schema != first.schema:
                            ahead = batch
                            break
                        writer.add(batch)
                    writer.finish()
                except JellyError as error:
                    if error.row is not None:
                        error.row += rows
                    error.locate(source=name)
                    raise
            names.append(name)
            rows += writer.rows
            parts = parts if ahead is None else chain((ahead,), parts)
        return Written(names, output)


@dataclass(eq=False)
class FolderWriter(_Writer, DataSourceArrowWriter):
    """Writes a DataFrame; Spark creates one, and sends it to every task."""

    overwrite: bool

    def __post_init__(self) -> None:
        storage = self.settings["storageOptions"]
        self._output = Output(self.path, storage, overwrite=self.overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return self._write(iterator, self._output)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        self._output.publish([name for each in Written.each(messages) for name in each.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._output.discard()


class FolderStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the batches of a stream; Spark creates one for each batch, and another to commit
    it."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        assert context is not None
        query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
        assert query is not None
        assert batch is not None
        storage = self.settings["storageOptions"]
        return self._write(iterator, StreamOutput(self.path, query, int(batch), storage))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        written = Written.each(messages)
        # All are of one batch.
        for each in written[:1]:
            each.output.publish([name for other in written for name in other.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        # Files of tasks that sent no message are removed when the batch is repeated.
        for each in Written.each(messages)[:1]:
            each.output.discard()
