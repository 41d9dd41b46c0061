"""Real files through rdflib: isomorphic to their sources, in every way in and out."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from rdflib import Dataset, Graph
from rdflib.compare import isomorphic

from jelly_plugins import read_frames
from jelly_plugins.codec import delimit
from jelly_plugins.rdflib import read_graphs, read_statements

from ..shared_data import shared
from .support import parse, to_bytes

FRAMES = 20


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first frames of the weather stream, as a stream of its own."""
    path = tmp_path_factory.mktemp("weather") / "slice.jelly"
    source = shared("data/assist-iot-weather_100kt.jelly.gz")
    with read_frames(source) as frames, path.open("wb") as out:
        for _ in islice(frames, FRAMES):
            out.write(delimit(frames.data))
    return path


def test_a_stream_of_sensor_data(weather: Path) -> None:
    graph = Graph().parse(weather, format="jelly-plugins")
    statements = set(read_statements(weather, blank_nodes="keep"))
    assert len(graph) == len(statements) > 3000
    assert isomorphic(graph, parse(Graph(), to_bytes(graph)))
    union = Graph()
    for each in read_graphs(weather):
        union += each
    assert len(union) == len(graph)


def test_declared_features_that_are_not_used(weather: Path) -> None:
    with read_frames(weather) as frames:
        assert frames.options.rdf_star
        assert frames.options.generalized_statements
    assert len(Dataset().addN(_quads(weather))) > 3000


def _quads(path: Path) -> Any:
    name = Graph().identifier
    return ((*triple, name) for triple in read_statements(path))


def _ontology(lines: int) -> Graph:
    """The first lines of the Sequence Ontology as rdflib reads it from N-Triples."""
    with gzip.open(shared("data/so.nt.gz")) as file:
        return Graph().parse(data=b"".join(islice(file, lines)), format="nt")


def test_an_ontology_with_blank_nodes() -> None:
    graph = _ontology(15_000)
    data = to_bytes(graph)
    assert set(parse(Graph(), data, blank_nodes="keep")) == set(graph)
    # Fresh nodes are those of the file, one to one.
    nodes: dict[Any, Any] = {}
    for kept, fresh in zip(
        read_statements(data, blank_nodes="keep"), read_statements(data), strict=True
    ):
        for one, other in zip(kept, fresh, strict=True):
            assert nodes.setdefault(one, other) == other
    assert len(set(nodes.values())) == len(nodes) > 5_000


def test_fresh_nodes_are_isomorphic() -> None:
    graph = _ontology(300)
    assert isomorphic(parse(Graph(), to_bytes(graph)), graph)
