"""Jobs of query results: Jelly-SPARQL to terms and Arrow, and back, compared with SPARQL JSON."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from pyoxigraph import QueryResultsFormat, parse_query_results
from rdflib.query import Result

from jelly_plugins import BlankNode, Iri, Literal, arrow
from jelly_plugins.sparql import read_results, write_results

from .measure import Runs

ROWS: Final = 250_000
_NAMES: Final = ["a", "b", "c", "d"]
_INTEGER: Final = "http://www.w3.org/2001/XMLSchema#integer"


def _iris(n: int) -> tuple[Any, ...]:
    base = "http://example.org/"
    return (
        Iri(f"{base}resource/{n // 3}"),
        Iri(f"{base}ns#knows"),
        Iri(f"{base}r/{n % 1000}"),
        Iri(f"{base}res/{n}"),
    )


def _literals(n: int) -> tuple[Any, ...]:
    return tuple(Literal(str(n * by % 100_003), None, _INTEGER) for by in (1, 7, 11, 13))


def _mixed(n: int) -> tuple[Any, ...]:
    return (
        Iri(f"http://example.org/{n}") if n % 2 else Literal(str(n)),
        None if n % 3 else Literal(f"name {n}", "en"),
        BlankNode(f"b{n // 2}"),
        None if n % 5 else Iri("http://example.org/x"),
    )


class _Set:
    """A million cells, as terms and in both formats."""

    def __init__(self, make: Callable[[int], tuple[Any, ...]]) -> None:
        self.rows = [make(n) for n in range(ROWS)]
        self.json = self.written("srj")
        self.jelly = self.written("jellys")

    def written(self, form: str) -> bytes:
        file = io.BytesIO()
        write_results(_NAMES, self.rows, file, format=form)
        return file.getvalue()

    def runs(self, runs: dict[str, Callable[[], object]], **settings: Any) -> Runs:
        return Runs(runs, count=len(self.rows) * len(_NAMES), things="cells", **settings)


@cache
def _set(make: Callable[[int], tuple[Any, ...]]) -> _Set:
    return _Set(make)


def _read(make: Callable[[int], tuple[Any, ...]]) -> Runs:
    data = _set(make)
    return data.runs(
        {
            "Jelly-SPARQL": lambda: list(read_results(data.jelly)),
            "rdflib, JSON": lambda: Result.parse(io.BytesIO(data.json), format="json"),
            "pyoxigraph, JSON": lambda: list(
                parse_query_results(data.json, QueryResultsFormat.JSON)  # type: ignore[arg-type]
            ),
        }
    )


def _to_arrow(make: Callable[[int], tuple[Any, ...]]) -> Runs:
    data = _set(make)
    return data.runs(
        {
            "Jelly-SPARQL": lambda: arrow.read_results(data.jelly).read_all(),
            "json.loads": lambda: json.loads(data.json),
        }
    )


def _write(make: Callable[[int], tuple[Any, ...]]) -> Runs:
    data = _set(make)
    result = Result.parse(io.BytesIO(data.json), format="json")
    return data.runs(
        {
            "Jelly-SPARQL": lambda: data.written("jellys"),
            "rdflib, JSON": lambda: result.serialize(format="json"),
        }
    )


def _size(make: Callable[[int], tuple[Any, ...]]) -> Runs:
    data = _set(make)
    return data.runs(
        {
            "Jelly-SPARQL": lambda: len(data.jelly),
            "JSON": lambda: len(data.json),
            "Jelly-SPARQL, gzip": lambda: len(gzip.compress(data.jelly)),
            "JSON, gzip": lambda: len(gzip.compress(data.json)),
        },
        unit="bytes",
    )


def read_iri_results() -> Runs:
    """Results of IRIs to terms."""
    return _read(_iris)


def read_literal_results() -> Runs:
    """Results of literals to terms."""
    return _read(_literals)


def read_mixed_results() -> Runs:
    """Results of mixed terms and unbound cells to terms."""
    return _read(_mixed)


def iri_results_to_arrow() -> Runs:
    """Results of IRIs to Arrow."""
    return _to_arrow(_iris)


def literal_results_to_arrow() -> Runs:
    """Results of literals to Arrow."""
    return _to_arrow(_literals)


def mixed_results_to_arrow() -> Runs:
    """Results of mixed terms and unbound cells to Arrow."""
    return _to_arrow(_mixed)


def write_iri_results() -> Runs:
    """Results of IRIs from terms."""
    return _write(_iris)


def write_literal_results() -> Runs:
    """Results of literals from terms."""
    return _write(_literals)


def write_mixed_results() -> Runs:
    """Results of mixed terms and unbound cells from terms."""
    return _write(_mixed)


def iri_results_size() -> Runs:
    """Size of results of IRIs."""
    return _size(_iris)


def literal_results_size() -> Runs:
    """Size of results of literals."""
    return _size(_literals)


def mixed_results_size() -> Runs:
    """Size of results of mixed terms and unbound cells."""
    return _size(_mixed)


JOBS: Final = (
    read_iri_results,
    read_literal_results,
    read_mixed_results,
    iri_results_to_arrow,
    literal_results_to_arrow,
    mixed_results_to_arrow,
    write_iri_results,
    write_literal_results,
    write_mixed_results,
    iri_results_size,
    literal_results_size,
    mixed_results_size,
)
