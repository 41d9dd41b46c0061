"""Conversions from any format to any other, in memory that does not grow with the sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import starmap
from typing import Any, Unpack, cast

from ..backends import get_backend
from ..codec import AnyFrame, delimit
from ..errors import JellyError, SourceError, TermError
from ..io.sinks import Destination, is_replaceable, open_output
from ..io.sources import Format, FormatName, Source, format_named, format_of, rewinder
from ..io.streams import FrameBytes, FrameReader, Progress, encode_frames
from .jelly import UndeclaredError
from .jelly_text import frame_text, text_output
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
from .table import FORMATS, jelly_of_text, open_readers, piped
from .transcode import check_metadata, transcode


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
    given = list(starmap(Given, zip(several, formats, strict=True)))
    if settings.take_frames is not None or Format.JELLY_TEXT in formats:
        given = [_prepared(each, settings) for each in given]
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

    :raises UndeclaredError: it is not possible: the sources cannot be read again, or a part of the
        output is already written.
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
    except UndeclaredError:
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
    """Check a frame of Jelly that becomes a part of other frames.

    :raises JellyError: it has metadata or empty graphs, which would be lost.
    """
    check_metadata(frame, lossy=lossy)
    if frame.empty_graphs and not lossy:
        raise TermError(
            "an empty graph can only be kept where all sources are Jelly; discard it with lossy",
            frame=frame.index,
        )


def _format_of(named: object, parameter: str) -> Format:
    """The format that the name of a source or an output has.

    :raises ValueError: it has none.
    """
    found = format_of(named)
    if found is None:
        raise ValueError(f"the format of {named!r} is unknown: give {parameter}=")
    return found


# Sources that are made while they are read


def _prepared(given: Given, settings: ConversionSettings) -> Given:
    """A source, with the text form of Jelly as Jelly, and of Jelly only the frames to convert."""
    src, form = given
    if form is Format.JELLY_TEXT:
        src, form = jelly_of_text(src, settings.limits), Format.JELLY
    if settings.take_frames is not None:
        src = piped(map(delimit, _taken(src, settings.take_frames, settings)), src)
    return Given(src, form)


def _taken(src: Source, wanted: Frames, settings: ConversionSettings) -> Iterator[bytes]:
    """Some frames of a stream, as a stream."""
    with FrameReader(src, **settings.reading) as frames:
        yield from encode_frames(
            _chosen(frames, wanted), options=frames.options, limits=settings.limits
        )


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
    """Write frames as text, whether they are valid or not."""
    source = FrameBytes(src, strict=settings.strict, limits=settings.limits)
    with source as frames, open_output(dst) as out:
        try:
            for index, frame in enumerate(frames):
                for text in frame_text(frame, index):
                    out.write(text)
        except JellyError as error:
            error.locate(source=frames.name)
            raise
    return Conversion(statements=0)
