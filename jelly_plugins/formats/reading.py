"""Reading sources of any format, one or several.

N-Triples and N-Quads are read by our own codec, which keeps every term to the letter, and so are
Jelly, RDF Thrift and RDF Protobuf; the others by pyoxigraph. All work statement by statement, in
flat memory.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any, Final, cast

from ..backends import get_backend
from ..codec import (
    DEFAULT_LIMITS,
    AnyFrame,
    BlankNode,
    Frame,
    GenericFactory,
    Iri,
    Kind,
    Limits,
    Literal,
    Quad,
    Statement,
    TermFactory,
    Triple,
    delimit,
)
from ..codec.common.limits import over
from ..codec.common.terms import build
from ..codec.text.ntriples import Dialect, parse_nquads, parse_ntriples
from ..codec.text.transcoding import LONG_TERM
from ..errors import JellyError, LimitError, SourceError, TextError
from ..io.sources import PIECE, Closing, Input, Readable, Source, without_mark
from ..io.streams import BATCH, GENERIC, FrameReader
from ..jena.names import JenaFormat
from ..jena.streams import JenaReader
from ..lazy import library
from .depth import TurtleGuard, with_bounded_json
from .jelly_text import frames_of_text
from .names import Format, FormatKind
from .settings import ConversionSettings, Given
from .transcode import ScopedFactory
from .xml import guarded, with_line_feeds, with_root

#: Terms that a reader remembers; a cache that reaches this many starts afresh.
_CACHE_ENTRIES: Final = 1 << 16


#: The position in pyoxigraph's messages, which our errors have separately.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)
_RELATIVE: Final = re.compile(
    r"\A(?:error while parsing IRI '.*': )?No scheme found in an absolute IRI\Z", re.DOTALL
)
_NEED_BASE: Final = ": relative IRIs need a base (--base)"

#: Base IRI of a JSON-LD document without one. pyoxigraph leaves out statements with relative IRIs,
#: as JSON-LD requires. Under this base they are included, and are rejected here.
NO_BASE: Final = "x-jelly-plugins-no-base://x/"
_NO_BASE_SCHEME: Final = NO_BASE.partition("/")[0]

#: A closing tag after the end of an RDF/XML document. pyoxigraph accepts a document that ends
#: inside an element; with the tag, it reports which closing tag it expects, or that it expects
#: none. Given twice: the first may become part of a tag that is cut off.
_AFTER_END: Final = "</x-jelly-plugins-after-end>"
_EXPECTED: Final = re.compile(rf"expected `(</[^<>`]*)[^`]*`, but `{_AFTER_END}`")
_WHOLE: Final = re.compile(rf"close tag `{_AFTER_END}` does not match any open tag")


def pyoxigraph_module() -> Any:
    """The pyoxigraph library.

    :raises MissingExtraError: it is not installed.
    """
    return library("pyoxigraph", "this format", "oxigraph")


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
    """Reads RDF text: an iterator of generic statements, and a context manager.

    Triples in formats without graphs, otherwise quads. Blank node labels are kept. pyoxigraph
    lower-cases language tags, so formats other than N-Triples and N-Quads come with such.

    :param src: path, URL, open binary file or bytes; compression is detected from the content.
    :param format: of text; Jelly's text form has a reader of its own.
    :param base: IRI that relative ones are resolved against; without it they are rejected.
    :param generalized: whether generalized statements are taken, where our own codec reads.
    :param directions: whether language-tagged strings may have a base direction. It becomes part of
        the language tag, as in ``en--ltr``. Jelly itself has none.
    :param dialect: which triples may be terms in N-Triples and N-Quads.
    :param limits: the limits on N-Triples and N-Quads; of RDF/XML, ``frame_bytes`` bounds the bytes
        between two statements.
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
        directions: bool = False,
        dialect: Dialect = Dialect.RDF_1_2,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._input = Input(src)
        self._parser: Any = None
        #: Bytes that the parser has read since it gave a statement.
        self._without_statement = 0
        if format.kind is FormatKind.LINES:
            parse = parse_nquads if format.has_graphs else parse_ntriples
            self._statements: Iterator[Statement] = parse(
                without_mark(self._input.pieces()),
                dialect=dialect,
                generalized=generalized,
                base_directions=directions,
                limits=limits,
            )
        else:
            terms = TermConverter(_BasedFactory(), limits, directions=directions).terms
            self._statements = self._parse(format, base, terms, limits)

    @property
    def name(self) -> str:
        """The source's name, as errors have it."""
        return self._input.name

    @property
    def prefixes(self) -> dict[str, str]:
        """Prefixes that the text has declared so far, IRI by name."""
        declared = {} if self._parser is None else dict(self._parser.prefixes)
        return {name: iri for name, iri in declared.items() if not iri.startswith(_NO_BASE_SCHEME)}

    def __iter__(self) -> Iterator[Statement]:
        try:
            yield from self._statements
        except JellyError as error:
            error.locate(source=self.name)
            raise

    def frames(self, *, prefixes: bool) -> Iterator[AnyFrame]:
        """The statements in batches.

        :param prefixes: whether a batch has the prefixes that were declared since the one before.
        """
        declared: dict[str, str] = {}
        statements = iter(self)
        number = 0
        batch = None
        # The last batch has only prefixes.
        while batch is None or batch:
            batch = list(islice(statements, BATCH))
            found = self.prefixes if prefixes else {}
            new = {name: iri for name, iri in found.items() if declared.get(name) != iri}
            declared |= new
            yield Frame(number, batch, [(name, Iri(iri)) for name, iri in new.items()])
            number += 1

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()

    def _parse(
        self, name: Format, base: str | None, terms: Any, limits: Limits
    ) -> Iterator[Statement]:
        make: Any = Quad._make if name.has_graphs else Triple._make
        width = 4 if name.has_graphs else 3
        pieces = without_mark(self._input.pieces())
        if name is Format.RDF_XML:
            pieces = self._bounded(with_root(guarded(with_line_feeds(pieces))), limits)
            pieces = chain(pieces, [2 * _AFTER_END.encode()])
        elif name is Format.JSON_LD:
            pieces = with_bounded_json(pieces)
        guard = TurtleGuard()
        # The guard knows what the parser has read of what it was given: nothing is read ahead.
        source: Any = (
            PieceFile(guard.chunks(pieces))
            if name in (Format.TURTLE, Format.TRIG)
            else io.BufferedReader(PieceFile(pieces), PIECE)
        )
        try:
            self._parser = pyoxigraph_module().parse(
                source,
                format=rdf_format(name),
                base_iri=NO_BASE if base is None and name is Format.JSON_LD else base,
            )
            for quad in self._parser:
                self._without_statement = 0
                guard.given()
                yield make(terms(tuple(quad)[:width]))
        except JellyError:
            raise
        except SyntaxError as error:
            if _WHOLE.search(error.msg or ""):
                return
            raise parser_error(error) from error
        except PARSER_ERRORS as error:
            raise parser_error(error) from error

    def _bounded(self, pieces: Iterator[bytes], limits: Limits) -> Iterator[bytes]:
        """Chunks of a text whose parser holds a token of any length in memory.

        :raises LimitError: too many of them have no statement.
        """
        for piece in pieces:
            self._without_statement += len(piece)
            if self._without_statement > limits.frame_bytes:
                what = "the number of bytes without a statement"
                raise over(limits, "frame_bytes", self._without_statement, what)
            yield piece


def read_sources(
    given: Sequence[Given],
    settings: ConversionSettings,
    *,
    factory: TermFactory[Any] = GENERIC,
    generalized: bool = False,
    directions: bool = True,
) -> Generator[tuple[str, AnyFrame]]:
    """The statements of sources of any formats, one source after the other, in frames, each with
    the name of its source. Formats without frames come in batches.

    :param settings: how sources are read. Of several, ``blank_nodes`` decides whether equal labels
        are one node. Prefixes of text are among the namespaces if ``namespaces`` is set.
    :param factory: makes the terms of Jelly and Jena's formats; those of text are generic.
    :param generalized: whether generalized statements are accepted.
    :param directions: whether language-tagged strings may have a base direction.
    :raises JellyError: a source cannot be read.
    """
    fresh = len(given) > 1 and settings.blank_nodes == "fresh"
    for scope, (src, form) in enumerate(given):
        if fresh:
            factory = ScopedFactory(scope)
        reader: FrameReader[Any, Any, Any] | JenaReader | TextReader
        if form is Format.JELLY:
            reader = FrameReader(src, factory=factory, **settings.reading)
        elif form.is_jena:
            reader = JenaReader(
                src,
                format=JenaFormat(form),
                factory=factory,
                generalized=generalized,
                directions=directions,
                limits=settings.limits,
            )
        else:
            reader = TextReader(
                src,
                form,
                base=settings.base,
                generalized=generalized,
                directions=directions,
                dialect=settings.dialect,
                limits=settings.limits,
            )
        with reader:
            name = reader.name
            if not isinstance(reader, TextReader):
                for frame in reader:
                    yield name, frame
                continue
            for frame in reader.frames(prefixes=bool(settings.namespaces)):
                if fresh:
                    frame.statements = [_scoped(each, scope) for each in frame.statements]
                yield name, frame


def _scoped(statement: Any, scope: int) -> Any:
    """A statement of text whose blank nodes carry the number of their source, as those of
    :class:`.ScopedFactory` do."""
    terms = [
        BlankNode(f"s{scope}.{term.label}")
        if isinstance(term, BlankNode)
        else (_scoped(term, scope) if isinstance(term, Triple) else term)
        for term in statement
    ]
    return Quad._make(terms) if isinstance(statement, Quad) else Triple._make(terms)


def read_statements(
    src: Source, form: Format, settings: ConversionSettings, *, generalized: bool = False
) -> Iterator[Statement]:
    """The statements of a source in any format, one after the other.

    :raises JellyError: while iterating.

    >>> list(read_statements(b"<urn:s> a <urn:o> .", Format.TURTLE, ConversionSettings()))[0].object
    Iri(value='urn:o')
    """
    if form is Format.JELLY_TEXT:
        src, form = jelly_of_text(src, settings.limits), Format.JELLY
    with closing(read_sources([Given(src, form)], settings, generalized=generalized)) as frames:
        for _, frame in frames:
            yield from frame.statements


#: What pyoxigraph raises while it reads.
PARSER_ERRORS: Final = (SyntaxError, MemoryError, OSError, ValueError)


def parser_error(error: BaseException, *, first_line: int | None = None) -> JellyError:
    """What pyoxigraph raises while it reads, as an error of this package.

    :param first_line: of the text that it was given, where that is a part of a source.
    """
    if isinstance(error, JellyError):
        return error
    if isinstance(error, SyntaxError):
        if first_line is not None:
            return TextError(_message_of(error), line=first_line + (error.lineno or 1) - 1)
        return TextError(_message_of(error), line=error.lineno, column=error.offset)
    if isinstance(error, MemoryError):
        return LimitError(f"a term is too long: {error}")
    return SourceError(str(error))


def _message_of(error: SyntaxError) -> str:
    """pyoxigraph's message for malformed text, without the position."""
    message = _PLACE.sub("", error.msg or "") or "malformed"
    if found := _EXPECTED.search(message):
        return f"the document is truncated: {found[1]}> is missing"
    return f"{message}{_NEED_BASE}" if _RELATIVE.search(message) else message


def check_base(iri: str) -> str:
    """An IRI of a JSON-LD document that was parsed with :data:`NO_BASE`.

    :raises TextError: it is relative.
    """
    if iri.startswith(_NO_BASE_SCHEME):
        reference = iri.removeprefix(NO_BASE).removeprefix(_NO_BASE_SCHEME)
        raise TextError(f"the IRI <{reference}> is relative{_NEED_BASE}")
    return iri


class TermConverter:
    """Converts pyoxigraph's terms to a factory's, each distinct one once as far as the cache
    reaches.

    :param limits: ``nesting`` bounds quoted triples.
    :param directions: whether language-tagged strings may have a base direction. It becomes part of
        the language tag, as in ``en--ltr``.
    """

    def __init__(self, factory: TermFactory[Any], limits: Limits, *, directions: bool) -> None:
        self._limits = limits
        self._directions = directions
        self._describe = get_backend("oxigraph").describe
        self._cache: dict[Any, Any] = {}
        self._makers: dict[Kind, Callable[..., Any]] = {
            Kind.IRI: factory.iri,
            Kind.BLANK_NODE: factory.blank_node,
            Kind.LITERAL: factory.literal,
            Kind.TRIPLE: factory.quoted_triple,
            Kind.DEFAULT_GRAPH: lambda: factory.default_graph,
        }

    def terms(self, given: Iterable[Any], depth: int = 0) -> list[Any]:
        """The terms of a statement, of a quoted triple, or of a solution, which may be None.

        :raises JellyError: the factory rejects one, or quoted triples are nested too deeply.
        """
        if depth > self._limits.nesting:
            raise over(self._limits, "nesting", depth, "the depth of quoted triples")
        get = self._cache.get
        return [None if term is None else get(term) or self._made(term, depth) for term in given]

    def _made(self, term: Any, depth: int) -> Any:
        if self._directions and getattr(term, "direction", None) is not None:
            kind, parts = Kind.LITERAL, [term.value, f"{term.language}--{term.direction}", None]
        else:
            kind, *parts = self._describe(term)
        size = sum(len(part) for part in parts if isinstance(part, str))
        if kind is Kind.TRIPLE:
            parts = self.terms(parts, depth + 1)
        made = build(self._makers[kind], *parts)
        if size <= LONG_TERM:
            if len(self._cache) >= _CACHE_ENTRIES:
                self._cache.clear()
            self._cache[term] = made
        return made


class _BasedFactory(GenericFactory):
    """Generic terms whose IRIs are not relative."""

    def iri(self, value: str, /) -> Iri:
        return Iri(check_base(value))

    def literal(
        self, lex: str, langtag: str | None = None, datatype: str | None = None, /
    ) -> Literal:
        return Literal(lex, langtag, datatype and check_base(datatype))


class PieceFile(io.RawIOBase):
    """An iterator of bytes as a file; closing it closes the iterator.

    :param name: how errors name it.
    """

    def __init__(self, pieces: Iterator[bytes], name: str | None = None) -> None:
        super().__init__()
        self.name = name
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

    def close(self) -> None:
        close = getattr(self._pieces, "close", None)
        if close is not None and not self.closed:
            close()
        super().close()


def piped(chunks: Iterator[bytes], src: Source) -> Readable:
    """Chunks of bytes as a source with the name of another one."""
    name = os.fspath(src) if isinstance(src, str | os.PathLike) else name_of(src)
    return cast(Readable, PieceFile(chunks, name))


def name_of(src: object) -> str:
    """The name of an open file, or a description of anything else, for errors."""
    if isinstance(src, bytes | bytearray | memoryview):
        return "<bytes>"
    return str(getattr(src, "name", None) or f"<{type(src).__name__}>")


def jelly_of_text(src: Source, limits: Limits) -> Readable:
    """The text form of Jelly as Jelly that is made while the text is read."""

    def frames() -> Iterator[bytes]:
        with Input(src) as source:
            try:
                yield from frames_of_text(source.pieces(), limits)
            except JellyError as error:
                error.locate(source=source.name)
                raise

    return piped(map(delimit, frames()), src)
