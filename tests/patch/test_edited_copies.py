"""Real data and edited copies of it: the difference gives the new data, its inverse the old.

The default run takes the first lines of each file, the slow one all of them.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Graph

from jelly_plugins import Iri, oxigraph, rdflib
from jelly_plugins.codec.common.conversion import convert
from jelly_plugins.codec.text.ntriples import parse_ntriples
from jelly_plugins.patch import (
    Patch,
    check,
    diff,
    invert,
)
from jelly_plugins.rdflib.terms import RdflibFactory

from ..cli.command import jelly
from ..oxigraph.replays import data
from ..shared_data import shared

#: Lines of the short form.
SHORT = 1500

ROUNDS = [
    pytest.param("so.nt.gz", SHORT, id="so"),
    pytest.param("qudt-vocab.nt.gz", SHORT, id="qudt"),
    pytest.param("so.nt.gz", None, id="so-whole", marks=pytest.mark.slow),
    pytest.param("qudt-vocab.nt.gz", None, id="qudt-whole", marks=pytest.mark.slow),
]


class Copies:
    """A file, and a copy of which a tenth was deleted and a tenth changed."""

    def __init__(self, name: str, count: int | None, folder: Path) -> None:
        lines = gzip.decompress(shared(f"data/{name}").read_bytes()).splitlines(keepends=True)
        lines = list(dict.fromkeys(lines[:count]))
        edited = []
        pick = random.Random(3)
        for number, line in enumerate(lines):
            kind = pick.random()
            if kind < 0.1:
                continue
            if kind < 0.2:
                subject, predicate, _ = line.split(b" ", 2)
                line = b'%b %b "changed %d" .\n' % (subject, predicate, number)
            edited.append(line)
        self.old, self.new = folder / "old.nt", folder / "new.nt"
        self.old.write_bytes(b"".join(lines))
        self.new.write_bytes(b"".join(edited))

    def difference(self) -> Patch:
        return diff(self.old, self.new, id=Iri("urn:there"), blank_nodes="keep")


def back(patch: Patch) -> Patch:
    return invert(patch, id=Iri("urn:back"))


@pytest.fixture
def copies(request: pytest.FixtureRequest, tmp_path: Path) -> Copies:
    return Copies(*request.param, tmp_path)


edited = pytest.mark.parametrize(
    "copies",
    [pytest.param(each.values, id=each.id, marks=each.marks) for each in ROUNDS],
    indirect=True,
)


def quads_of(path: Path) -> Iterable[ox.Quad]:
    # With labels as they are, which load() would not keep.
    for triple in ox.parse(path=str(path), format=ox.RdfFormat.N_TRIPLES):
        yield ox.Quad(triple.subject, triple.predicate, triple.object)


@edited
def test_oxigraph(copies: Copies, new_store: Callable[[], ox.Store]) -> None:
    store = new_store()
    store.bulk_extend(quads_of(copies.old))
    patch = copies.difference()
    oxigraph.replay(store, [patch])
    assert data(store) == held(copies.new)
    oxigraph.replay(store, [back(patch)])
    assert data(store) == held(copies.old)


@pytest.fixture(params=["memory", "disk"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], ox.Store]:
    return ox.Store if request.param == "memory" else lambda: ox.Store(tmp_path / "store")


def held(path: Path) -> set[str]:
    """What a store has of a file, its literals as it writes them."""
    store = ox.Store()
    store.extend(quads_of(path))
    return data(store)


def graph_of(path: Path) -> Graph:
    factory = RdflibFactory(blank_nodes="keep")
    graph = Graph()
    for triple in parse_ntriples(path.read_bytes()):
        graph.add(tuple(convert(term, factory) for term in triple))  # type: ignore[arg-type]
    return graph


@edited
def test_rdflib(copies: Copies) -> None:
    graph = graph_of(copies.old)
    patch = copies.difference()
    rdflib.replay(graph, [patch])
    assert set(graph) == set(graph_of(copies.new))
    rdflib.replay(graph, [back(patch)])
    assert set(graph) == set(graph_of(copies.old))


@edited
def test_on_the_command_line(copies: Copies, tmp_path: Path) -> None:
    there, undone, folder = tmp_path / "there.jellyp", tmp_path / "undone.jellyp", tmp_path / "s"
    assert (
        jelly("patch", "diff", copies.old, copies.new, "-o", there, "--blank-nodes", "keep").code
        == 0
    )
    assert check(there)
    assert jelly("convert", copies.old, "-o", tmp_path / "old.jelly").code == 0
    loaded = jelly("load", tmp_path / "old.jelly", "--store", folder, "--blank-nodes", "keep")
    assert loaded.code == 0, loaded
    assert jelly("patch", "apply", there, "--store", folder, "--check-unmatched").code == 0
    assert data(ox.Store(folder)) == held(copies.new)
    assert jelly("patch", "invert", there, "-o", undone).code == 0
    assert jelly("patch", "apply", undone, "--store", folder, "--check-unmatched").code == 0
    assert data(ox.Store(folder)) == held(copies.old)
