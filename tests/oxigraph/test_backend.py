"""Oxigraph as a backend: its entry point, real files, and what it says without
pyoxigraph."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins.io.streams import encode, write_delimited
from jelly_plugins.oxigraph import dump, load, read_quads
from jelly_plugins.oxigraph.terms import describe
from tests.shared_data import shared

from .. import programs
from .support import contents

WITHOUT_PYOXIGRAPH = """
import sys
sys.modules["pyoxigraph"] = None
from jelly_plugins import MissingExtraError
from jelly_plugins.backends import get_backend
try:
    import jelly_plugins.oxigraph
except MissingExtraError as error:
    print(error)
try:
    import jelly_plugins.oxigraph.backend
except ImportError as error:
    print(error)
"""


def test_a_missing_pyoxigraph_is_reported() -> None:
    done = programs.run(WITHOUT_PYOXIGRAPH)
    line = "Oxigraph needs pyoxigraph: pip install 'jelly-plugins[oxigraph]'"
    assert [each.startswith(line) for each in done.stdout.splitlines()] == [True, True]


# Real files through stores and back: what comes out is what went in


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
