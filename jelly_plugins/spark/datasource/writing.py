"""The format ``jelly`` as a sink: each task writes one stream.

A stream is one of triples as long as no row has a graph, whatever the columns are: readers that
want triples take no stream of quads. From the first row with a graph on, a task writes another one,
of quads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StringType, StructType

from ...codec import ColumnEncoder
from ...errors import JellyError, OptionsError
from .encoding import StreamWriter, stream_options
from .output import Output
from .schema import GRAPH, POSITIONS
from .settings import WriteSettings

_SPLIT = {"value", "kind", "datatype", "language"}


@dataclass
class Written(WriterCommitMessage):
    """What a task has written.

    :ivar names: of its files: one, none if it had no rows, or two if some have a graph.
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


def split_graphs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches without the column of graphs, up to the first row that has one."""
    named = False
    for batch in batches:
        if named or GRAPH not in batch.schema.names:
            yield batch
            continue
        found = pc.index(pc.is_valid(batch[GRAPH]), value=True).as_py()
        if found != 0:
            yield batch.slice(0, None if found < 0 else found).drop_columns([GRAPH])
        if found >= 0:
            named = True
            yield batch.slice(found)


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
        names: list[str] = []
        rows = 0
        parts = split_graphs(batches)
        while (first := next(parts, None)) is not None:
            name, count, ahead = self._write_stream(chain((first,), parts), rows)
            names.append(name)
            rows += count
            parts = parts if ahead is None else chain((ahead,), parts)
        return Written(names, rows)

    def _write_stream(
        self, batches: Iterator[pa.RecordBatch], before: int
    ) -> tuple[str, int, pa.RecordBatch | None]:
        """Write batches as a stream, as long as they have the same columns.

        :param before: rows of the task that were written before.
        :return: name of the file, number of rows, and the batch that goes into another stream.
        """
        first = next(batches)
        context = TaskContext.get()
        task = 0 if context is None else context.partitionId()
        with self._output.new_file(task, self._settings.suffix) as (name, file):
            writer = StreamWriter(file, first.schema, self._settings)
            ahead = None
            try:
                writer.add(first)
                for batch in batches:
                    if batch.schema != first.schema:
                        ahead = batch
                        break
                    writer.add(batch)
                writer.finish()
            except JellyError as error:
                if error.row is not None:
                    error.row += before
                error.locate(source=name)
                raise
        return name, writer.rows, ahead

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        self._output.publish([name for message in written for name in message.names])

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._output.discard()
