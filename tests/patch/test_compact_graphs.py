"""A triple and a quad in the default graph are one statement to ``compact``."""

from __future__ import annotations

import io

import pyoxigraph as ox

from jelly_plugins import DEFAULT_GRAPH, Iri, Quad, Triple
from jelly_plugins.oxigraph import replay
from jelly_plugins.patch import (
    Patch,
    add,
    add_namespace,
    compact,
    delete,
    delete_namespace,
    write_patches,
)

TRIPLE = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
QUAD = Quad(*TRIPLE, DEFAULT_GRAPH)


def test_statements_cancel_out_in_either_form() -> None:
    for one, other in ((TRIPLE, QUAD), (QUAD, TRIPLE)):
        patches = [Patch([add(one)]), Patch([delete(other)])]
        assert compact(patches, exact=True).operations == []
        [_, operation, _] = compact(patches).operations
        assert operation == delete(other)


def test_the_compacted_log_leaves_the_same_store() -> None:
    patches = [Patch([add(TRIPLE)]), Patch([delete(QUAD)])]
    store = ox.Store()
    replay(store, write_bytes(compact(patches)))
    assert len(list(store.quads_for_pattern(None, None, None, ox.DefaultGraph()))) == 0


def test_namespaces_of_the_default_graph_in_either_form() -> None:
    iri = Iri("urn:ex")
    bound = Patch([add_namespace("ex", iri, None)])
    unbound = Patch([delete_namespace("ex", None, DEFAULT_GRAPH)])
    [_, operation, _] = compact([bound, unbound]).operations
    assert operation.kind.code == "PD"


def write_bytes(patch: Patch) -> bytes:
    out = io.BytesIO()
    write_patches([patch], out)
    return out.getvalue()
