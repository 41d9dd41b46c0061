"""Settings that are misspelt, and what is given in place of a graph."""

from __future__ import annotations

from pathlib import Path

import pytest
from rdflib import Dataset, Graph

from jelly_plugins.rdflib import positions, record, replay, write_graphs


@pytest.mark.parametrize("format_", ["jelly-plugins", "rdf-thrift", "rdf-protobuf"])
def test_a_setting_that_there_is_not(format_: str, tmp_path: Path) -> None:
    for graph in (Graph(), Dataset()):
        with pytest.raises(TypeError, match=r"no setting 'nonsense'$"):
            graph.serialize(tmp_path / "x", format=format_, nonsense=1)


def test_the_one_that_was_meant_is_named(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"'frame_row'; did you mean frame_rows\?"):
        Graph().serialize(tmp_path / "x.jelly", format="jelly-plugins", frame_row=1)
    with pytest.raises(TypeError, match=r"did you mean namespaces\?"):
        Graph().serialize(tmp_path / "x.rt", format="rdf-thrift", namespace=True)


def test_a_string_of_namespaces_that_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="namespaces must be True, False, 'used' or a mapping"):
        Graph().serialize(format="jelly-plugins", namespaces="user", encoding="utf-8")
    with pytest.raises(ValueError, match="namespaces must be True, False, 'used' or a mapping"):
        write_graphs([Graph()], tmp_path / "x.jelly", namespaces="all")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_path_is_no_graph(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"an rdflib\.Graph is needed, not 'data\.ttl'"):
        record("data.ttl", tmp_path / "log.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an rdflib\.Graph is needed, not 'log\.jellyp'"):
        replay("log.jellyp", Graph())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an rdflib\.Graph is needed, not 'data\.ttl'"):
        positions("data.ttl")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an rdflib\.Graph is needed, not 'data\.ttl'"):
        write_graphs(["data.ttl"], tmp_path / "x.jelly")  # type: ignore[list-item]
    assert list(tmp_path.iterdir()) == []


def test_one_graph_is_not_several(tmp_path: Path) -> None:
    graph = Graph().parse(data="<urn:s> <urn:p> <urn:o> .", format="turtle")
    with pytest.raises(TypeError, match=r"for one graph, give \[graph\]"):
        write_graphs(graph, tmp_path / "x.jelly")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
