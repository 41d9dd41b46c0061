"""Binary RDF Patch (``.trp``): rows of patches in Thrift's compact protocol, back to back.

The order of rows is that of text, see ``text.order``: what Z is in text is a row ``txn`` of its own
kind here.

Apache Jena's schema has ``RDF_Patch_Row``; there is no Protocol Buffers variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from ..codec import (
    DEFAULT_LIMITS,
    Describe,
    Kind,
    Limits,
    Namespace,
    Operation,
    OperationKind,
    PatchStatementType,
    TermFactory,
    describe,
)
from ..codec.common.positions import GRAPH, OBJECT
from ..codec.common.terms import build, parts_of
from ..codec.patch.operations import ABORT, BEGIN, COMMIT, END, ENDS, header
from ..errors import StatementError, TruncatedError, WireError
from ..jena.names import JenaFormat
from ..jena.reader import WIRES, RowReader, is_default
from ..jena.schema import PATCH_ROW
from ..jena.streams import batches
from ..jena.wire import Wire, check_row_bytes
from ..jena.writer import TermWriter
from .text.order import PatchOrder
from .text.writer import PatchTextWriter

#: Rows of transactions, by their number: TX, TC, TA, and Z.
_TRANSACTIONS: Final = (BEGIN, COMMIT, ABORT, END)
_TRANSACTION_NUMBERS: Final = {row.kind: number for number, row in enumerate(_TRANSACTIONS)}
_STATEMENTS: Final = {"dataAdd": OperationKind.ADD, "dataDel": OperationKind.DELETE}
_STATEMENT_NAMES: Final = {kind: name for name, kind in _STATEMENTS.items()}


class PatchRowReader(RowReader):
    """Reads the rows of one source; see :class:`~jelly_plugins.patch.text.reader.PatchTextReader`,
    whose interface this has.

    :param factory: makes terms and statements.
    :param statement_type: what a statement without a graph is. The rows do not declare it.
    :param generalized: whether any kind of term may occur in any position.
    :param limits: the limits on untrusted input.

    >>> from jelly_plugins.codec import GenericFactory
    >>> reader = PatchRowReader(GenericFactory())
    >>> [row.kind.name for row in reader.rows([bytes.fromhex("650000" "650200")])]
    ['BEGIN', 'COMMIT']
    """

    _message = PATCH_ROW

    def __init__(
        self,
        factory: TermFactory[Any],
        *,
        statement_type: PatchStatementType = PatchStatementType.QUADS,
        generalized: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(factory, JenaFormat.THRIFT, generalized=generalized, limits=limits)
        self._quads = statement_type is PatchStatementType.QUADS
        self.order = PatchOrder()
        self._growing = False
        self._last: list[Any] = [None] * 4
        #: Bytes of a last row that was not complete, in a source that grows.
        self._pending = 0
        #: Bytes of the rows that were read, and of those up to the end of a transaction or patch.
        self._size = 0
        self.complete_bytes = 0

    @property
    def inside_patch(self) -> bool:
        """Whether there was something after the last END: rows, or part of one."""
        return self.order.inside_patch or self._pending > 0

    def rows(self, chunks: Iterable[bytes], *, growing: bool = False) -> Iterator[Operation]:
        """Read rows. END comes where the source has it, and where the headers of the next patch
        begin; for the last patch, :meth:`finish` has it.

        :param growing: whether a last row that is not complete is left out.
        :raises JellyError: with the row, while iterating.
        """
        self._growing = growing
        return chain.from_iterable(batches(chunks, self._decode, self._end_of_rows))

    def finish(self) -> list[Operation]:
        """Mark the end of the source.

        :return: END, unless there were no rows after the last one.
        :raises TruncatedError: it ended inside a transaction.
        """
        if self.order.inside_transaction:
            raise TruncatedError("the input ends inside a transaction", row=self.row)
        return self.order.finish()

    def _end_of_rows(self, rest: bytes) -> None:
        self._pending = len(rest)
        if rest and not self._growing:
            raise TruncatedError("the input ends inside a row", row=self.row)

    def _decode(self, data: bytes, at: int) -> tuple[list[Operation], int]:
        found: list[Operation] = []
        stop = self.read_rows(data, at, found)
        self._size += stop - at
        if found and found[-1].kind in ENDS:
            # A mark after a transaction comes with the next patch.
            is_mark = found[-1] is END
            self.complete_bytes = self._size - (len(PatchRowWriter.mark) if is_mark else 0)
        return found, stop

    def _take(self, row: tuple[str, Any], batch: list[Operation]) -> None:
        batch += self._operations(*row)

    def _operations(self, name: str, value: Any) -> list[Operation]:
        if name == "header":
            key = value["name"]
            row = header(key, self._term(value["value"], OBJECT))
            return [END, row] if self.order.header(key) else [row]
        if name == "txn":
            if not 0 <= value < len(_TRANSACTIONS):
                raise WireError(f"{value} is not a row of a transaction")
            row = _TRANSACTIONS[value]
        elif name in _STATEMENTS:
            row = Operation(_STATEMENTS[name], self._statement(value))
        else:
            row = self._namespace(name, value)
        self.order.take(row.kind)
        return [row]

    def _statement(self, value: dict[str, Any]) -> Any:
        terms = [self._term(value[part], at) for at, part in enumerate("spo")]
        graph = self._graph(value.get("g"), "a statement")
        self._last = [*terms, graph]
        factory = self.terms.factory
        if not self._quads:
            return build(factory.triple, tuple(terms))
        terms.append(factory.default_graph if graph is None else graph)
        return build(factory.quad, tuple(terms))

    def _namespace(self, name: str, value: dict[str, Any]) -> Operation:
        graph = self._graph(value.get("graphNode"), "a namespace")
        if graph is None and self._quads:
            graph = self.terms.factory.default_graph
        prefix = value["prefix"]
        if name == "prefixDel":
            self.terms.prefixes.pop(prefix, None)
            return Operation(OperationKind.DELETE_NAMESPACE, Namespace(prefix, None, graph))
        iri = build(self.terms.factory.iri, value["iriStr"])
        self.terms.declare(prefix, value["iriStr"])
        return Operation(OperationKind.ADD_NAMESPACE, Namespace(prefix, iri, graph))

    def _graph(self, graph: tuple[str, Any] | None, what: str) -> Any:
        """A graph's name; None for the default graph."""
        if graph is None or is_default(graph):
            return None
        if not self._quads:
            raise StatementError(f"{what} has a graph in a patch of triples")
        return self._term(graph, GRAPH)

    def _term(self, term: tuple[str, Any], position: int) -> Any:
        if term[0] != "repeat":
            return self.terms.term(term, position)
        again = self._last[position]
        if again is None:
            raise StatementError("there is a repeat with no such term before it")
        return again


class PatchRowWriter(PatchTextWriter):
    """Writes the rows of one source; see
    :class:`~jelly_plugins.patch.text.writer.PatchTextWriter` for the parameters.

    >>> b"".join(PatchRowWriter().write([BEGIN, COMMIT])).hex()
    '650000650200'
    """

    mark = bytes.fromhex("650600")

    def __init__(
        self, describe: Describe = describe, *, limits: Limits = DEFAULT_LIMITS, **settings: Any
    ) -> None:
        super().__init__(describe, limits=limits, **settings)
        self._wire: Wire = WIRES[JenaFormat.THRIFT]
        self._terms = TermWriter(
            describe, format=JenaFormat.THRIFT, generalized=True, limits=limits
        )

    def row(self, kind: OperationKind, value: Any) -> bytes:
        """A row's bytes.

        :raises JellyError: it cannot be written.
        """
        data = self._wire.write(PATCH_ROW, self._value(kind, value))
        check_row_bytes(len(data), self._limits)
        return data

    def _value(self, kind: OperationKind, value: Any) -> tuple[str, Any]:
        if kind in _STATEMENT_NAMES:
            terms = parts_of(value, (3, 4), "a statement")
            row = {
                part: self._terms.term(term, OBJECT)
                for part, term in zip("spo", terms, strict=False)
            }
            if len(terms) == 4:
                row["g"] = self._graph_value(terms[3])
            return _STATEMENT_NAMES[kind], row
        if kind is OperationKind.HEADER:
            key, term = parts_of(value, (2,), "a header")
            self._terms.check_string(key, "a header's key")
            return "header", {"name": key, "value": self._terms.term(term, OBJECT)}
        if kind is OperationKind.ADD_NAMESPACE or kind is OperationKind.DELETE_NAMESPACE:
            return self._namespace_value(kind, value)
        return "txn", _TRANSACTION_NUMBERS[kind]

    def _namespace_value(self, kind: OperationKind, namespace: Namespace) -> tuple[str, Any]:
        name, iri, graph = parts_of(namespace, (3,), "a namespace")
        self._terms.check_string(name, "a prefix")
        row: dict[str, Any] = {"prefix": name}
        if graph is not None:
            row["graphNode"] = self._graph_value(graph)
        if kind is OperationKind.DELETE_NAMESPACE:
            # There is no field for its IRI, which applying the patch does not need either.
            return "prefixDel", row
        if iri is None:
            raise StatementError("a namespace is added without an IRI")
        row["iriStr"] = self._describe(iri)[1]
        self._terms.check_string(row["iriStr"], "an IRI")
        return "prefixAdd", row

    def _graph_value(self, graph: Any) -> Any:
        """A graph's name; None, which is not written, for the default graph."""
        if self._describe(graph)[0] == Kind.DEFAULT_GRAPH:
            return None
        return self._terms.term(graph, GRAPH)
