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


@pytest.mark.parametrize("name", ["ndjsonld", "NDJSON-LD", "application/x-ld+ndjson"])
def test_formats_by_name(name: str) -> None:
    formats = ("--from", "turtle", "--to", name)
    done = jelly("convert", "--messages", "-", *formats, stdin=LOG.encode())
    assert (done.code, done.out.count(b"\n")) == (0, 4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("convert --messages - --to nq", "--from"),
        ("convert --messages x.ttl", "--to"),
        ("convert --messages x.ttl x.ttl --to nq", "one message log"),
        ("convert x.ttl --from ndjsonld --to jelly", "--messages"),
        ("convert --messages x.ttl --to csv", "csv"),
        ("convert --messages x.ttl --to jsonld", "message logs"),
        ("convert --messages x.ttl --to jelly --logical-type flat-quads", "--logical-type"),
        ("convert --messages x.ttl --to nq --flat", "--flat"),
        ("convert --messages x.ttl --to nq --no-namespaces", "--no-namespaces"),
        ("convert --messages x.ttl --to nq --frame-rows 9", "--frame-rows"),
        ("inspect --messages x.ttl --frames", "--frames"),
        ("inspect --messages -", "--from"),
        ("inspect --messages x.ttl --context x", "URL=FILE"),
        ("inspect --messages x.ttl --context x=x.ttl", "x=x.ttl: "),
    ],
)
def test_wrong_usage(
    arguments: str, words: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    assert_failed(jelly(*arguments.split()), 2, words)


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


def test_errors_have_the_line(log: Path) -> None:
    log.write_text(LOG.replace("ex:b ex:p", "ex:b ex:p ex:o, MESSAGE"))
    out = log.with_name("x.nq")
    done = jelly("convert", "--messages", log, "-o", out)
    assert_failed(done, 1, "x.ttl: line 7", "delimiter")
    assert not out.exists()
    assert_failed(jelly("inspect", "--messages", log), 1, "x.ttl: line 7")
