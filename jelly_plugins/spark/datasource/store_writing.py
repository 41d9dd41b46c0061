"""The format ``jelly-store`` as a sink of DataFrames, each of which becomes one version.

Tasks stage statements in the root. The commit, in a process on the driver without a Spark session,
writes the shards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from ...arrow import QUADS
from ...codec.common.positions import POSITIONS
from ...codec.patch.operations import OperationKind
from ...errors import JellyError, OptionsError, StatementError
from ..sharded.batch import DEFAULT_RETRIES, BatchSettings
from ..sharded.layout import MAX_SHARDS
from ..sharded.processes import on_driver
from ..sharded.statements import Part, StoreWrite
from ..sharded.terms import canonical_terms
from .encoding import joined, plain
from .patch_encoding import KIND
from .settings import ShardKey, choice, metadata, number, storage_of, switch, text
from .shipping import Shipped
from .sinks import check_columns

#: Maximum number of processes by default; each needs some hundred megabytes.
_PROCESSES: Final = 4

#: Property that Spark sets in the tasks of a streaming query: its id.
_QUERY: Final = "sql.streaming.queryId"

_ADD: Final = OperationKind.ADD.code
_DELETE: Final = OperationKind.DELETE.code


@dataclass
class Staged(WriterCommitMessage):
    """The commit message of a task.

    :ivar part: what it has staged; None if the batch was written before.
    :ivar query: id of the streaming query that it is part of; None without one.
    """

    part: Part | None
    query: str | None


class StoreWriter(Shipped, DataSourceArrowWriter):
    """Writes a DataFrame; Spark creates one, and sends it to every task and to the commit."""

    def __init__(self, options: Mapping[str, str], schema: StructType, overwrite: bool) -> None:
        check_columns(schema, (KIND,) if KIND in map(str.lower, schema.names) else ())
        settings = batch_settings(options)
        self._processes = number(options, "processes") or min(os.cpu_count() or 1, _PROCESSES)
        self._write = StoreWrite.begin(storage_of(options), settings, replaces=overwrite)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        """Stage the rows of a task.

        :raises JellyError: with the partition and the row, counted from the partition's first.
        """
        context = TaskContext.get()
        assert context is not None
        task = context.partitionId()
        try:
            part = self._write.stage(task, _operations(map(plain, iterator)))
        except JellyError as error:
            if error.row is not None:
                error.locate(source=f"partition {task}")
            raise
        return Staged(part, context.getLocalProperty(_QUERY))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        staged = [message for message in messages if isinstance(message, Staged)]
        parts = [message.part for message in staged if message.part is not None]
        query = next((message.query for message in staged if message.query), None)
        self._write.commit(parts, on_driver(self._processes), query)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:  # noqa: ARG002
        self._write.end()


def batch_settings(options: Mapping[str, str]) -> BatchSettings:
    """Parse the options of a batch.

    :raises OptionsError: an option is invalid, or requires another one; names it.
    """
    application, batch = text(options, "txnAppId"), number(options, "txnVersion", 0)
    if (application is None) is not (batch is None):
        raise OptionsError("options txnAppId and txnVersion must be given together")
    by = choice(options, "shardBy", ShardKey.SUBJECT) if "shardBy" in options else None
    retries = number(options, "retries", 0)
    return BatchSettings(
        shards=number(options, "shards", 1, MAX_SHARDS),
        shard_by=None if by is None else by.value,
        application=application,
        batch=batch,
        retries=DEFAULT_RETRIES if retries is None else retries,
        create=switch(options, "create", True),
        metadata=metadata(options),
    )


def _operations(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, Any]]:
    """Convert rows to statements in Oxigraph's form, and whether each is added."""
    before = 0
    for batch in batches:
        names = batch.schema.names
        columns = [
            canonical_terms(joined(batch.column(name)), position, before)
            if name in names
            else pa.nulls(batch.num_rows, pa.string())
            for position, name in enumerate(POSITIONS)
        ]
        adds = pa.repeat(pa.scalar(1, pa.uint8()), batch.num_rows)
        if KIND in names:
            adds = _adds(batch.column(KIND), before)
        yield pa.RecordBatch.from_arrays(columns, schema=QUADS), adds.to_numpy()
        before += batch.num_rows


def _adds(kinds: pa.Array, before: int) -> pa.Array:
    """Return 1 for each A and 0 for each D.

    :raises StatementError: a row has another kind.
    """
    numbers = pc.index_in(kinds, value_set=pa.array([_DELETE, _ADD], kinds.type))
    if numbers.null_count:
        row = pc.index(pc.is_null(numbers), value=True).as_py()
        raise StatementError(
            f"kind must be {_ADD} or {_DELETE} (got {kinds[row].as_py()!r}): only additions and "
            "deletions can be written",
            row=before + row,
        )
    return numbers.cast(pa.uint8())
