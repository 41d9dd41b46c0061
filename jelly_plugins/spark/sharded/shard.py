"""What one attempt of a task does for one shard: a copy of its store, with operations applied.

Nothing that it does can be seen before a commit names the new store. So an attempt may run twice,
die in its middle or come late: it leaves a folder that no commit names, for ``vacuum``. For the
same reason it may apply the batch in pieces, and use Oxigraph's bulk paths.

No Spark here: a task is a function of what it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from pyoxigraph import Quad, RdfFormat, Store, parse

from ...errors import JellyError, TermError
from ...oxigraph.loading.loader import SMALL
from .errors import RootError, of_shard
from .layout import new_store_name
from .staging import Block, Ranges, read_staged
from .storage import Attempt, Piece, Storage

#: Bytes of text that are applied at once: what bounds an attempt's memory.
CHUNK: Final = 32 << 20

#: Bytes of staged text for each quad of a store from which on a batch is large: counting the store
#: afterwards costs less than looking for each quad before.
_LARGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardWork:
    """What is to be done for one shard.

    :ivar storage: where the sharded store's root lies.
    :ivar attempt: what has staged the operations.
    :ivar shard: number of the shard.
    :ivar version: the version that is being made.
    :ivar base: the shard's store so far, with the checksum of the list of its files; None if it is
        empty.
    :ivar quads: number of quads in it.
    :ivar staged: operations in order, each piece with the transactions that count, as ranges.
    :ivar checked: whether Oxigraph has seen the terms in them, so that their syntax is right.
    """

    storage: Storage
    attempt: Attempt
    shard: int
    version: int
    base: tuple[str, str | None] | None
    quads: int
    staged: tuple[tuple[Piece, tuple[tuple[int, int], ...]], ...]
    checked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What was done for one shard.

    :ivar store: the new store, relative to the root; the old one if nothing was to be done.
    :ivar quads: number of quads in it.
    :ivar operations: operations that were read.
    :ivar checksum: of the list of the new store's files.
    """

    shard: int
    store: str | None
    quads: int
    operations: int
    checksum: str | None = None


def apply_shard(work: ShardWork) -> ShardResult:
    """Make the new store of a shard.

    :raises JellyError: the staged files cannot be read, or have what Oxigraph refuses.
    :raises RootError: the store cannot be copied, or is damaged.
    :raises OSError: the store cannot be written.
    """
    blocks = _blocks(work)
    first = next(blocks, None)
    base = None if work.base is None else work.base[0]
    if first is None:
        return ShardResult(shard=work.shard, store=base, quads=work.quads, operations=0)
    name = new_store_name(work.shard, work.version)
    operations = 0
    with of_shard(work.version, work.shard):
        made = work.storage.make(name, work.base)
    with made as making:
        if making.base is not None:
            with _copying(work, base or ""):
                _copy(making.base, making.folder)
        size = sum(piece.size for piece, _ in work.staged)
        kind = _Large if size >= work.quads * _LARGE else _Small
        try:
            applying = kind(Store(str(making.folder)), work.quads, work.checked)
            for chunk in _chunks(chain((first,), blocks)):
                applying.apply(chunk)
                operations += sum(block.statements for block in chunk)
            quads = applying.finish()
        except (SyntaxError, ValueError) as error:
            if isinstance(error, JellyError):
                raise
            message = f"Oxigraph refuses a statement of shard {work.shard}: {error}"
            raise TermError(message) from error
        except RuntimeError as error:
            message = f"{base or name} cannot be read, or its copy not written: {error}"
            with of_shard(work.version, work.shard):
                raise RootError(message, source=work.storage.name) from error
        # Closed: until then Oxigraph may write.
        del applying
        checksum = making.finish()
    return ShardResult(
        shard=work.shard, store=name, quads=quads, operations=operations, checksum=checksum
    )


def _copy(base: Path, folder: Path) -> None:
    """Copy a store: by hard links to files that never change, and without a lock on the store."""
    Store.read_only(str(base)).backup(str(folder))


@contextmanager
def _copying(work: ShardWork, store: str) -> Iterator[None]:
    """Make an error of the library of what Oxigraph raises where a store is copied.

    :param store: what errors call it.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        message = f"{store} cannot be copied: {error}"
        # RocksDB's words for what it was at.
        if "link file" in str(error):
            message += "; a root needs a file system that has hard links"
        with of_shard(work.version, work.shard):
            raise RootError(message, source=work.storage.name) from error


def _blocks(work: ShardWork) -> Iterator[Block]:
    for piece, ranges in work.staged:
        with work.attempt.open(piece) as file:
            yield from read_staged(file, Ranges(ranges), work.storage.place(piece.name))


def _chunks(blocks: Iterator[Block]) -> Iterator[list[Block]]:
    chunk: list[Block] = []
    size = 0
    for block in blocks:
        chunk.append(block)
        size += len(block.text)
        if size >= CHUNK:
            yield chunk
            chunk = []
            size = 0
    if chunk:
        yield chunk


class _Applying:
    """A store that is nobody else's, while operations are applied to it.

    :param quads: number of quads in it.
    :param checked: whether the syntax of statements is right for sure.
    """

    def __init__(self, store: Store, quads: int, checked: bool) -> None:
        self._store = store
        self._quads = quads
        self._checked = checked

    def _parse(self, lines: Iterable[bytes]) -> Iterator[Quad]:
        return iter(parse(b"".join(lines), RdfFormat.N_QUADS, lenient=self._checked))

    def finish(self) -> int:
        """Make all that was done last; return the number of quads."""
        self._store.flush()
        return self._quads


class _Small(_Applying):
    """For a batch that is small beside the store: looks before it writes, and so can count."""

    def apply(self, chunk: list[Block]) -> None:
        """Apply blocks in their order, or to the same effect."""
        store = self._store
        deletes, adds = _net(chunk)
        gone = [quad for quad in self._parse(deletes) if quad in store]
        for quad in gone:
            store.remove(quad)
        come = [quad for quad in self._parse(adds) if quad not in store]
        if len(come) < SMALL:
            store.extend(come)
        else:
            store.bulk_extend(come)
        self._quads += len(come) - len(gone)


class _Large(_Applying):
    """For a batch that is large beside the store: writes, and counts in the end."""

    def apply(self, chunk: list[Block]) -> None:
        """Apply blocks in their order, or to the same effect."""
        store = self._store
        if all(block.adds for block in chunk):
            adds = [block.text for block in chunk]
        else:
            deletes, adds = _net(chunk)
            for quad in self._parse(deletes):
                store.remove(quad)
        # Labels of blank nodes are kept, as Store.bulk_load would not.
        store.bulk_extend(self._parse(adds))

    def finish(self) -> int:
        """Make all that was done last; return the number of quads."""
        self._quads = len(self._store)
        return super().finish()


def _net(chunk: list[Block]) -> tuple[list[bytes], list[bytes]]:
    """Lines to delete and to add: the last operation on each of them counts."""
    there: dict[bytes, bool] = {}
    for adds, _, text in chunk:
        there.update(dict.fromkeys(text.splitlines(keepends=True), adds))
    deletes = [line for line, adds in there.items() if not adds]
    return deletes, [line for line, adds in there.items() if adds]
