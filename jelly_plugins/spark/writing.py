"""The format ``jelly`` as a sink: each task writes one stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from ..codec import ColumnEncoder
from ..errors import JellyError, OptionsError
from .encoding import StreamWriter, stream_options
from .output import Output
from .schema import GRAPH, POSITIONS
from .settings import WriteSettings

_SPLIT = {"value", "kind", "datatype", "language"}


@dataclass
class Written(WriterCommitMessage):
    """What a task has written.

    :ivar names: of its files: one, or none if it had no rows.
    """

    names: Sequence[str]
    rows: int


def check_columns(schema: StructType) -> None:
    """Refuse columns that are no statements.

    :raises OptionsError: one is missing, one too many, or not of terms.
    """
    names = set(schema.names)
    missing = set(POSITIONS) - {GRAPH} - names
    other = names - set(POSITIONS)
    if missing or other:
        raise OptionsError(
            "the columns have to be subject, predicate, object and, if there are graphs, graph: "
            + ", ".join(
                [f"{name} is missing" for name in sorted(missing)]
                + [f"{name} is another one" for name in sorted(other)]
            )
        )
    for each in schema:
        split = isinstance(each.dataType, StructType) and set(each.dataType.names) == _SPLIT
        if not split and not isinstance(each.dataType, StringType):
            raise OptionsError(
                f"column {each.name} is {each.dataType.simpleString()}, neither text nor a "
                "structure of value, kind, datatype and language"
            )


class JellyWriter(DataSourceArrowWriter):
    """Writes statements; Spark makes one, and sends it to every task."""

    def __init__(
        self, path: str, schema: StructType, overwrite: bool, settings: WriteSettings
    ) -> None:
        check_columns(schema)
        # Refuses options before there is a task.
        ColumnEncoder(stream_options(settings, GRAPH in schema.names))
        self._settings = settings
        self._output = Output(path, overwrite, settings.storage)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        batches = (batch for batch in iterator if batch.num_rows)
        first = next(batches, None)
        if first is None:
            return Written((), 0)
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        with self._output.new_file(task, self._settings.suffix) as (name, file):
            writer = StreamWriter(file, first.schema, self._settings)
            try:
                writer.add(first)
                for batch in batches:
                    writer.add(batch)
                writer.finish()
            except JellyError as error:
                error.locate(source=name)
                raise
        return Written((name,), writer.rows)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        self._output.publish([name for message in written for name in message.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._output.discard()
