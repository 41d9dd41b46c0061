"""Splits of files as Arrow batches; corrupt files. No session of Spark."""

from __future__ import annotations

import gzip
from math import ceil
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
import pytest
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import StructField, StructType

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple, write
from jelly_plugins.codec import FrameSplitter, PhysicalType, StreamOptions, delimit
from jelly_plugins.errors import (
    JellyError,
    LookupTableError,
    OptionsError,
    SourceError,
    TruncatedError,
)
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.patch import Patch, read_patches, write_patches
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.spark.datasource.columns import arrow_schema
from jelly_plugins.spark.datasource.files import Files
from jelly_plugins.spark.datasource.operations import OperationWriter
from jelly_plugins.spark.datasource.options import WRITING, Settings
from jelly_plugins.spark.datasource.reading import FilePartition, FileSplit
from jelly_plugins.spark.datasource.sources import JellyDataSource, JellyPatchDataSource
from jelly_plugins.spark.datasource.statements import Statements
from jelly_plugins.spark.patch_rows import OperationRows

from ..codec.test_patch_columns import frames as patch_frames
from ..codec.test_patch_columns import rows as every_row
from ..conversions import written as bytes_of
from .shards.model import random_log, text_of

TRIPLES = [
    Triple(Iri(f"http://example.org/{n}"), Iri("http://example.org/p"), Literal(str(n)))
    for n in range(1000)
]


SOURCES = {each.name(): each for each in (JellyDataSource, JellyPatchDataSource)}


def read(
    *splits: FileSplit | Path, kind: str = "jelly", columns: str | None = None, **options: str
) -> list[dict[str, Any]]:
    """The rows that a task reads.

    :param columns: names of the requested columns, in any case, separated by commas.
    """
    given: Any = CaseInsensitiveDict({"path": "x", **options})
    source = SOURCES[kind](given)
    schema = source.schema()
    if columns is not None:
        known = {field.name.lower(): field.dataType for field in schema}
        schema = StructType([StructField(each, known[each.lower()]) for each in columns.split(",")])
    parts = [FileSplit(str(each)) if isinstance(each, Path) else each for each in splits]
    batches: Any = list(source.reader(schema).read(FilePartition(parts)))
    # Spark takes nothing that differs in the least.
    expected = arrow_schema(schema)
    assert all(batch.schema.equals(expected) for batch in batches)
    return pa.Table.from_batches(batches, schema=expected).to_pylist()


def written(kind: str, **options: str) -> Settings:
    return Settings.of(WRITING, kind, options)


def frames(data: bytes) -> list[bytes]:
    splitter = FrameSplitter()
    return [delimit(frame) for frame in (*splitter.feed(data), *splitter.finish())]


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    """Ten frames of 100 triples, in the fourth of which an IRI names a prefix that was not set."""
    data = frames(write_bytes(TRIPLES, frame_rows=200))
    bad = bytes.fromhex("0a0812060a0408631001")
    data[3] = delimit(bad)
    path = tmp_path / "corrupt.jelly"
    path.write_bytes(b"".join(data))
    return path


def test_source_and_frame_on_request(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write(TRIPLES, path, frame_rows=200)
    rows = read(path, sourceColumns="true")
    assert [row["object"] for row in rows] == [f'"{n}"' for n in range(1000)]
    assert {row["source"] for row in rows} == {str(path)}
    numbers = [row["frame"] for row in rows]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(len(frames(path.read_bytes()))))
    assert list(read(path)[0]) == ["subject", "predicate", "object", "graph"]


def test_compressed_bare_and_empty_files(tmp_path: Path) -> None:
    packed, bare, empty = (tmp_path / name for name in ("x.jelly.gz", "x.bare", "x.none"))
    write(TRIPLES, packed)
    [frame] = FrameSplitter().feed(write_bytes(TRIPLES[:5]))
    bare.write_bytes(frame)
    write([], empty)
    assert len(read(packed, bare, empty)) == 1005
    empty.write_bytes(b"")
    assert len(read(bare, empty)) == len(read(bare))


def test_joined_files(tmp_path: Path) -> None:
    path = tmp_path / "joined.jelly"
    parts = [
        [triple._replace(predicate=Iri(f"http://{name}.org/p")) for triple in TRIPLES[:50]]
        for name in "abc"
    ]
    data = [write_bytes(part, frame_rows=20, restart_every=300) for part in parts]
    path.write_bytes(b"".join(data))
    rows = read(path, concatenated="true", sourceColumns="true")
    assert [row["predicate"] for row in rows] == [
        f"<http://{name}.org/p>" for name in "abc" for _ in range(50)
    ]
    assert {row["frame"] for row in rows} == set(range(len(frames(path.read_bytes()))))
    # Several tasks may read it.
    [file] = Files().list([str(path)])
    splits = [split for split, _ in Statements().split(file, Files(), 400)]
    assert len(splits) > 4
    assert read(*splits, concatenated="true", sourceColumns="true") == rows
    path.write_bytes(data[0] + data[1][:-3])
    with pytest.raises(TruncatedError, match=r"joined\.jelly: frame \d+: "):
        read(path, concatenated="true")
    found = read(path, concatenated="true", mode="PERMISSIVE")
    assert 50 < len(found) < 100
    assert found[-2]["predicate"] == "<http://b.org/p>"


def test_permissive_keeps_what_came_before(corrupt: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.jelly"
    write(TRIPLES, good)
    rows = read(corrupt, good, mode="permissive", sourceColumns="true")
    [bad] = [row for row in rows if row["_corrupt_record"]]
    assert len(rows) == rows.index(bad) + 1 + 1000
    assert rows.index(bad) > 200
    assert bad.pop("_corrupt_record").startswith(f"{corrupt}: frame 3, row 0: ")
    assert {name: value for name, value in bad.items() if value is not None} == {
        "source": str(corrupt),
        "frame": 3,
    }


# Names of cases must be the same in all test processes: without a time in compressed data.
@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (b"<urn:s> <urn:p> <urn:o> .\n", SourceError, "this is text, not Jelly"),
        (b"<urn:s> <urn:p> <urn:o> .\n" * 100, SourceError, "this is text, not Jelly"),
        (gzip.compress(b'{"@id": 1}\n', mtime=0), SourceError, "this is text, not Jelly"),
        (bytes_of(write_patches, [Patch([])]), SourceError, "this is Jelly-Patch, not Jelly-RDF"),
        (write_bytes(TRIPLES)[:-5], TruncatedError, "frame 7: the input ends inside a frame"),
        (gzip.compress(write_bytes(TRIPLES), mtime=0)[:-9], TruncatedError, "frame"),
        (gzip.compress(write_bytes(TRIPLES), mtime=0)[:-8] + b"x" * 8, SourceError, "corrupt"),
        (b"\xff" * 100, JellyError, "frame 0"),
    ],
)
def test_files_that_are_not_jelly(
    tmp_path: Path, data: bytes, error: type[JellyError], message: str
) -> None:
    path = tmp_path / "x.jelly"
    path.write_bytes(data)
    with pytest.raises(error, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert read(path, mode="PERMISSIVE")[-1]["_corrupt_record"] == str(caught.value)


def test_a_file_that_is_gone_is_no_bad_record(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="none: "):
        read(tmp_path / "none", mode="PERMISSIVE")


LOG = b"""
H id <urn:1> .
TX .
PA "ex" <http://example.org/> .
A <urn:s> <urn:p> "o" <urn:g> .
D <urn:s> <urn:p> "o" .
TC .
PD "ex" .
Z .
H id <urn:2> .
H prev <urn:1> .
TX .
A _:b <urn:p> <urn:o> .
TA .
Z .
"""


@pytest.mark.parametrize("ending", ["rdfp", "rdfp.gz", "jellyp"])
def test_operations_are_rows(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log.{ending}"
    write_patches(read_patches(LOG), path)
    rows = read(path, kind="jelly-patch")
    columns = ("patch", "id", "prev", "transaction", "order", "kind")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        (0, "<urn:1>", None, 0, 1, "TX"),
        (0, "<urn:1>", None, 0, 2, "PA"),
        (0, "<urn:1>", None, 0, 3, "A"),
        (0, "<urn:1>", None, 0, 4, "D"),
        (0, "<urn:1>", None, 0, 5, "TC"),
        (0, "<urn:1>", None, None, 6, "PD"),
        (1, "<urn:2>", "<urn:1>", 1, 10, "TX"),
        (1, "<urn:2>", "<urn:1>", 1, 11, "A"),
        (1, "<urn:2>", "<urn:1>", 1, 12, "TA"),
    ]
    assert [rows[2][name] for name in ("subject", "object", "graph")] == [
        "<urn:s>",
        '"o"',
        "<urn:g>",
    ]
    assert (rows[1]["name"], rows[1]["value"]) == ("ex", "<http://example.org/>")
    assert (rows[5]["name"], rows[5]["value"]) == ("ex", None)
    assert {row["source"] for row in rows} == {str(path)}
    everything = read(path, kind="jelly-patch", headers="true")
    assert " ".join(row["kind"] for row in everything) == "H TX PA A D TC PD Z H H TX A TA Z"
    assert [row["order"] for row in everything] == list(range(14))
    assert (everything[9]["name"], everything[9]["value"]) == ("prev", "<urn:1>")
    split = read(path, kind="jelly-patch", terms="split")
    assert split[2]["object"]["kind"] == "literal"


@pytest.mark.parametrize("about", [False, True])
@pytest.mark.parametrize("batch_rows", [1, 7])
def test_operations_come_in_batches_of_any_size(batch_rows: int, about: bool) -> None:
    def found(data: bytes, size: int) -> list[dict[str, Any]]:
        with PatchColumnReader(data, batch_rows=size) as batches:
            tables = list(OperationRows(about).batches(batches))
        return [row for table in tables for row in table.to_pylist()]

    everything = b"".join(map(delimit, patch_frames(every_row(star=True))))
    for data in (text_of(random_log(3)), everything):
        assert found(data, batch_rows) == found(data, 10_000) != []


def test_corrupt_patches(tmp_path: Path) -> None:
    path = tmp_path / "log.rdfp"
    path.write_bytes(LOG + b"A <urn:s> .\n")
    with pytest.raises(JellyError, match=r"log\.rdfp: line 16"):
        read(path, kind="jelly-patch")
    rows = read(path, kind="jelly-patch", mode="PERMISSIVE")
    assert len(rows) == 10
    assert "line 16" in rows[-1]["_corrupt_record"]


def test_files_in_splits(tmp_path: Path) -> None:
    """Every split starts at a restart point, and together they are the file."""
    path = tmp_path / "x.jelly"
    every = 2000
    write(TRIPLES * 20, path, frame_rows=100, restart_every=every)
    size = path.stat().st_size
    [file] = Files().list([str(path)])
    whole = read(path, sourceColumns="true")
    for target in (size, size // 2, size // 7 + 1, every, 1):
        splits = [split for split, _ in Statements().split(file, Files(), target)]
        assert sum(length for _, length in Statements().split(file, Files(), target)) == size
        assert read(*splits, sourceColumns="true") == whole
        assert len(splits) == min(ceil(size / target), len(splits))
    assert len(splits) > size / every / 2
    # Corrupt data affects only its split.
    data = bytearray(path.read_bytes())
    second = splits[1].start
    data[second + 60 : second + 80] = b"\xff" * 20
    path.write_bytes(data)
    rows = read(*splits, mode="PERMISSIVE", sourceColumns="true")
    [bad] = [row for row in rows if row["_corrupt_record"]]
    assert len(rows) - 1 >= len(whole) - 2 * len(whole) // len(splits)
    assert bad["frame"] == splits[1].first_frame


def test_a_file_without_restart_points_is_one_split(tmp_path: Path) -> None:
    for name in ("x.jelly", "x.jelly.gz"):
        write(TRIPLES, tmp_path / name)
        [file] = Files().list([str(tmp_path / name)])
        assert len(list(Statements().split(file, Files(), 100))) == 1
    (tmp_path / "bad").write_bytes(b"\xff" * 1000)
    [file] = Files().list([str(tmp_path / "bad")])
    assert len(list(Statements().split(file, Files(), 100))) == 1


def test_blank_nodes_of_each_file_are_its_own(tmp_path: Path) -> None:
    quoted = Triple(BlankNode("a"), Iri("urn:_:a"), Literal('_:a " _:a'))
    rows = [
        Quad(BlankNode("a"), Iri("urn:p"), BlankNode("b"), BlankNode("g")),
        Quad(Iri("urn:_:s"), Iri("urn:p"), Literal("_:a"), DEFAULT_GRAPH),
        Quad(Iri("urn:s"), Iri("urn:p"), quoted, DEFAULT_GRAPH),
    ]
    files = [tmp_path / "1.jelly", tmp_path / "2.jelly"]
    for path in files:
        write(rows, path, options=StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True))
    kept = read(*files)
    assert kept[:3] == kept[3:]
    found = read(*files, blankNodes="file")
    labels = [[row["subject"], row["object"], row["graph"]] for row in (found[0], found[3])]
    assert len({label for row in labels for label in row}) == 6
    assert labels[0][0].startswith("_:f")
    assert labels[0][0].endswith("a")
    assert found[1] == found[4] == kept[1]
    node = labels[0][0]
    assert found[2]["object"] == kept[2]["object"].replace("<<( _:a", f"<<( {node}")
    assert read(files[0], blankNodes="file") == found[:3]


def test_what_has_no_graph_is_a_stream_of_triples() -> None:
    """Up to the first row that has one, whatever the columns are."""
    graphs: list[list[str | None]] = [[None] * 3, [None, None, "<urn:g>", None], [None]]
    batches = []
    for each in graphs:
        terms = [pa.array([f"<urn:{name}>"] * len(each)) for name in "spo"]
        names = ["subject", "predicate", "object", "graph"]
        batches.append(
            pa.RecordBatch.from_arrays([*terms, pa.array(each, pa.string())], names=names)
        )
    found = list(Statements().divide(batches))
    assert [(each.num_rows, each.num_columns) for each in found] == [(3, 3), (2, 3), (2, 4), (1, 4)]
    plain = [each.select([0, 1, 2]) for each in batches]
    assert list(Statements().divide(plain)) == plain


# What is asked for


@pytest.fixture
def various(tmp_path: Path) -> Path:
    quoted = Triple(BlankNode("a"), Iri("urn:p"), Literal("x"))
    rows = [
        Quad(BlankNode("a"), Iri("urn:p"), Literal("1"), Iri("urn:g")),
        Quad(Iri("urn:s"), Iri("urn:p"), Literal("é\n", "en"), DEFAULT_GRAPH),
        Quad(Iri("urn:s"), Iri("urn:q"), quoted, DEFAULT_GRAPH),
        Quad(Iri("urn:_:s"), Iri("urn:q"), BlankNode("a"), BlankNode("a")),
    ]
    options = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)
    write(rows * 2, tmp_path / "various.jelly", options=options, frame_rows=5)
    return tmp_path / "various.jelly"


CONDITIONS = [
    ({"predicate": "<urn:q>"}, [2, 3]),
    ({"graph": ""}, [1, 2]),
    ({"graph": "<urn:g>"}, [0]),
    ({"graph": "_:a"}, [3]),
    # A term may be written in any way that N-Triples has.
    ({"object": r'"\u00E9\u000A"@en'}, [1]),
    ({"object": '"1"^^<http://www.w3.org/2001/XMLSchema#string>'}, [0]),
    ({"object": '<< _:a <urn:p> "x" >>'}, [2]),
    ({"subject": "<urn:s>", "graph": "<urn:g>"}, []),
    ({"subject": "<urn:none>"}, []),
]


@pytest.mark.parametrize("terms", ["ntriples", "split"])
@pytest.mark.parametrize("columns", [None, "subject", "object,GRAPH", "frame", "source,predicate"])
@pytest.mark.parametrize(("conditions", "numbers"), CONDITIONS)
def test_what_is_asked_for_is_what_there_is_of_it(
    various: Path, conditions: dict[str, str], numbers: list[int], columns: str | None, terms: str
) -> None:
    common = {"sourceColumns": "true", "terms": terms}
    names = [] if columns is None else columns.lower().split(",")
    expected = [row for at, row in enumerate(read(various, **common)) if at % 4 in numbers]
    if names:
        expected = [{name: row[name] for name in names} for row in expected]
    found = read(various, columns=columns, **common, **conditions)
    assert [[*row.values()] for row in found] == [[*row.values()] for row in expected]


def test_labels_that_are_asked_for_are_those_of_the_columns(various: Path) -> None:
    rows = read(various, blankNodes="file")
    label = rows[0]["subject"]
    assert read(various, blankNodes="file", subject="_:a") == []
    assert read(various, blankNodes="file", subject="<urn:_:s>") == [rows[3], rows[7]]
    assert read(various, blankNodes="file", subject=label) == [rows[0], rows[4]]
    asked = {"graph": label, "predicate": "<urn:q>"}
    assert (
        read(various, blankNodes="file", columns="subject", **asked)
        == [{"subject": "<urn:_:s>"}] * 2
    )
    quoted = rows[2]["object"]
    found = read(various, blankNodes="file", object=quoted, sourceColumns="true")
    assert [row["object"] for row in found] == [quoted] * 2


def test_errors_come_whatever_is_asked_for(corrupt: Path) -> None:
    none = {"predicate": "<urn:none>"}
    with pytest.raises(LookupTableError, match=r"corrupt\.jelly: frame 3, row 0: "):
        read(corrupt, columns="object", **none)
    [bad] = read(corrupt, mode="PERMISSIVE", columns="object,_CORRUPT_RECORD", **none)
    bad["_corrupt_record"] = bad["_CORRUPT_RECORD"]
    assert bad["_corrupt_record"].startswith(f"{corrupt}: frame 3, row 0: ")
    with pytest.raises(OptionsError, match="needs the column _corrupt_record"):
        read(corrupt, mode="PERMISSIVE", columns="object", **none)


# Patches


def written_patch(path: Path, *batches: list[dict[str, Any]], **options: str) -> OperationWriter:
    settings = written("jelly-patch", **options)
    with path.open("wb") as file:
        writer = OperationWriter(file, "1", pa.schema([]), settings)
        for rows in batches:
            writer.add(pa.RecordBatch.from_pylist(rows))
        writer.finish()
    return writer


def test_additions_and_deletions_become_a_patch(tmp_path: Path) -> None:
    common = {"predicate": "<urn:p>", "graph": None}
    rows = [
        common | {"kind": "A", "subject": "<urn:s>", "object": '"x"@en', "graph": "<urn:g>"},
        common | {"kind": "D", "subject": "_:b", "object": "_:b"},
        common | {"kind": "A", "subject": "_:b", "object": "<< <urn:s> <urn:p> _:b >>"},
    ]
    path = tmp_path / "x.jellyp.gz"
    assert written_patch(path, rows, rows[:1], compression="gzip", quotedTriples="true").rows == 4
    [patch] = read_patches(path)
    assert patch.id == Iri(f"urn:uuid:{uuid5(NAMESPACE_OID, '1')}")
    found = read(path, kind="jelly-patch")
    assert [row["kind"] for row in found] == ["TX", "A", "D", "A", "A", "TC"]
    names = ("kind", "subject", "predicate", "graph")
    expected = [{name: row[name] for name in names} for row in [*rows, rows[0]]]
    assert [{name: row[name] for name in names} for row in found[1:-1]] == expected
    assert found[3]["object"] == "<<( <urn:s> <urn:p> _:b )>>"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "TX"}, "row 3: kind must be one of A, D (got 'TX')"),
        ({"kind": None}, "row 3: kind must be one of A, D (got None)"),
        ({"subject": None}, "row 3: the subject is null"),
        ({"subject": '"x"'}, "row 3, column 1: subject: "),
        ({"object": "<urn:o> .\n<urn:s> <urn:p> <urn:o>"}, "row 3, column 8: object: "),
        ({"object": "<urn:o> <urn:g>"}, "row 3, column 8: object: "),
        ({"graph": "urn:g"}, "row 3, column 1: graph: "),
        ({"graph": ""}, "row 3: graph: an empty string does not name a graph"),
    ],
)
def test_rows_that_are_not_operations_are_rejected(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    row = {"kind": "A", "subject": "<urn:s>", "predicate": "<urn:p>", "object": "<urn:o>"}
    row["graph"] = "<urn:g>"
    with pytest.raises(JellyError) as caught:
        written_patch(tmp_path / "x", [row] * 2, [row, row | change])
    assert str(caught.value).startswith(message)
