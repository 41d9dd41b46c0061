"""Files written by Apache Jena 4.5.0, read and written again; and round trips of real data.
And SPARQL results in generic terms."""

from __future__ import annotations

import gzip
import io
import random
import re
from collections import Counter
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Limits, Literal, Triple, TruncatedError
from jelly_plugins.codec.text.ntriples import parse_ntriples
from jelly_plugins.errors import JellyError, LimitError, StatementError, TermError, WireError
from jelly_plugins.jena import JenaFormat, read
from jelly_plugins.sparql import read_results, write_results

from ..fuzz.streams import damaged
from ..ntriples import write_lines
from ..shared_data import shared
from .kernels import Kernel
from .kernels import result_rows as rows

FORMATS = list(JenaFormat)
XSD = "http://www.w3.org/2001/XMLSchema#"


def data_of(name: str) -> bytes:
    path = shared(f"data/{name}")
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def relabelled(statements: list[Any]) -> list[Any]:
    """Number the blank nodes of statements in the order in which they occur."""
    labels: dict[str, str] = {}

    def of(term: Any) -> Any:
        if isinstance(term, BlankNode):
            return BlankNode(labels.setdefault(term.label, f"b{len(labels)}"))
        return term

    return [Triple._make(map(of, statement)) for statement in statements]


def by_value(statements: list[Any]) -> list[Any]:
    """Normalise statements: one lexical form for each number, and one datatype for all integers."""
    return [
        Triple(*statement[:2], number(statement[2]))
        for statement in relabelled(statements)
        # Numbers that Apache Jena's value forms have lost.
        if statement[2] != Literal("9" * 20, datatype=f"{XSD}integer")
        and statement[2] != Literal("7766279631452241919", datatype=f"{XSD}integer")
    ]


def number(term: Any) -> Any:
    if isinstance(term, Literal) and term.datatype in (f"{XSD}integer", f"{XSD}int"):
        return int(term.lex)
    if isinstance(term, Literal) and term.datatype in (f"{XSD}decimal", f"{XSD}double"):
        return float(term.lex)
    return term


@pytest.mark.parametrize("form", FORMATS)
def test_the_sequence_ontology_is_its_source(kernel: Kernel, form: JenaFormat) -> None:
    data = data_of(f"jena/so.{form}.gz")
    if kernel.name == "python":
        # Use a part only, because the file takes long; the order of rows is that of the lines.
        data = data[: len(data) // 16]
    source = list(parse_ntriples(data_of("so.nt.gz")))
    if kernel.name == "native":
        found = kernel.read(data, form)
        assert len(found) == 45_584
    else:
        found = whole_rows(kernel, data, form)
    assert relabelled(found) == relabelled(source[: len(found)])


def whole_rows(kernel: Kernel, data: bytes, form: JenaFormat) -> list[Any]:
    """Return the statements of truncated data."""
    reader = kernel.StatementReader(form)
    text, at = b"", 0
    while at < len(data):
        lines, stop = reader.read_text(data, at)
        text += lines
        if stop == at:
            break
        at = stop
    return list(parse_ntriples(text))


@pytest.mark.parametrize("name", ["g.rt", "g.rpb", "g.values.rt", "g.values.rpb"])
def test_the_small_graph(kernel: Kernel, name: str) -> None:
    found = kernel.read(data_of(f"jena/{name}"), JenaFormat(name.rsplit(".", 1)[1]))
    plain = kernel.read(data_of("jena/g.rt"), JenaFormat.THRIFT)
    assert len(found) == 13
    if "values" in name:
        assert by_value(found) == by_value(plain)
    else:
        assert found == plain


@pytest.mark.parametrize("name", ["g.rt", "g.rpb"])
def test_our_bytes_are_those_of_jena_with_prefixes(kernel: Kernel, name: str) -> None:
    data = data_of(f"jena/{name}")
    prefixes = {"ex": "http://example.org/", "xsd": XSD}
    writer = kernel.RowWriter(JenaFormat(name[2:]))
    statements = kernel.read(data, JenaFormat(name[2:]))
    opening = b"".join(writer.add_prefix(*each) for each in prefixes.items())
    lines = b"".join(write_lines(statements))
    assert opening + writer.add_lines(lines) == data


@pytest.mark.parametrize("form", FORMATS)
def test_our_bytes_are_those_of_jena(kernel: Kernel, form: JenaFormat) -> None:
    data = data_of(f"jena/so.{form}.gz")
    statements = whole_rows(kernel, data[: len(data) // 16], form)
    written = kernel.write(statements, form)
    assert len(written) > len(data) // 17
    assert data.startswith(written)
    if kernel.name == "native":
        text = kernel.text(data, form)
        assert kernel.lines(text, form) == data


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["so.nt.gz", "qudt-vocab.nt.gz", "weather"])
def test_real_data_there_and_back(kernel: Kernel, form: JenaFormat, name: str) -> None:
    if name == "weather":
        from jelly_plugins import read as read_jelly

        statements = read_jelly(shared("data/assist-iot-weather_100kt.jelly.gz"))
        text = b"".join(write_lines(statements))
    else:
        text = data_of(name)
    # A part, because the files take long.
    most = 10_000 if kernel.name == "native" else 3000
    text = b"".join(text.splitlines(keepends=True)[:most])
    rows = kernel.lines(text, form)
    # The lines are in the canonical form, except for characters whose escape is optional.
    assert kernel.text(rows, form) == canonical(text)
    found = kernel.read(rows, form, size=10_001)
    assert Counter(found) == Counter(parse_ntriples(text))
    assert kernel.write(found, form) == rows


def canonical(text: bytes) -> bytes:
    if not re.search(rb"\\[uU]", text):
        return text
    return b"".join(write_lines(parse_ntriples(text)))


def test_formats_are_detected_by_content() -> None:
    for name in ("g.rt", "g.rpb"):
        path = shared(f"data/jena/{name}")
        assert list(read(path)) == list(read(path.read_bytes()))
    assert sum(1 for _ in read(shared("data/jena/so.rt.gz"))) == 45_584


# SPARQL results in generic terms: valid and rejected input

SOLUTIONS = [
    (Iri("urn:s"), None, Literal("x", "en--rtl")),
    (None, None, None),
    (BlankNode("b"), Triple(Iri("urn:s"), Iri("urn:p"), Literal("1")), Literal("1", None, "urn:d")),
]


def written(variables: Any, solutions: Any, form: JenaFormat, **settings: Any) -> bytes:
    file = io.BytesIO()
    write_results(variables, solutions, file, format=form, **settings)
    return file.getvalue()


@pytest.mark.parametrize("form", FORMATS)
def test_there_and_back(form: JenaFormat, tmp_path: Any) -> None:
    data = written(["a", "b", "c"], SOLUTIONS, form)
    with read_results(data) as results:
        assert results.variables == ["a", "b", "c"]
        assert list(results) == SOLUTIONS
    path = tmp_path / ("x.srt" if form is JenaFormat.THRIFT else "x.srp")
    write_results(["a", "b", "c"], SOLUTIONS, path)
    assert path.read_bytes() == data
    many = [(Iri(f"urn:{number}"),) for number in range(10_000)]
    with read_results(io.BytesIO(written(["v"], many, form))) as results:
        assert list(results) == many
    with read_results(written([], [(), ()], form), format=form) as results:
        assert (results.variables, list(results)) == ([], [(), ()])


@pytest.mark.parametrize(
    ("form", "data"),
    [(JenaFormat.THRIFT, "190c000000"), (JenaFormat.PROTOBUF, "000000")],
)
def test_solutions_without_variables_lack_a_list(form: JenaFormat, data: str) -> None:
    """Apache Jena 5.6 writes them without a list."""
    assert written([], [(), ()], form).hex() == data
    with read_results(bytes.fromhex(data), format=form) as results:
        assert (results.variables, list(results)) == ([], [(), ()])


def test_an_empty_list_is_the_same() -> None:
    with read_results(bytes.fromhex("190c00190c0000")) as results:
        assert list(results) == [(), ()]


@pytest.mark.parametrize("form", FORMATS)
def test_a_solution_without_a_list_has_no_terms(form: JenaFormat) -> None:
    data = written(["a"], [], form) + b"\0"
    with pytest.raises(StatementError, match="row 1: 0 terms for 1 variables"):
        list(read_results(data, format=form))


@pytest.mark.parametrize("form", FORMATS)
def test_invalid_results(form: JenaFormat) -> None:
    iri = ("iri", {"iri": "urn:s"})
    for data, error, row in (
        (rows(form, ["a"], [iri], [iri, iri]), StatementError, 2),
        (rows(form, ["a", "a"]), StatementError, 0),
        (rows(form, ["a"], [("any", {})]), TermError, 1),
        (rows(form, ["a"], [("prefixName", {"prefix": "x", "localName": ""})]), JellyError, 1),
        (rows(form, ["a"], [iri])[:-1], TruncatedError, 1),
        (b"", TruncatedError, None),
    ):
        with pytest.raises(error) as caught:
            list(read_results(data, format=form))
        assert caught.value.row == row
    with pytest.raises(LimitError, match="string_bytes"):
        list(read_results(rows(form, ["a" * 50]), limits=Limits(string_bytes=10)))
    with pytest.raises(StatementError, match="2 terms for 1"):
        written(["a"], [(None, None)], form)
    with pytest.raises(TermError, match="same name"):
        written(["a", "a"], [], form)
    with pytest.raises(LimitError):
        written(["a"], [(Literal("x" * 100),)], form, limits=Limits(frame_bytes=50))
    with pytest.raises(TermError, match="surrogate"):
        written(["\ud800"], [], form)


@pytest.mark.parametrize("form", FORMATS)
def test_mutated_results_end_in_one_error(form: JenaFormat) -> None:
    draw = random.Random(8)
    good = written(["a", "b", "c"], SOLUTIONS * 3, form)
    for _ in range(500):
        data = damaged(draw, good)
        try:
            with read_results(data, format=form) as results:
                for _solution in results:
                    pass
        except JellyError:
            pass


def test_rows_of_statements_are_not_results() -> None:
    data = bytes.fromhex("1c180178180475726e3a0000")
    with pytest.raises(WireError, match="RDF_VarTuple"):
        read_results(data)
