"""The operations of patches as rows of Arrow, and back. Does not import Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...arrow import record_batch
from ...codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyOperation,
    Header,
    Literal,
    Namespace,
    Operation,
    OperationColumns,
    OperationKind,
    PatchOptions,
    Quad,
)
from ...codec.common.positions import OBJECT, POSITIONS
from ...codec.patch.operations import BEGIN, CHAIN_KEYS, COMMIT, END, header
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.ntriples import Dialect, LineParser
from ...errors import JellyError, StatementError, TextError
from ...patch.model import ID, PREV
from ...patch.writer import PatchSerializer
from .options import Settings
from .terms import joined

GRAPH: Final = "graph"
#: The column with the kind of operation.
KIND: Final = "kind"
#: Columns of numbers of patch files; all others are text.
NUMBERS: Final = ("patch", "transaction", "order")
#: The kinds of operations by their code in the column ``kind``: of changes, and all.
CHANGES: Final = {kind.code: kind for kind in (OperationKind.ADD, OperationKind.DELETE)}
ALL: Final = {kind.code: kind for kind in OperationKind}

#: A string literal without escapes, whose parsing would take most of the time of writing patches.
_PLAIN: Final = re.compile(r'"([^"\\\x00-\x1f\x7f]{,1000})"')

_OF_TRANSACTIONS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)
_NAMED: Final = (
    OperationKind.HEADER,
    OperationKind.ADD_NAMESPACE,
    OperationKind.DELETE_NAMESPACE,
)
#: Rows about their patch, which change nothing.
ABOUT: Final = (OperationKind.HEADER, OperationKind.END)
_ABOUT_CODES: Final = tuple(kind.code for kind in ABOUT)


class PatchRow(NamedTuple):
    """An operation and its position in the file. Terms are text of N-Triples.

    :ivar patch: number of its patch in the file, from 0.
    :ivar id: the patch's header ``id``, if it has been read.
    :ivar prev: the patch's header ``prev``, if it has been read.
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


# Reading


class OperationRows:
    """Converts operations to rows.

    :param about: whether headers and ends of patches are rows too.

    :ivar transaction: number of the open transaction; None outside of one.
    """

    def __init__(self, about: bool) -> None:
        self._about = about
        self._order = 0
        self._transactions = 0
        #: Of the next row.
        self._patch = 0
        self._id: str | None = None
        self._prev: str | None = None
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


# Writing


def patch_options(settings: Settings) -> PatchOptions:
    """Return the options of a stream of quads."""
    return PatchOptions(**settings.stream_options)


def operations(
    batch: pa.RecordBatch, kinds: Mapping[str, OperationKind], before: int = 0
) -> Iterator[AnyOperation]:
    """Convert rows to operations.

    :param batch: has the columns kind, subject, predicate and object, and optionally graph, name
        and value.
    :param kinds: the kinds that rows may have, by their code.
    :param before: number of the first row.
    :raises JellyError: a row is not such an operation; has the row.
    """
    subjects, predicates, objects, graphs = terms = [_Terms(batch, name) for name in POSITIONS]
    kind_names, names, values = (_column(batch, name) for name in (KIND, "name", "value"))
    rows = zip(kind_names, *(each.places for each in terms), names, values, strict=True)
    found: Any
    for row, (code, subject, predicate, object_, graph, name, value) in enumerate(rows, before):
        try:
            kind = kinds.get(code)
            if kind is None:
                raise StatementError(f"kind must be one of {', '.join(kinds)} (got {code!r})")
            if code in CHANGES:
                found = Quad(
                    subjects[subject], predicates[predicate], objects[object_], graphs[graph]
                )
            elif kind in _NAMED:
                found = _named(kind, name, value, graphs[graph])
            else:
                found = None
        except JellyError as error:
            error.row = row
            raise
        yield Operation(kind, found)


def _named(
    kind: OperationKind, name: str | None, value: str | None, graph: Any
) -> Header | Namespace:
    """Return what a header or the operation on a namespace has."""
    if name is None:
        raise StatementError(f"name is missing: a row of kind {kind.code} needs one")
    if value is None and kind is not OperationKind.DELETE_NAMESPACE:
        raise StatementError(f"value is missing: a row of kind {kind.code} needs one")
    term: Any = None if value is None else _parser().term(value.encode(), OBJECT)
    return Header(name, term) if kind is OperationKind.HEADER else Namespace(name, term, graph)


def _parser() -> LineParser:
    return LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)


def _column(batch: pa.RecordBatch, name: str) -> Any:
    """Return the values of a column, null if it does not exist."""
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    return batch.column(name).to_pylist()


class _Terms(dict[int, Any]):
    """The distinct terms of a column, each parsed when it is first used.

    :ivar places: for each row, the key of its term.
    """

    def __init__(self, batch: pa.RecordBatch, name: str) -> None:
        column = pa.nulls(batch.num_rows, pa.string())
        if name in batch.schema.names:
            column = joined(batch.column(name))
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        self._texts = encoded.dictionary.to_pylist()
        self._name = name
        self._parser = _parser()
        self.places = encoded.indices.to_pylist()

    def __missing__(self, place: int) -> Any:
        text, name = self._texts[place], self._name
        if text is None:
            if name != GRAPH:
                raise TextError(f"the {name} is null")
            term: Any = DEFAULT_GRAPH
        elif not text and name == GRAPH:
            raise TextError(EMPTY_GRAPH)
        elif name == "object" and (plain := _PLAIN.fullmatch(text)):
            term = Literal(plain[1])
        else:
            try:
                term = self._parser.term(text.encode(), POSITIONS.index(name))
            except TextError as error:
                raise TextError(f"{name}: {error.message}", column=error.column) from None
        self[place] = term
        return term


def encode_log(batch: pa.RecordBatch, settings: Settings) -> bytes:
    """Encode rows as a log.

    A patch starts at a row with another value in the column ``patch``, or without that column in
    ``id``. A patch without transactions becomes one transaction.

    :param batch: see :func:`operations`, and optionally the other columns of
        :class:`.PatchRow`. ``order`` and ``transaction`` are ignored: the order is that of the
        rows.
    :raises JellyError: a row is not a valid operation; has the row.
    """
    serializer = PatchSerializer(options=patch_options(settings))
    found = list(operations(batch, ALL))
    patches, *chains = (_column(batch, name) for name in ("patch", *CHAIN_KEYS))
    starts = _starts(patches if "patch" in batch.schema.names else chains[0])
    written = b""
    for start, stop in pairwise([*starts, len(found)]):
        headers = dict(zip(CHAIN_KEYS, (each[start:stop] for each in chains), strict=True))
        patch = _patch(found[start:stop], headers)
        try:
            written += serializer.add(patch)
        except JellyError as error:
            # Those of the output.
            error.frame = error.row = None
            raise
    return written + serializer.finish()


def _starts(values: Sequence[Any]) -> list[int]:
    """Return the row at which each patch starts: nulls belong to the patch before them."""
    starts: list[int] = []
    value = None
    for row, other in enumerate(values):
        if not starts or (value is not None and other not in (None, value)):
            starts.append(row)
            value = None
        value = value if other is None else other
    return starts


def _patch(
    rows: Sequence[AnyOperation], columns: Mapping[str, Sequence[str | None]]
) -> list[AnyOperation]:
    """Return the operations of one patch, with its headers first.

    :param columns: the values of the columns that are headers.
    """
    given = {value.chain_key for _, value in rows if type(value) is Header}
    headers: list[AnyOperation] = []
    for key, values in columns.items():
        texts = sorted({text for text in values if text is not None})
        if len(texts) > 1:
            raise StatementError(
                f"all rows of a patch must have the same {key} (got {', '.join(texts)})"
            )
        if texts and key not in given:
            headers.append(header(key, _parser().term(texts[0].encode(), OBJECT)))
    headers += (each for each in rows if each[0] is OperationKind.HEADER)
    changes = [each for each in rows if each[0] not in ABOUT]
    if not any(kind in _OF_TRANSACTIONS for kind, _ in rows):
        changes = [BEGIN, *changes, COMMIT]
    return [*headers, *changes, END]
