"""Staged operations: files with the operations of a log, one for each shard, in the log's order.

A file is a sequence of blocks. A block has operations of one kind and one transaction, as N-Quads,
so that the shard's task can pass the text to Oxigraph unchanged. Blocks have the numbers of their
transactions, because whether a transaction applies is known only at its end: files are written
while the log is read, and readers receive the numbers to apply. No transaction is held in memory,
whatever its size. Checksums detect damage before operations are applied.

A statement's text is in Oxigraph's form: two operations are on one quad if and only if their texts
are equal.
"""

from __future__ import annotations

import pickle
import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from ...codec.patch.operations import Operation
from ...errors import TruncatedError, WireError
from ...reserved import reject_graph
from .errors import RootError
from .layout import Root, shard_of
from .storage import Attempt

#: Number of the transaction, whether statements are added, number of statements, bytes of text, and
#: the 128-bit XXH3 of the text; followed by the 64-bit XXH3 of all of these.
_BLOCK: Final = struct.Struct("<Q?QQ16s")
_SEAL: Final = struct.Struct("<Q")
_HEAD: Final = _BLOCK.size + _SEAL.size

#: Maximum bytes of buffered text, of all shards together.
BUFFER: Final = 16 << 20
#: Approximate bytes of statements that are staged together.
STAGED_TOGETHER: Final = 1 << 21

#: Number of keys whose shard is cached.
_REMEMBERED: Final = 1 << 16

#: Maximum rows in memory; earlier rows are in an unnamed temporary file.
_BUFFERED: Final = 10_000

#: Bytes of text after which a new block starts.
_BLOCK_TEXT: Final = 1 << 20
#: Maximum bytes of text of a block.
_MOST_TEXT: Final = 1 << 31
_DAMAGED: Final = "a staged block is damaged: its checksum does not match"


class Block(NamedTuple):
    """Statements that are all added or all deleted.

    :ivar text: N-Quads.
    """

    adds: bool
    statements: int
    text: bytes


class _Open:
    """The current block of a shard."""

    __slots__ = ("adds", "size", "statements", "text", "transaction")

    def __init__(self) -> None:
        self.transaction = -1
        self.adds = True
        self.statements = 0
        self.text: list[bytes] = []
        self.size = 0


class StageWriter:
    """Writes the operations of one log, or of a part of one.

    :param folder: folder of the files; created with the first file.
    :param shards: number of shards.
    """

    def __init__(self, folder: Path, shards: int) -> None:
        self._folder = folder
        self._open = [_Open() for _ in range(shards)]
        self._closed: dict[int, list[bytes]] = {}
        self._buffered = 0

    def write(self, lines: pa.Array, shards: Any, transactions: Any, adds: Any) -> None:
        """Add operations; each argument has one row for each of them.

        :param lines: N-Quads, with the line end.
        :param shards: NumPy array of shard numbers.
        :param transactions: NumPy array of transaction numbers, never lower than before.
        :param adds: NumPy array, 1 for additions and 0 for deletions.
        """
        if not len(lines):
            return
        # Sorted by shard; within a shard in the order of the log.
        order = np.argsort(shards, kind="stable")
        shards, transactions, adds = shards[order], transactions[order], adds[order]
        ordered = lines.take(pa.array(order))
        offsets, data = ordered.buffers()[1:]
        places = np.frombuffer(offsets, np.int32, len(ordered) + 1, 4 * ordered.offset)
        text = memoryview(data) if data is not None else memoryview(b"")
        differs = (
            (shards[1:] != shards[:-1])
            | (transactions[1:] != transactions[:-1])
            | (adds[1:] != adds[:-1])
        )
        starts = np.concatenate(([0], np.flatnonzero(differs) + 1))
        stops = np.append(starts[1:], len(ordered))
        for shard, transaction, added, start, stop, begin, end in zip(
            *(each[starts].tolist() for each in (shards, transactions, adds)),
            *(each.tolist() for each in (starts, stops, places[starts], places[stops])),
            strict=True,
        ):
            self._add(shard, transaction, added == 1, stop - start, bytes(text[begin:end]))

    def _add(self, shard: int, transaction: int, adds: bool, statements: int, text: bytes) -> None:
        """Add lines of one shard, transaction and kind."""
        block = self._open[shard]
        if block.adds is not adds or block.transaction != transaction or block.size >= _BLOCK_TEXT:
            if block.text:
                self._close(shard, block)
            block.adds = adds
            block.transaction = transaction
        block.text.append(text)
        block.statements += statements
        block.size += len(text)
        self._buffered += len(text)
        if self._buffered >= BUFFER:
            self.flush()

    def _close(self, shard: int, block: _Open) -> None:
        digest = xxhash.xxh3_128()
        for text in block.text:
            digest.update(text)
        head = _BLOCK.pack(
            block.transaction, block.adds, block.statements, block.size, digest.digest()
        )
        seal = _SEAL.pack(xxhash.xxh3_64_intdigest(head))
        self._closed.setdefault(shard, []).extend((head, seal, *block.text))
        block.text = []
        block.statements = block.size = 0

    def flush(self) -> None:
        """Write all buffered operations."""
        for shard, block in enumerate(self._open):
            if block.text:
                self._close(shard, block)
        try:
            if self._closed:
                self._folder.mkdir(parents=True, exist_ok=True)
            for shard, blocks in self._closed.items():
                # Opened for each flush: there may be more shards than open files are allowed.
                with self.path(shard).open("ab") as file:
                    file.write(b"".join(blocks))
        except OSError as error:
            message = f"operations cannot be staged: {error.strerror}"
            raise RootError(message, source=str(self._folder)) from error
        self._closed.clear()
        self._buffered = 0

    def path(self, shard: int) -> Path:
        """Return the path of a shard's file, which exists only if the shard has operations."""
        return self._folder / f"{shard:05d}"


class PartWriter:
    """Stages the operations of a log, or of a part of one, in the files of their shards.

    :param attempt: receives the operations; parts share it.
    :param root: the layout, which determines the shards.
    :param part: name of the part.
    """

    def __init__(self, attempt: Attempt, root: Root, part: str) -> None:
        self._attempt: Final = attempt
        self._part: Final = part
        self._writer: Final = StageWriter(attempt.folder(part), root.shards)
        self._shards: Final = root.shards
        self._by_graph: Final = root.shard_by == "graph"
        self._known: dict[str, int] = {}
        self._graphs: set[str] = set()

    def write(
        self, statements: pa.RecordBatch, lines: pa.Array, transactions: Any, adds: Any
    ) -> None:
        """Add operations.

        :param statements: with columns of text in Oxigraph's form.
        :param lines: the same statements, see :func:`nquads_of`.
        :param transactions: see :meth:`StageWriter.write`, and for ``adds``.
        :raises TermError: a statement is in the reserved graph.
        """
        self._writer.write(lines, self._spread(statements), transactions, adds)

    def finish(self) -> None:
        """Bring all operations to the root."""
        self._writer.flush()
        self._attempt.finish(self._part)

    def _spread(self, statements: pa.RecordBatch) -> Any:
        """Return the shard of each statement."""
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
        """Return the shard of a key, and cache it."""
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        shard = self._known[key] = shard_of(key, self._shards)
        return shard

    def _check_graph(self, graph: str) -> None:
        """Reject a reserved graph, and cache an accepted one."""
        reject_graph(graph)
        if len(self._graphs) < _REMEMBERED:
            self._graphs.add(graph)


def nquads_of(statements: pa.RecordBatch) -> pa.Array:
    """Return statements as lines of N-Quads."""
    # Null is skipped.
    return pc.binary_join_element_wise(*statements.columns, ".\n", " ", null_handling="skip")


class Ranges:
    """Increasing numbers, stored as ranges.

    >>> ranges = Ranges()
    >>> for number in (0, 1, 2, 5):
    ...     ranges.add(number)
    >>> list(ranges), 2 in ranges, 3 in ranges
    ([(0, 2), (5, 5)], True, False)
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in ranges:
            self._firsts.append(first)
            self._lasts.append(last)

    def add(self, number: int) -> None:
        """Add a number that is greater than all others."""
        if self._lasts and self._lasts[-1] == number - 1:
            self._lasts[-1] = number
        else:
            self._firsts.append(number)
            self._lasts.append(number)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self._firsts, self._lasts, strict=True)

    def __bool__(self) -> bool:
        return bool(self._firsts)


def read_staged(file: BinaryIO, taken: Ranges, source: str) -> Iterator[Block]:
    """Read the blocks of a file whose transactions apply, in order.

    :param taken: the transactions to read.
    :param source: name of the file in errors.
    :raises TruncatedError: the file is truncated.
    :raises WireError: the file is damaged.
    """
    while head := file.read(_HEAD):
        if len(head) < _HEAD:
            raise TruncatedError("a staged file ends inside a block", source=source)
        fields, seal = head[: _BLOCK.size], head[_BLOCK.size :]
        if _SEAL.pack(xxhash.xxh3_64_intdigest(fields)) != seal:
            raise WireError(_DAMAGED, source=source)
        transaction, adds, statements, size, digest = _BLOCK.unpack(fields)
        if size > _MOST_TEXT:
            raise WireError(
                f"a staged block must not exceed {_MOST_TEXT} bytes (got {size})", source=source
            )
        if transaction not in taken:
            file.seek(size, 1)
            continue
        text = file.read(size)
        if len(text) < size:
            raise TruncatedError("a staged file ends inside a block", source=source)
        if xxhash.xxh3_128_digest(text) != digest:
            raise WireError(_DAMAGED, source=source)
        yield Block(adds, statements, text)


class Repeatable:
    """Rows that can be iterated again from the first one, even after an incomplete iteration.

    Supports one iteration at a time.

    :param rows: each row is read once, when an iteration first reaches it.

    >>> rows = Repeatable(map(str, range(3)))
    >>> next(iter(rows)), list(rows), list(rows)
    ('0', ['0', '1', '2'], ['0', '1', '2'])
    """

    def __init__(self, rows: Iterable[Operation]) -> None:
        self._rest = iter(rows)
        self._buffered: list[Operation] = []
        self._file: IO[Any] | None = None
        self._chunks = 0

    def __iter__(self) -> Iterator[Operation]:
        if self._file is not None:
            self._file.seek(0)
            for _ in range(self._chunks):
                yield from pickle.load(self._file)
        yield from tuple(self._buffered)
        for row in self._rest:
            if len(self._buffered) == _BUFFERED:
                self._write()
            self._buffered.append(row)
            yield row

    def _write(self) -> None:
        self._file = self._file or TemporaryFile()  # noqa: SIM115 (closed with the object)
        pickle.dump(self._buffered, self._file)
        self._chunks += 1
        self._buffered = []
