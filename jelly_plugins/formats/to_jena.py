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
from .reading import TextReader
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
    reading: dict[str, Any] = {"generalized": settings.generalized, "limits": settings.limits}
    writing = {"value_forms": settings.value_forms, **reading}
    counter = FrameCounter()
    rows: Iterator[bytes]
    encoder: RowEncoder
    if source_format in (Format.N_TRIPLES, Format.N_QUADS):
        lines = LineEncoder(target_format, quads=source_format is Format.N_QUADS, **writing)
        encoder = lines.rows
        rows = _rows_of_lines(src, lines)
    else:
        encoder = RowEncoder(target_format, **writing)
        if source_format is Format.JELLY:
            frames = FrameReader(src, **settings.reading)
            rows = _rows_of_frames(frames, encoder, counter)
        elif source_format.is_jena:
            batches = JenaReader(src, format=JenaFormat(source_format), **reading)
            rows = _rows_of_frames(batches, encoder, counter)
        else:
            text = TextReader(src, source_format, base=settings.base, **reading)
            rows = _rows_of_text(text, encoder, bool(settings.namespaces))
    with open_output(dst) as out:
        for data in rows:
            out.write(data)
    return counter.conversion(encoder.statements)


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
    declared: dict[str, str] = {}
    with text:
        while batch := list(islice(text, BATCH)):
            if namespaces:
                for name, iri in text.prefixes.items():
                    if declared.get(name) != iri:
                        declared[name] = iri
                        yield encoder.add_prefix(name, iri)
            try:
                yield encoder.add(batch)
            except JellyError as error:
                raise _as_of(text.name, error) from error


def _as_of(name: str, error: JellyError) -> JellyError:
    """The error as one of the source: rows of the output say nothing about it."""
    if error.source is None:
        error.row = None
    return error.locate(source=name)
