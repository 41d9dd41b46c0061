"""The operations of patches as rows of Arrow. Does not import Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from ..arrow import record_batch
from ..codec import AnyOperation, Namespace, OperationColumns, OperationKind
from ..codec.common.positions import POSITIONS
from ..patch.model import ID, PREV

#: Columns of numbers; all others are text.
NUMBERS: Final = ("patch", "transaction", "order")
#: Rows about their patch, which change nothing.
ABOUT: Final = (OperationKind.HEADER, OperationKind.END)
_ABOUT_CODES: Final = tuple(kind.code for kind in ABOUT)


class PatchRow(NamedTuple):
    """An operation and its position in the file. Terms are text of N-Triples.

    :ivar patch: number of its patch in the file, from 0.
    :ivar id: the patch's header ``id``, if it has been read; likewise ``prev``.
    :ivar transaction: number of its transaction in the file, from 0; None outside of a transaction.
        TX, TC and TA belong to the transaction that they start or end.
    :ivar order: number of the row in the file, from 0; headers and ends of patches count.
    :ivar kind: as in RDF Patch text: A, D, PA, PD, TX, TC, TA; H and Z on request.
    :ivar name: of a namespace or header.
    :ivar value: the IRI of a namespace, the term of a header.
    """

    patch: int
    id: str | None
    prev: str | None
    transaction: int | None
    order: int
    kind: str
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    graph: str | None = None
    name: str | None = None
    value: str | None = None


ROWS: Final = pa.schema(
    (name, pa.int64() if name in NUMBERS else pa.string()) for name in PatchRow._fields
)


class OperationRows:
    """Converts operations to rows; with ``about``, headers and ends of patches are rows too."""

    def __init__(self, about: bool) -> None:
        self._about = about
        self._order = 0
        self._transactions = 0
        #: Of the next row.
        self._patch = 0
        self._id: str | None = None
        self._prev: str | None = None
        #: Number of the open transaction; None outside of one.
        self.transaction: int | None = None

    def batches(self, batches: Iterable[OperationColumns]) -> Iterator[pa.RecordBatch]:
        """Return the rows, with the schema :data:`ROWS`."""
        for batch in batches:
            found = self._rows(batch)
            if found.num_rows:
                yield found

    def _rows(self, batch: OperationColumns) -> pa.RecordBatch:
        count = batch.statements.rows
        others: list[PatchRow] = []
        #: The position of statements before the first of the other rows, and after each of them.
        positions = [self._position()]
        for number, (place, row) in enumerate(batch.others):
            others.append(self._take(row, self._order + place + number))
            positions.append(self._position())
        numbers = np.arange(count)
        passed = np.searchsorted([place for place, _ in batch.others], numbers, side="right")
        statements = record_batch(batch.statements)
        found = {name: statements[name] for name in POSITIONS}
        for field, values in zip(ROWS, zip(*positions, strict=True), strict=False):
            found[field.name] = pa.array(values, field.type).take(pa.array(passed))
        found["order"] = pa.array(self._order + numbers + passed, pa.int64())
        kinds = pa.array([OperationKind.DELETE.code, OperationKind.ADD.code])
        found["kind"] = kinds.take(pa.array(np.frombuffer(batch.adds, np.uint8)))
        found["name"] = found["value"] = pa.nulls(count, pa.string())
        self._order += count + len(others)
        if not self._about:
            others = [row for row in others if row.kind not in _ABOUT_CODES]
        columns = [found[name] for name in ROWS.names]
        if others:
            added = zip(ROWS, zip(*others, strict=True), strict=True)
            rest = (pa.array(values, field.type) for field, values in added)
            columns = [pa.concat_arrays(pair) for pair in zip(columns, rest, strict=True)]
            order = np.argsort(columns[ROWS.names.index("order")].to_numpy(), kind="stable")
            columns = [column.take(pa.array(order)) for column in columns]
        return pa.RecordBatch.from_arrays(columns, schema=ROWS)

    def _position(self) -> tuple[int, str | None, str | None, int | None]:
        return self._patch, self._id, self._prev, self.transaction

    def _take(self, row: AnyOperation, order: int) -> PatchRow:
        """Process a row that is not an operation on a statement."""
        kind, value = row
        if kind is OperationKind.BEGIN:
            self.transaction = self._transactions
            self._transactions += 1
        elif kind is OperationKind.HEADER:
            if value.chain_key == ID:
                self._id = self._id or value.value
            elif value.chain_key == PREV:
                self._prev = self._prev or value.value
        result = PatchRow(*self._position(), order, kind.code)
        if kind is OperationKind.HEADER:
            result = result._replace(name=value.key, value=value.value)
        elif type(value) is Namespace:
            result = result._replace(name=value.name, value=value.iri, graph=value.graph or None)
        elif kind is OperationKind.END:
            self._patch, self._id, self._prev = self._patch + 1, None, None
        elif kind is not OperationKind.BEGIN:
            self.transaction = None
        return result
