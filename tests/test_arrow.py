from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    BlankNode,
    Iri,
    JellyError,
    Limits,
    Literal,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins import read as read_statements
from jelly_plugins.codec import DEFAULT_GRAPH
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import LimitError, StatementError, TextError, TruncatedError
from jelly_plugins.io.streams import write_bytes

from .codec.test_columns import ROWS, P, S

pyarrow = pytest.importorskip("pyarrow")
arrow = pytest.importorskip("jelly_plugins.arrow")

TRIPLES = [Triple(S, P, Literal(str(number))) for number in range(100)]
STAR = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)


def table(rows: Sequence[tuple[Any, ...]], **types: Any) -> Any:
    names = arrow.QUADS.names[: len(rows[0])]
    return pyarrow.table(
        {
            name: pyarrow.array(
                [term_text(row[at]) or None for row in rows], types.get(name, pyarrow.string())
            )
            for at, name in enumerate(names)
        }
    )


@pytest.mark.parametrize("name", ["table.jelly", "table.jelly.gz"])
@pytest.mark.parametrize("rows", [TRIPLES, ROWS], ids=["triples", "quads"])
def test_there_and_back(rows: list[Any], tmp_path: Path, name: str) -> None:
    schema = arrow.TRIPLES if rows is TRIPLES else arrow.QUADS
    options = StreamOptions() if rows is TRIPLES else STAR
    data = table([rows[0], *rows]).slice(1)
    assert arrow.write(data, tmp_path / name, options=options) == len(rows)
    with arrow.read(tmp_path / name, batch_rows=7) as reader:
        assert reader.schema == schema
        found = reader.read_all()
    found.validate(full=True)
    assert found.equals(data.cast(schema))
    assert list(read_statements(tmp_path / name)) == rows


STRINGS = [
    pyarrow.large_string(),
    pyarrow.string_view(),
    pyarrow.binary(),
    pyarrow.large_binary(),
    pyarrow.binary_view(),
]


@pytest.mark.parametrize("kind", [pyarrow.string(), *STRINGS])
@pytest.mark.parametrize("index", [None, pyarrow.int8(), pyarrow.uint32(), pyarrow.uint64()])
def test_strings_of_any_layout_and_dictionaries_of_them(kind: Any, index: Any) -> None:
    plain = table(ROWS[2:])
    values = {}
    for name in plain.column_names:
        found = plain[name].combine_chunks().dictionary_encode()
        dictionary = found.dictionary.cast(kind)
        values[name] = plain[name].cast(kind)
        if index is not None:
            indices = found.indices.cast(index)
            values[name] = pyarrow.DictionaryArray.from_arrays(indices, dictionary)
    assert written(pyarrow.table(values), options=STAR) == ROWS[2:]


def test_a_dictionary_with_null() -> None:
    one = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([1, 0, None]), pyarrow.array([None, "<urn:g>"])
    )
    quads = table([(*row, BlankNode("g")) for row in TRIPLES[:3]])
    found = written(quads.set_column(3, "graph", one))
    assert [row.graph for row in found] == [Iri("urn:g"), DEFAULT_GRAPH, DEFAULT_GRAPH]


def test_columns_of_nothing_but_null() -> None:
    quads = table(TRIPLES).append_column("graph", pyarrow.nulls(100))
    assert written(quads) == [(*row, DEFAULT_GRAPH) for row in TRIPLES]
    with pytest.raises(TextError, match="row 0: the object is null"):
        written(quads.set_column(2, "object", pyarrow.nulls(100)))


def test_a_string_that_cannot_be_copied() -> None:
    objects = [b'"o"'] * 3000
    objects[2500] = b"\xff"
    wrong = pyarrow.table([["_:s"] * 3000, ["<urn:p>"] * 3000, objects], arrow.TRIPLES.names)
    with pytest.raises(StatementError, match=r"^column object cannot be read as"):
        written(wrong)


def test_an_empty_string_is_not_a_graph() -> None:
    quads = table([(*row, BlankNode("g")) for row in TRIPLES])
    graphs = pyarrow.array([None, "<urn:g>", ""] * 33 + [None])
    message = "row 2: graph: an empty string does not name a graph; use null for the default graph"
    for column in (graphs, graphs.dictionary_encode(), graphs.cast(pyarrow.string_view())):
        with pytest.raises(TextError, match=message):
            written(quads.set_column(3, "graph", column))


def written(rows: Any, **settings: Any) -> list[Any]:
    out = io.BytesIO()
    count = arrow.write(rows, out, **settings)
    found = list(read_statements(out.getvalue()))
    assert len(found) == count
    return found


def test_accepted_inputs() -> None:
    whole = table(TRIPLES)
    batches = whole.to_batches(max_chunksize=9)
    sliced = [batch.slice(2, 5) for batch in whole.to_batches()]
    for given, expected in (
        (whole, TRIPLES),
        (iter(batches), TRIPLES),
        (batches[0], TRIPLES[:9]),
        (pyarrow.RecordBatchReader.from_batches(whole.schema, batches), TRIPLES),
        (sliced, TRIPLES[2:7]),
        ([whole, batches[0], Capsule(batches[1])], TRIPLES + TRIPLES[:18]),
        (Capsule(batches[0]), TRIPLES[:9]),
        ([], []),
    ):
        assert written(given) == expected


@pytest.mark.parametrize("kind", [pyarrow.string(), *STRINGS])
def test_a_table_without_rows_has_columns(kind: Any) -> None:
    for type_ in (kind, pyarrow.dictionary(pyarrow.int8(), kind)):
        schema = pyarrow.schema([(name, type_) for name in arrow.QUADS.names])
        for rows, names in (
            (schema.empty_table(), arrow.QUADS.names),
            (schema.empty_table().to_reader(), arrow.QUADS.names),
            (schema.empty_table().drop_columns(["graph"]), arrow.TRIPLES.names),
        ):
            out = io.BytesIO()
            assert arrow.write(rows, out) == 0
            assert arrow.read(out.getvalue()).schema.names == names
    with pytest.raises(StatementError, match="column object is missing"):
        arrow.write(schema.empty_table().drop_columns(["object"]), io.BytesIO())


class Capsule:
    """A batch of another library, as Arrow's C interface."""

    def __init__(self, batch: Any) -> None:
        self.__arrow_c_array__ = batch.__arrow_c_array__


@pytest.mark.parametrize("rows", [{"subject": ["_:s"]}, ["_:s"], [[1]], "_:s"])
def test_inputs_that_are_not_arrow(rows: Any) -> None:
    with pytest.raises(TypeError, match="none of Arrow's C interfaces: pass tables, record"):
        written(rows)


def test_two_columns_of_one_name() -> None:
    twice = table(TRIPLES)
    for name in arrow.TRIPLES.names:
        named = twice.append_column(name, twice["object"])
        with pytest.raises(StatementError, match=f"^2 columns are named {name}: rename all but"):
            written(named)
    others = twice.append_column("x", twice["object"]).append_column("x", twice["object"])
    assert written(others) == TRIPLES


def test_joined_streams() -> None:
    triple = Triple(Iri("http://a.org/s"), Iri("http://a.org/p"), Literal("a"))
    quad = Quad(Iri("http://b.org/s"), Iri("http://b.org/p"), Literal("b"), Iri("http://b.org/g"))
    data = write_bytes([triple]) + write_bytes([quad])
    rows = arrow.read(data, concatenated=True).read_all().to_pylist()
    assert [(row["subject"], row["graph"]) for row in rows] == [
        ("<http://a.org/s>", None),
        ("<http://b.org/s>", "<http://b.org/g>"),
    ]
    with pytest.raises(TruncatedError, match="frame 1"):
        arrow.read(data[:-2], concatenated=True).read_all()
    small = write_bytes([triple], options=StreamOptions.small())
    limits = Limits(name_table=128)
    assert arrow.read(3 * small, concatenated=True, limits=limits).read_all().num_rows == 3
    with pytest.raises(LimitError, match=r"frame 2, row 0: .*name_table"):
        arrow.read(2 * small + data, concatenated=True, limits=limits).read_all()


def test_tables_without_statements(tmp_path: Path) -> None:
    path = tmp_path / "out.jelly"
    with pytest.raises(StatementError, match="column object is missing"):
        arrow.write(table(TRIPLES).drop_columns(["object"]), path)
    for each in ([[2]], [2], [2.5], [True], pyarrow.array([b"12"], pyarrow.binary(2))):
        other = pyarrow.table({"subject": ["_:s"], "predicate": each, "object": ["_:o"]})
        with pytest.raises(StatementError, match=r"^column predicate has type .*, not string"):
            arrow.write(other, path)
        coded = pyarrow.table({"subject": ["_:s"], "predicate": ["_:s"], "object": ["_:o"]})
        if pyarrow.types.is_primitive(pyarrow.array(each).type):
            coded = coded.set_column(1, "predicate", pyarrow.array(each).dictionary_encode())
            with pytest.raises(StatementError, match=r"^column predicate has type .*, not string"):
                arrow.write(coded, path)
    bad = table([*TRIPLES, (S, Literal("p"), S)])
    with pytest.raises(TextError) as caught:
        arrow.write(bad.to_batches(max_chunksize=30), path)
    assert caught.value.row == 100
    assert not path.exists()


def test_errors_name_the_source(tmp_path: Path) -> None:
    path = tmp_path / "cut.jelly"
    path.write_bytes(write_bytes(TRIPLES, frame_rows=20)[:-5])
    with pytest.raises(TruncatedError, match=r"cut.jelly: frame \d+: the input ends inside"):
        arrow.read(path).read_all()
    with pytest.raises(JellyError, match="options"):
        arrow.read(bytes(5))


def test_other_libraries_take_it() -> None:
    pandas = pytest.importorskip("pandas")
    frame = arrow.read(write_bytes(TRIPLES)).read_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 100
    for dtype in ("category", "string", "object"):
        assert written(frame.astype(dtype)) == TRIPLES


@pytest.mark.parametrize("dtype", ["String", "Categorical", "Enum"])
def test_frames_of_polars(dtype: str) -> None:
    polars = pytest.importorskip("polars")
    quads = table([*((*row, BlankNode("g")) for row in TRIPLES), (*TRIPLES[0], DEFAULT_GRAPH)])
    frame = polars.from_arrow(quads)
    if dtype == "Enum":
        frame = frame.select(
            each.cast(polars.Enum(each.unique().drop_nulls())) for each in frame.iter_columns()
        )
    else:
        frame = frame.cast(getattr(polars, dtype))
    expected = [*((*row, BlankNode("g")) for row in TRIPLES), (*TRIPLES[0], DEFAULT_GRAPH)]
    assert written(frame) == expected
    assert written(polars.concat([frame, frame[3:7]], rechunk=False)) == expected + expected[3:7]


def test_names_instead_of_members() -> None:
    rows = table([(S, P, Triple(S, P, S))])
    options = StreamOptions(physical_type=PhysicalType.TRIPLES, rdf_star=True)
    file = io.BytesIO()
    assert arrow.write(rows, file, options=options, dialect="RDF 1.2") == 1
    found = arrow.read(file.getvalue(), notation="rdf_star").read_all()
    assert found["object"].to_pylist() == ["<< <urn:s> <urn:p> <urn:s> >>"]
    with pytest.raises(ValueError, match="dialect must be one of rdf-1-1, rdf-1-2, rdf-star"):
        arrow.write(rows, io.BytesIO(), dialect="nonsense")
    with pytest.raises(ValueError, match="notation must be one of rdf-star, rdf-1-2"):
        arrow.read(file.getvalue(), notation="nonsense")


def test_a_lazy_data_frame() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"subject": ["<urn:s>"], "predicate": ["<urn:p>"], "object": ["_:o"]})
    with pytest.raises(TypeError, match=r"LazyFrame is not computed yet: pass its collect\(\)"):
        arrow.write(frame.lazy(), io.BytesIO())
    with pytest.raises(TypeError, match="int has none of Arrow's C interfaces"):
        arrow.write(5, io.BytesIO())
