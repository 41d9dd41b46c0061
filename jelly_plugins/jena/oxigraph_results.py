"""SPARQL results in pyoxigraph's forms: :func:`read_solutions` and :func:`write_solutions`.

pyoxigraph has no way to make solutions but to parse them: they reach it as SPARQL JSON.

Reference: SPARQL 1.2 Query Results JSON Format.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any, Final

from pyoxigraph import QueryResultsFormat, QuerySolutions, parse_query_results

from ..codec import DEFAULT_LIMITS, Kind, Limits, describe
from ..codec.text.ntriples import written_label
from ..errors import TermError
from ..io.sinks import Destination
from ..io.sources import Source
from .names import JenaFormat
from .oxigraph import describe_directed
from .results import read_results, write_results

_PARTS: Final = ("subject", "predicate", "object")


def read_solutions(
    src: Source,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    limits: Limits = DEFAULT_LIMITS,
) -> QuerySolutions:
    """Read SPARQL results as pyoxigraph's, whole; blank node labels are kept.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: how rows are encoded; by default the name tells, or the content.
    :param limits: the limits on untrusted input.
    :raises JellyError: with source and row.
    :raises TermError: Oxigraph cannot hold a term.

    >>> rows = bytes.fromhex("191c18017300" "00" "191c1c180475726e3a000000")
    >>> list(read_solutions(rows))
    [<QuerySolution s=<NamedNode value=urn:>>]
    """
    text = io.StringIO()
    with read_results(src, format=format, limits=limits) as results:
        text.write('{"head":{"vars":' + json.dumps(results.variables) + '},"results":{"bindings":[')
        mark = ""
        for solution in results:
            bound = {
                name: _json(term)
                for name, term in zip(results.variables, solution, strict=True)
                if term is not None
            }
            text.write(mark + json.dumps(bound))
            mark = ","
    text.write("]}}")
    try:
        found = parse_query_results(text.getvalue(), QueryResultsFormat.JSON)
        # A term that is refused is refused while iterating.
        list(parse_query_results(text.getvalue(), QueryResultsFormat.JSON))  # type: ignore[arg-type]
    except SyntaxError as error:
        raise TermError(f"Oxigraph cannot hold the results: {error}") from error
    assert isinstance(found, QuerySolutions)
    return found


def write_solutions(
    solutions: QuerySolutions,
    dst: Destination,
    *,
    format: JenaFormat | None = None,  # noqa: A002
    limits: Limits = DEFAULT_LIMITS,
) -> None:
    """Write the solutions of a SELECT query, as they are computed.

    :param solutions: what ``Store.query`` gives, or :func:`read_solutions`.

    The other parameters, and what is raised: see :func:`~jelly_plugins.jena.results.write_results`.
    """
    if not isinstance(solutions, QuerySolutions):
        raise TermError("results of SELECT are needed: others have no place in this format")
    names = [variable.value for variable in solutions.variables]
    write_results(
        names, _rows(solutions), dst, format=format, describe=describe_directed, limits=limits
    )


def _rows(solutions: QuerySolutions) -> Iterator[tuple[Any, ...]]:
    for solution in solutions:
        yield tuple(solution)


def _json(term: Any) -> dict[str, Any]:
    """A term as SPARQL JSON has it."""
    kind, *parts = describe(term)
    if kind == Kind.IRI:
        return {"type": "uri", "value": parts[0]}
    if kind == Kind.BLANK_NODE:
        return {"type": "bnode", "value": written_label(parts[0])}
    if kind == Kind.TRIPLE:
        value = {name: _json(part) for name, part in zip(_PARTS, parts, strict=True)}
        return {"type": "triple", "value": value}
    lex, langtag, datatype = parts
    literal = {"type": "literal", "value": lex}
    if langtag is not None:
        language, mark, direction = langtag.partition("--")
        literal["xml:lang"] = language
        if mark:
            literal["its:dir"] = direction
    elif datatype is not None:
        literal["datatype"] = datatype
    return literal
