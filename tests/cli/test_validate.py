"""``jelly validate``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jelly_plugins import (
    BlankNode,
    Iri,
    LogicalType,
    PhysicalType,
    StreamOptions,
    Triple,
    write_frames,
)
from jelly_plugins.codec import Encoder, delimit

from ..ntriples import write_lines
from .command import EX, QUADS, TRIPLES, assert_failed, jelly, quads_file, triples_file


def lines_file(statements: list, path: Path) -> Path:  # type: ignore[type-arg]
    path.write_bytes(b"".join(write_lines(statements)))
    return path


def test_a_valid_stream(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    done = jelly("validate", path)
    assert (done.code, done.err) == (0, "")
    assert re.search(r"^statements +7$", done.text, re.MULTILINE)
    report = json.loads(jelly("validate", path, "--json").text)
    assert report["valid"] is True
    assert report["comparison"] is None


def test_an_invalid_stream(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    data = bytearray(path.read_bytes())
    data[-3:] = b"\xff\xff\xff"
    path.write_bytes(data)
    assert_failed(jelly("validate", path), 1, str(path), "frame 0, row")
    done = jelly("validate", path, "--json")
    assert done.code == 1
    report = json.loads(done.text)
    assert report["valid"] is False
    assert report["error"]["frame"] == 0
    assert report["error"]["row"] > 0
    assert report["error"]["source"] == str(path)


def test_invalid_text_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.nt"
    path.write_text("<urn:s> <urn:p> <urn:o> .\n<urn:s> <urn:p> .\n")
    error = json.loads(jelly("validate", path, "--json").text)["error"]
    assert (error["line"], error["frame"], error["row"]) == (2, None, None)
    assert error["column"] > 1


def open_graph() -> bytes:
    """A stream of physical type GRAPHS whose last graph does not end."""
    encoder = Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS))
    encoder.add(QUADS[:2])
    return delimit(encoder.flush())


def test_a_graph_that_is_not_ended(tmp_path: Path) -> None:
    assert_failed(jelly("validate", "-", stdin=open_graph()), 1, "ends inside a graph", "frame 0")
    two = open_graph() + quads_file(tmp_path).read_bytes()
    done = jelly("validate", "-", "--concatenated", stdin=two)
    assert_failed(done, 1, "ends inside a graph", "frame 0")
    two = quads_file(tmp_path).read_bytes() + open_graph()
    assert_failed(jelly("validate", "-", "--concatenated", stdin=two), 1, "frame 1")


def test_joined_streams_are_shown(tmp_path: Path) -> None:
    joined = quads_file(tmp_path).read_bytes() * 2
    assert json.loads(jelly("validate", "-", "--json", stdin=joined).text)["with_options"] == 2


def test_blank_nodes_are_mapped_and_order_counts_on_request(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    renamed = [
        Triple(*(BlankNode(f"x{t.label}") if isinstance(t, BlankNode) else t for t in triple))
        for triple in TRIPLES
    ]
    same = lines_file(renamed, tmp_path / "same.nt")
    reversed_ = lines_file([*renamed[::-1], renamed[0]], tmp_path / "reversed.nt")
    assert jelly("validate", path, "--against", same, "--ordered").code == 0
    assert jelly("validate", path, "--against", reversed_).code == 0
    done = jelly("validate", path, "--against", reversed_, "--ordered")
    assert done.code == 1
    assert "  reason  statement 0" in done.text


def test_a_difference_is_shown(tmp_path: Path) -> None:
    path = triples_file(tmp_path)
    other = lines_file([*TRIPLES[1:], Triple(Iri("urn:x"), *TRIPLES[0][1:])], tmp_path / "o.nt")
    done = jelly("validate", path, "--against", other)
    assert (done.code, done.err) == (1, "")
    assert done.text.partition("comparison\n")[2].splitlines() == [
        "  reason  statements: 1 missing, 1 unexpected",
        "  missing",
        f"    <urn:x> <{EX}p> <{EX}o> .",
        "  unexpected",
        f"    <{EX}s> <{EX}p> <{EX}o> .",
    ]
    report = json.loads(jelly("validate", path, "--against", other, "--json").text)
    assert report["valid"] is True
    assert report["comparison"]["equal"] is False
    assert report["comparison"]["missing"] == [f"<urn:x> <{EX}p> <{EX}o> ."]


def test_an_error_after_a_difference_is_an_error(tmp_path: Path) -> None:
    path, other = tmp_path / "x.jelly", tmp_path / "o.nt"
    write_frames([TRIPLES, TRIPLES], path, options=StreamOptions())
    path.write_bytes(path.read_bytes()[:-1])
    lines_file(TRIPLES[:1], other)
    assert_failed(jelly("validate", path, "--against", other, "--ordered"), 1, "frame 1")


def frames_folder(folder: Path) -> Path:
    """A file with three frames, and a folder with a file for each."""
    options = StreamOptions(logical_type=LogicalType.GRAPHS)
    write_frames([TRIPLES[:3], [], TRIPLES[3:]], folder / "in.jelly", options=options)
    for index, statements in enumerate((TRIPLES[:3], [], TRIPLES[3:])):
        lines_file(statements, folder / f"out_{index:03}.nt")
    return folder / "in.jelly"


def test_frames_are_listed_and_compared_with_a_file_each(tmp_path: Path) -> None:
    path = frames_folder(tmp_path)
    outs = sorted(tmp_path.glob("out_*"))
    for against, same in (
        ([], ""),
        (["--against", tmp_path], ", comparison the same"),
        ([word for out in outs for word in ("--against", out)], ", comparison the same"),
    ):
        done = jelly("validate", path, "--frames", *against)
        assert done.code == 0
        assert done.text.splitlines()[:3] == [
            f"frame {index}: statements {count}{same}" for index, count in enumerate((3, 0, 4))
        ]
        assert done.text.endswith("comparison\n  equal  yes\n") == bool(same)
    first = json.loads(jelly("validate", path, "--frames", "--json").text.splitlines()[0])
    assert first == {"frame": 0, "statements": 3, "comparison": None}


def test_frames_that_differ_are_named(tmp_path: Path) -> None:
    path = frames_folder(tmp_path)
    swapped = [word for n in (2, 0, 1) for word in ("--against", tmp_path / f"out_{n:03}.nt")]
    done = jelly("validate", path, "--frames", *swapped)
    assert done.code == 1
    assert "frame 0: statements 3, comparison statements: 4 missing" in done.text
    assert "\n  reason  frame 0: " in done.text
    *_, report = jelly("validate", path, "--frames", *swapped, "--json").text.splitlines()
    assert json.loads(report)["different_frames"] == 3


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (4, "frame 3: comparison the stream has no such frame"),
        (2, "frame 2: statements 4, comparison no file for this frame"),
        (0, "no RDF files"),
    ],
)
def test_more_or_fewer_files_than_frames(number: int, words: str, tmp_path: Path) -> None:
    path = frames_folder(tmp_path)
    (tmp_path / "out_003.nt").touch()
    for index in range(number, 4):
        (tmp_path / f"out_{index:03}.nt").unlink()
    done = jelly("validate", path, "--frames", "--against", tmp_path)
    assert done.code == (1 if number else 2)
    assert words in done.text + done.err


def test_a_file_of_no_bytes_is_named_and_rejected_where_it_is_strict(tmp_path: Path) -> None:
    path = tmp_path / "empty.jelly"
    path.write_bytes(b"")
    done = jelly("validate", path)
    assert done.code == 1
    assert "deviations\n  the stream has no options: it is empty" in done.text
    assert_failed(jelly("validate", path, "--strict"), 1, "it is empty")
    assert jelly("convert", path, "-o", tmp_path / "empty.nt").code == 0
    assert (tmp_path / "empty.nt").read_bytes() == b""
    assert_failed(jelly("convert", path, "--strict", "--to", "nt"), 1, "it is empty")
