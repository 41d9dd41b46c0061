"""Conversions from any format to any other, in memory that does not grow with the sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import starmap
from typing import Any, Final, TypeAlias, cast

from ..codec import FrameSplitter, Limits, delimit
from ..errors import JellyError, SourceError
from ..io.names import Format, FormatKind, format_named, format_of
from ..io.progress import Progress
from ..io.sinks import Destination, Writable, open_output
from ..io.sources import Readable, Source, name_of
from ..io.streams import FrameBytes, FrameReader, encode_frames
from ..jena.names import JenaFormat
from .jelly_text import frame_text
from .reading import jelly_of_text, piped, reject_jelly
from .settings import (
    DEFAULT_SETTINGS,
    Conversion,
    ConversionSettings,
    Counter,
    Frames,
    Given,
    Job,
)
from .to_jelly import frames_of, several_to_jelly, statements_to_jelly, text_to_jelly
from .to_jena import any_prefixes, rows_of, to_jena
from .to_text import jelly_to_lines, jena_to_lines, statements_to_text
from .transcode import jelly_to_jelly


def convert(
    sources: Source | Sequence[Source],
    dst: Destination,
    *,
    source_format: Format | str | Sequence[Format] | None = None,
    target_format: Format | str | None = None,
    settings: ConversionSettings = DEFAULT_SETTINGS,
    progress: Progress | None = None,
) -> Conversion:
    """Convert between Jelly and other formats of RDF, in memory that does not grow with them.

    :param sources: a source, or a list or tuple of several that become one, in their order.
    :param dst: path or open binary file. A path is replaced only once everything is written.
    :param source_format: of the sources, a :class:`.Format` or its name: its file ending or title;
        or one for each source. By default the format follows from the sources' names.
    :param target_format: of the output; by default it follows from the output's name.
    :param settings: see :class:`~jelly_plugins.ConversionSettings`.
    :param progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it. From Jelly to its text form,
        statements are not read, and it is not called.
    :raises JellyError: a source cannot be read, or the target cannot express its contents.
    :raises ValueError: a format is unknown, or the settings do not go with the formats.

    >>> import io
    >>> nt, turtle = io.BytesIO(), b"@prefix x: <http://example.org/> . x:s x:p x:o, 1 ."
    >>> convert([turtle, turtle], nt, source_format="turtle", target_format="nt").statements
    4
    >>> print(nt.getvalue().decode().splitlines()[0])
    <http://example.org/s> <http://example.org/p> <http://example.org/o> .
    """
    several = list(sources) if isinstance(sources, list | tuple) else [cast(Source, sources)]
    target = format_named(target_format) if target_format else _format_of(dst, "target_format")
    if isinstance(source_format, str):
        formats = [format_named(source_format)] * len(several)
    elif source_format is None:
        formats = [_format_of(src, "source_format") for src in several]
    else:
        formats = list(map(format_named, source_format))
    if target is Format.JELLY_TEXT and settings.take_frames is None and formats == [Format.JELLY]:
        return _jelly_to_jelly_text(several[0], dst, settings)
    settings.check(formats, target)
    given = list(starmap(Given, zip(several, formats, strict=True)))
    for each in given:
        reject_jelly(each)
    if settings.take_frames is not None or Format.JELLY_TEXT in formats:
        given = [_prepared(each, settings) for each in given]
    way = _WAYS[target.kind][given[0].format.kind if len(given) == 1 else None]
    job = Job(given, settings, Counter(progress))
    if target is Format.JELLY_TEXT:
        with open_output(dst) as out:
            way(job, _TextOutput(out, settings.limits, name_of(dst)), Format.JELLY)
    else:
        way(job, dst, target)
    return job.counter.conversion()


def _format_of(named: object, parameter: str) -> Format:
    """The format that the name of a source or an output has.

    :raises ValueError: it has none.
    """
    found = format_of(named)
    if found is None:
        raise ValueError(f"the format of {named!r} is unknown: give {parameter}=")
    return found


# The ways from a format to another


def _through_rows(job: Job, dst: Destination, target: Format) -> None:
    """Convert text, or several sources, to text: through RDF Protobuf, which is made while it is
    read. It can express more than Jelly: base directions."""
    settings = replace(job.settings, namespaces=True)
    limits = any_prefixes(settings.limits)
    rows = rows_of(replace(job, settings=settings), JenaFormat.PROTOBUF, limits)
    made = piped(rows, job.given[0].source)
    if not job.single:
        # The sources may be Jelly with generalized statements.
        changes = replace(settings.changes, generalized_statements=True)
        settings = replace(settings, changes=changes)
    with as_of(name_of(made)):
        way = _WAYS[target.kind][FormatKind.JENA]
        # What is read is counted already.
        rest = Job([Given(made, Format.RDF_PROTOBUF)], replace(settings, limits=limits))
        way(rest, dst, target)


_Way: TypeAlias = Callable[[Job, Destination, Format], None]

#: The way to a kind of format from one source, by its kind, or from several (None).
_WAYS: Final[dict[FormatKind, dict[FormatKind | None, _Way]]] = {
    FormatKind.JELLY: {
        FormatKind.JELLY: jelly_to_jelly,
        FormatKind.LINES: text_to_jelly,
        FormatKind.TEXT: text_to_jelly,
        FormatKind.JENA: statements_to_jelly,
        None: several_to_jelly,
    },
    FormatKind.LINES: {
        FormatKind.JELLY: jelly_to_lines,
        FormatKind.LINES: _through_rows,
        FormatKind.TEXT: _through_rows,
        FormatKind.JENA: jena_to_lines,
        None: _through_rows,
    },
    FormatKind.TEXT: {
        FormatKind.JELLY: statements_to_text,
        FormatKind.LINES: _through_rows,
        FormatKind.TEXT: _through_rows,
        FormatKind.JENA: statements_to_text,
        None: _through_rows,
    },
    FormatKind.JENA: dict.fromkeys((*FormatKind, None), to_jena),
}


# Sources that are made while they are read


@contextmanager
def as_of(name: str) -> Iterator[None]:
    """Report errors in frames and rows that exist only here as errors of their source.

    :param name: of the source.
    """
    try:
        yield
    except JellyError as error:
        if (error.frame is None and error.row is None) or error.source not in (None, name):
            raise
        raise type(error)(error.message, source=name) from None


def as_jelly(given: Given, settings: ConversionSettings = DEFAULT_SETTINGS) -> Source:
    """A source of any format as Jelly that is made while the source is read.

    >>> from jelly_plugins import read
    >>> list(read(as_jelly(Given(b"<urn:s> a <urn:t> .", Format.TURTLE))))[0].object
    Iri(value='urn:t')
    """
    src, form = given
    if form is Format.JELLY:
        return src
    if form is Format.JELLY_TEXT:
        return jelly_of_text(src, settings.limits)
    reject_jelly(given)
    return piped(map(delimit, frames_of(given, settings)), src)


def as_rows(given: Given, settings: ConversionSettings = DEFAULT_SETTINGS) -> Readable:
    """RDF text as RDF Protobuf that is made while the text is read.

    >>> from jelly_plugins import jena
    >>> rows = as_rows(Given(b"<urn:s> a <urn:t> .", Format.TURTLE))
    >>> list(jena.read(rows, format=jena.JenaFormat.PROTOBUF))[0].object
    Iri(value='urn:t')
    """
    reject_jelly(given)
    rows = rows_of(Job([given], settings), JenaFormat.PROTOBUF, settings.limits)
    return piped(rows, given.source)


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
                out.write(frame_text(frame, index))
        except JellyError as error:
            error.locate(source=frames.name)
            raise
    return Conversion(statements=0)


class _TextOutput:
    """Writes the Jelly that it is given as text."""

    def __init__(self, out: Writable, limits: Limits, name: str) -> None:
        #: How errors name the output.
        self.name = name
        self._out = out
        self._splitter = FrameSplitter(limits=limits)
        self._frames = 0

    def write(self, data: bytes, /) -> None:
        for frame in self._splitter.feed(data):
            self._out.write(frame_text(frame, self._frames))
            self._frames += 1
