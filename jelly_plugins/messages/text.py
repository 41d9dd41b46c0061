"""Messages as text: the form between the syntaxes.

The reader of a syntax is a splitter: it gives lines of N-Quads and the ends of messages. The
writers, and :class:`QuadReader` for callers that need terms, take the text of one message after the
other.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, TypedDict

from ..codec import (
    DEFAULT_LIMITS,
    Decoder,
    Encoder,
    GenericFactory,
    Limits,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    TextDecoder,
    TextEncoder,
)
from ..codec.common.limits import over
from ..codec.text.ntriples import Notation
from ..errors import JellyError, TextError
from ..formats.settings import Contexts
from ..io.sources import Closing, Input
from ..io.streams import Progress

#: What a splitter gives: whole lines of N-Quads in the form of :class:`~.io.chunks.Chunk`, or the
#: end of the message, as the line in its source that the message starts in. Each message has one
#: end.
Event: TypeAlias = bytes | int

#: More than a message may have.
_UNBOUNDED: Final = 1 << 40
_LOGICAL_TYPES: Final = {
    PhysicalType.TRIPLES: LogicalType.GRAPHS,
    PhysicalType.QUADS: LogicalType.DATASETS,
    PhysicalType.GRAPHS: LogicalType.DATASETS,
}


class _Limited(TypedDict, total=False):
    limits: Limits


class ReadOptions(_Limited, total=False):
    """The fields of :class:`ReadSettings`, as keyword arguments."""

    base: str | None
    context: Any
    contexts: Contexts | None


class WriteOptions(_Limited, total=False):
    """The fields of :class:`WriteSettings`, as keyword arguments."""

    namespaces: Mapping[str, str] | None
    options: StreamOptions | None
    notation: Notation
    progress: Progress | None


class ConvertOptions(ReadOptions, WriteOptions, total=False):
    """The fields of :class:`ConvertSettings`, as keyword arguments."""


@dataclass(frozen=True, kw_only=True)
class ReadSettings:
    """Settings for reading a log.

    :ivar base: IRI that relative ones are resolved against.
    :ivar context: JSON-LD context that is in force at first, in NDJSON-LD, or in each document,
        in YAML-LD.
    :ivar contexts: remote contexts by IRI, or a function that returns one for an IRI. They are
        never fetched.
    :ivar limits: the limits on untrusted input. ``frame_rows`` bounds the statements of a
        message, ``frame_expansion`` their text, ``frame_bytes`` a line, a token, a document or a
        frame.
    """

    base: str | None = None
    context: Any = None
    contexts: Contexts | None = None
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True)
class WriteSettings:
    """Settings for writing a log.

    :ivar namespaces: IRI by name, for Turtle, TriG and RDF/XML.
    :ivar options: of the stream, for Jelly; by default quads, one dataset per frame. Quoted
        triples need ``rdf_star``.
    :ivar notation: of quoted triples, in N-Triples and N-Quads.
    :ivar progress: called about every 10,000 messages and at the end, with the number of
        messages since the last call, as ``tqdm.update`` takes it.
    :ivar limits: limits on the output.
    """

    namespaces: Mapping[str, str] | None = None
    options: StreamOptions | None = None
    notation: Notation = Notation.RDF_1_2
    progress: Progress | None = None
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, kw_only=True)
class ConvertSettings(ReadSettings, WriteSettings):
    """Settings for converting a log: those for reading and for writing."""


class TextMessage(NamedTuple):
    """A message as text.

    :ivar text: one line of N-Quads for each statement, see :class:`~.io.chunks.Chunk`.
    :ivar line: see :class:`~.model.Message`.
    :ivar metadata: of its frame, in Jelly.
    """

    text: bytes
    line: int | None = None
    metadata: Mapping[str, bytes] | None = None


class TextLog(Closing):
    """An open log: an iterator of its messages, once, and a context manager that closes the source.

    :param validated: whether Oxigraph accepts all terms, see ``ChunkReader``.
    """

    has_relative_iris = False

    def __init__(
        self,
        source: Input,
        events: Generator[Event],
        limits: Limits,
        *,
        has_graphs: bool,
        validated: bool,
    ) -> None:
        self.name = source.name
        self.has_graphs = has_graphs
        self.validated = validated
        self._input = source
        self._events = events
        self._limits = limits

    def __iter__(self) -> Iterator[TextMessage]:
        limits = self._limits
        index, line = 0, 1
        parts: list[bytes] = []
        size = statements = 0
        try:
            for event in self._events:
                if isinstance(event, bytes):
                    parts.append(event)
                    size += len(event)
                    if size > limits.frame_expansion:
                        raise over(limits, "frame_expansion", size, "the text of a message")
                    statements += event.count(b"\n")
                    if statements > limits.frame_rows:
                        what = "the number of statements of a message"
                        raise over(limits, "frame_rows", statements, what)
                    continue
                line = event
                yield TextMessage(b"".join(parts), line)
                index += 1
                parts.clear()
                size = statements = 0
        except (JellyError, RecursionError) as error:
            if isinstance(error, RecursionError):
                error = TextError("values are nested too deeply")
            if isinstance(error, TextError) and error.line is None:
                error.line = line
            raise of_message(error, index).locate(source=self.name) from error.__cause__

    def close(self) -> None:
        """Close the source, if it was opened here."""
        self._events.close()
        self._input.close()


def of_message(error: JellyError, index: int) -> JellyError:
    """Add the number of the message to an error."""
    error.message = f"message {index}: {error.message}"
    return error


def log_options(*, graphs: bool, rdf_star: bool = False) -> StreamOptions:
    """Options of a log in Jelly: each frame is a graph, or a dataset where there are graphs. Some
    readers reject streams that declare ``rdf_star``."""
    physical_type = PhysicalType.QUADS if graphs else PhysicalType.TRIPLES
    return StreamOptions(
        physical_type=physical_type, logical_type=_LOGICAL_TYPES[physical_type], rdf_star=rdf_star
    )


def _internal(limits: Limits) -> Limits:
    """Limits for rows that are not written as frames."""
    return replace(limits, frame_rows=_UNBOUNDED, frame_bytes=_UNBOUNDED, frame_repeats=_UNBOUNDED)


_INTERNAL_OPTIONS: Final = log_options(graphs=True, rdf_star=True)


class QuadReader:
    """Reads the text of messages as quads in generic terms: the kernel encodes the text as rows of
    Jelly, and decodes these."""

    def __init__(self, limits: Limits) -> None:
        self._encoder = TextEncoder(_INTERNAL_OPTIONS, limits=_internal(limits))
        self._decoder = Decoder(GenericFactory(), limits=_internal(limits))

    def quads(self, message: TextMessage) -> list[Quad]:
        """The quads of a message; errors have its line."""
        try:
            self._encoder.feed(message.text)
            quads: list[Any] = self._decoder.decode(self._encoder.flush()).statements
        except JellyError as error:
            raise without_place(error, message.line) from None
        return quads


class QuadWriter:
    """Writes quads as the text of messages, the reverse of :class:`QuadReader`."""

    def __init__(self, limits: Limits) -> None:
        self._encoder = Encoder(_INTERNAL_OPTIONS, limits=_internal(limits))
        self._decoder = TextDecoder(limits=_internal(limits))

    def text(self, quads: list[Quad]) -> bytes:
        """The text of a message."""
        try:
            self._encoder.add(quads)
            return b"".join(self._decoder.decode(self._encoder.flush()))
        except JellyError as error:
            raise without_place(error, None) from None


def without_place(error: JellyError, line: int | None) -> JellyError:
    """Make an error in internal text or rows one of the message that starts in a line."""
    if isinstance(error, TextError):
        error.line, error.column = line, None
        return error
    return type(error)(error.message)
