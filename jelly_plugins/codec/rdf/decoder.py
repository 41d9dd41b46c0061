"""Frames of a Jelly-RDF stream to batches of statements.

Bytes in, terms of the caller's factory out. No I/O: ``wire`` splits a byte stream into frames,
and the caller reads the bytes.

Reference: Jelly-RDF specification, sections "Stream frames", "Stream rows", "Stream options".
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias

from ...errors import OptionsError, StatementError, WireError
from ...notebook import statements_table
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.options import PhysicalType, StreamOptions
from ..common.row_reader import ROW_TAG, RowFormat, RowReader
from ..common.term_reader import TermReader
from ..common.terms import GraphName, Iri, Statement, TermFactory
from ..common.wire import (
    BYTES,
    check_empty,
    read_field,
    read_fields,
    read_metadata_entry,
    wrong_type,
)
from . import restarts, rules
from .rules import Row, State

_METADATA_TAG: Final = 15 << 3 | BYTES
NAMESPACE_FIELDS: Final = {1: BYTES, 2: BYTES}

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    # Generic terms are the default.
    StatementT = TypeVar("StatementT", default=Statement)
    IriT = TypeVar("IriT", default=Iri)
    GraphT = TypeVar("GraphT", default=GraphName)
else:
    from typing import TypeVar

    StatementT, IriT, GraphT = map(TypeVar, ("StatementT", "IriT", "GraphT"))


@dataclass(slots=True)
class Frame(Generic[StatementT, IriT, GraphT]):
    """The contents of one frame.

    :ivar statements: in order; triples in a stream of physical type TRIPLES, otherwise quads, as
        the factory's ``triple`` and ``quad`` made them. A statement that repeats all terms of the
        previous one is the same object.
    :ivar namespaces: declarations in order, as name and IRI term.
    :ivar graphs: in physical type GRAPHS, the names of the graphs that start in this frame, in
        order, empty graphs included.
    :ivar empty_graphs: in physical type GRAPHS, the names of the graphs that end in this frame and
        are empty.
    :ivar metadata: the frame's metadata by key, without the key that marks restart points.
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

    def _repr_html_(self) -> str:
        known = {"namespaces": dict(self.namespaces), "empty graphs": self.empty_graphs}
        rows = [(name, value) for name, value in known.items() if value]
        number = len(self.statements)
        return statements_table(
            f"Frame {self.index}: {number:,} statement{'' if number == 1 else 's'}",
            [*rows, ("metadata", self.metadata or None)],
            self.statements,
        )


#: A frame with terms of any library.
AnyFrame: TypeAlias = Frame[Any, Any, Any]


class Decoder(RowReader):
    """Reads the frames of one stream, in order. Use it from one thread at a time.

    :param factory: makes terms and statements.
    :param limits: the limits on untrusted input.
    :param first_frame: number of the first frame, if the stream is part of a longer one.

    After an error the decoder decodes no further frames.

    >>> from jelly_plugins.codec import Encoder, GenericFactory, Iri, StreamOptions, Triple
    >>> encoder = Encoder(StreamOptions())
    >>> encoder.add([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    []
    >>> decoder = Decoder(GenericFactory())
    >>> decoder.decode(encoder.flush()).statements
    [Triple(subject=Iri(value='urn:s'), predicate=Iri(value='urn:p'), object=Iri(value='urn:o'))]
    """

    options: StreamOptions | None
    _format = RowFormat(Row, rules, "RdfStream", StreamOptions)
    _frame_class = Frame

    def __init__(
        self, factory: TermFactory[Any], *, limits: Limits = DEFAULT_LIMITS, first_frame: int = 0
    ) -> None:
        super().__init__(limits, first_frame)
        self._factory = factory
        self._graph_is_empty = False
        #: Number of the frame's statements before the start of the graph.
        self._graph_start = 0

    @property
    def inside_graph(self) -> bool:
        """Whether a graph is open, in physical type GRAPHS."""
        return self._state is State.INSIDE_GRAPH

    def decode(self, data: bytes) -> AnyFrame:
        """Decode the next frame.

        :param data: the frame's bytes, without a delimiter.
        :raises JellyError: with frame and row, on any error.
        """
        frame: AnyFrame = Frame(self._frames, size=len(data))
        self._decode_frame(data, frame, frame.statements)
        return frame

    def finish(self) -> None:
        """Mark the end of the stream.

        :raises OptionsError: the stream had no options, because it had no rows at all.
        """
        if self.options is None:
            raise OptionsError("the stream has no options: it is empty")

    def _read_row(self, row: Row, data: bytes, pos: int, end: int, frame: AnyFrame) -> bool:
        if row is Row.NAMESPACE:
            frame.namespaces.append(self._read_namespace(data, pos, end))
        elif row is Row.GRAPH_START:
            self._terms.graph = (self._terms.graph_name(data, pos, end),)
            frame.graphs += self._terms.graph
            self._graph_is_empty = True
            self._graph_start = len(frame.statements)
            return True
        elif row is Row.GRAPH_END:
            check_empty(data, pos, end, "RdfGraphEnd")
            if self._graph_is_empty and len(frame.statements) == self._graph_start:
                frame.empty_graphs += self._terms.graph
        return False

    def end_frame(self, frame: AnyFrame) -> None:
        if len(frame.statements) > self._graph_start:
            self._graph_is_empty = False
        self._graph_start = 0

    def read_frame_field(self, tag: int, data: bytes, pos: int, end: int, frame: AnyFrame) -> None:
        if tag == _METADATA_TAG:
            read_metadata_entry(data, pos, end, frame.metadata)
            if frame.metadata.pop(restarts.KEY, None) is not None:
                frame.restart = True
        elif tag >> 3 == 15:
            raise wrong_type(15, "RdfStreamFrame")
        else:
            super().read_frame_field(tag, data, pos, end, frame)

    def _begin_stream(self, options: StreamOptions) -> None:
        self.options = options
        width = 4 if options.physical_type is PhysicalType.QUADS else 3
        self._terms = TermReader(self._factory, options, self._limits, width)
        self._state = rules.FIRST_STATE[options.physical_type]

    def _read_namespace(self, data: bytes, pos: int, end: int) -> tuple[str, Any]:
        assert self.options is not None
        self.options.check_namespaces()
        name = ""
        iri: tuple[int, int] | None = None
        for number, start, stop, _ in read_fields(
            data, pos, end, NAMESPACE_FIELDS, "RdfNamespaceDeclaration"
        ):
            if number == 1:
                name = self._terms.string(data, start, stop, "a namespace's name")
            else:
                iri = start, stop
        if iri is None:
            raise StatementError("a namespace declaration has no IRI")
        # The whole row is well-formed before the factory makes its term, as in the kernel.
        return name, self._terms.iri(data, *iri)


def count_rows(data: bytes) -> dict[int, int]:
    """Count the rows of a frame by kind, as numbers of :class:`~.rules.Row`. Kinds that do not
    occur are omitted. The contents of the rows are not read.

    :param data: a frame that a decoder has accepted, without a delimiter.
    :raises WireError: the frame is malformed.

    >>> from jelly_plugins.codec import Encoder, StreamOptions
    >>> count_rows(Encoder(StreamOptions()).flush())
    {1: 1}
    """
    kinds: Counter[int] = Counter()
    pos = 0
    while pos < len(data):
        tag, start, pos, _ = read_field(data, pos, len(data))
        if tag == ROW_TAG:
            fields = read_fields(data, start, pos, Decoder._format.wire_types, "RdfStreamRow")
            row = next(fields, None)
            if row is None:
                raise WireError("a row is empty, or of an unknown kind")
            kinds[row[0]] += 1
    return dict(sorted(kinds.items()))
