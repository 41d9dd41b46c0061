"""Columns of terms in Oxigraph's form, as text of N-Triples, and the quads of such columns.

Two terms are one term of a store if and only if their texts in that form are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyoxigraph import Quad, RdfFormat, parse

from ...codec import DEFAULT_LIMITS, LineParser
from ...codec.common.conversion import convert
from ...codec.common.positions import GRAPH, OBJECT, POSITIONS, SUBJECT
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.lines import shorten
from ...codec.text.ntriples import Dialect
from ...errors import JellyError, TextError
from ...oxigraph.canonical import KNOWN_DATATYPE, SURE_TERMS, SURE_TYPED
from ...oxigraph.rows import TERMS, RowFactory
from ...reserved import BOOKKEEPING_TEXT, reject_graph

_PARSER: Final = LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)
_ROWS: Final = RowFactory()

#: Characters of a term above which its form is not cached: the cache would take gigabytes.
_CACHED: Final = 1000
#: Characters of a line above which it is not parsed as a line: Oxigraph's parser takes 16 MiB.
_LONG_LINE: Final = 1 << 22


def canonical_terms(column: pa.Array, position: int) -> pa.Array:
    """Return terms of one position in Oxigraph's form, each distinct text checked once.

    :param column: text of N-Triples; a graph may be null.
    :param position: the position, as in :mod:`jelly_plugins.codec.common.positions`.
    :raises JellyError: a text is not a term that Oxigraph allows in the position; has the row.
    """
    encoded = pc.dictionary_encode(column.cast(pa.string()), null_encoding="encode")
    texts = encoded.dictionary
    sure = pc.match_substring_regex(texts, SURE_TERMS[position])
    if position == OBJECT:
        typed = pc.match_substring_regex(texts, SURE_TYPED)
        foreign = pc.and_not(typed, pc.match_substring_regex(texts, KNOWN_DATATYPE))
        sure = pc.or_(sure, foreign)
    elif position == GRAPH and BOOKKEEPING_TEXT in texts.to_pylist():
        at = pc.index(texts, pa.scalar(BOOKKEEPING_TEXT, texts.type))
        try:
            reject_graph(BOOKKEEPING_TEXT)
        except JellyError as error:
            error.row = pc.index(encoded.indices, at.cast(encoded.indices.type)).as_py()
            raise
    others = pc.invert(pc.fill_null(sure, False))
    made = []
    for at in np.flatnonzero(others.to_numpy(zero_copy_only=False)).tolist():
        try:
            text = texts[at].as_py()
            found = _canonical if len(text or "") > _CACHED else _canonical_cached
            made.append(found(text, position))
        except JellyError as error:
            error.row = pc.index(encoded.indices, at).as_py()
            raise
    if made:
        texts = pc.replace_with_mask(texts, others, pa.array(made, pa.string()))
    return texts.take(encoded.indices)


def _canonical(text: str | None, position: int) -> str | None:
    name = POSITIONS[position]
    if position == GRAPH and not text:
        if text is None:
            return None
        raise TextError(EMPTY_GRAPH)
    if text is None:
        raise TextError(f"the {name} is null")
    try:
        found = str(convert(_PARSER.term(text.encode(), position), _ROWS))
        if position == SUBJECT:
            _ROWS.triple((found, "<>", "<>"))
    except TextError as error:
        message = f"{name}: {error.message}: {shorten(text)!r}"
        raise TextError(message, column=error.column) from None
    except JellyError as error:
        error.message = f"{name}: {error.message}"
        raise
    return found


_canonical_cached: Final = lru_cache(maxsize=1 << 14)(_canonical)


def lines_of(statements: pa.RecordBatch) -> pa.Array:
    """Return statements, whose terms are text, as lines of N-Quads."""
    terms = (statements[name] for name in POSITIONS)
    # Null is skipped.
    return pc.binary_join_element_wise(*terms, ".\n", " ", null_handling="skip")


def quads_of(statements: pa.RecordBatch) -> Iterator[Quad]:
    """Return the quads of statements whose terms are in Oxigraph's form, in any order."""
    lines = lines_of(statements)
    is_long = pc.greater(pc.binary_length(lines), _LONG_LINE)
    short = "".join(lines.filter(pc.invert(is_long)).to_pylist())
    yield from parse(short.encode(), RdfFormat.N_QUADS, lenient=True)
    for row in statements.filter(is_long).to_pylist():
        terms: Any = [
            convert(_PARSER.term(row[name].encode(), position), TERMS)
            for position, name in enumerate(POSITIONS)
            if row[name] is not None
        ]
        yield Quad(*terms)
