"""``jelly convert --messages`` and ``jelly inspect`` of message logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jelly_plugins import LogicalType, read_frames
from jelly_plugins.messages import LogFormat, read_messages

from .command import assert_failed, jelly

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


@pytest.mark.parametrize("ending", ["jelly", "nt", "nq", "trig", "ndjsonld", "yamlld", "rdf"])
def test_a_log_keeps_its_boundaries(ending: str, log: Path) -> None:
    other = log.with_name(f"y.{ending}")
    back = log.with_name("z.ttl")
    done = jelly("convert", "--messages", log, "-o", other)
    assert (done.code, done.err) == (0, "")
    assert list(map(len, read_messages(other))) == SIZES
    assert jelly("convert", "--messages", other, "-o", back).code == 0
    assert list(map(len, read_messages(back))) == SIZES


def test_formats_that_no_ending_tells(log: Path) -> None:
    for name in ("ndjsonld", "NDJSON-LD", "application/x-ld+ndjson"):
        done = jelly(
            "convert", "--messages", "-", "--from", "turtle", "--to", name, stdin=LOG.encode()
        )
        assert done.code == 0
        assert done.out.count(b"\n") == 4
    assert_failed(jelly("convert", "--messages", "-", "--to", "nq"), 2, "--from")
    assert_failed(jelly("convert", "--messages", log), 2, "--to")
    assert_failed(jelly("convert", "--messages", log, log, "--to", "nq"), 2, "one message log")
    assert_failed(jelly("convert", log, "--from", "ndjsonld", "--to", "jelly"), 2, "--messages")
    assert_failed(jelly("convert", "--messages", log, "--to", "csv"), 2, "csv")
    assert_failed(jelly("convert", "--messages", log, "--to", "jsonld"), 2, "message logs")


def test_dialects(log: Path) -> None:
    done = jelly("convert", "--messages", log, "--to", "nq", "--to-dialect", "2025-comment")
    assert done.out.count(b"# @message\n") == 4
    assert_failed(jelly("convert", log, "--to-dialect", "2025-comment"), 2, "--messages")


def test_options_of_the_stream(log: Path) -> None:
    out = log.with_name("x.jelly")
    done = jelly("convert", "--messages", log, "-o", out, "--preset", "small", "--stream-name", "s")
    assert done.code == 0
    with read_frames(out) as frames:
        assert frames.options.max_name_table_size == 128
        assert frames.options.stream_name == "s"
        assert frames.options.grouped
        assert [len(frame.statements) for frame in frames] == SIZES
    logical = ("--logical-type", "subject-graphs")
    assert jelly("convert", "--messages", log, "-o", out, "-f", *logical).code == 0
    with read_frames(out) as frames:
        assert frames.options.logical_type is LogicalType.SUBJECT_GRAPHS
        assert [len(frame.statements) for frame in frames] == SIZES
    done = jelly("convert", "--messages", log, "--to", "jelly", "--logical-type", "flat-quads")
    assert_failed(done, 2, "--logical-type")
    for rejected in ("--flat", "--no-namespaces", "--lossy", "--concatenated"):
        assert_failed(jelly("convert", "--messages", log, "--to", "nq", rejected), 2, rejected)
    done = jelly("convert", "--messages", log, "--to", "nq", "--frame-rows", "9")
    assert_failed(done, 2, "--frame-rows")


def test_contexts_are_given(log: Path) -> None:
    (log.parent / "context.json").write_text('{"@context": {"@vocab": "urn:"}}')
    source = log.with_name("x.ndjsonld")
    source.write_text('{"@context": "https://e/c=1"}\n{"@id": "urn:a", "p": 1}\n')
    given = f"https://e/c=1={log.parent / 'context.json'}"
    done = jelly("convert", "--messages", source, "--to", "nq", "--context", given)
    assert done.text.splitlines()[1].startswith("<urn:a> <urn:p> ")
    done = jelly("convert", "--messages", source, "-o", log.with_name("x.nq"))
    assert_failed(done, 1, "line 1", "never fetched", "--context")
    assert (
        json.loads(jelly("inspect", "--messages", source, "--context", given, "--json").text)[
            "messages"
        ]
        == 1
    )
    assert_failed(jelly("inspect", "--messages", source, "--context", "x"), 2, "URL=FILE")
    assert_failed(
        jelly("inspect", "--messages", source, "--context", f"x={source}"), 2, "x.ndjsonld"
    )
    assert_failed(jelly("inspect", "--messages", source, "--context", "x=/none"), 1, "/none")


def test_errors_have_the_line(log: Path) -> None:
    log.write_text(LOG.replace("ex:b ex:p", "ex:b ex:p ex:o, MESSAGE"))
    done = jelly("convert", "--messages", log, "-o", log.with_name("x.nq"))
    assert_failed(done, 1, "x.ttl: line 7", "delimiter")
    assert_failed(jelly("inspect", "--messages", log), 1, "x.ttl: line 7")
    out = log.with_name("y.nq")
    assert jelly("convert", "--messages", log, "-o", out).code == 1
    assert not out.exists()


@pytest.mark.parametrize("ending", [str(each) for each in LogFormat])
def test_inspect_counts_messages(ending: str, log: Path) -> None:
    other = log.with_name(f"y.{ending}")
    assert jelly("convert", "--messages", log, "-o", other).code == 0
    done = jelly("inspect", "--messages", other)
    assert "messages           4\nempty              2\n" in done.text
    report = json.loads(jelly("inspect", "--messages", other, "--json").text)
    assert {key: report[key] for key in ("format", "messages", "empty", "quads", "largest")} == {
        "format": ending,
        "messages": 4,
        "empty": 2,
        "quads": 3,
        "largest": 2,
    }
    assert_failed(jelly("inspect", "--messages", other, "--frames"), 2, "--frames")


def test_inspect_needs_a_syntax() -> None:
    assert_failed(jelly("inspect", "--messages", "-"), 2, "--from")
    assert jelly("inspect", "--messages", "-", "--from", "ttl", stdin=LOG.encode()).code == 0
