"""Scan a shard's store as Arrow record batches, through the text that Oxigraph writes. No Spark.

Oxigraph writes each term as the format ``jelly`` does. Its lines are therefore only divided: at
spaces, which occur in literals and triple terms but in no other term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyoxigraph import RdfFormat, Store

from ...arrow import QUADS
from ...codec.common.conversion import convert
from ...codec.common.positions import POSITIONS
from ...errors import TermError
from ...oxigraph.dumping import lines_of
from ...oxigraph.rows import TERMS, describe_text
from .errors import unreadable
from .root import Shard
from .storage import Storage

#: The pattern of all quads.
EVERYTHING: Final = (None, None, None, None)


@contextmanager
def reading(storage: Storage, shard: Shard) -> Iterator[Store]:
    """Open the store of a shard that is not empty.

    :raises RootError: it is missing or damaged, also while it is read.
    """
    with storage.open(shard) as folder, unreadable(f"{shard.store} cannot be read", storage.name):
        yield Store.read_only(str(folder))


def pattern_of(conditions: Mapping[str, str]) -> tuple[Any, ...]:
    """Return the arguments of ``Store.quads_for_pattern`` for conditions.

    :param conditions: text of the term by name of the position; empty for the default graph.
    :raises TermError: no quad of a store has such a term there.
    """
    pattern = [
        convert(conditions[name], TERMS, describe_text) if name in conditions else None
        for name in POSITIONS
    ]
    try:
        Store().quads_for_pattern(*pattern)
    except TypeError as error:
        raise TermError(f"no quad of a store has these terms: {dict(conditions)}") from error
    return tuple(pattern)


def scan(store: Store, pattern: tuple[Any, ...]) -> Iterator[pa.RecordBatch]:
    """Return the quads of a store that match a pattern, as batches with the schema of
    :data:`jelly_plugins.arrow.QUADS`, in constant memory.

    :raises OSError, RuntimeError: the store cannot be read.
    """
    return map(_batch, lines_of(store.quads_for_pattern(*pattern), RdfFormat.N_QUADS))


def _batch(text: bytes) -> pa.RecordBatch:
    """Divide lines of N-Quads as Oxigraph writes them."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    spaces = np.flatnonzero(data == ord(" "))
    at, after = np.searchsorted(spaces, starts), np.searchsorted(spaces, ends)
    # Spaces after the subject, after the predicate, and before the full stop.
    first, second, last = spaces[at], spaces[at + 1], spaces[after - 1]
    # The space before the graph. Without a graph, it is in a literal or a triple term, which end
    # with a quotation mark, a language, a datatype or brackets, or before the object.
    before = spaces[after - 2]
    quotes = np.flatnonzero(data == ord('"'))
    named = (before > second) & (data[before + 1] != ord(")"))
    named &= np.searchsorted(quotes, before) == np.searchsorted(quotes, last)
    stop = np.where(named, before, last)
    # The text of all lines in sections: each of the four terms, and what is between them.
    limits = (starts, first, first + 1, second, second + 1, stop, np.minimum(stop + 1, last), last)
    sections = pa.LargeStringArray.from_buffers(
        len(limits) * len(ends) - 1, pa.py_buffer(np.stack(limits, 1)), pa.py_buffer(text)
    )
    places = np.arange(len(ends)) * len(limits)
    columns = [sections.take(pa.array(places + 2 * number)) for number in range(3)]
    columns.append(sections.take(pa.array(places + 6, mask=~named)))
    return pa.RecordBatch.from_arrays(
        [column.cast(pa.string()) for column in columns], schema=QUADS
    )
