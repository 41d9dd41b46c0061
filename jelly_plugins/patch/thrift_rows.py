"""Binary RDF Patch (``.trp``): rows of patches in Thrift's compact protocol, back to back.

The order of rows is that of text, see ``patch.rows``: what Z is in text is a row ``txn`` of its own
kind here.

Apache Jena's schema has ``RDF_Patch_Row``; there is no Protocol Buffers variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..codec import AnyOperation, Kind, Namespace, Operation, OperationKind
from ..codec.common.positions import GRAPH, OBJECT
from ..codec.common.terms import build, parts_of
from ..codec.patch.operations import ABORT, BEGIN, COMMIT, END, ENDS, header
from ..errors import JellyError, StatementError, TruncatedError, WireError
from ..jena import messages
from ..jena.names import JenaFormat
from ..jena.streams import batches
from ..jena.terms import Message, TermReader, TermWriter
from .rows import WRITE, ReadSettings, RowReader, RowWriter, WriteSettings

#: Rows of transactions, by their number: TX, TC, TA, and Z.
_TRANSACTIONS: Final = (BEGIN, COMMIT, ABORT, END)
_TRANSACTION_NUMBERS: Final = {row.kind: number for number, row in enumerate(_TRANSACTIONS)}
_ROW: Final = Message(messages.PATCH_ROW)
_HEADER: Final = Message(messages.PATCH_HEADER)
#: Kinds of rows of statements and of namespaces, and their messages, by place in a row.
_STATEMENTS: Final = {
    2: (OperationKind.ADD, messages.PATCH_ADD),
    3: (OperationKind.DELETE, messages.PATCH_DELETE),
}
_NAMESPACES: Final = {
    4: (OperationKind.ADD_NAMESPACE, messages.PATCH_ADD_PREFIX),
    5: (OperationKind.DELETE_NAMESPACE, messages.PATCH_DELETE_PREFIX),
}
_MESSAGES: Final = {
    place: Message(schema) for place, (_, schema) in (_STATEMENTS | _NAMESPACES).items()
}
_PLACES: Final = {kind: place for place, (kind, _) in (_STATEMENTS | _NAMESPACES).items()}
_HEADER_PLACE: Final = 1
_TRANSACTION_PLACE: Final = 6


class PatchRowReader(RowReader, TermReader):
    """Reads the rows of one source.

    >>> reader = PatchRowReader(ReadSettings())
    >>> [[row.kind.name for row in rows] for rows in reader.batches([bytes.fromhex("650000")])]
    [['BEGIN']]
    """

    def __init__(self, settings: ReadSettings) -> None:
        TermReader.__init__(self, settings.factory, JenaFormat.THRIFT, limits=settings.limits)
        RowReader.__init__(self, settings)
        #: Bytes of the rows that were read.
        self._size = 0
        self._growing = False
        self._error: JellyError | None = None

    def truncated(self, message: str) -> TruncatedError:
        return TruncatedError(f"the input {message}", row=self.row)

    def batches(
        self, chunks: Iterable[bytes], *, growing: bool = False
    ) -> Iterator[list[Operation]]:
        """Read rows, those of each chunk together.

        :param growing: whether a last row that is not complete is left out.
        :raises JellyError: with the row, after the rows before it.
        """
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
        if place == _HEADER_PLACE:
            key, value = self._header()
            wire.field(_ROW)
            row = header(key, value)
        elif place == _TRANSACTION_PLACE:
            number = wire.number(32)
            wire.field(_ROW)
            if not 0 <= number < len(_TRANSACTIONS):
                raise WireError(f"{number} is not a row of a transaction")
            row = _TRANSACTIONS[number]
        elif place in _STATEMENTS:
            row = Operation(_STATEMENTS[place][0], self._statement(_MESSAGES[place]))
        else:
            row = self._namespace(place)
        self.order.add(row, batch)

    def _header(self) -> tuple[str, Any]:
        key, value = "", None
        self.wire.begin()
        while place := self.wire.field(_HEADER):
            if place == 1:
                key = self.wire.string_of(_HEADER, place)
            else:
                value = self.term(OBJECT)
        return key, value

    def _statement(self, message: Message) -> Any:
        terms: list[Any] = [None] * 4
        self.wire.begin()
        while place := self.wire.field(message):
            position = place - 1
            # Any kind of term may be an object.
            allowed = OBJECT if self._generalized and position != GRAPH else position
            terms[position] = self.term(allowed)
        self.wire.field(_ROW)
        graph = self._graph(terms[GRAPH], "a statement")
        if not self._quads:
            return build(self.factory.triple, tuple(terms[:3]))
        return build(self.factory.quad, (*terms[:3], graph))

    def _namespace(self, at: int) -> Operation:
        message = _MESSAGES[at]
        graph, texts = None, []
        self.wire.begin()
        while place := self.wire.field(message):
            if place == 1:
                graph = self.term(GRAPH)
            else:
                texts.append(self.wire.string_of(message, place))
        self.wire.field(_ROW)
        graph = self._graph(graph, "a namespace")
        if len(texts) == 1:
            self.undeclare(texts[0])
            return Operation(OperationKind.DELETE_NAMESPACE, Namespace(texts[0], None, graph))
        iri = build(self.factory.iri, texts[1])
        self.declare(*texts)
        return Operation(OperationKind.ADD_NAMESPACE, Namespace(texts[0], iri, graph))

    def _graph(self, graph: Any, what: str) -> Any:
        """The graph of a row, of quads the default graph if it has none; None in triples."""
        if graph is None or graph is self.factory.default_graph:
            return self.factory.default_graph if self._quads else None
        if not self._quads:
            raise StatementError(f"{what} has a graph in a patch of triples")
        return graph


class PatchRowWriter(RowWriter):
    """Writes the rows of one source.

    >>> b"".join(PatchRowWriter().write([BEGIN, COMMIT])).hex()
    '650000650200'
    """

    mark = bytes.fromhex("650600")

    def __init__(self, settings: WriteSettings = WRITE, *, continues: bool = False) -> None:
        super().__init__(settings, continues=continues)
        self._rows = TermWriter(JenaFormat.THRIFT, settings.describe, limits=settings.limits)

    def row(self, row: AnyOperation) -> bytes:
        """A row's bytes."""
        kind, value = row
        rows = self._rows
        if kind is OperationKind.HEADER:
            key, term = parts_of(value, (2,), "a header")
            members = [(1, rows.string(key, "a header's key")), (2, rows.encoded(term))]
            struct = rows.struct(messages.PATCH_HEADER, members)
            return rows.row_of(messages.PATCH_ROW, _HEADER_PLACE, struct)
        place = _PLACES.get(kind)
        if place is None:
            number = _TRANSACTION_NUMBERS[kind]
            return rows.row_of(messages.PATCH_ROW, _TRANSACTION_PLACE, number)
        if place in _STATEMENTS:
            terms = parts_of(value, (3, 4), "a statement")
            members = [(at, rows.encoded(term)) for at, term in enumerate(terms[:3], 1)]
            if len(terms) == 4:
                members += self._graph_member(4, terms[3])
            struct = rows.struct(_STATEMENTS[place][1], members)
        else:
            struct = rows.struct(_NAMESPACES[place][1], self._namespace_members(kind, value))
        return rows.row_of(messages.PATCH_ROW, place, struct)

    def _namespace_members(
        self, kind: OperationKind, namespace: Namespace
    ) -> list[tuple[int, bytes]]:
        name, iri, graph = parts_of(namespace, (3,), "a namespace")
        prefix = self._rows.string(name, "a prefix")
        members = [] if graph is None else self._graph_member(1, graph)
        members.append((2, prefix))
        # There is no field for the IRI of a deleted one, which applying the patch does not need.
        if kind is OperationKind.ADD_NAMESPACE:
            if iri is None:
                raise StatementError("a namespace is added without an IRI")
            members.append((3, self._rows.string(self._describe(iri)[1], "an IRI")))
        return members

    def _graph_member(self, place: int, graph: Any) -> list[tuple[int, bytes]]:
        """A graph as a member; none for the default graph."""
        if self._describe(graph)[0] == Kind.DEFAULT_GRAPH:
            return []
        return [(place, self._rows.encoded(graph))]
