"""The changes of a sharded store as a source of ``jelly-patch``: a log for each version.

A task computes the patch of its version as a file of its own, and reads that as it would any other:
the rows, and their marks, are those of a folder with one file for each version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

from ...errors import JellyError, OptionsError
from ..sharded.commits import Commit, CommitLog
from ..sharded.errors import CheckpointError, on_executor
from ..sharded.feed import Step, newest_behind, steps, write_changes
from ..sharded.layout import open_root
from ..sharded.storage import Storage, storage_at
from ..sharded.store import ShardedStore
from .batches import read_part
from .operations import OPERATIONS
from .parts import Piece
from .progress import Offset
from .reading import Part
from .schema import arrow_schema
from .settings import ChangesSettings, ReadSettings
from .shipping import Shipped


class _FeedReader(Shipped):
    """What both readers have in common.

    :param options: of the format, with ``root``.
    """

    def __init__(
        self, options: Mapping[str, str], settings: ReadSettings, schema: StructType
    ) -> None:
        asked = ChangesSettings.of(options)
        self._storage: Storage = storage_at(asked.root, asked.storage).everywhere()
        self._from = asked.first
        self._to = asked.last
        self._settings = settings
        self._schema = schema

    def _parts(self, wanted: Sequence[Step]) -> Sequence[InputPartition]:
        """A task for each step; one that says that there is none, otherwise."""
        files = len(wanted)
        return [
            Part([Piece(_path(self._storage, step), number=at, files=files)])
            for at, step in enumerate(wanted)
        ] or [Part(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """What Spark's task of a partition calls."""
        assert isinstance(partition, Part)
        schema = arrow_schema(self._schema)
        if not partition.pieces:
            return OPERATIONS.read_none(schema)
        opened = partial(_log, self._storage)
        return read_part(partition.pieces, self._settings, schema, OPERATIONS.read, opened)


class FeedReader(_FeedReader, DataSourceReader):
    """Reads what was changed between two versions."""

    def partitions(self) -> Sequence[InputPartition]:
        try:
            return self._parts(steps(self._storage, self._from, self._to))
        except JellyError:
            raise
        except ValueError as error:
            raise OptionsError(str(error)) from error


class FeedStreamReader(_FeedReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads what is changed from a version on. Offsets are versions, with the ids of their commits:
    another store in the same place is not taken for the one that was followed."""

    _last: Commit | None = None

    @cached_property
    def _log(self) -> CommitLog:
        return CommitLog(self._storage, open_root(self._storage))

    def initialOffset(self) -> Offset:  # noqa: N802
        return _offset(newest_behind(self._log, self._from, 0))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._settings.most_files
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._log.head()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        self._check(start)
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        last = self._last or self._log.head()
        return _offset(newest_behind(self._log, start["version"], most, last))

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        for offset in (start, end):
            self._check(offset)
        return self._parts(steps(self._storage, start["version"], end["version"]))

    def _check(self, offset: Offset) -> None:
        """Refuse an offset of another store.

        :raises CheckpointError: it is.
        """
        version = offset["version"]
        if self._log.read(version).id != offset["commit"]:
            raise CheckpointError(
                f"version {version} is not the one that was followed so far: this is another store",
                source=self._storage.name,
            )


def _offset(commit: Commit) -> Offset:
    return {"version": commit.version, "commit": commit.id}


#: What the file of a step is called, in its store.
_FILE: Final = "_changes/{:012d}-{:012d}.jellyp"


def _path(storage: Storage, step: Step) -> str:
    """What the column ``source`` says."""
    return storage.place(_FILE.format(*step))


@contextmanager
def _log(storage: Storage, path: str) -> Iterator[BinaryIO]:
    """The patch of a step as a file."""
    before, _, after = path[-len(_FILE.format(0, 0)) :].partition("/")[2].partition("-")
    step = Step(int(before), int(after.partition(".")[0]))
    with TemporaryFile() as file, on_executor():
        write_changes(storage, [step], ShardedStore(storage).at, file)
        file.seek(0)
        yield file
