"""Change one shard: copy its store, apply operations to the copy, and bring it to the root.

Nothing sees the new store before a version names it. An attempt may therefore fail, run twice or
finish late; it leaves at most an unreferenced store.

Terms are text of N-Triples in Oxigraph's form: two terms are one term of a store if and only if
their texts in that form are equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import Quad, RdfFormat, Store, parse

from ...arrow import QUADS
from ...codec import DEFAULT_LIMITS, LineParser
from ...codec.common.positions import GRAPH, OBJECT, POSITIONS, SUBJECT
from ...codec.common.terms import convert
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.lines import shorten
from ...codec.text.ntriples import Dialect
from ...errors import JellyError, LimitError, TermError, TextError
from ...oxigraph.canonical import KNOWN_DATATYPE, SURE_TERMS, SURE_TYPED
from ...oxigraph.rows import RowFactory
from ...reserved import reject_graph
from .root import RootError, Shard, Storage, root_errors

#: Operations on statements: their terms, and whether they are added.
OPERATIONS: Final = QUADS.append(pa.field("add", pa.bool_()))

#: Bytes of operations that are applied together.
TOGETHER: Final = 32 << 20
#: Files that RocksDB does not need to open a store: its text logs, its lock, its options as text.
_USELESS: Final = ("LOG", "LOCK", "OPTIONS")
#: Number of quads below which Oxigraph adds them one by one faster than in bulk.
_SMALL: Final = 1000
#: Characters of a term above which its form is not cached: the cache would take gigabytes.
_CACHED: Final = 1000

_PARSER: Final = LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)
_ROWS: Final = RowFactory()


class Changed(NamedTuple):
    """A shard that was changed: its number, the shard now, which is as before if the operations
    have no effect, and the numbers of quads that it did not have, and that it had."""

    number: int
    shard: Shard
    added: int
    deleted: int


def change(
    storage: Storage, number: int, base: Shard, batches: Iterable[pa.RecordBatch]
) -> Changed:
    """Apply operations to a copy of the shard ``base``.

    :param batches: the operations, with the schema :data:`OPERATIONS`; at least one. If several are
        on one quad, the last one counts.
    """
    added = deleted = 0
    try:
        with storage.open(base) as opened, storage.making(number) as folder:
            if opened is not None:
                with root_errors(f"{base.store} cannot be copied", storage.name):
                    copy(opened, folder)
            with _rejections(storage.name):
                store = Store(str(folder))
                for chunk in _chunks(batches):
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


def copy(source: Path, target: Path) -> None:
    """Copy a store, with hard links to files that never change."""
    Store.read_only(str(source)).backup(str(target))


def write(store: Store, operations: pa.RecordBatch) -> tuple[int, int]:
    """Apply operations to a store; return the numbers of quads added and deleted."""
    places = {line: place for place, line in enumerate(_lines(operations).to_pylist())}
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


def _chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join batches up to a size."""
    pending: list[Any] = []
    size = 0
    for batch in batches:
        pending.append(batch)
        size += batch.nbytes
        if size >= TOGETHER:
            yield pa.concat_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.concat_batches(pending)


def _lines(statements: pa.RecordBatch) -> pa.Array:
    """Return statements as lines of N-Quads."""
    terms = (statements[name] for name in POSITIONS)
    # Null is skipped.
    return pc.binary_join_element_wise(*terms, ".\n", " ", null_handling="skip")


def quads_of(statements: pa.RecordBatch) -> Iterator[Quad]:
    """Return the quads of statements, in any order."""
    lines = "".join(_lines(statements).to_pylist())
    try:
        yield from parse(lines.encode(), RdfFormat.N_QUADS, lenient=True)
    except MemoryError as error:
        raise LimitError("a statement takes more than 16 MiB as a line of N-Quads") from error


def canonical_terms(column: pa.Array, position: int) -> pa.Array:
    """Return terms of one position in Oxigraph's form, each distinct text checked once. Errors have
    the row."""
    encoded = pc.dictionary_encode(column.cast(pa.string()), null_encoding="encode")
    texts = encoded.dictionary
    sure = pc.match_substring_regex(texts, SURE_TERMS[position])
    if position == OBJECT:
        typed = pc.match_substring_regex(texts, SURE_TYPED)
        foreign = pc.and_not(typed, pc.match_substring_regex(texts, KNOWN_DATATYPE))
        sure = pc.or_(sure, foreign)
    elif position == GRAPH:
        # One of them may be reserved.
        sure = pc.and_(sure, pc.invert(pc.starts_with(texts, "<urn:")))
    others = pc.invert(pc.fill_null(sure, False))
    made = []
    for at in np.flatnonzero(others.to_numpy(zero_copy_only=False)).tolist():
        text = texts[at].as_py()
        try:
            found = _canonical if len(text or "") > _CACHED else _canonical_cached
            made.append(found(text, position))
        except JellyError as error:
            error.row = pc.index(encoded.indices, pa.scalar(at, encoded.indices.type)).as_py()
            raise
    if made:
        texts = pc.replace_with_mask(texts, others, pa.array(made, pa.string()))
    return texts.take(encoded.indices)


def _canonical(text: str | None, position: int) -> str | None:
    name = POSITIONS[position]
    if text is None and position == GRAPH:
        return None
    if text is None:
        raise TextError(f"the {name} is null")
    if not text and position == GRAPH:
        raise TextError(EMPTY_GRAPH)
    try:
        found = str(convert(_PARSER.term(text.encode(), position), _ROWS))
        if position == SUBJECT:
            _ROWS.triple((found, "<>", "<>"))
        elif position == GRAPH:
            reject_graph(found)
    except TextError as error:
        message = f"{name}: {error.message}: {shorten(text)!r}"
        raise TextError(message, column=error.column) from None
    except JellyError as error:
        error.message = f"{name}: {error.message}"
        raise
    return found


_canonical_cached: Final = lru_cache(maxsize=1 << 14)(_canonical)
