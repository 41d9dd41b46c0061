"""Frames of a Jelly-RDF stream to batches of statements.

Bytes in, terms of the caller's factory out. No I/O: where frames begin and end is framing's to
know (``framing``), and where bytes come from is the caller's.

Reference: Jelly-RDF specification, sections "Stream frames", "Stream rows", "Stream options".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias

from ...errors import JellyError, OptionsError, OrderError, StatementError, TermError, WireError
from ..common.limits import DEFAULT_LIMITS, Limits, over
from ..common.row_reader import ROW_TAG, RowReader
from ..common.term_reader import TermReader
from ..common.terms import GraphName, Iri, Statement, TermFactory
from ..common.wire import (
    BYTES,
    VARINT,
    check_empty,
    read_field,
    read_fields,
    read_string,
    uint32,
    wrong_type,
)
from . import restarts, rules
from .options import PhysicalType, StreamOptions
from .rules import Row, State

_METADATA_TAG: Final = 15 << 3 | BYTES
_METADATA_FIELDS: Final = {1: BYTES, 2: BYTES}
_NAMESPACE_FIELDS: Final = {1: BYTES, 2: BYTES}

_OPTIONS: Final = Row.OPTIONS
_TRIPLE: Final = Row.TRIPLE
_QUAD: Final = Row.QUAD
_TRIPLES: Final = State.TRIPLES
_INSIDE_GRAPH: Final = State.INSIDE_GRAPH

_OPTIONS_FIELDS: Final = {
    1: ("stream_name", BYTES),
    2: ("physical_type", VARINT),
    3: ("generalized_statements", VARINT),
    4: ("rdf_star", VARINT),
    9: ("max_name_table_size", VARINT),
    10: ("max_prefix_table_size", VARINT),
    11: ("max_datatype_table_size", VARINT),
    14: ("logical_type", VARINT),
    15: ("version", VARINT),
}
_OPTIONS_WIRE_TYPES: Final = {number: kind for number, (_, kind) in _OPTIONS_FIELDS.items()}

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # What is there if nobody says otherwise are generic terms.
    StatementT = TypeVar("StatementT", default=Statement)
    IriT = TypeVar("IriT", default=Iri)
    GraphT = TypeVar("GraphT", default=GraphName)
else:
    from typing import TypeVar

    StatementT, IriT, GraphT = map(TypeVar, ("StatementT", "IriT", "GraphT"))


@dataclass(slots=True)
class Frame(Generic[StatementT, IriT, GraphT]):
    """What one frame says.

    :ivar statements: in order; triples in a stream of physical type TRIPLES, otherwise quads, as
        the factory's ``triple`` and ``quad`` made them. A statement that repeats the one before in
        every term is the same object.
    :ivar namespaces: declarations in order, as name and IRI term.
    :ivar graphs: in physical type GRAPHS, the names of the graphs that start in this frame, in
        order, empty graphs included.
    :ivar empty_graphs: in physical type GRAPHS, the names of the graphs that end in this frame
        without having had a triple, in this frame or before.
    :ivar metadata: the frame's metadata, by key, without the mark of restart points.
    :ivar restart: whether the frame is marked as a restart point, see
        :mod:`~jelly_plugins.codec.rdf.restarts`.
    :ivar rows: number of rows.
    :ivar size: number of bytes, without a delimiter.
    """

    index: int
    statements: list[StatementT] = field(default_factory=list)
    namespaces: list[tuple[str, IriT]] = field(default_factory=list)
    graphs: list[GraphT] = field(default_factory=list)
    empty_graphs: list[GraphT] = field(default_factory=list)
    metadata: dict[str, bytes] = field(default_factory=dict)
    restart: bool = False
    rows: int = 0
    size: int = 0


#: A frame in the terms of any library.
AnyFrame: TypeAlias = Frame[Any, Any, Any]


def opens_with_options(data: bytes) -> bool:
    """Whether a frame's first row is a row of options, and not of those that a restart point says
    again."""
    if data.startswith(restarts.MARK):
        return False
    pos = 0
    try:
        while pos < len(data):
            tag, start, pos, _ = read_field(data, pos, len(data))
            if tag == ROW_TAG:
                return read_field(data, start, pos)[0] == Row.OPTIONS << 3 | BYTES
    except WireError:
        # What is wrong is for whoever decodes the frame to say, with the row.
        pass
    return False


def read_options(data: bytes, pos: int, end: int, limits: Limits) -> StreamOptions:
    """Read an RdfStreamOptions as it stands, checking nothing but its types.

    :raises WireError: malformed.
    :raises OptionsError: the physical type is none.
    """
    found: dict[str, Any] = {}
    for number, start, stop, value in read_fields(
        data, pos, end, _OPTIONS_WIRE_TYPES, "RdfStreamOptions"
    ):
        name, wire_type = _OPTIONS_FIELDS[number]
        if wire_type == BYTES:
            if stop - start > limits.string_bytes:
                raise over(limits, "string_bytes", stop - start, "the length of the stream name")
            found[name] = read_string(data, start, stop, "the stream name")
        elif number in (3, 4):
            found[name] = value != 0
        else:
            found[name] = uint32(value, f"{name} in the stream options")
    return StreamOptions(
        **{
            # What is absent on the wire is zero, not what a writer takes by default.
            "physical_type": 0,
            "max_name_table_size": 0,
            "max_prefix_table_size": 0,
            "max_datatype_table_size": 0,
            **found,
        }
    )


def first_options(data: bytes, limits: Limits) -> StreamOptions | None:
    """The options in a frame's first row; None if it has none, or none that are well-formed."""
    try:
        if not opens_with_options(data):
            return None
        pos = 0
        while True:
            tag, start, pos, _ = read_field(data, pos, len(data))
            if tag == ROW_TAG:
                _, start, stop, _ = read_field(data, start, pos)
                return read_options(data, start, stop, limits)
    except JellyError:
        return None


class Decoder(RowReader[Row, AnyFrame]):
    """Reads the frames of one stream, in order; for one thread at a time.

    :param factory: makes terms and statements.
    :param limits: the limits on untrusted input.
    :param first_frame: number of the first frame, where the stream is part of a longer one.

    After an error the decoder's state is undefined: the stream ends there.

    >>> from jelly_plugins.codec import Encoder, GenericFactory, Iri, StreamOptions, Triple
    >>> encoder = Encoder(StreamOptions())
    >>> encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    []
    >>> decoder = Decoder(GenericFactory())
    >>> decoder.decode(encoder.flush()).statements
    [Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]
    """

    def __init__(
        self, factory: TermFactory[Any], *, limits: Limits = DEFAULT_LIMITS, first_frame: int = 0
    ) -> None:
        super().__init__(Row, "RdfStreamFrame", "RdfStreamRow", limits, first_frame)
        self._factory = factory
        self._state = State.START
        self._terms: TermReader | None = None
        self._graph: Any = None
        self._graph_is_empty = False
        #: The stream's options, once its first row was read.
        self.options: StreamOptions | None = None

    @property
    def inside_graph(self) -> bool:
        """Whether a graph was started and not ended, in physical type GRAPHS."""
        return self._state == State.INSIDE_GRAPH

    def decode(self, data: bytes) -> AnyFrame:
        """Decode the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, whatever is wrong.
        """
        return self._decode_frame(data, Frame(self._frames, size=len(data)))

    def finish(self) -> None:
        """Say that no frame follows.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")

    def _decode_rows(self, data: bytes, frame: AnyFrame) -> None:
        statements = frame.statements
        limits = self._limits
        row_tags = self._row_tags
        terms = self._terms
        if terms is not None:
            terms.begin_frame()
        allowed = rules.NEXT[self._state]
        # The statement before, where repeating it in every term gives the same object.
        before: Any = None
        repeats = 0
        rows = 0
        pos = 0
        end = len(data)
        try:
            while pos < end:
                row = None
                is_row = data[pos] == ROW_TAG
                rows += is_row
                if is_row and end - pos > 3:
                    # Nearly every row is short: its two lengths take a byte each, and agree.
                    length = data[pos + 1]
                    if data[pos + 3] + 2 == length < 0x80 and pos + 2 + length <= end:
                        row = row_tags.get(data[pos + 2])
                if row is not None:
                    start = pos + 4
                    stop = pos = pos + 2 + length
                else:
                    self._outside_rows = not is_row
                    row, start, stop, pos = self._next_row(data, pos, end, frame)
                    self._outside_rows = False
                    if row is None:
                        continue
                    rows += not is_row
                if rows > limits.frame_rows:
                    raise over(limits, "frame_rows", rows, "the number of rows in a frame")
                state = allowed.get(row)
                if state is None:
                    raise self._misplaced(row)
                if terms is None or row is _OPTIONS:
                    self._read_options(data, start, stop)
                    terms = self._terms
                    allowed = rules.NEXT[self._state]
                    continue
                if row is _TRIPLE or row is _QUAD:
                    if terms.statement(data, start, stop) or before is None:
                        before = self._statement(terms)
                    else:
                        repeats += 1
                        if repeats > limits.frame_repeats:
                            what = "repeats in a frame: their number"
                            raise over(limits, "frame_repeats", repeats, what)
                    statements.append(before)
                    self._graph_is_empty = False
                    continue
                if row is Row.NAME:
                    terms.set_name(data, start, stop)
                elif row is Row.PREFIX:
                    terms.set_prefix(data, start, stop)
                elif row is Row.DATATYPE:
                    terms.set_datatype(data, start, stop)
                elif row is Row.NAMESPACE:
                    frame.namespaces.append(self._read_namespace(terms, data, start, stop))
                elif row is Row.GRAPH_START:
                    before = None
                    self._graph = terms.graph_name(data, start, stop)
                    frame.graphs.append(self._graph)
                    self._graph_is_empty = True
                elif row is Row.GRAPH_END:
                    check_empty(data, start, stop, "RdfGraphEnd")
                    if self._graph_is_empty:
                        frame.empty_graphs.append(self._graph)
                self._state = state
                allowed = rules.NEXT[state]
        finally:
            frame.rows = rows

    def _read_frame_field(self, tag: int, data: bytes, pos: int, end: int, frame: AnyFrame) -> None:
        if tag == _METADATA_TAG:
            key = ""
            value = b""
            for entry, start, stop, _ in read_fields(
                data, pos, end, _METADATA_FIELDS, "a metadata entry"
            ):
                if entry == 1:
                    key = read_string(data, start, stop, "a metadata key")
                else:
                    value = data[start:stop]
            if key == restarts.KEY:
                frame.restart = True
            else:
                frame.metadata[key] = value
        elif tag >> 3 == 15:
            raise wrong_type(15, "RdfStreamFrame")
        else:
            super()._read_frame_field(tag, data, pos, end, frame)

    def _misplaced(self, row: Row) -> JellyError:
        if self._state is State.START:
            return OptionsError("the stream does not start with its options")
        return OrderError(f"a row {row.name} {rules.WHERE[self._state]}")

    def _read_options(self, data: bytes, pos: int, end: int) -> None:
        options = read_options(data, pos, end, self._limits)
        if self.options is not None:
            if options != self.options:
                raise OptionsError("the stream options differ from those at the stream's start")
            return
        options.check(self._limits)
        self.options = options
        width = 4 if options.physical_type is PhysicalType.QUADS else 3
        self._terms = TermReader(self._factory, options, self._limits, width)
        self._state = rules.FIRST_STATE[options.physical_type]

    def _read_namespace(
        self, terms: TermReader, data: bytes, pos: int, end: int
    ) -> tuple[str, Any]:
        assert self.options is not None
        self.options.check_namespaces()
        name = ""
        value = None
        for number, start, stop, _ in read_fields(
            data, pos, end, _NAMESPACE_FIELDS, "RdfNamespaceDeclaration"
        ):
            if number == 1:
                name = terms.string(data, start, stop, "a namespace's name")
            else:
                value = terms.iri(data, start, stop)
        if value is None:
            raise StatementError("a namespace declaration has no IRI")
        return name, value

    def _statement(self, terms: TermReader) -> Any:
        """Make the statement whose terms are :attr:`TermReader.last`."""
        try:
            if self._state is _TRIPLES:
                return self._factory.triple(tuple(terms.last))
            if self._state is _INSIDE_GRAPH:
                return self._factory.quad((*terms.last, self._graph))
            return self._factory.quad(tuple(terms.last))
        except JellyError:
            raise
        except ValueError as error:
            raise TermError(str(error)) from error
