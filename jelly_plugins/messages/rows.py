"""Messages as rows of Jelly: the form in which the codec takes and gives many of them at once.

Rows do not depend on where frames end, so that those of many messages are read and written
together, and are cut into frames afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from ..codec import (
    DEFAULT_GRAPH,
    Encoder,
    Limits,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    delimit,
)
from ..codec.common.limits import over
from ..errors import JellyError, TermError
from ..formats.jelly import has_quoted, undeclared
from .kernel import cut_rows, in_default_graph
from .model import Message

#: Messages that are encoded together.
BATCH: Final = 256
#: Statements after which a batch has enough.
_BATCH_STATEMENTS: Final = 4096

_LOGICAL_TYPES: Final = {
    PhysicalType.TRIPLES: LogicalType.GRAPHS,
    PhysicalType.QUADS: LogicalType.DATASETS,
    PhysicalType.GRAPHS: LogicalType.DATASETS,
}

#: More than one chunk of a log can have.
_UNBOUNDED: Final = 1 << 40


def batch_limits(limits: Limits) -> Limits:
    """Limits for data that is encoded or decoded at once, and is not a frame of a stream."""
    return replace(limits, frame_rows=_UNBOUNDED, frame_bytes=_UNBOUNDED, frame_repeats=_UNBOUNDED)


def log_options(*, graphs: bool, rdf_star: bool = False) -> StreamOptions:
    """Options of a log in Jelly: each frame is a graph, or a dataset where there are graphs.

    :param rdf_star: whether quoted triples are declared. Some readers reject streams that do.
    """
    physical_type = PhysicalType.QUADS if graphs else PhysicalType.TRIPLES
    return StreamOptions(
        physical_type=physical_type, logical_type=_LOGICAL_TYPES[physical_type], rdf_star=rdf_star
    )


def as_quads(statements: list[Any]) -> list[Quad]:
    """Statements of one stream as quads."""
    if statements and len(statements[0]) == 3:
        return in_default_graph(statements)
    return statements


class FrameCutter:
    """Cuts rows into delimited frames, one for each message.

    :param opening: rows that the first frame opens with: the options.
    :param limits: ``frame_bytes`` and ``frame_rows`` bound a frame.
    """

    def __init__(self, opening: bytes, limits: Limits) -> None:
        self._opening = bytearray(opening)
        self._rows = 1
        self._statements = 0
        self._limits = limits
        #: Number of frames that were cut off.
        self.frames = 0

    def cut(self, rows: bytes, counts: list[int]) -> bytes:
        """Take rows, and end a frame after so many statements, for each of ``counts``; what is
        left of the rows opens the next frame.

        :return: the frames that ended.
        :raises LimitError: a frame is larger than a reader takes.
        """
        limits = self._limits
        out, ended, rest, self._rows, self._statements = cut_rows(
            rows,
            bytes(self._opening) if counts else b"",
            self._statements,
            self._rows,
            counts,
            limits.frame_bytes,
            limits.frame_rows,
        )
        self.frames += ended
        if ended:
            self._opening.clear()
        self._opening += rows[rest:]
        if self._rows > limits.frame_rows:
            what = "the number of rows of a message's frame"
            raise over(limits, "frame_rows", self._rows, what).locate(frame=self.frames)
        if ended < len(counts) or len(self._opening) > limits.frame_bytes:
            what = "the length of a message's frame"
            size = len(self._opening)
            raise over(limits, "frame_bytes", size, what).locate(frame=self.frames)
        return out

    def frame(self, rows: bytes) -> bytes:
        """A frame of its own, with what came before it.

        :raises LimitError: it is larger than a reader takes.
        """
        frame = bytes(self._opening) + rows
        self._opening.clear()
        if len(frame) > self._limits.frame_bytes:
            what = "the length of a message's frame"
            error = over(self._limits, "frame_bytes", len(frame), what)
            raise error.locate(frame=self.frames)
        self.frames += 1
        self._rows = 0
        return delimit(frame)


def options_rows(options: StreamOptions, limits: Limits) -> bytes:
    """The rows that a stream of these options opens with."""
    return b"".join(Encoder(options, limits=limits).finish())


class RowWriter:
    """Encodes messages as rows.

    :param options: of the stream.
    """

    def __init__(self, options: StreamOptions, limits: Limits) -> None:
        self._options = options
        self._limits = batch_limits(limits)
        self._encoder = Encoder(options, limits=self._limits)
        # The options are not among the rows.
        self._encoder.flush()

    def rows(self, messages: Sequence[Message]) -> bytes:
        """The rows of some messages; not for physical type GRAPHS.

        :raises JellyError: the stream cannot express a message.
        """
        statements: list[Any] = []
        for message in messages:
            statements += message.quads
        try:
            self._encoder.add(self._adapted(statements))
            return self._encoder.flush()
        except JellyError as error:
            raise self._explained(error, messages) from error

    def frame(self, message: Message) -> bytes:
        """The rows of a message, and its metadata.

        :raises JellyError: the stream cannot express it.
        """
        try:
            self._encoder.add(self._adapted(message.quads))
            self._encoder.end_graph()
            return self._encoder.flush(message.metadata)
        except JellyError as error:
            raise self._explained(error, [message]) from error

    def _adapted(self, quads: list[Any]) -> list[Any]:
        """Quads with as many terms as the physical type requires."""
        return _triples(quads) if self._options.physical_type is PhysicalType.TRIPLES else quads

    def _explained(self, error: JellyError, messages: Sequence[Message]) -> JellyError:
        """The error as one of the message that it is in."""
        for message in messages:
            if not self._options.rdf_star and has_quoted(message.quads):
                missing = undeclared(None)
                return type(missing)(f"message {message.index}: {missing.message}")
            try:
                Encoder(self._options, limits=self._limits).add(self._adapted(message.quads))
            except JellyError as found:
                return type(error)(f"message {message.index}: {found.message}")
        return type(error)(error.message)


def _triples(quads: list[Quad]) -> list[Any]:
    """The triples of quads.

    :raises TermError: one is in a named graph.
    """
    for quad in quads:
        if quad[3] is not DEFAULT_GRAPH:
            raise TermError(
                "a quad in a named graph: this syntax has no graphs; nq, trig, ndjsonld, yamlld "
                "and jelly do"
            )
    return [quad[:3] for quad in quads]


def batches(messages: Iterable[Message]) -> Iterator[list[Message]]:
    """Messages in lists that are worth being encoded together."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message.quads)
        if size >= _BATCH_STATEMENTS or len(batch) == BATCH:
            yield batch
            batch = []
            size = 0
    if batch:
        yield batch
