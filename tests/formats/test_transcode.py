"""Merging and transcoding, without a store."""

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
    Literal,
    LogicalType,
    OptionsError,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    read,
    read_frames,
)
from jelly_plugins.formats.settings import ConversionSettings, OptionChanges
from jelly_plugins.formats.transcode import merged_options, transcode
from jelly_plugins.io.streams import write_bytes, write_frames

S, P, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:g")
TRIPLES = [Triple(S, P, Literal(str(number))) for number in range(100)]
GRAPHS = StreamOptions(physical_type=PhysicalType.GRAPHS)


def as_in(options: StreamOptions) -> OptionChanges:
    return OptionChanges(
        like=options, physical_type=options.physical_type, logical_type=options.logical_type
    )


def transcoded(source: Any, options: StreamOptions | None = None, **settings: Any) -> bytes:
    out = io.BytesIO()
    given = list(source) if isinstance(source, list) else [source]
    if options is not None:
        settings["changes"] = as_in(options)
    transcode(given, out, ConversionSettings(**settings))
    return out.getvalue()


def frames_of(frames: list[Frame], options: StreamOptions, namespaces: bool = False) -> bytes:
    out = io.BytesIO()
    write_frames(frames, out, options=options, namespaces=namespaces)
    return out.getvalue()


def test_one_stream_keeps_statements_frames_and_options() -> None:
    source = write_bytes(TRIPLES, frame_rows=20)
    result = transcoded(source)
    assert result == source


def test_frames_are_regrouped() -> None:
    source = write_bytes(TRIPLES, frame_rows=20)
    by_rows = list(read_frames(transcoded(source, frame_rows=50)))
    assert [frame.rows for frame in by_rows[:-1]] == [50] * (len(by_rows) - 1)
    by_bytes = list(read_frames(transcoded(source, frame_bytes=100)))
    assert len(by_bytes) > 5
    assert all(frame.size < 150 for frame in by_bytes)
    for frames in (by_rows, by_bytes):
        assert [each for frame in frames for each in frame.statements] == TRIPLES


def test_tables_can_be_smaller_or_larger() -> None:
    statements = [Triple(Iri(f"urn:a/{n % 40}"), P, Iri(f"urn:{n}#x")) for n in range(200)]
    for options in (
        StreamOptions(max_name_table_size=8, max_prefix_table_size=1),
        StreamOptions(max_name_table_size=8, max_prefix_table_size=0, max_datatype_table_size=0),
        StreamOptions.small(),
    ):
        result = transcoded(write_bytes(statements), options=options)
        with read_frames(result) as frames:
            assert frames.options.max_name_table_size == options.max_name_table_size
        assert list(read(result)) == statements


def test_blank_nodes_of_two_sources() -> None:
    source = write_bytes([Triple(BlankNode("b"), P, BlankNode("c"))])
    for found, count in (
        (transcoded([source, source]), 4),
        (transcoded([source, source], blank_nodes="keep"), 2),
        (transcoded(source + source, concatenated=True), 4),
        (transcoded(source + source, concatenated=True, blank_nodes="keep"), 2),
        (transcoded(source), 2),
    ):
        nodes = {term for triple in read(found) for term in triple if isinstance(term, BlankNode)}
        assert len(nodes) == count
        assert (BlankNode("b") in nodes) is (count == 2)


def test_triples_and_quads() -> None:
    quads = [Quad(S, P, S, G)]
    result = list(read(transcoded([write_bytes(TRIPLES[:1]), write_bytes(quads)])))
    assert result == [Quad(*TRIPLES[0], DEFAULT_GRAPH), *quads]
    in_default_graph = write_bytes([Quad(S, P, S, DEFAULT_GRAPH)])
    found = transcoded(in_default_graph, options=StreamOptions())
    assert list(read(found)) == [Triple(S, P, S)]


def test_quads_of_named_graphs_do_not_become_triples(tmp_path: Path) -> None:
    target = tmp_path / "x.jelly"
    settings = ConversionSettings(changes=as_in(StreamOptions()))
    with pytest.raises(TermError, match="named graph") as error:
        transcode([write_bytes([Quad(S, P, S, G)])], target, settings)
    assert error.value.source == "<bytes>"
    assert not list(tmp_path.iterdir())


def test_an_undeclared_feature_is_rejected() -> None:
    options = StreamOptions(rdf_star=True)
    source = write_bytes([Triple(Triple(S, P, S), P, S)], options=options)
    with pytest.raises(StatementError, match="rdf_star"):
        transcoded(source, options=StreamOptions())
    assert list(read(transcoded(source))) == [Triple(Triple(S, P, S), P, S)]


def test_metadata_and_namespaces_are_kept_with_their_frames() -> None:
    frames = [
        Frame(0, statements=TRIPLES[:1], namespaces=[("ex", S)], metadata={"a": b"\x00"}),
        Frame(1, metadata={"b": b""}),
    ]
    source = frames_of(frames, StreamOptions(), namespaces=True)
    first, second = read_frames(transcoded(source))
    assert (first.namespaces, first.metadata) == ([("ex", S)], {"a": b"\x00"})
    assert (second.statements, second.metadata) == ([], {"b": b""})
    (frame,) = read_frames(transcoded(source, frame_rows=10, lossy=True))
    assert (frame.namespaces, frame.statements) == ([("ex", S)], TRIPLES[:1])


def test_metadata_is_not_lost_in_silence() -> None:
    source = frames_of([Frame(0, metadata={"a": b"1"})], StreamOptions())
    with pytest.raises(OptionsError, match="metadata"):
        transcoded(source, frame_rows=10)
    (frame,) = read_frames(transcoded(source, frame_rows=10, lossy=True))
    assert frame.metadata == {}


def test_empty_graphs_are_not_lost_in_silence() -> None:
    source = frames_of([Frame(0, empty_graphs=[G])], GRAPHS)
    (frame,) = read_frames(transcoded(source))
    assert frame.empty_graphs == [G]
    quads = StreamOptions(physical_type=PhysicalType.QUADS)
    with pytest.raises(TermError, match="empty graph"):
        transcoded(source, options=quads)
    assert list(read(transcoded(source, options=quads, lossy=True))) == []


def test_a_graph_that_spans_frames_is_not_empty() -> None:
    statements = [Quad(S, P, Literal(str(number)), G) for number in range(9)]
    source = write_bytes(statements, options=GRAPHS, frame_rows=4)
    quads = StreamOptions(physical_type=PhysicalType.QUADS)
    assert list(read(transcoded(source, options=quads))) == statements
    assert list(read(transcoded(source, frame_rows=3))) == statements


def test_grouped_frames_are_elements_and_not_regrouped() -> None:
    options = StreamOptions(logical_type=LogicalType.GRAPHS)
    source = frames_of([Frame(0, statements=TRIPLES[:2]), Frame(1)], options)
    assert [len(frame.statements) for frame in read_frames(transcoded(source))] == [2, 0]
    with pytest.raises(OptionsError, match="grouped"):
        transcoded(source, frame_rows=10)
    flat = StreamOptions(logical_type=LogicalType.FLAT_TRIPLES)
    (frame,) = read_frames(transcoded(source, frame_rows=10, options=flat))
    assert len(frame.statements) == 2


def test_options_of_unlike_streams_are_merged() -> None:
    merged = merged_options(
        [
            StreamOptions(stream_name="a", rdf_star=True, version=2),
            StreamOptions(physical_type=PhysicalType.QUADS, max_name_table_size=4096, version=1),
        ]
    )
    assert merged == StreamOptions(
        physical_type=PhysicalType.QUADS,
        logical_type=LogicalType.FLAT_QUADS,
        rdf_star=True,
        max_name_table_size=4096,
        version=2,
    )


def test_files_are_merged_without_being_open_at_once(tmp_path: Path) -> None:
    paths = []
    for number in range(300):
        paths.append(tmp_path / f"{number}.jelly")
        paths[-1].write_bytes(write_bytes(TRIPLES[number % 100 : number % 100 + 1]))
    target = tmp_path / "all.jelly.gz"
    assert transcode(list(paths), target) == 300
    assert sum(1 for _ in read(target)) == 300


def test_a_broken_source_leaves_the_target_as_it_was(tmp_path: Path) -> None:
    target = tmp_path / "x.jelly"
    target.write_bytes(b"before")
    broken = write_bytes(TRIPLES, frame_rows=10)[:-5]
    with pytest.raises(ValueError, match="frame"):
        transcode([broken], target)
    assert target.read_bytes() == b"before"
