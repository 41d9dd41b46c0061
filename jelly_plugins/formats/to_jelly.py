"""RDF text, RDF Thrift and RDF Protobuf to Jelly: one source, or several of any formats."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from typing import Any, TypeAlias

from ..codec import (
    Encoder,
    Iri,
    Literal,
    PhysicalType,
    StreamOptions,
    TextEncoder,
    Triple,
)
from ..errors import JellyError, StatementError, TextError
from ..io.names import Format
from ..io.sinks import Counted, Destination, is_replaceable
from ..io.sources import rewinder
from ..io.streams import FrameReader, write_jelly
from .reading import TextReader, iris_with, read_sources
from .settings import ConversionSettings, Given, Job, Namespaces
from .transcode import adapt, check_metadata, jelly_to_jelly


def text_to_jelly(job: Job, dst: Destination, target: Format) -> None:
    """Write RDF text as Jelly.

    :raises StatementError: a quoted triple was not declared, see :func:`_write`.
    """
    options = _options(job)
    # The text encoder reads triples or quads, as its physical type is.
    if (options.physical_type is not PhysicalType.TRIPLES) is not job.given[0].format.has_graphs:
        statements_to_jelly(job, dst, target)
    else:
        _write(job, dst, options, _encode_text)


def statements_to_jelly(job: Job, dst: Destination, _target: Format) -> None:
    """Write sources of any formats as one Jelly stream, statement by statement; see
    :func:`text_to_jelly`."""
    _write(job, dst, _options(job), _encode_statements)


def several_to_jelly(job: Job, dst: Destination, target: Format) -> None:
    """Write several sources as one Jelly stream: those that are all Jelly keep their frames."""
    all_jelly = all(form is Format.JELLY for _, form in job.given)
    way = jelly_to_jelly if all_jelly else statements_to_jelly
    way(job, dst, target)


def frames_of(given: Given, settings: ConversionSettings) -> Generator[bytes]:
    """A source of any format but Jelly as the frames of a stream that declares quoted triples."""
    job = Job([given], settings)
    options = replace(_options(job), rdf_star=True)
    encode = _encode_statements if given.format.is_jena else _encode_text
    return encode(job, options)


def _options(job: Job) -> StreamOptions:
    """The options of the stream: of triples, if no source is known to have anything else."""
    physical_type = PhysicalType.TRIPLES
    for src, form in job.given:
        has_graphs = form.has_graphs
        if form is Format.JELLY and (rewind := rewinder(src)) is not None:
            with FrameReader(src, **job.settings.reading) as frames:
                has_graphs = frames.options.physical_type is not PhysicalType.TRIPLES
            rewind()
        if has_graphs:
            physical_type = PhysicalType.QUADS
    return job.settings.changes.applied(StreamOptions.flat(physical_type))


_Encode: TypeAlias = Callable[[Job, StreamOptions], Generator[bytes]]


def _write(job: Job, dst: Destination, options: StreamOptions, encode: _Encode) -> None:
    """Write the frames of a stream.

    Options come first in a stream, and ``rdf_star`` must be declared if quoted triples follow. If
    one follows that was not declared, everything is read and written again, if that is possible.

    :param encode: reads the sources and makes the frames.
    :raises StatementError: a quoted triple was not declared, and the sources cannot be read again
        or a part of the output is already written.
    """
    rewinders = [found for src, _ in job.given if (found := rewinder(src)) is not None]
    while True:
        with closing(encode(job, options)) as frames:
            made = Counted(frames)
            try:
                write_jelly(made, dst, delimited=job.settings.delimited)
                return
            except UndeclaredError:
                untouched = not made.count or is_replaceable(dst)
                if options.rdf_star or job.settings.changes.rdf_star is False or not untouched:
                    raise
                if len(rewinders) < len(job.given):
                    raise
        for rewind in rewinders:
            rewind()
        job.counter.restart()
        options = replace(options, rdf_star=True)


def _encode_statements(job: Job, options: StreamOptions) -> Generator[bytes]:
    settings = job.settings
    encoder = Encoder(options, **settings.encoding)
    prefixes = _Prefixes(settings.namespaces)
    generalized = options.generalized_statements
    sources = read_sources(job.given, settings, generalized=generalized, directions=False)
    with closing(sources) as found:
        for source, frame in found:
            try:
                check_metadata(frame, lossy=settings.lossy)
                adapt(frame, options.physical_type, lossy=settings.lossy)
            except JellyError as error:
                error.locate(source=source)
                raise
            statements = frame.statements
            new = {name: iri.value for name, iri in frame.namespaces}
            is_used = partial(_begins_one, cache(partial(iris_of, statements)))
            for name, value in prefixes.due(new, is_used).items():
                encoder.add_namespace(name, value)
            try:
                frames = encoder.add(statements)
            except JellyError as error:
                # Frames and rows of the output say nothing about the source.
                if not options.rdf_star and has_quoted(statements):
                    raise undeclared(source) from None
                raise type(error)(error.message, source=source) from None
            for graph in frame.empty_graphs:
                encoder.start_graph(graph)
            job.counter.count(frame)
            yield from frames
    yield from encoder.finish()


def _begins_one(iris: Callable[[], set[str]], start: str) -> bool:
    return any(iri.startswith(start) for iri in iris())


class _Prefixes:
    """The prefixes of sources, until they are declared.

    :param wanted: which of them to declare.
    """

    def __init__(self, wanted: Namespaces) -> None:
        self._wanted = wanted
        self._declared: dict[str, str] = {}
        self._waiting: dict[str, str] = {}

    def due(self, new: dict[str, str], is_used: Callable[[str], bool]) -> dict[str, str]:
        """The prefixes to declare before statements.

        :param new: those that the source has declared since the last call, IRI by name.
        :param is_used: whether an IRI of the statements begins with the given one.
        """
        if not self._wanted:
            return {}
        for name, iri in new.items():
            if self._declared.get(name) != iri:
                self._waiting[name] = iri
        found = {
            name: iri
            for name, iri in self._waiting.items()
            if self._wanted != "used" or is_used(iri)
        }
        self._declared |= found
        for name in found:
            del self._waiting[name]
        return found


def _encode_text(job: Job, options: StreamOptions) -> Generator[bytes]:
    """Encode text without terms in between."""
    settings = job.settings
    prefixes = _Prefixes(settings.namespaces)
    with TextReader(*job.given[0], settings) as text:
        encoder = TextEncoder(
            options,
            dialect=text.dialect,
            generalized=options.generalized_statements,
            **settings.encoding,
        )

        def declare(lines: bytes) -> None:
            if settings.namespaces:
                new = text.new_prefixes()
                for name, iri in prefixes.due(new, lambda iri: bool(iris_with(iri, lines))).items():
                    encoder.add_namespace(name, iri)

        try:
            for lines in text.lines():
                declare(lines)
                frames = encoder.feed(lines)
                job.counter.reach(encoder.statements)
                yield from frames
            declare(b"")
            yield from encoder.finish()
            job.counter.reach(encoder.statements)
        except TextError as error:
            raise text.located(error) from error.__cause__
        except JellyError as error:
            # Of the errors about quoted triples, only a missing declaration is not a TextError.
            if isinstance(error, StatementError) and not options.rdf_star:
                raise undeclared(text.name) from None
            raise type(error)(error.message, source=text.name) from None


class UndeclaredError(StatementError):
    """A quoted triple in a stream whose options do not declare ``rdf_star``."""


def undeclared(source: str | None) -> UndeclaredError:
    """The error for a quoted triple, of a source."""
    return UndeclaredError(
        "a quoted triple, which the options at the stream's start do not declare: set rdf_star",
        source=source,
    )


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
