"""Text that Oxigraph parses itself, handed to the store as it is.

``Store.load`` and ``Store.bulk_load`` read it without a Python object for any statement, so that
no code here sees the statements. :func:`load_text` searches the bytes instead: text that may need a
check of its statements raises :class:`UnsureError`, and is loaded by way of chunks (``loading``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any, Final

from pyoxigraph import RdfFormat, Store

from ..codec import DEFAULT_LIMITS
from ..errors import JellyError
from ..formats.depth import DEPTH, turtle_scan, with_bounded_turtle
from ..formats.reading import ChunkFile, gathered, parser_error, parser_of
from ..io.names import Format
from ..io.sources import Input, Source, without_mark
from .terms import GraphName

#: The formats that are read here.
SYNTAXES: Final = {
    Format.N_TRIPLES: RdfFormat.N_TRIPLES,
    Format.N_QUADS: RdfFormat.N_QUADS,
    Format.TURTLE: RdfFormat.TURTLE,
    Format.TRIG: RdfFormat.TRIG,
}

#: Bytes of text up to which one transaction on disk is cheaper than a bulk load.
SMALL_BYTES: Final = 1 << 18
#: Bytes of text that are held, so that the store parses bytes: of a file it takes 2 KB at a time,
#: and reads a longer line again with each of them (measured: loads take 5 to 30% less time). In
#: bytes it has no limit for the length of a term, which has to be known to be kept.
HELD_BYTES: Final = 128 << 20
_TERM_BYTES: Final = DEFAULT_LIMITS.string_bytes

#: Parts of the IRI of the reserved graph. Whatever prefix or base TriG makes it of, the text has
#: one of them, or an escape of an ASCII character.
_RESERVED: Final = (b"bookkeeping", b"jelly-plugins")
_ASCII_ESCAPE: Final = re.compile(rb"\\(?:u00|U000000)[2-7]")
#: Bytes at the ends of two chunks that are searched together: more than any pattern needs.
_OVERLAP: Final = 16
#: Bytes of a prefix or base that does not make long statements of short names; and of another IRI
#: that does not make long ones of those that have it as subject, see ``ParsedReader``.
_LONG_IRI: Final = 1024
_LONG_SUBJECT: Final = 1 << 16
#: Reifiers and annotations, which repeat the object of a statement however long it is.
_MOST_REPEATS: Final = 64


class UnsureError(Exception):
    """Whether text is safe to load cannot be seen from its bytes."""


def load_text(
    store: Store,
    src: Source,
    form: Format,
    *,
    base: str | None,
    graph: GraphName | None,
    bookkeeping: bool,
    in_memory: bool,
) -> None:
    """Load a source, all or nothing, with new blank nodes.

    :param form: one of :data:`SYNTAXES`.
    :param graph: the graph of triples.
    :raises UnsureError: the text may have a statement in the reserved graph, nested triple terms in
        a line, or statements that are too long to be held. The store is unchanged.
    :raises JellyError: the source is malformed, with line and column, or nested too deep.
    """
    has_names = form in (Format.TURTLE, Format.TRIG)
    with Input(src) as source:
        chunks = without_mark(source.chunks())
        syntax = SYNTAXES[form]
        base = base if has_names else None
        try:
            chunks = (
                # A store in memory holds equal terms once.
                _scanned(chunks, base, long=not in_memory) if has_names else _with_few_terms(chunks)
            )
            if form.has_graphs and not bookkeeping:
                chunks = _without_reserved(chunks)
            # The error of a parser says that it is about the base, that of a store does not.
            parser_of(b"", syntax, base)
            load_chunks(
                store,
                chunks,
                syntax,
                in_memory=in_memory,
                held=_TERM_BYTES,
                base_iri=base,
                to_graph=graph,
            )
        except JellyError as error:
            raise error.locate(source=source.name) from error.__cause__
        except (SyntaxError, MemoryError) as error:
            raise parser_error(error).locate(source=source.name) from None


def load_chunks(
    store: Store,
    chunks: Iterator[bytes],
    syntax: RdfFormat,
    *,
    in_memory: bool,
    held: int = HELD_BYTES,
    **settings: Any,
) -> None:
    """Load text, all or nothing: in one transaction or, where that is faster, by a bulk load.

    :param held: bytes of text that may be held.
    :param settings: of ``Store.load`` and ``Store.bulk_load``.
    """
    chunks = gathered(chunks)
    first: list[bytes] = []
    size = 0
    for chunk in chunks:
        first.append(chunk)
        size += len(chunk)
        if size > held:
            break
    text = b"".join(first)
    first.clear()
    load = store.load if in_memory or size <= SMALL_BYTES else store.bulk_load
    source: Any = text if size <= held else ChunkFile(chain((text,), chunks))
    load(source, syntax, **settings)


def _scanned(chunks: Iterator[bytes], base: str | None, *, long: bool) -> Iterator[bytes]:
    """Chunks of Turtle or TriG, bounded.

    :param long: whether statements that may be long are not safe.
    """
    scan = turtle_scan(base)
    for chunk in with_bounded_turtle(chunks, base, scan):
        if long and (scan.repeats > _MOST_REPEATS or scan.longest > _LONG_IRI):
            raise UnsureError
        if scan.longest_iri > _LONG_SUBJECT:
            raise UnsureError
        yield chunk


def _with_few_terms(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Chunks of N-Triples or N-Quads without many triple terms: the reader of lines knows how deep
    each is nested."""
    openings = 0
    before = b""
    for chunk in chunks:
        openings += chunk.count(b"<<(") + (before + chunk[:2]).count(b"<<(")
        if openings > DEPTH:
            raise UnsureError
        before = (before + chunk[-2:])[-2:]
        yield chunk


def _without_reserved(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Chunks of text that cannot name the reserved graph."""
    before = b""
    for chunk in chunks:
        if _may_name_reserved(chunk) or _may_name_reserved(before + chunk[:_OVERLAP]):
            raise UnsureError
        before = (before + chunk[-_OVERLAP:])[-_OVERLAP:]
        yield chunk


def _may_name_reserved(text: bytes) -> bool:
    return any(part in text for part in _RESERVED) or _ASCII_ESCAPE.search(text) is not None
