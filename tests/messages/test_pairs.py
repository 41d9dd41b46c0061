"""Logs from each syntax to each other one and back: messages, order, quads, and empty messages; and
the stream options of logs in Jelly."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Frame,
    Iri,
    JellyError,
    Literal,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    read_frames,
    write_frames,
)
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.messages import convert_messages, read_messages
from jelly_plugins.messages.text import log_options

from . import logs
from .logs import EARLY, EX, FORMATS, LOGS, QUADS, TRIPLES, quad_sets, written

#: Messages with graphs.
GRAPHS: list[list[Any]] = [
    [
        Quad(*TRIPLES[0], Iri(EX + "g")),
        Quad(*TRIPLES[8], BlankNode("g")),
        Quad(*TRIPLES[2], DEFAULT_GRAPH),
    ],
    [],
    [Quad(*triple, Iri(EX + "g")) for triple in TRIPLES],
    [Quad(*TRIPLES[0], Iri(EX + "MESSAGE"))],
]


def converted(data: bytes, source: str, target: str, **settings: Any) -> bytes:
    out = io.BytesIO()
    convert_messages(data, out, source_format=source, target_format=target, **settings)
    return out.getvalue()


def expected(log: list[list[Any]]) -> list[set[Any]]:
    return quad_sets(
        [Quad(*each, DEFAULT_GRAPH) if len(each) == 3 else each for each in m] for m in log
    )


@pytest.mark.parametrize("other", FORMATS)
@pytest.mark.parametrize("one", FORMATS)
def test_there_and_back(one: str, other: str) -> None:
    for log in (*LOGS, *([GRAPHS] if {one, other} <= set(QUADS) else [])):
        data = written(log, one)
        there = converted(data, one, other)
        for found, form in ((data, one), (there, other), (converted(there, other, one), one)):
            assert quad_sets(logs.read(found, form)) == expected(log)


@pytest.mark.parametrize("format_", sorted(set(FORMATS) - set(QUADS)))
def test_graphs_are_rejected_in_syntaxes_without_graphs(format_: str) -> None:
    for source in QUADS:
        with pytest.raises(TermError, match="named graph"):
            converted(written(GRAPHS, source), source, format_)
    with pytest.raises(TermError, match=r"message 0: .*named graph"):
        written(GRAPHS, format_)


@pytest.mark.parametrize("dialects", [(None, EARLY), (EARLY, None), (EARLY, EARLY)])
@pytest.mark.parametrize("one", logs.DELIMITED)
@pytest.mark.parametrize("other", FORMATS)
def test_dialects(one: str, other: str, dialects: tuple[str | None, str | None]) -> None:
    data = written(LOGS[4], one, dialect=dialects[0])
    there = converted(data, one, other, source_dialect=dialects[0], target_dialect=dialects[1])
    assert quad_sets(logs.read(there, other, dialect=dialects[1])) == expected(LOGS[4])


@pytest.mark.parametrize("format_", ["nt", "nq", "ttl", "trig", "jelly"])
def test_quoted_triples(format_: str) -> None:
    inner = Triple(Iri(EX + "s"), Iri(EX + "p"), BlankNode("b"))
    outer = Triple(Iri(EX + "s"), Iri(EX + "p"), inner)
    log = [[Triple(Iri(EX + "s"), Iri(EX + "q"), outer)], [outer, inner]]
    options = log_options(graphs=True, rdf_star=True)
    for other in ("nt", "ttl", "trig", "nq", "rdf", "jelly"):
        data = written(log, format_, options=options)
        data = converted(data, format_, other, options=options)
        assert quad_sets(logs.read(data, other)) == expected(log)
    for other in ("ndjsonld", "yamlld"):
        with pytest.raises(TermError, match=r"message 0: .*does not support RDF 1.2"):
            written(log, other)
    star = [[Triple(outer, Iri(EX + "p"), Iri(EX + "o"))]]
    assert quad_sets(logs.read(written(star, "nq", notation=Notation.RDF_STAR), "nq")) == expected(
        star
    )
    with pytest.raises(TermError, match=r"message 0: .*subject"):
        written(star, "ttl")


@pytest.mark.parametrize("physical", list(PhysicalType))
@pytest.mark.parametrize("other", ["nt", "nq", "trig", "jelly"])
def test_jelly_of_any_type(physical: PhysicalType, other: str) -> None:
    log = [list(TRIPLES), [], list(TRIPLES[:3])]
    width = 3 if physical is PhysicalType.TRIPLES else 4
    out = io.BytesIO()
    frames = [[(*triple, DEFAULT_GRAPH)[:width] for triple in message] for message in log]
    write_frames(frames, out, options=StreamOptions(physical_type=physical))
    assert quad_sets(logs.read(out.getvalue(), "jelly")) == expected(log)
    there = converted(out.getvalue(), "jelly", other)
    assert quad_sets(logs.read(there, other)) == expected(log)
    options = StreamOptions(physical_type=physical)
    again = converted(there, other, "jelly", options=options)
    assert quad_sets(logs.read(again, "jelly")) == expected(log)
    with read_frames(again) as stream:
        assert stream.options.physical_type is physical


def test_metadata_of_frames() -> None:
    out = io.BytesIO()
    frame = Frame(0, statements=[TRIPLES[0]])
    frame.metadata = {"k": b"v"}
    write_frames([[TRIPLES[1]], frame, []], out, options=StreamOptions())
    assert [m.metadata for m in read_messages(out.getvalue(), format="jelly")] == [
        None,
        {"k": b"v"},
        None,
    ]
    again = converted(out.getvalue(), "jelly", "jelly")
    assert [frame.metadata for frame in read_frames(again)] == [{}, {"k": b"v"}, {}]
    for target in ("nq", "nt", "ttl"):
        text = io.BytesIO()
        result = convert_messages(out.getvalue(), text, source_format="jelly", target_format=target)
        assert (result.messages, result.left_out) == (3, {"frame metadata entries": 1})


# Quoted triples, which the options of Jelly declare before they occur

PLAIN = Triple(Iri("urn:s"), Iri("urn:p"), Literal("o"))
QUOTED = Triple(Iri("urn:s"), Iri("urn:p"), PLAIN)
DECLARED = log_options(graphs=True, rdf_star=True)


def declares(src: Any) -> bool:
    with read_frames(src) as frames:
        return frames.options.rdf_star


@pytest.mark.parametrize("syntax", ["nt", "nq", "ttl"])
def test_quoted_triples_are_declared_where_they_occur(syntax: str, tmp_path: Path) -> None:
    path, again = tmp_path / "log.jelly", tmp_path / "again.jelly"
    for log in ([[PLAIN]], [[PLAIN], [QUOTED]]):
        convert_messages(written(log, syntax), path, source_format=syntax)
        convert_messages(path, again)
        assert declares(path) is declares(again) is (len(log) > 1)
        assert len(list(read_messages(path))) == len(log)
    # What was written cannot be taken back.
    with pytest.raises(StatementError, match="set rdf_star"):
        converted(written(log, syntax), syntax, "jelly")
    assert declares(converted(written(log, syntax), syntax, "jelly", options=DECLARED))


def test_quoted_triples_that_are_written() -> None:
    assert not declares(written([[PLAIN]], "jelly"))
    with pytest.raises(JellyError, match=r"message 1: .*set rdf_star"):
        written([[PLAIN], [QUOTED]], "jelly")
    log = written([[PLAIN], [QUOTED]], "jelly", options=DECLARED)
    assert quad_sets(logs.read(log, "jelly")) == expected([[PLAIN], [QUOTED]])
