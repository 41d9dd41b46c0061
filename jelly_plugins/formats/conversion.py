"""From any formats to any other: what takes several of the steps of ``convert``.

Text for other text, and several sources, become one stream first, which the next step reads as it
is made. That stream is RDF Protobuf, which can express more than Jelly: base directions.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, cast

from ..backends import BlankNodes
from ..codec import (
    DEFAULT_LIMITS,
    BlankNode,
    FrameSplitter,
    Limits,
    LogicalType,
    PhysicalType,
    Quad,
    Statement,
    StreamOptions,
    Triple,
    delimit,
)
from ..codec.rdf.options import GROUPED
from ..codec.text.ntriples import Notation
from ..errors import JellyError, OptionsError, SourceError
from ..io.sinks import Destination, Writable, open_output
from ..io.sources import Input, Readable, Source, rewinder
from ..io.streams import GENERIC, FrameBytes, FrameReader, encode_frames
from ..jena.codec import RowEncoder
from ..jena.names import JenaFormat
from . import convert as steps
from .convert import Encoding, StatementEncoding
from .counting import Conversion, FrameCounter
from .jelly_text import frame_text, frames_of_text
from .names import Format, format_named, format_of
from .reading import PieceFile, TextReader
from .settings import DEFAULT_SETTINGS, ConversionSettings, Namespaces, OptionChanges
from .to_jena import rows_of, rows_of_statements
from .transcode import ScopedFactory

#: More prefixes than a stream declares.
_UNBOUNDED: Final = 1 << 40


class Frames(NamedTuple):
    """A range of frames, counted from 0.

    :ivar last: the last of them; None for all from the first on.
    """

    first: int
    last: int | None


def convert(
    sources: Source | Sequence[Source],
    dst: Destination,
    *,
    source_format: Format | str | Sequence[Format] | None = None,
    target_format: Format | str | None = None,
    changes: OptionChanges = DEFAULT_SETTINGS.changes,
    take_frames: Frames | None = None,
    frame_rows: int | None = None,
    frame_bytes: int | None = None,
    restart_every: int | None = None,
    namespaces: Namespaces = False,
    base: str | None = None,
    blank_nodes: BlankNodes = "fresh",
    concatenated: bool = False,
    lossy: bool = False,
    notation: Notation = Notation.RDF_1_2,
    strict: bool = False,
    delimited: bool = True,
    value_forms: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Conversion:
    """Convert between Jelly and other formats of RDF, in memory that does not grow with them.

    :param sources: a source, or a list or tuple of several that become one, in their order.
    :param dst: path or open binary file. A path is replaced only once everything is written.
    :param source_format: of the sources, a :class:`.Format` or what it is called: its file ending,
        or its title, or such a one for each; by default their names tell.
    :param target_format: of the output; by default its name tells.
    :param take_frames: of Jelly sources, these frames of each; namespaces that were declared before
        them are declared in the first.
    :raises JellyError: a source cannot be read, or the target cannot say what it says.
    :raises ValueError: no name tells a format, or there is none of the name that is given; or
        ``take_frames`` of what has no frames.

    See :class:`~jelly_plugins.formats.settings.ConversionSettings` for the other parameters.

    >>> import io
    >>> nt, turtle = io.BytesIO(), b"@prefix x: <http://example.org/> . x:s x:p x:o, 1 ."
    >>> convert([turtle, turtle], nt, source_format="turtle", target_format="nt").statements
    4
    >>> print(nt.getvalue().decode().splitlines()[0])
    <http://example.org/s> <http://example.org/p> <http://example.org/o> .
    """
    settings = ConversionSettings(
        changes=changes,
        frame_rows=frame_rows,
        frame_bytes=frame_bytes,
        restart_every=restart_every,
        namespaces=namespaces,
        base=base,
        blank_nodes=blank_nodes,
        concatenated=concatenated,
        lossy=lossy,
        notation=notation,
        strict=strict,
        delimited=delimited,
        value_forms=value_forms,
        limits=limits,
    )
    if not isinstance(sources, list | tuple):
        sources = [cast(Source, sources)]
    if not sources:
        raise ValueError("there is no source")
    target = _told(dst, target_format, "target_format")
    several = source_format if isinstance(source_format, list | tuple) else [source_format]
    given = [
        (each, _told(each, form, "source_format"))
        for each, form in zip(
            sources, several * (len(sources) if len(several) == 1 else 1), strict=True
        )
    ]
    if target is Format.JELLY_TEXT and take_frames is None and _is_one_jelly(given):
        return _as_text(given[0][0], dst, settings)
    given = [
        (jelly_of_text(src, limits), Format.JELLY) if form is Format.JELLY_TEXT else (src, form)
        for src, form in given
    ]
    if take_frames is not None:
        if any(form is not Format.JELLY for _, form in given):
            raise ValueError("only Jelly has frames to be taken")
        given = [
            (_piped(map(delimit, _taken(src, take_frames, settings)), src), form)
            for src, form in given
        ]
    if target in (Format.JELLY, Format.JELLY_TEXT) and changes.logical_type is not None:
        regrouped = frame_rows is not None or frame_bytes is not None
        _check_elements(changes.logical_type, given, regrouped=regrouped)
    if not delimited and not _is_one_jelly(given):
        # As large a frame as may be.
        settings = replace(
            settings,
            frame_rows=frame_rows or limits.frame_rows,
            frame_bytes=frame_bytes or limits.frame_bytes,
        )
    if target is Format.JELLY_TEXT:
        with open_output(dst) as out:
            return _convert(given, _TextOutput(out, limits), Format.JELLY, settings)
    return _convert(given, dst, target, settings)


def _convert(
    given: list[tuple[Source, Format]],
    dst: Destination,
    target: Format,
    settings: ConversionSettings,
) -> Conversion:
    """Convert sources of any formats but Jelly's text."""
    made: Readable | None = None
    src, form = given[0]
    if len(given) > 1 and {target, *(each for _, each in given)} != {Format.JELLY}:
        merging = _Merging(given, settings)
        if target is Format.JELLY:
            return merging.write(dst)
        made = _piped(merging.rows(), src)
        # The sources may be Jelly with generalized statements.
        generalized = replace(settings.changes, generalized_statements=True)
        settings = replace(_unlimited(settings), changes=generalized)
    elif not (form.is_binary or target.is_binary):
        settings = _unlimited(settings)
        writing = replace(settings, namespaces=True)
        _, rows = rows_of(src, form, JenaFormat.PROTOBUF, writing, FrameCounter())
        made = _piped(rows, src)
    if made is not None:
        given = [(made, Format.RDF_PROTOBUF)]
    with nullcontext() if made is None else as_of(_name_of(made)):
        return steps.convert(
            [src for src, _ in given],
            dst,
            source_format=given[0][1],
            target_format=target,
            settings=settings,
        )


def _unlimited(settings: ConversionSettings) -> ConversionSettings:
    """Settings for rows that exist only here: they may declare as many prefixes as text may."""
    return replace(settings, limits=replace(settings.limits, prefix_table=_UNBOUNDED))


def _told(named: object, given: Format | str | None, parameter: str) -> Format:
    """The format of a source or an output: as given, or as its name tells.

    :raises ValueError: there is none.
    """
    if given is not None:
        return given if isinstance(given, Format) else format_named(given)
    name = os.fspath(named) if isinstance(named, str | os.PathLike) else getattr(named, "name", "")
    found = format_of(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"no name tells the format of {named!r}: {parameter}= is needed")
    return found


def _check_elements(
    logical_type: LogicalType, given: list[tuple[Source, Format]], *, regrouped: bool
) -> None:
    """Reject a logical type whose elements a conversion cannot make.

    :param regrouped: whether the size of frames is given.
    :raises OptionsError: frames of that size are not the elements, or a source has no frames and is
        not an element by itself.
    """
    if not StreamOptions(logical_type=logical_type).grouped:
        return
    if regrouped:
        raise OptionsError(
            f"frames of logical type {logical_type.name} are its elements: give no size of frames"
        )
    if logical_type not in GROUPED and any(form is not Format.JELLY for _, form in given):
        raise OptionsError(
            f"a source that is not Jelly has no frames for logical type {logical_type.name}"
        )


def _is_one_jelly(given: list[tuple[Source, Format]]) -> bool:
    return len(given) == 1 and given[0][1] is Format.JELLY


# Jelly that is still being made


def _piped(chunks: Iterator[bytes], src: Source) -> Readable:
    """Chunks of bytes as a source with the name of another one."""
    pipe: Any = PieceFile(chunks)
    pipe.name = os.fspath(src) if isinstance(src, str | os.PathLike) else _name_of(src)
    return cast(Readable, pipe)


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
        raise type(error)(error.message, source=name) from error


def _name_of(src: object) -> str:
    if isinstance(src, bytes | bytearray | memoryview):
        return "<bytes>"
    return str(getattr(src, "name", None) or f"<{type(src).__name__}>")


def as_rows(
    src: Source,
    format: Format,  # noqa: A002
    *,
    base: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Readable:
    """RDF text as RDF Protobuf that is made while the text is read.

    >>> from jelly_plugins import jena
    >>> rows = as_rows(b"<urn:s> a <urn:t> .", Format.TURTLE)
    >>> list(jena.read(rows, format=jena.JenaFormat.PROTOBUF))[0].object
    Iri(value='urn:t')
    """
    settings = ConversionSettings(base=base, limits=limits)
    _, rows = rows_of(src, format, JenaFormat.PROTOBUF, settings, FrameCounter())
    return _piped(rows, src)


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
            f"there is no frame {wanted.first:,}: the stream has {number + 1:,}", source=frames.name
        )


# The text form of Jelly


def jelly_of_text(src: Source, limits: Limits) -> Readable:
    """The text form of Jelly as Jelly that is made while the text is read."""

    def frames() -> Iterator[bytes]:
        with Input(src) as source:
            try:
                yield from frames_of_text(source.pieces(), limits)
            except JellyError as error:
                error.locate(source=source.name)
                raise

    return _piped(map(delimit, frames()), src)


def _as_text(src: Source, dst: Destination, settings: ConversionSettings) -> Conversion:
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
    """What a Jelly stream is written to that is to be text."""

    def __init__(self, out: Writable, limits: Limits) -> None:
        self._out = out
        self._splitter = FrameSplitter(limits=limits)
        self._frames = 0

    def write(self, data: bytes, /) -> None:
        for frame in self._splitter.feed(data):
            self._out.write(frame_text(frame, self._frames))
            self._frames += 1


# Several sources


class _Merging:
    """Several sources of any formats as one stream."""

    def __init__(self, given: list[tuple[Source, Format]], settings: ConversionSettings) -> None:
        self._given = given
        self._settings = settings

    def rows(self) -> Iterator[bytes]:
        """The stream as rows of RDF Protobuf."""
        limits = _unlimited(self._settings).limits
        encoder = RowEncoder(JenaFormat.PROTOBUF, generalized=True, limits=limits)
        with _MergedReader(self._given, self._settings, True, directions=True) as reader:
            yield from rows_of_statements(reader, encoder, namespaces=True)

    def write(self, dst: Destination) -> Conversion:
        """Write the stream as Jelly."""
        settings = self._settings
        physical_type = self._physical_type()
        options = settings.changes.applied(StreamOptions.flat(physical_type))
        rewinders = [rewinder(src) for src, _ in self._given]

        def again() -> None:
            for rewind in rewinders:
                assert rewind is not None
                rewind()

        once = None in rewinders or settings.changes.rdf_star is False
        return steps.write_encoding(
            partial(self._opened, settings),
            dst,
            options,
            again=None if once else again,
            delimited=settings.delimited,
        )

    @contextmanager
    def _opened(self, writing: ConversionSettings, options: StreamOptions) -> Iterator[Encoding]:
        generalized = options.generalized_statements
        with _MergedReader(self._given, self._settings, generalized, directions=False) as reader:
            yield StatementEncoding(reader, options, writing)

    def _physical_type(self) -> PhysicalType:
        """Of triples, if it is known that no source has anything else."""
        graphs = any(self._has_graphs(src, form) for src, form in self._given)
        return PhysicalType.QUADS if graphs else PhysicalType.TRIPLES

    def _has_graphs(self, src: Source, form: Format) -> bool:
        rewind = rewinder(src)
        if form is not Format.JELLY or rewind is None:
            return form.has_graphs
        with FrameReader(src, **self._settings.reading) as frames:
            found = frames.options.physical_type is not PhysicalType.TRIPLES
        rewind()
        return found


class _MergedReader:
    """The statements of several sources; see :class:`.StatementReader`."""

    def __init__(
        self,
        given: list[tuple[Source, Format]],
        settings: ConversionSettings,
        generalized: bool,
        *,
        directions: bool,
    ) -> None:
        self._given = given
        self._fresh = settings.blank_nodes == "fresh"
        self._settings = settings
        self._generalized = generalized
        self._directions = directions
        self.name = _name_of(given[0][0])
        self.prefixes: dict[str, str] = {}
        self._statements = self._read()

    def __enter__(self) -> _MergedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self._statements.close()

    def __iter__(self) -> Iterator[Statement]:
        return self._statements

    def _read(self) -> Generator[Statement]:
        for scope, (src, form) in enumerate(self._given):
            if form is Format.JELLY:
                yield from self._of_jelly(src, scope)
            else:
                yield from self._of_text(src, form, scope)

    def _of_jelly(self, src: Source, scope: int) -> Iterator[Statement]:
        factory = ScopedFactory(scope) if self._fresh else GENERIC
        with FrameReader(src, factory=factory, **self._settings.reading) as frames:
            self.name = frames.name
            for frame in frames:
                self.prefixes |= {name: iri.value for name, iri in frame.namespaces}
                yield from frame.statements

    def _of_text(self, src: Source, form: Format, scope: int) -> Iterator[Statement]:
        with TextReader(
            src,
            form,
            base=self._settings.base,
            generalized=self._generalized,
            directions=self._directions,
            dialect=self._settings.dialect,
            limits=self._settings.limits,
        ) as text:
            self.name = text.name
            for statement in text:
                self.prefixes |= text.prefixes
                yield _scoped(statement, scope) if self._fresh else statement


def _scoped(statement: Any, scope: int) -> Any:
    """A statement whose blank nodes carry the number of their source, as those of Jelly do."""
    terms = [
        BlankNode(f"s{scope}.{term.label}")
        if isinstance(term, BlankNode)
        else (_scoped(term, scope) if isinstance(term, Triple) else term)
        for term in statement
    ]
    return Quad._make(terms) if isinstance(statement, Quad) else Triple._make(terms)
