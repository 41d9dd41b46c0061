"""Graphs over an Oxigraph store (oxrdflib): Jelly goes straight to the store inside."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from rdflib import BNode, Dataset, Graph, Literal, URIRef

import jelly_plugins
from jelly_plugins import (
    JellyError,
    LogicalType,
    PhysicalType,
    StreamOptions,
    TermError,
    TruncatedError,
    read_frames,
)
from jelly_plugins.backends import get_backend
from jelly_plugins.rdflib.plugin.load import load

from .support import (
    DEFAULT_GRAPH,
    EX,
    GRAPHS,
    QUADS,
    BlankNode,
    Frame,
    G,
    Iri,
    O,
    P,
    Quad,
    S,
    Triple,
    conjunctive_graph,
    default_graph,
    jelly,
    jelly_frames,
    parse,
    quads_of,
    same_dataset,
    sample_dataset,
    sample_graph,
    to_bytes,
)

pytest.importorskip("oxrdflib")
pytest.importorskip("jelly_plugins.oxigraph")

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")

TRIPLE = (URIRef(EX + "s"), URIRef(EX + "p"), URIRef(EX + "o"))
STATEMENTS = [
    Quad(S, P, O, DEFAULT_GRAPH),
    Quad(S, P, O, G),
    Quad(S, P, O, BlankNode("b")),
]


class Calls:
    """Counts what goes through the backend ``oxigraph``."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backend = type(get_backend("oxigraph"))
        self.load = self.dump = 0
        for name in ("load", "dump"):
            counting = staticmethod(self._counting(name, getattr(backend, name)))
            monkeypatch.setattr(backend, name, counting)

    def _counting(self, name: str, method: Any) -> Any:
        def counted(*args: Any, **settings: Any) -> Any:
            setattr(self, name, getattr(self, name) + 1)
            return method(*args, **settings)

        return counted


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def make(kind: str) -> Any:
    if kind == "ConjunctiveGraph":
        return conjunctive_graph(store="Oxigraph")
    return {"Graph": Graph, "Dataset": Dataset}[kind](store="Oxigraph")


def test_triples_go_straight_into_the_graph(calls: Calls) -> None:
    for identifier in (None, URIRef(EX + "g"), BNode()):
        graph = Graph(store="Oxigraph", identifier=identifier)
        parse(graph, jelly([Triple(S, P, O)], namespaces={"mine": EX}))
        assert set(graph) == {TRIPLE}
        assert len(graph) == 1
        assert dict(graph.namespaces())["mine"] == URIRef(EX)
    assert calls.load == 3


@pytest.mark.parametrize("options", [QUADS, GRAPHS])
def test_quads_go_straight_into_the_dataset(options: StreamOptions, calls: Calls) -> None:
    dataset = make("Dataset")
    parse(dataset, jelly(STATEMENTS, options=options), blank_nodes="keep")
    assert quads_of(dataset) | {(*TRIPLE, None)} == {
        (*TRIPLE, None),
        (*TRIPLE, URIRef(EX + "g")),
        (*TRIPLE, BNode("b")),
    }
    assert set(default_graph(dataset)) == {TRIPLE}
    assert calls.load == 1


def test_triples_go_into_the_default_graph_of_a_dataset(calls: Calls) -> None:
    dataset = parse(make("Dataset"), jelly([Triple(S, P, O)]))
    assert set(default_graph(dataset)) == {TRIPLE}
    assert calls.load == 1


def test_a_graph_of_a_dataset_takes_triples_alone(calls: Calls) -> None:
    dataset = make("Dataset")
    named = dataset.graph(EX + "mine")
    parse(named, jelly([Triple(S, P, O)]))
    assert set(named) == {TRIPLE}
    assert len(default_graph(dataset)) == 0
    with pytest.raises(TermError, match="a quad in a named graph") as caught:
        parse(named, jelly(STATEMENTS))
    assert any("rdflib.Dataset" in note for note in caught.value.__notes__)
    assert calls.load == 2


def test_a_conjunctive_graph_has_its_own_default_graph() -> None:
    graph = make("ConjunctiveGraph")
    load(graph, jelly(STATEMENTS), blank_nodes="keep")
    assert set(default_graph(graph)) == {TRIPLE}
    assert set(graph.get_context(URIRef(EX + "g"))) == {TRIPLE}
    again = make("ConjunctiveGraph")
    parse(again, jelly(STATEMENTS), blank_nodes="keep")
    assert set(default_graph(again)) == {TRIPLE}
    assert set(again.get_context(URIRef(EX + "g"))) == {TRIPLE}
    with pytest.raises(TermError, match="the store rejected"):
        load(graph, jelly([Triple(Iri("no IRI"), P, O)]))
    data = to_bytes(graph)
    assert quads_of(parse(Dataset(), data, blank_nodes="keep")) == {
        (*TRIPLE, None),
        (*TRIPLE, URIRef(EX + "g")),
        (*TRIPLE, BNode("b")),
    }


def test_empty_graphs_exist_afterwards() -> None:
    dataset = parse(make("Dataset"), jelly_frames([Frame(0, empty_graphs=[G])], options=GRAPHS))
    assert [context.identifier for context in dataset.store.contexts()] == [URIRef(EX + "g")]
    with read_frames(to_bytes(dataset)) as frames:
        assert [frame.graphs for frame in frames] == [[G]]


@pytest.mark.parametrize("kind", ["Graph", "Dataset"])
def test_bad_input_leaves_the_store_as_it_was(kind: str, calls: Calls) -> None:
    graph = make(kind)
    parse(graph, jelly([Triple(S, P, O)]))
    bound = dict(graph.namespaces())
    for data in (
        to_bytes(sample_graph(), namespaces={"mine": EX})[:-1],
        jelly([Triple(S, P, S)], namespaces={"a b": EX}),
        jelly([Triple(S, P, S), Triple(Iri("no IRI"), P, O)], namespaces={"mine": EX}),
        jelly(
            [Triple(S, P, S), Triple(BlankNode("b"), BlankNode("b"), O)],
            options=StreamOptions(generalized_statements=True),
        ),
    ):
        for generalized in (True, False):
            with pytest.raises(JellyError):
                parse(graph, data, generalized=generalized)
            assert set(graph.triples((None, None, None))) == {TRIPLE}
            assert dict(graph.namespaces()) == bound
    assert calls.load == 9


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.gz"
    path.write_bytes(gzip.compress(to_bytes(sample_graph())[:-1]))
    with pytest.raises(TruncatedError, match=r"x\.jelly\.gz: frame"):
        make("Graph").parse(path, format="jelly-plugins")


@pytest.mark.parametrize("blank_nodes", ["fresh", "keep"])
def test_blank_nodes(blank_nodes: Any) -> None:
    graph = make("Graph")
    for _ in range(2):
        parse(graph, jelly([Triple(BlankNode("b"), P, O)]), blank_nodes=blank_nodes)
    assert len(graph) == {"fresh": 2, "keep": 1}[blank_nodes]


@pytest.mark.parametrize("kind", ["Graph", "Dataset"])
def test_both_ways(kind: str, calls: Calls, tmp_path: Path) -> None:
    sample = sample_graph() if kind == "Graph" else sample_dataset()
    graph = parse(make(kind), to_bytes(sample))
    back = parse(type(graph)(), to_bytes(graph))
    same = sample.isomorphic if kind == "Graph" else lambda other: same_dataset(sample, other)
    assert same(back)
    assert (calls.load, calls.dump) == (1, 1)
    path = tmp_path / "x.jelly.gz"
    graph.serialize(path, format="jelly-plugins", namespaces={"mine": EX}, frame_rows=10)
    target = type(graph)()
    target.parse(path, format="jelly-plugins")
    assert same(target)
    with read_frames(path) as frames:
        assert frames.compression == "gzip"
        assert next(frames).namespaces == [("mine", Iri(EX))]


def test_one_graph_of_a_dataset_is_written_alone(calls: Calls) -> None:
    dataset = parse(make("Dataset"), to_bytes(sample_dataset()))
    for graph in (default_graph(dataset), dataset.graph(EX + "g1")):
        copy = Graph()
        copy += graph
        back = parse(Graph(), to_bytes(graph), blank_nodes="keep")
        # By way of a copy, because oxrdflib gives plain literals the datatype xsd:string.
        assert set(back) == set(parse(Graph(), to_bytes(copy), blank_nodes="keep"))
        assert len(back) == len(graph)
    assert calls.dump == 2


@pytest.mark.parametrize(
    ("physical_type", "logical_type"),
    [
        (PhysicalType.TRIPLES, LogicalType.GRAPHS),
        (PhysicalType.TRIPLES, LogicalType.SUBJECT_GRAPHS),
        (PhysicalType.QUADS, LogicalType.FLAT_QUADS),
        (PhysicalType.GRAPHS, LogicalType.DATASETS),
    ],
)
def test_a_graph_with_other_types(physical_type: PhysicalType, logical_type: LogicalType) -> None:
    sample = sample_graph()
    graph = parse(make("Graph"), to_bytes(sample))
    options = StreamOptions(physical_type=physical_type, logical_type=logical_type)
    assert parse(Graph(), to_bytes(graph, options=options)).isomorphic(sample)


@pytest.mark.parametrize(
    ("physical_type", "logical_type"),
    [
        (PhysicalType.QUADS, LogicalType.UNSPECIFIED),
        (PhysicalType.QUADS, LogicalType.DATASETS),
        (PhysicalType.GRAPHS, LogicalType.FLAT_QUADS),
        (PhysicalType.GRAPHS, LogicalType.DATASETS),
        (PhysicalType.GRAPHS, LogicalType.TIMESTAMPED_NAMED_GRAPHS),
    ],
)
def test_a_dataset_with_other_types(physical_type: PhysicalType, logical_type: LogicalType) -> None:
    sample = sample_dataset()
    dataset = parse(make("Dataset"), to_bytes(sample))
    options = StreamOptions(physical_type=physical_type, logical_type=logical_type)
    assert same_dataset(parse(Dataset(), to_bytes(dataset, options=options)), sample)


def test_a_store_that_is_only_derived_from_oxrdflibs_goes_the_public_way(calls: Calls) -> None:
    import oxrdflib

    class Mine(oxrdflib.OxigraphStore):  # type: ignore[misc]
        added = 0

        def addN(self, quads: Any) -> None:  # noqa: N802
            quads = list(quads)
            self.added += len(quads)
            super().addN(quads)

    graph = Graph(store=Mine())
    parse(graph, jelly([Triple(S, P, O)]))
    assert graph.store.added == 1  # type: ignore[attr-defined]
    assert calls.load == 0
    assert set(parse(Graph(), to_bytes(graph))) == {TRIPLE}


def test_the_store_canonicalises_literals() -> None:
    graph = make("Graph").add((*TRIPLE[:2], Literal("01", datatype=EX + "d")))
    data = jelly(
        [Triple(S, P, _integer("01")), Triple(S, P, _integer("1"))],
    )
    parse(graph, data)
    assert {str(value) for value in graph.objects()} == {"01", "1"}
    assert len(graph) == 2


def _integer(lex: str) -> Any:
    return jelly_plugins.Literal(lex, datatype="http://www.w3.org/2001/XMLSchema#integer")
