"""The format ``jelly-patch``: Jelly-Patch and RDF Patch files, with a row for each operation.

Written files have one patch each, with one transaction of additions and deletions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Final
from uuid import NAMESPACE_OID, uuid5

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from ...arrow import record_batch
from ...codec import AnyOperation, Iri, OperationColumns, OperationKind, PatchEncoder
from ...codec.patch.operations import BEGIN, COMMIT, END, Namespace, header
from ...errors import JellyError
from ...io.sinks import compressed
from ...patch.columns import PatchColumnReader
from ...patch.model import ID, PREV
from ...patch.writer import PatchSerializer
from .files import DataFile, Files
from .formats import Format, complete
from .options import FileWriting, PatchReading
from .patch_rows import CHANGES, operations, patch_options
from .schema import KIND, NUMBERS, PatchRow, check_written
from .splits import FileSplit

#: Rows about their patch, which change nothing.
ABOUT: Final = (OperationKind.HEADER, OperationKind.END)


class Operations(Format[PatchReading, FileWriting]):
    """The format ``jelly-patch``."""

    suffix = ".jellyp"

    def split(
        self,
        file: DataFile,
        files: Files,  # noqa: ARG002
        target: int,  # noqa: ARG002
    ) -> Iterable[tuple[FileSplit, int]]:
        return [(FileSplit(file.path), file.size)]

    def read(
        self, file: BinaryIO, split: FileSplit, settings: PatchReading, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        with PatchColumnReader(file) as batches:
            for found in OperationRows(settings.headers).tables(batches):
                yield complete(found, len(found["order"]), split.path, schema)

    def check(self, schema: StructType, settings: FileWriting) -> None:
        check_written(schema, (KIND,))
        PatchEncoder(patch_options(settings))

    def divide(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return iter(batches)

    def writer(
        self,
        file: BinaryIO,
        name: str,
        schema: pa.Schema,  # noqa: ARG002
        settings: FileWriting,
    ) -> OperationWriter:
        # The same id for each attempt at a task, so that a replay skips a repeated patch.
        return OperationWriter(file, f"urn:uuid:{uuid5(NAMESPACE_OID, name)}", settings)


class OperationWriter:
    """Writes one patch to an open file, see :class:`.BatchWriter`.

    :param id: id of the patch.
    """

    def __init__(self, file: BinaryIO, id: str, settings: FileWriting) -> None:  # noqa: A002
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings.compression))
        self._serializer = PatchSerializer(options=patch_options(settings))
        self._out.write(self._serializer.add([header("id", Iri(id)), BEGIN]))
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        rows = list(operations(batch, CHANGES, self.rows))
        try:
            self._out.write(self._serializer.add(rows))
        except JellyError as error:
            # Those of the output.
            error.frame = error.row = None
            raise
        self.rows += batch.num_rows

    def finish(self) -> None:
        self._out.write(self._serializer.add([COMMIT, END]))
        self._out.write(self._serializer.finish())
        self._stack.close()


class OperationRows:
    """Converts the operations of a file to rows.

    :param about: whether headers and ends of patches are rows too.
    """

    def __init__(self, about: bool) -> None:
        self._about = about
        self._order = 0
        self._transactions = 0
        #: Of the next row: patch, id, prev, transaction.
        self._state: tuple[int, str | None, str | None, int | None] = (0, None, None, None)

    def tables(self, batches: Iterable[OperationColumns]) -> Iterator[dict[str, Any]]:
        """Return the columns of the rows, batch by batch."""
        for batch in batches:
            found = self._table(batch)
            if len(found["order"]):
                yield found

    def _table(self, batch: OperationColumns) -> dict[str, Any]:
        rows = batch.statements.rows
        places = [place for place, _ in batch.others]
        #: The state after each of the other rows.
        states = [self._state]
        others: list[PatchRow] = []
        for number, (place, row) in enumerate(batch.others):
            other = self._take(row, self._order + place + number)
            states.append(self._state)
            if other is not None:
                others.append(other)
        numbers = np.arange(rows)
        passed = np.searchsorted(places, numbers, side="right")
        statements = record_batch(batch.statements)
        found = {
            name: pa.array(column, pa.int64() if name in NUMBERS else pa.string()).take(
                pa.array(passed)
            )
            for name, column in zip(
                ("patch", "id", "prev", "transaction"), zip(*states, strict=True), strict=True
            )
        }
        found |= {name: statements[name] for name in ("subject", "predicate", "object", "graph")}
        found["order"] = pa.array(self._order + numbers + passed)
        kinds = pa.array([OperationKind.DELETE.code, OperationKind.ADD.code])
        found["kind"] = kinds.take(pa.array(np.frombuffer(batch.adds, np.uint8)))
        found["name"] = found["value"] = pa.nulls(rows, pa.string())
        self._order += rows + len(batch.others)
        return _merged(found, others) if others else found

    def _take(self, row: AnyOperation, order: int) -> PatchRow | None:
        """Process a row that is not an operation on a statement.

        :return: the row, or None if such rows are not requested.
        """
        kind, value = row
        patch, id_, prev, transaction = self._state
        if kind is OperationKind.BEGIN:
            transaction = self._transactions
            self._transactions += 1
        elif kind is OperationKind.HEADER:
            if value.chain_key == ID:
                id_ = id_ or value.value
            elif value.chain_key == PREV:
                prev = prev or value.value
        result = PatchRow(patch, id_, prev, transaction, order, kind.code)
        self._state = (patch, id_, prev, transaction)
        if kind in (OperationKind.COMMIT, OperationKind.ABORT):
            self._state = (patch, id_, prev, None)
        elif kind is OperationKind.END:
            self._state = (patch + 1, None, None, transaction)
        if kind is OperationKind.HEADER:
            result = result._replace(name=value.key, value=value.value)
        elif type(value) is Namespace:
            result = result._replace(name=value.name, value=value.iri, graph=value.graph or None)
        return result if self._about or kind not in ABOUT else None


def _merged(found: dict[str, Any], others: list[PatchRow]) -> dict[str, Any]:
    """Merge the columns of statements with other rows, by order."""
    columns = dict(zip(PatchRow._fields, zip(*others, strict=True), strict=True))
    merged = {
        name: pa.concat_arrays(
            [column, pa.array(columns[name], pa.int64() if name in NUMBERS else pa.string())]
        )
        for name, column in found.items()
    }
    order = pa.array(np.argsort(merged["order"].to_numpy(), kind="stable"))
    return {name: column.take(order) for name, column in merged.items()}
