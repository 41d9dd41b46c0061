"""Sources of any format into stores: the same as Oxigraph's own parsers load."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError, TextError, convert
from jelly_plugins.oxigraph import load

from .. import programs

TRIG = b"""@prefix ex: <http://example.org/> .
ex:s ex:p 1.50 , "a\\nb"@en . ex:g { ex:s ex:p _:b . _:b ex:p "x" . } """
GRAPHS = ["nquads", "trig", "json-ld", "rt", "rpb", "jelly", "jelly-text"]
TRIPLES = ["nt", "turtle", "rdf/xml"]


def converted(data: bytes, source: str, target: str) -> bytes:
    out = io.BytesIO()
    convert(data, out, source_format=source, target_format=target)
    return out.getvalue()


def canonical(store: ox.Store) -> ox.Dataset:
    dataset = ox.Dataset(store)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


@pytest.mark.parametrize("name", GRAPHS)
def test_quads(name: str) -> None:
    store, expected = ox.Store(), ox.Store()
    expected.bulk_load(TRIG, ox.RdfFormat.TRIG)
    data = converted(TRIG, "trig", name)
    direct = name in ("nquads", "trig")
    assert load(store, data, format=name) == (None if direct else 4)
    assert canonical(store) == canonical(expected)
    counted: list[int] = []
    assert load(ox.Store(), data, format=name, progress=counted.append) == sum(counted) == 4


@pytest.mark.parametrize("name", TRIPLES)
def test_triples_into_a_graph(name: str, tmp_path: Path) -> None:
    data = converted(b"<urn:s> <urn:p> _:b . _:b <urn:p> 1 .", "turtle", name)
    store = ox.Store(str(tmp_path / "store"))
    graph = ox.NamedNode("urn:g")
    for _ in range(2):
        assert load(store, data, format=name, graph=graph) in (None, 2)
    assert len(list(store.quads_for_pattern(None, None, None, graph))) == len(store) == 4
    for _ in range(2):
        load(store, data, format=name, graph=graph, blank_nodes="canonicalize")
    assert len(store) == 6


def test_the_name_gives_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x.trig.gz"
    path.write_bytes(gzip.compress(TRIG))
    found: dict[str, str] = {}
    assert load(ox.Store(), path, on_namespace=found.__setitem__) == 4
    assert found == {"ex": "http://example.org/"}


def test_errors_leave_the_store_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "x.ttl"
    path.write_text("<urn:s> <urn:p> <urn:o> .\n<urn:s> <rel> 1 .")
    store = ox.Store()
    with pytest.raises(TextError, match="need a base") as caught:
        load(store, path)
    assert (caught.value.source, caught.value.line, len(store)) == (str(path), 2, 0)
    load(store, path, base="http://example.org/")
    assert len(store) == 2
    with pytest.raises(JellyError, match="text, not Jelly"):
        load(store, TRIG)
    with pytest.raises(ValueError, match="turtle"):
        load(store, TRIG, format="turtel")


def test_base_directions() -> None:
    store = ox.Store()
    load(store, b'<urn:s> <urn:p> "x"@ar--rtl .', format="turtle")
    assert next(iter(store)).object.direction == ox.BaseDirection.RTL


LONG_NAMESPACE = """
import resource
from pyoxigraph import Store
from jelly_plugins.oxigraph import load

name = b"http://example.org/" + b"x" * 4000
text = b"@prefix x: <" + name + b"> .\\n" + b"x:s x:p x:o .\\n" * 75_000
store = Store()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
load(store, text, format="turtle")
assert len(store) == 1
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_long_namespace_is_not_held_for_each_statement() -> None:
    done = programs.run(LONG_NAMESPACE)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 50
