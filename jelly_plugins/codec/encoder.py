"""Batches of statements to frames of a Jelly-RDF stream.

Terms of the caller's backend in, bytes out. No I/O, no delimiters (``framing`` writes those).

Reference: Jelly-RDF specification, sections "Stream frames", "Stream rows", "Stream options".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from ..errors import JellyError, OptionsError, OrderError
from . import rules
from .limits import DEFAULT_LIMITS, Limits, over
from .options import VERSION_1_0, VERSION_1_1, PhysicalType, StreamOptions
from .rules import Row, State
from .term_writer import TermWriter
from .terms import Describe, describe
from .wire import BYTES, bytes_field, string_field, varint, varint_field

#: Rows of a frame that is not ended by the caller.
DEFAULT_FRAME_ROWS: Final = 256
#: Bytes after which a frame ends whatever its rows; the specification recommends less than 1 MB.
DEFAULT_FRAME_BYTES: Final = 512 << 10

_ENTRY_ROWS: Final = {"name": Row.NAME, "prefix": Row.PREFIX, "datatype": Row.DATATYPE}


def write_options(options: StreamOptions) -> bytes:
    """Write the body of an RdfStreamOptions."""
    return b"".join(
        (
            string_field(1, options.stream_name),
            varint_field(2, options.physical_type),
            varint_field(3, options.generalized_statements),
            varint_field(4, options.rdf_star),
            varint_field(9, options.max_name_table_size),
            varint_field(10, options.max_prefix_table_size),
            varint_field(11, options.max_datatype_table_size),
            varint_field(14, options.logical_type),
            varint_field(15, options.version),
        )
    )


class Encoder:
    """Writes the frames of one stream, in order.

    Frames end by themselves after ``frame_rows`` rows or ``frame_bytes`` bytes, whichever comes first,
    or where the caller calls :meth:`flush`. In a stream of grouped logical type only the caller
    ends frames, because each is one element.

    :param options: of the stream. Version 0 becomes the lowest that fits: 2 with ``namespaces``,
        otherwise 1.
    :param describe: takes the caller's terms apart; those of ``codec.terms`` by default.
    :param namespaces: whether namespace declarations will be written.
    :param frame_rows: rows after which a frame ends; a statement is never parted from its entries.
    :param frame_bytes: bytes of a frame after which it ends.
    :param limits: bounds of frames, strings and nesting; a reader's by default, so that it can read
        what was written.
    :raises OptionsError: the options are inconsistent, or ask for a version that cannot be written.

    A statement that is refused leaves the encoder as it was, but for lookup entries that no
    statement uses yet.
    """

    def __init__(
        self,
        options: StreamOptions,
        describe: Describe = describe,
        *,
        namespaces: bool = False,
        frame_rows: int = DEFAULT_FRAME_ROWS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        lowest = VERSION_1_1 if namespaces else VERSION_1_0
        if options.version == 0:
            options = replace(options, version=lowest)
        if options.version < lowest:
            raise OptionsError("namespace declarations need protocol version 2")
        options.check(limits)
        if frame_rows < 1 or frame_bytes < 1:
            raise ValueError("frame_rows and frame_bytes are at least 1")
        #: The options as they are written.
        self.options: Final = options
        self._limits = limits
        self._frame_rows = limits.frame_rows + 1 if options.grouped else frame_rows
        self._frame_bytes = limits.frame_bytes + 1 if options.grouped else frame_bytes
        self._writer = TermWriter(options, describe, limits, self._add_entry)
        self._buffer = bytearray()
        self._rows = 0
        self._frames = 0
        self._state = rules.FIRST_STATE[options.physical_type]
        self._graph: Any = None
        self._add_row(Row.OPTIONS, write_options(options))

    @property
    def pending(self) -> int:
        """Rows that no frame has carried out yet."""
        return self._rows

    def add(self, statements: Iterable[tuple[Any, ...]]) -> list[bytes]:
        """Write statements: triples in physical type TRIPLES, otherwise quads.

        :return: the frames that came to their end.
        :raises JellyError: a statement cannot be written; those before it are.
        """
        frames: list[bytes] = []
        physical_type = self.options.physical_type
        width = 3 if physical_type is PhysicalType.TRIPLES else 4
        row = Row.QUAD if physical_type is PhysicalType.QUADS else Row.TRIPLE
        grouped_by_graph = physical_type is PhysicalType.GRAPHS
        write = self._writer.statement
        for statement in statements:
            if len(statement) != width:
                raise OrderError(
                    f"a statement of {len(statement)} terms {rules.WHERE[self._state]}",
                    frame=self._frames,
                )
            try:
                if grouped_by_graph:
                    graph = statement[3]
                    if self._state is State.OUTSIDE_GRAPH or graph != self._graph:
                        self.start_graph(graph)
                    self._add_row(row, write(statement[:3]))
                else:
                    self._add_row(row, write(statement))
            except JellyError as error:
                error.locate(frame=self._frames, row=self._rows)
                raise
            if self._rows >= self._frame_rows or len(self._buffer) >= self._frame_bytes:
                frames.append(self.flush())
        return frames

    def add_namespace(self, name: str, iri: str) -> None:
        """Declare a namespace; ``name`` is without its colon.

        :raises OptionsError: the stream's version has no namespace declarations.
        """
        if self.options.version < VERSION_1_1:
            raise OptionsError("namespace declarations need protocol version 2")
        body = string_field(1, name) + bytes_field(2, self._writer.iri(iri))
        self._add_row(Row.NAMESPACE, body)

    def start_graph(self, name: Any) -> None:
        """Start a graph, and end the one before; a graph may stay empty.

        :raises OrderError: the stream's physical type is not GRAPHS.
        """
        if self.options.physical_type is not PhysicalType.GRAPHS:
            raise OrderError(f"a graph starts {rules.WHERE[self._state]}")
        body = self._writer.graph_name(name)
        self.end_graph()
        self._add_row(Row.GRAPH_START, body)
        self._state = State.INSIDE_GRAPH
        self._graph = name

    def end_graph(self) -> None:
        """End the graph that was started, if there is one."""
        if self._state is State.INSIDE_GRAPH:
            self._add_row(Row.GRAPH_END, b"")
            self._state = State.OUTSIDE_GRAPH

    def flush(self, metadata: Mapping[str, bytes] | None = None) -> bytes:
        """End the frame, empty or not.

        :param metadata: of the frame; keys are text, values any bytes.
        :return: the frame's bytes, without a delimiter.
        :raises LimitError: the frame is larger than a reader would take.
        """
        if self.options.grouped:
            self.end_graph()
        frame = bytes(self._buffer)
        if metadata:
            frame += b"".join(
                bytes_field(15, string_field(1, key) + (bytes_field(2, value) if value else b""))
                for key, value in metadata.items()
            )
        for name, found, what in (
            ("frame_rows", self._rows, "the number of rows in a frame"),
            ("frame_bytes", len(frame), "the length of a frame"),
        ):
            if found > getattr(self._limits, name):
                raise over(self._limits, name, found, what).locate(frame=self._frames)
        self._buffer.clear()
        self._rows = 0
        self._frames += 1
        return frame

    def finish(self) -> list[bytes]:
        """End the stream.

        :return: the last frame, if there is anything left to say. The first frame always is: it
            has the options, without which an empty stream could not be read.
        """
        self.end_graph()
        return [self.flush()] if self._rows else []

    def _add_entry(self, table: str, body: bytes) -> None:
        self._add_row(_ENTRY_ROWS[table], body)

    def _add_row(self, row: Row, body: bytes) -> None:
        size = len(body)
        tag = row << 3 | BYTES
        if size < 0x7E:
            self._buffer += bytes((0x0A, size + 2, tag, size))
            self._buffer += body
        else:
            field = tag.to_bytes() + varint(size) + body
            self._buffer += b"\x0a" + varint(len(field)) + field
        self._rows += 1
