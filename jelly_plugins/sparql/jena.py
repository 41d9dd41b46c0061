"""Results of SELECT in RDF Thrift and RDF Protobuf (``.srt``, ``.srp``): a row of variables,
then rows of terms, one for each variable; None where a variable is unbound.

The formats cannot express the result of ASK.

Reference: RDF Binary (Apache Jena), section "Thrift encoding of SPARQL Result Sets".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ..codec import Describe, Limits, TermFactory
from ..errors import JellyError, StatementError, TermError, TruncatedError
from ..jena import messages
from ..jena.names import JenaFormat
from ..jena.streams import batches
from ..jena.terms import Message, TermReader, TermWriter
from .terms import Results, Solution, check_count

_VARIABLES: Final = Message(messages.VARIABLES)
_VARIABLE: Final = Message(messages.VARIABLE)
_RESULT: Final = Message(messages.RESULT)

#: The place of an undefined term among the members of a term.
_UNDEFINED: Final = 7

#: In results any kind of term may be in any column.
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
    for batch in batches(chunks, rows.decode, rows.end):
        # The row of variables may be longer than a chunk.
        if not begun and rows.started:
            begun = True
            yield ()
        yield from batch


class _RowDecoder(TermReader):
    """Reads rows of results.

    :ivar variables: names of the variables, in order; empty before the first row was read.
    :ivar started: whether the row of variables was read.
    """

    def __init__(self, format: JenaFormat, factory: TermFactory[Any], limits: Limits) -> None:  # noqa: A002
        super().__init__(factory, format, limits=limits)
        self.variables: list[str] = []
        self.started = False
        self.optional = True

    def decode(self, data: bytes, at: int) -> tuple[list[Solution], int]:
        """Read rows; return the solutions and the position after the last whole row."""
        solutions: list[Solution] = []
        _, stop = self.read_rows(data, at, solutions)
        return solutions, stop

    def take(self, batch: list[Solution]) -> None:
        if self.started:
            batch.append(self._solution())
        else:
            self.variables = self._names()
            self.started = True

    def end(self, rest: bytes = b"") -> None:
        super().end(rest)
        if not self.started:
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
            raise StatementError("a variable is named twice")
        return names

    def _solution(self) -> Solution:
        terms: list[Any] = []
        width = len(self.variables)
        while self.wire.field(_RESULT):
            for _ in range(self.wire.elements()):
                if len(terms) == width:
                    raise StatementError(f"more than {width} terms for {width} variables")
                terms.append(self.term(_OBJECT))
        if len(terms) < width:
            raise StatementError(f"{len(terms)} terms for {width} variables")
        return tuple(terms)


def encode_rows(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    format: JenaFormat,  # noqa: A002
    *,
    describe: Describe,
    limits: Limits,
) -> Iterator[bytes]:
    """Encode results, row by row."""
    writer = TermWriter(format, describe, limits=limits)
    check_count(len(variables), limits)
    if len(set(variables)) < len(variables):
        raise TermError("a variable is named twice")
    names = [writer.string(name, "a variable's name") for name in variables]
    try:
        members = [writer.struct(messages.VARIABLE, [(1, name)]) for name in names]
        yield writer.row_of(messages.VARIABLES, 1, members)
        undefined = writer.struct(messages.UNDEFINED, [])
        unbound = writer.struct(messages.TERM, [(_UNDEFINED, undefined)])
        for solution in solutions:
            if len(solution) != len(variables):
                raise StatementError(f"{len(solution)} terms for {len(variables)} variables")
            row = [unbound if term is None else writer.encoded(term) for term in solution]
            yield writer.whole_row(writer.struct(messages.RESULT, [(1, row)] if row else []))
    except JellyError as error:
        error.locate(row=writer.row)
        raise
