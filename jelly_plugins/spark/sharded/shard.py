"""What one attempt of a task does for one shard: a copy of its store, with operations applied.

Nothing that it does can be seen before a commit names the new store. So an attempt may run twice,
die in its middle or come late: it leaves a folder that no commit names, for ``vacuum``. For the
same reason it may apply the batch in pieces, and use Oxigraph's bulk paths.

No Spark here: a task is a function of what it is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pyoxigraph import Quad, RdfFormat, Store, parse

from ...errors import JellyError, TermError
from ...oxigraph.loading.loader import SMALL
from .errors import RootError, of_shard
from .layout import new_store_name
from .staging import Block, Ranges, read_staged
from .storage import Attempt, MakingStore, Piece, Storage

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
    base: tuple[str, str] | None
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
            with of_shard(work.version, work.shard):
                _copy(work, making)
        large = sum(piece.size for piece, _ in work.staged) >= work.quads * _LARGE
        write = _write if large else _look_and_write
        try:
            store = Store(str(making.folder))
            quads = work.quads
            for chunk in _chunks(chain((first,), blocks)):
                quads += write(store, chunk, work.checked)
                operations += sum(block.statements for block in chunk)
            store.flush()
            if large:
                quads = len(store)
        except (SyntaxError, ValueError) as error:
            if isinstance(error, JellyError):
                raise
            message = f"Oxigraph refuses a statement of shard {work.shard}: {error}"
            raise TermError(message) from error
        except RuntimeError as error:
            copy = f"its copy not written to {making.folder}"
            message = f"{base or name} cannot be read, or {copy}: {error}"
            with of_shard(work.version, work.shard):
                raise RootError(message, source=_place(work, making, error)) from error
        # Closed: until then Oxigraph may write.
        del store
        checksum = making.finish()
    return ShardResult(
        shard=work.shard, store=name, quads=quads, operations=operations, checksum=checksum
    )


def _copy(work: ShardWork, making: MakingStore) -> None:
    """Copy a store: by hard links to files that never change, and without a lock on the store."""
    assert work.base is not None
    try:
        Store.read_only(str(making.base)).backup(str(making.folder))
    except (OSError, RuntimeError, ValueError) as error:
        message = f"{work.base[0]} cannot be copied: {error}"
        # RocksDB's words for what it was at.
        if "link file" in str(error):
            message += "; a root needs a file system that has hard links"
        raise RootError(message, source=_place(work, making, error)) from error


def _place(work: ShardWork, making: MakingStore, error: Exception) -> str:
    """What an error is about: the root, or the disk that is full."""
    return making.disk if "No space left" in str(error) else work.storage.name


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


def _look_and_write(store: Store, chunk: list[Block], checked: bool) -> int:
    """Apply blocks that are small beside the store: looks before it writes, and so can count.

    :param checked: whether the syntax of statements is right for sure.
    :return: by how much the number of quads has grown.
    """
    deletes, adds = _net(chunk)
    gone = [quad for quad in _parse(deletes, checked) if quad in store]
    for quad in gone:
        store.remove(quad)
    come = [quad for quad in _parse(adds, checked) if quad not in store]
    if len(come) < SMALL:
        store.extend(come)
    else:
        store.bulk_extend(come)
    return len(come) - len(gone)


def _write(store: Store, chunk: list[Block], checked: bool) -> int:
    """Apply blocks that are large beside the store, which is to be counted in the end."""
    if all(block.adds for block in chunk):
        adds = [block.text for block in chunk]
    else:
        deletes, adds = _net(chunk)
        for quad in _parse(deletes, checked):
            store.remove(quad)
    # Labels of blank nodes are kept, as Store.bulk_load would not.
    store.bulk_extend(_parse(adds, checked))
    return 0


def _parse(lines: Iterable[bytes], checked: bool) -> Iterator[Quad]:
    return iter(parse(b"".join(lines), RdfFormat.N_QUADS, lenient=checked))


def _net(chunk: list[Block]) -> tuple[list[bytes], list[bytes]]:
    """Lines to delete and to add: the last operation on each of them counts."""
    there: dict[bytes, bool] = {}
    for adds, _, text in chunk:
        there.update(dict.fromkeys(text.splitlines(keepends=True), adds))
    deletes = [line for line, adds in there.items() if not adds]
    return deletes, [line for line, adds in there.items() if adds]
