"""Jelly-RDF to string columns in the layout of Apache Arrow and back, with a row for each
statement.

Bytes in, buffers out, and vice versa; only ``jelly_plugins.arrow`` uses an Arrow library. Terms in
the columns are in N-Triples syntax, as written by ``ntriples.term_text`` and read by its parser.
The compiled kernel does the same without making terms.

Reference: Arrow columnar format, section "Variable-size Binary Layout".
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, zip_longest
from typing import Any, Final, TypeAlias

from ...errors import JellyError, OrderError, TextError, WireError
from ..common import positions
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.options import StreamOptions
from ..common.terms import DEFAULT_GRAPH, Quad, Statement, Triple
from ..rdf.decoder import Decoder
from .lines import shorten
from .ntriples import Notation
from .transcoding import CEILING, TermEncoder, Text, TextFactory, whole

#: An object with the buffer protocol: bytes, a memoryview, an Arrow library's buffer.
Buffer: TypeAlias = Any

#: Number of rows after which columns are returned.
DEFAULT_BATCH_ROWS: Final = 1 << 14
#: Number of bytes of text, in all columns together, after which columns are returned.
DEFAULT_BATCH_BYTES: Final = 1 << 24

#: An empty string often means that a name is missing, so that it does not mean the default graph.
EMPTY_GRAPH: Final = "graph: an empty string does not name a graph; use null for the default graph"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of strings, in three buffers.

    :ivar rows: number of rows.
    :ivar offsets: the start of each row in ``data`` and the end of the last row: at least ``offset
        + rows + 1`` signed 32-bit numbers, little-endian.
    :ivar data: UTF-8.
    :ivar validity: a bit for each row, the least significant first; 0 for null. None if no row is
        null.
    :ivar offset: number of rows in the buffers before the column's first row.

    >>> Column(rows=2, offsets=bytes.fromhex("000000000100000003000000"), data=b"abc").values()
    ['a', 'bc']
    """

    rows: int
    offsets: Buffer
    data: Buffer
    validity: Buffer | None = None
    offset: int = 0

    def values(self) -> list[str | None]:
        """Return the rows as strings; None for null.

        :raises WireError: the buffers do not match the column's description.
        """
        check_column(self, "the column")
        cells = (_cell(self, row) for row in range(self.rows))
        return [None if cell is None else str(cell, "utf-8") for cell in cells]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Statements by column.

    :ivar rows: number of statements.
    :ivar graph: null if the statement is in the default graph. None if all statements are.
    :ivar frames: the frames of the rows, in order: the frame's number and its number of rows. Empty
        if they are unknown.
    """

    rows: int
    subject: Column
    predicate: Column
    object: Column
    graph: Column | None = None
    frames: tuple[tuple[int, int], ...] = ()


class Batch:
    """Collects statements whose terms are text until they become columns.

    :ivar rows: the terms of each statement; the default graph is empty.
    """

    def __init__(self, batch_rows: int, batch_bytes: int) -> None:
        check_batch(batch_rows, batch_bytes)
        self._most_rows = batch_rows
        self._most_bytes = batch_bytes
        self.rows: list[list[bytes]] = []
        self._bytes = 0
        #: The frame of each row, where it is known.
        self._frames: list[int] = []

    def add(self, terms: Iterable[Text], frame: int | None = None) -> None:
        """Add a statement of three or four terms."""
        self.rows.append([whole(term).encode() for term in terms])
        self._bytes += sum(map(len, self.rows[-1]))
        if frame is not None:
            self._frames.append(frame)

    def is_full(self, rows: int) -> bool:
        """Whether the batch ends, with this number of rows or with its bytes."""
        return rows >= self._most_rows or self._bytes >= self._most_bytes

    def take(self) -> Columns:
        """Return the rows as columns, and remove them."""
        terms = list(zip_longest(*self.rows, fillvalue=b"")) or [()] * 3
        graph = None
        if len(terms) == 4 and any(terms[3]):
            graph = column_of([cell or None for cell in terms[3]], nullable=True)
        columns = Columns(
            rows=len(self.rows),
            subject=column_of(terms[0]),
            predicate=column_of(terms[1]),
            object=column_of(terms[2]),
            graph=graph,
            frames=tuple(Counter(self._frames).items()),
        )
        self.rows.clear()
        self._frames.clear()
        self._bytes = 0
        return columns


def check_batch(batch_rows: int, batch_bytes: int) -> None:
    """Reject bounds of batches that are too large for 32-bit offsets."""
    if not (0 < batch_rows <= CEILING and 0 < batch_bytes <= CEILING):
        raise ValueError(f"batch_rows and batch_bytes must be from 1 to {CEILING}")


def column_of(cells: Sequence[bytes | None], *, nullable: bool = False) -> Column:
    """Make a column of texts; None is null.

    :param nullable: whether the column has validity bits even if no cell is null.

    >>> column_of([b"_:b", None]).values()
    ['_:b', None]
    """
    validity = None
    if nullable or None in cells:
        bits = "".join("0" if cell is None else "1" for cell in reversed(cells))
        validity = int(f"0{bits}", 2).to_bytes((len(cells) + 7) // 8, "little")
    sizes = (len(cell or b"") for cell in cells)
    return Column(
        rows=len(cells),
        offsets=struct.pack(f"<{len(cells) + 1}i", *accumulate(sizes, initial=0)),
        data=b"".join(filter(None, cells)),
        validity=validity,
    )


class ColumnDecoder(Decoder):
    """Reads the frames of one stream as columns: subject, predicate, object, graph.

    The decoder collects rows across frames until it has ``batch_rows`` rows, or ``batch_bytes``
    bytes of text in all columns together. It never holds more than that and one row, even if a
    frame repeats many statements.

    :param notation: how quoted triples are written.
    :param limits: the limits on untrusted input. ``frame_bytes`` bounds the text of a term too.
    :param first_frame: number of the first frame, if the stream is part of a longer one.
    :raises ValueError: a bound of batches is not between 1 and 2**30.

    >>> from jelly_plugins.codec import Encoder, Iri, Literal
    >>> encoder = Encoder(StreamOptions())
    >>> frames = encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))]) + encoder.finish()
    >>> decoder = ColumnDecoder()
    >>> batches = [columns for frame in frames for columns in decoder.decode(frame)]
    >>> batches += decoder.flush()
    >>> batches[0].object.values(), batches[0].graph, batches[0].frames
    (['"o"'], None, ((0, 1),))
    """

    def __init__(
        self,
        notation: Notation = Notation.RDF_1_2,
        *,
        limits: Limits = DEFAULT_LIMITS,
        first_frame: int = 0,
        batch_rows: int = DEFAULT_BATCH_ROWS,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
    ) -> None:
        self._batch = Batch(batch_rows, batch_bytes)
        super().__init__(
            TextFactory(notation, limits=limits), limits=limits, first_frame=first_frame
        )

    def decode(self, data: bytes) -> Iterator[Columns]:  # type: ignore[override]
        """Decode the next frame, and return an iterator over the full columns. Exhaust it before
        decoding the next frame, even if it is empty.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error. Columns with rows of the frame may
            have been yielded before; :meth:`flush` returns none of its rows.
        """
        number = self.next_frame
        statements = super().decode(data).statements
        self._unfinished = True
        for statement in statements:
            self._batch.add(statement, number)
            if self._batch.is_full(len(self._batch.rows)):
                yield self._batch.take()
        self._unfinished = False

    def flush(self) -> list[Columns]:
        """Return the rows collected so far as one batch, or none if there are no rows."""
        return [self._batch.take()] if self._batch.rows else []

    def finish(self) -> list[Columns]:  # type: ignore[override]
        """Mark the end of the stream.

        :return: the same as :meth:`flush`.
        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        super().finish()
        return self.flush()


class ColumnEncoder(TermEncoder):
    """Writes columns of terms in N-Triples syntax as frames.

    In physical type TRIPLES no row has a graph. For the parameters see
    :class:`~jelly_plugins.codec.text.transcoding.TermEncoder`.

    In its errors ``row`` is the number of the row, from 0, counting the rows of all added columns.

    >>> def column(text):
    ...     return Column(rows=1, offsets=struct.pack("<2i", 0, len(text)), data=text)
    >>> columns = Columns(
    ...     rows=1, subject=column(b"_:s"), predicate=column(b"<urn:p>"), object=column(b'"o"')
    ... )
    >>> encoder = ColumnEncoder(StreamOptions())
    >>> frames = encoder.add(columns) + encoder.finish()
    >>> decoder = ColumnDecoder()
    >>> list(decoder.decode(frames[0])), decoder.finish()[0].object == columns.object
    ([], True)
    """

    def __init__(self, options: StreamOptions, **settings: Any) -> None:
        super().__init__(options, **settings)
        #: Number of rows added before.
        self._rows = 0

    def add(self, columns: Columns) -> list[bytes]:
        """Write the rows of columns.

        :return: the completed frames.
        :raises WireError: the buffers do not match the description of the columns; no row is
            written.
        :raises TextError: with row and column, if a cell is not exactly one term in N-Triples
            syntax, or the term is not allowed there. The previous rows are written.
        :raises JellyError: with the row, if a statement cannot be written with these options.
        """
        frames = self._add(columns)
        self._rows += columns.rows
        return frames

    def _add(self, columns: Columns) -> list[bytes]:
        for name in positions.POSITIONS:
            column = getattr(columns, name)
            if column is not None:
                if column.rows != columns.rows:
                    raise WireError(f"the {name} column has {column.rows} rows, not {columns.rows}")
                check_column(column, f"the {name} column")
        row = 0

        def statements() -> Iterator[Statement]:
            nonlocal row
            for row in range(columns.rows):
                yield self.statement(columns, row)

        try:
            return self._encoder.add(statements())
        except JellyError as error:
            raise self.located(error, row) from None

    def located(self, error: JellyError, row: int) -> JellyError:
        """Convert an error to that of a row of the columns, without the frame and row of the
        stream.
        """
        error.frame = None
        error.row = self._rows + row
        return error

    def statement(self, columns: Columns, row: int) -> Statement:
        """Read the terms of a row, which must exist.

        :raises TextError: a cell is not one term in N-Triples syntax.
        """
        graph = None if columns.graph is None else _cell(columns.graph, row)
        if graph == b"":
            raise TextError(EMPTY_GRAPH)
        named = (columns.subject, columns.predicate, columns.object)
        terms = [self._term(_cell(column, row), at) for at, column in enumerate(named)]
        if self._parser.quads:
            terms.append(DEFAULT_GRAPH if graph is None else self._term(graph, positions.GRAPH))
            return Quad(*terms)
        if graph is not None:
            raise OrderError("a graph in a stream of physical type TRIPLES")
        return Triple(*terms)

    def _term(self, cell: bytes | None, position: int) -> Any:
        name = positions.POSITIONS[position]
        if cell is None:
            raise TextError(f"the {name} is null")
        try:
            return self._parser.term(cell, position)
        except TextError as error:
            text = shorten(cell.decode(errors="replace"))
            error.message = f"{name}: {error.message}: {text!r}"
            error.line = None
            raise


# Buffers of callers


def check_column(column: Column, what: str) -> None:
    """Reject a column whose buffers do not match its description."""
    rows, offset = column.rows, column.offset
    if rows < 0 or offset < 0:
        raise WireError(f"{what} has {rows} rows from row {offset} on")
    if not rows:
        return
    for name, buffer, bits in (
        ("offsets", column.offsets, 32 * (offset + rows + 1)),
        ("validity bits", column.validity, offset + rows),
    ):
        if buffer is not None and memoryview(buffer).nbytes * 8 < bits:
            raise WireError(f"the {name} of {what} are fewer than its rows")
    found = struct.unpack_from(f"<{rows + 1}i", column.offsets, 4 * offset)
    ends = (0, *found, memoryview(column.data).nbytes)
    if any(start > stop for start, stop in pairwise(ends)):
        raise WireError(f"the offsets of {what} are not in order, or not within its data")


def _cell(column: Column, row: int) -> bytes | None:
    row += column.offset
    try:
        if column.validity is not None:
            bits = memoryview(column.validity).cast("B")[row >> 3]
            if not bits >> (row & 7) & 1:
                return None
        start, stop = struct.unpack_from("<2i", column.offsets, 4 * row)
    except (IndexError, struct.error):
        raise WireError("a column changed while it was read") from None
    return bytes(memoryview(column.data).cast("B")[start:stop])
