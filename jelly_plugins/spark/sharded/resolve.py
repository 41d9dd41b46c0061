"""From a log of patches to staged operations: what counts, and where the store stands afterwards.

Which transactions count is decided by :class:`~jelly_plugins.patch.replay.driver.Replay`, as for a
single store. What it is given is the log without its statements: those are staged as they come by,
and :class:`Run` stands in their place. So a log can be staged in one place, or in many at a time,
and resolved in another; and no transaction has to be held in memory.
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
from ...patch.replay.driver import Replay
from ...patch.replay.position import DIGEST, Position, Replayed
from ...reserved import refuse_graph
from .commits import Commit
from .layout import Root, shard_of
from .staging import Ranges, StageWriter
from .storage import Attempt

_ADD: Final = OperationKind.ADD
_DELETE: Final = OperationKind.DELETE

#: Keys whose shard is remembered.
_REMEMBERED: Final = 1 << 16


class Run(NamedTuple):
    """Operations on statements that were staged, all of one transaction.

    :ivar part: the part of the log that they are in: the name of its folder.
    :ivar transaction: the number that they are staged under.
    :ivar operations: how many they are.
    :ivar digest: of the operations, in a patch without an id; otherwise empty.
    :ivar content: what the same operations have, as far as they are staged under one number.
    """

    part: str
    transaction: int
    operations: int
    digest: bytes
    content: str = ""


class Stager:
    """Stages the operations of a log, or of a part of one.

    :param attempt: where to; parts share it.
    :param root: says how they are spread over shards.
    :param part: name of the part.
    """

    def __init__(self, attempt: Attempt, root: Root, part: str = "0") -> None:
        self._attempt: Final = attempt
        self._writer: Final = StageWriter(attempt.folder(part), root.shards)
        self._shards: Final = root.shards
        self._by_graph: Final = root.shard_by == "graph"
        self._part: Final = part
        self._known: dict[str, int] = {}
        self._graphs: set[str] = set()
        #: The transaction that is being read: its number, its operations, and their digest if its
        #: patch has no id.
        self._transaction = 0
        self._count = 0
        self._digest: Any = None
        #: Of their lines, and of their kinds: the ends of batches leave no trace in either.
        self._content = (xxhash.xxh3_128(), xxhash.xxh3_64())
        self._named = False

    def stage(self, batches: Iterable[OperationColumns]) -> Iterator[AnyOperation]:
        """Stage statements, and give all other rows as they are.

        :param batches: their terms are in the form that Oxigraph gives them. They may end in the
            middle of anything.
        :return: a :class:`Run` stands for the statements between two rows that are no changes.
        """
        for batch in batches:
            yield from self._stage(batch)
        if self._count:
            yield self._run()
        self._writer.flush()
        self._attempt.finish(self._part)

    def _stage(self, batch: OperationColumns) -> list[AnyOperation]:
        """Stage a batch; give its other rows."""
        statements = record_batch(batch.statements)
        rows = statements.num_rows
        first = self._transaction
        lines = _lines(statements)
        digested = _Digested(statements, lines, batch.adds)
        found: list[AnyOperation] = []
        #: Where transactions begin in the batch.
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
            self._writer.write(lines, self._spread(statements), transactions, adds)
        return found

    def _take(self, digested: _Digested, start: int, stop: int) -> None:
        """Count statements of a batch to the transaction."""
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

    def _spread(self, statements: pa.RecordBatch) -> Any:
        """The shard of each statement."""
        graphs = statements["graph"].dictionary_encode()
        for graph in graphs.dictionary.to_pylist():
            if graph not in self._graphs:
                self._check_graph(graph)
        if self._by_graph:
            keys = pc.fill_null(statements["graph"], "").dictionary_encode()
        else:
            keys = statements["subject"].dictionary_encode()
        known, find = self._known, self._find
        shards = [
            find(key) if (shard := known.get(key)) is None else shard
            for key in keys.dictionary.to_pylist()
        ]
        return np.array(shards, np.int32)[keys.indices.to_numpy()]

    def _find(self, key: str) -> int:
        """The shard of a key, which is remembered."""
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        shard = self._known[key] = shard_of(key, self._shards)
        return shard

    def _check_graph(self, graph: str) -> None:
        """Refuse a graph that is no data, and remember one that is."""
        refuse_graph(graph)
        if len(self._graphs) < _REMEMBERED:
            self._graphs.add(graph)


class _Digested:
    """Statements as they are digested: those of a patch without an id are what it is known by.

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
        """Have some of them hashed: fast, and safe against mistakes only."""
        lines.update(self._lines[self._ends[start] : self._ends[stop]])
        kinds.update(self._adds[start:stop])

    def text(self, start: int, stop: int) -> memoryview:
        """The text of some of them, made if it is asked for."""
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


def _lines(statements: pa.RecordBatch) -> pa.Array:
    """Statements as N-Quads."""
    # What is null is left out.
    return pc.binary_join_element_wise(*statements.columns, ".\n", " ", null_handling="skip")


class _Changes:
    """The changes of one transaction, see ``patch.replay.target.Changes``."""

    #: Made of staged lines.
    form: Final = "lines1"
    #: They lie elsewhere.
    characters: Final = 0

    def __init__(self) -> None:
        self.operations = 0
        self.statements = 0
        self.runs: list[Run] = []
        self.namespaces: list[AnyOperation] = []

    def gather(self, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Take runs and operations on namespaces up to the first row that is neither."""
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

    def join(self, following: _Changes) -> None:
        """Take the changes of the transaction that follows."""
        self.runs += following.runs
        self.namespaces += following.namespaces
        self.operations += following.operations
        self.statements += following.statements

    def fingerprint(self) -> bytes:
        """A digest of the changes."""
        return self._digest(run.digest for run in self.runs)

    def content(self) -> bytes | None:
        """A digest of the changes, without a look at what was staged."""
        if len(self.runs) > 1:
            # What lies in several partitions may have been cut elsewhere before.
            return None
        return self._digest(run.content.encode() for run in self.runs)

    def _digest(self, runs: Iterable[bytes]) -> bytes:
        """A digest of runs and namespaces, in which it makes no difference how the default graph is
        named."""
        digest = hashlib.sha256()
        for run in runs:
            digest.update(run)
        for kind, (name, iri, graph) in self.namespaces:
            digest.update(f"{kind.code} {name!r} {iri} {graph or ''}\n".encode())
        return digest.digest()


def is_anonymous(position: Position) -> bool:
    """Whether nothing but digests says which log it is in, and where."""
    return position.log.startswith(DIGEST) and position.patch.startswith(DIGEST)


class _Target:
    """The version that a log leads to, see ``patch.replay.target.Target``."""

    changes = staticmethod(_Changes)

    def __init__(self, head: Commit, continued: bool, numbered: bool) -> None:
        self.head = head
        self._numbered = numbered
        self._continued = continued
        self.logs = {each.log: each for each in head.positions}
        self.namespaces = {graph: dict(bound) for graph, bound in head.namespaces.items()}
        self.taken: dict[str, Ranges] = {}
        self.statements = 0

    def positions(self) -> Iterable[Position]:
        """Where the head stands."""
        known: Iterable[Position] = self.head.positions
        if self._numbered:
            # What says the same as an earlier patch without an id is not that patch.
            known = [each for each in known if not is_anonymous(each)]
        if self._continued:
            known = [replace(each, loose="", content="") for each in known]
        return known

    def apply(self, changes: _Changes, before: Position | None, after: Position) -> int:
        """Take the changes of a transaction; deletions that match nothing are not counted."""
        for run in changes.runs:
            self.taken.setdefault(run.part, Ranges()).add(run.transaction)
        self.statements += changes.statements
        for kind, (name, iri, graph) in changes.namespaces:
            refuse_graph(graph, what="a namespace")
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
    """What is to be done of a log that was staged.

    :ivar replayed: counts, and the position that is reached.
    :ivar held_back: operations of a transaction that the log does not end.
    :ivar taken: for each part, in the log's order, the transactions that count.
    :ivar statements: operations on statements in them.
    :ivar positions: where the store will stand.
    :ivar namespaces: that will be bound.
    """

    replayed: Replayed
    held_back: int
    taken: dict[str, Ranges]
    statements: int
    positions: tuple[Position, ...]
    namespaces: Mapping[str, Mapping[str, str]]


def resolve(
    rows: Iterable[AnyOperation],
    head: Commit,
    *,
    log: str | None = None,
    check_prev: bool = True,
    continued: bool = False,
    numbered: bool = False,
) -> Resolved:
    """Decide which of the transactions that were staged count.

    A log may end in the middle of a patch: the transactions that are complete count, and the rest
    is held back, to be applied when the log is given again and has more.

    :param rows: of the log, from :meth:`Stager.stage`.
    :param head: what they are applied to.
    :param log: the log's name, see :func:`jelly_plugins.oxigraph.replay`; likewise ``check_prev``.
    :param continued: whether the rows go on behind what was applied, which does not
        come again.
    :param numbered: whether they are a batch of an application, which its number tells from others.
    :raises JellyError: the log cannot be read, or does not follow what was applied.
    """
    target = _Target(head, continued, numbered)
    replay = Replay(target, text=str, log=log, check_prev=check_prev)
    replay.run((rows,))
    return Resolved(
        replayed=replay.done,
        held_back=replay.unfinished,
        taken=target.taken,
        statements=target.statements,
        positions=tuple(target.logs.values()),
        namespaces={graph: bound for graph, bound in target.namespaces.items() if bound},
    )
