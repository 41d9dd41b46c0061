"""SPARQL results in pyoxigraph's forms: :func:`read_solutions`, :func:`write_solutions` and
:func:`encode_solutions`.

pyoxigraph has no other way to make solutions than to parse them: they reach it as SPARQL JSON, a
part at a time.

``QuerySolutions`` may only be used in the thread that made them: pyoxigraph ends the process if
another one does. The functions here take them from the thread that calls, and check the thread
before each solution.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from json import dumps
from threading import Thread, current_thread
from typing import Any, Final

from pyoxigraph import QueryBoolean, QueryResultsFormat, QuerySolutions, parse_query_results

from ..codec import Limits, delimit
from ..codec.common.limits import over
from ..codec.sparql.encoder import encode_boolean
from ..codec.sparql.options import RESULTS_LIMITS
from ..codec.text.transcoding import LONG_TERM
from ..errors import JellyError, LimitError, OrderError, SourceError, TermError
from ..formats.reading import PARSER_ERRORS, parser_error
from ..io.chunks import ChunkFile
from ..io.sinks import Destination
from ..io.sources import CHUNK, Source
from ..sparql.formats import ResultsFormat, codec_of
from ..sparql.results import (
    ResultsReader,
    encode_results,
    read_results,
    write_boolean,
    write_results,
)
from .terms import DirectedFactory, describe_directed

#: Bytes of a part of a term in JSON that pyoxigraph's parser surely holds.
_LONGEST: Final = 8_000_000
#: Bytes that a character may take there.
_CHARACTER: Final = 6


def read_solutions(
    src: Source,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    limits: Limits = RESULTS_LIMITS,
) -> QuerySolutions | QueryBoolean:
    """Read SPARQL results as pyoxigraph's, which are read from the source as they are iterated;
    blank node labels are kept. Use them only in the thread that called: pyoxigraph ends the process
    if another thread does.

    :param src: path, URL, open binary file or bytes; compressed or not.
    :param format: a :class:`~jelly_plugins.sparql.ResultsFormat` or a name of one; by default
        the source's name or content decides.
    :param limits: the limits on untrusted input; ``frame_expansion`` also bounds the text of the
        solutions of a frame, each of which has copies of its terms, besides 1024 bytes for each
        cell.
    :raises JellyError: here or while iterating, with the source, and with frame or row.
    :raises TermError: likewise; Oxigraph cannot hold a term.
    :raises LimitError: likewise; a term has more than 8 MB in JSON.

    >>> rows = bytes.fromhex("191c18017300" "00" "191c1c180475726e3a000000")
    >>> list(read_solutions(rows))
    [<QuerySolution s=<NamedNode value=urn:>>]
    """
    factory = DirectedFactory(blank_nodes="keep")
    results = read_results(src, format=format, factory=factory, limits=limits)
    file = io.BufferedReader(ChunkFile(_json(results, limits)), CHUNK)
    try:
        found: QuerySolutions | QueryBoolean = parse_query_results(file, QueryResultsFormat.JSON)
    except JellyError:
        raise
    except PARSER_ERRORS as error:
        raise parser_error(error) from None
    return found


def _json(results: ResultsReader, limits: Limits) -> Iterator[bytes]:
    """Results as JSON, in which each solution has copies of its terms: a few bytes can repeat a
    term of megabytes, so that the text of a frame is limited."""
    json = codec_of(ResultsFormat.JSON)
    place: dict[str, int] = {}
    size = usual = row = 0

    def solutions() -> Iterator[tuple[Any, ...]]:
        nonlocal place, size, usual, row
        for frame in results.frames():
            usual = frame.size + LONG_TERM * frame.rows * len(results.variables)
            size = 0
            place = {"frame": frame.index}
            for solution in frame.solutions():
                row += 1
                if results.format is not ResultsFormat.JELLY:
                    place = {"row": row}
                yield solution

    with results:
        if results.boolean is not None:
            yield json.boolean(results.boolean).encode()
            return
        for chunk in json.write(results.variables, solutions(), _describe, limits):
            size += len(chunk)
            if size - usual > limits.frame_expansion:
                what = "what terms of a frame take in its solutions"
                error = over(limits, "frame_expansion", size - usual, what)
                raise error.locate(source=results.name, **place)
            yield chunk


def _describe(term: Any) -> tuple[Any, ...]:
    """Take a term apart, see ``codec.Describe``."""
    parts = describe_directed(term)
    for part in parts[1:]:
        if isinstance(part, str) and len(part) * _CHARACTER > _LONGEST:
            size = len(dumps(part, ensure_ascii=False).encode())
            if size > _LONGEST:
                raise LimitError(f"a term of {size} bytes is longer than Oxigraph reads in results")
    return parts


def write_solutions(
    solutions: QuerySolutions | QueryBoolean,
    dst: Destination,
    *,
    format: ResultsFormat | str | None = None,  # noqa: A002
    **settings: Any,
) -> int:
    """Write the result of a SELECT or ASK query; solutions as they are computed.

    :param solutions: what ``Store.query``, ``parse_query_results`` or :func:`read_solutions` gives.
    :param settings: ``options``, ``frame_cells``, ``limits``.
    :return: the number of solutions; 1 for ASK.

    Call it in the thread that made the solutions.

    :raises SourceError: Oxigraph cannot evaluate the query.

    The other parameters, and what is raised: see :func:`~jelly_plugins.sparql.write_results`.
    """
    if isinstance(solutions, QueryBoolean):
        write_boolean(bool(solutions), dst, format=format, options=settings.get("options"))
        return 1
    _check(solutions)
    return write_results(
        [variable.value for variable in solutions.variables],
        _owned(solutions, current_thread()),
        dst,
        format=format,
        describe=describe_directed,
        **settings,
    )


def encode_solutions(solutions: QuerySolutions | QueryBoolean, **settings: Any) -> Iterator[bytes]:
    """Encode the result of a SELECT or ASK query as Jelly-SPARQL, for a server that sends it: the
    bytes of each frame come with their delimiter, solutions as they are computed.

    See :func:`write_solutions` for the parameters. What is not such a result raises its error at
    once. Call it, and take the frames, in the thread that made the solutions.

    :raises OrderError: frames of solutions are taken in another thread than the first.
    :raises SourceError: Oxigraph cannot evaluate the query.

    >>> from pyoxigraph import Store
    >>> [frame.hex() for frame in encode_solutions(Store().query("ASK {}"))]
    ['100a0a488040508008584078015a020801']
    """
    if isinstance(solutions, QueryBoolean):
        options = settings.get("options")
        return iter((delimit(encode_boolean(bool(solutions), options=options)),))
    _check(solutions)
    return encode_results(
        [variable.value for variable in solutions.variables],
        _owned(solutions, current_thread()),
        describe=describe_directed,
        **settings,
    )


def _check(solutions: object) -> None:
    if not isinstance(solutions, QuerySolutions):
        raise TermError("the result of a SELECT or ASK query is needed: triples are not one")


def _owned(solutions: QuerySolutions, owner: Thread) -> Iterator[tuple[Any, ...]]:
    """The solutions, which only their owner may take."""
    while True:
        if current_thread() is not owner:
            raise OrderError(
                "solutions of Oxigraph can only be used in the thread that made them: run the "
                "query and take its results in one thread"
            )
        try:
            solution = next(solutions, None)
        except JellyError:
            raise
        except (RuntimeError, *PARSER_ERRORS) as error:
            # Of a SERVICE, for example.
            raise SourceError(f"Oxigraph cannot evaluate the query: {error}") from error
        if solution is None:
            return
        yield tuple(solution)
