"""Change one shard: copy its store, apply operations to the copy, and bring it to the root.

Nothing sees the new store before a version names it. An attempt may therefore fail, run twice or
finish late; it leaves at most an unreferenced store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import Store

from ...arrow import QUADS
from ...errors import JellyError, TermError
from .errors import RootError, unreadable
from .root import Shard
from .storage import Storage
from .terms import lines_of, quads_of

#: Operations on statements: their terms in Oxigraph's form, and whether they are added.
OPERATIONS: Final = QUADS.append(pa.field("add", pa.bool_()))

#: Bytes of operations that are applied together.
TOGETHER: Final = 32 << 20
#: Files that RocksDB does not need to open a store: its text logs, its lock, its options as text.
_USELESS: Final = ("LOG", "LOCK", "OPTIONS")
#: Number of quads below which Oxigraph adds them one by one faster than in bulk.
_SMALL: Final = 1000


class Changed(NamedTuple):
    """A shard that was changed.

    :ivar number: number of the shard.
    :ivar shard: the shard now; as before if the operations have no effect.
    :ivar added: number of quads that it did not have.
    :ivar deleted: number of quads that it had.
    """

    number: int
    shard: Shard
    added: int
    deleted: int


def change(
    storage: Storage, number: int, base: Shard, batches: Iterable[pa.RecordBatch]
) -> Changed:
    """Apply operations to a copy of a shard.

    :param base: the shard.
    :param batches: the operations, with the schema :data:`OPERATIONS`. If several are on one quad,
        the last one counts.
    :raises JellyError: Oxigraph rejects a statement, or the root cannot be read or written.
    """
    added = deleted = 0
    chunks = _chunks(batches)
    try:
        # A shard without operations is not copied.
        if (first := next(chunks, None)) is None:
            return Changed(number, base, 0, 0)
        with storage.open(base) as opened, storage.making(number) as folder:
            if opened is not None:
                with unreadable(f"{base.store} cannot be copied", storage.name):
                    copy(opened, folder)
            with _rejections(storage.name):
                store = Store(str(folder))
                for chunk in chain((first,), chunks):
                    more, fewer = write(store, chunk)
                    added += more
                    deleted += fewer
                store.flush()
                # Close it: until then, Oxigraph may write.
                del store
            if not added and not deleted:
                return Changed(number, base, 0, 0)
            for path in folder.iterdir():
                if path.name.startswith(_USELESS):
                    path.unlink()
            kept = storage.keep(folder, number, base, opened)
    except JellyError as error:
        error.message = f"shard {number}: {error.message}"
        raise
    except OSError as error:
        raise RootError(
            f"shard {number} cannot be written: {error}", source=storage.name
        ) from error
    return Changed(number, replace(kept, quads=base.quads + added - deleted), added, deleted)


@contextmanager
def _rejections(name: str) -> Iterator[None]:
    """Convert exceptions that Oxigraph raises for statements, or for a store that it writes."""
    try:
        yield
    except JellyError:
        raise
    except (SyntaxError, ValueError) as error:
        raise TermError(f"Oxigraph rejects a statement: {error}") from error
    except RuntimeError as error:
        raise RootError(f"its copy cannot be written: {error}", source=name) from error


def copy(source: Path, target: Path) -> None:
    """Copy a store, with hard links to files that never change."""
    Store.read_only(str(source)).backup(str(target))


def write(store: Store, operations: pa.RecordBatch) -> tuple[int, int]:
    """Apply operations to a store; return the numbers of quads added and deleted."""
    places = {line: place for place, line in enumerate(lines_of(operations).to_pylist())}
    if len(places) < operations.num_rows:
        operations = operations.take(pa.array(places.values()))
    adds = operations["add"]
    removed = [quad for quad in quads_of(operations.filter(pc.invert(adds))) if quad in store]
    for quad in removed:
        store.remove(quad)
    added = [quad for quad in quads_of(operations.filter(adds)) if quad not in store]
    if len(added) < _SMALL:
        store.extend(added)
    else:
        # Unlike Store.bulk_load, this keeps labels of blank nodes.
        store.bulk_extend(added)
    return len(added), len(removed)


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches up to a size."""
    pending: list[Any] = []
    size = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        pending.append(batch)
        size += batch.nbytes
        if size >= TOGETHER:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)
