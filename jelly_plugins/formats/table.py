"""The table of formats: how each is read as chunks of N-Quads and written from them.

A format is one row, a reader and a writer. A conversion is ``reader -> chunks -> writer``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias, cast

from ..codec import Limits, PhysicalType, Statement, delimit
from ..codec.common.detection import kind_of
from ..codec.text.ntriples import parse_nquads, parse_ntriples
from ..errors import JellyError, SourceError
from ..io.chunks import ChunkFile, ChunkReader, Joined
from ..io.sinks import Writable
from ..io.sources import Format, Input, Readable, Source, name_of, rewinder
from ..io.streams import FrameReader
from . import jelly, lines, parsed
from .jelly_text import frames_of_text
from .settings import DEFAULT_SETTINGS, ConversionSettings, Given, Job

#: Opens a source of a format.
Read: TypeAlias = Callable[[Source, Format, Job], ChunkReader]
#: Writes the statements of a source in a format.
Write: TypeAlias = Callable[[ChunkReader, Writable, Format, Job], None]


class Row(NamedTuple):
    """A format of the table.

    :ivar by_oxigraph: whether Oxigraph writes it, and rejects some terms.
    """

    read: Read
    write: Write
    by_oxigraph: bool = False


def _read_rows(src: Source, format: Format, job: Job) -> ChunkReader:  # noqa: A002
    from ..jena.streams import RowsReader

    return RowsReader(src, format, limits=job.settings.limits)


def _write_rows(source: ChunkReader, out: Writable, format: Format, job: Job) -> None:  # noqa: A002
    from ..jena.names import JenaFormat
    from ..jena.streams import write_rows

    settings = job.settings
    write_rows(
        source,
        out,
        JenaFormat(format),
        namespaces=bool(settings.namespaces),
        # The prefixes of the source may be any number.
        limits=replace(settings.limits, prefix_table=1 << 40),
        count=job.counter.add,
    )


_LINES: Final = Row(lines.LinesReader, lines.write)
_PARSED: Final = Row(parsed.ParsedReader, parsed.write, by_oxigraph=True)
_ROWS: Final = Row(_read_rows, _write_rows)

FORMATS: Final[dict[Format, Row]] = {
    Format.JELLY: Row(jelly.JellyReader, jelly.write),
    Format.N_TRIPLES: _LINES,
    Format.N_QUADS: _LINES,
    Format.TURTLE: _PARSED,
    Format.TRIG: _PARSED,
    Format.RDF_XML: _PARSED,
    Format.JSON_LD: _PARSED,
    Format.RDF_THRIFT: _ROWS,
    Format.RDF_PROTOBUF: _ROWS,
}


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
    if is_url or form.is_binary or form is Format.JELLY_TEXT:
        return
    rewind = rewinder(src)
    if rewind is None:
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


def open_reader(given: Given, job: Job) -> ChunkReader:
    """Open a source.

    :raises SourceError: it cannot be opened, or is Jelly and was given as text.
    """
    src, form = given
    if form is Format.JELLY_TEXT:
        src, form = jelly_of_text(src, job.settings.limits), Format.JELLY
    reject_jelly(Given(src, form))
    return FORMATS[form].read(src, form, job)


def open_readers(given: Sequence[Given], job: Job) -> ChunkReader:
    """Open a source, or several as one, each when its turn comes.

    :raises SourceError: the first cannot be opened.
    """
    if len(given) == 1:
        return open_reader(given[0], job)
    return Joined(
        (open_reader(each, job) for each in given),
        fresh=job.settings.blank_nodes == "fresh",
        has_graphs=any(_has_graphs(each, job) for each in given),
        # Lines are checked when they are parsed.
        validated=False,
    )


def _has_graphs(given: Given, job: Job) -> bool:
    """Whether a source may have named graphs, as far as that can be seen without reading it."""
    src, form = given
    rewind = rewinder(src) if form is Format.JELLY else None
    if rewind is None:
        return form.has_graphs
    with FrameReader(src, **job.settings.reading) as frames:
        quads = frames.options.physical_type is not PhysicalType.TRIPLES
    rewind()
    return quads


def read_statements(
    src: Source,
    form: Format,
    settings: ConversionSettings = DEFAULT_SETTINGS,
    *,
    generalized: bool = False,
) -> Iterator[Statement]:
    """The statements of a source in any format, one after the other, in generic terms. Base
    directions are part of language tags.

    :raises JellyError: while iterating.

    >>> list(read_statements(b"<urn:s> a <urn:o> .", Format.TURTLE))[0].object
    Iri(value='urn:o')
    """
    if form is Format.JELLY_TEXT:
        src, form = jelly_of_text(src, settings.limits), Format.JELLY
    if form is Format.JELLY:
        with FrameReader(src, **settings.reading) as frames:
            for frame in frames:
                yield from frame.statements
        return
    with open_reader(Given(src, form), Job(settings=settings)) as reader:
        parse: Any = parse_nquads if form.has_graphs else parse_ntriples
        try:
            yield from parse(
                reader.lines(),
                dialect=settings.dialect,
                generalized=generalized,
                base_directions=True,
                limits=settings.limits,
            )
        except JellyError as error:
            raise reader.located(error) from error.__cause__
