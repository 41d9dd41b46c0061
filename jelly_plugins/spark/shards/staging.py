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
from collections.abc import Iterable, Iterator, Sequence
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
from .chains import PatchRows, Resolved, resolve
from .root import Shard, ShardBy, Version, shard_of
from .shard import OPERATIONS, TOGETHER, Changed, change
from .storage import Storage

#: Bytes of statements that are read together.
_BATCH: Final = 1 << 21
#: Operations, with the number of their unit, and of their row in the patch.
_STAGED: Final = OPERATIONS.append(pa.field("unit", pa.int64())).append(pa.field("row", pa.int64()))
#: Number of keys whose shard is cached.
_REMEMBERED: Final = 1 << 16


class Bound(NamedTuple):
    """An operation on a namespace.

    :ivar iri: the IRI that the name is bound to; None to remove the name.
    """

    graph: str
    name: str
    iri: str | None


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


class _Applies(NamedTuple):
    """Which operations apply: those of units that count, in patches after one.

    :ivar units: for each unit, whether it counts and its patch is new, at least in part.
    :ivar first: the first unit of the patches that are wholly new.
    :ivar rows: number of rows of the patch before it that were applied.
    """

    units: Any
    first: int
    rows: int

    def mask(self, units: Any, rows: Any) -> Any:
        """Return for operations, by unit and row in the patch, whether they apply."""
        return self.units[units] & ((units >= self.first) | (rows > self.rows))


class StagedLog:
    """A log that was read, and whose operations are in a temporary file; a context manager.

    :param sources: the files of the log, in order.
    :param shards: number of shards.
    :param shard_by: the term that determines the shard.
    :param whole: whether it must be complete; otherwise, an incomplete transaction at its end does
        not count.
    :raises JellyError: the log cannot be read, or has data that Oxigraph cannot store.

    :ivar inside: whether the log ends inside a transaction.
    :ivar aborted: number of aborted transactions.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        shards: int,
        shard_by: ShardBy,
        *,
        whole: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.inside = False
        self.aborted = 0
        #: Whether the last patch is incomplete.
        self._partial = False
        self._shards: Final = shards
        self._shard_by: Final = shard_by
        self._patches: list[_Patch] = []
        self._units: list[_Unit] = []
        #: Operations on namespaces, with their units and rows.
        self._bound: list[tuple[int, int, Bound]] = []
        #: For each shard, where its operations are: number of a batch, and rows in it.
        self._parts: dict[int, list[tuple[int, int, int]]] = {}
        self._written = 0
        self._known: dict[str, int] = {}
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
                self._partial = not self._opens
            if self.inside and not partial:
                raise TruncatedError("the log ends inside a transaction", source=batches.name)
        self._opens = True

    def _add(self, batch: OperationColumns, out: Any) -> None:
        statements = record_batch(batch.statements)
        count = statements.num_rows
        units, rows = np.empty(count, np.int64), np.empty(count, np.int64)
        before = 0
        for place, row in (*batch.others, (count, None)):
            if before < place:
                units[before:place], first = self._take(place - before)
                rows[before:place] = np.arange(first, first + place - before)
                before = place
            if row is not None:
                self._row(row)
        if count:
            self._write(statements, batch.adds, units, rows, out)

    def _take(self, count: int = 1) -> tuple[int, int]:
        """Count changes; return the number of their unit, and of the first one's row, from 1."""
        patch = self._patch()
        first = patch.rows + 1
        patch.rows += count
        if not self.inside:
            if not self._loose:
                self._units.append(_Unit(len(self._patches) - 1, counts=True))
                self._loose = True
            patch.complete = patch.rows
        return len(self._units) - 1, first

    def _patch(self) -> _Patch:
        """Return the current patch."""
        if self._opens:
            self._patches.append(_Patch())
            self._opens = self._loose = False
        return self._patches[-1]

    def _row(self, row: AnyOperation) -> None:
        """Read a row that is not a statement."""
        kind, value = row
        if kind is OperationKind.HEADER:
            patch = self._patch()
            # Rows are numbered as in a DataFrame: from the first operation on.
            patch.rows += patch.rows > 0
            if value.key == ID:
                patch.id = patch.id or value.value
            elif value.key == PREV:
                patch.prev = patch.prev or value.value
        elif kind is OperationKind.END:
            self._opens = True
        elif type(value) is Namespace:
            reject_graph(value.graph, what="a namespace")
            iri = value.iri[1:-1] if kind is OperationKind.ADD_NAMESPACE and value.iri else None
            self._bound.append((*self._take(), Bound(value.graph or "", value.name, iri)))
        else:
            patch = self._patch()
            patch.rows += 1
            self._loose = False
            self.inside = kind is OperationKind.BEGIN
            if self.inside:
                self._units.append(_Unit(len(self._patches) - 1, counts=False))
                return
            patch.complete = patch.rows
            self._units[-1].counts = kind is OperationKind.COMMIT
            self.aborted += kind is OperationKind.ABORT

    def _write(
        self, statements: pa.RecordBatch, adds: bytes, units: Any, rows: Any, out: Any
    ) -> None:
        """Write statements to the file, sorted by shard."""
        for graph in statements["graph"].unique().to_pylist():
            reject_graph(graph)
        keys = pc.fill_null(statements[self._shard_by], "").dictionary_encode()
        numbers = np.array([self._shard(key) for key in keys.dictionary.to_pylist()], np.int32)
        shards = numbers[keys.indices.to_numpy()]
        order = np.argsort(shards, kind="stable")
        add = np.frombuffer(adds, np.uint8).astype(bool)
        columns = [*statements.columns, *map(pa.array, (add, units, rows))]
        staged = pa.RecordBatch.from_arrays(columns, schema=_STAGED)
        out.write(staged.take(pa.array(order)))
        found, starts = np.unique(shards[order], return_index=True)
        stops = [*starts.tolist()[1:], len(order)]
        for number, start, stop in zip(found.tolist(), starts.tolist(), stops, strict=True):
            self._parts.setdefault(number, []).append((self._written, start, stop))
        self._written += 1

    def _shard(self, key: str) -> int:
        if len(self._known) > _REMEMBERED:
            self._known.clear()
        if key not in self._known:
            self._known[key] = shard_of(key, self._shards)
        return self._known[key]

    # Applying

    def resolve(self, version: Version, *, check_prev: bool, forget: bool) -> Resolved:
        """Find out what of the log is new to a version, see :func:`.chains.resolve`."""
        patches = [
            PatchRows(number, patch.id, patch.prev, patch.complete)
            for number, patch in enumerate(self._patches)
        ]
        if self._partial and not patches[-1].rows:
            # What may become of it is not known yet.
            patches.pop()
        return resolve(patches, version.logs, check_prev=check_prev, forget=forget)

    def _applies(self, resolved: Resolved) -> _Applies:
        after = -1 if resolved.after is None else resolved.after
        patches = np.array([unit.patch for unit in self._units], np.int64)
        counts = np.array([unit.counts for unit in self._units], bool)
        first = int(np.searchsorted(patches, after, side="right"))
        return _Applies(counts & (patches >= after), first, resolved.rows)

    def namespaces(self, resolved: Resolved) -> Iterable[Bound]:
        """Return the operations on namespaces that apply, in order."""
        applies = self._applies(resolved)
        return [bound for unit, row, bound in self._bound if applies.mask(unit, row)]

    def change(
        self,
        storage: Storage,
        version: Version,  # noqa: ARG002
        bases: Sequence[Shard],
        resolved: Resolved,
    ) -> Iterable[Changed]:
        """Apply what is new to the shards, see :func:`.shard.change`."""
        applies = self._applies(resolved)
        works = [
            _Work(storage, number, bases[number], self._file, parts, applies)
            for number, parts in sorted(self._parts.items())
        ]
        processes = 1 + self._file.stat().st_size // TOGETHER
        return run(works, min(os.cpu_count() or 1, processes))


class _Work(NamedTuple):
    """The work of one shard."""

    storage: Storage
    number: int
    base: Shard
    file: Path
    parts: list[tuple[int, int, int]]
    applies: _Applies

    def __call__(self) -> Changed:
        return change(self.storage, self.number, self.base, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        with pa.memory_map(str(self.file)) as file:
            opened = pa.ipc.open_file(file)
            for number, start, stop in self.parts:
                batch = opened.get_batch(number).slice(start, stop - start)
                kept = self.applies.mask(batch["unit"].to_numpy(), batch["row"].to_numpy())
                yield batch.filter(pa.array(kept)).select(OPERATIONS.names)


def run(works: Sequence[Any], processes: int) -> list[Changed]:
    """Do works, in this process or in several ones.

    :param works: functions without parameters, which can be pickled.
    :raises JellyError: a work has raised it, or a process has ended.
    """
    count = min(processes, len(works))
    if count <= 1:
        return [work() for work in works]
    # Not multiprocessing: its processes import the main module, which would run a script again.
    program = [sys.executable, "-c", f"from {__name__} import main; main()"]

    def one(part: Sequence[Any]) -> list[Changed]:
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
