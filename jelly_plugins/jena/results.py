"""SPARQL results of SELECT in RDF Thrift and RDF Protobuf (``.srt``, ``.srp``): a row of variables,
then rows of terms, one for each variable; None where a variable is unbound.

The formats have no place for the results of ASK, CONSTRUCT and DESCRIBE.

Reference: RDF Binary (Apache Jena), section "Thrift encoding of SPARQL Result Sets".
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from ..codec import DEFAULT_LIMITS, Describe, Limits, TermFactory, describe
from ..errors import JellyError, StatementError, TermError, TruncatedError
from ..io.sinks import Destination, open_output
from ..io.sources import Source
from ..io.streams import GENERIC
from .names import JenaFormat
from .reader import BATCH_ROWS, TermReader
from .schema import RESULT, VARIABLES
from .streams import JenaSource, format_for
from .wire import Incomplete, Wire, check_row_bytes
from .wires import WIRES
from .writer import TermWriter

#: A solution: a term for each variable, None where it is unbound.
Solution = tuple[Any, ...]

#: In results any kind of term may stand anywhere: none is a subject or a predicate.
_OBJECT: Final = 2


class ResultsReader(JenaSource):
    """Reads results: an iterator of solutions, and a context manager.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: how rows are encoded; by default the name tells, or the content.
    :param factory: makes the terms.
    :param limits: the limits on untrusted input.
    :ivar variables: names of the variables, in order.
    :raises JellyError: with source and row, where 0 is that of the variables: at once if the
        variables cannot be read, else while iterating.

    >>> from jelly_plugins import Iri
    >>> import io
    >>> file = io.BytesIO()
    >>> write_results(["s", "o"], [(Iri("urn:s"), None)], file, format=JenaFormat.THRIFT)
    >>> with ResultsReader(file.getvalue()) as results:
    ...     results.variables, list(results)
    (['s', 'o'], [(Iri(value='urn:s'), None)])
    """

    def __init__(
        self,
        src: Source,
        *,
        format: JenaFormat | None = None,  # noqa: A002
        factory: TermFactory[Any] = GENERIC,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(src, format=format, limits=limits)
        assert self.format is not None
        self.variables: list[str] = []
        self._row = 0
        self._wire: Wire = WIRES[self.format]
        self._terms = TermReader(factory, generalized=True, limits=limits)
        self._last: list[Any] | None = None
        self._items: Generator[list[Solution]] = self.batches(self._decode, self._finish)
        # What comes with the first batch has the variables before it.
        first = next(self._items, [])
        self._solutions = chain.from_iterable(chain([first], self._items))

    def __iter__(self) -> Iterator[Solution]:
        return self._solutions

    def __next__(self) -> Solution:
        return next(self._solutions)

    def _decode(self, data: bytes, at: int) -> tuple[list[Solution], int]:
        solutions: list[Solution] = []
        try:
            while at < len(data):
                if self._row % BATCH_ROWS == 0:
                    self._terms.expansion = 0
                if self._row == 0:
                    value, at = self._wire.read(data, at, VARIABLES, self._limits)
                    self.variables = self._names(value)
                else:
                    value, at = self._wire.read(data, at, RESULT, self._limits)
                    solutions.append(self._solution(value["row"]))
                self._row += 1
                if self._row % BATCH_ROWS == 0:
                    break
        except Incomplete:
            pass
        except JellyError as error:
            error.locate(row=self._row)
            raise
        return solutions, at

    def _finish(self, rest: bytes) -> None:
        if rest:
            raise TruncatedError("the input ends inside a row", row=self._row)
        if self._row == 0:
            raise TruncatedError("the results have no row of variables: they are empty")

    def _names(self, value: dict[str, Any]) -> list[str]:
        names = [variable["name"] for variable in value["vars"]]
        if len(set(names)) < len(names):
            raise StatementError("a variable is named twice")
        return names

    def _solution(self, terms: list[tuple[str, Any]]) -> Solution:
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
        return self._terms.term(term, _OBJECT)


def read_results(
    src: Source,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    factory: TermFactory[Any] = GENERIC,
    limits: Limits = DEFAULT_LIMITS,
) -> ResultsReader:
    """Read SPARQL results, in generic terms unless told otherwise; see :class:`ResultsReader`."""
    return ResultsReader(src, format=format, factory=factory, limits=limits)


def encode_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    format: JenaFormat,  # noqa: A002
    *,
    value_forms: bool = False,
    describe: Describe = describe,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[bytes]:
    """Encode results, row by row; see :func:`write_results`."""
    wire = WIRES[format]
    terms = TermWriter(
        describe, format=format, value_forms=value_forms, generalized=True, limits=limits
    )
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
            data = wire.write(
                RESULT,
                {
                    "row": [
                        ("undefined", {}) if term is None else terms.term(term, _OBJECT)
                        for term in solution
                    ]
                },
            )
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


def write_results(
    variables: Sequence[str],
    solutions: Iterable[Sequence[Any]],
    dst: Destination,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    value_forms: bool = False,
    describe: Describe = describe,
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write SPARQL results.

    :param variables: their names, in order.
    :param solutions: a term for each variable, None where it is unbound.
    :param dst: path or open binary file; a path is replaced only once everything is written.
    :param format: how rows are encoded; by default the name tells.
    :param value_forms: see :func:`~jelly_plugins.jena.write`.
    :param describe: takes the terms apart, see ``codec.Describe``.
    :param limits: bounds of what is written.
    :raises ValueError: no format is given, and the name tells none.
    :raises JellyError: with the row, if a solution cannot be written.
    """
    rows = encode_results(
        variables,
        solutions,
        format or format_for(dst),
        value_forms=value_forms,
        describe=describe,
        limits=limits,
    )
    with open_output(dst) as out:
        for data in rows:
            out.write(data)


__all__ = ["ResultsReader", "encode_results", "read_results", "write_results"]
