"""Any format to RDF Thrift or RDF Protobuf: what ``convert`` does where these are the target."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from ..errors import JellyError
from ..io.marks import without_mark
from ..io.sinks import Destination, open_output
from ..io.sources import Input, Source
from ..io.streams import BATCH, FrameReader
from ..jena.codec import LineEncoder, RowEncoder
from ..jena.names import JenaFormat
from ..jena.streams import JenaReader
from .counting import Conversion, FrameCounter
from .names import Format
from .reading import StatementReader, TextReader
from .settings import ConversionSettings


def to_jena(
    src: Source,
    dst: Destination,
    source_format: Format,
    target_format: JenaFormat,
    settings: ConversionSettings,
) -> Conversion:
    """Write what a source says as rows; see :func:`~jelly_plugins.formats.convert.convert`.

    The prefixes of text are declared if ``namespaces`` are asked for, those of Jelly and of Jena's
    formats always.

    :raises JellyError: the source cannot be read, or a statement cannot be written.
    """
    counter = FrameCounter()
    encoder, rows = rows_of(src, source_format, target_format, settings, counter)
    with open_output(dst) as out:
        for data in rows:
            out.write(data)
    return counter.conversion(encoder.statements)


def rows_of(
    src: Source,
    source_format: Format,
    target_format: JenaFormat,
    settings: ConversionSettings,
    counter: FrameCounter,
) -> tuple[RowEncoder, Iterator[bytes]]:
    """The rows that :func:`to_jena` writes, and the encoder that counts their statements."""
    reading: dict[str, Any] = {"generalized": settings.generalized, "limits": settings.limits}
    writing = {"value_forms": settings.value_forms, **reading}
    if source_format in (Format.N_TRIPLES, Format.N_QUADS):
        lines = LineEncoder(
            target_format,
            quads=source_format is Format.N_QUADS,
            dialect=settings.dialect,
            **writing,
        )
        return lines.rows, _rows_of_lines(src, lines)
    encoder = RowEncoder(target_format, **writing)
    if source_format is Format.JELLY:
        frames = FrameReader(src, **settings.reading)
        return encoder, _rows_of_frames(frames, encoder, counter)
    if source_format.is_jena:
        batches = JenaReader(src, format=JenaFormat(source_format), **reading)
        return encoder, _rows_of_frames(batches, encoder, counter)
    text = TextReader(src, source_format, base=settings.base, directions=True, **reading)
    return encoder, _rows_of_text(text, encoder, bool(settings.namespaces))


def _rows_of_lines(src: Source, lines: LineEncoder) -> Iterator[bytes]:
    with Input(src) as source:
        try:
            yield from lines.encode(without_mark(source.pieces()))
        except JellyError as error:
            raise _as_of(source.name, error) from error


def _rows_of_frames(
    frames: FrameReader | JenaReader, encoder: RowEncoder, counter: FrameCounter
) -> Iterator[bytes]:
    with frames:
        for frame in frames:
            try:
                for name, iri in frame.namespaces:
                    yield encoder.add_prefix(name, iri.value)
                yield encoder.add(frame.statements)
            except JellyError as error:
                raise _as_of(frames.name, error) from error
            counter.count(frame)


def _rows_of_text(text: TextReader, encoder: RowEncoder, namespaces: bool) -> Iterator[bytes]:
    with text:
        yield from rows_of_statements(text, encoder, namespaces)


def rows_of_statements(
    reader: StatementReader, encoder: RowEncoder, namespaces: bool
) -> Iterator[bytes]:
    """The rows of statements that are read."""
    declared: dict[str, str] = {}
    statements = iter(reader)
    while batch := list(islice(statements, BATCH)):
        if namespaces:
            for name, iri in reader.prefixes.items():
                if declared.get(name) != iri:
                    declared[name] = iri
                    yield encoder.add_prefix(name, iri)
        try:
            yield encoder.add(batch)
        except JellyError as error:
            raise _as_of(reader.name, error) from error


def _as_of(name: str, error: JellyError) -> JellyError:
    """The error as one of the source: rows of the output say nothing about it."""
    if error.source is None:
        error.row = None
    return error.locate(source=name)
