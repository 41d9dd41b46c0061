"""Jelly to chunks of N-Quads and back, by the text paths of the codec.

What N-Quads cannot express (frames, metadata, empty graphs) goes from Jelly to Jelly by frames, see
``transcode``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Final

from ..codec import (
    AnyFrame,
    PhysicalType,
    StreamOptions,
    TextDecoder,
    TextEncoder,
)
from ..codec.text.lines import unescaped
from ..errors import JellyError, StatementError, TermError, TextError
from ..io.chunks import Chunk, ChunkReader, scoped
from ..io.sinks import Writable
from ..io.sources import Format, Source
from ..io.streams import FrameBytes, StreamReader, write_jelly
from .lines import without_graphs
from .settings import Job

_LINE_END: Final = b" .\n"
#: Bytes of a rejected statement that an error shows.
_SHOWN: Final = 120


class JellyReader(StreamReader[Chunk], ChunkReader):
    """Reads Jelly-RDF.

    :param job: ``concatenated``, ``strict`` and ``limits`` of its settings; with ``blank_nodes``
        ``"fresh"``, each of several concatenated streams has its own blank nodes.

    :ivar frame: number of the frame of the last chunk.
    :ivar options: the options of the stream; None if they cannot be read.
    """

    has_relative_iris = True

    def __init__(self, src: Source | FrameBytes, format: Format, job: Job) -> None:  # noqa: A002, ARG002
        settings = job.settings
        frames = src
        if not isinstance(frames, FrameBytes):
            frames = FrameBytes(frames, limits=settings.limits, strict=settings.strict)
        self.namespaces = {}
        self.options = frames.peek_options()
        self.has_graphs = (
            self.options is None
            or settings.concatenated
            or self.options.physical_type is not PhysicalType.TRIPLES
        )
        self.validated = job.validator is not None
        self.frame = 0
        self._job = job
        #: The number of the stream, where each has its own blank nodes.
        self._scope = 0
        super().__init__(frames, self._make, concatenated=settings.concatenated)

    def _make(self, first_frame: int) -> TextDecoder:
        settings = self._job.settings
        if first_frame and settings.blank_nodes == "fresh":
            self._scope += 1
        return TextDecoder(
            limits=settings.limits, validator=self._job.validator, first_frame=first_frame
        )

    def _read(self, number: int, data: bytes) -> Iterator[Chunk]:
        self.frame, scope = number, self._scope
        for text in self._whole_lines(data):
            text = scoped(text, scope) if scope else text
            yield Chunk(text, text.count(b"\n"))
        frame = self._decoder.last_frame
        if scope:
            names = frame.empty_graphs
            frame.empty_graphs = [scoped(name.encode(), scope).decode() for name in names]
        if self._job.on_frame is not None:
            self._job.on_frame(frame)

    def _whole_lines(self, data: bytes) -> Iterator[bytes]:
        """The text of a frame, with its namespaces declared before the lines after them."""
        decoder = self._decoder
        rest: list[bytes] = []
        for chunk in decoder.decode(data):
            self._declare(decoder.frame)
            cut = chunk.rfind(_LINE_END) + len(_LINE_END)
            if cut < len(_LINE_END):
                # A line that goes on; the decoder does not cut a chunk inside a line's end.
                rest.append(chunk)
                continue
            yield b"".join((*rest, chunk[:cut]))
            rest = [chunk[cut:]] if cut < len(chunk) else []
        self._declare(decoder.last_frame)

    def _declare(self, frame: AnyFrame) -> None:
        for prefix, iri in frame.namespaces:
            self.namespaces[prefix] = unescaped(iri[1:-1])

    def located(self, error: JellyError) -> JellyError:
        return super().located(error).locate(frame=self.frame)


def write(
    source: ChunkReader,
    out: Writable,
    format: Format,  # noqa: A002, ARG001
    job: Job,
) -> None:
    """Write statements as Jelly: as a stream of triples or quads, as the source has."""
    with closing(encoded(source, options_for(source, job), job)) as frames:
        write_jelly(job.counter.written(frames), out, delimited=job.settings.delimited)


def options_for(source: ChunkReader, job: Job) -> StreamOptions:
    """The options of the stream that is made of a source."""
    physical_type = PhysicalType.QUADS if source.has_graphs else PhysicalType.TRIPLES
    options = job.settings.changes.applied(StreamOptions.flat(physical_type))
    return replace(options, rdf_star=True) if job.star else options


def encoded(source: ChunkReader, options: StreamOptions, job: Job) -> Generator[bytes]:
    """The frames of a stream; see :func:`write`."""
    settings = job.settings
    encoder = TextEncoder(
        options,
        dialect=settings.dialect,
        generalized=options.generalized_statements,
        namespaces=settings.namespaces and source.has_namespaces,
        **settings.encoding,
    )
    declared: dict[str, str] = {}

    def declare() -> None:
        for prefix, iri in source.namespaces.items() if settings.namespaces else ():
            if declared.get(prefix) != iri:
                encoder.add_namespace(prefix, iri)
                declared[prefix] = iri

    narrow = options.physical_type is PhysicalType.TRIPLES and source.has_graphs
    reason = "physical type TRIPLES cannot express it"
    lines = (chunk.text for chunk in without_graphs(source, reason)) if narrow else source.lines()
    text = b""
    before = 0
    try:
        for text in lines:
            before = encoder.statements
            declare()
            frames = encoder.feed(text)
            job.counter.reach(encoder.statements)
            yield from frames
        declare()
        yield from encoder.finish()
        job.counter.reach(encoder.statements)
    except JellyError as error:
        raise _rejection(error, source, options, text, before) from error.__cause__


def _rejection(
    error: JellyError, source: ChunkReader, options: StreamOptions, text: bytes, before: int
) -> JellyError:
    """An error of an encoder or of the source, as one of the source.

    :param text: the lines that the encoder was given last.
    :param before: number of statements before them.
    """
    if error.source is not None:
        return error
    # Of the errors about quoted triples, only a missing declaration is not a TextError.
    if isinstance(error, StatementError) and not options.rdf_star:
        return undeclared(source.name)
    # Frames and rows of the output say nothing about the source.
    error.frame = error.row = None
    line = error.line if isinstance(error, TextError) else None
    located = source.located(error)
    if isinstance(located, TextError) and located.line is None:
        # The lines exist only here: the statement is shown, which expresses more than the stream.
        at = (line or 0) - before - 1
        found = text.split(b"\n", at + 1)[at : at + 1] if at >= 0 else []
        shown = f": {found[0][:_SHOWN].decode(errors='replace')}" if found else ""
        message = f"{located.message}{shown}"
        return TermError(message).locate(source=located.source, frame=located.frame)
    return located


class UndeclaredError(StatementError):
    """A quoted triple in a stream whose options do not declare ``rdf_star``."""


def undeclared(source: str | None) -> UndeclaredError:
    """The error for a quoted triple, of a source."""
    return UndeclaredError(
        "a quoted triple, which the options at the stream's start do not declare: set rdf_star",
        source=source,
    )
