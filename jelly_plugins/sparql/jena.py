"""Results of SELECT in RDF Thrift and RDF Protobuf (``.srt``, ``.srp``): a row of variables,
then rows of terms, one for each variable; None where a variable is unbound.

The formats cannot express the result of ASK.

Reference: RDF Binary (Apache Jena), section "Thrift encoding of SPARQL Result Sets".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ..codec import Describe, Limits, TermFactory
from ..errors import JellyError, StatementError, TermError, TruncatedError
from ..jena.names import JenaFormat
from ..jena.streams import LIST, TEXT, Member, Message, RowWriter, TermReader, batches
from .terms import check_count

#: The first row.
_VARIABLES: Final = Message("RDF_VarTuple", Member("vars", LIST, 1, 1))
_VARIABLE: Final = Message("RDF_VAR", Member("name", TEXT, 1, 1))
#: Any other row. Without variables it has no list, as Apache Jena writes it.
_RESULT: Final = Message("RDF_DataTuple", Member("row", LIST, 1, 1, required=False))

#: In results any kind of term may be in any column.
_OBJECT: Final = 2


class RowsFormat:
    """RDF Thrift or RDF Protobuf."""

    def __init__(self, encoding: JenaFormat) -> None:
        self._encoding = encoding

    def read(
        self, chunks: Iterator[bytes], factory: TermFactory[Any], limits: Limits
    ) -> Iterator[Any]:
        """Read results: first the names of the variables, which are row 0, then the solutions."""
        rows = _RowDecoder(self._encoding, factory, limits)
        return chain.from_iterable(batches(chunks, rows.decode, rows.end))

    def write(
        self,
        variables: Sequence[str],
        solutions: Iterable[Sequence[Any]],
        describe: Describe,
        limits: Limits,
    ) -> Iterator[bytes]:
        """Write results, row by row."""
        writer = RowWriter(self._encoding, describe, limits=limits, solutions=True)
        check_count(len(variables), limits)
        if len(set(variables)) < len(variables):
            raise TermError("two variables have the same name")
        names = [writer.string(name, "a variable's name") for name in variables]
        try:
            members = [writer.struct(_VARIABLE, [(1, name)]) for name in names]
            yield writer.row_of(_VARIABLES, (1, members))
            for solution in solutions:
                try:
                    width = len(solution)
                    row = [writer.term(term) for term in solution]
                except TypeError as error:
                    raise TermError(f"not a solution: {error}") from None
                if width != len(variables):
                    raise StatementError(f"{width} terms for {len(variables)} variables")
                yield writer.row_of(_RESULT, *([(1, row)] if row else []))
        except JellyError as error:
            error.locate(row=writer.row)
            raise

    def boolean(self, value: bool) -> str:  # noqa: ARG002
        raise TermError(
            f"{self._encoding} has no place for the result of an ASK query: write another format"
        )


class _RowDecoder(TermReader):
    """Reads rows of results."""

    def __init__(self, format: JenaFormat, factory: TermFactory[Any], limits: Limits) -> None:  # noqa: A002
        super().__init__(factory, format, limits=limits)
        self.solutions = True
        #: Number of variables; None before the row of variables.
        self._width: int | None = None

    def decode(self, data: bytes, at: int) -> tuple[list[Any], int]:
        found: list[Any] = []
        _, stop = self.read_rows(data, at, found)
        return found, stop

    def take(self, batch: list[Any]) -> None:
        if self._width is None:
            names = self._names()
            self._width = len(names)
            batch.append(names)
        else:
            batch.append(self._solution(self._width))

    def end(self, rest: bytes = b"") -> None:
        super().end(rest)
        if self._width is None:
            raise TruncatedError("the results have no row of variables: they are empty")

    def _names(self) -> list[str]:
        names: list[str] = []
        wire = self.wire
        while wire.field(_VARIABLES):
            for _ in range(wire.elements()):
                name = ""
                wire.begin()
                while wire.field(_VARIABLE):
                    name = wire.string_of(_VARIABLE, 1)
                names.append(name)
                check_count(len(names), self.limits)
        if len(set(names)) < len(names):
            raise StatementError("two variables have the same name")
        return names

    def _solution(self, width: int) -> tuple[Any, ...]:
        terms: list[Any] = []
        while self.wire.field(_RESULT):
            for _ in range(self.wire.elements()):
                if len(terms) == width:
                    raise StatementError(f"more than {width} terms for {width} variables")
                terms.append(self.term(_OBJECT))
        if len(terms) < width:
            raise StatementError(f"{len(terms)} terms for {width} variables")
        return tuple(terms)


FORMATS: Final = {
    "srt": RowsFormat(JenaFormat.THRIFT),
    "srp": RowsFormat(JenaFormat.PROTOBUF),
}
