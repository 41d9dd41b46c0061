"""Binary RDF Patch (``.trp``): rows of patches in Thrift's compact protocol, back to back.

The order of rows is that of text, see ``patch.rows``: what Z is in text is a row ``txn`` of its own
kind here.

Apache Jena's schema has ``RDF_Patch_Row``; there is no Protocol Buffers variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..codec import DEFAULT_GRAPH, AnyOperation, Header, Kind, Namespace, Operation, OperationKind
from ..codec.common.positions import GRAPH, OBJECT, PREDICATE, SUBJECT
from ..codec.common.terms import build, parts_of
from ..codec.patch.operations import ABORT, BEGIN, COMMIT, END, ENDS, STATEMENTS
from ..errors import JellyError, StatementError, TermError, TruncatedError, WireError
from ..jena.names import DEFAULT_GRAPHS, JenaFormat
from ..jena.streams import I32, STRUCT, TEXT, Member, Message, TermReader, batches
from ..jena.streams import RowWriter as JenaWriter
from .rows import WRITE, ReadSettings, RowReader, RowWriter, WriteSettings

#: Rows of transactions, by their number: TX, TC, TA, and Z; and their place in a row.
_TRANSACTIONS: Final = (BEGIN, COMMIT, ABORT, END)
_TRANSACTION_PLACE: Final = 6
#: The other rows by their place: kind, message, and for each member the position of a term, or None
#: for a string.
_TERMS: Final = (SUBJECT, PREDICATE, OBJECT, GRAPH)
_STATEMENT: Final = (
    *(Member(name, STRUCT, at, 0) for at, name in enumerate("spo", 1)),
    Member("g", STRUCT, 4, 0, required=False),
)
_PREFIX: Final = (
    Member("graphNode", STRUCT, 1, 0, required=False),
    Member("prefix", TEXT, 2, 0),
)
_HEADER: Final = (Member("name", TEXT, 1, 0), Member("value", STRUCT, 2, 0))
_ROWS: Final[dict[int, tuple[OperationKind, Message, tuple[int | None, ...]]]] = {
    1: (OperationKind.HEADER, Message("Patch_Header", *_HEADER), (None, OBJECT)),
    2: (OperationKind.ADD, Message("Patch_Data_Add", *_STATEMENT), _TERMS),
    3: (OperationKind.DELETE, Message("Patch_Data_Del", *_STATEMENT), _TERMS),
    4: (
        OperationKind.ADD_NAMESPACE,
        Message("Patch_Prefix_Add", *_PREFIX, Member("iriStr", TEXT, 3, 0)),
        (GRAPH, None, None),
    ),
    5: (OperationKind.DELETE_NAMESPACE, Message("Patch_Prefix_Del", *_PREFIX), (GRAPH, None)),
}
#: The first bytes of terms that may be a predicate, IRIs, and of those that may be a subject.
_PREDICATES: Final = (0x1C,)
_SUBJECTS: Final = (0x1C, 0x2C, 0x9C)
_PLACES: Final = {kind: (place, message) for place, (kind, message, _) in _ROWS.items()}
_NAMES: Final = ("header", "dataAdd", "dataDel", "prefixAdd", "prefixDel")
_ROW: Final = Message(
    "RDF_Patch_Row",
    *(Member(name, STRUCT, at, 0) for at, name in enumerate(_NAMES, 1)),
    Member("txn", I32, _TRANSACTION_PLACE, 0),
    union=True,
)


class PatchRowReader(RowReader, TermReader):
    """Reads the rows of one source."""

    def __init__(self, settings: ReadSettings) -> None:
        TermReader.__init__(self, settings.factory, JenaFormat.THRIFT, limits=settings.limits)
        RowReader.__init__(self, settings)
        #: By position. Any kind of term may be an object.
        self._allowed = (OBJECT, OBJECT, OBJECT, GRAPH) if settings.generalized else _TERMS
        #: Bytes of the rows that were read.
        self._size = 0
        self._growing = False
        self._error: JellyError | None = None

    def truncated(self, message: str) -> TruncatedError:
        return TruncatedError(f"the input {message}", row=self.row)

    def batches(
        self, chunks: Iterable[bytes], *, growing: bool = False
    ) -> Iterator[list[Operation]]:
        """Read rows, those of each chunk together. If the source is ``growing``, an incomplete last
        row is left out."""
        self._growing = growing
        for rows in batches(chunks, self._decode, self.end):
            yield rows
            if self._error is not None:
                raise self._error

    def end(self, rest: bytes = b"") -> None:
        self.pending = len(rest)
        if rest and not self._growing:
            super().end(rest)

    def _decode(self, data: bytes, at: int) -> tuple[list[Operation], int]:
        found: list[Operation] = []
        try:
            _, stop = self.read_rows(data, at, found)
        except JellyError as error:
            self._error = error
            return found, at
        self._size += stop - at
        if found and found[-1].kind in ENDS:
            # A mark comes with the next patch.
            is_mark = found[-1].kind is OperationKind.END
            self.complete_bytes = self._size - (len(PatchRowWriter.mark) if is_mark else 0)
        return found, stop

    def take(self, batch: list[Operation]) -> None:
        wire = self.wire
        place = wire.field(_ROW)
        if place == _TRANSACTION_PLACE:
            number = wire.number(32)
            wire.field(_ROW)
            if not 0 <= number < len(_TRANSACTIONS):
                raise WireError(f"{number} is not a row of a transaction")
            self.order.add(_TRANSACTIONS[number], batch)
            return
        kind, message, members = _ROWS[place]
        values: list[Any] = [None] * len(members)
        wire.begin()
        while at := wire.field(message):
            position = members[at - 1]
            if position is None:
                values[at - 1] = wire.string_of(message, at)
            else:
                values[at - 1] = self.term(self._allowed[position])
        wire.field(_ROW)
        row = Operation(kind, self._value(kind, values))
        if kind in STATEMENTS:
            self.order.take_statement()
            batch.append(row)
        else:
            self.order.add(row, batch)

    def _value(self, kind: OperationKind, values: list[Any]) -> Any:
        if kind is OperationKind.HEADER:
            return Header(*values)
        if kind in STATEMENTS:
            graph = self._graph(values[3], "a statement")
            if not self._quads:
                return build(self.factory.triple, tuple(values[:3]))
            return build(self.factory.quad, (*values[:3], graph))
        graph = self._graph(values[0], "a namespace")
        if kind is OperationKind.DELETE_NAMESPACE:
            self.undeclare(values[1])
            return Namespace(values[1], None, graph)
        iri = build(self.factory.iri, values[2])
        self.declare(*values[1:])
        return Namespace(values[1], iri, graph)

    def _graph(self, graph: Any, what: str) -> Any:
        """The graph of a row: of quads the default graph if it has none; None in triples."""
        if graph is None or graph is self.factory.default_graph:
            return self.factory.default_graph if self._quads else None
        if not self._quads:
            raise StatementError(f"{what} has a graph in a patch of triples")
        return graph


class PatchRowWriter(RowWriter):
    """Writes the rows of one source."""

    mark = bytes.fromhex("650600")

    def __init__(self, settings: WriteSettings = WRITE, *, continues: bool = False) -> None:
        super().__init__(settings, continues=continues)
        self._rows = JenaWriter(JenaFormat.THRIFT, settings.describe, limits=settings.limits)

    def row(self, row: AnyOperation) -> bytes:
        kind, value = row
        rows = self._rows
        graph: Any = DEFAULT_GRAPH
        graph_at = 0
        if kind is OperationKind.HEADER:
            key, term = parts_of(value, (2,), "a header")
            members = [(1, rows.string(key, "a header's key")), (2, rows.term(term))]
        elif kind in STATEMENTS:
            terms = parts_of(value, (3, 4), "a statement")
            members = [(place, rows.term(term)) for place, term in enumerate(terms[:3], 1)]
            if members[0][1][0] not in _SUBJECTS or members[1][1][0] not in _PREDICATES:
                for position in (SUBJECT, PREDICATE):
                    self.check(position, self._describe(terms[position])[0])
            graph, graph_at = (*terms, DEFAULT_GRAPH)[3], 3
        elif kind in _PLACES:
            name, iri, graph = parts_of(value, (3,), "a namespace")
            graph = DEFAULT_GRAPH if graph is None else graph
            members = [(2, rows.string(name, "a prefix"))]
            # The format has no field for the IRI of a deleted namespace.
            if kind is OperationKind.ADD_NAMESPACE:
                if iri is None:
                    raise StatementError("a namespace is added without an IRI")
                described = self._describe(iri)
                if described[0] != Kind.IRI:
                    raise StatementError("a namespace is not an IRI")
                members.append((3, rows.string(described[1], "an IRI")))
        else:
            number = next(n for n, each in enumerate(_TRANSACTIONS) if each.kind is kind)
            return rows.row_of(_ROW, (_TRANSACTION_PLACE, number))
        graph_kind, *named = self._describe(graph)
        if graph_kind != Kind.IRI:
            self.check(GRAPH, graph_kind)
        elif named[0] in DEFAULT_GRAPHS:
            raise TermError(f"a graph is named <{named[0]}>, which means the default graph here")
        if graph_kind != Kind.DEFAULT_GRAPH:
            members.insert(graph_at, (graph_at + 1, rows.term(graph)))
        place, message = _PLACES[kind]
        return rows.row_of(_ROW, (place, rows.struct(message, members)))
