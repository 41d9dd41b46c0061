"""Reading sources of any format, one or several, in flat memory.

N-Triples, N-Quads, Jelly, RDF Thrift and RDF Protobuf are read by our own codec, which keeps every
term to the letter. pyoxigraph parses the other formats and writes them as N-Quads, without a Python
object for any term, and the codec reads that.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain, islice
from typing import Any, Final, cast

from ..codec import (
    AnyFrame,
    BlankNode,
    Frame,
    Iri,
    Limits,
    Quad,
    Statement,
    TermFactory,
    Triple,
    delimit,
)
from ..codec.common.detection import kind_of
from ..codec.common.limits import over
from ..codec.text.lines import shorten
from ..codec.text.ntriples import Dialect, parse_nquads, parse_ntriples
from ..errors import JellyError, LimitError, SourceError, TextError
from ..io.names import Format, FormatKind
from ..io.sources import CHUNK, Closing, Input, Readable, Source, name_of, rewinder, without_mark
from ..io.streams import BATCH, GENERIC, FrameReader
from ..jena.names import JenaFormat
from ..jena.streams import JenaReader
from ..lazy import library
from .depth import TurtleGuard
from .jelly_text import frames_of_text
from .json_ld import prepared
from .rdf_xml import NEED_BASE, RdfXmlText
from .settings import DEFAULT_SETTINGS, ConversionSettings, Given
from .transcode import ScopedFactory

#: Statements of text that are held at once: with prefixes and a base, a few bytes of text may name
#: an IRI that is nearly as long as the text before them.
_BATCH: Final = 32
#: Bytes that they may come to, if they are as long as those before.
_BATCH_BYTES: Final = 1 << 20


#: The position in pyoxigraph's messages, which our errors have separately.
_PLACE: Final = re.compile(
    r"^Parser error at [^:]*: |(?: (?:at|on|in) line \d+(?: column \d+)?)?(?: \(line \d+\))?$"
)
_RELATIVE: Final = re.compile(
    r"\A(?:error while parsing IRI '.*': )?No scheme found in an absolute IRI\Z", re.DOTALL
)
#: What pyoxigraph says of a remote context.
_NO_CONTEXT: Final = "No LoadDocumentCallback has been set to load remote contexts"

#: What pyoxigraph says of a term in RDF/XML, and of one in Turtle, where it has the position.
_TERM: Final = re.compile(r"error while parsing (IRI|language tag) '(.*?)': (.*)", re.DOTALL)
_REJECTED: Final = {
    "Invalid IRI": "an IRI",
    "Invalid character": "an IRI",
    "A subtag": "a language tag",
    "The given language subtag": "a language tag",
}

#: Base IRI of a JSON-LD document without one. pyoxigraph leaves out statements with relative IRIs,
#: as JSON-LD requires. Under this base they are included, and are rejected here.
NO_BASE: Final = "x-jelly-plugins-no-base://x/"
_NO_BASE_SCHEME: Final = NO_BASE.partition("/")[0]

#: IRIs in N-Quads; strings are skipped.
_IRI: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|<([^>]*+)>')

#: A closing tag after the end of an RDF/XML document. pyoxigraph accepts a document that ends
#: inside an element; with the tag, it reports which closing tag it expects, or that it expects
#: none.
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
    :param settings: ``base``, without which relative IRIs are rejected; the dialect of N-Triples
        and N-Quads; and the limits on statements: of RDF/XML, ``frame_bytes`` bounds the bytes
        between two.
    :param generalized: whether generalized statements are taken, where our own codec reads.
    :param directions: whether language-tagged strings may have a base direction. It becomes part of
        the language tag, as in ``en--ltr``. Jelly itself has none.
    :raises JellyError: while iterating: the text is malformed; the message has the line.

    :ivar name: the source's name, as errors have it.
    :ivar dialect: which triples may be terms in :meth:`lines`.

    >>> list(TextReader(b"<urn:s> a <urn:o> .", Format.TURTLE))[0].object
    Iri(value='urn:o')
    """

    def __init__(
        self,
        src: Source,
        format: Format,  # noqa: A002
        settings: ConversionSettings = DEFAULT_SETTINGS,
        *,
        generalized: bool = False,
        directions: bool = False,
    ) -> None:
        self._input = Input(src)
        self.name = self._input.name
        self._format = format
        self._parsed = format.kind is FormatKind.TEXT
        self.dialect = Dialect.RDF_1_2 if self._parsed else settings.dialect
        self._base = settings.base
        self._contexts = settings.contexts
        self._generalized = generalized
        self._directions = directions
        self._limits = settings.limits
        self._parser: Any = None
        self._declared: dict[str, str] = {}
        #: Those of RDF/XML, which pyoxigraph does not report.
        self._namespaces: dict[str, str] | None = None
        self._failed: JellyError | None = None
        #: Bytes that the parser has read since it gave a statement.
        self._without_statement = 0

    def lines(self) -> Iterator[bytes]:
        """The text as N-Triples, or as N-Quads if the format has graphs, in chunks, once.

        :raises JellyError: the text is malformed; with line and column.
        """
        chunks = without_mark(self._input.chunks())
        try:
            yield from gathered(self._parse(chunks)) if self._parsed else chunks
        except JellyError as error:
            self._failed = error.locate(source=self.name)
            raise

    def located(self, error: JellyError) -> JellyError:
        """An error of what reads :meth:`lines`, as one of the source."""
        if self._parsed and error is not self._failed and isinstance(error, TextError):
            # These lines exist only here.
            error.line = error.column = None
        return error.locate(source=self.name)

    def new_prefixes(self) -> dict[str, str]:
        """Prefixes that the text has declared since the last call, IRI by name."""
        declared = self._namespaces
        if declared is None:
            declared = {} if self._parser is None else dict(self._parser.prefixes)
        new = {
            name: iri
            for name, iri in declared.items()
            if self._declared.get(name) != iri and not iri.startswith(_NO_BASE_SCHEME)
        }
        self._declared |= new
        return new

    def __iter__(self) -> Iterator[Statement]:
        parse = parse_nquads if self._format.has_graphs else parse_ntriples
        try:
            yield from parse(
                self.lines(),
                dialect=self.dialect,
                generalized=self._generalized,
                base_directions=self._directions,
                limits=self._limits,
            )
        except JellyError as error:
            raise self.located(error) from error.__cause__

    def frames(self, *, prefixes: bool) -> Iterator[AnyFrame]:
        """The statements in batches.

        :param prefixes: whether a batch has the prefixes that were declared since the one before.
        """
        statements = iter(self)
        number = 0
        batch = None
        # The last batch has only prefixes.
        while batch is None or batch:
            batch = list(islice(statements, BATCH))
            new = self.new_prefixes() if prefixes else {}
            yield Frame(number, batch, [(name, Iri(iri)) for name, iri in new.items()])
            number += 1

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._input.close()

    def _parse(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        form = self._format
        base = self._base
        if form is Format.RDF_XML:
            rewritten = RdfXmlText(base)
            self._namespaces = rewritten.namespaces
            chunks = chain(rewritten.chunks(self._bounded(chunks)), [_AFTER_END.encode()])
        elif form is Format.JSON_LD:
            chunks = prepared(chunks, self._contexts, base, self._limits)
            base = base or NO_BASE
        guard = TurtleGuard()
        # The guard knows what the parser has read of what it was given: nothing is read ahead.
        source: Any = (
            ChunkFile(guard.chunks(chunks))
            if form in (Format.TURTLE, Format.TRIG)
            else io.BufferedReader(ChunkFile(chunks), CHUNK)
        )

        def note(_: object) -> bool:
            self._without_statement = 0
            guard.given()
            return False

        self._parser = parser_of(source, rdf_format(form), base)
        try:
            for lines in parsed(self._parser, batch=_BATCH, ends_batch=note):
                if base is NO_BASE:
                    check_base(lines)
                yield lines
        except TextError as error:
            if not _WHOLE.search(error.message):
                raise

    def _bounded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """Chunks of a text whose parser holds a token of any length in memory.

        :raises LimitError: too many of them have no statement.
        """
        for chunk in chunks:
            self._without_statement += len(chunk)
            if self._without_statement > self._limits.frame_bytes:
                what = "the number of bytes without a statement"
                raise over(self._limits, "frame_bytes", self._without_statement, what)
            yield chunk


def parser_of(data: Any, format_: Any, base: str | None) -> Any:
    """pyoxigraph's parser of a text.

    :param data: bytes or a file.
    :param format_: pyoxigraph's name of its syntax.
    :raises JellyError: the base is not an absolute IRI.
    """
    try:
        return pyoxigraph_module().parse(data, format=format_, base_iri=base)
    except PARSER_ERRORS as error:
        raise parser_error(error) from None


def parsed(
    parser: Iterable[Any],
    *,
    batch: int,
    first_line: int | None = None,
    ends_batch: Callable[[Any], bool] | None = None,
) -> Iterator[bytes]:
    """What pyoxigraph parses, as lines of N-Quads in chunks.

    :param batch: number of statements that may be held at once.
    :param first_line: of the text that is parsed, where that is a part of a source.
    :param ends_batch: called for each statement: whether to yield the text so far after it.
    :raises JellyError: the text is malformed; what comes before the error is yielded first.
    """
    pyoxigraph = pyoxigraph_module()
    nquads = pyoxigraph.RdfFormat.N_QUADS
    failed: list[JellyError] = []

    def until_error() -> Iterator[Any]:
        try:
            yield from parser
        except PARSER_ERRORS as error:
            failed.append(parser_error(error, first_line=first_line))

    statements = until_error()
    size = batch
    while found := _batch(statements, size, ends_batch):
        lines = pyoxigraph.serialize(found, format=nquads)
        yield lines
        # Where statements are long, the next ones are fewer.
        size = max(1, min(batch, _BATCH_BYTES * len(found) // len(lines)))
    if failed:
        raise failed[0]


def _batch(
    statements: Iterator[Any], size: int, ends_batch: Callable[[Any], bool] | None
) -> list[Any]:
    if ends_batch is None:
        return list(islice(statements, size))
    batch = []
    for statement in islice(statements, size):
        batch.append(statement)
        if ends_batch(statement):
            break
    return batch


def gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Chunks joined as they arrive; an empty one means that the next may take a while.

    The text before an error is yielded before it.
    """
    waiting: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            if chunk:
                waiting.append(chunk)
                size += len(chunk)
            if waiting and (not chunk or size >= CHUNK):
                yield b"".join(waiting)
                waiting.clear()
                size = 0
    except JellyError:
        if waiting:
            yield b"".join(waiting)
        raise
    if waiting:
        yield b"".join(waiting)


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
            reader = TextReader(src, form, settings, generalized=generalized, directions=directions)
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
    if message == _NO_CONTEXT:
        return "a remote context, which is never fetched: pass it with contexts="
    if _RELATIVE.search(message):
        return message + NEED_BASE
    if found := _TERM.match(message):
        return f"Oxigraph rejects the {found[1]} {shorten(found[2])!r}: {found[3]}"
    for start, term in _REJECTED.items():
        if message.startswith(start):
            return f"Oxigraph rejects {term}: {message}"
    return message


def iris_with(start: str, lines: bytes) -> list[str]:
    """The IRIs of N-Quads that begin with the given one.

    >>> iris_with("urn:", b'<urn:s> <http://e/p> "<urn:x>" .')
    ['urn:s']
    """
    opening = start.encode()
    if b"<" + opening not in lines:
        return []
    return [iri.decode() for iri in _IRI.findall(lines) if iri.startswith(opening)]


def check_base(lines: bytes) -> None:
    """Check N-Quads of a JSON-LD document that was parsed with :data:`NO_BASE`.

    :raises TextError: an IRI is relative.
    """
    for iri in iris_with(_NO_BASE_SCHEME, lines):
        reference = iri.removeprefix(NO_BASE).removeprefix(_NO_BASE_SCHEME)
        raise TextError(f"the IRI <{reference}> is relative{NEED_BASE}")


class ChunkFile(io.RawIOBase):
    """An iterator of bytes as a file; closing it closes the iterator.

    :param name: how errors name it.
    """

    def __init__(self, chunks: Iterator[bytes], name: str | None = None) -> None:
        super().__init__()
        self.name = name
        self._chunks = chunks
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
            self._rest = memoryview(next(self._chunks, b""))
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    def close(self) -> None:
        close = getattr(self._chunks, "close", None)
        if close is not None and not self.closed:
            close()
        super().close()


def piped(chunks: Iterator[bytes], src: Source) -> Readable:
    """Chunks of bytes as a source with the name of another one."""
    return cast(Readable, ChunkFile(chunks, name_of(src)))


def reject_jelly(given: Given) -> None:
    """Reject a source that is Jelly and was given as text, before text is looked for in it: a
    parser's error would not say so. Only what can be read twice without another download is looked
    at.

    :raises SourceError: it is Jelly, or cannot be opened.
    """
    src, form = given
    is_url = isinstance(src, str | os.PathLike) and "://" in os.fspath(src)
    rewind = None if is_url else rewinder(src)
    if rewind is None or form.kind not in (FormatKind.LINES, FormatKind.TEXT):
        return
    with Input(src) as source:
        kind = kind_of(next(source.chunks(), b""))
        name = source.name
    rewind()
    if kind is not None:
        raise SourceError(f"this is {kind}, not {form}", source=name)


def jelly_of_text(src: Source, limits: Limits) -> Readable:
    """The text form of Jelly as Jelly that is made while the text is read."""

    def frames() -> Iterator[bytes]:
        with Input(src) as source:
            try:
                yield from frames_of_text(source.chunks(), limits)
            except JellyError as error:
                error.locate(source=source.name)
                raise

    return piped(map(delimit, frames()), src)
