"""SPARQL results in generic terms: valid and rejected input."""

from __future__ import annotations

import io
import random
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Limits, Literal, Triple, TruncatedError
from jelly_plugins.errors import JellyError, LimitError, StatementError, TermError, WireError
from jelly_plugins.jena import JenaFormat
from jelly_plugins.sparql import read_results, write_results

from ..fuzz.streams import damaged
from .kernels import result_rows as rows

FORMATS = list(JenaFormat)
SOLUTIONS = [
    (Iri("urn:s"), None, Literal("x", "en--rtl")),
    (None, None, None),
    (BlankNode("b"), Triple(Iri("urn:s"), Iri("urn:p"), Literal("1")), Literal("1", None, "urn:d")),
]


def written(variables: Any, solutions: Any, format: JenaFormat, **settings: Any) -> bytes:  # noqa: A002
    file = io.BytesIO()
    write_results(variables, solutions, file, format=format, **settings)
    return file.getvalue()


@pytest.mark.parametrize("format", FORMATS)
def test_there_and_back(format: JenaFormat, tmp_path: Any) -> None:  # noqa: A002
    data = written(["a", "b", "c"], SOLUTIONS, format)
    with read_results(data) as results:
        assert results.variables == ["a", "b", "c"]
        assert list(results) == SOLUTIONS
    path = tmp_path / ("x.srt" if format is JenaFormat.THRIFT else "x.srp")
    write_results(["a", "b", "c"], SOLUTIONS, path)
    assert path.read_bytes() == data
    many = [(Iri(f"urn:{number}"),) for number in range(10_000)]
    with read_results(io.BytesIO(written(["v"], many, format))) as results:
        assert list(results) == many
    with read_results(written([], [(), ()], format), format=format) as results:
        assert (results.variables, list(results)) == ([], [(), ()])


@pytest.mark.parametrize(
    ("format", "data"),
    [(JenaFormat.THRIFT, "190c000000"), (JenaFormat.PROTOBUF, "000000")],
)
def test_solutions_without_variables_lack_a_list(format: JenaFormat, data: str) -> None:  # noqa: A002
    """Apache Jena 5.6 writes them without a list."""
    assert written([], [(), ()], format).hex() == data
    with read_results(bytes.fromhex(data), format=format) as results:
        assert (results.variables, list(results)) == ([], [(), ()])


def test_an_empty_list_is_the_same() -> None:
    with read_results(bytes.fromhex("190c00190c0000")) as results:
        assert list(results) == [(), ()]


@pytest.mark.parametrize("format", FORMATS)
def test_a_solution_without_a_list_has_no_terms(format: JenaFormat) -> None:  # noqa: A002
    data = written(["a"], [], format) + b"\0"
    with pytest.raises(StatementError, match="row 1: 0 terms for 1 variables"):
        list(read_results(data, format=format))


@pytest.mark.parametrize("format", FORMATS)
def test_invalid_results(format: JenaFormat) -> None:  # noqa: A002
    iri = ("iri", {"iri": "urn:s"})
    for data, error, row in (
        (rows(format, ["a"], [iri], [iri, iri]), StatementError, 2),
        (rows(format, ["a", "a"]), StatementError, 0),
        (rows(format, ["a"], [("any", {})]), TermError, 1),
        (rows(format, ["a"], [("prefixName", {"prefix": "x", "localName": ""})]), JellyError, 1),
        (rows(format, ["a"], [iri])[:-1], TruncatedError, 1),
        (b"", TruncatedError, None),
    ):
        with pytest.raises(error) as caught:
            list(read_results(data, format=format))
        assert caught.value.row == row
    with pytest.raises(LimitError, match="string_bytes"):
        list(read_results(rows(format, ["a" * 50]), limits=Limits(string_bytes=10)))
    with pytest.raises(StatementError, match="2 terms for 1"):
        written(["a"], [(None, None)], format)
    with pytest.raises(TermError, match="named twice"):
        written(["a", "a"], [], format)
    with pytest.raises(LimitError):
        written(["a"], [(Literal("x" * 100),)], format, limits=Limits(frame_bytes=50))
    with pytest.raises(TermError, match="surrogate"):
        written(["\ud800"], [], format)


@pytest.mark.parametrize("format", FORMATS)
def test_mutated_results_end_in_one_error(format: JenaFormat) -> None:  # noqa: A002
    draw = random.Random(8)
    good = written(["a", "b", "c"], SOLUTIONS * 3, format)
    for _ in range(500):
        data = damaged(draw, good)
        try:
            with read_results(data, format=format) as results:
                for _solution in results:
                    pass
        except JellyError:
            pass


def test_rows_of_statements_are_not_results() -> None:
    data = bytes.fromhex("1c180178180475726e3a0000")
    with pytest.raises(WireError, match="RDF_VarTuple"):
        read_results(data)
