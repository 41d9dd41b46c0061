"""Random statements for hypothesis, small enough that lookups overflow often."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from jelly_plugins import DEFAULT_GRAPH, BlankNode, Iri, Literal, Triple

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
#: Few of each, so that statements share them, but more than the small tables can hold.
prefixes = st.sampled_from(["", "http://a/", "http://a/b#", "urn:", "é/", "#", "//", "c/", "d/"])
names = st.sampled_from([*"abcdefghijklmnop", "", "ü", "x" * 130])
iris = st.builds(lambda prefix, name: Iri(prefix + name), prefixes, names) | st.builds(Iri, text)
blank_nodes = st.builds(BlankNode, st.sampled_from("abc") | text)
datatypes = st.sampled_from([f"urn:d{number}" for number in range(6)])
literals = (
    st.builds(Literal, text)
    | st.builds(Literal, text, langtag=st.sampled_from(["en", "EN-gb", "x"]))
    | st.builds(Literal, text, datatype=datatypes)
    | st.builds(Literal, st.just("long " * 60))
)


def triples(generalized: bool, star: bool) -> st.SearchStrategy[Triple]:
    """Triples of RDF 1.1, or with everything that the options allow."""
    if generalized:
        subjects: Any = iris | blank_nodes | literals
        predicates: Any = subjects
    else:
        subjects = iris | blank_nodes
        predicates = iris
    objects: Any = iris | blank_nodes | literals
    plain = st.builds(Triple, subjects, predicates, objects)
    if not star:
        return plain

    def quote(quoted: st.SearchStrategy[Triple]) -> st.SearchStrategy[Triple]:
        predicate = predicates | quoted if generalized else predicates
        return st.builds(Triple, subjects | quoted, predicate, objects | quoted)

    return st.recursive(plain, quote, max_leaves=4)


def graph_names(generalized: bool) -> st.SearchStrategy[Any]:
    """Names of graphs, including the default graph."""
    return st.just(DEFAULT_GRAPH) | iris | blank_nodes | (literals if generalized else st.nothing())
