"""Stage the operations of a DataFrame in the tasks that read it.

Its rows are operations, as the format ``jelly-patch`` has them, or values, each an array of the
operations of one log. Each partition is staged by its task, so that logs are decoded in parallel
and no operation passes through the driver. The driver receives the log without its statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StructType

from ...arrow import QUADS, columns
from ...codec import OperationColumns
from ...codec.patch.operations import AnyOperation, Header, Namespace, Operation, OperationKind
from ...errors import JellyError, OptionsError, SourceError
from ...patch.model import ID, PREV
from .batch import Stage, Staged
from .commits import RowPosition
from .completeness import Segment, Segments, Values, check_complete, check_ordered
from .errors import IncompleteLogError
from .layout import Root
from .resolve import Run, Stager
from .storage import Attempt
from .tasks import failures_as_errors
from .terms import canonical_terms

#: The columns that are read; the source is replaced by a number.
COLUMNS: Final = (
    *("source", "patch", "id", "prev", "order", "kind"),
    *("subject", "predicate", "object", "graph", "name", "value", "mark"),
)

#: The columns that identify a value, by default: those of a message in Kafka.
ORDER_BY: Final = ("topic", "partition", "offset")

#: Columns of numbers; all others are text.
_NUMBERS: Final = ("source", "patch", "order")

#: The fields of an operation in a value, with their types.
_FIELDS: Final = {
    (name, "long" if name in _NUMBERS else "string")
    for name in COLUMNS
    if name not in ("source", "mark")
}

_KINDS: Final = {kind.code: kind for kind in OperationKind}
_HEADER: Final = OperationKind.HEADER.code
_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

_UNFINISHED: Final = "a log ends inside a transaction, and another follows"

_SPLIT: Final = (
    "a transaction of a patch without an id is in several partitions, so that it cannot be "
    "recognised when it is repeated: use coalesce(1), or give the patch an id"
)

#: Columns of rows that are not statements, or that may start another patch.
_ROW_COLUMNS: Final = ("source", "patch", "id", "prev", "kind", "graph", "name", "value")

#: The kind of an additional row after the rows of a partition.
_END_OF_PARTITION: Final = -1
_END_OF_PARTITION_JSON: Final = f"[{_END_OF_PARTITION},"
#: The kind of a row for an error: the task does not fail, since retrying it would not help.
_REJECTED: Final = -2
_REJECTED_JSON: Final = f"[{_REJECTED},"

#: Rows of a log in a batch that is sent to the driver.
_ROWS: Final = 1000


def stage_frame(frame: DataFrame, *, continues: bool = False) -> Stage:
    """Stage the operations of a DataFrame.

    :param frame: a DataFrame of ``spark.read.format("jelly-patch")``: its partitions, and their
        rows, are in the order of the log.
    :param continues: whether it may start in the middle of a file, as batches of a stream do.
    :raises OptionsError: it lacks columns of the format, or its terms are split.
    """
    types = dict(frame.dtypes)
    missing = [name for name in COLUMNS if name not in types]
    if missing or types["subject"] != "string":
        raise OptionsError(
            "a DataFrame of patches must have the columns of the format jelly-patch, with terms as "
            "text" + (f"; {', '.join(missing)} is missing" if missing else "") + ". For a column "
            "of logs, such as messages, pass column"
        )
    rows = frame.withColumn("source", sf.xxhash64("source"))
    return _stage(rows, continues=continues)


def stage_values(frame: DataFrame, column: str, order_by: Sequence[str] = ORDER_BY) -> Stage:
    """Stage the operations of a DataFrame with a log in each row.

    :param column: the column of logs, as :func:`~jelly_plugins.spark.from_jelly_patch` returns
        them. A log ends with the end of a transaction.
    :param order_by: the columns that identify a row. The last one is a number, which increases from
        row to row where the others are equal.
    :raises OptionsError: a column is missing or has another type.
    """
    types = {field.name: field.dataType for field in frame.schema.fields}
    for name in (column, *order_by):
        if name not in types:
            raise OptionsError(
                f"the DataFrame has no column {name}; it has {', '.join(types)}"
                + ("" if name == column else ". Pass order_by, see its documentation")
            )
    log = types[column]
    element = log.elementType if isinstance(log, ArrayType) else None
    fields = element.fields if isinstance(element, StructType) else ()
    if not {(each.name, each.dataType.typeName()) for each in fields} >= _FIELDS:
        raise OptionsError(
            f"column {column} must be a result of from_jelly_patch, with terms as text "
            f"(got {log.simpleString()})"
        )
    *others, last = order_by
    number = frame[last].cast("bigint")
    group = sf.concat_ws("/", *(frame[name].cast("string") for name in others))
    # A null is an error, and must not disappear with its row.
    operations = sf.coalesce(frame[column], sf.array(sf.lit(None)).cast(log))
    # In two steps, because functions beside a generator may be called for each of its rows.
    values = frame.select(
        sf.monotonically_increasing_id().alias("source"),
        sf.to_json(sf.array(group, number.cast("string"))).alias("place"),
        operations.alias("operations"),
    )
    rows = values.select("source", "place", sf.posexplode("operations").alias("at", "row"))
    return _stage(
        rows.select("source", sf.when(sf.col("at") == 0, sf.col("place")).alias("mark"), "row.*"),
        continues=None,
    )


def _stage(rows: DataFrame, *, continues: bool | None) -> Stage:
    """Stage rows with the columns :data:`COLUMNS`.

    :param continues: whether they may start in the middle of a file; None for values.
    """

    def stage(attempt: Attempt, layout: Root) -> Staged:
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            attempt.check()
            context = TaskContext.get()
            assert context is not None
            places = Values() if continues is None else Segments()
            return stage_partition(attempt, layout, context.partitionId(), batches, places)

        columns_ = [
            rows[name].cast("bigint" if name in _NUMBERS else "string").alias(name)
            for name in COLUMNS
        ]
        with failures_as_errors("reading the patches"):
            found = rows.select(*columns_).mapInArrow(task, "row string").collect()
        texts = (row.row for row in found)
        if continues is None:
            return staged_values(texts)
        return staged_partitions(texts, continues=continues)

    return stage


def stage_partition(
    attempt: Attempt,
    layout: Root,
    partition: int,
    batches: Iterable[pa.RecordBatch],
    places: Segments | Values,
) -> Iterator[pa.RecordBatch]:
    """Stage the operations of one partition; runs in a task.

    :param batches: with the columns :data:`COLUMNS`.
    :param places: checks the column ``mark``.
    :return: the input of :func:`staged_partitions` or :func:`staged_values`, as batches of one
        column.
    """
    # A second attempt of the task must not write to the files of the first.
    name = f"{partition:06d}-{uuid4().hex}"
    reading = _Reading(places)
    rows = Stager(attempt, layout, name).stage(reading.columns(batches))
    try:
        yield from _batches(map(_to_json, rows))
    except IncompleteLogError as error:
        yield from _batches([json.dumps([_REJECTED, error.message, error.source])])
        return
    if reading:
        yield from _batches([json.dumps([_END_OF_PARTITION, reading.end()])])


def staged_partitions(texts: Iterable[str], *, continues: bool) -> Staged:
    """Combine the log that tasks have staged; runs in the driver.

    :param texts: the rows of the tasks, of all partitions in order.
    :param continues: whether the log may start in the middle of a file.
    :raises IncompleteLogError: rows are missing, duplicated, or not in order.
    """
    partitions = _partitions(texts)
    segments = (Segment.of(each) for one in partitions for each in one.end["segments"])
    check_complete(segments, continues=continues)
    return Staged(
        rows=_stitched(partitions),
        first=_position(partitions, "first"),
        last=_position(reversed(partitions), "last"),
    )


def staged_values(texts: Iterable[str]) -> Staged:
    """Combine the logs of values that tasks have staged; runs in the driver.

    :param texts: the rows of the tasks, of all partitions in order.
    :raises IncompleteLogError: a value is null or corrupt, or values are not in order.
    """
    partitions = _partitions(texts)
    check_ordered(each for one in partitions for each in one.end["segments"])
    # Positions in files are not those of values.
    return Staged(rows=_stitched(partitions))


class _Partition(NamedTuple):
    """The result of a task.

    :ivar texts: the rows of its partition of the log, without statements.
    :ivar end: see :meth:`_Reading.end`.
    """

    texts: list[str]
    end: dict[str, Any]


def _partitions(texts: Iterable[str]) -> list[_Partition]:
    """Return the results of tasks that had rows.

    :raises IncompleteLogError: a task has rejected its rows.
    """
    partitions = []
    rows: list[str] = []
    for text in texts:
        if text.startswith(_REJECTED_JSON):
            _, message, source = json.loads(text)
            raise IncompleteLogError(message, source=source)
        if text.startswith(_END_OF_PARTITION_JSON):
            partitions.append(_Partition(rows, json.loads(text)[1]))
            rows = []
        else:
            rows.append(text)
    return partitions


def _position(partitions: Iterable[_Partition], edge: str) -> RowPosition | None:
    """Return the start or end of the first given partition that has more than headers."""
    found = next((each.end[edge] for each in partitions if each.end[edge] is not None), None)
    return None if found is None else RowPosition(*found)


def _stitched(partitions: Iterable[_Partition]) -> Iterator[AnyOperation]:
    """Join the rows of partitions to a log, with one END for each patch.

    :raises SourceError: a log ends inside a transaction, and another follows.
    :raises IncompleteLogError: a patch without an id is divided inside a transaction.
    """
    inside = named = False
    ended = True
    #: The partition that has the statements of the transaction.
    within: str | None = None
    for row in _joined(partitions):
        kind, value = row
        if type(value) is Run:
            if within not in (None, value.part) and not named:
                raise IncompleteLogError(_SPLIT)
            within = value.part
        elif type(value) is not Namespace:
            within = None
            if kind is OperationKind.END:
                if inside:
                    raise SourceError(_UNFINISHED)
                named = False
            elif kind is OperationKind.HEADER:
                named = named or value.key == ID
            else:
                inside = kind is OperationKind.BEGIN
        yield row
        ended = kind is OperationKind.END
    if not ended and not inside:
        yield Operation(OperationKind.END)


def _joined(partitions: Iterable[_Partition]) -> Iterator[AnyOperation]:
    #: The patch that continues after the previous partition.
    open_: Any = None
    for texts, end in partitions:
        if end["begins"] is None:
            # The partition has headers only.
            continue
        rows = iter(texts)
        if open_ is not None:
            if open_ == end["begins"]:
                # The previous partition has the headers of the patch.
                rows = islice(rows, sum(text is not None for text in open_[2:]), None)
            else:
                yield Operation(OperationKind.END)
        yield from map(_from_json, rows)
        open_ = end["ends"]


def _batches(rows: Iterable[str]) -> Iterator[pa.RecordBatch]:
    batch: list[str] = []
    for row in rows:
        batch.append(row)
        if len(batch) == _ROWS:
            yield pa.RecordBatch.from_pydict({"row": batch})
            batch = []
    if batch:
        yield pa.RecordBatch.from_pydict({"row": batch})


# From the columns to operations


class _Patch(NamedTuple):
    """The columns that are equal in all rows of a patch; id and prev from its headers on.

    :ivar source: a number for the name of its file.
    """

    source: int
    number: int
    id: str | None
    prev: str | None


class _Reading:
    """Reads the rows of a partition, which may have several files or values.

    :param places: checks the column ``mark``.
    :ivar first: position of its first row; None without rows.
    :ivar last: position of its last row; None without rows.
    """

    def __init__(self, places: Segments | Values) -> None:
        self.first: RowPosition | None = None
        self.last: RowPosition | None = None
        self._places = places
        self._begins: _Patch | None = None
        self._patch: _Patch | None = None

    def __bool__(self) -> bool:
        return any(True for _ in self._places)

    def end(self) -> dict[str, Any]:
        """Return what the driver needs to know of the partition, as JSON.

        That is where it starts and ends, the patches there (the last one only if it continues), and
        what reveals missing or reordered rows.
        """
        return {
            "first": self.first,
            "last": self.last,
            "begins": self._begins,
            "ends": self._patch,
            "segments": list(self._places),
        }

    def columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[OperationColumns]:
        """Return the operations, with headers, and an END after each patch except the last.

        :raises IncompleteLogError: rows are missing, or not in order.
        """
        for batch in batches:
            kinds, orders, marks = (batch[name] for name in ("kind", "order", "mark"))
            is_row = pc.and_(orders.is_valid(), batch["patch"].is_valid())
            # The only row of a file without rows.
            is_mark = pc.and_(marks.is_valid(), pc.and_(orders.is_null(), kinds.is_null()))
            if not pc.all(pc.or_(is_row, is_mark), min_count=0).as_py():
                raise IncompleteLogError(
                    "a row reports a corrupt file: read patches in mode FAILFAST to apply them"
                )
            self._places.add(batch["source"], orders, marks)
            # The columns of later rows have the relevant headers.
            is_header = pc.fill_null(pc.equal(kinds, _HEADER), False)
            rows = batch.filter(pc.and_not(is_row, is_header))
            if rows.num_rows:
                yield self._columns(rows)

    def _columns(self, batch: pa.RecordBatch) -> OperationColumns:
        kinds = batch["kind"]
        adds = pc.fill_null(pc.equal(kinds, _ADD.code), False)
        changes = pc.or_(adds, pc.fill_null(pc.equal(kinds, _DELETE.code), False))
        is_change = changes.to_numpy(zero_copy_only=False)
        # Statements before each row.
        before = np.cumsum(is_change) - is_change
        others: list[tuple[int, AnyOperation]] = []
        other_rows = np.flatnonzero(~is_change | _differs(batch))
        named = batch.select(_ROW_COLUMNS).take(pa.array(other_rows))
        values = [column.to_pylist() for column in named.columns]
        for place, (source, number, id_, prev, code, graph, name, value) in zip(
            before[other_rows].tolist(), zip(*values, strict=True), strict=True
        ):
            operations = self._row(_Patch(source, number, id_, prev), code, graph, name, value)
            others += ((place, each) for each in operations)
        first, self.last = (
            RowPosition(batch["patch"][row].as_py(), batch["order"][row].as_py())
            for row in (0, batch.num_rows - 1)
        )
        self.first = self.first or first
        statements = batch.filter(changes)
        try:
            # Columns of a DataFrame may have been changed since they were read.
            terms = [
                canonical_terms(statements[name], position)
                for position, name in enumerate(QUADS.names)
            ]
        except JellyError as error:
            if error.row is not None:
                patch, order = (statements[name][error.row] for name in ("patch", "order"))
                error.message = f"patch {patch}, row {order} of it: {error.message}"
                error.row = None
            raise
        return OperationColumns(
            statements=columns(pa.RecordBatch.from_arrays(terms, schema=QUADS)),
            adds=adds.filter(changes).cast(pa.uint8()).to_numpy().tobytes(),
            others=tuple(others),
        )

    def _row(
        self,
        patch: _Patch,
        code: str,
        graph: str | None,
        name: str | None,
        value: str | None,
    ) -> Iterator[AnyOperation]:
        """Return the operations of a row, except a statement, and those between it and the last."""
        kind = _KINDS.get(code)
        if kind is None:
            raise OptionsError(
                f"the kind of a row must be one of {', '.join(_KINDS)} (got {code!r})"
            )
        if self._patch != patch:
            if self._patch is not None:
                yield Operation(OperationKind.END)
            for key, text in ((ID, patch.id), (PREV, patch.prev)):
                if text is not None:
                    yield Operation(OperationKind.HEADER, Header(key, text))
        self._begins = self._begins or patch
        self._patch = patch
        if kind is OperationKind.END:
            yield Operation(kind)
            self._patch = None
        elif kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
            yield Operation(kind, Namespace(name or "", value, graph))
        elif kind is not _ADD and kind is not _DELETE:
            yield Operation(kind)


def _differs(batch: pa.RecordBatch) -> Any:
    """Return for each row whether it may start another patch; the first one may."""
    sources, patches = (batch[name].to_numpy() for name in ("source", "patch"))
    differs = np.ones(batch.num_rows, bool)
    differs[1:] = (patches[1:] != patches[:-1]) | (sources[1:] != sources[:-1])
    for name in ("id", "prev"):
        texts = pc.fill_null(batch[name], "")
        unequal = pc.not_equal(texts[1:], texts[:-1])
        differs[1:] |= unequal.to_numpy(zero_copy_only=False)
    return differs


# Between tasks and driver


def _to_json(row: AnyOperation) -> str:
    kind, value = row
    if type(value) is Run:
        return json.dumps([kind, "run", *value[:3], value.digest.hex(), value.content])
    if value is None:
        return json.dumps([kind])
    return json.dumps([kind, type(value).__name__, *value])


def _from_json(text: str) -> AnyOperation:
    number, *parts = json.loads(text)
    kind = OperationKind(number)
    if not parts:
        return Operation(kind)
    name, *values = parts
    if name == "run":
        part, transaction, operations, digest, content = values
        return Operation(kind, Run(part, transaction, operations, bytes.fromhex(digest), content))
    return Operation(kind, (Header if name == Header.__name__ else Namespace)(*values))
