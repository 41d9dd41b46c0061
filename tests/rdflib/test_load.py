"""Any format into rdflib's graphs: the same as by rdflib's own parsers."""

from __future__ import annotations

import gzip
import io
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import Dataset, Graph
from rdflib.compare import isomorphic

from jelly_plugins import read_frames
from jelly_plugins.codec import delimit
from jelly_plugins.rdflib import load, read_graphs, read_statements

from ..conversions import converted
from ..shared_data import shared
from .support import parse, to_bytes

TURTLE = b"""@prefix ex: <http://example.org/> .
ex:alice ex:knows ex:bob, [ ex:name "Carol"@en ] ; ex:age 042 ; ex:is true ; ex:note "a\\nb" .
"""
TRIG = b"""@prefix ex: <http://example.org/> .
ex:s ex:p 1.50 . ex:g { ex:s ex:p _:b . _:b ex:p "x" . } """

# rdflib's own parsers use what rdflib warns of.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("name", ["nt", "turtle", "xml", "nquads", "trig"])
def test_plugins(name: str) -> None:
    has_graphs = name in ("nquads", "trig")
    given, make = (TRIG, Dataset) if has_graphs else (TURTLE, Graph)
    form = "rdf/xml" if name == "xml" else name
    data = converted(given, "trig" if has_graphs else "turtle", form)
    for source in (data, data.decode(), io.BytesIO(data), io.StringIO(data.decode())):
        found: Any = make()
        is_data = isinstance(source, bytes | str)
        found.parse(**{"data" if is_data else "source": source}, format=f"jelly-plugins-{name}")
        if has_graphs:
            assert len(found) == 3
        else:
            assert isomorphic(found, Graph().parse(data=TURTLE, format="turtle"))


def test_a_store_without_contexts() -> None:
    graph = Graph(store="SimpleMemory")
    load(graph, TURTLE, format="turtle")
    assert isomorphic(graph, Graph().parse(data=TURTLE, format="turtle"))


@pytest.mark.parametrize("name", ["so", "qudt-vocab"])
def test_real_data(name: str) -> None:
    path = shared(f"data/{name}.nt.gz")
    # A part, because rdflib takes long.
    with gzip.open(path) as file:
        data = b"".join(islice(file, 15_000))
    ours, theirs = Graph(), Graph()
    statements = load(ours, gzip.compress(data), format="nt")
    theirs.parse(data=data, format="nt11")
    assert statements >= len(ours) == len(theirs)

    def without_nodes(graph: Graph) -> set[Any]:
        return {each for each in graph if not any(isinstance(t, rdflib.BNode) for t in each)}

    assert without_nodes(ours) == without_nodes(theirs)


#: Number of the first frames of a real stream.
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
