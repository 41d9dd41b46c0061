"""Merging and transcoding Jelly, without a store."""

from __future__ import annotations

import os
import resource
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
    LogicalType,
    OptionsError,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    convert,
    read,
    read_frames,
)
from jelly_plugins.formats.settings import OptionChanges
from jelly_plugins.formats.transcode import merged_options
from jelly_plugins.io.streams import write_bytes, write_frames

from ..conversions import converted, written

S, P, G = Iri("urn:s"), Iri("urn:p"), Iri("urn:g")
TRIPLES = [Triple(S, P, Literal(str(number))) for number in range(100)]
QUADS = StreamOptions(physical_type=PhysicalType.QUADS)
GRAPHS = StreamOptions(physical_type=PhysicalType.GRAPHS)
STAR = StreamOptions(rdf_star=True)


def transcoded(source: Any, options: StreamOptions | None = None, **settings: Any) -> bytes:
    if options is not None:
        settings["changes"] = OptionChanges(
            like=options, physical_type=options.physical_type, logical_type=options.logical_type
        )
    return converted(source, "jelly", "jelly", **settings)


def frames_of(frames: list[Frame], options: StreamOptions, namespaces: bool = False) -> bytes:
    return written(lambda out: write_frames(frames, out, options=options, namespaces=namespaces))


def test_one_stream_keeps_statements_frames_and_options() -> None:
    source = write_bytes(TRIPLES, frame_rows=20)
    assert transcoded(source) == source


def test_frames_are_regrouped() -> None:
    source = write_bytes(TRIPLES, frame_rows=20)
    by_rows = list(read_frames(transcoded(source, frame_rows=50)))
    assert [frame.rows for frame in by_rows[:-1]] == [50] * (len(by_rows) - 1)
    by_bytes = list(read_frames(transcoded(source, frame_bytes=100)))
    assert len(by_bytes) > 5
    assert all(frame.size < 150 for frame in by_bytes)
    for frames in (by_rows, by_bytes):
        assert [each for frame in frames for each in frame.statements] == TRIPLES


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
    assert list(read(transcoded(in_default_graph, StreamOptions()))) == [Triple(S, P, S)]


@pytest.mark.parametrize(
    ("source", "options", "settings", "error", "match"),
    [
        (write_bytes([Quad(S, P, S, G)]), StreamOptions(), {}, TermError, "named graph"),
        (
            write_bytes([Triple(Triple(S, P, S), P, S)], options=STAR),
            *(StreamOptions(), {}, StatementError, "rdf_star"),
        ),
        (
            frames_of([Frame(0, metadata={"a": b"1"})], StreamOptions()),
            *(None, {"frame_rows": 10}, OptionsError, "metadata"),
        ),
        (frames_of([Frame(0, empty_graphs=[G])], GRAPHS), QUADS, {}, TermError, "empty graph"),
    ],
    ids=["named graph", "feature", "metadata", "empty graph"],
)
def test_nothing_is_lost_in_silence(
    source: bytes,
    options: StreamOptions | None,
    settings: dict[str, Any],
    error: type[JellyError],
    match: str,
) -> None:
    assert read_contents(transcoded(source)) == read_contents(source)
    with pytest.raises(error, match=match):
        transcoded(source, options, **settings)
    if match in ("metadata", "empty graph"):
        (frame,) = read_frames(transcoded(source, options, **settings, lossy=True))
        assert (frame.metadata, frame.empty_graphs, frame.statements) == ({}, [], [])


def read_contents(data: bytes) -> list[Any]:
    return [
        (frame.statements, frame.namespaces, frame.metadata, frame.empty_graphs)
        for frame in read_frames(data)
    ]


def test_metadata_and_namespaces_are_kept_with_their_frames() -> None:
    frames = [
        Frame(0, statements=TRIPLES[:1], namespaces=[("ex", S)], metadata={"a": b"\x00"}),
        Frame(1, metadata={"b": b""}),
    ]
    source = frames_of(frames, StreamOptions(), namespaces=True)
    assert read_contents(transcoded(source)) == [
        (TRIPLES[:1], [("ex", S)], {"a": b"\x00"}, []),
        ([], [], {"b": b""}, []),
    ]
    (frame,) = read_frames(transcoded(source, frame_rows=10, lossy=True))
    assert (frame.namespaces, frame.statements) == ([("ex", S)], TRIPLES[:1])


def test_a_graph_that_spans_frames_is_not_empty() -> None:
    statements = [Quad(S, P, Literal(str(number)), G) for number in range(9)]
    source = write_bytes(statements, options=GRAPHS, frame_rows=4)
    assert list(read(transcoded(source, QUADS))) == statements
    assert list(read(transcoded(source, frame_rows=3))) == statements


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


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="open files are not listed")
def test_files_are_merged_without_being_open_at_once(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.jelly" for number in range(100)]
    for number, path in enumerate(paths):
        path.write_bytes(write_bytes(TRIPLES[number : number + 1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 20, hard))
    try:
        assert convert(list(paths), tmp_path / "all.jelly.gz").statements == 100
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert list(read(tmp_path / "all.jelly.gz")) == TRIPLES
