"""Jelly to RDF text, RDF text to Jelly, Jelly to other Jelly: one function, in flat memory. What is
made of several such steps is in ``conversion``.

N-Triples and N-Quads say all that Jelly can. Turtle, TriG, RDF/XML and JSON-LD are written by
pyoxigraph, and what they cannot say is refused. No text has frames: their boundaries are left out,
and what hangs on them (metadata) is counted in the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from ..backends import get_backend
from ..codec import (
    AnyFrame,
    Encoder,
    Iri,
    Literal,
    PhysicalType,
    StreamOptions,
    TextEncoder,
    Triple,
)
from ..codec.text.ntriples import Notation
from ..codec.text.transcoding import TextFactory
from ..errors import JellyError, StatementError, TermError, TextError
from ..io.marks import without_mark
from ..io.sinks import Destination, Writable, is_replaceable, open_output
from ..io.sources import Input, Source, rewinder
from ..io.streams import (
    BATCH,
    AnyFrameReader,
    FrameBytes,
    FrameReader,
    TextPieces,
    write_bare,
    write_delimited,
)
from ..jena.names import JenaFormat
from ..jena.streams import JenaReader, JenaText
from .counting import Conversion, FrameCounter
from .names import Format
from .reading import StatementReader, TextReader, pyoxigraph_module, rdf_format
from .settings import DEFAULT_SETTINGS, ConversionSettings
from .to_jena import to_jena
from .transcode import as_quad, as_triple, transcode
from .xml_names import NAME, NO_CHARACTER

#: Formats that have a statement to a line, which the codec reads and writes itself.
_LINES: Final = (Format.N_TRIPLES, Format.N_QUADS)


def convert(
    sources: Sequence[Source],
    dst: Destination,
    *,
    source_format: Format,
    target_format: Format,
    settings: ConversionSettings = DEFAULT_SETTINGS,
) -> Conversion:
    """Convert between Jelly, or one of Apache Jena's binary formats, and other formats.

    :param sources: one source, or several Jelly ones that become one Jelly stream.
    :param dst: path or open binary file. A path is replaced only once everything is written.
    :raises JellyError: a source cannot be read, or the target cannot say what it says.
    :raises ValueError: both sides are text, or several sources do not become one Jelly stream.

    >>> import io
    >>> jelly, text = io.BytesIO(), io.BytesIO()
    >>> turtle = b"@prefix x: <http://example.org/> . x:s x:p x:o, 1 ."
    >>> result = convert([turtle], jelly, source_format=Format.TURTLE, target_format=Format.JELLY)
    >>> result = convert(
    ...     [jelly.getvalue()], text, source_format=Format.JELLY, target_format=Format.N_TRIPLES
    ... )
    >>> print(text.getvalue().decode().splitlines()[0])
    <http://example.org/s> <http://example.org/p> <http://example.org/o> .
    """
    if not (source_format.is_binary or target_format.is_binary):
        raise ValueError("one side of a conversion must be Jelly, RDF Thrift or RDF Protobuf")
    if source_format is target_format is Format.JELLY:
        statements = transcode(
            list(sources),
            dst,
            options=settings.changes.applied,
            frame_rows=settings.frame_rows,
            frame_bytes=settings.frame_bytes,
            restart_every=settings.restart_every,
            blank_nodes=settings.blank_nodes,
            lossy=settings.lossy,
            delimited=settings.delimited,
            **settings.reading,
        )
        return Conversion(statements=statements)
    if len(sources) != 1:
        raise ValueError("several sources must be Jelly, and become one Jelly stream")
    [src] = sources
    if target_format.is_jena:
        target = JenaFormat(target_format)
        return to_jena(src, dst, source_format, target, settings)
    if target_format is Format.JELLY:
        return text_to_jelly(src, dst, format=source_format, settings=settings)
    if source_format.is_jena:
        return jena_to_text(
            src,
            dst,
            source_format=JenaFormat(source_format),
            format=target_format,
            settings=settings,
        )
    return jelly_to_text(src, dst, format=target_format, settings=settings)


# From text


def text_to_jelly(
    src: Source,
    dst: Destination,
    *,
    format: Format,  # noqa: A002
    settings: ConversionSettings = DEFAULT_SETTINGS,
) -> Conversion:
    """Write RDF text as a Jelly stream; see :func:`convert` for the parameters.

    Options come first in a stream, and ``rdf_star`` must be declared if quoted triples follow. If
    one does that was not declared, everything is read and written again, where that can be done.

    :raises StatementError: a quoted triple was not declared, and the source cannot be read again or
        the output is partly out already.
    """
    physical_type = PhysicalType.QUADS if format.has_graphs else PhysicalType.TRIPLES
    changes = settings.changes
    return write_encoding(
        lambda options: open_encoding(src, format, options, settings),
        dst,
        changes.applied(StreamOptions.flat(physical_type)),
        again=None if changes.rdf_star is False else rewinder(src),
        delimited=settings.delimited,
    )


#: What gives the frames of a stream: its statements, or lines that are statements.
Encoding: TypeAlias = "StatementEncoding | LineEncoding"


@contextmanager
def open_encoding(
    src: Source,
    format: Format,  # noqa: A002
    options: StreamOptions,
    settings: ConversionSettings,
) -> Iterator[Encoding]:
    """The frames that RDF text becomes."""
    graphs = options.physical_type is not PhysicalType.TRIPLES
    # The encoder of text reads the format that goes with its physical type.
    if format in _LINES and format.has_graphs is graphs:
        with Input(src) as source:
            yield LineEncoding(source, options, settings)
    else:
        with TextReader(
            src,
            format,
            base=settings.base,
            generalized=options.generalized_statements,
            dialect=settings.dialect,
            limits=settings.limits,
        ) as statements:
            yield StatementEncoding(statements, options, settings)


def write_encoding(
    opened: Callable[[StreamOptions], AbstractContextManager[Encoding]],
    dst: Destination,
    options: StreamOptions,
    *,
    again: Callable[[], object] | None,
    delimited: bool = True,
) -> Conversion:
    """Write what is encoded as a stream; with ``rdf_star``, and once more, if that turns out to be
    needed.

    :param opened: what is encoded, with some options.
    :param again: makes the sources ready to be read again; None if they cannot be, or if it is for
        whoever asks to declare quoted triples.
    """
    while True:
        with opened(options) as encoding:
            try:
                (write_delimited if delimited else write_bare)(encoding, dst)
                return Conversion(statements=encoding.statements)
            except UndeclaredError:
                untouched = not encoding.frames or is_replaceable(dst)
                if again is None or options.rdf_star or not untouched:
                    raise
        again()
        options = replace(options, rdf_star=True)


class UndeclaredError(StatementError):
    """A quoted triple in a stream whose options do not declare ``rdf_star``."""


class StatementEncoding:
    """Statements of a text as frames.

    :ivar statements: number of statements that were encoded.
    :ivar frames: number of frames that came out.
    """

    def __init__(
        self,
        reader: StatementReader,
        options: StreamOptions,
        settings: ConversionSettings,
    ) -> None:
        self.statements = 0
        self.frames = 0
        self._reader = reader
        self._namespaces = settings.namespaces
        self._declared: dict[str, str] = {}
        self._encoder = Encoder(options, **settings.encoding)

    def __iter__(self) -> Iterator[bytes]:
        for frame in self._encode():
            self.frames += 1
            yield frame

    def _encode(self) -> Iterator[bytes]:
        statements: Iterator[tuple[Any, ...]] = map(as_quad, self._reader)
        if self._encoder.options.physical_type is PhysicalType.TRIPLES:
            statements = (as_triple(each, self._reader.name) for each in self._reader)
        while batch := list(islice(statements, BATCH)):
            if self._namespaces:
                self._declare(batch)
            try:
                frames = self._encoder.add(batch)
            except JellyError as error:
                raise self._explained(error, batch) from error
            self.statements += len(batch)
            yield from frames
        if self._namespaces:
            self._declare([])
        yield from self._encoder.finish()

    def _declare(self, batch: list[Any]) -> None:
        """Write the prefixes that the text has declared since the last time, all or those that
        what comes next uses."""
        new = {
            name: iri
            for name, iri in self._reader.prefixes.items()
            if self._declared.get(name) != iri
        }
        if new and self._namespaces == "used":
            used = tuple(iris_of(batch))
            new = {k: iri for k, iri in new.items() if any(each.startswith(iri) for each in used)}
        for name, iri in new.items():
            self._declared[name] = iri
            self._encoder.add_namespace(name, iri)

    def _explained(self, error: JellyError, batch: list[Any]) -> JellyError:
        """The error as one of the text: frames and rows of the output say nothing about it."""
        if not self._encoder.options.rdf_star and has_quoted(batch):
            return undeclared(self._reader.name)
        return type(error)(error.message, source=self._reader.name)


def has_quoted(statements: Iterable[tuple[Any, ...]]) -> bool:
    """Whether a statement has a quoted triple."""
    return any(isinstance(term, Triple) for statement in statements for term in statement)


def iris_of(statements: Iterable[tuple[Any, ...]]) -> set[str]:
    """The IRIs of statements, those of datatypes and in quoted triples too."""
    found: set[str] = set()
    for term in set(chain.from_iterable(statements)):
        if isinstance(term, Iri):
            found.add(term.value)
        elif isinstance(term, Literal) and term.datatype is not None:
            found.add(term.datatype)
        elif isinstance(term, Triple):
            found |= iris_of([term])
    return found


class LineEncoding:
    """Lines of N-Triples or N-Quads as frames, without terms in between; see
    :class:`StatementEncoding`."""

    def __init__(self, source: Input, options: StreamOptions, settings: ConversionSettings) -> None:
        self.frames = 0
        self._source = source
        self._encoder = TextEncoder(
            options,
            dialect=settings.dialect,
            generalized=options.generalized_statements,
            **settings.encoding,
        )

    @property
    def statements(self) -> int:
        return self._encoder.statements

    def __iter__(self) -> Iterator[bytes]:
        for frame in self._encode():
            self.frames += 1
            yield frame

    def _encode(self) -> Iterator[bytes]:
        feed = self._encoder.feed
        for piece in without_mark(self._source.pieces()):
            try:
                frames = feed(piece)
            except JellyError as error:
                raise self._explained(error) from error
            yield from frames
        try:
            frames = self._encoder.finish()
        except JellyError as error:
            raise self._explained(error) from error
        yield from frames

    def _explained(self, error: JellyError) -> JellyError:
        """The error as one of the text: frames and rows of the output say nothing about it."""
        name = self._source.name
        if isinstance(error, TextError):
            return error.locate(source=name)
        # Of quoted triples, only that they were not declared is no TextError.
        if isinstance(error, StatementError) and not self._encoder.options.rdf_star:
            return undeclared(name)
        return type(error)(error.message, source=name)


def undeclared(source: str | None) -> UndeclaredError:
    """The error for a quoted triple, of a source."""
    return UndeclaredError(
        "a quoted triple, which the options at the stream's start do not declare: "
        "ask for rdf_star (--rdf-star)",
        source=source,
    )


# To text


def jelly_to_text(
    src: Source,
    dst: Destination,
    *,
    format: Format,  # noqa: A002
    settings: ConversionSettings = DEFAULT_SETTINGS,
) -> Conversion:
    """Write the statements of a Jelly stream as RDF text; see :func:`convert` for the parameters.

    Namespaces become prefixes if they stand before the first statement's frame ends, and if the
    format can say them.

    :raises TermError: the format cannot say a term, or has no graphs; with frame and row.
    """
    counter = FrameCounter()
    concatenated, notation, limits = settings.concatenated, settings.notation, settings.limits
    source = FrameBytes(src, limits=limits, strict=settings.strict)
    options = source.peek_options() if format in _LINES else None
    #: Where named graphs would be refused, each statement has to be looked at.
    plain = options is not None and (
        format.has_graphs or (options.physical_type is PhysicalType.TRIPLES and not concatenated)
    )
    if plain:
        with (
            TextPieces(
                source,
                notation=notation,
                limits=limits,
                concatenated=concatenated,
                on_frame=counter.count,
            ) as pieces,
            open_output(dst) as out,
        ):
            for piece in pieces:
                out.write(piece)
        return counter.conversion(pieces.statements)
    factory = _Lines(format, notation) if format in _LINES else _CheckedFactory(format)
    frames: AnyFrameReader = FrameReader(
        source, factory=factory, limits=limits, concatenated=concatenated
    )
    with frames, open_output(dst) as out:
        if format in _LINES:
            for frame in counter.counted(frames):
                lines = " .\n".join(map(" ".join, frame.statements))
                out.write(f"{lines} .\n".encode() if lines else b"")
        else:
            _serialize(counter.counted(frames), out, format)
    return counter.conversion()


def jena_to_text(
    src: Source,
    dst: Destination,
    *,
    source_format: JenaFormat,
    format: Format,  # noqa: A002
    settings: ConversionSettings = DEFAULT_SETTINGS,
) -> Conversion:
    """Write RDF Thrift or RDF Protobuf as RDF text; see :func:`convert` for the parameters.

    Prefixes become those of the text as :func:`jelly_to_text` has it.

    :raises TermError: the format cannot say a term, or has no graphs; with the row.
    """
    if format in _LINES:
        lines = JenaText(
            src,
            format=source_format,
            graphs=format.has_graphs,
            notation=settings.notation,
            generalized=settings.generalized,
            limits=settings.limits,
        )
        with lines, open_output(dst) as out:
            for piece in lines:
                out.write(piece)
        return Conversion(statements=lines.statements)
    counter = FrameCounter()
    factory = _CheckedFactory(format)
    with (
        JenaReader(src, format=source_format, factory=factory, limits=settings.limits) as batches,
        open_output(dst) as out,
    ):
        _serialize(counter.counted(batches), out, format)
    return counter.conversion()


class _Lines(TextFactory):
    """Makes statements of a format, each as the terms of a line."""

    def __init__(self, format: Format, notation: Notation) -> None:  # noqa: A002
        super().__init__(notation)
        self._format = format

    def quad(self, terms: tuple[str, str, str, str]) -> tuple[str, ...]:
        if not terms[3]:
            return terms[:3]
        _check_graph(self._format)
        return terms


def _check_graph(format: Format) -> None:  # noqa: A002
    """Refuse a named graph where the format has none.

    :raises TermError: it has none.
    """
    if not format.has_graphs:
        raise TermError(f"a quad in a named graph: {format} has no graphs, nq, trig and jsonld do")


class _CheckedFactory:
    """Makes the terms that pyoxigraph writes a format from; refuses what it would write, but the
    format cannot say."""

    def __init__(self, format: Format) -> None:  # noqa: A002
        made = get_backend("oxigraph").factory(blank_nodes="keep")
        self._made = made
        directions = pyoxigraph_module().BaseDirection
        self._directions = {"ltr": directions.LTR, "rtl": directions.RTL}
        self._format = format
        self._is_xml = format is Format.RDF_XML
        self.default_graph = made.default_graph
        self.iri = made.iri
        self.blank_node = made.blank_node
        self.quoted_triple = made.quoted_triple

    def literal(self, lex: str, langtag: str | None, datatype: str | None) -> Any:
        if self._is_xml and (found := NO_CHARACTER.search(lex)):
            raise TermError(f"XML cannot express the character U+{ord(found[0]):04X}")
        language, mark, name = (langtag or "").partition("--")
        direction = self._directions.get(name) if mark else None
        if direction is None:
            return self._made.literal(lex, langtag, datatype)
        # This validates the language.
        self._made.literal(lex, language, None)
        return pyoxigraph_module().Literal(lex, language=language, direction=direction)

    def triple(self, terms: tuple[Any, Any, Any]) -> Any:
        if self._is_xml and not _XML_PREDICATE.search(terms[1].value):
            raise TermError(
                f"RDF/XML cannot express the predicate {terms[1]}: it has no XML name at its end"
            )
        return self._made.triple(terms)

    def quad(self, terms: tuple[Any, Any, Any, Any]) -> Any:
        if terms[3] == self.default_graph:
            return self.triple(terms[:3])
        _check_graph(self._format)
        return self._made.quad(terms)

    def check_graph(self, name: Any) -> None:
        """Any name is valid: these formats have no empty graphs."""


#: IRIs that end in an XML name without a colon, as properties have to in RDF/XML.
_XML_PREDICATE: Final = re.compile(rf"{NAME}\Z")

#: Names that every format with prefixes can say; pyoxigraph does not look at them.
_PREFIX_NAME: Final = re.compile(r"(?!xml)[A-Za-z](?:[A-Za-z0-9_.-]*[A-Za-z0-9_-])?|")


def _serialize(frames: Iterator[AnyFrame], out: Writable, format: Format) -> None:  # noqa: A002
    first = next(frames, None)
    opening = [] if first is None else [first]
    prefixes = {
        name: iri.value
        for frame in opening
        for name, iri in frame.namespaces
        if _PREFIX_NAME.fullmatch(name)
    }
    statements = (statement for frame in chain(opening, frames) for statement in frame.statements)
    try:
        pyoxigraph_module().serialize(
            statements, _Output(out, format), rdf_format(format), prefixes=prefixes
        )
    except JellyError:
        raise
    except (ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # From writing: a full disk, a closed pipe.
        raise TermError(f"{format} cannot express this: {error}") from error


class _Output:
    """What pyoxigraph writes to.

    :param form: in RDF/XML, carriage returns become references: pyoxigraph leaves them as they are,
        and an XML parser would take them for line feeds.
    """

    def __init__(self, out: Writable, form: Format) -> None:
        self._out = out
        self._references = form is Format.RDF_XML

    def write(self, data: bytes, /) -> int:
        self._out.write(data.replace(b"\r", b"&#13;") if self._references else data)
        return len(data)

    def flush(self) -> None:
        """pyoxigraph asks for it; whoever opened the output flushes it."""
