"""Files of ours read by pyjelly, files of pyjelly's read by us, over what both support.

pyjelly does not write the graph names of a ConjunctiveGraph, and its namespaces are only
compared in the direction and integration in which they work.
"""

from __future__ import annotations

import io
from typing import Any

import pytest
from rdflib import Dataset, URIRef

from jelly_plugins import LogicalType, PhysicalType, StreamOptions, read_frames
from jelly_plugins.codec import delimit
from jelly_plugins.rdflib import read_graphs, write_graphs

from ..conversions import written
from .support import EX, parse, same_dataset, sample_dataset, sample_graph, to_bytes

pytest.importorskip("pyjelly")

from pyjelly.integrations.rdflib import parse as rdflib_parse
from pyjelly.integrations.rdflib import serialize as rdflib_serialize
from pyjelly.options import LookupPreset, StreamParameters
from pyjelly.serialize.streams import GraphStream, QuadStream, SerializerOptions, TripleStream

TYPES = [
    (PhysicalType.TRIPLES, LogicalType.UNSPECIFIED),
    (PhysicalType.TRIPLES, LogicalType.FLAT_TRIPLES),
    (PhysicalType.TRIPLES, LogicalType.GRAPHS),
    (PhysicalType.TRIPLES, LogicalType.SUBJECT_GRAPHS),
    (PhysicalType.QUADS, LogicalType.UNSPECIFIED),
    (PhysicalType.QUADS, LogicalType.FLAT_QUADS),
    (PhysicalType.QUADS, LogicalType.DATASETS),
    (PhysicalType.GRAPHS, LogicalType.UNSPECIFIED),
    (PhysicalType.GRAPHS, LogicalType.FLAT_QUADS),
    (PhysicalType.GRAPHS, LogicalType.DATASETS),
    (PhysicalType.GRAPHS, LogicalType.TIMESTAMPED_NAMED_GRAPHS),
]

TABLES = [(4000, 150, 32), (128, 32, 32), (8, 1, 3), (16, 0, 3)]

STREAMS = {
    PhysicalType.TRIPLES: TripleStream,
    PhysicalType.QUADS: QuadStream,
    PhysicalType.GRAPHS: GraphStream,
}

types = pytest.mark.parametrize(
    ("physical_type", "logical_type"), TYPES, ids=lambda each: each.name
)
FRAME_SIZES = [1, 10, 1000, 10]


def _sample(physical_type: PhysicalType) -> Any:
    return sample_graph() if physical_type is PhysicalType.TRIPLES else sample_dataset()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Dataset):
        return same_dataset(one, other)
    return bool(one.isomorphic(other))


# Ours, read by pyjelly


@types
@pytest.mark.parametrize(("table", "frame_size"), [*zip(TABLES, FRAME_SIZES, strict=True)], ids=str)
def test_pyjelly_reads_ours(
    physical_type: PhysicalType,
    logical_type: LogicalType,
    table: tuple[int, int, int],
    frame_size: int,
) -> None:
    options = StreamOptions(
        physical_type=physical_type,
        logical_type=logical_type,
        max_name_table_size=table[0],
        max_prefix_table_size=table[1],
        max_datatype_table_size=table[2],
        stream_name="ours",
    )
    graph = _sample(physical_type)
    data = to_bytes(graph, options=options, frame_rows=frame_size)

    target = type(graph)()
    rdflib_parse.parse_jelly_to_graph(
        io.BytesIO(data), graph_factory=lambda: target, dataset_factory=lambda: target
    )
    assert _same(target, graph)


def test_pyjelly_reads_our_namespaces() -> None:
    graph = sample_graph()
    data = to_bytes(graph, namespaces={"mine": EX})
    back = rdflib_parse.parse_jelly_to_graph(io.BytesIO(data))
    assert dict(back.namespaces())["mine"] == URIRef(EX)
    assert back.isomorphic(graph)


@pytest.mark.parametrize("physical_type", list(PhysicalType))
def test_grouped_streams_in_both_directions(physical_type: PhysicalType) -> None:
    triples = physical_type is PhysicalType.TRIPLES
    logical_type = LogicalType.GRAPHS if triples else LogicalType.DATASETS
    graphs = [_sample(physical_type) for _ in range(3)]
    options = StreamOptions(physical_type=physical_type, logical_type=logical_type)
    file = io.BytesIO(written(write_graphs, graphs, options=options))
    by_pyjelly = rdflib_parse.parse_jelly_grouped(file, logical_type_strict=True)
    stream = STREAMS[physical_type].for_rdflib(options=_pyjelly_options(logical_type))
    frames = [frame for graph in graphs for frame in rdflib_serialize.stream_frames(stream, graph)]
    by_us = read_graphs(b"".join(delimit(frame.SerializeToString()) for frame in frames))
    for back in by_pyjelly, by_us:
        assert all(_same(one, other) for one, other in zip(back, graphs, strict=True))


# pyjelly's, read by us


def _pyjelly_options(
    logical_type: int,
    *,
    table: tuple[int, int, int] = TABLES[0],
    frame_size: int = 250,
    **params: Any,
) -> SerializerOptions:
    return SerializerOptions(
        frame_size=frame_size,
        logical_type=logical_type,
        params=StreamParameters(**params),
        lookup_preset=LookupPreset(*table),
    )


def _written_by_pyjelly(graph: Any, physical_type: PhysicalType, options: Any) -> bytes:
    stream = STREAMS[physical_type].for_rdflib(options=options)
    serializer = rdflib_serialize.RDFLibJellySerializer(graph)
    return written(serializer.serialize, stream=stream, options=options)


# With a prefix table of 1 pyjelly's writer evicts what the same row still needs, so that it cannot
# read its own files.
@types
@pytest.mark.parametrize(
    ("table", "frame_size"),
    [*zip([*TABLES[:2], (8, 3, 3), TABLES[3]], FRAME_SIZES, strict=True)],
    ids=str,
)
def test_we_read_pyjellys(
    physical_type: PhysicalType,
    logical_type: LogicalType,
    table: tuple[int, int, int],
    frame_size: int,
) -> None:
    graph = _sample(physical_type)
    options = _pyjelly_options(
        logical_type, table=table, frame_size=frame_size, stream_name="theirs"
    )
    data = _written_by_pyjelly(graph, physical_type, options)
    assert _same(parse(type(graph)(), data), graph)
    with read_frames(data) as frames:
        assert frames.options.stream_name == "theirs"
        assert frames.options.max_prefix_table_size == table[1]


@pytest.mark.parametrize("physical_type", list(PhysicalType))
@pytest.mark.parametrize("delimited", [True, False])
@pytest.mark.parametrize("namespaces", [True, False])
def test_we_read_pyjellys_other_options(
    physical_type: PhysicalType, delimited: bool, namespaces: bool
) -> None:
    triples = physical_type is PhysicalType.TRIPLES
    logical_type = LogicalType.FLAT_TRIPLES if triples else LogicalType.FLAT_QUADS
    graph = _sample(physical_type)
    graph.bind("mine", EX)
    options = _pyjelly_options(logical_type, delimited=delimited, namespace_declarations=namespaces)
    data = _written_by_pyjelly(graph, physical_type, options)
    back = parse(type(graph)(), data)
    assert _same(back, graph)
    assert (dict(back.namespaces()).get("mine") == URIRef(EX)) == namespaces
    with read_frames(data) as frames:
        next(frames)
        assert frames.delimited == delimited
