"""Serializing Graph, Dataset and ConjunctiveGraph: destinations, options, namespaces,
order."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rdflib import RDF, Dataset, Graph, Literal, URIRef, namespace
from rdflib.graph import QuotedGraph, ReadOnlyGraphAggregate
from rdflib.plugins.stores.memory import Memory, SimpleMemory

from jelly_plugins import (
    LogicalType,
    OptionsError,
    PhysicalType,
    SourceError,
    StreamOptions,
    TermError,
    read,
    read_frames,
)
from jelly_plugins.rdflib import positions, read_statements, record, replay, write_graphs
from jelly_plugins.reserved import BOOKKEEPING_IRI

from .. import programs
from ..conversions import written
from .support import (
    EX,
    GRAPHS,
    QUADS,
    TRIPLE,
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


def _grouped(physical_type: PhysicalType, logical_type: LogicalType) -> StreamOptions:
    return StreamOptions(physical_type=physical_type, logical_type=logical_type)


# Destinations


@pytest.mark.parametrize(("suffix", "unpack"), [("", bytes), (".gz", gzip.decompress)])
def test_paths_and_files(
    suffix: str, unpack: Callable[[bytes], bytes], tmp_path: Path, store: str
) -> None:
    graph = parse(Graph(store=store), to_bytes(sample_graph()))
    expected = to_bytes(graph, namespaces={"mine": EX})
    path = tmp_path / f"x.jelly{suffix}"
    for destination in (path, str(path), path.as_uri()):
        done = graph.serialize(destination, format="jelly-plugins", namespaces={"mine": EX})
        assert done is graph
        assert unpack(path.read_bytes()) == expected
    assert Graph().parse(path, format="jelly-plugins").isomorphic(sample_graph())
    for encoding in (None, "utf-8"):
        file = io.BytesIO()
        graph.serialize(file, format="jelly-plugins", encoding=encoding)
        assert file.getvalue() == to_bytes(graph)
        assert not file.closed
    # Nothing is compressed twice.
    with gzip.open(path, "wb") as packed:
        graph.serialize(packed, format="jelly-plugins")
    assert gzip.decompress(path.read_bytes()) == to_bytes(graph)


@pytest.mark.parametrize("format_", ["jelly-plugins", "rdf-thrift"])
def test_a_compression_that_is_not_supported_is_named(format_: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"x\.xz: xz is not supported: use \.gz"):
        Graph().serialize(tmp_path / "x.xz", format=format_)


@pytest.mark.parametrize("make", [Graph, Dataset, conjunctive_graph])
def test_an_encoding_gives_bytes_and_without_one_there_is_an_error(
    make: Callable[[], Any],
) -> None:
    for encoding in ("utf-8", "jelly", "latin-1"):
        data = make().add(TRIPLE).serialize(format="jelly-plugins", encoding=encoding)
        assert isinstance(data, bytes)
        assert [statement[:3] for statement in read_statements(data)] == [TRIPLE]
    for arguments in (("jelly-plugins",), ("jelly-plugins", None, None)):
        with pytest.raises(UnicodeDecodeError):
            make().serialize(None, *arguments)


# What is written


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


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
def test_stores_may_list_the_names_of_graphs(make: Callable[..., Any]) -> None:
    class Names(Memory):
        def contexts(self, triple: Any = None) -> Any:
            return (graph.identifier for graph in super().contexts(triple))

    dataset = make(store=Names())
    dataset.get_context(URIRef(EX + "g")).add(TRIPLE)
    back = parse(Dataset(), to_bytes(dataset))
    assert quads_of(back) == {(*TRIPLE, URIRef(EX + "g"))}


def test_an_aggregate_is_written_under_the_names_of_its_graphs() -> None:
    graphs = [Graph(identifier=URIRef(f"{EX}g{number}")).add(TRIPLE) for number in range(2)]
    back = parse(Dataset(), to_bytes(ReadOnlyGraphAggregate(graphs)))
    assert quads_of(back) == {(*TRIPLE, URIRef(EX + "g0")), (*TRIPLE, URIRef(EX + "g1"))}


@pytest.mark.parametrize("make", [Dataset, conjunctive_graph])
def test_the_positions_in_an_oxigraph_store_are_not_written(make: Callable[..., Any]) -> None:
    dataset = make(store="Oxigraph")
    replay(dataset, b"H id <urn:1> .\nA <urn:s> <urn:p> <urn:o> <urn:g> .\n")
    for data in (to_bytes(dataset), written(write_graphs, [dataset])):
        assert BOOKKEEPING_IRI.encode() not in data
        assert [str(quad.graph) for quad in read(data)] == ["Iri(value='urn:g')"]  # type: ignore[union-attr]


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


# Types of streams

TYPES = [
    *(("Graph", PhysicalType.TRIPLES, logical) for logical in ("GRAPHS", "SUBJECT_GRAPHS")),
    *(
        (kind, physical, logical)
        for kind in ("Graph", "Dataset")
        for physical in (PhysicalType.QUADS, PhysicalType.GRAPHS)
        for logical in ("UNSPECIFIED", "FLAT_QUADS", "DATASETS")
    ),
    ("Graph", PhysicalType.GRAPHS, "TIMESTAMPED_NAMED_GRAPHS"),
    ("Dataset", PhysicalType.GRAPHS, "TIMESTAMPED_NAMED_GRAPHS"),
]


@pytest.mark.parametrize(("kind", "physical_type", "logical_type"), [*TYPES, ("Dataset", None, "")])
def test_round_trips(
    kind: str,
    physical_type: PhysicalType | None,
    logical_type: str,
    store: str,
    calls: SimpleNamespace,
) -> None:
    make = Graph if kind == "Graph" else Dataset
    sample = sample_graph() if kind == "Graph" else sample_dataset()
    graph = parse(make(store=store), to_bytes(sample))
    options = physical_type and StreamOptions(
        physical_type=physical_type,
        logical_type=LogicalType[logical_type],
        max_name_table_size=8,
        max_prefix_table_size=0,
        stream_name="sample",
    )
    for frame_rows in (1, 7, 10_000):
        data = to_bytes(graph, options=options, frame_rows=frame_rows)
        with read_frames(data) as frames:
            found = list(frames)
            assert options is None or frames.options.stream_name == "sample"
            assert options is None or frames.options.max_name_table_size == 8
        if logical_type not in ("", "UNSPECIFIED", "FLAT_QUADS", "SUBJECT_GRAPHS"):
            assert len(found) == 1
        elif logical_type != "SUBJECT_GRAPHS":
            assert len(found) > 20 / frame_rows
        back = parse(make(), data)
        same = back.isomorphic(sample) if kind == "Graph" else same_dataset(back, sample)
        assert same
    # Oxigraph's own dump has no other types.
    direct = kind == "Dataset" or physical_type is PhysicalType.TRIPLES
    direct &= logical_type not in ("SUBJECT_GRAPHS", "TIMESTAMPED_NAMED_GRAPHS")
    assert calls.load == (store == "Oxigraph")
    assert calls.dump == (3 if direct and store == "Oxigraph" else 0)


def test_a_graph_of_a_dataset_is_written_alone(store: str, calls: SimpleNamespace) -> None:
    dataset = parse(Dataset(store=store), to_bytes(sample_dataset()))
    for graph in (default_graph(dataset), dataset.graph(EX + "g1")):
        copy = Graph()
        copy += graph
        back = parse(Graph(), to_bytes(graph), blank_nodes="keep")
        # By way of a copy, because oxrdflib gives plain literals the datatype xsd:string.
        assert set(back) == set(parse(Graph(), to_bytes(copy), blank_nodes="keep"))
        assert len(back) == len(graph) > 10
    assert calls.dump == (2 if store == "Oxigraph" else 0)


def test_subject_graphs_are_one_frame_for_each_subject() -> None:
    graph = sample_graph()
    options = _grouped(PhysicalType.TRIPLES, LogicalType.SUBJECT_GRAPHS)
    data = to_bytes(graph, options=options)
    with read_frames(data) as frames:
        subjects = [{triple[0] for triple in frame.statements} for frame in frames]
    assert {len(each) for each in subjects} == {1}
    assert len(subjects) == len(set(graph.subjects()))
    _check_empty(options)
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
    _check_empty(options)


def _check_empty(options: StreamOptions) -> None:
    """An empty stream still has its options."""
    with read_frames(to_bytes(Dataset(), options=options)) as frames:
        assert frames.options.logical_type == options.logical_type


# Order


def test_the_same_graph_gives_the_same_bytes_in_another_process() -> None:
    code = (
        "import sys; from rdflib import *\n"
        f"g = Graph().parse(data='@prefix : <{EX}> . :a :p 1, 2, :b . :b :q :c . :c :r :a .')\n"
        "print(g.serialize(format='jelly-plugins', encoding='utf-8'))"
    )
    one, other = (programs.run(code, PYTHONHASHSEED=seed).stdout for seed in "12")
    assert one == other != ""


@pytest.mark.parametrize("make", [Graph, Dataset])
def test_runs_of_subjects_make_the_stream_smaller(make: Callable[[], Any]) -> None:
    graph = make()
    for number in range(2000):
        subject = URIRef(f"{EX}long/path/to/the/subject/{number % 200}")
        graph.add((subject, URIRef(f"{EX}vocabulary#p{number % 10}"), Literal(number)))
        graph.add((subject, RDF.type, URIRef(EX + "Thing")))

    class Other(type(graph.store)):  # type: ignore[misc]
        """Not exactly rdflib's own store, so that its order is taken as it is."""

    simple, other = Graph(store=SimpleMemory()), Graph(store=Other())
    for triple in graph.triples((None, None, None)):
        simple.add(triple)
        other.add(triple)
    for each in (graph, simple):
        runs = [subject for subject, _ in groupby(read(to_bytes(each)), itemgetter(0))]
        assert len(runs) == 200
    assert len(to_bytes(graph)) < 0.75 * len(to_bytes(other))
    assert len(parse(Graph(), to_bytes(other))) == len(other) == 2200


# Settings that are misspelt, and other things than graphs


def misspelt(make: Any, format_: str, **settings: Any) -> Callable[[Path], object]:
    return lambda _: make().serialize(format=format_, encoding="utf-8", **settings)


MISTAKES: list[tuple[Callable[[Path], object], str]] = [
    *(
        (misspelt(make, format_, nonsense=1), r"no setting 'nonsense'$")
        for make in (Graph, Dataset)
        for format_ in ("jelly-plugins", "rdf-thrift", "rdf-protobuf")
    ),
    (misspelt(Graph, "jelly-plugins", frame_row=1), r"'frame_row'; did you mean frame_rows\?"),
    (misspelt(Graph, "rdf-thrift", namespace=True), r"did you mean namespaces\?"),
    (
        misspelt(Graph, "jelly-plugins", namespaces="user"),
        "namespaces must be True, False, 'used' or a mapping",
    ),
    (
        lambda path: write_graphs([Graph()], path, namespaces="all"),  # type: ignore[arg-type]
        "namespaces must be True, False, 'used' or a mapping",
    ),
    (lambda path: write_graphs([Graph()], path, frame_rows=1), "frame_rows"),  # type: ignore[call-arg]
    (
        lambda path: write_graphs(Graph().add(TRIPLE), path),  # type: ignore[arg-type]
        r"for one graph, give \[graph\]",
    ),
    *(
        (call, r"an rdflib\.Graph is needed, not 'data\.ttl'")
        for call in (
            lambda path: record("data.ttl", path),  # type: ignore[arg-type]
            lambda _: replay("data.ttl", Graph()),  # type: ignore[arg-type]
            lambda _: positions("data.ttl"),  # type: ignore[arg-type]
            lambda path: write_graphs(["data.ttl"], path),  # type: ignore[list-item]
        )
    ),
]


@pytest.mark.parametrize(("mistake", "message"), MISTAKES)
def test_mistakes_are_named_and_write_nothing(
    mistake: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        mistake(tmp_path / "x.jelly")
    assert list(tmp_path.iterdir()) == []


# Namespaces that are written because an IRI begins with them


def test_only_those_that_are_used(store: str) -> None:
    graph = Graph(store=store)
    graph.bind("ex", "http://example.org/")
    graph.bind("not", "http://example.com/")
    graph.add((URIRef("http://example.org/s"), RDF.type, URIRef("urn:t")))
    graph.add((URIRef("urn:s"), URIRef("urn:p"), Literal(1)))
    out = io.BytesIO()
    graph.serialize(out, format="jelly-plugins", namespaces="used")
    with read_frames(out.getvalue()) as frames:
        names = {name: iri.value for frame in frames for name, iri in frame.namespaces}
    assert names == {"ex": "http://example.org/", "rdf": str(RDF), "xsd": str(namespace.XSD)}


def test_names_of_graphs_count() -> None:
    dataset = Dataset()
    dataset.bind("ex", "http://example.org/")
    dataset.add((URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"), URIRef("http://example.org/g")))
    out = io.BytesIO()
    dataset.serialize(out, format="rdf-thrift", namespaces="used")
    assert b"http://example.org/" in out.getvalue()
    assert b"http://www.w3.org/2001/XMLSchema#" not in out.getvalue()
