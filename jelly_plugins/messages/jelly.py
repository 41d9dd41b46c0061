"""Logs in Jelly: each frame is a message.

A log without messages is an empty file: a Jelly stream has a frame for its options, and that frame
is a message.

Reference: RDF Messages, section "Other formats"; Jelly-RDF specification, section "Stream frames".
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any, Final

from ..codec import (
    DEFAULT_GRAPH,
    Encoder,
    Limits,
    PhysicalType,
    Quad,
    StreamOptions,
    TextDecoder,
    TextEncoder,
    delimit,
)
from ..errors import JellyError, StatementError, TermError
from ..formats.jelly import undeclared
from ..io.sinks import Writable
from ..io.sources import Source
from ..io.streams import FrameBytes, FrameReader, StreamReader
from .model import Message
from .text import QuadReader, TextMessage, without_place

_quad: Final = partial(tuple.__new__, Quad)


def read_jelly(src: Source, limits: Limits) -> Generator[Message]:
    """The messages of a log."""
    frames = FrameBytes(src, limits=limits)
    with FrameReader(frames, limits=limits) as reader:
        for index, frame in enumerate(reader):
            if not frames.deviations:
                quads = _as_quads(frame.statements)
                yield Message(quads, index, reader.name, None, frame.metadata or None)


def _as_quads(statements: list[Any]) -> list[Quad]:
    """Statements of one stream as quads."""
    if statements and len(statements[0]) == 3:
        return [_quad((s, p, o, DEFAULT_GRAPH)) for s, p, o in statements]
    return statements


class JellyText(StreamReader[TextMessage]):
    """A log as text; see ``TextLog`` for the attributes."""

    has_relative_iris = True
    validated = False

    def __init__(self, src: Source, limits: Limits) -> None:
        frames = FrameBytes(src, limits=limits)
        options = frames.peek_options()
        self.has_graphs = options is None or options.physical_type is not PhysicalType.TRIPLES
        super().__init__(frames, partial(_decoder, limits), limits=limits)

    def _read(self, number: int, data: bytes) -> Iterator[TextMessage]:  # noqa: ARG002
        text = b"".join(self._decoder.decode(data))
        if not self._source.deviations:
            yield TextMessage(text, None, self._decoder.last_frame.metadata)


def _decoder(limits: Limits, first_frame: int) -> TextDecoder:
    return TextDecoder(limits=limits, first_frame=first_frame)


class JellyWriter:
    """Writes messages as frames.

    :param name: of the source, for errors.
    """

    left_out: Final = 0

    def __init__(
        self, out: Writable, options: StreamOptions, limits: Limits, name: str | None = None
    ) -> None:
        self._out = out
        self._options = options
        self._in_graphs = options.physical_type is PhysicalType.GRAPHS
        self._name = name
        # A frame ends with its message, unless it is larger than a reader accepts.
        self._settings: dict[str, Any] = {
            "limits": limits,
            "frame_rows": limits.frame_rows + 1,
            "frame_bytes": limits.frame_bytes + 1,
        }
        self._encoder: Any = None
        self._reader = QuadReader(limits)

    def write(self, message: Message | TextMessage) -> None:
        """Write a message, unless the frame is larger than a reader accepts."""
        if isinstance(message, TextMessage):
            if not self._in_graphs:
                if self._encoder is None:
                    self._encoder = TextEncoder(self._options, **self._settings)
                self._write(self._encoder.feed, message.text, message)
                return
            # The graph of the last statement has to end with the frame.
            quads = self._reader.quads(message)
            message = Message(quads, line=message.line, metadata=message.metadata)
        if self._encoder is None:
            self._encoder = Encoder(self._options, **self._settings)
        is_narrow = self._options.physical_type is PhysicalType.TRIPLES
        self._write(self._add, _triples(message.quads) if is_narrow else message.quads, message)

    def finish(self) -> None:
        """Do nothing: each message is complete."""

    def _add(self, statements: Any) -> None:
        self._encoder.add(statements)
        self._encoder.end_graph()

    def _write(
        self, add: Callable[[Any], object], content: Any, message: TextMessage | Message
    ) -> None:
        try:
            add(content)
            self._out.write(delimit(self._encoder.flush(message.metadata)))
        except JellyError as error:
            # A StatementError without rdf_star means that the declaration is missing.
            if isinstance(error, StatementError) and not self._options.rdf_star:
                raise undeclared(self._name) from None
            raise without_place(error, message.line) from None


def _triples(quads: list[Quad]) -> list[Any]:
    for quad in quads:
        if quad[3] is not DEFAULT_GRAPH:
            raise TermError(
                "a quad in a named graph: this syntax has no graphs; nq, trig, ndjsonld, yamlld "
                "and jelly do"
            )
    return [quad[:3] for quad in quads]
