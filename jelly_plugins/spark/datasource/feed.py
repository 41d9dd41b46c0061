"""The changes of a sharded store, with the columns of ``jelly-patch``: one log for each version.

A task computes the patch of its version, and reads it as if it were a file. The rows and their
marks are those of a folder with one file for each version.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from tempfile import TemporaryFile
from typing import BinaryIO, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from ..sharded.commits import Commit, CommitLog
from ..sharded.errors import CheckpointError, on_executor
from ..sharded.feed import Step, newest_after, steps, write_changes
from ..sharded.layout import open_root
from ..sharded.storage import Storage, storage_at
from ..sharded.store import ShardedStore
from .batches import read_partition
from .operations import OPERATIONS
from .progress import Offset
from .reading import FilePartition
from .schema import arrow_schema
from .settings import ReadSettings, StoreSettings
from .shipping import Shipped
from .splits import FileSplit


class _FeedReader(Shipped):
    """Common part of both readers."""

    def __init__(self, store: StoreSettings, settings: ReadSettings, schema: StructType) -> None:
        self._storage: Storage = storage_at(store.root, store.storage).everywhere()
        self._from = store.first
        self._to = store.last
        self._settings = settings
        self._schema = schema

    def _parts(self, wanted: Sequence[Step]) -> Sequence[InputPartition]:
        """Return a partition for each step; without steps, one empty partition."""
        files = len(wanted)
        return [
            FilePartition([FileSplit(_path(self._storage, step), number=at, files=files)])
            for at, step in enumerate(wanted)
        ] or [FilePartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a partition; Spark calls this in a task."""
        assert isinstance(partition, FilePartition)
        schema = arrow_schema(self._schema)
        if not partition.splits:
            return OPERATIONS.read_none(schema)
        opened = partial(_log, self._storage)
        return read_partition(partition.splits, self._settings, schema, OPERATIONS.read, opened)


class FeedReader(_FeedReader, DataSourceReader):
    """Reads the changes between two versions."""

    def partitions(self) -> Sequence[InputPartition]:
        return self._parts(steps(self._storage, self._from, self._to))


class FeedStreamReader(_FeedReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes since a version.

    An offset is a version and the id of its commit, which detects that another store has replaced
    the one that the query followed.
    """

    _last: Commit | None = None

    @cached_property
    def _log(self) -> CommitLog:
        return CommitLog(self._storage, open_root(self._storage))

    def initialOffset(self) -> Offset:  # noqa: N802
        return _offset(newest_after(self._log, self._from, 0))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._settings.most_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._log.head()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        self._check(start)
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        last = self._last or self._log.head()
        return _offset(newest_after(self._log, start["version"], most, last))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        for offset in (start, end):
            self._check(offset)
        return self._parts(steps(self._storage, start["version"], end["version"]))

    def _check(self, offset: Offset) -> None:
        """Check that an offset is of this store.

        :raises CheckpointError: it is of another store.
        """
        version = offset["version"]
        if self._log.read(version).id != offset["commit"]:
            raise CheckpointError(
                f"version {version} is not the version that this query has read: the root now has "
                "another store; start the query with a new checkpoint",
                source=self._storage.name,
            )


def _offset(commit: Commit) -> Offset:
    return {"version": commit.version, "commit": commit.id}


#: Name of the file of a step, in its store.
_FILE: Final = "_changes/{:012d}-{:012d}.jellyp"


def _path(storage: Storage, step: Step) -> str:
    """Return the path of a step's file, the value of the column ``source``."""
    return storage.place(_FILE.format(*step))


@contextmanager
def _log(storage: Storage, path: str) -> Iterator[BinaryIO]:
    """Open the patch of a step as a file."""
    before, _, after = path[-len(_FILE.format(0, 0)) :].partition("/")[2].partition("-")
    step = Step(int(before), int(after.partition(".")[0]))
    with TemporaryFile() as file, on_executor():
        write_changes(storage, [step], ShardedStore(storage).at, file)
        file.seek(0)
        yield file
