"""Batches of statements to frames of a Jelly-RDF stream.

Terms of the caller's backend in, bytes out. No I/O, no delimiters (``wire`` writes those).

Reference: Jelly-RDF specification, sections "Stream frames", "Stream rows", "Stream options".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from ...errors import JellyError, OrderError, TermError
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.options import VERSION_1_0, VERSION_1_1, PhysicalType, StreamOptions, write_options
from ..common.row_writer import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    RowWriter,
    rows_of,
)
from ..common.term_writer import TermWriter
from ..common.terms import Describe, describe, terms_of
from ..common.wire import BYTES, bytes_field, check_metadata, string_field
from . import restarts, rules
from .rules import Row, State

#: The row and number of terms of a statement, as the caller passes it.
ROW_AND_WIDTH: Final = {
    PhysicalType.TRIPLES: (Row.TRIPLE, 3),
    PhysicalType.QUADS: (Row.QUAD, 4),
    PhysicalType.GRAPHS: (Row.TRIPLE, 4),
}


class Encoder(RowWriter):
    """Writes the frames of one stream, in order. Use it from one thread at a time.

    Frames end automatically after ``frame_rows`` rows or ``frame_bytes`` bytes, whichever comes
    first, or when the caller calls :meth:`flush`. In a stream of grouped logical type only the
    caller ends frames, because each is one element.

    :param options: the stream's options. Version 0 becomes the lowest suitable version: 2 with
        ``namespaces``, otherwise 1.
    :param describe: describes the caller's terms; generic terms by default.
    :param namespaces: whether namespace declarations will be written.
    :param frame_rows: number of rows after which a frame ends; a statement is never separated from
        its entries.
    :param frame_bytes: number of bytes after which a frame ends.
    :param restart_every: number of bytes after which the next frame is a restart point, see
        :mod:`~jelly_plugins.codec.rdf.restarts`; by default only those requested with
        :meth:`restart`.
    :param limits: bounds of frames, strings and nesting; by default a reader's default limits.
    :raises OptionsError: the options are inconsistent, or require a version that cannot be written.
    :raises ValueError: ``frame_rows``, ``frame_bytes`` or ``restart_every`` is less than 1.

    A rejected statement leaves the encoder unchanged, except for lookup entries that no
    statement uses yet. Frames that ended before it are returned by the next :meth:`add`, or by
    :meth:`finish`.
    """

    #: The class of the term writer; the compiled kernel overrides it.
    _term_writer: ClassVar = TermWriter
    _entry_rows: ClassVar = {"name": Row.NAME, "prefix": Row.PREFIX, "datatype": Row.DATATYPE}

    def __init__(
        self,
        options: StreamOptions,
        describe: Describe = describe,
        *,
        namespaces: bool = False,
        frame_rows: int = DEFAULT_FRAME_ROWS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        restart_every: int | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if restart_every is not None and restart_every < 1:
            raise ValueError("restart_every must be at least 1")
        lowest = VERSION_1_1 if namespaces else VERSION_1_0
        if options.version == 0:
            options = replace(options, version=lowest)
        if namespaces:
            options.check_namespaces()
        options.check(limits)
        super().__init__(limits, frame_rows, frame_bytes, whole_frames=options.grouped)
        #: The options as written.
        self.options: Final = options
        self._writer = self._term_writer(options, describe, limits, self)
        self._state = rules.FIRST_STATE[options.physical_type]
        self._graph: Any = None
        self._restart_every = restart_every
        #: Bytes since the last restart point.
        self._since_restart = 0
        self._writer.text(options.stream_name, "the stream name")
        self._add_row(Row.OPTIONS, write_options(options))

    def add(self, statements: Iterable[tuple[Any, ...]]) -> list[bytes]:
        """Write statements: triples in physical type TRIPLES, otherwise quads.

        :return: the completed frames.
        :raises JellyError: a statement cannot be written; the previous ones are.
        """
        row, width = ROW_AND_WIDTH[self.options.physical_type]
        write: Callable[[tuple[Any, ...]], bytes] = self._writer.statement
        if self.options.physical_type is PhysicalType.GRAPHS:
            write = self.triple_in_graph
        for statement in statements:
            if self.restarting:
                self.begin_restart()
            try:
                terms = terms_of(statement)
                if len(terms) != width:
                    raise self.wrong_width(terms)
                body = write(terms)
                self._repeats += not body
                self._add_row(row, body)
                if self._rows >= self._frame_rows or len(self._buffer) >= self._frame_bytes:
                    self.end_full_frame()
            except JellyError as error:
                self.locate(error)
                raise
        return self._take_ended()

    def wrong_width(self, terms: tuple[Any, ...]) -> OrderError:
        """The error for a statement that has too many terms or too few."""
        return OrderError(f"a statement of {len(terms)} terms {rules.WHERE[self._state]}")

    @property
    def graph(self) -> Any:
        """The name of the open graph; the encoder itself if none is open."""
        return self._graph if self._state is State.INSIDE_GRAPH else self

    def add_namespace(self, name: str, iri: str) -> None:
        """Declare a namespace; ``name`` is without its colon.

        :raises OptionsError: the stream's version has no namespace declarations.
        :raises TermError: the name or the IRI cannot be expressed.
        """
        self.options.check_namespaces()
        self.begin_restart()
        self._writer.text(name, "a namespace's name")
        iri_tag = (2 << 3 | BYTES).to_bytes()
        self._add_row(Row.NAMESPACE, string_field(1, name) + iri_tag + self._writer.iri(iri))

    def start_graph(self, name: Any) -> None:
        """Start a graph, after ending an open one; a graph may stay empty.

        :raises OrderError: the stream's physical type is not GRAPHS.
        """
        if self.options.physical_type is not PhysicalType.GRAPHS:
            raise OrderError(f"a graph starts {rules.WHERE[self._state]}")
        self.begin_restart()
        body = self._writer.graph_name(name)
        self.end_graph()
        self._add_row(Row.GRAPH_START, body)
        self._state = State.INSIDE_GRAPH
        self._graph = name

    def end_graph(self) -> None:
        """End the open graph, if there is one."""
        if self._state is State.INSIDE_GRAPH:
            self._add_row(Row.GRAPH_END, b"")
            self._state = State.OUTSIDE_GRAPH

    def flush(self, metadata: Mapping[str, bytes] | None = None) -> bytes:
        """End the frame, empty or not.

        :param metadata: the frame's metadata; keys are text, values are any bytes.
        :return: the frame's bytes, without a delimiter.
        :raises LimitError: the frame is larger than a reader accepts, or its metadata are.
        :raises TermError: a key is not a string, or is the key of restart points.
        :raises OrderError: frames that ended automatically before a rejected statement were not
            returned yet.
        """
        if self._ended:
            raise OrderError("frames are pending: call add(()) or finish() first")
        entries = []
        metadata = metadata or {}
        check_metadata(metadata)
        for key, value in metadata.items():
            self._writer.text(key, "a metadata key")
            if key == restarts.KEY:
                raise TermError(f"the metadata key {key} is reserved for restart points")
            # Read the value's own bytes, whatever its class overrides.
            value = bytes(memoryview(value))
            entry = string_field(1, key) + (bytes_field(2, value) if value else b"")
            entries.append(bytes_field(15, entry))
        self._close_before_restart()
        return self._take_frame(b"".join(entries))

    def restart(self) -> list[bytes]:
        """End the frame, if it has rows, and make the next one a restart point, at which a reader
        may begin. See :mod:`~jelly_plugins.codec.rdf.restarts`.

        :return: the completed frames.
        """
        # The first frame is always a restart point.
        if self._frames or self._rows > 1:
            self.end_graph()
            if self._rows:
                self._end_frame()
            self.restarting = True
        return self._take_ended()

    def begin_restart(self) -> None:
        if not self.restarting or self._rows or self._state is State.INSIDE_GRAPH:
            return
        self.restarting = False
        self._since_restart = 0
        self._writer.restart()
        self._buffer += restarts.MARK
        self._add_row(Row.OPTIONS, write_options(self.options))

    def _begin_frame(self) -> None:
        self._since_restart += len(self._buffer)
        super()._begin_frame()
        every = self._restart_every
        self.restarting |= every is not None and self._since_restart >= every

    def end_full_frame(self) -> None:
        self._close_before_restart()
        self._end_frame()

    def _close_before_restart(self) -> None:
        """End the graph if the next frame is a restart point, where it starts again."""
        every = self._restart_every
        if self.restarting or (
            every is not None and self._since_restart + len(self._buffer) >= every
        ):
            self.end_graph()

    def _end_whole_frame(self) -> None:
        self.end_graph()

    def finish(self) -> list[bytes]:
        """End the stream.

        :return: the remaining frames. They always include the first frame, because its options make
            even an empty stream readable.
        """
        self.end_graph()
        return self._end_stream()

    def triple_in_graph(self, statement: tuple[Any, ...]) -> bytes:
        """Write the body of a triple's row, after the rows that start its graph if needed."""
        graph = statement[3]
        terms = statement[:3]
        if self._state is State.INSIDE_GRAPH and (graph is self._graph or graph == self._graph):
            return self._writer.statement(terms)
        before = self._state, self._graph, self._writer.ids
        size = len(self._buffer)
        rows = self._rows
        try:
            self.start_graph(graph)
            return self._writer.statement(terms)
        except BaseException:
            # A rejected statement must not start a graph.
            self._state, self._graph, self._writer.ids = before
            added = bytes(self._buffer[size:])
            del self._buffer[size:]
            self._rows = rows
            for start, stop, row in rows_of(added):
                if row in self._entry_rows.values():
                    self._buffer += added[start:stop]
                    self._rows += 1
            raise
