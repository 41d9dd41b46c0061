"""Operations on their way from a log to the shards: one file per shard, in the log's order.

A file is a sequence of blocks; each has operations of one kind, of one transaction, as N-Quads, so
that the shard's task can hand the text to Oxigraph as it is. The transactions carry numbers because
whether one counts is only known once it has ended: files are written as the log is read, and who
reads them is told which numbers to take. So nothing has to be held in memory, however large a
transaction is.

A statement's text is in the form that Oxigraph gives it: two operations are on one quad if and only
if their texts are equal.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from ...errors import TruncatedError, WireError

#: Number of the transaction, whether statements are added, number of statements, bytes of text.
_BLOCK: Final = struct.Struct("<Q?QQ")

#: Bytes of text that are held before they are written, for all shards together.
BUFFER: Final = 16 << 20
#: Bytes of a block's text, at most, but for one long line.
_BLOCK_TEXT: Final = 1 << 20


class Block(NamedTuple):
    """Statements that are all added or all deleted.

    :ivar text: N-Quads.
    """

    adds: bool
    statements: int
    text: bytes


class _Open:
    """The block of a shard that is being gathered."""

    __slots__ = ("adds", "lines", "size", "transaction")

    def __init__(self) -> None:
        self.transaction = -1
        self.adds = True
        self.lines: list[str] = []
        self.size = 0


class StageWriter:
    """Writes the operations of one log, or of a part of one.

    :param folder: where to; made with the first file.
    :param shards: number of shards.
    """

    def __init__(self, folder: Path, shards: int) -> None:
        self._folder = folder
        self._open = [_Open() for _ in range(shards)]
        self._closed: dict[int, list[bytes]] = {}
        self._held = 0

    def write(self, shard: int, transaction: int, adds: bool, line: str) -> None:
        """Note an operation.

        :param transaction: never lower than before.
        :param line: N-Quads, with the line end.
        """
        block = self._open[shard]
        size = len(line)
        if block.adds is not adds or block.transaction != transaction or block.size >= _BLOCK_TEXT:
            if block.lines:
                self._close(shard, block)
            block.adds = adds
            block.transaction = transaction
        block.lines.append(line)
        block.size += size
        self._held += size
        if self._held >= BUFFER:
            self.flush()

    def _close(self, shard: int, block: _Open) -> None:
        text = "".join(block.lines).encode()
        self._closed.setdefault(shard, []).append(
            _BLOCK.pack(block.transaction, block.adds, len(block.lines), len(text)) + text
        )
        block.lines = []
        block.size = 0

    def flush(self) -> None:
        """Write all that was noted."""
        for shard, block in enumerate(self._open):
            if block.lines:
                self._close(shard, block)
        if self._closed:
            self._folder.mkdir(parents=True, exist_ok=True)
        for shard, blocks in self._closed.items():
            # Opened for each flush: there may be more shards than files that may be open.
            with self.path(shard).open("ab") as file:
                file.write(b"".join(blocks))
        self._closed.clear()
        self._held = 0

    def path(self, shard: int) -> Path:
        """The file of a shard; it is only there if the shard has operations."""
        return staged_file(self._folder, shard)


def staged_file(folder: Path, shard: int) -> Path:
    """The file of a shard in a folder of staged operations."""
    return folder / f"{shard:05d}"


class Ranges:
    """Numbers that grow, kept as ranges.

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
        """Add a number that is above all others."""
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


def read_staged(path: Path, taken: Ranges) -> Iterator[Block]:
    """The blocks of a file, in order, as far as their transactions count.

    :raises TruncatedError: the file is not whole.
    """
    with path.open("rb") as file:
        while head := file.read(_BLOCK.size):
            if len(head) < _BLOCK.size:
                raise TruncatedError("a staged file ends inside a block", source=str(path))
            transaction, adds, statements, size = _BLOCK.unpack(head)
            if size > _BLOCK_TEXT + (1 << 31):
                raise WireError(f"a staged block of {size} bytes", source=str(path))
            if transaction not in taken:
                file.seek(size, 1)
                continue
            text = file.read(size)
            if len(text) < size:
                raise TruncatedError("a staged file ends inside a block", source=str(path))
            yield Block(adds, statements, text)
