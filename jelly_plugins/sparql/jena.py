"""Results of SELECT in RDF Thrift and RDF Protobuf (``.srt``, ``.srp``): a row of variables,
then rows of terms, one for each variable; None where a variable is unbound.

The formats have no place for the result of ASK.

Reference: RDF Binary (Apache Jena), section "Thrift encoding of SPARQL Result Sets".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ..codec import Describe, Limits, TermFactory
from ..errors import JellyError, StatementError, TermError, TruncatedError
from ..jena.names import JenaFormat
from ..jena.reader import WIRES, RowReader
from ..jena.schema import RESULT, VARIABLES
from ..jena.streams import batches
from ..jena.wire import check_row_bytes
from ..jena.writer import TermWriter
from .w3c import Results, Solution, check_count

#: In results any kind of term may be in any column: none is a subject or a predicate.
_OBJECT: Final = 2


def read_rows(
    chunks: Iterator[bytes],
    factory: TermFactory[Any],
    limits: Limits,
    format: JenaFormat,  # noqa: A002
) -> Results:
    """Read the row of variables.

    :raises JellyError: here or while iterating, with the row; the variables are row 0.
    """
    rows = _RowDecoder(format, factory, limits)
    solutions = _solutions(chunks, rows)
    # The first item is a mark: the variables were read.
    next(solutions)
    return Results(rows.variables, None, solutions)


def _solutions(chunks: Iterator[bytes], rows: _RowDecoder) -> Iterator[Solution]:
    begun = False
    for batch in batches(chunks, rows.decode, rows.finish):
        # The row of variables may be longer than a chunk.
        if not begun and rows.started:
            begun = True
            yield ()
        yield from batch


class _RowDecoder(RowReader):
    """Reads rows of results.

    :ivar variables: names of the variables, in order; empty before the first row was read.
    """

    _message = VARIABLES

    def __init__(self, format: JenaFormat, factory: TermFactory[Any], limits: Limits) -> None:  # noqa: A002
        super().__init__(factory, format, generalized=True, limits=limits)
        self._limits = limits
        self.variables: list[str] = []
        self._last: list[Any] | None = None

    @property
    def started(self) -> bool:
        """Whether the row of variables was read."""
        return self._message is RESULT

    def decode(self, data: bytes, at: int) -> tuple[list[Solution], int]:
        """Read rows; return the solutions and the position after the last whole row."""
        solutions: list[Solution] = []
        return solutions, self.read_rows(data, at, solutions)

    def _take(self, value: Any, batch: list[Solution]) -> None:
        if self.started:
            batch.append(self._solution(value.get("row", ())))
        else:
            self.variables = self._names(value)
            self._message = RESULT

    def finish(self, rest: bytes) -> None:
        """End the input.

        :param rest: what is not a whole row.
        """
        if rest:
            raise TruncatedError("the input ends inside a row", row=self.row)
        if not self.started:
            raise TruncatedError("the results have no row of variables: they are empty")

    def _names(self, value: dict[str, Any]) -> list[str]:
        names = [variable["name"] for variable in value["vars"]]
        if len(set(names)) < len(names):
            raise StatementError("a variable is named twice")
        check_count(len(names), self._limits)
        return names

    def _solution(self, terms: Sequence[tuple[str, Any]]) -> Solution:
        if len(terms) != len(self.variables):
            raise StatementError(f"{len(terms)} terms for {len(self.variables)} variables")
        made = [self._term(term, at) for at, term in enumerate(terms)]
        self._last = made
        return tuple(made)

    def _term(self, term: tuple[str, Any], at: int) -> Any:
        if term[0] == "undefined":
            return None
        if term[0] == "repeat":
            if self._last is None:
                raise StatementError("there is a repeat in the first solution")
            return self._last[at]
        return self.terms.term(term, _OBJECT)


def encode_rows(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    format: JenaFormat,  # noqa: A002
    *,
    describe: Describe,
    limits: Limits,
) -> Iterator[bytes]:
    """Encode results, row by row."""
    wire = WIRES[format]
    terms = TermWriter(describe, format=format, generalized=True, limits=limits)
    check_count(len(variables), limits)
    if len(set(variables)) < len(variables):
        raise TermError("a variable is named twice")
    for name in variables:
        terms.check_string(name, "a variable's name")
    row = 0
    data = wire.write(VARIABLES, {"vars": [{"name": name} for name in variables]})
    yield _checked(data, row, limits)
    for solution in solutions:
        row += 1
        try:
            if len(solution) != len(variables):
                raise StatementError(f"{len(solution)} terms for {len(variables)} variables")
            encoded = [
                ("undefined", {}) if term is None else terms.term(term, _OBJECT)
                for term in solution
            ]
            data = wire.write(RESULT, {"row": encoded} if encoded else {})
        except JellyError as error:
            error.locate(row=row)
            raise
        yield _checked(data, row, limits)


def _checked(data: bytes, row: int, limits: Limits) -> bytes:
    try:
        check_row_bytes(len(data), limits)
    except JellyError as error:
        error.locate(row=row)
        raise
    return data
