"""What a log changes: which of its patches are new, and the operations for each shard. No Spark.

The operations of a log go to a temporary file in its order, each batch sorted by shard; which of
them apply is known only after the end of a transaction. Then the shards that change read their
parts of the file. Memory does not grow with the log, except for some bytes for each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...codec import Limits
from ...codec.common.positions import POSITIONS
from ...codec.patch.columns import OperationGatherer
from ...codec.patch.operations import END, OperationKind
from ...codec.text.ntriples import Notation
from ...errors import ChainError, LimitError, SourceError, TruncatedError
from ...io.sources import Source
from ...oxigraph.rows import RowFactory
from ...patch.columns import PatchColumnReader
from ...reserved import reject_graph
from ..patch_rows import ABOUT, ROWS, OperationRows
from .root import Log, Storage, Version, shard_of
from .shard import OPERATIONS, Changed
from .shard import change as change_shard

#: Maximum number of logs whose positions a version has.
MAX_LOGS: Final = 10_000
#: Ids that an error names, at most.
_SHOWN: Final = 3
#: Bytes of statements that are read together.
_BATCH: Final = 1 << 21

ADD: Final = OperationKind.ADD.code
CHANGES: Final = (ADD, OperationKind.DELETE.code)
COMMIT: Final = OperationKind.COMMIT.code
ABORT: Final = OperationKind.ABORT.code
BINDS: Final = OperationKind.ADD_NAMESPACE.code
NAMESPACES: Final = (BINDS, OperationKind.DELETE_NAMESPACE.code)


class Bound(NamedTuple):
    """An operation on a namespace.

    :ivar graph: the graph, empty for the default graph.
    :ivar iri: the IRI that the name is bound to; None to remove the name.
    """

    graph: str
    name: str
    iri: str | None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Bound:
        graph = row["graph"] or ""
        reject_graph(graph, what="a namespace")
        return cls(graph, row["name"], row["value"][1:-1] if row["kind"] == BINDS else None)


# Which patches are new


class PatchRows(NamedTuple):
    """A patch of a log.

    :ivar place: where it is, for the caller.
    :ivar rows: number of its rows, without headers and its end, and without an open transaction.
    """

    place: Any
    id: str | None
    prev: str | None
    rows: int


def resolve(
    patches: Sequence[PatchRows],
    logs: Sequence[Log],
    *,
    check_prev: bool = True,
    forget: bool = False,
) -> tuple[tuple[Log, ...], int]:
    """Find out which patches of a log are new.

    All patches of a call are one log, in their order. What is after the last patch that was applied
    is new; that patch too, if it has grown. A patch without an id is always new.

    :param logs: the store's positions in logs.
    :param forget: whether the oldest positions may be dropped if there are too many.
    :return: the positions once the log is applied, and the number of patches that are not new.
    """
    lasts = {log.last: log for log in logs}
    at = max((at for at, patch in enumerate(patches) if patch.id in lasts), default=None)
    known: Log | None
    log: Log | None
    if at is not None:
        known = log = lasts[patches[at].id or ""]
        start = at + (patches[at].rows == known.rows)
    else:
        opening = next((patch for patch in patches if patch.id or patch.prev), None)
        known = log = None if opening is None else lasts.get(opening.prev or "")
        start = 0
        if opening is not None and log is None:
            _check_new(opening, logs, check_prev)
    seen = set[str]()
    for patch in patches[start:]:
        before = None if log is None else log.last
        if check_prev and None not in (before, patch.prev) and before not in (patch.id, patch.prev):
            raise ChainError(
                f"it follows patch {patch.prev}, but the patch before it is {before}",
                expected=before,
                found=patch.prev,
            )
        if patch.id is None:
            continue
        if patch.id in seen and patch.id != before:
            raise ChainError("an earlier patch of the log has the same id", found=patch.id)
        seen.add(patch.id)
        log = Log(patch.id if log is None else log.first, patch.id, patch.rows)
    kept = tuple(logs)
    if log is not None and log != known:
        kept = (*(each for each in logs if each != known), log)
    if len(kept) > MAX_LOGS and not forget:
        raise LimitError(
            f"a store has the positions of {MAX_LOGS} logs at most: connect patches with prev, or "
            "pass application and batch"
        )
    return kept[-MAX_LOGS:], start


def _check_new(opening: PatchRows, logs: Sequence[Log], check_prev: bool) -> None:
    """Check that a log, which has no patch that was the last one applied, may begin here."""
    heads = [log.last for log in logs if log.first == opening.id]
    if heads or (opening.prev is not None and check_prev):
        expected = " or ".join((heads or [log.last for log in logs])[:_SHOWN]) or None
        raise ChainError(
            f"the log begins with patch {opening.id} (prev: {opening.prev}), and the store is at "
            f"patch {expected}",
            expected=expected,
            found=opening.prev,
        )


# Operations


@dataclass
class Changes:
    """Changes to a store.

    :ivar change: makes the new stores of the shards that change. Its arguments are the storage, a
        version with the shards to change, and the number of the first patch to apply. Returns the
        shards, and the operations on namespaces in order.
    :ivar aborted: number of aborted transactions.
    :ivar held_back: whether the log ends inside a transaction.
    """

    patches: Sequence[PatchRows]
    change: Callable[[Storage, Version, int], tuple[list[Changed], list[Bound]]]
    aborted: int = 0
    held_back: bool = False


@contextmanager
def local_changes(
    sources: Sequence[Source], layout: Version, *, whole: bool, limits: Limits
) -> Iterator[Changes]:
    """Read a log on this machine.

    :param layout: a version with the number of shards, and the term that determines the shard.
    :param whole: whether the log must be complete; otherwise, an incomplete transaction at its end
        does not count.
    """
    rows = OperationRows(about=True)
    with TemporaryDirectory(prefix="jelly-") as folder:
        path = Path(folder) / "operations"
        try:
            with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, ROWS) as out:
                parts = _Parts(layout)
                for number, source in enumerate(sources, 1):
                    partial = not whole and number == len(sources)
                    for batch in _read(source, rows, limits, partial):
                        out.write(parts.sort(batch))
        except OSError as error:
            raise SourceError(
                f"the temporary file of the log cannot be written: {error}", source=folder
            ) from error
        yield _summary(path, parts.found, rows.transaction is not None)


def _read(
    source: Source, rows: OperationRows, limits: Limits, partial: bool
) -> Iterator[pa.RecordBatch]:
    """Read a file of the log, which may end inside a transaction if ``partial``."""
    with PatchColumnReader(
        source, notation=Notation.RDF_1_2, validator=RowFactory(), limits=limits, batch_bytes=_BATCH
    ) as batches:
        try:
            yield from rows.batches(batches)
        except TruncatedError:
            if not partial or rows.transaction is None:
                raise
            # The patch ends here.
            gathered = OperationGatherer(limits)
            yield from rows.batches([*gathered.add((END,)), *gathered.flush()])


class _Parts:
    """Sorts the rows of batches by shard; ``found`` has where the rows of each shard are: number of
    a batch, and rows in it."""

    def __init__(self, layout: Version) -> None:
        self.found: dict[int, list[tuple[int, int, int]]] = {}
        self._layout: Final = layout
        self._batches = 0

    def sort(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        for graph in batch["graph"].unique().to_pylist():
            reject_graph(graph)
        keys = pc.fill_null(batch[self._layout.shard_by], "").dictionary_encode()
        count = len(self._layout.shards)
        numbers = np.array([shard_of(key, count) for key in keys.dictionary.to_pylist()], np.int32)
        shards = numbers[keys.indices.to_numpy()]
        order = np.argsort(shards, kind="stable")
        found, starts = np.unique(shards[order], return_index=True)
        stops = [*starts.tolist()[1:], len(order)]
        for number, start, stop in zip(found.tolist(), starts.tolist(), stops, strict=True):
            self.found.setdefault(number, []).append((self._batches, start, stop))
        self._batches += 1
        return batch.take(pa.array(order))


def _summary(
    path: Path, parts: Mapping[int, list[tuple[int, int, int]]], held_back: bool
) -> Changes:
    """Return the changes of a file of rows."""
    with pa.memory_map(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
        kinds = table["kind"]
        aborts, commits = (
            table.filter(pc.equal(kinds, kind))["transaction"] for kind in (ABORT, COMMIT)
        )
        # Those that were committed, and what is outside of transactions.
        counting = pa.array([None, *commits.to_pylist()], pa.int64())
        ended = pa.concat_arrays([counting, *aborts.chunks])
        about = pc.is_in(kinds, value_set=pa.array([kind.code for kind in ABOUT]))
        counted = pc.and_not(pc.is_in(table["transaction"], value_set=ended), about)
        closing = table.filter(pc.equal(kinds, OperationKind.END.code)).sort_by("patch").to_pylist()
        rows = np.bincount(table["patch"].filter(counted).to_numpy(), minlength=len(closing))
        is_bound = pc.and_(
            pc.is_in(kinds, value_set=pa.array(NAMESPACES)),
            pc.is_in(table["transaction"], value_set=counting),
        )
        bound = table.filter(is_bound).sort_by("order").to_pylist()
    patches = [
        PatchRows(at, row["id"], row["prev"], count)
        for at, (row, count) in enumerate(zip(closing, rows.tolist(), strict=True))
    ]
    if held_back and not patches[-1].rows:
        # No transaction of the patch is complete: its position is not recorded yet.
        patches.pop()

    def change(storage: Storage, layout: Version, start: int) -> tuple[list[Changed], list[Bound]]:
        made = []
        for number in sorted(parts):
            batches = _operations(path, parts[number], counting, start)
            # A shard without operations is not copied.
            if (first := next(batches, None)) is not None:
                base = layout.shards[number]
                made.append(change_shard(storage, number, base, chain((first,), batches)))
        return made, [Bound.of(row) for row in bound if row["patch"] >= start]

    return Changes(patches, change, len(aborts), held_back)


def _operations(
    path: Path, parts: Iterable[tuple[int, int, int]], counting: pa.Array, start: int
) -> Iterator[pa.RecordBatch]:
    """Return the operations of a shard that count.

    :param parts: number of a batch in the file, and the rows in it.
    :param counting: the transactions that count; ``start``: the first patch that does.
    """
    with pa.memory_map(str(path)) as file:
        opened = pa.ipc.open_file(file)
        for number, first, stop in parts:
            batch = opened.get_batch(number).slice(first, stop - first)
            counts = pc.is_in(batch["transaction"], value_set=counting)
            is_new = pc.greater_equal(batch["patch"], start)
            found = operations_of(batch.filter(pc.and_(counts, is_new)))
            if found.num_rows:
                yield found


def operations_of(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the additions and deletions of rows as operations."""
    rows = rows.filter(pc.is_in(rows["kind"], value_set=pa.array(CHANGES)))
    columns = [rows[name].cast(pa.string()) for name in POSITIONS]
    return pa.RecordBatch.from_arrays([*columns, pc.equal(rows["kind"], ADD)], schema=OPERATIONS)
