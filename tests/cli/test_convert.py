"""``jelly convert``: every format both ways, files that are not clobbered, what is rejected."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import rdflib
import zstandard
from click import UsageError

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Frame,
    Iri,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
    read,
    read_frames,
    write,
    write_frames,
)
from jelly_plugins.codec.rdf.options import CONSISTENT
from jelly_plugins.formats.settings import OptionChanges
from jelly_plugins.io.streams import find_restarts
from jelly_plugins.tools.compare import compare_datasets, compare_streams

from ..shared_data import shared
from .command import EX, QUADS, TRIPLES, assert_failed, jelly, quads_file, triples_file

# rdflib's own parsers and serializers use what rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")

#: File endings, and rdflib's names of the formats.
GRAPHS = {"nt": "nt", "ttl": "turtle", "rdf": "xml", "xml": "xml"}
DATASETS = {"nq": "nquads", "trig": "trig", "jsonld": "json-ld"}


def rdflib_dataset(path: Path, form: str) -> rdflib.Dataset:
    dataset = rdflib.Dataset()
    dataset.parse(path, format=form)
    return dataset


def generic(dataset: rdflib.Dataset) -> list[Quad]:
    """What rdflib has read, in generic terms."""
    found = []
    for subject, predicate, object_, graph in dataset.quads():
        terms: list[Any] = [_generic(term) for term in (subject, predicate, object_)]
        name = str(graph)
        found.append((*terms, Iri(name)) if name.startswith(EX) else Triple(*terms))
    return [Quad(*each) if len(each) == 4 else each for each in found]  # type: ignore[misc]


def _generic(term: Any) -> Any:
    if isinstance(term, rdflib.URIRef):
        return Iri(str(term))
    if isinstance(term, rdflib.BNode):
        return BlankNode(str(term))
    return Literal(str(term), term.language, None if term.datatype is None else str(term.datatype))


@pytest.mark.parametrize("ending", [*GRAPHS, *DATASETS])
def test_text_of_jelly_is_what_rdflib_reads(ending: str, tmp_path: Path) -> None:
    datasets = ending in DATASETS
    source = (quads_file if datasets else triples_file)(tmp_path)
    text = tmp_path / f"x.{ending}"
    done = jelly("convert", source, "-o", text)
    assert (done.code, done.out, done.err) == (0, b"", "")
    found = generic(rdflib_dataset(text, {**GRAPHS, **DATASETS}[ending]))
    comparison = compare_datasets(QUADS if datasets else TRIPLES, found)
    assert comparison, comparison


@pytest.mark.parametrize("ending", [*GRAPHS, *DATASETS])
def test_jelly_of_text_is_what_rdflib_wrote(ending: str, tmp_path: Path) -> None:
    datasets = ending in DATASETS
    dataset = rdflib.Dataset()
    dataset.parse(data=_nquads(QUADS if datasets else TRIPLES), format="nquads")
    text = tmp_path / f"x.{ending}"
    (dataset if datasets else dataset.default_graph).serialize(
        text, format={**GRAPHS, **DATASETS}[ending], encoding="utf-8"
    )
    assert jelly("convert", text, "-o", tmp_path / "y.jelly").code == 0
    comparison = compare_datasets(QUADS if datasets else TRIPLES, read(tmp_path / "y.jelly"))
    assert comparison, comparison


def _nquads(statements: Iterable[Any]) -> str:
    from ..ntriples import write_lines

    return b"".join(write_lines(statements)).decode()


@pytest.mark.parametrize("ending", [*GRAPHS, *DATASETS])
def test_there_and_back_keeps_order_and_number(ending: str, tmp_path: Path) -> None:
    datasets = ending in DATASETS
    source = (quads_file if datasets else triples_file)(tmp_path)
    text = tmp_path / f"x.{ending}.gz"
    back = tmp_path / "back.jelly"
    jelly("convert", source, "-o", text)
    jelly("convert", text, "-o", back)
    ordered = compare_streams(read(source), read(back))
    # JSON-LD gathers the statements of a subject and predicate.
    comparison = compare_datasets(read(source), read(back)) if ending == "jsonld" else ordered
    assert comparison, comparison


@pytest.mark.parametrize(
    ("ending", "unpack"),
    [
        (".gz", gzip.decompress),
        (".bz2", bz2.decompress),
        (".zst", lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)),
    ],
)
@pytest.mark.parametrize("form", ["jelly", "nt", "ttl"])
def test_endings_compress_and_content_unpacks(
    ending: str, unpack: Any, form: str, tmp_path: Path
) -> None:
    plain, packed = tmp_path / f"x.{form}", tmp_path / f"x.{form}{ending}"
    source = triples_file(tmp_path, "source.jelly")
    jelly("convert", source, "-o", plain)
    jelly("convert", source, "-o", packed)
    assert unpack(packed.read_bytes()) == plain.read_bytes()
    back = jelly("convert", packed, "--to", "jelly").out
    assert list(read(back)) == list(read(source))


def test_labels_and_exact_forms_stay(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    text = (
        b'_:b7 <urn:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        b'_:b7 <urn:p> "x"@EN-us .\n'
    )
    path.write_bytes(text)
    jelly("convert", path, "-o", tmp_path / "x.jelly")
    assert jelly("convert", tmp_path / "x.jelly").out == text


def test_an_existing_file_is_left_alone_without_force(tmp_path: Path) -> None:
    source, target = triples_file(tmp_path), tmp_path / "x.nt"
    target.write_text("kept")
    assert_failed(jelly("convert", source, "-o", target), 2, str(target), "--force")
    assert target.read_text() == "kept"
    assert jelly("convert", source, "-o", target, "--force").code == 0
    assert target.read_text().count("\n") == len(TRIPLES)
    assert_failed(jelly("convert", source, "-o", tmp_path, "--force"), 2, "folder")


def test_a_failed_conversion_leaves_nothing_and_replaces_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "x.nt", tmp_path / "x.jelly"
    source.write_text("<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> .\n")
    assert_failed(jelly("convert", source, "-o", target), 1, str(source), "line 2")
    assert list(tmp_path.iterdir()) == [source]
    target.write_text("kept")
    assert jelly("convert", source, "-o", target, "-f").code == 1
    assert target.read_text() == "kept"


def test_a_file_may_replace_itself(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    assert jelly("convert", path, "-o", path, "--force", "--preset", "small").code == 0
    assert list(read(path)) == TRIPLES


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["x.jelly", "--to", "turtel"], "did you mean turtle?"),
        (["-", "-o", "x.jelly"], "--from"),
        (["x.jelly", "--frame-rows", "0"], "--frame-rows"),
        (["x.nt", "--preset", "large"], "--preset"),
        (["x.jelly", "--flat", "--logical-type", "graphs"], "--flat cannot be combined with"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(arguments: list[str], word: str) -> None:
    assert_failed(jelly("convert", *arguments), 2, word)


def test_sources_of_several_formats(tmp_path: Path) -> None:
    text, mistyped = tmp_path / "x.nt", tmp_path / "y"
    text.write_text("")
    assert_failed(jelly("convert", text, mistyped), 1, f"{mistyped}: No such file")
    mistyped.write_bytes(b"")
    assert_failed(jelly("convert", text, mistyped), 2, "several formats", "give the output with -o")


def test_an_output_without_its_option(tmp_path: Path) -> None:
    text, output = tmp_path / "x.nt", tmp_path / "y.jelly"
    text.write_text("")
    assert_failed(jelly("convert", text, output), 2, "does not exist", f"use -o {output}")
    assert not output.exists()


def test_text_that_is_taken_for_jelly(tmp_path: Path) -> None:
    source = tmp_path / "text"
    source.write_text("<urn:s> <urn:p> <urn:o> .\n")
    assert_failed(jelly("convert", source), 1, "text, not Jelly", "--from names its format")
    assert "--from" not in jelly("convert", source, "--from", "jelly").err


def test_jelly_does_not_go_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    from jelly_plugins.cli import console

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="-o"):
        console.destination("-", force=False, binary=True)


def test_options_of_the_jelly_written(tmp_path: Path) -> None:
    source, target = tmp_path / "x.nt", tmp_path / "x.jelly"
    source.write_text("".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(100)))
    done = jelly(
        *("convert", source, "-o", target, "--preset", "small", "--frame-rows", "20"),
        *("--physical-type", "graphs", "--stream-name", "a name", "--generalized", "--rdf-star"),
    )
    assert done.code == 0
    with read_frames(target) as frames:
        assert frames.options == StreamOptions(
            physical_type=PhysicalType.GRAPHS,
            logical_type=LogicalType.FLAT_QUADS,
            stream_name="a name",
            generalized_statements=True,
            rdf_star=True,
            max_name_table_size=128,
            max_prefix_table_size=16,
            max_datatype_table_size=16,
            version=1,
        )
        found = list(frames)
    assert all(frame.rows < 25 for frame in found)
    assert sum(len(frame.statements) for frame in found) == 100


def test_prefixes_are_carried_both_ways(tmp_path: Path) -> None:
    text = tmp_path / "x.ttl"
    text.write_text(
        "@prefix ex: <http://example.org/> . ex:s ex:p ex:o .\n"
        "@prefix late: <http://example.org/late/> .\n"
    )
    jelly("convert", text, "-o", tmp_path / "without.jelly", "--no-namespaces")
    jelly("convert", text, "-o", tmp_path / "with.jelly")
    [frame] = read_frames(tmp_path / "without.jelly")
    assert frame.namespaces == []
    with read_frames(tmp_path / "with.jelly") as frames:
        assert frames.options.version == 2
        [frame] = frames
    assert frame.namespaces == [("ex", Iri(EX)), ("late", Iri(EX + "late/"))]
    back = jelly("convert", tmp_path / "with.jelly", "--to", "ttl").text
    assert "@prefix ex: <http://example.org/> ." in back
    assert "ex:s ex:p ex:o ." in back
    back = jelly("convert", tmp_path / "with.jelly", "--to", "ttl", "--no-namespaces").text
    assert "@prefix" not in back
    again = jelly("convert", tmp_path / "with.jelly", "--no-namespaces", "--to", "jelly").out
    assert [frame.namespaces for frame in read_frames(again)] == [[]]


def test_prefix_names_that_turtle_cannot_say_are_left_out(tmp_path: Path) -> None:
    frame = Frame(0, statements=TRIPLES[:1], namespaces=[("a b", Iri(EX)), ("ok", Iri(EX))])
    path = tmp_path / "x.jelly"
    write_frames([frame], path, options=StreamOptions(), namespaces=True)
    for form in ("ttl", "rdf"):
        text = jelly("convert", path, "--to", form).out
        graph = rdflib.Graph().parse(data=text, format=GRAPHS[form])
        assert len(graph) == 1
        assert b"ok:" in text


QUOTED = Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))


def test_quoted_triples_are_declared_when_they_appear(tmp_path: Path) -> None:
    text = tmp_path / "x.nt"
    text.write_text(
        "".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(5000))
        + '<urn:a> <urn:b> <<( <urn:s> <urn:p> "o" )>> .\n'
    )
    target = tmp_path / "x.jelly"
    assert jelly("convert", text, "-o", target).code == 0
    with read_frames(target) as frames:
        assert frames.options.rdf_star
        last = [statement for frame in frames for statement in frame.statements][-1]
    assert last == Triple(Iri("urn:a"), Iri("urn:b"), QUOTED)
    # To stdout frames were written already; from stdin nothing can be read again.
    rejected_file = jelly("convert", text)
    assert rejected_file.code == 1
    assert "--rdf-star" in rejected_file.err
    assert "--rdf-star" in jelly("convert", "-", "--from", "nt", stdin=text.read_bytes()).err
    again = jelly("convert", "-", "--from", "nt", "--rdf-star", stdin=text.read_bytes())
    assert again.out == target.read_bytes()


def test_quoted_triples_in_both_notations(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    statement = Triple(Iri("urn:a"), Iri("urn:b"), QUOTED)
    write([statement], path, options=StreamOptions(rdf_star=True))
    star = jelly("convert", path, "--to", "nt", "--notation", "rdf-star").text
    new = jelly("convert", path, "--to", "nt").text
    assert star == '<urn:a> <urn:b> << <urn:s> <urn:p> "o" >> .\n'
    assert new == '<urn:a> <urn:b> <<( <urn:s> <urn:p> "o" )>> .\n'
    for text in (star, new):
        back = jelly("convert", "-", "--from", "nt", "--rdf-star", stdin=text.encode()).out
        assert list(read(back)) == [statement]
    turtle = jelly("convert", path, "--to", "ttl").out
    assert list(read(jelly("convert", "-", "--from", "ttl", stdin=turtle).out)) == [statement]
    assert_failed(jelly("convert", path, "--to", "jsonld", "-o", tmp_path / "y"), 1, "jsonld")


def test_generalized_statements_on_request() -> None:
    text = b'"s" _:p <urn:o> .\n'
    assert_failed(jelly("convert", "-", "--from", "nt", stdin=text), 1, "LITERAL as subject")
    data = jelly("convert", "-", "--from", "nt", "--generalized", stdin=text).out
    assert list(read(data)) == [Triple(Literal("s"), BlankNode("p"), Iri("urn:o"))]
    assert jelly("convert", "-", stdin=data).out == text
    assert_failed(jelly("convert", "-", "--to", "ttl", stdin=data), 1, "frame 0, row 3")


@pytest.mark.parametrize("form", ["nt", "ttl", "rdf"])
def test_named_graphs_need_a_format_that_has_them(form: str, tmp_path: Path) -> None:
    path = quads_file(tmp_path)
    done = jelly("convert", path, "--to", form, "-o", tmp_path / "out")
    assert_failed(done, 1, str(path), "frame 0", "named graph", "trig")
    default = tmp_path / "default.jelly"
    write((Quad(*triple, DEFAULT_GRAPH) for triple in TRIPLES), default)
    assert jelly("convert", default, "--to", form).code == 0


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        (Triple(Iri(EX), Iri(EX + "0"), Iri(EX)), "predicate"),
        (Triple(Iri(EX), Iri(EX), Iri(EX)), "predicate"),
        (Triple(Iri(EX), Iri(EX + "p"), Literal("a\x01")), "U+0001"),
    ],
)
def test_what_xml_cannot_say_is_rejected(statement: Triple, word: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write([statement], path)
    assert_failed(jelly("convert", path, "--to", "rdf", "-o", tmp_path / "y"), 1, "frame 0", word)


def test_predicates_that_rdf_xml_can_say(tmp_path: Path) -> None:
    names = ["p", "p-1", "0p", "a%20b", "é", "a.b", "-a", "x:y", "_", "a/b#c"]
    statements = [Triple(Iri(EX), Iri(EX + name), Iri(EX)) for name in names]
    path = tmp_path / "x.jelly"
    write(statements, path)
    text = jelly("convert", path, "--to", "rdf").out
    graph = rdflib.Graph().parse(data=text, format="xml")
    assert {str(predicate) for predicate in graph.predicates()} == {EX + name for name in names}


def test_what_text_has_no_place_for_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    options = StreamOptions(physical_type=PhysicalType.GRAPHS)
    empty = Frame(0, metadata={"k": b"v"})
    empty.empty_graphs = [Iri("urn:g")]
    write_frames([empty], path, options=options)
    done = jelly("convert", path)
    assert (done.code, done.out) == (0, b"")
    assert done.err.splitlines() == [
        "jelly: nq cannot express frame metadata entries: 1 omitted",
        "jelly: nq cannot express empty graphs: 1 omitted",
    ]


def test_files_merge_with_their_blank_nodes_apart(tmp_path: Path) -> None:
    a, b = triples_file(tmp_path, "a.jelly"), triples_file(tmp_path, "b.jelly")
    merged = jelly("convert", a, b)
    assert merged.code == 0
    statements = list(read(merged.out))
    assert len(statements) == 2 * len(TRIPLES)
    nodes = {term for each in statements for term in each if isinstance(term, BlankNode)}
    assert len(nodes) == 4
    kept = list(read(jelly("convert", a, b, "--blank-nodes", "keep").out))
    assert kept == TRIPLES + TRIPLES


def test_cat_of_two_files_is_read_on_request(tmp_path: Path) -> None:
    a, b = triples_file(tmp_path, "a.jelly"), quads_file(tmp_path, "b.jelly")
    both = a.read_bytes() + b.read_bytes()
    assert_failed(jelly("convert", "-", "-o", tmp_path / "out", stdin=both), 1, "options differ")
    done = jelly("convert", "-", "--concatenated", stdin=both)
    assert done.text.count("\n") == len(TRIPLES) + len(QUADS)


def test_transcoding_regroups_and_changes_types(tmp_path: Path) -> None:
    source, target = tmp_path / "x.jelly", tmp_path / "y.jelly"
    options = StreamOptions(logical_type=LogicalType.GRAPHS)
    write_frames([TRIPLES[:3], TRIPLES[3:]], source, options=options)
    done = jelly("convert", source, "-o", target, "--physical-type", "quads", "--preset", "small")
    assert done.code == 0
    with read_frames(target) as frames:
        assert frames.options.logical_type is LogicalType.DATASETS
        assert frames.options.max_name_table_size == 128
        assert [len(frame.statements) for frame in frames] == [3, 4]
    rejected = jelly("convert", source, "--to", "jelly", "--frame-rows", "99", "-o", tmp_path / "z")
    assert_failed(rejected, 1, "cannot be regrouped")
    flat = jelly("convert", source, "--to", "jelly", "--frame-rows", "99", "--flat").out
    [frame] = read_frames(flat)
    assert frame.statements == TRIPLES


@pytest.mark.parametrize("logical", LogicalType)
@pytest.mark.parametrize("physical", PhysicalType)
def test_the_logical_type(physical: PhysicalType, logical: LogicalType, tmp_path: Path) -> None:
    """Of Jelly written from Jelly and from text; it goes with the physical type."""
    name = logical.name.lower().replace("_", "-")
    asked = ("--to", "jelly", "--physical-type", physical.name.lower(), "--logical-type", name)
    expected = StreamOptions(physical_type=physical, logical_type=logical)
    source, text = tmp_path / "x.jelly", tmp_path / "x.nt"
    write_frames([TRIPLES[:3], TRIPLES[3:]], source, options=StreamOptions())
    jelly("convert", source, "-o", text)
    done, of_text = jelly("convert", source, *asked), jelly("convert", text, *asked)
    of_several = jelly("convert", text, text, *asked)
    if logical and logical % 10 not in CONSISTENT[physical]:
        words = f"{logical.name} does not match physical type {physical.name}"
        for each in (done, *([of_text, of_several] if logical < 10 else [])):
            assert_failed(each, 1, words)
        return
    with read_frames(done.out) as frames:
        assert (frames.options.physical_type, frames.options.logical_type) == (physical, logical)
        assert [len(frame.statements) for frame in frames] == [3, 4]
    if logical > 10:
        for each in (of_text, of_several):
            assert_failed(each, 1, f"no frames for logical type {logical.name}")
        return
    for each, times in ((of_text, 1), (of_several, 2)):
        with read_frames(each.out) as frames:
            assert frames.options.logical_type is logical
            assert [len(frame.statements) for frame in frames] == [len(TRIPLES) * times]
    rejected = jelly("convert", text, *asked, "--frame-rows", "2", "-o", tmp_path / "y")
    assert rejected.code == (1 if expected.grouped else 0)
    assert jelly("convert", text, *asked, "--no-delimited").code == 0


def test_a_logical_type_does_not_go_with_flat(tmp_path: Path) -> None:
    source = triples_file(tmp_path)
    done = jelly("convert", source, "--to", "jelly", "--flat", "--logical-type", "graphs")
    assert_failed(done, 2, "--logical-type")
    with pytest.raises(ValueError, match="logical_type"):
        OptionChanges(flat=True, logical_type=LogicalType.GRAPHS)
    done = jelly("convert", source, "--to", "jelly", "--logical-type", "datasets")
    assert_failed(done, 1, "DATASETS does not match physical type TRIPLES")


def test_relative_iris_need_a_base() -> None:
    text = b"<s> <p> <> ."
    assert_failed(jelly("convert", "-", "--from", "ttl", stdin=text), 1, "line 1", "IRI")
    done = jelly("convert", "-", "--from", "ttl", "--base", EX + "x", stdin=text)
    assert list(read(done.out)) == [Triple(Iri(EX + "s"), Iri(EX + "p"), Iri(EX + "x"))]


def test_base_directions_are_rejected() -> None:
    text = b'<urn:s> <urn:p> "x"@ar--rtl .'
    for form in ("nt", "ttl"):
        assert_failed(jelly("convert", "-", "--from", form, stdin=text), 1, "base direction")


@pytest.mark.parametrize("form", ["nt", "nq", "ttl", "trig", "rdf", "jsonld"])
@pytest.mark.parametrize("text", [b"\xff\xfe", b"{[<", b"\x1f\x8b\x08", b"<a>" * 1000])
def test_malformed_text_is_an_error_of_one_line(form: str, text: bytes) -> None:
    assert_failed(jelly("convert", "-", "--from", form, stdin=text), 1)


@pytest.mark.parametrize(("name", "form"), [("so.nt.gz", "ttl"), ("qudt-vocab.nt.gz", "nt")])
def test_real_files_there_and_back(name: str, form: str, tmp_path: Path) -> None:
    source = shared(f"data/{name}")
    first, text, second = tmp_path / "1.jelly", tmp_path / f"x.{form}.gz", tmp_path / "2.jelly"
    for src, dst in ((source, first), (first, text), (text, second)):
        assert jelly("convert", src, "-o", dst).code == 0
    assert jelly("validate", second, "--against", source, "--ordered").code == 0


def test_restart_points(tmp_path: Path) -> None:
    source = tmp_path / "in.nt"
    source.write_text("".join(f"<urn:s{n}> <urn:p> <urn:o{n}> .\n" for n in range(3000)))
    out = tmp_path / "out.jelly"
    assert jelly("convert", source, "-o", out, "--restart-every", "10K").code == 0
    with open(out, "rb") as file:
        points = list(find_restarts(file))
    assert len(points) > 2
    assert len(list(read(out))) == 3000
    assert re.search(rf"restarts +{len(points) - 1}\n", jelly("inspect", out).text)
    again = tmp_path / "again.jelly"
    assert jelly("convert", out, "-o", again, "--restart-every", "1M").code == 0
    with open(again, "rb") as file:
        assert len(list(find_restarts(file))) == 1
    for size in ("0", "x", "1T", "-1"):
        assert jelly("convert", out, "-o", again, "--restart-every", size).code == 2


@pytest.mark.parametrize(
    ("given", "taken"),
    [("1", [1]), ("1..3", [1, 2]), ("1..=3", [1, 2, 3]), ("2..", [2, 3]), ("..2", [0, 1])],
)
def test_some_frames_are_converted(given: str, taken: list[int], tmp_path: Path) -> None:
    options = StreamOptions(logical_type=LogicalType.GRAPHS)
    write_frames([[each] for each in TRIPLES[:4]], tmp_path / "x.jelly", options=options)
    done = jelly("convert", tmp_path / "x.jelly", "--to", "jelly", "--take-frames", given)
    assert list(read(done.out)) == [TRIPLES[at] for at in taken]


def test_frames_that_cannot_be_taken(tmp_path: Path) -> None:
    for given in ("x", "3..2", "..0", "-1"):
        done = jelly("convert", triples_file(tmp_path), "--to", "nt", f"--take-frames={given}")
        assert_failed(done, 2, "--take-frames", given)
    (tmp_path / "x.nt").write_text("<urn:s> <urn:p> <urn:o> .\n")
    done = jelly("convert", tmp_path / "x.nt", "--to", "jelly", "--take-frames", "0")
    assert_failed(done, 2, "--take-frames applies to Jelly")
