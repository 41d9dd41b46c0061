"""Read Jelly-Patch and RDF Patch files by column, with a row for each operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final

import numpy as np
import pyarrow as pa

from ...arrow import record_batch
from ...codec import AnyOperation, OperationColumns, OperationKind
from ...codec.patch.operations import Namespace
from ...errors import JellyError
from ...patch.columns import PatchColumnReader
from ..marks import Begin, mark
from .batches import Format, complete
from .decoding import section
from .files import DataFile, Files
from .schema import NUMBERS, PatchRow
from .settings import Mode, ReadSettings
from .splits import FileSplit

_KINDS: Final = pa.array([OperationKind.DELETE.code, OperationKind.ADD.code])
#: Rows about their patch, which change nothing.
ABOUT: Final = (OperationKind.HEADER, OperationKind.END)


def read_operations(
    file: BinaryIO, split: FileSplit, settings: ReadSettings, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Read the batches of a split of a file."""
    source = section(file, split.path)
    with PatchColumnReader(source) as batches:
        tables = OperationRows(settings.about).tables(batches)
        for found in _marked(tables, split, settings.mode is not Mode.FAILFAST):
            yield complete(found, len(found["mark"]), split, schema)


def _marked(
    tables: Iterator[dict[str, Any]], split: FileSplit, lenient: bool
) -> Iterator[dict[str, Any]]:
    """Add the column ``mark`` to tables, see ``marks``."""
    held: dict[str, Any] | None = None
    begin: Begin | None = None
    count = 0
    try:
        for found in tables:
            if held is None:
                begin = Begin(split.path, split.number, split.files, lenient=lenient)
            else:
                yield held | {"mark": _marks(len(held["order"]), begin)}
                begin = None
            held = found
            count += len(found["order"])
    except JellyError:
        # The rows before the error are returned, but the file's last row is unknown.
        if held is not None:
            yield held | {"mark": _marks(len(held["order"]), begin)}
        raise
    if held is None:
        # The row with the mark is the only one of the file.
        begin = Begin(split.path, split.number, split.files, lenient=lenient)
        yield {"mark": _marks(1, begin, 1)}
    else:
        yield held | {"mark": _marks(len(held["order"]), begin, count)}


def _marks(rows: int, begin: Begin | None, end: int | None = None) -> Any:
    """Return the column ``mark`` of a table."""
    marks: list[str | None] = [None] * min(rows, 2)
    if rows == 1:
        marks = [mark(begin, end) if begin is not None or end is not None else None]
    else:
        marks[0] = None if begin is None else mark(begin, None)
        marks[1] = None if end is None else mark(None, end)
    edges = pa.array(marks, pa.string())
    return pa.concat_arrays([edges[:1], pa.nulls(max(0, rows - 2), pa.string()), edges[1:]])


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
        found["kind"] = _KINDS.take(pa.array(np.frombuffer(batch.adds, np.uint8)))
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
            if value.key == "id" and id_ is None:
                id_ = value.value
            elif value.key == "prev" and prev is None:
                prev = value.value
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


def _uncut(file: DataFile, files: Files, target: int) -> list[tuple[FileSplit, int]]:  # noqa: ARG001
    return [(FileSplit(file.path), file.size)]


def _none(schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    nothing = Begin("", 0, 0)
    yield complete({"mark": _marks(1, nothing, 1)}, 1, FileSplit(""), schema)


OPERATIONS: Final = Format(_uncut, read_operations, _none)
