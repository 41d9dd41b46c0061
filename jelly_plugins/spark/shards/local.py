"""Apply a log on this machine, without Spark.

The operations of the log go to a temporary file in its order, each batch sorted by shard; what
applies is known only after the end of a transaction. Then the shards that change read their parts
of the file. Memory does not grow with the log, except for some hundred bytes for each transaction.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...arrow import record_batch
from ...codec import DEFAULT_LIMITS, Limits, OperationColumns
from ...codec.patch.operations import AnyOperation, Namespace, OperationKind
from ...codec.text.ntriples import Notation
from ...errors import JellyError, TruncatedError
from ...io.sources import Source
from ...oxigraph.rows import RowFactory
from ...patch.columns import PatchColumnReader
from ...patch.model import ID, PREV
from ...patch.reader import AFTER_HEADERS
from ...reserved import reject_graph
from .chains import PatchRows
from .root import Bound, Shard, Version, shard_of
from .shard import OPERATIONS, TOGETHER, Changed, change
from .storage import Storage

#: Bytes of statements that are read together.
_BATCH: Final = 1 << 21
#: Operations, with the number of their unit.
_STAGED: Final = OPERATIONS.append(pa.field("unit", pa.int64()))


@dataclass(slots=True)
class _Patch:
    """A patch; ids in the syntax of N-Triples.

    :ivar rows: number of its rows, without headers and its end.
    :ivar complete: number of rows up to the end of the last transaction.
    """

    id: str | None = None
    prev: str | None = None
    rows: int = 0
    complete: int = 0


@dataclass(slots=True)
class _Unit:
    """A transaction, or the operations between two.

    :ivar patch: number of its patch.
    :ivar counts: whether it has ended, and not with an abort.
    """

    patch: int
    counts: bool


class LocalLog:
    """A log that was read, and whose operations are in a temporary file; a context manager.

    :param sources: the files of the log, in order.
    :param layout: a version with the number of shards, and the term that determines the shard.
    :param whole: whether the log must be complete; otherwise, an incomplete transaction at its end
        does not count.
    :raises JellyError: the log cannot be read, or has data that Oxigraph cannot store.

    :ivar held_back: whether the log ends inside a transaction.
    :ivar aborted: number of aborted transactions.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        layout: Version,
        *,
        whole: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.held_back = False
        self.aborted = 0
        self._layout: Final = layout
        self._patches: list[_Patch] = []
        self._units: list[_Unit] = []
        #: Operations on namespaces, with the numbers of their units.
        self._bound: list[tuple[int, Bound]] = []
        #: For each shard, where its operations are: number of a batch, and rows in it.
        self._parts: dict[int, list[tuple[int, int, int]]] = {}
        self._written = 0
        #: Whether the next row begins a patch, and whether the next statement begins a unit.
        self._opens = True
        self._loose = False
        self._temporary = TemporaryDirectory(prefix="jelly-")
        self._file: Final = Path(self._temporary.name) / "operations"
        try:
            with pa.OSFile(str(self._file), "wb") as file, pa.ipc.new_file(file, _STAGED) as out:
                for number, source in enumerate(sources):
                    partial = not whole and number + 1 == len(sources)
                    self._read(source, out, limits, partial=partial)
        except BaseException:
            self._temporary.cleanup()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._temporary.cleanup()

    # Reading

    def _read(self, source: Source, out: Any, limits: Limits, *, partial: bool) -> None:
        """Read a file of the log.

        :param partial: whether it may end inside a transaction.
        """
        with PatchColumnReader(
            source,
            notation=Notation.RDF_1_2,
            validator=RowFactory(),
            limits=limits,
            batch_bytes=_BATCH,
        ) as batches:
            try:
                for batch in batches:
                    self._add(batch, out)
            except TruncatedError as error:
                # Input that is too short to be recognised may not be a log.
                if not partial or not batches.is_known or error.message == AFTER_HEADERS:
                    raise
                if not self._opens and not self._patches[-1].complete:
                    # No transaction of the patch is complete: its position is not recorded yet.
                    self._patches.pop()
            if self.held_back and not partial:
                raise TruncatedError("the log ends inside a transaction", source=batches.name)
        self._opens = True

    def _add(self, batch: OperationColumns, out: Any) -> None:
        statements = record_batch(batch.statements)
        count = statements.num_rows
        units = np.empty(count, np.int64)
        before = 0
        for place, row in (*batch.others, (count, None)):
            if before < place:
                units[before:place] = self._take(place - before)
                before = place
            if row is not None:
                self._row(row)
        if count:
            self._write(statements, batch.adds, units, out)

    def _take(self, count: int = 1) -> int:
        """Count changes; return the number of their unit."""
        patch = self._patch()
        patch.rows += count
        if not self.held_back:
            if not self._loose:
                self._units.append(_Unit(len(self._patches) - 1, counts=True))
                self._loose = True
            patch.complete = patch.rows
        return len(self._units) - 1

    def _patch(self) -> _Patch:
        """Return the current patch."""
        if self._opens:
            self._patches.append(_Patch())
            self._opens = self._loose = False
        return self._patches[-1]

    def _row(self, row: AnyOperation) -> None:
        """Read a row that is not a statement."""
        kind, value = row
        if kind is OperationKind.END:
            self._opens = True
        elif kind is OperationKind.HEADER:
            patch = self._patch()
            if value.chain_key == ID:
                patch.id = patch.id or value.value
            elif value.chain_key == PREV:
                patch.prev = patch.prev or value.value
        elif type(value) is Namespace:
            reject_graph(value.graph, what="a namespace")
            iri = value.iri[1:-1] if kind is OperationKind.ADD_NAMESPACE and value.iri else None
            self._bound.append((self._take(), Bound(value.graph or "", value.name, iri)))
        else:
            patch = self._patch()
            patch.rows += 1
            self._loose = False
            self.held_back = kind is OperationKind.BEGIN
            if self.held_back:
                self._units.append(_Unit(len(self._patches) - 1, counts=False))
                return
            patch.complete = patch.rows
            self._units[-1].counts = kind is OperationKind.COMMIT
            self.aborted += kind is OperationKind.ABORT

    def _write(self, statements: pa.RecordBatch, adds: bytes, units: Any, out: Any) -> None:
        """Write statements to the file, sorted by shard."""
        for graph in statements["graph"].unique().to_pylist():
            reject_graph(graph)
        keys = pc.fill_null(statements[self._layout.shard_by], "").dictionary_encode()
        count = len(self._layout.shards)
        numbers = np.array([shard_of(key, count) for key in keys.dictionary.to_pylist()], np.int32)
        shards = numbers[keys.indices.to_numpy()]
        order = np.argsort(shards, kind="stable")
        add = np.frombuffer(adds, np.uint8).astype(bool)
        columns = [*statements.columns, pa.array(add), pa.array(units)]
        staged = pa.RecordBatch.from_arrays(columns, schema=_STAGED)
        out.write(staged.take(pa.array(order)))
        found, starts = np.unique(shards[order], return_index=True)
        stops = [*starts.tolist()[1:], len(order)]
        for number, start, stop in zip(found.tolist(), starts.tolist(), stops, strict=True):
            self._parts.setdefault(number, []).append((self._written, start, stop))
        self._written += 1

    # Applying

    @property
    def patches(self) -> list[PatchRows]:
        """The patches of the log."""
        return [
            PatchRows(number, patch.id, patch.prev, patch.complete)
            for number, patch in enumerate(self._patches)
        ]

    def change(
        self, storage: Storage, layout: Version, start: int
    ) -> tuple[list[Changed], list[Bound]]:
        """Apply the patches from one on, see :class:`.Changes`."""
        applies = np.array([unit.counts and unit.patch >= start for unit in self._units], bool)
        works = [
            _Work(storage, number, layout.shards[number], self._file, parts, applies)
            for number, parts in sorted(self._parts.items())
        ]
        processes = 1 + self._file.stat().st_size // TOGETHER
        changed = _run(works, min(os.cpu_count() or 1, processes))
        return changed, [bound for unit, bound in self._bound if applies[unit]]


class _Work(NamedTuple):
    """The work of one shard.

    :ivar parts: number of a batch in the file, and the rows in it.
    :ivar applies: for each unit, whether it applies.
    """

    storage: Storage
    number: int
    base: Shard
    file: Path
    parts: list[tuple[int, int, int]]
    applies: Any

    def __call__(self) -> Changed:
        return change(self.storage, self.number, self.base, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.file)) as file:
            opened = pa.ipc.open_file(file)
            for number, start, stop in self.parts:
                batch = opened.get_batch(number).slice(start, stop - start)
                kept = pa.array(self.applies[batch["unit"].to_numpy()])
                yield batch.filter(kept).select(OPERATIONS.names)


def _run(works: Sequence[_Work], processes: int) -> list[Changed]:
    """Do works, in this process or in several ones.

    :raises JellyError: a work has raised it, or a process has ended.
    """
    count = min(processes, len(works))
    if count <= 1:
        return [work() for work in works]
    # Not multiprocessing: its processes import the main module, which would run a script again.
    program = [sys.executable, "-c", f"from {__name__} import main; main()"]

    def one(part: Sequence[_Work]) -> list[Changed]:
        done = subprocess.run(
            program, input=pickle.dumps(part), stdout=subprocess.PIPE, check=False
        )
        if done.returncode:
            raise JellyError(f"a process that works on shards has ended: {done.returncode}")
        found = pickle.loads(done.stdout)
        if isinstance(found, Exception):
            raise found
        return found  # type: ignore[no-any-return]

    with ThreadPoolExecutor(count) as pool:
        parts = pool.map(one, [works[number::count] for number in range(count)])
        return [each for part in parts for each in part]


def main() -> None:
    """Do the works that arrive, and send what they return."""
    try:
        done: Any = [work() for work in pickle.load(sys.stdin.buffer)]
    except Exception as error:
        done = error
    pickle.dump(done, sys.stdout.buffer)
