"""Resolve a log of patches to staged operations: which of them apply, and the resulting positions.

:class:`~jelly_plugins.patch.replay.replay.Replay` decides which transactions apply, as for a single
store. It receives the log without its statements, which are staged as they are read and replaced by
:class:`Run` rows. A log can therefore be staged in one or many places, and resolved in another, and
no transaction is held in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from ...arrow import record_batch
from ...codec import OperationColumns
from ...codec.patch.operations import AnyOperation, Namespace, Operation, OperationKind
from ...patch.model import ID
from ...reserved import reject_graph
from .commits import Commit
from .layout import Root
from .replaying.position import DIGEST, Position, Replayed
from .replaying.replay import Replay
from .replaying.settings import ReplaySettings
from .staged_files import PartWriter, Ranges, nquads_of
from .storage import Attempt

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE


class Run(NamedTuple):
    """Consecutive staged operations on statements of one transaction.

    :ivar part: name of the folder of the part of the log that has them.
    :ivar transaction: the number that they are staged under.
    :ivar operations: number of operations.
    :ivar digest: digest of the operations, in a patch without an id; otherwise empty.
    :ivar content: a fast digest of the operations, for those that are staged under one number.
    """

    part: str
    transaction: int
    operations: int
    digest: bytes
    content: str = ""


class Stager:
    """Stages the operations of a log, or of a part of one.

    :param attempt: receives the operations; parts share it.
    :param root: the layout, which determines the shards.
    :param part: name of the part.
    """

    def __init__(self, attempt: Attempt, root: Root, part: str = "0") -> None:
        self._writer: Final = PartWriter(attempt, root, part)
        self._part: Final = part
        #: The current transaction: its number, number of operations, and their digest if its patch
        #: has no id.
        self._transaction = 0
        self._count = 0
        self._digest: Any = None
        #: Digests of lines and of kinds; neither depends on the boundaries of batches.
        self._content = (xxhash.xxh3_128(), xxhash.xxh3_64())
        self._named = False

    def stage(self, batches: Iterable[OperationColumns]) -> Iterator[AnyOperation]:
        """Stage statements, and return all other rows unchanged.

        :param batches: their terms are in Oxigraph's form. A batch may end anywhere.
        :return: the rows, with a :class:`Run` for the statements between two rows that are not
            changes.
        """
        for batch in batches:
            yield from self._stage(batch)
        if self._count:
            yield self._run()
        self._writer.finish()

    def _stage(self, batch: OperationColumns) -> list[AnyOperation]:
        """Stage a batch, and return its other rows."""
        statements = record_batch(batch.statements)
        rows = statements.num_rows
        first = self._transaction
        lines = nquads_of(statements)
        digested = _Digested(statements, lines, batch.adds)
        found: list[AnyOperation] = []
        #: Rows of the batch at which transactions start.
        begins: list[int] = []
        before = 0
        for place, row in batch.others:
            self._take(digested, before, place)
            before = place
            kind, value = row
            if type(value) is not Namespace:
                if self._count:
                    found.append(self._run())
                self._transaction += 1
                begins.append(place)
                if kind is OperationKind.HEADER:
                    self._named = self._named or value.key == ID
                elif kind is OperationKind.END:
                    self._named = False
            found.append(row)
        self._take(digested, before, rows)
        if rows:
            transactions = first + np.searchsorted(begins, np.arange(rows), side="right")
            adds = np.frombuffer(batch.adds, np.uint8)
            self._writer.write(statements, lines, transactions, adds)
        return found

    def _take(self, digested: _Digested, start: int, stop: int) -> None:
        """Add statements of a batch to the current transaction."""
        if start == stop:
            return
        self._count += stop - start
        digested.hash(*self._content, start, stop)
        if not self._named:
            self._digest = self._digest or hashlib.sha256()
            self._digest.update(digested.text(start, stop))

    def _run(self) -> AnyOperation:
        digest = b"" if self._digest is None else self._digest.digest()
        content = "".join(each.hexdigest() for each in self._content)
        run = Run(self._part, self._transaction, self._count, digest, content)
        self._count = 0
        for each in self._content:
            each.reset()
        self._digest = None
        return Operation(_ADD, run)


class _Digested:
    """Digests of statements, which identify a patch without an id.

    :param lines: the statements as N-Quads.
    """

    def __init__(self, statements: pa.RecordBatch, lines: pa.Array, adds: bytes) -> None:
        self._statements = statements
        self._adds = adds
        _, offsets, data = lines.buffers()
        self._ends = np.frombuffer(offsets, np.int32, len(lines) + 1)
        self._lines = memoryview(data) if data is not None else memoryview(b"")
        self._text: memoryview | None = None
        self._places: Any = None

    def hash(self, lines: xxhash.xxh3_128, kinds: xxhash.xxh3_64, start: int, stop: int) -> None:
        """Update hashes with some statements; fast, but only safe against accidents."""
        lines.update(self._lines[self._ends[start] : self._ends[stop]])
        kinds.update(self._adds[start:stop])

    def text(self, start: int, stop: int) -> memoryview:
        """Return the text of some statements, created on first use."""
        if self._text is None:
            subject, predicate, object_, graph = self._statements.columns
            kinds = pa.array([_DELETE.code, _ADD.code]).take(pa.array(self._adds_bytes()))
            graphs = pc.binary_join_element_wise(pc.fill_null(graph, ""), "\n", "")
            made = pc.binary_join_element_wise(kinds, subject, predicate, object_, graphs, " ")
            _, offsets, data = made.buffers()
            self._places = np.frombuffer(offsets, np.int32, len(made) + 1)
            self._text = memoryview(data)
        return self._text[self._places[start] : self._places[stop]]

    def _adds_bytes(self) -> Any:
        return np.frombuffer(self._adds, np.uint8)


class _StagedChanges:
    """The changes of one transaction, see ``patch.replay.target.TransactionChanges``."""

    #: Digests are of staged lines.
    form: Final = "lines1"
    #: The text is staged, not in memory.
    characters: Final = 0

    def __init__(self) -> None:
        self.operations = 0
        self.statements = 0
        self.runs: list[Run] = []
        self.namespaces: list[AnyOperation] = []

    def gather(self, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Add runs and operations on namespaces up to the first other row, which is returned."""
        for row in rows:
            value = row.value
            if type(value) is Run:
                self.runs.append(value)
                self.statements += value.operations
                self.operations += value.operations
            elif type(value) is Namespace:
                self.namespaces.append(row)
                self.operations += 1
            else:
                return row
        return None

    def join(self, following: _StagedChanges) -> None:
        """Add the changes of the next transaction."""
        self.runs += following.runs
        self.namespaces += following.namespaces
        self.operations += following.operations
        self.statements += following.statements

    def fingerprint(self) -> bytes:
        """Return a digest of the changes."""
        return self._digest(run.digest for run in self.runs)

    def content(self) -> bytes | None:
        """Return a digest of the changes without reading staged operations."""
        if len(self.runs) > 1:
            # Other partitions may have divided the same operations differently.
            return None
        return self._digest(run.content.encode() for run in self.runs)

    def _digest(self, runs: Iterable[bytes]) -> bytes:
        """Return a digest of runs and namespaces, independent of the default graph's spelling."""
        digest = hashlib.sha256()
        for run in runs:
            digest.update(run)
        for kind, (name, iri, graph) in self.namespaces:
            digest.update(f"{kind.code} {name!r} {iri} {graph or ''}\n".encode())
        return digest.digest()


def is_anonymous(position: Position) -> bool:
    """Return whether a position identifies its log and patch by digests only."""
    return position.log.startswith(DIGEST) and position.patch.startswith(DIGEST)


class _Target:
    """The version that a log leads to, see ``patch.replay.target.Target``."""

    graph: Final = ""
    changes = staticmethod(_StagedChanges)
    text = staticmethod(str)

    def __init__(self, head: Commit, continued: bool, numbered: bool) -> None:
        self.head = head
        self._numbered = numbered
        self._continued = continued
        self.logs = {each.log: each for each in head.positions}
        self.namespaces = {graph: dict(bound) for graph, bound in head.namespaces.items()}
        self.taken: dict[str, Ranges] = {}
        self.statements = 0

    def positions(self) -> Iterable[Position]:
        """Return the positions of the head."""
        known: Iterable[Position] = self.head.positions
        if self._numbered:
            # A patch without an id that equals an earlier one is a new patch.
            known = [each for each in known if not is_anonymous(each)]
        if self._continued:
            known = [replace(each, loose="", content="") for each in known]
        return known

    def apply(self, changes: _StagedChanges, before: Position | None, after: Position) -> int:
        """Apply the changes of a transaction; deletions without a match are not counted."""
        for run in changes.runs:
            self.taken.setdefault(run.part, Ranges()).add(run.transaction)
        self.statements += changes.statements
        for kind, (name, iri, graph) in changes.namespaces:
            reject_graph(graph, what="a namespace")
            bound = self.namespaces.setdefault(graph or "", {})
            if kind is OperationKind.ADD_NAMESPACE:
                bound[name] = iri[1:-1]
            else:
                bound.pop(name, None)
        if before is not None:
            self.logs.pop(before.log, None)
        self.logs[after.log] = after
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What to apply of a staged log.

    :ivar replayed: numbers of patches and operations, and the position reached.
    :ivar held_back: number of operations of an unfinished transaction at the end.
    :ivar taken: the transactions to apply, for each part, in the log's order.
    :ivar statements: number of operations on statements in them.
    :ivar positions: the new positions of the store.
    :ivar namespaces: the new namespaces.
    :ivar replaces: whether the store is emptied first.
    :ivar moves: whether the statements are the store's own, for other shards.
    """

    replayed: Replayed
    held_back: int
    taken: dict[str, Ranges]
    statements: int
    positions: tuple[Position, ...]
    namespaces: Mapping[str, Mapping[str, str]]
    replaces: bool = False
    moves: bool = False


def resolve(
    rows: Iterable[AnyOperation],
    head: Commit,
    *,
    log: str | None = None,
    check_prev: bool = True,
    continued: bool = False,
    numbered: bool = False,
) -> Resolved:
    """Decide which staged transactions to apply.

    A log may end in the middle of a patch: complete transactions apply, and the rest is held back
    until a later call gives the log with more rows.

    :param rows: rows of the log, from :meth:`Stager.stage`.
    :param head: the version to apply them to.
    :param log: name of the log, see :func:`jelly_plugins.oxigraph.replay`.
    :param check_prev: whether to check ``prev``, see :func:`jelly_plugins.oxigraph.replay`.
    :param continued: whether the rows continue after the applied ones, which are not repeated.
    :param numbered: whether they are a batch of an application, which its number identifies.
    :raises JellyError: the log cannot be read, or does not follow what was applied.
    """
    target = _Target(head, continued, numbered)
    replay = Replay(target, ReplaySettings(log_name=log, check_prev=check_prev))
    replay.run((rows,))
    return Resolved(
        replayed=replay.done,
        held_back=replay.unfinished,
        taken=target.taken,
        statements=target.statements,
        positions=tuple(target.logs.values()),
        namespaces={graph: bound for graph, bound in target.namespaces.items() if bound},
    )
