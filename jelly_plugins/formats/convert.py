"""The table of formats, and conversions from any format to any other, in memory that does not grow
with the sources.

A format is one row of the table, a reader and a writer. A conversion is ``reader -> chunks ->
writer``; from Jelly to Jelly, frames stay, see ``transcode``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any, Final, NamedTuple, TypeAlias, Unpack, cast

from ..backends import get_backend
from ..codec import AnyFrame, Decoder, Limits, PhysicalType, Statement, delimit
from ..codec.common.detection import kind_of
from ..codec.text.ntriples import parse_nquads, parse_ntriples
from ..errors import JellyError, LimitError, SourceError, TermError, shown
from ..io.chunks import ChunkFile, ChunkReader, Joined
from ..io.sinks import Destination, Writable, is_replaceable, open_output
from ..io.sources import (
    Format,
    FormatName,
    Input,
    Readable,
    Source,
    format_named,
    format_of,
    name_of,
    rewinder,
    without_mark,
)
from ..io.streams import (
    GENERIC,
    FrameBytes,
    FrameReader,
    Progress,
    encode_frames,
    opens_with_options,
)
from . import jelly, lines, parsed
from .jelly_text import frame_text, frames_of_text, text_output
from .settings import (
    DEFAULT_SETTINGS,
    Conversion,
    ConversionOptions,
    ConversionSettings,
    Counter,
    Frames,
    Given,
    Job,
)
from .transcode import check_metadata, transcode

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
        namespaces=settings.namespaces,
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
                yield from frames_of_text(without_mark(source.chunks()), limits)
            except JellyError as error:
                error.locate(source=source.name)
                raise

    return piped(map(delimit, frames()), src)


def _as_jelly(given: Given, limits: Limits) -> Given:
    """A source, with the text form of Jelly as Jelly."""
    if given.format is Format.JELLY_TEXT:
        return Given(jelly_of_text(given.source, limits), Format.JELLY)
    return given


def open_reader(given: Given, job: Job) -> ChunkReader:
    """Open a source."""
    given = _as_jelly(given, job.settings.limits)
    reject_jelly(given)
    return FORMATS[given.format].read(*given, job)


def open_readers(given: Sequence[Given], job: Job) -> ChunkReader:
    """Open a source, or several as one, each when its turn comes."""
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
    """
    src, form = _as_jelly(Given(src, form), settings.limits)
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


# Conversions


def convert(
    sources: Source | Sequence[Source],
    dst: Destination,
    *,
    source_format: FormatName | Sequence[FormatName] | None = None,
    target_format: FormatName | None = None,
    settings: ConversionSettings = DEFAULT_SETTINGS,
    progress: Progress | None = None,
    **options: Unpack[ConversionOptions],
) -> Conversion:
    """Convert between Jelly and other formats of RDF, in memory that does not grow with them.

    :param sources: a source, or a list or tuple of several that become one, in their order.
    :param dst: path or open binary file. A path is replaced only once everything is written.
    :param source_format: of the sources, a :class:`.Format` or its name: a file ending, a title, a
        media type, or pyoxigraph's ``RdfFormat``; or a sequence with one for each source. By
        default it follows from the sources' names.
    :param target_format: of the output; by default it follows from the output's name.
    :param settings: see :class:`~jelly_plugins.ConversionSettings`.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it. From Jelly to its text form,
        statements are not read, and it is not called.
    :param options: fields of the settings, as keyword arguments.
    :raises JellyError: a source cannot be read, or the target cannot express its contents.
    :raises ValueError: a format is unknown, or the settings do not go with the formats.

    >>> import io
    >>> nt, turtle = io.BytesIO(), b"@prefix x: <http://example.org/> . x:s x:p x:o, 1 ."
    >>> convert([turtle, turtle], nt, source_format="turtle", target_format="nt").statements
    4
    >>> print(nt.getvalue().decode().splitlines()[0])
    <http://example.org/s> <http://example.org/p> <http://example.org/o> .
    """
    settings = replace(settings, **options)
    several = list(sources) if isinstance(sources, list | tuple) else [cast(Source, sources)]
    target = format_named(target_format) if target_format else _format_of(dst, "target_format")
    if source_format is None:
        formats = [_format_of(src, "source_format") for src in several]
    elif isinstance(source_format, str) or not isinstance(source_format, Sequence):
        formats = [format_named(source_format)] * len(several)
    else:
        formats = list(map(format_named, source_format))
    if target is Format.JELLY_TEXT and settings.take_frames is None and formats == [Format.JELLY]:
        return _jelly_to_jelly_text(several[0], dst, settings)
    settings.check(formats, target)
    pairs = starmap(Given, zip(several, formats, strict=True))
    given = [_as_jelly(each, settings.limits) for each in pairs]
    if settings.take_frames is not None:
        given = [Given(_taken(each, settings), Format.JELLY) for each in given]
    counter = Counter(progress)
    out: Destination
    with (
        text_output(dst, settings.limits)
        if target is Format.JELLY_TEXT
        else nullcontext(dst) as out
    ):
        # The text form is made of whole frames of Jelly.
        target = Format.JELLY if target is Format.JELLY_TEXT else target
        if {target, *(form for _, form in given)} == {Format.JELLY}:
            transcode([src for src, _ in given], out, settings, counter=counter)
        else:
            _by_chunks(given, out, target, Job(settings=settings, counter=counter))
    return counter.conversion()


def _by_chunks(given: Sequence[Given], dst: Destination, target: Format, job: Job) -> None:
    """Convert by way of N-Quads text.

    Options come first in a stream of Jelly, and ``rdf_star`` must be declared if quoted triples
    follow. If one follows that was not declared, everything is read and written again, if that is
    possible.
    """
    row = FORMATS[target]
    job = replace(
        job,
        validator=get_backend("oxigraph").factory(blank_nodes="keep") if row.by_oxigraph else None,
        on_frame=partial(_check_frame, lossy=job.settings.lossy)
        if target is Format.JELLY
        else job.counter.count_left_out,
    )
    rewinders = [found for src, _ in given if (found := rewinder(src)) is not None]
    try:
        with open_readers(given, job) as source, open_output(dst) as out:
            try:
                row.write(source, out, target, job)
            except JellyError as error:
                raise source.located(error) from error.__cause__
            job.counter.end()
    except jelly.UndeclaredError:
        untouched = not job.counter.frames or is_replaceable(dst)
        if job.settings.changes.rdf_star is not None or job.star or not untouched:
            raise
        if len(rewinders) < len(given):
            raise
        for rewind in rewinders:
            rewind()
        job.counter.restart()
        _by_chunks(given, dst, target, replace(job, star=True))


def _check_frame(frame: AnyFrame, *, lossy: bool) -> None:
    """Check a frame of Jelly that becomes a part of other frames."""
    check_metadata(frame, lossy=lossy)
    if frame.empty_graphs and not lossy:
        raise TermError(
            "an empty graph can only be kept where all sources are Jelly; discard it with lossy",
            frame=frame.index,
        )


def _format_of(named: object, parameter: str) -> Format:
    """The format that the name of a source or an output has."""
    found = format_of(named)
    if found is None:
        raise ValueError(f"the format of {shown(name_of(named))} is unknown: give {parameter}=")
    return found


# Parts of sources


def _taken(given: Given, settings: ConversionSettings) -> Source:
    """The frames of a source that are converted, as a stream that is made while they are read."""
    src, wanted = given.source, settings.take_frames
    assert wanted is not None

    def frames() -> Iterator[bytes]:
        with FrameReader(src, **settings.reading) as reader:
            chosen = _chosen(reader, wanted)
            yield from encode_frames(chosen, options=reader.options, limits=settings.limits)

    return piped(map(delimit, frames()), src)


def _chosen(frames: FrameReader, wanted: Frames) -> Iterator[Any]:
    namespaces: list[Any] = []
    number = -1
    for number, frame in enumerate(frames):
        if number < wanted.first:
            namespaces += frame.namespaces
            continue
        frame.namespaces[:0] = dict(namespaces).items()
        namespaces.clear()
        yield frame
        if number == wanted.last:
            return
    if number < wanted.first:
        raise SourceError(
            f"no frame {wanted.first:,}: the stream has {number + 1:,}", source=frames.name
        )


# The text form of Jelly


def _jelly_to_jelly_text(src: Source, dst: Destination, settings: ConversionSettings) -> Conversion:
    """Write frames as text, whether they are valid or not, but within the limits."""
    source = FrameBytes(src, strict=settings.strict, limits=settings.limits)
    with source as frames, open_output(dst) as out:
        try:
            for index, frame in enumerate(_within_limits(frames, settings)):
                for text in frame_text(frame, index):
                    out.write(text)
        except JellyError as error:
            error.locate(source=frames.name)
            raise
    return Conversion(statements=0)


def _within_limits(frames: Iterable[bytes], settings: ConversionSettings) -> Iterator[bytes]:
    """Frames, checked against the limits up to the first one that is invalid, and again from the
    next options."""
    decoder: Any = None
    for index, frame in enumerate(frames):
        opens = opens_with_options(frame)
        if (opens and settings.concatenated) or decoder is None or not _is_valid(frame, decoder):
            decoder = Decoder(GENERIC, limits=settings.limits, first_frame=index) if opens else None
            if decoder is not None and not _is_valid(frame, decoder):
                decoder = None
        yield frame


def _is_valid(frame: bytes, decoder: Any) -> bool:
    try:
        decoder.decode(frame)
    except LimitError:
        raise
    except JellyError:
        return False
    return True
