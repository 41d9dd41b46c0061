"""Real files through stores and back: what comes out is what went in."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins.io.streams import encode, read, write_delimited
from jelly_plugins.oxigraph import dump, load, read_quads
from jelly_plugins.oxigraph.terms import describe
from tests.shared_data import shared

from .support import contents


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    """Quads with their blank nodes renamed, equal if they are isomorphic."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


@pytest.mark.parametrize(
    ("name", "new_store"),
    [
        pytest.param("so", "memory", marks=pytest.mark.slow),
        pytest.param("so", "disk", marks=pytest.mark.slow),
        ("qudt-vocab", "disk"),
    ],
    indirect=["new_store"],
)
def test_ontologies(new_store: Callable[[], ox.Store], name: str, tmp_path: Path) -> None:
    text = gzip.decompress(shared(f"data/{name}.nt.gz").read_bytes())
    quads = list(ox.parse(text, ox.RdfFormat.N_TRIPLES))[:30_000]
    path = tmp_path / "source.jelly"
    write_delimited(encode((tuple(quad)[:3] for quad in quads), describe=describe), path)
    # Reading gives the terms to the letter; only a store changes literals.
    assert list(read_quads(path)) == quads

    source = ox.Store()
    source.extend(quads)
    store = new_store()
    assert load(store, path) == len(quads)
    if any(isinstance(quad.subject, ox.BlankNode) for quad in quads):
        assert contents(store) != contents(source)
    assert canonical(store) == canonical(source)

    back = tmp_path / "back.jelly.gz"
    assert dump(store, back) == len(source)
    assert contents(read_quads(back)) == contents(store)


def test_observations(new_store: Callable[[], ox.Store], tmp_path: Path) -> None:
    path = shared("data/assist-iot-weather_100kt.jelly.gz")
    store = new_store()
    assert load(store, path, graph=ox.NamedNode("urn:weather")) == 100_000
    assert len(store) == 70_469
    source = ox.Store()
    source.extend(read_quads(path))
    back = tmp_path / "back.jelly"
    assert dump(store, back, graph=ox.NamedNode("urn:weather")) == 70_469
    assert contents(read_quads(back)) == contents(source)
    # Far fewer bytes than the text, and readable without pyoxigraph.
    assert sum(1 for _ in read(back)) == 70_469
