"""What is given in place of a store, a graph or an id."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from pyoxigraph import NamedNode, Store

from jelly_plugins.errors import TermError
from jelly_plugins.oxigraph import dump, load, positions, read_quads, record, replay

from .support import G, O, P, Quad, jelly


def test_a_path_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"Store is needed, not 'data\.store'; Store\(path\) opens"):
        load("data.store", tmp_path / "x.jelly")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Store is needed"):
        dump(str(tmp_path), tmp_path / "x.jelly")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Store is needed"):
        record("data.store", tmp_path / "log.jellyp")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Store is needed"):
        replay("log.jellyp", Store())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Store is needed"):
        positions("data.store")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_graph_of_a_dump_is_no_string(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"graph must be a NamedNode, .* \(got 'urn:g'\)$"):
        dump(Store(), tmp_path / "x.jelly", graph="urn:g")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_the_id_of_a_patch_is_a_string() -> None:
    log = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:o> . TC ."
    with pytest.raises(TypeError, match="until must be the id of a patch as a string"):
        replay(Store(), log, until=NamedNode("urn:1"))  # type: ignore[arg-type]
    assert replay(Store(), log, until="urn:1").patches == 1


@pytest.mark.parametrize("blank_nodes", ["keep", "fresh"])
def test_a_graph_for_a_stream_of_quads(blank_nodes: Literal["keep", "fresh"]) -> None:
    source = jelly(Quad(O, P, O, G))
    with pytest.raises(TermError, match="a quad in a named graph"):
        load(Store(), source, graph=NamedNode("urn:g"), blank_nodes=blank_nodes)
    with pytest.raises(TermError, match="a quad in a named graph"):
        list(read_quads(source, graph=NamedNode("urn:g"), blank_nodes=blank_nodes))
