"""``jelly convert``: every format both ways, options, files that are not clobbered, wrong usage.
What a conversion does to statements is tested in ``tests/formats``."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import rdflib
from click import UsageError

from jelly_plugins import (
    BlankNode,
    Frame,
    Iri,
    Literal,
    LogicalType,
    PhysicalType,
    StreamOptions,
    Triple,
    read,
    read_frames,
    write,
    write_frames,
)
from jelly_plugins.cli import console
from jelly_plugins.io.streams import find_restarts, write_bytes
from jelly_plugins.messages import LogFormat, read_messages
from jelly_plugins.tools.compare import compare_datasets

from ..ntriples import write_lines
from ..shared_data import shared
from .command import EX, QUADS, TRIPLES, assert_failed, jelly, quads_file, triples_file

# rdflib's own parsers and serializers use what rdflib has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")

#: File endings, and rdflib's names of the formats.
GRAPHS = {"nt": "nt", "ttl": "turtle", "rdf": "xml", "xml": "xml"}
DATASETS = {"nq": "nquads", "trig": "trig", "jsonld": "json-ld"}
FORMATS = {**GRAPHS, **DATASETS}

QUOTED = Triple(Iri("urn:a"), Iri("urn:b"), Triple(Iri("urn:s"), Iri("urn:p"), Literal("o")))


@pytest.mark.parametrize("ending", FORMATS)
def test_rdflib_reads_what_is_written_and_the_other_way_round(ending: str, tmp_path: Path) -> None:
    statements: Any = QUADS if ending in DATASETS else TRIPLES
    source = (quads_file if ending in DATASETS else triples_file)(tmp_path)
    text, packed, back = (tmp_path / name for name in (f"x.{ending}", f"y.{ending}.gz", "z.jelly"))
    done = jelly("convert", source, "-o", text)
    assert (done.code, done.out, done.err) == (0, b"", "")
    dataset = rdflib.Dataset()
    dataset.parse(text, format=FORMATS[ending])
    assert compare_datasets(
        statements, read(dataset.serialize(format="jelly-plugins", encoding="utf-8"))
    )

    dataset = rdflib.Dataset()
    dataset.parse(data=b"".join(write_lines(statements)).decode(), format="nquads")
    (dataset if ending in DATASETS else dataset.default_graph).serialize(
        text, format=FORMATS[ending], encoding="utf-8"
    )
    jelly("convert", text, "-o", packed)
    jelly("convert", packed, "-o", back)
    assert compare_datasets(statements, read(back))


def test_an_error_leaves_the_output_as_it_was(tmp_path: Path) -> None:
    source, target, bad = triples_file(tmp_path), tmp_path / "x.nt", tmp_path / "bad.nt"
    target.write_text("kept")
    bad.write_text("<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> .\n")
    for out in (target, tmp_path / "new.jelly"):
        assert_failed(jelly("convert", bad, "-o", out, "-f"), 1, str(bad), "line 2")
    assert target.read_text() == "kept"
    assert sorted(tmp_path.iterdir()) == [bad, source, target]
    # A file may replace itself.
    assert jelly("convert", source, "-o", source, "--force", "--preset", "small").code == 0
    assert list(read(source)) == TRIPLES


def test_jelly_does_not_go_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="-o"):
        console.Output().open(binary=True)


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sources of :data:`OPTIONS`, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "x.nt": b"".join(write_lines(TRIPLES)).decode(),
        "ex.ttl": "@prefix ex: <http://example.org/> . ex:s ex:p ex:o .\n",
        "relative.ttl": "<s> <p> <> .",
        "generalized.nt": '"s" _:p <urn:o> .\n',
        "star.nt": '<urn:a> <urn:b> << <urn:s> <urn:p> "o" >> .\n',
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    flat, grouped = StreamOptions(), StreamOptions(logical_type=LogicalType.GRAPHS)
    write_frames([TRIPLES[:3], TRIPLES[3:]], "flat.jelly", options=flat)
    write_frames([TRIPLES[:3], TRIPLES[3:]], "grouped.jelly", options=grouped)
    write_frames([[each] for each in TRIPLES[:4]], "four.jelly", options=grouped)
    small = write_bytes(TRIPLES, options=StreamOptions.small())
    Path("cat.jelly").write_bytes(write_bytes(TRIPLES) + small)


#: Command lines, and what is seen of the Jelly written, or words of the error.
OPTIONS: list[tuple[str, dict[str, Any] | str]] = [
    ("x.nt --preset small", {"max_name_table_size": 128, "max_prefix_table_size": 16}),
    ("x.nt --frame-rows 8", {"sizes": [3, 4]}),
    ("x.nt --stream-name 'a name'", {"stream_name": "a name"}),
    ("x.nt --no-delimited", {"delimited": False, "sizes": [7]}),
    ("x.nt --physical-type graphs", {"physical_type": PhysicalType.GRAPHS}),
    ("x.nt --frame-rows 8 --restart-every 1K", {"restarts": 0}),
    ("x.nt --frame-rows 8 --restart-every 1", {"restarts": 2}),
    ("ex.ttl", {"namespaces": [("ex", Iri(EX))]}),
    ("ex.ttl --no-namespaces", {"namespaces": []}),
    ("relative.ttl", "(--base)"),
    (f"relative.ttl --base {EX}x", {"first": Triple(Iri(EX + "s"), Iri(EX + "p"), Iri(EX + "x"))}),
    ("generalized.nt", "LITERAL as subject"),
    ("generalized.nt --generalized", {"generalized_statements": True, "sizes": [1]}),
    ("star.nt --rdf-star", {"rdf_star": True, "first": QUOTED}),
    ("cat.jelly", "options differ"),
    ("cat.jelly --concatenated", {"sizes": [7, 7]}),
    # Frames
    ("grouped.jelly --frame-rows 99", "cannot be regrouped"),
    ("grouped.jelly --frame-rows 99 --flat", {"sizes": [7]}),
    ("four.jelly --take-frames 1", {"first": TRIPLES[1], "sizes": [1]}),
    ("four.jelly --take-frames 1..3", {"first": TRIPLES[1], "sizes": [1, 1]}),
    ("four.jelly --take-frames 1..=3", {"first": TRIPLES[1], "sizes": [1, 1, 1]}),
    ("four.jelly --take-frames 2..", {"first": TRIPLES[2], "sizes": [1, 1]}),
    ("four.jelly --take-frames ..2", {"first": TRIPLES[0], "sizes": [1, 1]}),
    # The logical type; text has no frames.
    *(
        (f"{source} --physical-type {physical} --logical-type {logical}", seen)
        for source, physical, logical, seen in (
            ("flat.jelly", "triples", "datasets", "DATASETS does not match physical type TRIPLES"),
            ("x.nt", "triples", "datasets", "DATASETS does not match physical type TRIPLES"),
            ("flat.jelly", "quads", "datasets", {"logical_type": 4, "sizes": [3, 4]}),
            ("x.nt", "quads", "datasets", {"logical_type": 4, "sizes": [7]}),
            ("x.nt", "quads", "datasets --frame-rows 2", "frame"),
            ("flat.jelly", "graphs", "timestamped-named-graphs", {"logical_type": 114}),
            ("x.nt", "graphs", "timestamped-named-graphs", "no frames for logical type"),
        )
    ),
]


@pytest.mark.parametrize(("line", "expected"), OPTIONS)
@pytest.mark.usefixtures("sources")
def test_options_of_the_jelly_written(line: str, expected: dict[str, Any] | str) -> None:
    done = jelly("convert", *shlex.split(line), "--to", "jelly", "-o", "out")
    if isinstance(expected, str):
        assert_failed(done, 1, expected)
        assert not os.path.exists("out")
        return
    assert (done.code, done.err) == (0, "")
    with read_frames("out") as reader:
        frames = list(reader)
        seen: dict[str, Any] = {**asdict(reader.options), "delimited": reader.delimited}
    seen["sizes"] = [len(frame.statements) for frame in frames]
    seen["namespaces"] = [each for frame in frames for each in frame.namespaces]
    seen["first"] = frames[0].statements[0]
    with open("out", "rb") as file:
        seen["restarts"] = len(list(find_restarts(file))) - 1
    if seen["restarts"] >= 0:
        assert f"restarts             {seen['restarts']}\n" in jelly("inspect", "out").text
    assert {name: seen[name] for name in expected} == expected


def test_prefixes_are_used_in_text(tmp_path: Path) -> None:
    text, data = tmp_path / "x.ttl", tmp_path / "x.jelly"
    text.write_text("@prefix ex: <http://example.org/> . ex:s ex:p ex:o .\n")
    jelly("convert", text, "-o", data)
    back = jelly("convert", data, "--to", "ttl").text
    assert "@prefix ex: <http://example.org/> ." in back
    assert "ex:s ex:p ex:o ." in back
    assert "@prefix" not in jelly("convert", data, "--to", "ttl", "--no-namespaces").text


def test_quoted_triples(tmp_path: Path) -> None:
    text, target = tmp_path / "x.nt", tmp_path / "x.jelly"
    lines = "".join(f"<urn:s> <urn:p> <urn:o{n}> .\n" for n in range(5000))
    text.write_text(f'{lines}<urn:a> <urn:b> <<( <urn:s> <urn:p> "o" )>> .\n')
    assert jelly("convert", text, "-o", target).code == 0
    with read_frames(target) as frames:
        assert frames.options.rdf_star
    # From stdin nothing can be read again.
    stdin = text.read_bytes()
    assert "--rdf-star" in jelly("convert", "-", "--from", "nt", stdin=stdin).err
    again = jelly("convert", "-", "--from", "nt", "--rdf-star", stdin=stdin)
    assert again.out == target.read_bytes()
    write([QUOTED], target, options=StreamOptions(rdf_star=True))
    for notation, opening in (("rdf-star", b"<< <urn:s>"), ("rdf-1-2", b"<<( <urn:s>")):
        written = jelly("convert", target, "--to", "nt", "--notation", notation).out
        assert opening in written
        back = jelly("convert", "-", "--from", "nt", "--rdf-star", stdin=written).out
        assert list(read(back)) == [QUOTED]


def test_what_text_has_no_place_for_is_noted(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    empty = Frame(0, metadata={"k": b"v"})
    empty.empty_graphs = [Iri("urn:g")]
    write_frames([empty], path, options=StreamOptions(physical_type=PhysicalType.GRAPHS))
    done = jelly("convert", path)
    assert (done.code, done.out) == (0, b"")
    assert done.err.splitlines() == [
        "jelly: nq cannot express frame metadata entries: 1 omitted",
        "jelly: nq cannot express empty graphs: 1 omitted",
    ]


def test_files_merge_with_their_blank_nodes_apart(tmp_path: Path) -> None:
    a, b = triples_file(tmp_path, "a.jelly"), triples_file(tmp_path, "b.jelly")
    text = tmp_path / "c.ttl"
    jelly("convert", a, "-o", text)
    statements = list(read(jelly("convert", a, b, text, "--to", "jelly").out))
    assert len(statements) == 3 * len(TRIPLES)
    nodes = {term for each in statements for term in each if isinstance(term, BlankNode)}
    assert len(nodes) == 6
    kept = list(read(jelly("convert", a, b, "--blank-nodes", "keep").out))
    assert kept == TRIPLES + TRIPLES


def test_a_real_file_there_and_back(tmp_path: Path) -> None:
    source = shared("data/so.nt.gz")
    first, text, second = tmp_path / "1.jelly", tmp_path / "x.ttl.gz", tmp_path / "2.jelly"
    for src, dst in ((source, first), (first, text), (text, second)):
        assert jelly("convert", src, "-o", dst).code == 0
    assert jelly("validate", second, "--against", source, "--ordered").code == 0


# ``jelly convert --messages`` and ``jelly inspect`` of message logs

LOG = """\
VERSION "1.2-messages"
PREFIX ex: <http://example.org/>
MESSAGE
ex:a ex:p "MESSAGE", 1 .
MESSAGE
MESSAGE
ex:b ex:p _:b .
MESSAGE
"""
SIZES = [0, 2, 0, 1]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "x.ttl"
    path.write_text(LOG)
    return path


@pytest.mark.parametrize("ending", list(map(str, LogFormat)))
def test_a_log_keeps_its_boundaries(ending: str, log: Path) -> None:
    other, back = log.with_name(f"y.{ending}"), log.with_name("z.ttl")
    done = jelly("convert", "--messages", log, "-o", other)
    assert (done.code, done.err) == (0, "")
    assert list(map(len, read_messages(other))) == SIZES
    assert jelly("convert", "--messages", other, "-o", back).code == 0
    assert list(map(len, read_messages(back))) == SIZES
    done = jelly("inspect", "--messages", other)
    assert "messages           4\nempty              2\n" in done.text
    report = json.loads(jelly("inspect", "--messages", other, "--json").text)
    counts = {"messages": 4, "empty": 2, "quads": 3, "largest": 2}
    assert report == {**counts, "source": str(other), "format": ending, "quads_per_message": 0.75}


def test_options_of_the_log(log: Path) -> None:
    done = jelly("convert", "--messages", log, "--to", "nq", "--to-dialect", "2025-comment")
    assert done.out.count(b"# @message\n") == 4
    out, named = log.with_name("x.jelly"), ("--stream-name", "s")
    done = jelly("convert", "--messages", log, "-o", out, "--preset", "small", *named)
    assert done.code == 0
    with read_frames(out) as frames:
        assert frames.options.max_name_table_size == 128
        assert frames.options.stream_name == "s"
        assert [len(frame.statements) for frame in frames] == SIZES
    logical = ("--logical-type", "subject-graphs")
    assert jelly("convert", "--messages", log, "-o", out, "-f", *logical).code == 0
    with read_frames(out) as frames:
        assert frames.options.logical_type is LogicalType.SUBJECT_GRAPHS


def test_contexts_are_given(log: Path) -> None:
    context, source = log.with_name("context.json"), log.with_name("x.ndjsonld")
    context.write_text('{"@context": {"@vocab": "urn:"}}')
    source.write_text('{"@context": "https://e/c=1"}\n{"@id": "urn:a", "p": 1}\n')
    given = ("--context", f"https://e/c=1={context}")
    done = jelly("convert", "--messages", source, "--to", "nq", *given)
    assert done.text.splitlines()[1].startswith("<urn:a> <urn:p> ")
    done = jelly("convert", "--messages", source, "-o", log.with_name("x.nq"))
    assert_failed(done, 1, "line 1", "never fetched", "--context")
    done = jelly("inspect", "--messages", source, *given, "--json")
    assert json.loads(done.text)["messages"] == 1
    assert_failed(jelly("inspect", "--messages", source, "--context", "x=/none"), 1, "/none")
