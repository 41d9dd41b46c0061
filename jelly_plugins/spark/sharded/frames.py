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

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from ...codec import OperationColumns
from ...codec.ntriples import parse_ntriples
from ...codec.operations import Header, Namespace, Operation, OperationKind
from ...codec.patch_columns import OperationGatherer
from ...errors import OptionsError, SourceError
from ...oxigraph.rows import RowFactory
from ...patch.model import ID, PREV
from ...patch.replay import convert
from .apply import Staged, Staging
from .commits import Place
from .layout import Root
from .resolve import Run, Stager
from .staging import STAGED_TOGETHER
from .tasks import failures_as_errors

#: What is read of the format's columns.
COLUMNS: Final = (
    *("patch", "id", "prev", "order", "kind"),
    *("subject", "predicate", "object", "graph", "name", "value"),
)

_KINDS: Final = {kind.code: kind for kind in OperationKind}
_ROWS_OF_TEXT: Final = RowFactory()
_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

_TORN: Final = "a log ends inside a transaction, and another follows"

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
            rows = Stager(folder, layout, part).stage(_columns(reading.operations(batches)))
            yield from _batches(map(_to_json, rows))
            if reading.first is not None and reading.last is not None:
                end = json.dumps([_END_OF_PART, *reading.first, *reading.last, reading.inside])
                yield from _batches([end])

        with failures_as_errors("reading the patches"):
            found = frame.select(*COLUMNS).mapInArrow(task, "row string").collect()
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


def _columns(operations: Iterator[Operation]) -> Iterator[OperationColumns]:
    gathered = OperationGatherer(batch_bytes=STAGED_TOGETHER)
    yield from gathered.add(operations)
    yield from gathered.flush()


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

    def operations(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Operation]:
        """The operations, with headers and the END of each patch."""
        names: tuple[Any, Any] | None = None
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in COLUMNS]
            for patch, *ids, order, code, s, p, o, g, name, value in zip(*columns, strict=True):
                kind = _KINDS.get(code)
                if kind is None:
                    raise OptionsError(f"{code!r} is no kind of row")
                if kind is OperationKind.HEADER:
                    # The columns have what matters of it in the rows that follow.
                    continue
                place = Place(patch, order)
                if names is not None and (names != tuple(ids) or not place.continues(self.last)):
                    yield from self._end()
                    names = None
                if names is None:
                    names = ids[0], ids[1]
                    for key, text in zip((ID, PREV), names, strict=True):
                        if text is not None:
                            yield Operation(OperationKind.HEADER, Header(key, text))
                self.first = self.first or place
                self.last = place
                if kind is _ADD or kind is _DELETE:
                    yield Operation(kind, (s, p, _canonical(o), g or ""))
                elif kind is OperationKind.END:
                    yield from self._end()
                    names = None
                elif kind in (OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
                    yield Operation(kind, Namespace(name, value, g))
                else:
                    self.inside = kind is OperationKind.BEGIN
                    yield Operation(kind)
        if names is not None and not self.inside:
            yield from self._end()

    def _end(self) -> Iterator[Operation]:
        if self.inside:
            raise SourceError(_TORN)
        yield Operation(OperationKind.END)


def _canonical(text: str) -> str:
    """An object's text in the form that Oxigraph gives it.

    :raises JellyError: it is no term, or Oxigraph refuses it.
    """
    # These have one form; whether it is valid is seen where they are stored.
    if text[-1] == '"' or text[0] == "_" or (text[0] == "<" and text[1] != "<"):
        return text
    return _looked_up(text)


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
