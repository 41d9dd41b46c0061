"""Reading RDF formats other than Jelly.

N-Triples and N-Quads are read by our own codec, which keeps every term to the letter, and so are
RDF Thrift and RDF Protobuf; the others by pyoxigraph. All work statement by statement, in flat
memory. Writing is in ``convert``.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Final, Self, cast

from ..backends import get_backend
from ..codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    BlankNode,
    Iri,
    Kind,
    Limits,
    Literal,
    Quad,
    Statement,
    Triple,
    delimit,
)
from ..codec.common.limits import over
from ..codec.text.ntriples import parse_nquads, parse_ntriples
from ..errors import JellyError, LimitError, MissingExtraError, SourceError, TextError
from ..io.marks import without_mark
from ..io.sources import PIECE, Closing, Input, Source
from ..io.streams import GENERIC, FrameReader
from ..jena.codec import RowDecoder
from ..jena.names import JenaFormat
from ..jena.streams import batches
from .jelly_text import frames_of_text
from .names import Format
from .xml_entities import guarded

#: Terms that a reader remembers; a cache that reaches this many starts afresh.
_CACHE_ENTRIES: Final = 1 << 16


#: What pyoxigraph's messages open with where they know the place.
_PLACE: Final = re.compile(r"^Parser error at [^:]*: ")


def pyoxigraph_module() -> Any:
    """The pyoxigraph library.

    :raises MissingExtraError: it is not installed.
    """
    try:
        import pyoxigraph
    except ImportError:
        raise MissingExtraError(
            "this format needs a library: pip install 'jelly-plugins[oxigraph]'"
        ) from None
    return pyoxigraph


def rdf_format(name: Format) -> Any:
    """pyoxigraph's name of a format that it reads and writes here."""
    formats = pyoxigraph_module().RdfFormat
    return {
        Format.TURTLE: formats.TURTLE,
        Format.TRIG: formats.TRIG,
        Format.RDF_XML: formats.RDF_XML,
        Format.JSON_LD: formats.JSON_LD,
    }[name]


class TextReader(Closing):
    """Reads RDF text, and rows of Apache Jena's: an iterator of generic statements, and a context
    manager.

    Triples in formats without graphs, otherwise quads. Blank node labels are kept. pyoxigraph
    lower-cases language tags, so formats other than N-Triples and N-Quads come with such.

    :param src: path, URL, open binary file or bytes; compression is told by content.
    :param format: any but Jelly.
    :param base: IRI that relative ones are resolved against; without it they are refused.
    :param generalized: whether generalized statements are taken, where our own codec reads.
    :param limits: what is believed of N-Triples and N-Quads.
    :raises JellyError: while iterating: the text is malformed; the message has the line.

    >>> list(TextReader(b"<urn:s> a <urn:o> .", Format.TURTLE))[0].object
    Iri(value='urn:o')
    """

    def __init__(
        self,
        src: Source,
        format: Format,  # noqa: A002
        *,
        base: str | None = None,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._input = Input(src)
        self._parser: Any = None
        if format is Format.N_TRIPLES:
            self._statements: Iterator[Statement] = parse_ntriples(
                without_mark(self._input.pieces()), generalized=generalized, limits=limits
            )
        elif format is Format.N_QUADS:
            self._statements = parse_nquads(
                without_mark(self._input.pieces()), generalized=generalized, limits=limits
            )
        elif format.is_jena:
            # A base direction has no place in Jelly.
            rows = RowDecoder(
                GENERIC,
                JenaFormat(format),
                generalized=generalized,
                directions=False,
                limits=limits,
            )
            self._parser = rows
            self._statements = chain.from_iterable(
                batch.statements
                for batch in batches(self._input.pieces(), rows.decode, rows.finish)
            )
        elif format is Format.JELLY_TEXT:
            self._statements = self._of_frames(limits)
        else:
            self._statements = self._parse(format, base, limits)

    @property
    def name(self) -> str:
        """The source's name, as errors have it."""
        return self._input.name

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefixes that the text has declared so far, IRI by name."""
        return {} if self._parser is None else dict(self._parser.prefixes)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Statement:
        try:
            return next(self._statements)
        except JellyError as error:
            error.locate(source=self.name)
            raise

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()

    def _of_frames(self, limits: Limits) -> Iterator[Statement]:
        frames = map(delimit, frames_of_text(self._input.pieces(), limits))
        with FrameReader(cast(Source, PieceFile(frames)), limits=limits) as reader:
            for frame in reader:
                yield from frame.statements

    def _parse(self, name: Format, base: str | None, limits: Limits) -> Iterator[Statement]:
        width = 4 if name.has_graphs else 3
        make = _Terms(limits)
        pieces = without_mark(self._input.pieces())
        try:
            self._parser = pyoxigraph_module().parse(
                io.BufferedReader(
                    PieceFile(guarded(pieces) if name is Format.RDF_XML else pieces), PIECE
                ),
                format=rdf_format(name),
                base_iri=base,
            )
            for quad in self._parser:
                yield make.statement(tuple(quad)[:width])
        except JellyError:
            raise
        except SyntaxError as error:
            message = _PLACE.sub("", error.msg or "malformed")
            raise TextError(message, line=error.lineno, column=error.offset) from error
        except MemoryError as error:
            raise LimitError(too_large(error)) from error
        except (OSError, ValueError) as error:
            raise SourceError(str(error)) from error


def too_large(error: MemoryError) -> str:
    """What is wrong where pyoxigraph says that a token is longer than it takes."""
    return f"a term is too long: {error}"


class _Terms:
    """pyoxigraph's terms to generic ones, each distinct one once as far as the cache reaches."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._describe = get_backend("oxigraph").describe
        self._cache: dict[Any, Any] = {}

    def statement(self, terms: tuple[Any, ...], depth: int = 0) -> Statement:
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")
        get = self._cache.get
        made = [get(term) or self._make(term, depth) for term in terms]
        return Quad._make(made) if len(made) == 4 else Triple._make(made)

    def _make(self, term: Any, depth: int) -> Any:
        kind, *parts = self._describe(term)
        if kind is Kind.TRIPLE:
            made: Any = self.statement(tuple(parts), depth + 1)
        else:
            made = _MAKERS[kind](*parts)
        if len(self._cache) >= _CACHE_ENTRIES:
            self._cache.clear()
        self._cache[term] = made
        return made


_MAKERS: Final[dict[Kind, Callable[..., Any]]] = {
    Kind.IRI: Iri,
    Kind.BLANK_NODE: BlankNode,
    Kind.LITERAL: Literal,
    Kind.DEFAULT_GRAPH: lambda: DEFAULT_GRAPH,
}


class PieceFile(io.RawIOBase):
    """An iterator of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        super().__init__()
        self._pieces = pieces
        self._rest = memoryview(b"")

    @property
    def is_read(self) -> bool:
        """Whether all that has come was read, so that reading on may take a while."""
        return not self._rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
