"""Whole streams: files to statements and back, on top of the codec, in generic or any other terms.

Three ways to see a stream, for reading and for writing: flat (statements), grouped (one graph or
dataset per frame) and by frame.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import (
    Any,
    BinaryIO,
    Final,
    Generic,
    NamedTuple,
    NoReturn,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyFrame,
    Decoder,
    Describe,
    Encoder,
    Frame,
    FrameSplitter,
    GenericFactory,
    Limits,
    PhysicalType,
    Quad,
    Statement,
    StreamOptions,
    TermFactory,
    Triple,
    delimit,
    describe,
)
from ..codec.common.detection import StreamKind, jena_kind_of, kind_of
from ..codec.common.limits import over
from ..codec.common.options import read_options
from ..codec.common.row_reader import ROW_TAG
from ..codec.common.wire import (
    BYTES,
    DETECTION_BYTES,
    MAX_VARINT_BYTES,
    is_delimited,
    read_field,
    read_varint,
)
from ..codec.rdf.decoder import (
    GraphT,
    IriT,
    StatementT,
)
from ..codec.rdf.restarts import MARK
from ..codec.rdf.rules import Row
from ..errors import (
    JellyError,
    OptionsError,
    SourceError,
    StatementError,
    TruncatedError,
    WireError,
)
from ..notebook import table
from .sinks import Counted, Destination, check_jelly_name, open_output
from .sources import Closing, Input, Source

#: Maximum number of statements passed to the encoder at once.
BATCH: Final = 1024

GENERIC: Final[TermFactory[Any]] = GenericFactory()

#: Called with the number of statements since the last call, of a patch log with that of operations,
#: of a message log with that of messages: as ``tqdm.update`` and rich's ``Progress.advance``.
Progress: TypeAlias = Callable[[int], object]

#: Statements between two calls.
STATEMENTS: Final = 10_000


class Steps:
    """Calls a callback as a number grows; without one, only the comparison is left."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._reported = 0
        self._due: float = STATEMENTS if progress is not None else float("inf")

    def reach(self, total: int) -> None:
        """Call it if there are many statements since the last call.

        :param total: number of statements so far.
        """
        if total >= self._due:
            self._due = total + STATEMENTS
            self.end(total)

    def end(self, total: int) -> None:
        """Call it in any case, as at the end."""
        if self._progress is not None:
            reported, self._reported = self._reported, total
            self._progress(total - reported)


#: How text starts: as RDF does, or with characters that Jelly has not before its first row's tag,
#: which is a line feed.
_TEXT: Final = re.compile(rb'(?:\xef\xbb\xbf)?(?:\s*[@<_{\[#"]|[\t\x20-\x7e]{4})')
#: Empty frames that are kept while looking for the options.
_FRAMES_BEFORE_OPTIONS: Final = 10_000
_OTHER_KINDS: Final = (StreamKind.JELLY_PATCH, StreamKind.JELLY_SPARQL)
#: Bytes that text does not contain, and the first row of any Jelly stream does.
_CONTROL: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")


_ItemT = TypeVar("_ItemT")


def other_kind(opening: bytes) -> str | None:
    """The kind of data that a source other than Jelly-RDF begins with; None if unknown."""
    if _TEXT.match(opening) is not None and not _CONTROL.search(opening):
        return "text, not Jelly"
    kind = kind_of(opening)
    if kind in _OTHER_KINDS:
        return f"{kind}, not Jelly-RDF"
    kind = jena_kind_of(opening)
    if kind is StreamKind.RDF_THRIFT:
        return f"{kind}, not Jelly: jelly convert --from rt converts it"
    if kind is StreamKind.RDF_PROTOBUF and not _may_be_jelly(opening):
        return f"{kind}, not Jelly: jelly convert --from rpb converts it"
    return None


def _may_be_jelly(opening: bytes) -> bool:
    """Whether what opens like RDF Protobuf may be Jelly: options have numbers where the declaration
    of a prefix has text."""
    if not is_delimited(opening):
        return True
    end = len(opening)
    try:
        _, pos = read_varint(opening, 0, end)
        if opening[pos] != ROW_TAG:
            return False
        _, start, stop, _ = read_field(opening, pos, end)
        _, start, stop, _ = read_field(opening, start, stop)
    except WireError:
        return True
    return start == stop or min(opening[start:stop]) < 0x20


def _options_in(data: bytes) -> tuple[int, int] | None:
    """Find the start and end of the options in a frame's first row; None if that row has none."""
    pos = 0
    while pos < len(data):
        tag, start, pos, _ = read_field(data, pos, len(data))
        if tag == ROW_TAG:
            tag, start, stop, _ = read_field(data, start, pos)
            return (start, stop) if tag == Row.OPTIONS << 3 | BYTES else None
    return None


def opens_with_options(data: bytes) -> bool:
    """Whether a frame's first row is an options row, but not one repeated at a restart point."""
    try:
        return not data.startswith(MARK) and _options_in(data) is not None
    except WireError:
        # Decoding the frame will report the error, with the row.
        return False


def first_options(data: bytes, limits: Limits) -> StreamOptions | None:
    """The options in a frame's first row; None if the row has no options or is malformed."""
    try:
        found = _options_in(data)
        return None if found is None else read_options(StreamOptions, data, *found, limits)
    except JellyError:
        return None


class FrameBytes(Closing):
    """The frames of a source as bytes, one after the other; a context manager that closes it. For
    one thread at a time.

    An empty source, as Apache Jena writes an empty graph, has one frame: that of a stream of
    triples without statements.

    :param src: path, URL, open binary file or bytes; gzip, bz2 and zstd are detected from the
        content.
    :param limits: the limits on untrusted input.
    :param strict: whether to reject an empty source.
    :ivar name: name of the source in error messages.
    :ivar compression: ``"gzip"``, ``"bz2"``, ``"zstd"`` or None.
    :ivar deviations: deviations that were read, as the errors that they would be if
        reading were strict.
    """

    def __init__(
        self, src: Source, *, limits: Limits = DEFAULT_LIMITS, strict: bool = False
    ) -> None:
        self._input = Input(src)
        self.name = self._input.name
        self.compression = self._input.compression
        self.deviations: list[JellyError] = []
        self._limits = limits
        self._strict = strict
        self._splitter = FrameSplitter(limits=limits)
        self._split_frames = self._split()
        self._frames: Iterator[bytes] = self._split_frames

    @property
    def delimited(self) -> bool | None:
        """Whether frames are delimited; None before the first was read."""
        return self._splitter.delimited

    @property
    def empty(self) -> bool:
        """Whether the frame that was read is not in the source, which has no bytes."""
        return not self._splitter.opening

    def __iter__(self) -> Iterator[bytes]:
        return self._frames

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._split_frames.close()
        self._input.close()

    def peek_options(self) -> StreamOptions | None:
        """The stream's options; the frames read to find them are kept.

        :return: None if they cannot be read; decoding the frames then reports why.
        """
        peeked: list[bytes] = []
        rest = self._frames
        options = None
        try:
            for data in rest:
                peeked.append(data)
                if data or len(peeked) == _FRAMES_BEFORE_OPTIONS:
                    options = first_options(data, self._limits)
                    break
        except JellyError as error:
            rest = _raising(error)
        self._frames = _after(peeked, rest)
        return options

    def reject(self, error: JellyError, decoder: Any) -> NoReturn:
        """Raise an error of a decoder of the codec with its place, or a better one where the source
        is in another format."""
        if decoder.options is None:
            kind = other_kind(self._splitter.opening)
            if kind is not None:
                raise SourceError(f"this is {kind}", source=self.name) from None
        error.locate(source=self.name)
        if isinstance(error, SourceError | TruncatedError):
            error.locate(frame=decoder.next_frame)
        raise error

    def _split(self) -> Generator[bytes]:
        for chunk in self._input.chunks():
            yield from self._splitter.feed(chunk)
        if not self._splitter.opening and not self._strict:
            error = OptionsError("the stream has no options: it is empty", source=self.name)
            self.deviations.append(error)
            yield from Encoder(infer_options(None)).finish()
            return
        yield from self._splitter.finish()


def _after(first: list[_ItemT], rest: Iterator[_ItemT]) -> Generator[_ItemT]:
    """Items that were read before, and then the others. Unlike ``itertools.chain``, a generator
    rejects a second caller."""
    yield from first
    yield from rest


def _raising(error: JellyError) -> Iterator[bytes]:
    """An iterator that raises an error."""
    raise error
    yield b""


class StreamReader(Closing, Generic[_ItemT]):
    """Reads a source with a decoder: an iterator of what it makes, and a context manager that
    closes the source.

    For one thread at a time: a second one gets Python's own ValueError for a generator that is
    executing already. The same applies to all iterators of this module.

    :param src: path, URL, open binary file or bytes; or its frames, of which none was taken.
    :param make: makes a decoder of the codec; called with the number of its first frame.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream, as in files
        made with ``cat``. By default they are a repetition, as specified.
    :param strict: whether to reject an empty source, which is otherwise an empty stream.
    :raises JellyError: while iterating, with source, frame and row.

    :ivar name: name of the source in error messages.
    :ivar compression: ``"gzip"``, ``"bz2"``, ``"zstd"`` or None.
    """

    def __init__(
        self,
        src: Source | FrameBytes,
        make: Callable[[int], Any],
        *,
        limits: Limits = DEFAULT_LIMITS,
        concatenated: bool = False,
        strict: bool = False,
    ) -> None:
        if not isinstance(src, FrameBytes):
            src = FrameBytes(src, limits=limits, strict=strict)
        self._source = src
        self.name = src.name
        self.compression = src.compression
        self._decoder: Any = make(0)
        self._decoding = self._decode(make, concatenated)

    def __iter__(self) -> Iterator[_ItemT]:
        return self._decoding

    def __next__(self) -> _ItemT:
        return next(self._decoding)

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._decoding.close()
        self._source.close()

    def _repr_html_(self) -> str:
        known = {"source": self.name, "compression": self.compression}
        return table(type(self).__name__, [*known.items(), ("options", self._decoder.options)])

    def _decode(self, make: Callable[[int], Any], concatenated: bool) -> Generator[_ItemT]:
        try:
            for number, data in enumerate(self._source):
                known = self._decoder.options is not None
                if concatenated and known and opens_with_options(data):
                    yield from self._decoder.finish() or ()
                    self._decoder = make(number)
                yield from self._read(number, data)
            yield from self._decoder.finish() or ()
        except JellyError as error:
            self._source.reject(error, self._decoder)
        finally:
            self._source.close()

    def _read(self, number: int, data: bytes) -> Iterable[_ItemT]:  # noqa: ARG002
        """The decoder's result for a frame."""
        items: Iterable[_ItemT] = self._decoder.decode(data)
        return items


class FrameReader(StreamReader[Frame[StatementT, IriT, GraphT]], Generic[StatementT, IriT, GraphT]):
    """Reads a source frame by frame: an iterator, and a context manager that closes the source. For
    one thread at a time.

    :param src: path, URL, open binary file or bytes; or its frames, of which none was taken.
    :param factory: makes the terms, see :class:`~jelly_plugins.codec.TermFactory`.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream, as in files
        made with ``cat``. By default they are a repetition, as specified.
    :param strict: whether to reject an empty source, which is otherwise an empty stream.
    :raises JellyError: while iterating, with source, frame and row.
    """

    def __init__(
        self,
        src: Source | FrameBytes,
        *,
        factory: TermFactory[Any] = GENERIC,
        limits: Limits = DEFAULT_LIMITS,
        concatenated: bool = False,
        strict: bool = False,
        next_factory: Callable[[], TermFactory[Any]] | None = None,
    ) -> None:
        def make(first_frame: int) -> Any:
            made = next_factory() if next_factory and first_frame else factory
            return Decoder(made, limits=limits, first_frame=first_frame)

        super().__init__(src, make, limits=limits, concatenated=concatenated, strict=strict)
        #: Bytes of the frame that was decoded last, without a delimiter.
        self.data = b""
        #: Frames that were read to find the options, and not given yet.
        self._peeked: deque[Any] = deque()

        self._frames = self._all()

    def __iter__(self) -> Iterator[Frame[StatementT, IriT, GraphT]]:
        return self._frames

    def __next__(self) -> Frame[StatementT, IriT, GraphT]:
        return next(self._frames)

    def _all(self) -> Iterator[Frame[StatementT, IriT, GraphT]]:
        peeked = self._peeked
        while True:
            while peeked:
                yield peeked.popleft()
            for frame in self._decoding:
                yield frame
                # The options may be read between two frames.
                if peeked:
                    break
            else:
                return

    @property
    def delimited(self) -> bool | None:
        """Whether frames are delimited; None before the first was read."""
        return self._source.delimited

    @property
    def deviations(self) -> list[JellyError]:
        """Deviations from the specification that were read, see :class:`FrameBytes`."""
        return self._source.deviations

    @property
    def inside_graph(self) -> bool:
        """Whether the stream is inside a graph that was not ended."""
        inside: bool = self._decoder.inside_graph
        return inside

    @property
    def options(self) -> StreamOptions:
        """The stream's options; reads as many frames as that takes, and keeps them.

        :raises JellyError: the stream has none, or is closed.
        """
        while self._decoder.options is None:
            frame = next(self._decoding, None)
            if frame is not None and len(self._peeked) < _FRAMES_BEFORE_OPTIONS:
                self._peeked.append(frame)
            elif self._decoder.options is None:
                raise OptionsError("no options were read", source=self.name)
        options: StreamOptions = self._decoder.options
        return options

    def _read(self, number: int, data: bytes) -> Iterable[Any]:  # noqa: ARG002
        self.data = data
        frame = self._decoder.decode(data)
        return () if self._source.empty else (frame,)


#: A reader of frames in the terms of any library.
AnyFrameReader: TypeAlias = FrameReader[Any, Any, Any]


@overload
def read_frames(
    src: Source, *, limits: Limits = ..., concatenated: bool = ..., strict: bool = ...
) -> FrameReader: ...
@overload
def read_frames(
    src: Source,
    *,
    factory: TermFactory[Any],
    limits: Limits = ...,
    concatenated: bool = ...,
    strict: bool = ...,
) -> AnyFrameReader: ...
def read_frames(
    src: Source,
    *,
    factory: TermFactory[Any] = GENERIC,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
) -> AnyFrameReader:
    """Read a Jelly-RDF stream frame by frame; see :class:`FrameReader`.

    >>> from jelly_plugins import Iri, Literal, Triple
    >>> for frame in read_frames(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))])):
    ...     print(frame.index, len(frame.statements), frame.rows)
    0 1 5
    """
    return FrameReader(
        src, factory=factory, limits=limits, concatenated=concatenated, strict=strict
    )


def read(
    src: Source,
    *,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
) -> Iterator[Statement]:
    """Read a Jelly-RDF stream as one sequence of statements, in generic terms.

    Blank node labels are kept as they are; their scope is the stream.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param limits: the limits on untrusted input.
    :param concatenated: whether options at the start of a frame start a new stream.
    :param strict: whether to reject an empty source, which is otherwise an empty stream.
    :return: triples or quads, as the stream's physical type has it.
    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins import Iri, Triple
    >>> list(read(write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])))
    [Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]
    """
    with FrameReader(src, limits=limits, concatenated=concatenated, strict=strict) as frames:
        for frame in frames:
            yield from frame.statements


def read_triples(
    src: Source,
    *,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
) -> Iterator[Triple]:
    """Read a Jelly-RDF stream as triples: those of the stream, or its quads if all of them are in
    the default graph. For the parameters see :func:`read`.

    :raises StatementError: while iterating: a quad is in a named graph; with source and frame.
    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins import Iri
    >>> triple = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> for s, p, o in read_triples(write_bytes([triple])):
    ...     print(s)
    Iri(value='urn:s')
    """
    with FrameReader(src, limits=limits, concatenated=concatenated, strict=strict) as frames:
        for frame in frames:
            for statement in frame.statements:
                if isinstance(statement, Triple):
                    yield statement
                elif statement.graph == DEFAULT_GRAPH:
                    yield Triple._make(statement[:3])
                else:
                    raise StatementError(
                        "a quad in a named graph: read_quads reads it",
                        source=frames.name,
                        frame=frame.index,
                    )


def read_quads(
    src: Source,
    *,
    limits: Limits = DEFAULT_LIMITS,
    concatenated: bool = False,
    strict: bool = False,
) -> Iterator[Quad]:
    """Read a Jelly-RDF stream as quads; triples are in the default graph. For the parameters see
    :func:`read`.

    :raises JellyError: while iterating, with source, frame and row.

    >>> from jelly_plugins import Iri
    >>> triple = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
    >>> for s, p, o, g in read_quads(write_bytes([triple])):
    ...     print(g)
    DEFAULT_GRAPH
    """
    for statement in read(src, limits=limits, concatenated=concatenated, strict=strict):
        yield statement if isinstance(statement, Quad) else Quad(*statement, DEFAULT_GRAPH)


def infer_options(statement: tuple[Any, ...] | None) -> StreamOptions:
    """Options for a flat stream that opens with ``statement``: of triples or of quads."""
    quads = statement is not None and len(statement) == 4
    return StreamOptions.flat(PhysicalType.QUADS if quads else PhysicalType.TRIPLES)


def with_options(
    statements: Iterable[Any],
    options: StreamOptions | None,
    infer: Callable[[Any], StreamOptions] = infer_options,
) -> tuple[StreamOptions, Iterator[Any]]:
    """The options to write statements with, and all of the statements.

    :param options: the options; None infers them from the first statement.
    :param infer: infers the options; called with None if there are no statements.
    """
    iterator = iter(statements)
    if options is not None:
        return options, iterator
    first = list(islice(iterator, 1))
    return infer(first[0] if first else None), chain(first, iterator)


class StreamWriteOptions(TypedDict, total=False):
    """The fields of :class:`WriteSettings` that writers of graphs have, too."""

    options: StreamOptions | None
    frame_rows: int
    frame_bytes: int
    progress: Progress | None
    limits: Limits


class WriteOptions(StreamWriteOptions, total=False):
    """The fields of :class:`WriteSettings`, as keyword arguments."""

    namespaces: Mapping[str, str] | None
    restart_every: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """Settings for writing a flat Jelly-RDF stream.

    :ivar options: of the stream; by default triples or quads, as the first statement has them.
    :ivar namespaces: declarations to write first, IRI by name.
    :ivar frame_rows: rows after which a frame ends; a statement is never parted from its entries.
    :ivar frame_bytes: bytes of a frame after which it ends.
    :ivar restart_every: bytes after which the next frame is a restart point, where a reader may
        begin; see ``codec.rdf.restarts``. By default only the first frame is.
    :ivar progress: called about every 10,000 statements and at the end, with the number of
        statements since the last call, as ``tqdm.update`` takes it.
    :ivar limits: limits on the output.
    """

    options: StreamOptions | None = None
    namespaces: Mapping[str, str] | None = None
    frame_rows: int = DEFAULT_FRAME_ROWS
    frame_bytes: int = DEFAULT_FRAME_BYTES
    restart_every: int | None = None
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS


def encode(
    statements: Iterable[tuple[Any, ...]],
    *,
    describe: Describe = describe,
    **settings: Unpack[WriteOptions],
) -> Generator[bytes, None, int]:
    """Encode statements as a flat stream; the bytes of each frame come out without a delimiter.

    :param statements: triples or quads, all of one width.
    :param describe: takes the statements' terms apart, see ``codec.Describe``.
    :param settings: see :class:`WriteSettings`.
    :return: the number of statements, as the generator's value.
    :raises JellyError: a statement cannot be written with these options.
    """
    wanted = WriteSettings(**settings)
    options, iterator = with_options(statements, wanted.options)
    encoder = Encoder(
        options,
        describe,
        namespaces=bool(wanted.namespaces),
        frame_rows=wanted.frame_rows,
        frame_bytes=wanted.frame_bytes,
        restart_every=wanted.restart_every,
        limits=wanted.limits,
    )
    for name, iri in (wanted.namespaces or {}).items():
        encoder.add_namespace(name, iri)
    steps = Steps(wanted.progress)
    written = 0
    while batch := list(islice(iterator, BATCH)):
        yield from encoder.add(batch)
        written += len(batch)
        steps.reach(written)
    yield from encoder.finish()
    steps.end(written)
    return written


def encode_frames(
    frames: Iterable[AnyFrame | Iterable[tuple[Any, ...]]],
    *,
    options: StreamOptions,
    describe: Describe = describe,
    namespaces: bool = False,
    restart_every: int | None = None,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[bytes]:
    """Encode one frame for each of ``frames``: a :class:`Frame` with all it has, or statements.

    Namespaces of a frame are written before its statements; empty graphs of a frame after them.

    :param namespaces: whether frames have namespaces (a declaration needs protocol version 2).
    :param restart_every: as in :func:`encode`; ``progress`` too.
    :raises JellyError: a frame cannot be written with these options.
    """
    encoder = Encoder(
        options,
        describe,
        namespaces=namespaces,
        frame_rows=limits.frame_rows + 1,
        frame_bytes=limits.frame_bytes + 1,
        restart_every=restart_every,
        limits=limits,
    )
    steps = Steps(progress)
    written = 0
    for item in frames:
        frame: AnyFrame = item if isinstance(item, Frame) else Frame(0, statements=list(item))
        for name, iri in frame.namespaces:
            encoder.add_namespace(name, describe(iri)[1])
        # A frame is returned here only if it would be larger than a reader accepts.
        yield from encoder.add(frame.statements)
        for graph in frame.empty_graphs:
            encoder.start_graph(graph)
        encoder.end_graph()
        yield encoder.flush(frame.metadata)
        written += len(frame.statements)
        steps.reach(written)
    # A flat stream without frames still has its options. In a grouped one, their frame would be a
    # graph or dataset: without any, the stream is empty.
    if not options.grouped:
        yield from encoder.finish()
    steps.end(written)


def write_delimited(frames: Iterable[bytes], dst: Destination) -> Any:
    """Write frames with their delimiters; see :func:`write_jelly`."""
    check_jelly_name(dst)
    return write_jelly(frames, dst)


def write_jelly(frames: Iterable[bytes], dst: Destination, *, delimited: bool = True) -> Any:
    """Write frames as Jelly to a destination of any name; a path is replaced only once all are
    written.

    :param delimited: whether frames have their delimiters; otherwise there is one frame.
    :return: the value of a generator of frames, such as the number of statements of
        :func:`encode`; otherwise None.
    """
    iterator = iter(frames)
    with open_output(dst) as out:
        if not delimited:
            frame, *more = islice(iterator, 2)
            if more:
                raise OptionsError(
                    "a stream that is not delimited is one frame, and this has several: set larger "
                    "frames"
                )
            out.write(frame)
            return None
        while True:
            try:
                frame = next(iterator)
            except StopIteration as end:
                return end.value
            out.write(delimit(frame))


def write(
    statements: Iterable[tuple[Any, ...]], dst: Destination, **settings: Unpack[WriteOptions]
) -> int:
    """Write statements in generic terms as a flat, delimited Jelly-RDF stream.

    :param dst: path or open binary file; ``.gz``, ``.bz2`` and ``.zst`` compress. A path is
        replaced only once everything is written.
    :param settings: see :class:`WriteSettings`.
    :return: the number of statements.
    :raises JellyError: see :func:`encode`.
    """
    written: int = write_delimited(encode(statements, **settings), dst)
    return written


def write_frames(
    frames: Iterable[AnyFrame | Iterable[tuple[Any, ...]]],
    dst: Destination,
    *,
    options: StreamOptions,
    namespaces: bool = False,
    progress: Progress | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> int:
    """Write a delimited stream of one frame for each of ``frames``, in generic terms.

    With a grouped logical type each frame is one graph or dataset, and no frames at all make an
    empty file. See :func:`encode_frames`.

    :return: the number of ``frames``.
    """
    counted = Counted(frames)
    write_delimited(
        encode_frames(
            counted, options=options, namespaces=namespaces, progress=progress, limits=limits
        ),
        dst,
    )
    return counted.count


def write_bytes(statements: Iterable[tuple[Any, ...]], **settings: Unpack[WriteOptions]) -> bytes:
    """The bytes that :func:`write` would write."""
    return b"".join(map(delimit, encode(statements, **settings)))


# Where reading may begin

#: Bytes of a delimiter and the mark of a restart point.
_HEAD: Final = MAX_VARINT_BYTES + len(MARK)


class RestartPoint(NamedTuple):
    """Where reading may begin.

    :ivar offset: of the frame's delimiter, in bytes from where the search began.
    :ivar frame: the frame's number in the stream.
    """

    offset: int
    frame: int


def find_restarts(file: BinaryIO) -> Iterator[RestartPoint]:
    """Find the restart points of a stream of delimited frames, the first frame among them.

    No row is read, only each frame's delimiter and the bytes after it.

    :param file: seekable, and not compressed; the stream starts at its current position.

    A stream of one bare frame has one point. An empty file has none.
    """
    start = file.tell()
    end = file.seek(0, 2)
    frame = 0
    pos = start
    while pos < end:
        file.seek(pos)
        head = file.read(_HEAD)
        if not frame:
            yield RestartPoint(0, 0)
            if not is_delimited(head[:DETECTION_BYTES]):
                return
        try:
            length, used = read_varint(head, 0, len(head))
        except WireError as error:
            error.locate(frame=frame)
            raise
        if length > DEFAULT_LIMITS.frame_bytes:
            what = "the length of a frame"
            raise over(DEFAULT_LIMITS, "frame_bytes", length, what).locate(frame=frame)
        if length > end - pos - used:
            raise TruncatedError("the input ends inside a frame", frame=frame)
        if frame and length >= len(MARK) and head.startswith(MARK, used):
            yield RestartPoint(pos - start, frame)
        pos += used + length
        frame += 1
