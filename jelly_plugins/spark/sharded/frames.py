"""Operations that come as a DataFrame of the format ``jelly-patch``: staged where they are read.

Each partition is staged by the task that reads it, so that the files of a log are decoded side by
side and no operation passes through the driver. What does is the log without its statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import xxhash64

from ...arrow import QUADS, columns
from ...codec import OperationColumns
from ...codec.common.conversion import convert
from ...codec.patch.operations import AnyOperation, Header, Namespace, Operation, OperationKind
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.ntriples import parse_ntriples
from ...errors import OptionsError, SourceError
from ...oxigraph.canonical import KEPT_TERM, KNOWN_DATATYPE
from ...oxigraph.rows import RowFactory
from ...patch.model import ID, PREV
from .apply import Staged, Staging
from .commits import Place
from .completeness import Segment, Segments, check_complete
from .errors import IncompleteLogError
from .layout import Root
from .resolve import Run, Stager
from .storage import Attempt
from .tasks import failures_as_errors

#: What is read of the format's columns; in the place of the source, a number for it.
COLUMNS: Final = (
    *("source", "patch", "id", "prev", "order", "kind"),
    *("subject", "predicate", "object", "graph", "name", "value", "mark"),
)

#: Those that are numbers; all others are text.
_NUMBERS: Final = ("source", "patch", "order")

_KINDS: Final = {kind.code: kind for kind in OperationKind}
_ROWS_OF_TEXT: Final = RowFactory()
_HEADER: Final = OperationKind.HEADER.code
_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

_TORN: Final = "a log ends inside a transaction, and another follows"

_SPLIT: Final = (
    "a transaction of a patch without an id lies in several partitions, and cannot be recognised "
    "again; coalesce(1) puts them together"
)

#: What is read of a row that is no statement, or may begin another patch.
_TOLD: Final = ("source", "patch", "id", "prev", "kind", "graph", "name", "value")

#: What stands in the place of a kind in the row behind those of a part.
_END_OF_PART: Final = -1
_END_OF_PART_JSON: Final = f"[{_END_OF_PART},"
#: Likewise, in the row of a part that is refused: running its task again would not help.
_REFUSED: Final = -2
_REFUSED_JSON: Final = f"[{_REFUSED},"

#: Rows of a log that go to the driver together.
_ROWS: Final = 1000


def stage_frame(frame: DataFrame, *, continues: bool = False) -> Staging:
    """Stage the operations of a DataFrame.

    :param frame: as ``spark.read.format("jelly-patch")`` gives it: its partitions are in the order
        of the log, and so are the rows of each of them.
    :param continues: whether it may begin in the middle of a file, as batches of a stream do.
    :raises OptionsError: it has not the columns of the format, or has terms in parts.
    """
    types = dict(frame.dtypes)
    missing = [name for name in COLUMNS if name not in types]
    if missing or types["subject"] != "string":
        raise OptionsError(
            "a DataFrame of patches has the columns of the format jelly-patch, with terms as text"
            + (f"; {', '.join(missing)} is missing" if missing else "")
        )

    def stage(attempt: Attempt, layout: Root) -> Staged:
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            attempt.check()
            context = TaskContext.get()
            assert context is not None
            return stage_part(attempt, layout, context.partitionId(), batches)

        columns_ = [
            (xxhash64(name) if name == "source" else frame[name])
            .cast("bigint" if name in _NUMBERS else "string")
            .alias(name)
            for name in COLUMNS
        ]
        with failures_as_errors("reading the patches"):
            found = frame.select(*columns_).mapInArrow(task, "row string").collect()
        return staged_parts((row.row for row in found), continues=continues)

    return stage


def stage_part(
    attempt: Attempt, layout: Root, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Stage the operations of one partition: what a task does.

    :param batches: have :data:`COLUMNS`.
    :return: what :func:`staged_parts` is to be told, in the one column of the batches.
    """
    # A second attempt of the task must not write into the files of the first.
    name = f"{partition:06d}-{uuid4().hex}"
    reading = _Reading()
    rows = Stager(attempt, layout, name).stage(reading.columns(batches))
    try:
        yield from _batches(map(_to_json, rows))
    except IncompleteLogError as error:
        yield from _batches([json.dumps([_REFUSED, error.message, error.source])])
        return
    if reading:
        yield from _batches([json.dumps([_END_OF_PART, reading.end()])])


def staged_parts(texts: Iterable[str], *, continues: bool) -> Staged:
    """The log that tasks have staged: what the driver does.

    :param texts: what they gave, of all partitions in order.
    :raises IncompleteLogError: rows are missing, doubled, or not in order.
    """
    parts = _parts(texts)
    segments = (Segment.of(each) for part in parts for each in part.end["segments"])
    check_complete(segments, continues=continues)
    return Staged(
        rows=_stitched(parts), first=_place(parts, "first"), last=_place(reversed(parts), "last")
    )


class _Part(NamedTuple):
    """What a task has given.

    :ivar texts: the rows of its part of the log, without statements.
    :ivar end: see :meth:`_Reading.end`.
    """

    texts: list[str]
    end: dict[str, Any]


def _parts(texts: Iterable[str]) -> list[_Part]:
    """What tasks have given, for each that had rows.

    :raises IncompleteLogError: one has refused its rows.
    """
    parts = []
    held: list[str] = []
    for text in texts:
        if text.startswith(_REFUSED_JSON):
            _, message, source = json.loads(text)
            raise IncompleteLogError(message, source=source)
        if text.startswith(_END_OF_PART_JSON):
            parts.append(_Part(held, json.loads(text)[1]))
            held = []
        else:
            held.append(text)
    return parts


def _place(parts: Iterable[_Part], edge: str) -> Place | None:
    """Where the first part begins, or the last one ends, that has more than headers."""
    found = next((part.end[edge] for part in parts if part.end[edge] is not None), None)
    return None if found is None else Place(*found)


def _stitched(parts: Iterable[_Part]) -> Iterator[AnyOperation]:
    """The rows of a log, out of its parts: with one END for each patch, wherever it was cut.

    :raises SourceError: a log ends inside a transaction, and another follows.
    :raises IncompleteLogError: a patch without an id is cut inside a transaction.
    """
    inside = named = False
    ended = True
    #: The part that the transaction has statements in.
    within: str | None = None
    for row in _joined(parts):
        kind, value = row
        if type(value) is Run:
            if within not in (None, value.part) and not named:
                raise IncompleteLogError(_SPLIT)
            within = value.part
        elif type(value) is not Namespace:
            within = None
            if kind is OperationKind.END:
                if inside:
                    raise SourceError(_TORN)
                named = False
            elif kind is OperationKind.HEADER:
                named = named or value.key == ID
            else:
                inside = kind is OperationKind.BEGIN
        yield row
        ended = kind is OperationKind.END
    if not ended and not inside:
        yield Operation(OperationKind.END)


def _joined(parts: Iterable[_Part]) -> Iterator[AnyOperation]:
    #: The patch that the part before has not ended.
    open_: Any = None
    for texts, end in parts:
        if end["begins"] is None:
            # There are headers only.
            continue
        rows = iter(texts)
        if open_ is not None:
            if open_ == end["begins"]:
                # The headers of its patch were given by the part before.
                rows = islice(rows, sum(text is not None for text in open_[2:]), None)
            else:
                yield Operation(OperationKind.END)
        yield from map(_from_json, rows)
        open_ = end["ends"]


def _batches(rows: Iterable[str]) -> Iterator[pa.RecordBatch]:
    held: list[str] = []
    for row in rows:
        held.append(row)
        if len(held) == _ROWS:
            yield pa.RecordBatch.from_pydict({"row": held})
            held = []
    if held:
        yield pa.RecordBatch.from_pydict({"row": held})


# From the columns to operations


class _Patch(NamedTuple):
    """What all rows of a patch have, more or less.

    :ivar source: stands for the name of its file.
    """

    source: int
    number: int
    id: str | None
    prev: str | None


class _Reading:
    """Reads the rows of a partition, in which files may follow each other.

    :ivar first: where its first row stands, None if there is none; likewise ``last``.
    """

    def __init__(self) -> None:
        self.first: Place | None = None
        self.last: Place | None = None
        self._segments = Segments()
        self._begins: _Patch | None = None
        self._patch: _Patch | None = None

    def __bool__(self) -> bool:
        return any(True for _ in self._segments)

    def end(self) -> dict[str, Any]:
        """What the driver has to know of it, as JSON can say it: where it begins and ends, in which
        patches (the last one only if that goes on), and what shows whether it is all there."""
        return {
            "first": self.first,
            "last": self.last,
            "begins": self._begins,
            "ends": self._patch,
            "segments": list(self._segments),
        }

    def columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[OperationColumns]:
        """The operations, with headers and the END of each patch but the last.

        :raises IncompleteLogError: the rows are not whole, or not in order.
        """
        for batch in batches:
            kinds, orders, marks = (batch[name] for name in ("kind", "order", "mark"))
            is_row = pc.and_(orders.is_valid(), batch["patch"].is_valid())
            # That of a file without rows.
            is_mark = pc.and_(marks.is_valid(), pc.and_(orders.is_null(), kinds.is_null()))
            if not pc.all(pc.or_(is_row, is_mark), min_count=0).as_py():
                raise IncompleteLogError("a row stands for what could not be read")
            self._segments.add(batch["source"], orders, marks)
            # The columns have what matters of a header in the rows that follow.
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
        told = np.flatnonzero(~is_change | _differs(batch))
        named = batch.select(_TOLD).take(pa.array(told))
        values = [column.to_pylist() for column in named.columns]
        for place, (source, number, id_, prev, code, graph, name, value) in zip(
            before[told].tolist(), zip(*values, strict=True), strict=True
        ):
            said = self._row(_Patch(source, number, id_, prev), code, graph, name, value)
            others += ((place, each) for each in said)
        first, self.last = (
            Place(batch["patch"][row].as_py(), batch["order"][row].as_py())
            for row in (0, batch.num_rows - 1)
        )
        self.first = self.first or first
        statements = batch.filter(changes)
        terms = [statements[name] for name in QUADS.names]
        if any(column.null_count for column in terms[:3]):
            raise OptionsError("a statement lacks its subject, predicate or object")
        if pc.any(pc.equal(terms[3], "")).as_py():
            raise OptionsError(EMPTY_GRAPH)
        terms[2] = _canonical(terms[2])
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
        """What a row says, but for its statement; and what lies between it and the one before."""
        kind = _KINDS.get(code)
        if kind is None:
            raise OptionsError(f"{code!r} is not a kind of row")
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
    """Whether each row may be of another patch than the one before it; the first one may."""
    sources, patches = (batch[name].to_numpy() for name in ("source", "patch"))
    differs = np.ones(batch.num_rows, bool)
    differs[1:] = (patches[1:] != patches[:-1]) | (sources[1:] != sources[:-1])
    for name in ("id", "prev"):
        texts = pc.fill_null(batch[name], "")
        unequal = pc.not_equal(texts[1:], texts[:-1])
        differs[1:] |= unequal.to_numpy(zero_copy_only=False)
    return differs


def _canonical(objects: pa.Array) -> pa.Array:
    """Objects in the form that Oxigraph gives them.

    :raises JellyError: one is no term, or Oxigraph refuses it.
    """
    plain = pc.match_substring_regex(objects, KEPT_TERM)
    # Whether what has one form is valid is seen where it is stored.
    foreign = pc.and_(
        pc.match_substring_regex(objects, r'(?s)^".*>$'),
        pc.invert(pc.match_substring_regex(objects, KNOWN_DATATYPE)),
    )
    odd = pc.invert(pc.or_(plain, foreign))
    texts = [_looked_up(text) for text in objects.filter(odd).to_pylist()]
    return pc.replace_with_mask(objects, odd, pa.array(texts, pa.string())) if texts else objects


@lru_cache(maxsize=1 << 14)
def _looked_up(text: str) -> str:
    [statement] = parse_ntriples(f"<urn:s> <urn:p> {text} .")
    return str(convert(statement.object, _ROWS_OF_TEXT))


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
