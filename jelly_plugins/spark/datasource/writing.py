"""The formats as sinks of batches and of streams: each task writes its own files.

State that the commit needs is in the tasks' commit messages, because Spark creates a new writer for
each step of a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO, Protocol

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from ...errors import JellyError, OptionsError
from .encoding import plain
from .output import Output
from .settings import WriteSettings
from .shipping import Shipped
from .stream_output import StreamOutput

#: Properties that Spark sets in the tasks of a stream: ids of the query and the batch.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


class BatchWriter(Protocol):
    """Writes batches to an open file."""

    rows: int

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch."""

    def finish(self) -> None:
        """Finish the file."""


@dataclass(frozen=True)
class Sink:
    """The differences between the formats, for writers.

    :ivar suffix: suffix of file names, before that of the compression.
    :ivar check: rejects invalid columns and settings, before any task runs.
    :ivar split: divides batches so that each has the columns of its file: where the columns change,
        a new file starts.
    :ivar open: returns a writer for an open file, given a name of job and task, and the columns.
    """

    suffix: str
    check: Callable[[StructType, WriteSettings], None]
    split: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
    open: Callable[[BinaryIO, str, pa.Schema, WriteSettings], BatchWriter]


@dataclass
class Written(WriterCommitMessage):
    """The commit message of a task.

    :ivar names: names of its files; empty if it had no rows.
    :ivar rows: number of rows.
    :ivar query: id of the query, for a stream.
    :ivar batch: number of the batch, for a stream.
    """

    names: Sequence[str]
    rows: int
    query: str = ""
    batch: int = 0


def write_task(
    batches: Iterator[pa.RecordBatch], output: Output, sink: Sink, settings: WriteSettings
) -> tuple[list[str], int]:
    """Write the rows of a task.

    :return: names of its files, and number of rows.
    :raises JellyError: with the file, and the row, counted from the task's first.
    """
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    names: list[str] = []
    rows = 0
    parts = sink.split(plain(batch) for batch in batches if batch.num_rows)
    while (first := next(parts, None)) is not None:
        with output.new_file(task, sink.suffix + settings.suffix) as (name, file):
            writer = sink.open(file, f"{output.job}-{task}-{len(names)}", first.schema, settings)
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
    return names, rows


class FolderWriter(Shipped, DataSourceArrowWriter):
    """Writes a DataFrame; Spark creates one, and sends it to every task."""

    def __init__(
        self, path: str, schema: StructType, overwrite: bool, settings: WriteSettings, sink: Sink
    ) -> None:
        sink.check(schema, settings)
        self._settings = settings
        self._sink = sink
        self._output = Output(path, overwrite, settings.storage)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(*write_task(iterator, self._output, self._sink, self._settings))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        self._output.publish([name for message in written for name in message.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._output.discard()


class FolderStreamWriter(Shipped, DataSourceStreamArrowWriter):
    """Writes the batches of a stream; Spark creates one for each batch, and another to commit it.

    :raises OptionsError: the output mode is not append.
    """

    def __init__(
        self, path: str, schema: StructType, overwrite: bool, settings: WriteSettings, sink: Sink
    ) -> None:
        if overwrite:
            raise OptionsError(
                "a stream of this format supports only output mode append: each batch adds files, "
                "and replaces none"
            )
        sink.check(schema, settings)
        self._path = path
        self._settings = settings
        self._sink = sink

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        assert context is not None
        query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise OptionsError(
                "Spark did not set the ids of query and batch in this task; this needs Structured "
                "Streaming's micro-batch mode"
            )
        output = self._batch(query, int(batch)).output
        names, rows = write_task(iterator, output, self._sink, self._settings)
        return Written(names, rows, query, int(batch))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        written = [message for message in messages if isinstance(message, Written)]
        names = [name for message in written for name in message.names]
        for output in {(each.query, each.batch) for each in written}:
            self._batch(*output).publish(names)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        # Files of tasks that sent no message are removed when the batch is repeated.
        written = [message for message in messages if isinstance(message, Written)]
        for output in {(each.query, each.batch) for each in written}:
            self._batch(*output).discard()

    def _batch(self, query: str, batch: int) -> StreamOutput:
        return StreamOutput(self._path, query, batch, self._settings.storage)
