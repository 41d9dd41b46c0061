"""pyoxigraph's terms from the factory, and apart again."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    PhysicalType,
    Quad,
    StreamOptions,
    TermError,
    Triple,
    read,
    read_frames,
)
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.oxigraph.terms import OxigraphFactory, describe

from .support import GENERALIZED, REJECTED, G, O, P, S
from .support import jelly as to_jelly

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    "term",
    [
        S,
        Iri("http://example.org/é?q=%20#f"),
        BlankNode("b0"),
        BlankNode("é.1"),
        Literal(""),
        Literal('a\0\t"\\\n\u0085￾'),
        Literal("x", langtag="en-latn-us"),
        Literal("01", datatype=f"{XSD}integer"),
        Literal("x", datatype="urn:d"),
        Literal("x", datatype=f"{RDF}langString"),
        Triple(S, P, O),
        Triple(BlankNode("b"), P, Triple(S, P, Literal("x"))),
        DEFAULT_GRAPH,
    ],
)
def test_terms_survive(term: Any) -> None:
    quad = Quad(S, P, O, term) if term is DEFAULT_GRAPH else Quad(S, P, term, G)
    factory = OxigraphFactory(blank_nodes="keep")
    (frame,) = read_frames(to_jelly(quad), factory=factory)
    (made,) = frame.statements
    assert type(made) is ox.Quad
    options = StreamOptions.flat(PhysicalType.QUADS, rdf_star=True)
    assert list(read(write_bytes([tuple(made)], options=options, describe=describe))) == [quad]


@pytest.mark.parametrize(("statement", "message"), REJECTED)
def test_statements_that_oxigraph_rejects(statement: Any, message: str) -> None:
    good = (S, P, O, G)[: len(statement)]
    data = to_jelly(type(statement)(*good), statement, **GENERALIZED)
    with pytest.raises(TermError, match=message) as caught:
        list(read_frames(data, factory=OxigraphFactory()))
    assert caught.value.frame == 0
    assert caught.value.row is not None
    assert caught.value.row > 5
    assert len(str(caught.value)) < 300


def test_a_base_direction_cannot_be_said() -> None:
    literal = ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)
    with pytest.raises(TermError, match="base direction"):
        describe(literal)


def test_other_objects_are_no_terms() -> None:
    with pytest.raises(TermError, match="not a term of pyoxigraph"):
        describe("urn:s")


#: Labels that Oxigraph rejects, or that it could not read back from its own N-Quads.
ODD_LABELS = [
    "",
    "a b",
    "a.",
    "-a",
    ".",
    ":a",
    "a:b",
    "\n",
    "a\0b",
    "😀 ",
    "<>",
    "label-",
    "label-61",
]


def test_fresh_nodes_are_one_per_label_and_reading() -> None:
    first, second = OxigraphFactory(), OxigraphFactory()
    labels = ["b0", "b1", *ODD_LABELS]
    nodes = [factory.blank_node(label) for factory in (first, second) for label in labels]
    assert len({node.value for node in nodes}) == 2 * len(labels)
    assert [first.blank_node(label) for label in labels] == nodes[: len(labels)]


def test_blank_nodes_are_fresh_or_kept() -> None:
    with pytest.raises(ValueError, match="'fresh' or 'keep'"):
        OxigraphFactory(blank_nodes="old")  # type: ignore[arg-type]
