"""Labels that Oxigraph cannot hold: the same node whatever way it goes, and no other."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Graph

from jelly_plugins import BlankNode, Quad, TermError, read
from jelly_plugins.codec.text.ntriples import written_label
from jelly_plugins.oxigraph import BOOKKEEPING, dump, load, record, replay
from jelly_plugins.patch import diff, read_patches
from jelly_plugins.rdflib import replay as replay_into_rdflib

from .support import P, jelly

#: Odd labels, their replacements, the replacements of these, and labels that only look like them.
LABELS = ["", "b0", "a b", "é ", "label-", "label-61", "label-zz", "label-612", "label-4A"]
for _ in range(2):
    LABELS += [written_label(label) for label in LABELS]
LABELS = list(dict.fromkeys(LABELS))

labels = st.lists(st.text(max_size=3) | st.sampled_from(LABELS), min_size=1, max_size=8)


def quads(labels: list[str]) -> list[Quad]:
    nodes = map(BlankNode, labels)
    return [Quad(node, P, node, node) for node in dict.fromkeys(nodes)]


def contents(store: ox.Store) -> set[Any]:
    file = io.BytesIO()
    dump(store, file)
    return set(read(file.getvalue()))


def data(store: ox.Store) -> set[ox.Quad]:
    return {quad for quad in store if quad.graph_name != BOOKKEEPING}


def loaded(statements: list[Quad]) -> ox.Store:
    store = ox.Store()
    load(store, jelly(*statements), blank_nodes="keep")
    return store


@given(labels)
@settings(deadline=None)
def test_dump_and_load(labels: list[str]) -> None:
    statements = quads(labels)
    store = loaded(statements)
    assert contents(store) == set(statements)
    file = io.BytesIO()
    dump(store, file)
    copy = ox.Store()
    load(copy, file.getvalue(), blank_nodes="keep")
    assert set(copy) == set(store)


def test_a_label_with_a_surrogate() -> None:
    with pytest.raises(TermError, match="surrogate"):
        jelly(*quads(["\ud800"]))


@given(labels, labels)
@settings(deadline=None, max_examples=30)
def test_a_difference_applied(old: list[str], new: list[str]) -> None:
    before, after = loaded(quads(old)), loaded(quads(new))
    replay(before, [diff(before, after)])
    assert data(before) == data(after)
    # Nor does it matter on which side the store is.
    again = loaded(quads(old))
    replay(again, [diff(again, quads(new))])
    assert data(again) == data(after)


@pytest.mark.parametrize("suffix", ["jellyp", "rdfp"])
def test_recording(tmp_path: Path, suffix: str) -> None:
    statements = quads(LABELS)
    source = list(loaded(statements))
    path = tmp_path / f"log.{suffix}"
    store, copy, graph = ox.Store(), ox.Store(), Graph()
    quoted = ox.Quad(source[0].subject, source[0].predicate, ox.Triple(*source[1].triple))
    with record(store, path) as recorder:
        # As text, and term by term.
        recorder.extend(source[::2])
        recorder.extend([*source[1::2], quoted])
        recorder.remove(quoted)
    replay(copy, path, check_unmatched=True)
    assert data(copy) == data(store) == set(source)
    first, second, _ = read_patches(path)
    added = {each.value for patch in (first, second) for each in patch if each.kind.code == "A"}
    assert added >= set(statements)
    assert {term.value for term in data(store) for term in [term.subject]} == set(
        map(written_label, LABELS)
    )
    rows = b"".join(b"A <_:%b> <urn:p> <urn:o> .\n" % label.encode() for label in ("x", "label-61"))
    replay_into_rdflib(graph, rows)
    assert {subject for subject, _, _ in graph} == {BNode("x"), BNode("label-61")}
