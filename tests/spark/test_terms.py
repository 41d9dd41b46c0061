"""Terms in Arrow columns, taken apart and put together. No Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins import BlankNode, Iri, Literal, Triple
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.errors import TermError
from jelly_plugins.spark.datasource.terms import join_terms, split_terms

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NAMES = ("value", "kind", "datatype", "language")
STRUCT = pa.struct([(name, pa.string()) for name in NAMES])

TRIPLE = Triple(Iri("urn:s"), Iri("urn:p"), Literal("<x>"))
TERMS = {
    Iri("urn:s"): ("urn:s", "iri", None, None),
    Iri("urn:a b\\é"): ("urn:a b\\é", "iri", None, None),
    BlankNode("b.1"): ("b.1", "blank_node", None, None),
    Literal(""): ("", "literal", XSD + "string", None),
    Literal('a "b"\\\n\té😀\x00'): ('a "b"\\\n\té😀\x00', "literal", XSD + "string", None),
    Literal("\\u0041"): ("\\u0041", "literal", XSD + "string", None),
    Literal("x", "en-GB"): ("x", "literal", RDF + "langString", "en-GB"),
    Literal('"@en', "de"): ('"@en', "literal", RDF + "langString", "de"),
    Literal("1", None, XSD + "integer"): ("1", "literal", XSD + "integer", None),
    Literal('"^^<x>', None, "urn:a b"): ('"^^<x>', "literal", "urn:a b", None),
    TRIPLE: (term_text(TRIPLE), "triple", None, None),
}


def test_terms_come_apart_and_together() -> None:
    texts = pa.array([*map(term_text, TERMS), None, term_text(Iri("urn:s"))])
    split = split_terms(texts, STRUCT)
    expected = [dict(zip(NAMES, parts, strict=True)) for parts in TERMS.values()]
    assert split.to_pylist() == [*expected, None, expected[0]]
    assert join_terms(split).equals(texts)
    # Also of a slice, and of nothing.
    assert join_terms(split.slice(2, 3)).equals(texts.slice(2, 3))
    assert join_terms(split_terms(texts.slice(0, 0), STRUCT)).to_pylist() == []


@given(
    st.lists(
        st.one_of(
            st.builds(Literal, st.text()),
            st.builds(Literal, st.text(), st.just(None), st.text(min_size=1).map("urn:".__add__)),
            st.builds(Iri, st.text().map("urn:".__add__)),
        )
    )
)
def test_any_characters(terms: list[Iri | Literal]) -> None:
    texts = pa.array(list(map(term_text, terms)), pa.string())
    split = split_terms(texts, STRUCT)
    values = [term.value if isinstance(term, Iri) else term.lex for term in terms]
    assert split.field("value").to_pylist() == values
    assert join_terms(split).equals(texts)


def test_invalid_terms_are_rejected() -> None:
    for term, message in (
        ({"value": "x", "kind": "uri"}, r"kind of a term must be .*got 'uri'"),
        ({"value": "x"}, r"kind of a term must be .*got None"),
        ({"kind": "iri"}, "a term has no value"),
    ):
        with pytest.raises(TermError, match=message):
            join_terms(pa.array([term], STRUCT))
