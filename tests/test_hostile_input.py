"""Invalid input or arguments of any kind raise a ``JellyError``."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from pyoxigraph import Store
from rdflib import Dataset, Graph

import jelly_plugins.oxigraph
import jelly_plugins.rdflib
from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    Limits,
    Literal,
    Quad,
    Triple,
    read,
)
from jelly_plugins.codec.text.ntriples import statement_text
from jelly_plugins.errors import LimitError, TermError
from jelly_plugins.formats.convert import convert
from jelly_plugins.io.sources import Format
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.patch import (
    BEGIN,
    COMMIT,
    Patch,
    PatchFormat,
    add,
    add_namespace,
    read_patches,
    write_patches,
)
from jelly_plugins.tools.compare import compare_datasets, compare_streams

S, P, OB = Iri("urn:s"), Iri("urn:p"), Iri("urn:o")


def nested(depth: int) -> Triple:
    term = Triple(S, P, OB)
    for _ in range(depth - 1):
        term = Triple(S, P, term)
    return term


#: Functions that accept the caller's patches.
TAKERS: dict[str, Callable[[list[Patch]], Any]] = {
    "oxigraph": lambda patches: jelly_plugins.oxigraph.replay(Store(), patches),
    "rdflib": lambda patches: jelly_plugins.rdflib.replay(Dataset(), patches),
    "rdflib over oxigraph": lambda patches: jelly_plugins.rdflib.replay(
        Dataset(store="Oxigraph"), patches
    ),
    "text": lambda patches: write_patches(patches, io.BytesIO(), format=PatchFormat.RDF_PATCH),
    "jelly": lambda patches: write_patches(patches, io.BytesIO()),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_patches_with_invalid_terms(taker: str) -> None:
    surrogates = Literal("\ud800"), Iri("urn:\ud800"), BlankNode("\ud800"), Literal("x", "\ud800")
    for term in (*surrogates, nested(1500), None, DEFAULT_GRAPH):
        with pytest.raises(JellyError):
            TAKERS[taker]([Patch([BEGIN, add(Quad(S, P, term, DEFAULT_GRAPH)), COMMIT])])  # type: ignore[arg-type]
    for operation in (add(()), add((S, P)), add_namespace("\ud800", S)):
        with pytest.raises(JellyError):
            TAKERS[taker]([Patch([operation])])


def test_a_namespace_in_a_graph_without_a_name() -> None:
    for graph in (Literal("g"), Triple(S, P, OB)):
        store = Store()
        patch = Patch([add(Quad(S, P, OB, DEFAULT_GRAPH)), add_namespace("x", S, graph)])
        with pytest.raises(TermError, match="graph name of a namespace"):
            jelly_plugins.oxigraph.replay(store, [patch])
        assert len(store) == 0


def test_quoted_triples_that_are_nested_too_deeply() -> None:
    # Some libraries raise Python's limit of recursion.
    statement = Triple(S, P, nested(10_000))
    for does in (
        lambda: statement_text(statement),
        lambda: compare_datasets([statement], []),
        lambda: compare_streams([statement], [Triple(S, P, nested(10_000))]),
    ):
        with pytest.raises(LimitError):
            does()
    for opening, closing in (("<<", ">>"), ("<<(", ")>>")):
        quoted = f"{opening} <urn:s> <urn:p> " * 1500 + "<urn:o>" + f" {closing}" * 1500
        text = f"<urn:s> <urn:p> {quoted} .".encode()
        # In the other notation these have reifiers, which cannot be nested.
        others = (Format.TURTLE, Format.TRIG) if opening == "<<(" else ()
        for form in (Format.N_TRIPLES, Format.N_QUADS, *others):
            with pytest.raises(JellyError):
                convert([text], io.BytesIO(), source_format=form, target_format=Format.JELLY)
        with pytest.raises(LimitError):
            list(read_patches(b"A " + text))


def test_frames_of_no_bytes_are_bounded() -> None:
    limits = Limits(empty_frames=10)
    jelly = write_bytes([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))])
    for reads, opening in ((read, jelly), (read_patches, b"")):
        with pytest.raises(LimitError, match="empty_frames"):
            list(reads(opening + bytes(20), limits=limits))


def test_namespaces_are_not_copied_for_each_that_is_added() -> None:
    rows = [BEGIN, *(add_namespace(f"p{at}", Iri(f"urn:{at}:")) for at in range(300)), COMMIT]
    graph = Graph()
    tracemalloc.start()
    try:
        jelly_plugins.rdflib.replay(graph, [Patch(rows)])
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert len(dict(graph.namespaces())) > 300
