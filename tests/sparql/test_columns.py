"""Results as columns of text, from the codec and as Arrow."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from itertools import chain, repeat
from random import Random
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Limits, Literal
from jelly_plugins.codec import delimit
from jelly_plugins.codec.sparql.decoder import ResultsColumnDecoder
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import JellyError, LimitError, StatementError, TermError
from jelly_plugins.io.chunks import ChunkFile
from jelly_plugins.proto import sparql_pb2
from jelly_plugins.sparql import encode_results, read_results, write_boolean, write_results

from .random_results import options, results
from .test_codec import read_in_python, written

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(params=["as it is", "in Python"], autouse=True)
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "in Python":
        read_in_python(monkeypatch)


def texts(frames: list[bytes], **settings: Any) -> list[tuple[Any, ...]]:
    """Read the solutions of frames through columns of text."""
    decoder = ResultsColumnDecoder(**settings)
    found: list[tuple[Any, ...]] = []
    for data in frames:
        frame = decoder.decode(data)
        columns = [column.values() for column in frame.columns]
        found += zip(*columns, strict=True) if columns else [()] * frame.rows
    return found


def in_ntriples(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [tuple(None if term is None else term_text(term) for term in row) for row in rows]


def without_direction(term: Any) -> Any:
    """Remove the base direction, which N-Triples does not have."""
    return Literal(term.lex, "en") if isinstance(term, Literal) and term.langtag else term


def test_random_results() -> None:
    for seed in range(300):
        draw = Random(seed)
        variables, rows = results(draw)
        rows = [tuple(map(without_direction, row)) for row in rows]
        frames = written(
            variables, rows, options=options(draw), frame_cells=draw.choice([1, 7, 4096])
        )
        assert texts(frames) == in_ntriples(rows)


@pytest.mark.parametrize(
    "cell",
    [
        Literal('a\tb\\"\n\x00\x7f'),
        Literal("\ufffe\uffff\ufeff"),
        Literal("é\U0001f600", "en-GB"),
        Literal("x", "de"),
        Literal("x", None, "http://e.org/a b>"),
        Literal('x"', None, XSD + "integer"),
        Iri("http://e.org/a b"),
        Iri("http://e.org/é<"),
        Iri(""),
        BlankNode("a b"),
        BlankNode("label-"),
        BlankNode("b-1.x"),
    ],
)
def test_escapes(cell: Any) -> None:
    for rows in (
        [(cell,)],
        [(cell,), (None,), (cell,), (cell,)],
        [(cell,), (Iri("urn:x"),), (Literal("x"),), (BlankNode("b"),), (cell,)],
    ):
        assert texts(written(["a"], rows)) == in_ntriples(rows)


def test_terms_that_ntriples_cannot_express() -> None:
    for cell in (
        Literal("x", "not a tag"),
        Literal("x", None, "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"),
    ):
        with pytest.raises(TermError, match=r"frame 0: column 0 \(\?a\)"):
            texts(written(["a"], [(cell,)]))


def test_a_few_bytes_do_not_become_much_text() -> None:
    long = [(Iri("urn:" + "x" * 1000), Literal("y" * 1000))] * 1000
    frames = written(["a", "b"], long)
    assert len(b"".join(frames)) < 2500
    assert len(texts(frames, limits=Limits(name_table=8192, frame_expansion=2_009_000))) == 1000
    with pytest.raises(LimitError, match="frame_expansion"):
        texts(frames, limits=Limits(name_table=8192, frame_expansion=2_000_000))


# Arrow


def arrow() -> Any:
    pytest.importorskip("pyarrow")
    return pytest.importorskip("jelly_plugins.arrow")


def data_of(variables: list[str], rows: Any, form: str = "jellys", **settings: Any) -> bytes:
    file = io.BytesIO()
    write_results(variables, rows, file, format=form, **settings)
    return file.getvalue()


ROWS = [
    (Iri("urn:a"), Literal("1", None, XSD + "integer"), None),
    (BlankNode("b"), None, None),
    (Literal("x", "en"), Literal("+2", None, XSD + "integer"), None),
]


@pytest.mark.parametrize("form", ["jellys", "srt", "srp", "srj", "srx", "tsv"])
def test_a_table(form: str) -> None:
    if form in ("srj", "srx", "tsv"):
        pytest.importorskip("pyoxigraph")
    data = data_of(["a", "b", "none"], ROWS, form)
    table = arrow().read_results(data, format=form).read_all()
    assert table.column_names == ["a", "b", "none"]
    assert list(zip(*table.to_pydict().values(), strict=True)) == in_ntriples(ROWS)
    values = arrow().read_results(data, format=form, values=True).read_all()
    assert [str(kind) for kind in values.schema.types] == ["string", "int64", "string"]
    assert values["b"].to_pylist() == [1, None, 2]


def test_values() -> None:
    rows = [
        tuple(
            Literal(lex, None, XSD + name)
            for lex, name in (
                ("-1.50", "decimal"),
                ("1e3", "double"),
                ("true", "boolean"),
                ("2026-11-24T10:00:00Z", "dateTime"),
                ("2026-11-24", "date"),
                ("x", "string"),
            )
        )
    ]
    names = ["decimal", "double", "boolean", "time", "date", "string"]
    found = arrow().read_results(data_of(names, rows), values=True).read_all()
    kinds = ["decimal128(38, 18)", "double", "bool", "timestamp[us, tz=UTC]", "date32[day]"]
    assert [str(kind) for kind in found.schema.types] == [*kinds, "string"]
    assert [str(cell) for [cell] in found.to_pydict().values()] == [
        "-1.500000000000000000",
        "1000.0",
        "True",
        "2026-11-24 10:00:00+00:00",
        "2026-11-24",
        '"x"',
    ]


def test_a_cell_of_another_type() -> None:
    integers = [(Literal(str(n), None, XSD + "integer"),) for n in range(10)]
    others = [Literal(lex, None, XSD + "integer") for lex in ("x", "0x1F", " 1", "")]
    for last in (Iri("urn:x"), Literal("1"), Literal("1", None, XSD + "int"), *others):
        data = data_of(["n"], [*integers, (last,)], frame_cells=5)
        with pytest.raises(StatementError, match=r"frame 2: .*\?n is not of type int64") as caught:
            arrow().read_results(data, values=True).read_all()
        assert caught.value.source == "<bytes>"
        assert arrow().read_results(data).read_all().num_rows == 11
    mixed = data_of(["n"], [*integers, (Literal("1"),)])
    assert str(arrow().read_results(mixed, values=True).read_all().schema.types[0]) == "string"


TIME = "2026-11-24T10:00:00"


@pytest.mark.parametrize(
    ("datatype", "lexes", "kind", "last"),
    [
        ("dateTime", [TIME, TIME + ".5"], "timestamp[us]", "2026-11-24 10:00:00.500000"),
        ("dateTime", [TIME + "+02:00"], "timestamp[us, tz=UTC]", "2026-11-24 08:00:00+00:00"),
        ("integer", [str(2**63 - 1)], "int64", str(2**63 - 1)),
        ("double", ["1", "-INF"], "double", "-inf"),
        ("double", ["NaN", "+INF", ".5", "1.", "-1e-3"], "double", "-0.001"),
        ("integer", ["+7", "-0", "007"], "int64", "7"),
        ("boolean", ["1", "false"], "bool", "False"),
        ("decimal", ["+1.", ".5"], "decimal128(38, 18)", "0.500000000000000000"),
        ("byte", ["-128", "127"], "int8", "127"),
        ("positiveInteger", ["1"], "uint64", "1"),
    ],
)
def test_the_type_of_a_column(datatype: str, lexes: list[str], kind: str, last: str) -> None:
    cells = [None, *(Literal(lex, None, XSD + datatype) for lex in lexes)]
    data = data_of(["a"], [(cell,) for cell in cells])
    found = arrow().read_results(data, values=True).read_all()
    assert str(found.schema.types[0]) == kind
    assert found["a"][0].as_py() is None
    assert str(found["a"][-1].as_py()) == last


#: Lexical forms by datatype that have no value of its type. Arrow parses most of them, but they are
#: not valid in XML Schema.
NO_VALUES = {
    "integer": [f"{2**63}", "0x1F", "1_000", " 1", "1.0", "++1", "", "\u0661", "1\n"],
    "boolean": ["TRUE", "True"],
    "double": ["x", "inf", "infinity", "nan", "0x1p3"],
    "decimal": ["0." + "1" * 19, "1e3", "NaN", "1" + 20 * "0", str(1 << 128)],
    "dateTime": [
        *(TIME + ".1234567", "2026-11-24", "2026-11-24 10:00:00", "2026-11-24T10:00"),
        *("2026-11-24T10", TIME + "+0100", TIME + "+01", TIME + "+14:30", "2026-02-30T10:00:00"),
    ],
    "date": ["2026-11-24Z", "2026-11-24+01:00", "2026-11-24T10:00:00", "20261124"],
    "byte": ["128"],
    "short": ["-32769"],
    "int": ["2147483648"],
    "unsignedInt": ["-1", "4294967296"],
    "nonNegativeInteger": ["-1"],
    "positiveInteger": ["0"],
}


@pytest.mark.parametrize("datatype", NO_VALUES)
def test_a_column_without_a_matching_type_is_text(datatype: str) -> None:
    groups = [[lex] for lex in NO_VALUES[datatype]]
    if datatype == "dateTime":
        groups.append([TIME, TIME + "Z"])
    for lexes in groups:
        cells = [None, *(Literal(lex, None, XSD + datatype) for lex in lexes)]
        data = data_of(["a"], [(cell,) for cell in cells])
        found = arrow().read_results(data, values=True).read_all()
        assert str(found.schema.types[0]) == "string", lexes
        assert found["a"].to_pylist() == [cell and term_text(cell) for cell in cells]


def test_a_late_time_zone() -> None:
    for first, later in (("", "Z"), ("Z", "")):
        cells = [Literal(TIME + zone, None, XSD + "dateTime") for zone in (first, later)]
        data = data_of(["t"], [(cell,) for cell in cells], frame_cells=1)
        with pytest.raises(StatementError, match=r"frame 1: .*\?t is not of type timestamp"):
            arrow().read_results(data, values=True).read_all()


def test_frames_without_rows_are_not_kept() -> None:
    """For any number of frames before the first row."""
    [data] = written(["n"], [(Literal("1", None, XSD + "integer"),)])
    frame = sparql_pb2.SparqlResultsFrame.FromString(data)
    header = sparql_pb2.SparqlResultsFrame(options=frame.options, variables=frame.variables)
    frame.ClearField("options")
    empty = delimit(b"") * 1000
    chunks = chain(
        [delimit(header.SerializeToString())],
        repeat(empty, 10),
        [delimit(frame.SerializeToString())],
    )

    read_results = arrow().read_results
    tracemalloc.start()
    try:
        reader = read_results(ChunkFile(chunks), values=True)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000
    assert reader.read_all()["n"].to_pylist() == [1]


def test_batches_follow_frames() -> None:
    data = data_of(["s"], [(Iri(f"urn:{n}"),) for n in range(25)], frame_cells=10)
    assert [len(batch) for batch in arrow().read_results(data)] == [10, 10, 5]
    assert arrow().read_results(data_of([], [()] * 3)).read_all().num_rows == 3
    first = next(encode_results(["s"], ((Iri(f"urn:{n}"),) for n in range(5000))))

    def arriving() -> Iterator[bytes]:
        yield first
        raise AssertionError("more was read than was needed")

    assert len(next(iter(arrow().read_results(ChunkFile(arriving()))))) == 4096


def test_results_without_columns() -> None:
    file = io.BytesIO()
    write_boolean(True, file, format="jellys")
    with pytest.raises(StatementError, match="ASK"):
        arrow().read_results(file.getvalue())
    frame = written(["s"], [(Iri("urn:a"),)])[0]
    with pytest.raises(JellyError, match="frame 1"):
        arrow().read_results(delimit(frame) + delimit(frame)).read_all()


@pytest.mark.parametrize("tables", [(8192, 1024, 64), (128, 16, 8), (16384, 4096, 256)])
def test_a_bare_frame(tables: tuple[int, int, int]) -> None:
    """Its options may have 10 bytes, which is also the first byte of a delimited stream."""
    frame = sparql_pb2.SparqlResultsFrame(row_count=1)
    options = frame.options
    (
        options.max_name_table_size,
        options.max_prefix_table_size,
        options.max_datatype_table_size,
    ) = tables
    options.version = 1
    frame.variables.add().name = "v"
    frame.literal_columns.add().lex_values.append("x")
    data = frame.SerializeToString()
    for source in (data, delimit(data)):
        for form in (None, "jellys"):
            with read_results(source, format=form) as results:
                assert list(results) == [(Literal("x"),)]
