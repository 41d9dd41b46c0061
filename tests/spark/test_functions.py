"""Functions on columns: Jelly in binary values, and back."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from pyspark.errors import PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from jelly_plugins import arrow
from jelly_plugins.codec import ColumnEncoder, PhysicalType, StreamOptions, delimit
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    OptionsError,
    SourceError,
    TruncatedError,
    WireError,
)
from jelly_plugins.patch import read_patches
from jelly_plugins.spark import (
    from_jelly,
    from_jelly_patch,
    functions,
    register,
    to_jelly,
    to_jelly_patch,
)
from jelly_plugins.spark.functions import FromJelly, FromJellyPatch, ToJelly, ToJellyPatch

from ..conversions import written

S, P = "<urn:s>", "<urn:p>"
TRIPLES = [(S, P, '"a\\n"@en', None), ("_:b", P, S, None)]
QUADS = [(S, P, '"1"^^<urn:d>', "<urn:g>"), (S, P, "<<( _:a <urn:q> <urn:o> )>>", None)]
STRUCT = "array<struct<subject:string,predicate:string,object:string,graph:string>>"
LOG = (
    'H id <urn:patch:1> . H prev <urn:patch:0> . H note "x" . TX . PA ex: <urn:ex:> . '
    'A <urn:s> <urn:p> "a" <urn:g> . D _:b <urn:p> "b" . PD ex: . TC . TX . TA . Z . '
    "H id <urn:patch:2> . TX . A <urn:s> <urn:p> <urn:o> . TC . Z ."
)


def value(rows: list[tuple[str | None, ...]], **options: Any) -> bytes:
    named = [dict(zip(arrow.QUADS.names, row, strict=True)) for row in rows]
    table = pa.Table.from_pylist(named, arrow.QUADS)
    stream = StreamOptions.flat(PhysicalType.QUADS, rdf_star=True, **options)
    return written(arrow.write, table, options=stream)


def frame_of(spark: SparkSession, values: list[Any], kind: str = "binary") -> DataFrame:
    rows = [(number, each) for number, each in enumerate(values)]
    return spark.createDataFrame(rows, f"n int, value {kind}").repartition(1).sort("n")


def results(frame: DataFrame, column: Any) -> list[Any]:
    return [row.found for row in frame.select("n", column.alias("found")).sort("n").collect()]


def plain(rows: Any) -> Any:
    return None if rows is None else [tuple(row) for row in rows]


def test_statements_there_and_back(spark: SparkSession) -> None:
    frame = frame_of(spark, [value(TRIPLES), None, value(QUADS), value([]), b""])
    quoted = {"quotedTriples": "true"}
    read, split = from_jelly("value"), from_jelly("value", options={"terms": "split"})
    written = to_jelly(read, quoted)
    found = frame.select(
        read.alias("read"),
        written.alias("written"),
        sf.get(split, sf.lit(0)).object.language.alias("language"),
        from_jelly(written).alias("again"),
        # Terms in parts, both ways.
        from_jelly(to_jelly(split, quoted)).alias("joined"),
    )
    assert found.schema["read"].dataType.simpleString() == STRUCT
    rows = found.collect()
    expected = [TRIPLES, None, QUADS, [], []]
    assert [plain(row.read) for row in rows] == expected
    assert [plain(row.again) for row in rows] == expected
    assert [plain(row.joined) for row in rows] == expected
    assert [row.language for row in rows] == ["en", None, None, None, None]
    # A stream is of quads only if there is a graph.
    names = [row.written and arrow.read(row.written).schema.names[3:] for row in rows]
    assert names == [[], None, ["graph"], [], []]


def row_but_order(row: Any) -> dict[str, Any]:
    return {name: each for name, each in row.asDict().items() if name != "order"}


def test_patches_there_and_back(spark: SparkSession) -> None:
    frame = frame_of(spark, [LOG.encode(), None, b""])
    for options in ({}, {"headers": "true"}):
        read = frame.select("n", from_jelly_patch("value", options).alias("value")).cache()
        rows, none, empty = results(read, sf.col("value"))
        assert (none, empty) == (None, [])
        kinds = [row.kind for row in rows if row.kind not in ("H", "Z")]
        assert kinds == ["TX", "PA", "A", "D", "PD", "TC", "TX", "TA", "TX", "A", "TC"]
        assert rows[-2].id == "<urn:patch:2>"
        written, none, empty = results(read, to_jelly_patch("value"))
        assert none is None
        assert list(read_patches(empty)) == []
        expected = list(read_patches(LOG.encode()))
        if not options:
            # Without rows for headers, those that are columns are there.
            del expected[0].headers[2]
        found = list(read_patches(written))
        assert [each.headers for each in found] == [each.headers for each in expected]
        again = results(frame_of(spark, [written]), from_jelly_patch("value", options))
        # Places count headers, whether they are rows or not.
        places = [list(map(row_but_order, each)) for each in (*again, rows)]
        assert places[0] == places[1]


def test_sql(spark: SparkSession) -> None:
    register(spark)
    register(spark)
    good = value(TRIPLES)
    frame = frame_of(spark, [good, good[:-1], None])
    name = sf.concat_ws("/", sf.lit("weather"), sf.col("n").cast("string"))
    with pytest.raises(PythonException, match=r"weather/1: frame 0.*ends inside"):
        frame.select(from_jelly("value", source=name)).collect()
    frame.createOrReplaceTempView("messages")
    first = spark.sql("SELECT inline(from_jelly(value)) FROM messages WHERE n = 0")
    assert plain(first.collect()) == TRIPLES
    again = "SELECT from_jelly(to_jelly(from_jelly(value, concat('m', n)))) AS found FROM messages"
    found = spark.sql(f"{again} WHERE n <> 1 ORDER BY n").collect()
    assert [plain(row.found) for row in found] == [TRIPLES, None]
    with pytest.raises(PythonException, match="m1: frame 0"):
        spark.sql(again).collect()
    patch = "to_jelly_patch(from_jelly_patch(value))"
    frame_of(spark, [LOG.encode()]).createOrReplaceTempView("patches")
    written = spark.sql(f"SELECT {patch} AS value FROM patches").first().value
    assert len(list(read_patches(written))) == 2


# Without Spark


def run(function: Any, *columns: Any) -> Any:
    """The results of a batch."""
    arguments = columns if len(columns) > 1 else columns[0]
    return pa.concat_arrays(list(function([arguments]))).to_pylist()


def listed(rows: Any) -> Any:
    """Rows as tuples, None as it is."""
    return None if rows is None else [tuple(row.values()) for row in rows]


def binary(*values: bytes | None) -> Any:
    return pa.array(values, pa.binary())


def statements(*values: Any) -> Any:
    """An array as :func:`to_jelly` takes it."""
    struct = pa.struct([(name, pa.string()) for name in arrow.QUADS.names])
    names = arrow.QUADS.names
    named = [[row and dict(zip(names, row, strict=True)) for row in rows] for rows in values]
    return pa.array(named, pa.list_(struct))


def test_a_frame_without_options() -> None:
    options = StreamOptions.flat(PhysicalType.TRIPLES, max_name_table_size=16)
    opening = b"".join(ColumnEncoder(options).finish())
    encoder = ColumnEncoder(options)
    batch = pa.RecordBatch.from_pydict(
        dict(zip(arrow.TRIPLES.names, ([each] for each in TRIPLES[0][:3]), strict=True))
    )
    [whole] = encoder.add(arrow.columns(batch)) + encoder.finish()
    assert whole.startswith(opening)
    bare = whole[len(opening) :]
    found = run(FromJelly({}, opening), binary(bare, whole, b""))
    assert [listed(rows) for rows in found] == [[TRIPLES[0]], [TRIPLES[0]], []]
    # With given options, a value is never a delimited stream.
    with pytest.raises(JellyError, match="a value: frame 0"):
        run(FromJelly({}, opening), binary(delimit(bare)))
    # A frame's number does not count the options that were given.
    with pytest.raises(WireError, match="a value: frame 0"):
        run(FromJelly({}, opening), binary(bare[:-1]))
    with pytest.raises(JellyError, match="a value: frame 0"):
        run(FromJelly({}), binary(bare))


def test_frames_without_options_of_any_size() -> None:
    """Also of those whose first bytes look like a delimited stream."""
    options = StreamOptions.flat(PhysicalType.TRIPLES, max_prefix_table_size=0)
    opening = b"".join(ColumnEncoder(options).finish())
    read = FromJelly({}, opening)
    for size in range(1, 200):
        encoder = ColumnEncoder(options)
        row = {"subject": f"<urn:{'s' * size}>", "predicate": P, "object": S}
        [whole] = encoder.add(arrow.columns(pa.RecordBatch.from_pylist([row]))) + encoder.finish()
        [rows] = run(read, binary(whole[len(opening) :]))
        assert listed(rows) == [(*row.values(), None)]


def test_joined_streams() -> None:
    first, second = (value([(f"<urn:{n}>", f"<urn:p{n}>", S, None)]) for n in "ab")
    [rows] = run(FromJelly({"concatenated": "true"}), binary(first + second))
    assert [row["subject"] for row in rows] == ["<urn:a>", "<urn:b>"]
    with pytest.raises(JellyError, match="a value: frame 1"):
        run(FromJelly({"concatenated": "true"}), binary(first + second[:-1]))
    with pytest.raises(OptionsError, match="concatenated excludes stream_options"):
        from_jelly("value", StreamOptions(), {"concatenated": "true"})


def struct(*names: str, kind: Any = None, **others: Any) -> Any:
    """A list of structures with these fields, of text by default."""
    fields = [(name, kind or pa.string()) for name in names]
    return pa.list_(pa.struct([*fields, *others.items()]))


def test_names_and_types_are_those_of_spark() -> None:
    """Names in any case; VOID for what has only nulls; array() of nothing."""
    rows = pa.array([[(S, P, S, None)]], struct("Subject", "PREDICATE", "object", graph=pa.null()))
    [written] = run(ToJelly({}), rows)
    assert [listed(each) for each in run(FromJelly({}), binary(written))] == [[(S, P, S, None)]]
    empty = pa.array([[], None], pa.list_(pa.null()))
    written = run(ToJelly({}), empty)
    assert written[1] is None
    assert run(FromJelly({}), binary(written[0])) == [[]]
    assert list(read_patches(run(ToJellyPatch({}), empty)[0])) == []
    term = struct("VALUE", "Kind", datatype=pa.null(), language=pa.null()).value_type
    terms = [("urn:s", "iri"), ("urn:p", "iri"), ('a"', "literal")]
    split = pa.array(
        [[tuple((*each, None, None) for each in terms)]],
        struct("subject", "predicate", "object", kind=term),
    )
    [written] = run(ToJelly({}), split)
    assert [listed(each) for each in run(FromJelly({}), binary(written))] == [
        [(S, P, r'"a\""', None)]
    ]
    twice = struct("subject", "Subject", "predicate", "object")
    with pytest.raises(OptionsError, match="two columns have the same name"):
        run(ToJelly({}), pa.array([[(S, S, P, S)]], twice))


def test_corrupt_values() -> None:
    good = value(TRIPLES)
    values = binary(good, good[:-1], b"no Jelly", None)
    with pytest.raises(TruncatedError, match="a value: frame 0"):
        run(FromJelly({}), values)
    with pytest.raises(SourceError, match="a value: this is text, not Jelly"):
        run(FromJelly({}), binary(b"<urn:s> <urn:p> <urn:o> .\n"))
    found = run(FromJelly({"Mode": "permissive"}), values)
    assert [listed(rows) for rows in found] == [TRIPLES, None, None, None]
    patches = FromJellyPatch({"mode": "PERMISSIVE"})
    assert run(patches, binary(b"TX . A <urn:s>", b"\xff", b"")) == [None, None, []]
    with pytest.raises(JellyError, match="a value: "):
        run(FromJellyPatch({}), binary(b"TX . A <urn:s>"))


PACKERS = [gzip.compress, bz2.compress, zstandard.ZstdCompressor().compress]


@pytest.mark.parametrize("pack", PACKERS)
def test_compressed_values(pack: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    good, log = value(TRIPLES), LOG.encode()
    first, second, empty = run(FromJelly({}), binary(pack(good), good, pack(b"")))
    assert first == second
    assert empty == []
    with pytest.raises(JellyError, match="a value: the compressed data"):
        run(FromJelly({}), binary(pack(good)[:-5]))
    patches = FromJellyPatch({})
    [operations] = run(patches, binary(pack(log)))
    assert [operations] == run(patches, binary(log))
    # A few bytes that would become many.
    monkeypatch.setattr(functions, "VALUE_BYTES", 1 << 20)
    joined = FromJelly({"concatenated": "true"})
    for function, data in ((joined, good), (patches, log)):
        with pytest.raises(LimitError, match="a value: a decompressed value must not exceed"):
            run(function, binary(pack(data * ((4 << 20) // len(data)))))


def test_statements_that_cannot_be_written() -> None:
    good, bad = TRIPLES[0], (S, P, "o", None)
    values = statements([good], [good, bad], [QUADS[1]], [None], [(S, P, None, None)])
    found = run(ToJelly({"mode": "PERMISSIVE"}), values)
    assert [each is None for each in found] == [False, True, True, True, True]
    write = ToJelly({})
    for number, message in ((1, r"a value: row 1.*object"), (3, "an element of the array is null")):
        with pytest.raises(JellyError, match=message):
            run(write, values.slice(number, 1))
    for wrong, message in (
        (pa.array([["x"]]), "takes arrays of structures"),
        (pa.array([[{"subject": S, "predicate": P}]]), "object is missing"),
        (
            pa.array([[dict.fromkeys(arrow.TRIPLES.names, 1)]]),
            r"column subject must be text .* \(got bigint\)",
        ),
    ):
        with pytest.raises(OptionsError, match=message):
            run(write, wrong)
    with pytest.raises(OptionsError, match=r"takes binary values \(got string\)"):
        run(FromJelly({}), pa.array(["x"]))


def test_operations_become_a_transaction() -> None:
    def rows(*each: tuple[str | None, ...]) -> Any:
        names = ("kind", "subject", "predicate", "object", "id", "name")
        return [dict(zip(names, row, strict=False)) for row in each]

    write = ToJellyPatch({})
    good = rows(("D", S, P, '"a"', "<urn:i>"), ("A", S, P, '"b"', None))
    [written] = run(write, pa.array([good]))
    [found] = run(FromJellyPatch({}), binary(written))
    assert [row["kind"] for row in found] == ["TX", "D", "A", "TC"]
    assert {row["id"] for row in found} == {"<urn:i>"}
    # Rows without numbers of patches are of one for each id.
    two = rows(("A", S, P, S, "<urn:i>"), ("A", S, P, S, "<urn:j>"))
    assert len(list(read_patches(run(write, pa.array([two]))[0]))) == 2
    for wrong, message in (
        (("A", S, P, "b"), r"a value: row 1.*object"),
        (("X", S, P, S), r"a value: row 1.*kind must be one of A, D, .*got 'X'"),
        (("PA", None, None, None), r"a value: row 1.*name"),
        (("PA", None, None, None, None, "ex"), r"a value: row 1.*value"),
        (("TC", None, None, None), "a value: "),
    ):
        values = pa.array([[*rows(("A", S, P, S)), *rows(wrong)]])
        with pytest.raises(JellyError, match=message):
            run(write, values)
        assert run(ToJellyPatch({"mode": "PERMISSIVE"}), values) == [None]


def test_arguments_are_checked() -> None:
    values = binary(value(TRIPLES), b"x")
    names = pa.array(["m0", "m1"])
    with pytest.raises(JellyError, match="m1: "):
        run(FromJelly({}), values, names)
    for others in ((names, names), (pa.array([[1], [2]]),)):
        with pytest.raises(OptionsError, match="from_jelly takes a value, and a name"):
            run(FromJelly({}), values, *others)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (from_jelly, {"path": "x"}, "from_jelly has no option 'path'"),
        (to_jelly, {"terms": "split"}, "to_jelly has no option 'terms'"),
        (to_jelly_patch, {"mode": "X"}, "option mode must be one of"),
        (from_jelly_patch, {"path": "x"}, "from_jelly_patch has no option 'path'"),
    ],
)
def test_options_are_checked_before_there_is_a_task(
    function: Any, options: dict[str, str], message: str
) -> None:
    with pytest.raises(OptionsError, match=message):
        function("value", options=options)


def test_batches_of_results_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "MAX_ROWS", 3)
    read = FromJelly({})
    values = binary(value(TRIPLES), None, value(QUADS), value([]))
    found = list(read([values, values.slice(2)]))
    assert [len(each) for each in found] == [3, 1, 2]
    rows = [listed(each) for array in found for each in array.to_pylist()]
    assert rows == [TRIPLES, None, QUADS, [], QUADS, []]
    monkeypatch.setattr(functions, "VALUE_BYTES", 100)
    with pytest.raises(LimitError, match=r"a value: .* must not exceed 100 bytes"):
        list(read([values]))


def test_slices_and_nulls_are_written_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions, "BYTES", 1)
    read = FromJelly({})
    write = ToJelly({"quotedTriples": "true"})
    lists = pa.concat_arrays(list(read([binary(value(TRIPLES), None, value(QUADS), value([]))])))
    found = pa.concat_arrays(list(write([lists.slice(1), pa.nulls(2)])))
    assert found.is_valid().to_pylist() == [False, True, True, False, False]
    assert pa.concat_arrays(list(read([found]))).slice(0, 3).equals(lists.slice(1))
