"""The formats of files as sinks of batches and of streams: each task writes its own files.

State that the commit needs is in the tasks' commit messages, because Spark creates a new writer for
each step of a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from ...errors import JellyError, OptionsError
from .formats import Format, plain
from .options import Settings
from .output import Output, StreamOutput

#: Properties that Spark sets in the tasks of a stream: ids of the query and the batch.
_QUERY, _BATCH = "sql.streaming.queryId", "streaming.sql.batchId"


@dataclass
class Written(WriterCommitMessage):
    """The commit message of a task.

    :ivar names: names of its files; empty if it had no rows.
    :ivar query: id of the query, for a stream.
    :ivar batch: number of the batch, for a stream.
    """

    names: Sequence[str]
    query: str = ""
    batch: int = 0


class _Writer:
    """What both writers have in common.

    :param path: path or URL of the folder.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002
        path: str,
        schema: StructType,
        settings: Settings,
    ) -> None:
        format.check(schema, settings)
        self._format = format
        self._path = path
        self._settings = settings

    def _write(self, batches: Iterator[pa.RecordBatch], output: Output) -> list[str]:
        """Write the rows of a task.

        :return: names of its files.
        :raises JellyError: with the file, and the row, counted from the task's first.
        """
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        names: list[str] = []
        rows = 0
        parts = self._format.divide(plain(batch) for batch in batches if batch.num_rows)
        suffix = self._format.suffix + self._settings.suffix
        while (first := next(parts, None)) is not None:
            with output.new_file(task, suffix) as (name, file):
                unique = f"{output.job}-{task}-{len(names)}"
                writer = self._format.writer(file, unique, first.schema, self._settings)
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
        return names


class FolderWriter(_Writer, DataSourceArrowWriter):
    """Writes a DataFrame; Spark creates one, and sends it to every task.

    :param overwrite: whether the files replace those in the folder.
    """

    def __init__(
        self,
        format: Format,  # noqa: A002
        path: str,
        schema: StructType,
        settings: Settings,
        *,
        overwrite: bool,
    ) -> None:
        super().__init__(format, path, schema, settings)
        self._output = Output(path, settings["storageOptions"], overwrite=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return Written(self._write(iterator, self._output))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        self._output.publish([name for message in written for name in message.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._output.discard()


class FolderStreamWriter(_Writer, DataSourceStreamArrowWriter):
    """Writes the batches of a stream; Spark creates one for each batch, and another to commit
    it."""

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = TaskContext.get()
        assert context is not None
        query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise OptionsError(
                "Spark did not set the ids of query and batch in this task; this needs Structured "
                "Streaming's micro-batch mode"
            )
        names = self._write(iterator, self._output(query, int(batch)))
        return Written(names, query, int(batch))

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        written = [message for message in messages if isinstance(message, Written)]
        names = [name for message in written for name in message.names]
        for output in {(each.query, each.batch) for each in written}:
            self._output(*output).publish(names)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        # Files of tasks that sent no message are removed when the batch is repeated.
        written = [message for message in messages if isinstance(message, Written)]
        for output in {(each.query, each.batch) for each in written}:
            self._output(*output).discard()

    def _output(self, query: str, batch: int) -> StreamOutput:
        return StreamOutput(self._path, query, batch, self._settings["storageOptions"])
