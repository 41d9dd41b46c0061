"""Any format to RDF Thrift or RDF Protobuf.

Namespaces of Jelly and prefixes of Jena's formats are always declared, those of text if
``namespaces`` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final, TypeAlias

from ..errors import JellyError
from ..io.sinks import Destination, open_output
from ..io.sources import Input, without_mark
from ..io.streams import BATCH, FrameReader
from ..jena.codec import LineEncoder, RowEncoder
from ..jena.names import JenaFormat
from ..jena.streams import JenaReader
from .names import Format
from .reading import StatementReader, TextReader
from .settings import Conversion, ConversionSettings, FrameCounter, Given

#: Makes rows of a source, and counts what is in it.
Rows: TypeAlias = Callable[[Given, JenaFormat, ConversionSettings, FrameCounter], Iterator[bytes]]


def rows_of_lines(
    given: Given, target: JenaFormat, settings: ConversionSettings, counter: FrameCounter
) -> Iterator[bytes]:
    """The rows of N-Triples or N-Quads, made without terms in between."""
    lines = LineEncoder(
        target, quads=given.format.has_graphs, dialect=settings.dialect, **settings.rows
    )
    with Input(given.source) as source:
        try:
            yield from lines.encode(without_mark(source.pieces()))
        except JellyError as error:
            raise _as_of(source.name, error) from error
    counter.statements = lines.statements


def rows_of_text(
    given: Given, target: JenaFormat, settings: ConversionSettings, counter: FrameCounter
) -> Iterator[bytes]:
    """The rows of other RDF text."""
    encoder = RowEncoder(target, **settings.rows)
    text = TextReader(
        given.source,
        given.format,
        base=settings.base,
        generalized=settings.generalized,
        directions=True,
        limits=settings.limits,
    )
    with text:
        yield from rows_of_statements(text, encoder, bool(settings.namespaces))
    counter.statements = encoder.statements


def rows_of_jelly(
    given: Given, target: JenaFormat, settings: ConversionSettings, counter: FrameCounter
) -> Iterator[bytes]:
    """The rows of a Jelly stream."""
    frames = FrameReader(given.source, **settings.reading)
    yield from _rows_of_frames(frames, RowEncoder(target, **settings.rows), counter)


def rows_of_jena(
    given: Given, target: JenaFormat, settings: ConversionSettings, counter: FrameCounter
) -> Iterator[bytes]:
    """The rows of RDF Thrift or RDF Protobuf."""
    batches = JenaReader(
        given.source,
        format=JenaFormat(given.format),
        generalized=settings.generalized,
        limits=settings.limits,
    )
    yield from _rows_of_frames(batches, RowEncoder(target, **settings.rows), counter)


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


def _write(
    rows: Rows,
    given: Sequence[Given],
    dst: Destination,
    target: Format,
    settings: ConversionSettings,
) -> Conversion:
    """Write the rows of a source.

    :raises JellyError: the source cannot be read, or a statement cannot be written.
    """
    counter = FrameCounter()
    with open_output(dst) as out:
        for data in rows(given[0], JenaFormat(target), settings, counter):
            out.write(data)
    return counter.conversion()


lines_to_jena: Final = partial(_write, rows_of_lines)
text_to_jena: Final = partial(_write, rows_of_text)
jelly_to_jena: Final = partial(_write, rows_of_jelly)
jena_to_jena: Final = partial(_write, rows_of_jena)
