"""Frames of a Jelly-Patch stream to batches of operations.

Bytes in, operations with terms of the caller's factory out. No I/O: ``wire`` splits a byte
stream into frames, and the caller reads the bytes.

Reference: Jelly-Patch specification, sections "Patch frames", "Patch rows", "Patch stream types",
"Transactions", "Namespaces", "Headers" and "RDF terms and graph nodes".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from ...errors import (
    JellyError,
    OptionsError,
    OrderError,
    StatementError,
    TruncatedError,
    WireError,
)
from ..common import positions
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.row_reader import RowFormat, RowReader
from ..common.term_reader import TermReader
from ..common.terms import Kind, TermFactory
from ..common.wire import BYTES, check_empty, read_fields
from . import rules as patch_rules
from .operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    AnyOperation,
    Header,
    Namespace,
    Operation,
    OperationKind,
)
from .options import PatchOptions, PatchStatementType, PatchStreamType
from .rules import PatchRow, PatchState

ROWS: Final = tuple(row for row in PatchRow if row < PatchRow.END_OF_FRAME)

#: Rows without content, and their operations.
EMPTY_ROWS: Final = {
    PatchRow.TRANSACTION_START: (BEGIN, "RdfPatchTransactionStart"),
    PatchRow.TRANSACTION_COMMIT: (COMMIT, "RdfPatchTransactionCommit"),
    PatchRow.TRANSACTION_ABORT: (ABORT, "RdfPatchTransactionAbort"),
    PatchRow.PUNCTUATION: (END, "RdfPatchPunctuation"),
}


_GRAPH_BIT: Final = 1 << positions.GRAPH

NAMESPACE_FIELDS: Final = dict.fromkeys((1, 2, *patch_rules.NAMESPACE_GRAPH_FIELDS), BYTES)
HEADER_FIELDS: Final = dict.fromkeys((1, *patch_rules.HEADER_VALUE_FIELDS), BYTES)


class PatchTermReader(TermReader):
    """Reads the terms of a patch's rows. Statements and namespaces repeat each other's graphs."""

    def namespace(self, data: bytes, pos: int, end: int, *, needs_iri: bool) -> Namespace:
        """Read an RdfPatchNamespace. In a stream of quads it has a graph, set or repeated; the
        graph is None if no previous row has one.
        """
        name = ""
        iri = None
        graph: tuple[Kind, int, int] | None = None
        value: tuple[int, int] | None = None
        for number, start, stop, _ in read_fields(
            data, pos, end, NAMESPACE_FIELDS, "RdfPatchNamespace"
        ):
            if number == 1:
                name = self.string(data, start, stop, "a namespace's name")
            elif number == 2:
                value = (start, stop)
            elif graph is not None:
                raise WireError("a namespace's graph is set twice")
            else:
                graph = (patch_rules.NAMESPACE_GRAPH_FIELDS[number], start, stop)
        # The IRI is read before the graph, whatever their order on the wire.
        if value is not None:
            iri = self.iri(data, *value)
        elif needs_iri:
            raise StatementError("a namespace is added without an IRI")
        if len(self.last) <= positions.GRAPH:
            if graph is not None:
                raise StatementError("a namespace has a graph in a stream of triples")
            return Namespace(name, iri, None)
        if graph is not None:
            kind, start, stop = graph
            self.last[positions.GRAPH] = self._term(positions.GRAPH, kind, data, start, stop)
            self._missing &= ~_GRAPH_BIT
        return Namespace(name, iri, self.last[positions.GRAPH])

    def header(self, data: bytes, pos: int, end: int) -> Header:
        """Read an RdfPatchHeader, whose value never repeats."""
        key = ""
        value = None
        for number, start, stop, _ in read_fields(data, pos, end, HEADER_FIELDS, "RdfPatchHeader"):
            if number == 1:
                key = self.string(data, start, stop, "a header's key")
            elif value is not None:
                raise WireError("a header's value is set twice")
            else:
                kind = patch_rules.HEADER_VALUE_FIELDS[number]
                value = self._term(positions.OBJECT, kind, data, start, stop)
        if value is None:
            raise StatementError("a header has no value; values cannot repeat there")
        return Header(key, value)

    def _term(self, position: int, kind: Kind, data: bytes, pos: int, end: int) -> Any:
        self.check_declared(position, kind)
        return self.term(kind, data, pos, end)


@dataclass(slots=True)
class PatchFrame:
    """The contents of one frame.

    :ivar operations: in order, including headers and ends of patches. In a stream of type FRAME the
        last one is END; in a stream of type FLAT none is.
    :ivar rows: number of rows.
    :ivar size: number of bytes, without a delimiter.
    """

    index: int
    operations: list[AnyOperation] = field(default_factory=list)
    rows: int = 0
    size: int = 0


class PatchDecoder(RowReader):
    """Reads the frames of one stream, in order. Use it from one thread at a time.

    :param factory: makes terms and statements.
    :param limits: the limits on untrusted input.
    :param strict: whether to reject known deviations of other implementations whose meaning is
        clear.
    :ivar deviations: the accepted deviations, as the errors that strict reading would raise: each
        kind once, with the position of its first occurrence.

    After an error the decoder decodes no further frames.

    >>> from jelly_plugins.codec import GenericFactory, PatchEncoder
    >>> [frame] = PatchEncoder(PatchOptions()).add([BEGIN, COMMIT, END])
    >>> [each.kind.code for each in PatchDecoder(GenericFactory()).decode(frame).operations]
    ['TX', 'TC', 'Z']
    """

    options: PatchOptions | None
    _format = RowFormat(ROWS, patch_rules, "RdfPatch", PatchOptions)
    _frame_class = PatchFrame

    def __init__(
        self,
        factory: TermFactory[Any],
        *,
        limits: Limits = DEFAULT_LIMITS,
        strict: bool = False,
    ) -> None:
        super().__init__(limits)
        self._factory = factory
        self._strict = strict
        self.deviations: list[JellyError] = []
        #: Frame and row of the start of the last transaction.
        self._begin = (0, 0)

    def place(self, state: int, frame: int, begin: tuple[int, int]) -> None:
        """Continue at the position of the compiled decoder that this one works for.

        :param state: a number of :class:`~.rules.PatchState`.
        :param frame: number of the next frame.
        :param begin: frame and row of the start of the last transaction.
        """
        self._state = PatchState(state)
        self._frames = frame
        self._begin = begin

    @property
    def inside_patch(self) -> bool:
        """Whether the stream must not end here: inside a transaction, or, in a stream of type
        PUNCTUATED, after rows without subsequent punctuation.
        """
        after = patch_rules.NEXT[self._state]
        return bool(after) and PatchRow.END_OF_STREAM not in after

    @property
    def ends_with_frame(self) -> bool:
        """Whether each frame is a patch."""
        return self.options is not None and self.options.stream_type is PatchStreamType.FRAME

    def decode(self, data: bytes) -> PatchFrame:
        """Decode the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error.
        """
        frame = PatchFrame(self._frames, size=len(data))
        self._decode_frame(data, frame, frame.operations)
        return frame

    def finish(self) -> list[AnyOperation]:
        """Mark the end of the stream.

        A stream of type PUNCTUATED that lacks its last punctuation ends its patch here, unless a
        transaction is open, the last rows require further rows (headers, lookup entries), or
        reading is strict.

        :return: END if the end of the stream ends a patch, otherwise nothing.
        :raises OptionsError: the stream had no options, because it had no frames at all.
        :raises TruncatedError: the stream ends inside a patch.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")
        after = patch_rules.NEXT[self._state].get(PatchRow.END_OF_STREAM)
        if after is None:
            error = TruncatedError(
                f"the stream ends {patch_rules.WHERE[self._state]}", frame=self._frames - 1
            )
            if self._state not in patch_rules.UNMARKED_ENDS:
                raise error
            self._deviate(error)
            self._state = PatchState.OVER
            return [END]
        self._state = after
        return [END] if self.options.stream_type is PatchStreamType.FLAT else []

    def _deviate(self, error: JellyError) -> None:
        """Record a deviation whose meaning is clear; reject it if reading is strict."""
        if self._strict:
            raise error
        if all(error.message != known.message for known in self.deviations):
            self.deviations.append(error)

    def _taken(self, row: PatchRow, statement: Any) -> AnyOperation:
        adds = row is PatchRow.STATEMENT_ADD
        return Operation(OperationKind.ADD if adds else OperationKind.DELETE, statement)

    def _read_row(self, row: PatchRow, data: bytes, pos: int, end: int, frame: PatchFrame) -> bool:
        terms = self._terms
        if row is PatchRow.NAMESPACE_ADD or row is PatchRow.NAMESPACE_DELETE:
            read = self._read_namespace(terms, row, data, pos, end)
            if read.value.graph is None and len(terms.last) > positions.GRAPH:
                self.default_namespace_graph(frame.index, frame.rows - 1)
                graph = self._factory.default_graph
                read = Operation(read.kind, read.value._replace(graph=graph))
            frame.operations.append(read)
            # The next statement may repeat the namespace's graph.
            return True
        if row is PatchRow.HEADER:
            frame.operations.append(Operation(OperationKind.HEADER, terms.header(data, pos, end)))
        else:
            operation, message = EMPTY_ROWS[row]
            check_empty(data, pos, end, message)
            if row is PatchRow.TRANSACTION_START:
                self._begin = (frame.index, frame.rows - 1)
            frame.operations.append(operation)
        return False

    def end_frame(self, frame: PatchFrame) -> None:
        self._outside_rows = True
        after = patch_rules.NEXT[self._state].get(PatchRow.END_OF_FRAME)
        if after is None:
            raise self._misplaced(PatchRow.END_OF_FRAME)
        self._state = after
        # A frame before the options has no rows and is not a patch.
        if self.ends_with_frame:
            frame.operations.append(END)
        self._outside_rows = False

    def _misplaced(self, row: PatchRow) -> JellyError:
        if row is PatchRow.END_OF_FRAME:
            where = patch_rules.WHERE[self._state]
            at, begin = self._begin
            return OrderError(f"a frame, and its patch, ends {where}", frame=at, row=begin)
        return super()._misplaced(row)

    def _begin_stream(self, options: PatchOptions) -> None:
        self.options = options
        width = 4 if options.statement_type is PatchStatementType.QUADS else 3
        self._terms = PatchTermReader(self._factory, options, self._limits, width)
        self._state = patch_rules.FIRST_STATE[options.stream_type]

    def _read_namespace(
        self, terms: PatchTermReader, row: PatchRow, data: bytes, pos: int, end: int
    ) -> AnyOperation:
        adds = row is PatchRow.NAMESPACE_ADD
        kind = OperationKind.ADD_NAMESPACE if adds else OperationKind.DELETE_NAMESPACE
        namespace = terms.namespace(data, pos, end, needs_iri=adds)
        return Operation(kind, namespace)

    def default_namespace_graph(self, frame: int, row: int) -> None:
        """Record a namespace in a stream of quads that has no graph and cannot repeat one of a
        previous row: its graph is the default graph. Jelly-JVM writes such rows for prefixes at
        the start.

        :raises StatementError: reading is strict.
        """
        message = "a namespace repeats the graph, but no row before has one"
        self._deviate(StatementError(message, frame=frame, row=row))
