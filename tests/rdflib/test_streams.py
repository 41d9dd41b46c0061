"""read_statements, write_statements, read_graphs and write_graphs."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rdflib import BNode, Dataset, Graph, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    JellyError,
    LogicalType,
    OptionsError,
    PhysicalType,
    Quad,
    StatementError,
    StreamOptions,
    TermError,
    Triple,
    TruncatedError,
    read_frames,
    write_frames,
)
from jelly_plugins.rdflib import read_graphs, read_statements, write_graphs, write_statements

from ..conversions import written
from .support import (
    EX,
    GRAPHS,
    QUADS,
    TRIPLE,
    G,
    O,
    P,
    S,
    conjunctive_graph,
    jelly,
    quads_of,
    same_dataset,
    sample_dataset,
    sample_graph,
)

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")


# Statements


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
def test_quads_are_plain_tuples_that_a_dataset_takes(options: StreamOptions) -> None:
    data = jelly([Quad(S, P, O, DEFAULT_GRAPH), Quad(S, P, O, G)], options=options)
    quads = list(read_statements(data))
    assert quads == [(*TRIPLE, DATASET_DEFAULT_GRAPH_ID), (*TRIPLE, URIRef(EX + "g"))]
    dataset = Dataset().addN(quads)  # type: ignore[arg-type]
    assert quads_of(dataset) == {(*TRIPLE, None), (*TRIPLE, URIRef(EX + "g"))}


def test_statements_come_as_they_are_read() -> None:
    data = jelly([Triple(S, P, O)] * 100, frame_rows=10)
    statements = read_statements(data[:-1])
    for _ in range(50):
        next(statements)
    with pytest.raises(TruncatedError):
        list(statements)


def test_blank_nodes_of_statements() -> None:
    data = jelly([Triple(BlankNode("b"), P, O)] * 2)
    first, second = (list(read_statements(data)) for _ in range(2))
    assert first[0] == first[1]
    assert first[0] != second[0]
    assert next(read_statements(data, blank_nodes="keep"))[0] == BNode("b")


# Graphs


def test_graphs_round_trip(tmp_path: Path) -> None:
    graphs = [sample_graph(), Graph(), Graph().add(TRIPLE)]
    path = tmp_path / "x.jelly.gz"
    write_graphs(graphs, path)
    with read_frames(path) as frames:
        assert frames.options.physical_type is PhysicalType.TRIPLES
        assert frames.options.logical_type == LogicalType.GRAPHS
        assert frames.compression == "gzip"
    back = list(read_graphs(path))
    assert [type(graph) for graph in back] == [Graph] * 3
    assert all(one.isomorphic(other) for one, other in zip(back, graphs, strict=True))
    assert gzip.decompress(path.read_bytes()) == written(write_graphs, graphs)


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
@pytest.mark.parametrize("physical_type", [None, PhysicalType.QUADS, PhysicalType.GRAPHS])
def test_datasets_round_trip(make: Callable[[], Any], physical_type: PhysicalType | None) -> None:
    options = physical_type and StreamOptions(
        physical_type=physical_type, logical_type=LogicalType.DATASETS
    )
    datasets = [sample_dataset(make()), make(), sample_dataset(make())]
    back = list(read_graphs(written(write_graphs, datasets, options=options)))
    assert [type(dataset) for dataset in back] == [Dataset] * 3
    assert all(same_dataset(one, other) for one, other in zip(back, datasets, strict=True))


def test_graphs_after_an_empty_frame_are_read() -> None:
    """Before which the type of the stream is not known."""
    for data, types in ((jelly([Triple(S, P, O)]), Graph), (jelly([Quad(S, P, O, G)]), Dataset)):
        back = list(read_graphs(bytes(2) + data))
        assert [(type(graph), len(graph)) for graph in back] == [(types, n) for n in (0, 0, 1)]


def test_empty_named_graphs_round_trip() -> None:
    dataset = Dataset()
    dataset.graph(EX + "empty")
    (back,) = read_graphs(written(write_graphs, [dataset]))
    assert {graph.identifier for graph in back.store.contexts()} == {URIRef(EX + "empty")}


def test_a_graph_among_datasets_is_a_default_graph() -> None:
    back = list(read_graphs(written(write_graphs, [Dataset(), Graph().add(TRIPLE)])))
    assert quads_of(back[1]) == {(*TRIPLE, None)}


def test_a_dataset_among_graphs_must_not_have_named_graphs() -> None:
    assert len(list(read_graphs(written(write_graphs, [Graph(), Dataset().add(TRIPLE)])))) == 2
    with pytest.raises(OptionsError, match="named graphs"):
        written(write_graphs, [Graph(), sample_dataset()])


def test_graphs_have_their_names_in_a_stream_of_named_graphs() -> None:
    options = StreamOptions(
        physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.NAMED_GRAPHS
    )
    graphs = [Graph(identifier=URIRef(f"{EX}g{number}")).add(TRIPLE) for number in range(2)]
    back = list(read_graphs(written(write_graphs, graphs, options=options)))
    assert [quads_of(dataset) for dataset in back] == [
        {(*TRIPLE, URIRef(f"{EX}g{number}"))} for number in range(2)
    ]


def test_no_graphs_read_as_none_and_an_empty_graph_as_one() -> None:
    grouped = StreamOptions(physical_type=PhysicalType.QUADS, logical_type=4)
    for options in (None, grouped):
        data = written(write_graphs, [], options=options)
        assert list(read_graphs(data)) == []
    file = io.BytesIO()
    assert write_frames([], file, options=grouped) == 0
    frames = read_frames(file.getvalue())
    assert list(frames) == []
    assert frames.options == read_frames(file.getvalue()).options
    assert [len(graph) for graph in read_graphs(written(write_graphs, [Graph()]))] == [0]


def test_graphs_may_share_blank_nodes() -> None:
    node = BNode()
    graphs = [Graph().add((node, *TRIPLE[1:])) for _ in range(2)]
    data = written(write_graphs, graphs)
    one, other = ({*graph.subjects()} for graph in read_graphs(data))
    assert one == other
    assert next(read_graphs(data, blank_nodes="keep")).value(None, *TRIPLE[1:]) == node


def test_namespaces_are_declared_once_and_bound_in_every_graph() -> None:
    graphs = [Graph(bind_namespaces="none").add(TRIPLE) for _ in range(3)]
    graphs[0].bind("a", EX)
    graphs[1].bind("a", EX)
    graphs[1].bind("b", EX + "b/")
    data = written(write_graphs, graphs, namespaces=True)
    with read_frames(data) as frames:
        declared = [[name for name, _ in frame.namespaces] for frame in frames]
    assert [len(names) for names in declared] == [len(set(names)) for names in declared]
    assert "a" in declared[0]
    assert declared[1] == ["b"]
    assert declared[2] == []
    bound = [dict(graph.namespaces()) for graph in read_graphs(data)]
    assert bound[0]["a"] == URIRef(EX)
    assert "b" not in bound[0]
    assert bound[2]["b"] == URIRef(EX + "b/")
    given = next(read_graphs(written(write_graphs, graphs, namespaces={"x": EX})))
    assert dict(given.namespaces())["x"] == URIRef(EX)


def test_concatenated_streams_of_different_types() -> None:
    data = written(write_graphs, [Graph().add(TRIPLE)]) + written(write_graphs, [sample_dataset()])
    with pytest.raises(JellyError):
        list(read_graphs(data))
    back = list(read_graphs(data, concatenated=True))
    assert [type(graph) for graph in back] == [Graph, Dataset]


def test_a_namespace_that_cannot_be_bound_is_rejected_with_its_frame() -> None:
    data = jelly([Triple(S, P, O)], namespaces={"a b": EX})
    with pytest.raises(TermError, match=r"<bytes>: frame 0: .*'a b'"):
        list(read_graphs(data))


@pytest.mark.parametrize(
    "graph",
    [
        None,
        DATASET_DEFAULT_GRAPH_ID,
        URIRef("urn:g"),
        BNode("g"),
        Graph(identifier=URIRef("urn:h")),
        Dataset().default_graph,
    ],
    ids=repr,
)
def test_write_statements(graph: Any) -> None:
    name = graph.identifier if isinstance(graph, Graph) else graph or DATASET_DEFAULT_GRAPH_ID
    triple = (URIRef("urn:s"), URIRef("urn:p"), BNode("o"))
    for first, later in (((*triple, graph), triple), (triple, (*triple, graph))):
        options = StreamOptions.flat(PhysicalType.QUADS)
        data = written(write_statements, iter([first, later]), options=options)
        found = list(read_statements(data, blank_nodes="keep"))
        assert sorted(found) == sorted([(*triple, name), (*triple, DATASET_DEFAULT_GRAPH_ID)])


def test_write_statements_of_a_graph(tmp_path: Path) -> None:
    dataset = Dataset()
    dataset.add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"), URIRef("urn:g")))
    dataset.add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o")))
    path = tmp_path / "x.jelly"
    assert write_statements(dataset.quads(), path, namespaces={"ex": "urn:"}) == 2
    copy = Dataset().parse(path, format="jelly-plugins")
    assert set(copy.quads()) == set(dataset.quads())
    found = dataset.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    assert write_statements(found, path) == 1
    assert len(Graph().parse(path, format="jelly-plugins")) == 1
    assert write_statements([], path) == 0
    assert list(read_statements(path)) == []


def test_statements_that_are_not_written(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    triple = (URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"))
    with pytest.raises(StatementError, match="no place for the graph urn:g"):
        write_statements([triple, (*triple, URIRef("urn:g"))], path)
    with pytest.raises(TermError, match="not an RDF term"):
        write_statements([(*triple[:2], 1)], path)
    with pytest.raises(JellyError, match="a statement of 2 terms"):
        write_statements([triple[:2]], path)
    with pytest.raises(TypeError, match="statements are needed"):
        write_statements(Graph(), path)
    assert not path.exists()
