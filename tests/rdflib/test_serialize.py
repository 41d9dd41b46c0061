"""Serializing Graph, Dataset and ConjunctiveGraph: destinations, options, order."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import subprocess
import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, BNode, Dataset, Graph, Literal, URIRef
from rdflib.graph import QuotedGraph, ReadOnlyGraphAggregate
from rdflib.plugins.stores.memory import SimpleMemory

from jelly_plugins import (
    JellyError,
    LimitError,
    Limits,
    LogicalType,
    OptionsError,
    PhysicalType,
    SourceError,
    StreamOptions,
    TermError,
    read,
    read_frames,
)
from jelly_plugins.backends import get_backend
from jelly_plugins.rdflib.plugin.serializer import JellySerializer

from .support import (
    DEFAULT_GRAPH,
    EX,
    GRAPHS,
    QUADS,
    BlankNode,
    Iri,
    conjunctive_graph,
    default_graph,
    parse,
    quads_of,
    same_dataset,
    sample_dataset,
    sample_graph,
    to_bytes,
)

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")

TRIPLE = (URIRef(EX + "s"), URIRef(EX + "p"), URIRef(EX + "o"))


def _grouped(physical_type: PhysicalType, logical_type: LogicalType) -> StreamOptions:
    return StreamOptions(physical_type=physical_type, logical_type=logical_type)


# Destinations


def test_paths_and_files(tmp_path: Path) -> None:
    graph = sample_graph()
    path = tmp_path / "x.jelly"
    assert graph.serialize(path, format="jelly-plugins") is graph
    expected = path.read_bytes()
    assert parse(Graph(), expected).isomorphic(graph)
    graph.serialize(str(path), format="jelly-plugins")
    assert path.read_bytes() == expected
    graph.serialize(path.as_uri(), format="jelly-plugins")
    assert path.read_bytes() == expected
    file = io.BytesIO()
    graph.serialize(file, format="jelly-plugins")
    assert file.getvalue() == expected
    assert not file.closed


@pytest.mark.parametrize("encoding", ["utf-8", "jelly", "latin-1"])
def test_an_encoding_gives_bytes(encoding: str) -> None:
    data = Graph().add(TRIPLE).serialize(format="jelly-plugins", encoding=encoding)
    assert isinstance(data, bytes)
    assert set(parse(Graph(), data)) == {TRIPLE}


@pytest.mark.parametrize("make", [Graph, Dataset, conjunctive_graph])
def test_a_string_is_rejected_with_the_way_out(make: Callable[[], Any]) -> None:
    with pytest.raises(SourceError, match=r"give serialize\(\) a destination, or any encoding="):
        make().serialize(format="jelly-plugins")
    with pytest.raises(SourceError, match="the format is binary"):
        make().serialize(None, "jelly-plugins", None, None)


def test_a_serializer_may_be_called_by_itself() -> None:
    file = io.BytesIO()
    JellySerializer(Graph().add(TRIPLE)).serialize(file)
    assert set(parse(Graph(), file.getvalue())) == {TRIPLE}


@pytest.mark.parametrize(
    ("suffix", "unpack"), [(".gz", gzip.decompress), (".bz2", bz2.decompress), ("", bytes)]
)
def test_the_name_of_a_path_says_how_to_compress(
    suffix: str, unpack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    graph = sample_graph()
    path = tmp_path / f"x.jelly{suffix}"
    graph.serialize(path, format="jelly-plugins")
    assert unpack(path.read_bytes()) == to_bytes(graph)
    assert graph.isomorphic(Graph().parse(path, format="jelly-plugins"))
    with path.open("wb") as file:
        graph.serialize(file, format="jelly-plugins")
    assert unpack(path.read_bytes()) == to_bytes(graph)


def test_what_is_compressed_already_is_not_compressed_twice(tmp_path: Path) -> None:
    graph = sample_graph()
    path = tmp_path / "x.jelly.gz"
    with gzip.open(path, "wb") as file:
        graph.serialize(file, format="jelly-plugins")
    assert gzip.decompress(path.read_bytes()) == to_bytes(graph)
    with gzip.open(path, "wb") as file, io.BufferedWriter(file) as buffered:  # type: ignore[type-var]
        graph.serialize(buffered, format="jelly-plugins")
    assert gzip.decompress(path.read_bytes()) == to_bytes(graph)


def test_base_is_taken_and_of_no_use() -> None:
    graph = Graph(base=EX).add(TRIPLE)
    assert to_bytes(graph, base="http://example.com/") == to_bytes(Graph().add(TRIPLE))


def test_the_backend_writes_a_path_whole_or_not_at_all(tmp_path: Path) -> None:
    backend = get_backend("rdflib")
    path = tmp_path / "x.jelly.gz"
    dataset = sample_dataset()
    assert backend.dump(dataset, path) == len(quads_of(dataset))
    target = Dataset()
    assert backend.load(target, path, blank_nodes="keep") == len(quads_of(dataset))
    assert quads_of(target) == quads_of(dataset)
    before = path.read_bytes()
    with pytest.raises(JellyError):
        backend.dump(Graph().add((Literal("l"), *TRIPLE[1:])), path)
    assert path.read_bytes() == before


# What is written


@pytest.mark.parametrize("make", [Graph, Dataset, conjunctive_graph])
def test_an_empty_graph_is_a_stream_that_can_be_read(make: Callable[[], Any]) -> None:
    data = to_bytes(make())
    assert data
    assert len(parse(make(), data)) == 0
    with read_frames(data) as frames:
        assert frames.options.base_logical_type in (1, 2)
        assert [frame.rows for frame in frames] == [1]


def test_types_follow_the_graph() -> None:
    expected = {
        Graph: (PhysicalType.TRIPLES, LogicalType.FLAT_TRIPLES),
        Dataset: (PhysicalType.QUADS, LogicalType.FLAT_QUADS),
        conjunctive_graph: (PhysicalType.QUADS, LogicalType.FLAT_QUADS),
    }
    for make, types in expected.items():
        with read_frames(to_bytes(make().add(TRIPLE))) as frames:
            options = frames.options
        assert (options.physical_type, options.logical_type) == types
        assert not options.generalized_statements
        assert not options.rdf_star
        assert options.version == 1


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
def test_graph_names_are_written(make: Callable[[], Any]) -> None:
    dataset = make()
    dataset.add(TRIPLE)
    dataset.get_context(URIRef(EX + "g")).add(TRIPLE)
    dataset.get_context(BNode("b")).add(TRIPLE)
    names = {quad[3] for quad in read(to_bytes(dataset))}
    assert {DEFAULT_GRAPH, Iri(EX + "g"), BlankNode("b")} == names


def test_a_graph_of_a_dataset_is_written_alone() -> None:
    dataset = sample_dataset()
    named = dataset.graph(EX + "g1")
    assert parse(Graph(), to_bytes(named)).isomorphic(named)
    default = default_graph(dataset)
    assert parse(Graph(), to_bytes(default)).isomorphic(default)


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
def test_a_graph_may_be_written_as_quads(options: StreamOptions) -> None:
    graph = sample_graph()
    data = to_bytes(graph, options=options)
    assert {quad[3] for quad in read(data)} == {DEFAULT_GRAPH}
    assert parse(Graph(), data).isomorphic(graph)


def test_a_dataset_is_written_as_triples_only_if_it_has_no_other_graphs() -> None:
    options = StreamOptions(physical_type=PhysicalType.TRIPLES)
    dataset = Dataset().add(TRIPLE)
    dataset.graph(EX + "empty")
    assert set(parse(Graph(), to_bytes(dataset, options=options))) == {TRIPLE}
    with pytest.raises(OptionsError, match="named graphs"):
        to_bytes(sample_dataset(), options=options)


def test_empty_named_graphs_are_not_lost() -> None:
    dataset = Dataset().add(TRIPLE)
    dataset.graph(EX + "empty")
    data = to_bytes(dataset)
    with read_frames(data) as frames:
        assert frames.options.physical_type is PhysicalType.GRAPHS
    back = parse(Dataset(), data)
    assert {graph.identifier for graph in back.graphs()} == {
        graph.identifier for graph in dataset.graphs()
    }


def test_an_aggregate_is_written_under_the_names_of_its_graphs() -> None:
    graphs = [Graph(identifier=URIRef(f"{EX}g{number}")).add(TRIPLE) for number in range(2)]
    back = parse(Dataset(), to_bytes(ReadOnlyGraphAggregate(graphs)))
    assert quads_of(back) == {(*TRIPLE, URIRef(EX + "g0")), (*TRIPLE, URIRef(EX + "g1"))}


def test_formulas_are_rejected() -> None:
    data = f"@prefix : <{EX}> . {{ :a :b :c }} :p {{ :d :e :f }} ."
    dataset = conjunctive_graph()
    dataset.parse(data=data, format="n3")
    with pytest.raises(TermError, match="formula"):
        to_bytes(dataset)
    graph = Graph(store=dataset.store, identifier=dataset.default_context.identifier)
    with pytest.raises(TermError, match="QuotedGraph"):
        to_bytes(graph)
    formula = next(term for term in graph.subjects() if isinstance(term, QuotedGraph))
    with pytest.raises(TermError, match="formula"):
        to_bytes(formula)


# Options


@pytest.mark.parametrize(
    "sizes",
    [(4000, 150, 32), (128, 16, 16), (8, 0, 3), (8, 1, 3), (4096, 1024, 256)],
    ids=str,
)
@pytest.mark.parametrize("frame_rows", [1, 5, 1000])
def test_table_and_frame_sizes(sizes: tuple[int, int, int], frame_rows: int) -> None:
    names, prefixes, datatypes = sizes
    options = StreamOptions(
        max_name_table_size=names,
        max_prefix_table_size=prefixes,
        max_datatype_table_size=datatypes,
        stream_name="sample",
    )
    graph = sample_graph()
    data = to_bytes(graph, options=options, frame_rows=frame_rows)
    with read_frames(data) as frames:
        assert frames.options.max_name_table_size == names
        assert frames.options.stream_name == "sample"
        assert len(list(frames)) > 20 / frame_rows
    assert parse(Graph(), data).isomorphic(graph)


def test_frame_bytes() -> None:
    data = to_bytes(sample_graph(), frame_bytes=100)
    with read_frames(data) as frames:
        assert max(frame.size for frame in frames) < 400


def test_limits_hold_for_writing() -> None:
    with pytest.raises(LimitError, match="string_bytes"):
        to_bytes(sample_graph(), limits=Limits(string_bytes=8))


def test_namespaces_are_written_on_request() -> None:
    graph = Graph(bind_namespaces="none").add(TRIPLE)
    graph.bind("mine", EX)
    assert not _namespaces(to_bytes(graph))
    assert not _namespaces(to_bytes(graph, namespaces={}))
    assert _namespaces(to_bytes(graph, namespaces=True)) == dict(graph.namespaces())
    given = {"": URIRef(EX), "other": URIRef(EX + "other#")}
    assert _namespaces(to_bytes(graph, namespaces=given)) == given
    for options in (QUADS, GRAPHS, _grouped(PhysicalType.TRIPLES, LogicalType.GRAPHS)):
        assert _namespaces(to_bytes(graph, namespaces=given, options=options)) == given
    back = parse(Graph(bind_namespaces="none"), to_bytes(graph, namespaces=True))
    assert dict(back.namespaces()) == dict(graph.namespaces())


def _namespaces(data: bytes) -> dict[str, URIRef]:
    found = {}
    with read_frames(data) as frames:
        for frame in frames:
            found.update({name: URIRef(iri.value) for name, iri in frame.namespaces})
        assert frames.options.version == (2 if found else 1)
    return found


# Grouped logical types


@pytest.mark.parametrize(
    "options",
    [
        _grouped(PhysicalType.TRIPLES, LogicalType.GRAPHS),
        _grouped(PhysicalType.QUADS, LogicalType.DATASETS),
        _grouped(PhysicalType.GRAPHS, LogicalType.DATASETS),
        _grouped(PhysicalType.GRAPHS, LogicalType.TIMESTAMPED_NAMED_GRAPHS),
    ],
)
def test_a_graph_is_one_element(options: StreamOptions) -> None:
    graph = sample_graph()
    data = to_bytes(graph, options=options, frame_rows=1)
    with read_frames(data) as frames:
        assert len(list(frames)) == 1
    assert parse(Graph(), data).isomorphic(graph)


def test_subject_graphs_are_one_frame_for_each_subject() -> None:
    graph = sample_graph()
    data = to_bytes(graph, options=_grouped(PhysicalType.TRIPLES, LogicalType.SUBJECT_GRAPHS))
    with read_frames(data) as frames:
        subjects = [{triple[0] for triple in frame.statements} for frame in frames]
    assert {len(each) for each in subjects} == {1}
    assert len(subjects) == len(set(graph.subjects()))
    assert parse(Graph(), data).isomorphic(graph)


@pytest.mark.parametrize("physical_type", [PhysicalType.QUADS, PhysicalType.GRAPHS])
def test_named_graphs_are_one_frame_each(physical_type: PhysicalType) -> None:
    options = _grouped(physical_type, LogicalType.NAMED_GRAPHS)
    dataset = sample_dataset()
    with pytest.raises(OptionsError, match="default graph"):
        to_bytes(dataset, options=options)
    default_graph(dataset).remove((None, None, None))
    data = to_bytes(dataset, options=options)
    with read_frames(data) as frames:
        assert [len({quad[3] for quad in frame.statements}) for frame in frames] == [1, 1]
    assert same_dataset(parse(Dataset(), data), dataset)


@pytest.mark.parametrize("logical_type", [LogicalType.SUBJECT_GRAPHS, LogicalType.NAMED_GRAPHS])
def test_an_empty_grouped_stream_still_has_its_options(logical_type: LogicalType) -> None:
    triples = logical_type == LogicalType.SUBJECT_GRAPHS
    physical_type = PhysicalType.TRIPLES if triples else PhysicalType.QUADS
    data = to_bytes(Dataset(), options=_grouped(physical_type, logical_type))
    with read_frames(data) as frames:
        assert frames.options.logical_type == logical_type


# Order


def test_statements_of_a_store_in_memory_come_subject_by_subject() -> None:
    numbers = list(range(200))
    random.Random(1).shuffle(numbers)
    for make in (Graph, lambda: Graph(store=SimpleMemory()), Dataset):
        graph = make()
        for number in numbers:
            subject = URIRef(f"{EX}{number % 20}")
            graph.add((subject, URIRef(EX + "p"), Literal(number)))
        runs = [subject for subject, _ in groupby(read(to_bytes(graph)), lambda each: each[0])]
        assert len(runs) == 20


def test_quads_come_graph_by_graph() -> None:
    runs = [name for name, _ in groupby(read(to_bytes(sample_dataset())), lambda quad: quad[3])]
    assert len(runs) == 3
    assert runs[0] == DEFAULT_GRAPH


def test_the_same_graph_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "import sys; from rdflib import *\n"
        f"g = Graph().parse(data='@prefix : <{EX}> . :a :p 1, 2, :b . :b :q :c . :c :r :a .')\n"
        "sys.stdout.buffer.write(g.serialize(format='jelly-plugins', encoding='utf-8'))"
    )
    results = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(results) == 1


def test_runs_of_subjects_make_the_stream_smaller() -> None:
    graph = Graph()
    for number in range(2000):
        subject = URIRef(f"{EX}long/path/to/the/subject/{number % 200}")
        graph.add((subject, URIRef(f"{EX}vocabulary#p{number % 10}"), Literal(number)))
        graph.add((subject, RDF.type, URIRef(EX + "Thing")))

    class Other(type(graph.store)):  # type: ignore[misc]
        """Not exactly rdflib's own store, so that its order is taken as it is."""

    other = Graph(store=Other())
    other += graph
    assert len(to_bytes(graph)) < 0.75 * len(to_bytes(other))
    assert parse(Graph(), to_bytes(other)).isomorphic(graph)
