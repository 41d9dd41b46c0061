"""RDF text, RDF Thrift and RDF Protobuf to Jelly: one source, or several of any formats."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any, TypeAlias

from ..codec import (
    Encoder,
    Iri,
    Literal,
    PhysicalType,
    Statement,
    StreamOptions,
    TextEncoder,
    Triple,
)
from ..errors import JellyError, StatementError, TextError
from ..io.sinks import Destination, is_replaceable
from ..io.sources import Closing, Input, rewinder, without_mark
from ..io.streams import BATCH, FrameReader, write_bare, write_delimited
from .merging import MergedReader
from .names import Format
from .reading import StatementSource, TextReader
from .settings import Conversion, ConversionSettings, Given
from .transcode import as_quad, as_triple, jelly_to_jelly


def lines_to_jelly(
    given: Sequence[Given], dst: Destination, target: Format, settings: ConversionSettings
) -> Conversion:
    """Write N-Triples or N-Quads as Jelly.

    :raises StatementError: a quoted triple was not declared, see :func:`_write`.
    """
    [(src, form)] = given
    options = _options(form, settings)
    # The text encoder reads the format that goes with its physical type.
    if (options.physical_type is not PhysicalType.TRIPLES) is not form.has_graphs:
        return text_to_jelly(given, dst, target, settings)
    return _write(given, dst, settings, options, lambda now: _Lines(Input(src), now, settings))


def text_to_jelly(
    given: Sequence[Given], dst: Destination, _target: Format, settings: ConversionSettings
) -> Conversion:
    """Write RDF text, RDF Thrift or RDF Protobuf as Jelly, statement by statement; see
    :func:`lines_to_jelly`."""
    [(src, form)] = given

    def opened(options: StreamOptions) -> _Statements:
        text = TextReader(
            src,
            form,
            base=settings.base,
            generalized=options.generalized_statements,
            dialect=settings.dialect,
            limits=settings.limits,
        )
        return _Statements(text, text, options, settings)

    return _write(given, dst, settings, _options(form, settings), opened)


def several_to_jelly(
    given: Sequence[Given], dst: Destination, target: Format, settings: ConversionSettings
) -> Conversion:
    """Write several sources of any formats as one Jelly stream; see :func:`lines_to_jelly`."""
    if all(form is Format.JELLY for _, form in given):
        return jelly_to_jelly(given, dst, target, settings)

    def opened(options: StreamOptions) -> _Statements:
        merged = MergedReader(
            given, settings, generalized=options.generalized_statements, directions=False
        )
        return _Statements(merged, merged, options, settings)

    # Triples, if no source is known to have anything else.
    graphs = any(_has_graphs(each, settings) for each in given)
    options = _options(Format.N_QUADS if graphs else Format.N_TRIPLES, settings)
    return _write(given, dst, settings, options, opened)


def _has_graphs(given: Given, settings: ConversionSettings) -> bool:
    rewind = rewinder(given.source)
    if given.format is not Format.JELLY or rewind is None:
        return given.format.has_graphs
    with FrameReader(given.source, **settings.reading) as frames:
        found = frames.options.physical_type is not PhysicalType.TRIPLES
    rewind()
    return found


def _options(form: Format, settings: ConversionSettings) -> StreamOptions:
    """The options of a stream with the statements of a format."""
    physical_type = PhysicalType.QUADS if form.has_graphs else PhysicalType.TRIPLES
    return settings.changes.applied(StreamOptions.flat(physical_type))


def _write(
    given: Sequence[Given],
    dst: Destination,
    settings: ConversionSettings,
    options: StreamOptions,
    opened: Callable[[StreamOptions], _Encoding],
) -> Conversion:
    """Write the frames of a stream.

    Options come first in a stream, and ``rdf_star`` must be declared if quoted triples follow. If
    one follows that was not declared, everything is read and written again, if that is possible.

    :param opened: opens the sources and makes the frames, with some options.
    :raises StatementError: a quoted triple was not declared, and the sources cannot be read again
        or a part of the output is already written.
    """
    rewinders = [rewinder(src) for src, _ in given]
    while True:
        with opened(options) as encoding:
            try:
                (write_delimited if settings.delimited else write_bare)(encoding, dst)
                return Conversion(statements=encoding.statements)
            except UndeclaredError:
                untouched = not encoding.started or is_replaceable(dst)
                if options.rdf_star or settings.changes.rdf_star is False or not untouched:
                    raise
                if None in rewinders:
                    raise
        for rewind in rewinders:
            assert rewind is not None
            rewind()
        options = replace(options, rdf_star=True)


class UndeclaredError(StatementError):
    """A quoted triple in a stream whose options do not declare ``rdf_star``."""


class _Statements(Closing):
    """Statements as frames.

    :param reader: what the statements come from; it is closed with this.
    :ivar statements: number of statements that were encoded.
    :ivar started: whether a frame was complete.
    """

    def __init__(
        self,
        reader: StatementSource,
        statements: Iterable[Statement],
        options: StreamOptions,
        settings: ConversionSettings,
    ) -> None:
        self.statements = 0
        self.started = False
        self._reader = reader
        self._source = statements
        self._namespaces = settings.namespaces
        self._declared: dict[str, str] = {}
        self._encoder = Encoder(options, **settings.encoding)

    def close(self) -> None:
        self._reader.close()

    def __iter__(self) -> Iterator[bytes]:
        statements: Iterator[tuple[Any, ...]] = map(as_quad, self._source)
        if self._encoder.options.physical_type is PhysicalType.TRIPLES:
            statements = (as_triple(each, self._reader.name) for each in self._source)
        while batch := list(islice(statements, BATCH)):
            if self._namespaces:
                self._declare(batch)
            try:
                frames = self._encoder.add(batch)
            except JellyError as error:
                raise self._explained(error, batch) from error
            self.statements += len(batch)
            self.started = self.started or bool(frames)
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


class _Lines(Closing):
    """Lines of N-Triples or N-Quads as frames, without terms in between; see
    :class:`_Statements`."""

    def __init__(self, source: Input, options: StreamOptions, settings: ConversionSettings) -> None:
        self.started = False
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

    def close(self) -> None:
        self._source.close()

    def __iter__(self) -> Iterator[bytes]:
        try:
            for piece in without_mark(self._source.pieces()):
                frames = self._encoder.feed(piece)
                self.started = self.started or bool(frames)
                yield from frames
            yield from self._encoder.finish()
        except JellyError as error:
            raise self._explained(error) from error

    def _explained(self, error: JellyError) -> JellyError:
        """The error as one of the text: frames and rows of the output say nothing about it."""
        name = self._source.name
        if isinstance(error, TextError):
            return error.locate(source=name)
        # Of the errors about quoted triples, only a missing declaration is not a TextError.
        if isinstance(error, StatementError) and not self._encoder.options.rdf_star:
            return undeclared(name)
        return type(error)(error.message, source=name)


def undeclared(source: str | None) -> UndeclaredError:
    """The error for a quoted triple, of a source."""
    return UndeclaredError(
        "a quoted triple, which the options at the stream's start do not declare: "
        "set rdf_star (--rdf-star)",
        source=source,
    )


#: What makes the frames of a stream.
_Encoding: TypeAlias = _Statements | _Lines
