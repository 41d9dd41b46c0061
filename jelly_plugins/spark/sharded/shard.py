"""Apply operations to a copy of a shard's store; one attempt of a task.

Nothing is visible before a commit names the new store. An attempt may therefore run twice, be
killed or finish late: it leaves a folder that no commit names, which ``vacuum`` removes. For the
same reason it may apply the batch in chunks, and use Oxigraph's bulk paths.

No Spark here: the result of a task depends only on its arguments.
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
from .staged_files import Block, Ranges, read_staged
from .storage import Attempt, MakingStore, StagedExtent, Storage

#: Bytes of text that are applied at once, which limits an attempt's memory.
CHUNK: Final = 32 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardWork:
    """The work for one shard.

    :ivar storage: storage of the root.
    :ivar attempt: the attempt that has staged the operations.
    :ivar shard: number of the shard.
    :ivar version: the new version.
    :ivar base: the shard's current store, with the checksum of the list of its files; None if it is
        empty.
    :ivar quads: number of quads in it.
    :ivar staged: operations in order: each extent with the transactions to apply, as ranges.
    """

    storage: Storage
    attempt: Attempt
    shard: int
    version: int
    base: tuple[str, str] | None
    quads: int
    staged: tuple[tuple[StagedExtent, tuple[tuple[int, int], ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """The result for one shard.

    :ivar shard: number of the shard.
    :ivar store: the new store, relative to the root; the old one if there were no operations.
    :ivar quads: number of quads in it.
    :ivar operations: number of operations that were read.
    :ivar checksum: checksum of the list of the new store's files.
    """

    shard: int
    store: str | None
    quads: int
    operations: int
    checksum: str | None = None


def apply_shard(work: ShardWork) -> ShardResult:
    """Create the new store of a shard; runs in a task.

    :raises JellyError: the staged files cannot be read, or contain data that Oxigraph rejects.
    :raises RootError: the store cannot be copied, or is damaged.
    :raises OSError: the store cannot be written.
    """
    with of_shard(work.version, work.shard):
        return _applied(work)


def _applied(work: ShardWork) -> ShardResult:
    blocks = _blocks(work)
    first = next(blocks, None)
    base = None if work.base is None else work.base[0]
    if first is None:
        return ShardResult(shard=work.shard, store=base, quads=work.quads, operations=0)
    name = new_store_name(work.shard, work.version)
    operations = 0
    with work.storage.make(name, work.base) as making:
        if making.base is not None:
            _copy(work, making)
        try:
            store = Store(str(making.folder))
            quads = work.quads
            for chunk in _chunks(chain((first,), blocks)):
                quads += _write(store, chunk)
                operations += sum(block.statements for block in chunk)
            store.flush()
        except (SyntaxError, ValueError) as error:
            if isinstance(error, JellyError):
                raise
            raise TermError(f"Oxigraph rejects a statement: {error}") from error
        except RuntimeError as error:
            copy = f"its copy cannot be written to {making.folder}"
            message = f"{base or name} cannot be read, or {copy}: {error}"
            raise RootError(message, source=_place(work, making, error)) from error
        # Close the store: until then, Oxigraph may write.
        del store
        checksum = making.finish()
    return ShardResult(
        shard=work.shard, store=name, quads=quads, operations=operations, checksum=checksum
    )


def _copy(work: ShardWork, making: MakingStore) -> None:
    """Copy a store, with hard links to files that never change, and without locking the store."""
    assert work.base is not None
    try:
        Store.read_only(str(making.base)).backup(str(making.folder))
    except (OSError, RuntimeError, ValueError) as error:
        message = f"{work.base[0]} cannot be copied: {error}"
        # RocksDB's message.
        if "link file" in str(error):
            message += "; a root needs a file system with hard links"
        raise RootError(message, source=_place(work, making, error)) from error


def _place(work: ShardWork, making: MakingStore, error: Exception) -> str:
    """Return the source of an error: the root, or the disk that is full."""
    return making.disk if "No space left" in str(error) else work.storage.name


def _blocks(work: ShardWork) -> Iterator[Block]:
    for extent, ranges in work.staged:
        with work.attempt.open(extent) as file:
            yield from read_staged(file, Ranges(ranges), work.storage.place(extent.name))


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


def _write(store: Store, chunk: list[Block]) -> int:
    """Apply blocks.

    :return: change of the number of quads, which lookups before writing show.
    """
    deletes, adds = _net(chunk)
    removed = [quad for quad in _parse(deletes) if quad in store]
    for quad in removed:
        store.remove(quad)
    added = [quad for quad in _parse(adds) if quad not in store]
    if len(added) < SMALL:
        store.extend(added)
    else:
        # Unlike Store.bulk_load, this keeps labels of blank nodes.
        store.bulk_extend(added)
    return len(added) - len(removed)


def _parse(lines: Iterable[bytes]) -> Iterator[Quad]:
    """Parse statements, whose terms were validated when they were staged."""
    return iter(parse(b"".join(lines), RdfFormat.N_QUADS, lenient=True))


def _net(chunk: list[Block]) -> tuple[list[bytes], list[bytes]]:
    """Return lines to delete and to add: the last operation on each line counts."""
    last: dict[bytes, bool] = {}
    for adds, _, text in chunk:
        last.update(dict.fromkeys(text.splitlines(keepends=True), adds))
    deletes = [line for line, adds in last.items() if not adds]
    return deletes, [line for line, adds in last.items() if adds]
