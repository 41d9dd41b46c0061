"""Operations that come as a DataFrame of the format ``jelly-patch``: staged where they are read.

Each partition is staged by the task that reads it, so that the files of a log are decoded side by
side and no operation passes through the driver. What does is the log without its statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame

from ...arrow import QUADS, columns
from ...codec import OperationColumns
from ...codec.ntriples import parse_ntriples
from ...codec.operations import Header, Namespace, Operation, OperationKind
from ...errors import OptionsError, SourceError
from ...oxigraph.rows import RowFactory
from ...patch.model import ID, PREV
from ...patch.replay import convert
from .apply import Staged, Staging
from .commits import Place
from .layout import Root
from .resolve import Run, Stager
from .tasks import failures_as_errors

#: What is read of the format's columns.
COLUMNS: Final = (
    *("patch", "id", "prev", "order", "kind"),
    *("subject", "predicate", "object", "graph", "name", "value"),
)

#: Those that are numbers; all others are text.
_NUMBERS: Final = ("patch", "order")

_KINDS: Final = {kind.code: kind for kind in OperationKind}
_ROWS_OF_TEXT: Final = RowFactory()
_HEADER: Final = OperationKind.HEADER.code
_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

_TORN: Final = "a log ends inside a transaction, and another follows"

#: What is read of a row that is no statement, or may begin another patch.
_TOLD: Final = ("id", "prev", "kind", "graph", "name", "value")

_XSD: Final = r'"\^\^<http://www\.w3\.org/2001/XMLSchema#'
#: Objects that have one form, or are in the one that Oxigraph gives them: nodes, IRIs, strings, and
#: literals with a short language tag or of some types.
_PLAIN: Final = (
    r'(?s)^(?:_.*|<[^<].*|".*"(?:@[a-z]{2,3}(?:-[a-z]{2})?)?'
    rf'|"(?:0|-?[1-9][0-9]{{0,16}}){_XSD}integer>'
    rf'|"(?:true|false){_XSD}boolean>'
    rf'|"(?:0|-?[1-9][0-9]{{0,5}}(?:\.[0-9]{{0,6}}[1-9])?|-?0\.[0-9]{{0,6}}[1-9]){_XSD}'
    r"(?:double|decimal)>"
    r'|"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])'
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{0,8}[1-9])?Z?"
    rf"{_XSD}dateTime>)$"
)
#: What datatypes of XML Schema's and RDF's begin with, which may have other forms, or be refused.
_KNOWN_TYPE: Final = rf'{_XSD}|"\^\^<http://www\.w3\.org/1999/02/22-rdf-syntax-ns#'

#: What stands in the place of a kind in the row behind those of a part.
_END_OF_PART: Final = -1
_END_OF_PART_JSON: Final = f"[{_END_OF_PART},"

#: Rows of a log that go to the driver together.
_ROWS: Final = 1000


def stage_frame(frame: DataFrame) -> Staging:
    """Stage the operations of a DataFrame.

    :param frame: as ``spark.read.format("jelly-patch")`` gives it: its partitions are in the order
        of the log, and so are the rows of each of them.
    :raises OptionsError: it has not the columns of the format, or has terms in parts.
    """
    types = dict(frame.dtypes)
    missing = [name for name in COLUMNS if name not in types]
    if missing or types["subject"] != "string":
        raise OptionsError(
            "a DataFrame of patches has the columns of the format jelly-patch, with terms as text"
        )

    def stage(folder: Path, layout: Root) -> Staged:
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            context = TaskContext.get()
            assert context is not None
            # A second attempt of the task must not write into the files of the first.
            part = f"{context.partitionId():06d}-{uuid4().hex}"
            reading = _Reading()
            rows = Stager(folder, layout, part).stage(reading.columns(batches))
            yield from _batches(map(_to_json, rows))
            if reading.first is not None and reading.last is not None:
                end = json.dumps([_END_OF_PART, *reading.first, *reading.last, reading.inside])
                yield from _batches([end])

        typed = [
            frame[name].cast("bigint" if name in _NUMBERS else "string").alias(name)
            for name in COLUMNS
        ]
        with failures_as_errors("reading the patches"):
            found = frame.select(*typed).mapInArrow(task, "row string").collect()
        texts = [row.row for row in found]
        ends = [json.loads(text)[1:] for text in texts if text.startswith(_END_OF_PART_JSON)]
        if any(inside for *_, inside in ends[:-1]):
            raise SourceError(_TORN)
        return Staged(
            rows=(_from_json(text) for text in texts if not text.startswith(_END_OF_PART_JSON)),
            first=Place(*ends[0][:2]) if ends else None,
            last=Place(*ends[-1][2:4]) if ends else None,
        )

    return stage


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


class _Reading:
    """Reads the rows of a partition, in which files may follow each other.

    :ivar first: where its first row stands, None if there is none; likewise ``last``.
    :ivar inside: whether it has ended inside a transaction.
    """

    def __init__(self) -> None:
        self.first: Place | None = None
        self.last: Place | None = None
        self.inside = False
        self._names: tuple[Any, Any] | None = None

    def columns(self, batches: Iterable[pa.RecordBatch]) -> Iterator[OperationColumns]:
        """The operations, with headers and the END of each patch."""
        for batch in batches:
            # The columns have what matters of a header in the rows that follow.
            rows = batch.filter(pc.fill_null(pc.not_equal(batch["kind"], _HEADER), True))
            if rows.num_rows:
                yield self._columns(rows)
        if self._names is not None and not self.inside:
            yield OperationColumns(
                statements=columns(pa.RecordBatch.from_pylist([], schema=QUADS)),
                adds=b"",
                others=tuple((0, row) for row in self._end()),
            )

    def _columns(self, batch: pa.RecordBatch) -> OperationColumns:
        kinds = batch["kind"]
        adds = pc.fill_null(pc.equal(kinds, _ADD.code), False)
        changes = pc.or_(adds, pc.fill_null(pc.equal(kinds, _DELETE.code), False))
        is_change = changes.to_numpy(zero_copy_only=False)
        # Statements before each row.
        before = np.cumsum(is_change) - is_change
        others: list[tuple[int, Operation]] = []
        told = np.flatnonzero(~is_change | _differs(batch))
        named = batch.select(_TOLD).take(pa.array(told))
        values = [column.to_pylist() for column in named.columns]
        places = [
            Place(*each)
            for each in zip(*(batch[name].to_pylist() for name in ("patch", "order")), strict=True)
        ]
        self.first = self.first or places[0]
        for row, place, (id_, prev, code, graph, name, value) in zip(
            told.tolist(), before[told].tolist(), zip(*values, strict=True), strict=True
        ):
            if row:
                # What stands between is of the patch that was told last.
                self.last = places[row - 1]
            said = self._row(places[row], (id_, prev), code, graph, name, value)
            others += ((place, each) for each in said)
        self.last = places[-1]
        statements = batch.filter(changes)
        terms = [statements[name] for name in QUADS.names]
        if any(column.null_count for column in terms[:3]):
            raise OptionsError("a statement lacks its subject, predicate or object")
        terms[2] = _canonical(terms[2])
        return OperationColumns(
            statements=columns(pa.RecordBatch.from_arrays(terms, schema=QUADS)),
            adds=adds.filter(changes).cast(pa.uint8()).to_numpy().tobytes(),
            others=tuple(others),
        )

    def _row(
        self,
        place: Place,
        names: tuple[Any, Any],
        code: str,
        graph: str | None,
        name: str | None,
        value: str | None,
    ) -> Iterator[Operation]:
        """What a row says, but for its statement; and what lies between it and the one before."""
        kind = _KINDS.get(code)
        if kind is None:
            raise OptionsError(f"{code!r} is no kind of row")
        if self._names is not None and (self._names != names or not place.continues(self.last)):
            yield from self._end()
            self._names = None
        if self._names is None:
            self._names = names
            for key, text in zip((ID, PREV), names, strict=True):
                if text is not None:
                    yield Operation(OperationKind.HEADER, Header(key, text))
        if kind is OperationKind.END:
            yield from self._end()
            self._names = None
        elif kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
            yield Operation(kind, Namespace(name or "", value, graph))
        elif kind is not _ADD and kind is not _DELETE:
            self.inside = kind is OperationKind.BEGIN
            yield Operation(kind)

    def _end(self) -> Iterator[Operation]:
        if self.inside:
            raise SourceError(_TORN)
        yield Operation(OperationKind.END)


def _differs(batch: pa.RecordBatch) -> Any:
    """Whether each row may be of another patch than the one before it; the first one may."""
    patches, orders = (batch[name].to_numpy() for name in ("patch", "order"))
    differs = np.ones(batch.num_rows, bool)
    differs[1:] = (patches[1:] != patches[:-1]) | (orders[1:] <= orders[:-1])
    for name in ("id", "prev"):
        texts = pc.fill_null(batch[name], "")
        unequal = pc.not_equal(texts[1:], texts[:-1])
        differs[1:] |= unequal.to_numpy(zero_copy_only=False)
    return differs


def _canonical(objects: pa.Array) -> pa.Array:
    """Objects in the form that Oxigraph gives them.

    :raises JellyError: one is no term, or Oxigraph refuses it.
    """
    plain = pc.match_substring_regex(objects, _PLAIN)
    # Whether what has one form is valid is seen where it is stored.
    foreign = pc.and_(
        pc.match_substring_regex(objects, r'(?s)^".*>$'),
        pc.invert(pc.match_substring_regex(objects, _KNOWN_TYPE)),
    )
    odd = pc.invert(pc.or_(plain, foreign))
    texts = [_looked_up(text) for text in objects.filter(odd).to_pylist()]
    return pc.replace_with_mask(objects, odd, pa.array(texts, pa.string())) if texts else objects


@lru_cache(maxsize=1 << 14)
def _looked_up(text: str) -> str:
    [statement] = parse_ntriples(f"<urn:s> <urn:p> {text} .")
    return str(convert(statement.object, _ROWS_OF_TEXT))


# Between tasks and driver


def _to_json(row: Operation) -> str:
    kind, value = row
    if type(value) is Run:
        return json.dumps([kind, "run", *value[:3], value.digest.hex()])
    if value is None:
        return json.dumps([kind])
    return json.dumps([kind, type(value).__name__, *value])


def _from_json(text: str) -> Operation:
    number, *parts = json.loads(text)
    kind = OperationKind(number)
    if not parts:
        return Operation(kind)
    name, *values = parts
    if name == "run":
        part, transaction, operations, digest = values
        return Operation(kind, Run(part, transaction, operations, bytes.fromhex(digest)))
    return Operation(kind, (Header if name == Header.__name__ else Namespace)(*values))
