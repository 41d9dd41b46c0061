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

from ..sharded.commits import Commit, CommitLog, open_log
from ..sharded.errors import CheckpointError, RootError, on_executor
from ..sharded.feed import Step, newest_after, steps, write_changes
from ..sharded.storage import Storage
from ..sharded.store import ShardedStore
from .batches import read_partition
from .operations import OPERATIONS
from .options import of_option
from .progress import Offset
from .reading import FilePartition
from .schema import arrow_schema
from .settings import ReadSettings, StoreSettings
from .shipping import Shipped
from .splits import FileSplit


class _FeedReader(Shipped):
    """Common part of both readers."""

    def __init__(
        self, storage: Storage, store: StoreSettings, settings: ReadSettings, schema: StructType
    ) -> None:
        self._storage = storage
        self._store = store
        self._settings = settings
        self._schema = schema

    @cached_property
    def _log(self) -> CommitLog:
        return open_log(self._storage)

    def _first(self) -> Commit:
        """Return the version after which the changes start."""
        first = self._store.first
        try:
            return self._log.find(first)
        except RootError as error:
            if first:
                error.message = (
                    f"option startingVersion is {first + 1}, which requires version {first}: "
                    f"{error.message}"
                )
            raise

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
        opened = partial(_patch_file, self._storage)
        return read_partition(partition.splits, self._settings, schema, OPERATIONS.read, opened)


class FeedReader(_FeedReader, DataSourceReader):
    """Reads the changes between two versions."""

    def partitions(self) -> Sequence[InputPartition]:
        first = self._first()
        with of_option("endingVersion" if self._store.last is not None else None):
            last = self._log.find(self._store.last)
        return self._parts(steps(self._log, first, last))


class FeedStreamReader(_FeedReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the changes since a version.

    An offset is a version and the id of its commit, which detects that another store has replaced
    the one that the query followed.
    """

    _last: Commit | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        return _offset(self._first())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._settings.most_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._log.head()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        last = self._last or self._log.head()
        return _offset(newest_after(self._log, self._commit(start), most, last))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        return self._parts(steps(self._log, self._commit(start), self._commit(end)))

    def _commit(self, offset: Offset) -> Commit:
        """Return the version of an offset.

        :raises CheckpointError: it is of another store.
        """
        version = offset["version"]
        commit = self._log.find(version)
        if commit.id != offset["commit"]:
            raise CheckpointError(
                f"version {version} is not the version that this query has read: the root now has "
                "another store; start the query with a new checkpoint",
                source=self._storage.name,
            )
        return commit


def _offset(commit: Commit) -> Offset:
    return {"version": commit.version, "commit": commit.id}


#: Name of the file of a step, in its store.
_FILE: Final = "_changes/{:012d}-{:012d}.jellyp"


def _path(storage: Storage, step: Step) -> str:
    """Return the path of a step's file, the value of the column ``source``."""
    return storage.place(_FILE.format(*step))


@contextmanager
def _patch_file(storage: Storage, path: str) -> Iterator[BinaryIO]:
    """Open the patch of a step as a file."""
    before, _, after = path[-len(_FILE.format(0, 0)) :].partition("/")[2].partition("-")
    step = Step(int(before), int(after.partition(".")[0]))
    with TemporaryFile() as file, on_executor():
        write_changes(open_log(storage), [step], ShardedStore(storage).at, file)
        file.seek(0)
        yield file
