"""The generic terms: equality, and copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Limits, Literal, Quad, TermError, Triple
from jelly_plugins.codec import DefaultGraph, GenericFactory, Kind, describe

XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"
TERMS: list[Any] = [
    Iri("a"),
    Iri("A"),
    BlankNode("a"),
    Literal("a"),
    Literal("a", langtag="en"),
    Literal("a", langtag="EN"),
    Literal("a", datatype="en"),
    Triple(Iri("a"), Iri("a"), Iri("a")),
    Triple(Iri("a"), Iri("a"), BlankNode("a")),
    Quad(Iri("a"), Iri("a"), Iri("a"), Iri("a")),
    DEFAULT_GRAPH,
]


def test_terms_are_equal_only_to_themselves() -> None:
    assert len(set(TERMS)) == len(TERMS)
    for number, term in enumerate(TERMS):
        assert [other == term for other in TERMS] == [n == number for n in range(len(TERMS))]
        assert term != "a"


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_terms_survive_copying(term: Any) -> None:
    for other in (copy.copy(term), copy.deepcopy(term), pickle.loads(pickle.dumps(term))):
        assert other == term
        assert type(other) is type(term)
        assert hash(other) == hash(term)
    assert pickle.loads(pickle.dumps(DEFAULT_GRAPH)) is DEFAULT_GRAPH


def test_only_the_datatype_of_strings_is_normalised() -> None:
    assert Literal("a", datatype=XSD_STRING) == Literal("a")
    assert Literal("a", datatype=XSD_STRING).datatype is None
    with pytest.raises(TermError):
        Literal("a", langtag="en", datatype="urn:d")


def test_describe_returns_the_parts_given_to_the_factory() -> None:
    make = GenericFactory()
    iri, node = make.iri("urn:i"), make.blank_node("b")
    literal = make.literal("x", None, "urn:d")
    quoted = make.quoted_triple(iri, iri, literal)
    assert describe(iri) == (Kind.IRI, "urn:i")
    assert describe(node) == (Kind.BLANK_NODE, "b")
    assert describe(literal) == (Kind.LITERAL, "x", None, "urn:d")
    assert describe(make.literal("x", "en", None)) == (Kind.LITERAL, "x", "en", None)
    assert describe(quoted) == (Kind.TRIPLE, iri, iri, literal)
    assert describe(make.default_graph) == (Kind.DEFAULT_GRAPH,)
    assert describe(DefaultGraph()) == (Kind.DEFAULT_GRAPH,)
    for other in (None, "urn:i", 5, (iri, iri, iri), Quad(iri, iri, iri, iri)):
        with pytest.raises(TermError, match="not a term"):
            describe(other)


def test_limits_are_not_negative() -> None:
    with pytest.raises(ValueError, match="frame_bytes must not be negative"):
        Limits(frame_bytes=-1)
