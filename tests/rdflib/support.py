"""What the tests of rdflib share: streams in generic terms, and comparing datasets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef
from rdflib.compare import isomorphic

from jelly_plugins import Iri, LogicalType, PhysicalType, StreamOptions
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.rdflib.terms import default_graph

S, P, O, G = (Iri(f"http://example.org/{name}") for name in "spog")  # noqa: E741

TRIPLES = StreamOptions(physical_type=PhysicalType.TRIPLES, logical_type=LogicalType.FLAT_TRIPLES)
QUADS = StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.FLAT_QUADS)
GRAPHS = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.FLAT_QUADS)

EX = "http://example.org/"
TRIPLE = (URIRef(EX + "s"), URIRef(EX + "p"), URIRef(EX + "o"))


def jelly(statements: Iterable[tuple[Any, ...]], **settings: Any) -> bytes:
    """A flat stream of statements in generic terms."""
    return write_bytes(statements, **settings)


def conjunctive_graph(**settings: Any) -> ConjunctiveGraph:
    """A ConjunctiveGraph, without rdflib's warning that it is deprecated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return ConjunctiveGraph(**settings)


def parse(graph: Any, data: bytes, **settings: Any) -> Any:
    """Parse with the name that is only ours, and return the graph. (Releases of rdflib differ in
    what ``parse`` returns, and warn of their own use of default_context.)"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        graph.parse(data=data, format="jelly-plugins", **settings)
    return graph


def to_bytes(graph: Graph, **settings: Any) -> bytes:
    """Serialize with the name that is only ours."""
    return graph.serialize(format="jelly-plugins", encoding="utf-8", **settings)


def sample_graph() -> Graph:
    """A graph with every kind of term, several subjects, and blank nodes that refer to others."""
    graph = Graph()
    nodes = [BNode() for _ in range(3)]
    for number, node in enumerate(nodes):
        graph.add((node, URIRef(EX + "next"), nodes[number - 1]))
        graph.add((node, URIRef(EX + "number"), Literal(number)))
    for number in range(20):
        subject = URIRef(f"{EX}subject/{number % 7}")
        graph.add((subject, URIRef(EX + "p"), Literal(f"text {number}")))
        graph.add((subject, URIRef(f"{EX}vocabulary#q{number % 3}"), nodes[number % 3]))
        graph.add((subject, URIRef(EX + "label"), Literal("Wort", lang="de")))
        graph.add((subject, URIRef(EX + "size"), Literal(number / 4)))
    return graph


def sample_dataset(dataset: Any = None) -> Any:
    """A dataset with a default graph, graphs named by an IRI and by a blank node."""
    dataset = Dataset() if dataset is None else dataset
    default = default_graph(dataset)
    for triple in sample_graph():
        default.add(triple)
    for name in (URIRef(EX + "g1"), BNode()):
        graph = dataset.get_context(name)
        for triple in list(sample_graph())[:30]:
            graph.add(triple)
    return dataset


def quads_of(dataset: Any) -> set[tuple[Any, ...]]:
    """All quads of a Dataset or ConjunctiveGraph; the default graph is None."""
    default = default_graph(dataset)
    names = {context.identifier for context in dataset.store.contexts()} | {default.identifier}
    return {
        (s, p, o, None if name == default.identifier else name)
        for name in names
        for s, p, o in dataset.get_context(name)
    }


def as_graph(dataset: Any) -> Graph:
    """A dataset as one graph, so that rdflib can compare it: predicates carry the graph's name, and
    what is in a graph that is named by a blank node points at that."""
    graph = Graph()
    for s, p, o, g in quads_of(dataset):
        blank = isinstance(g, BNode)
        graph.add((s, URIRef(f"{p}+{'blank' if blank else g}"), o))
        if blank:
            graph.add((s, URIRef("urn:in"), g))
    return graph


def same_dataset(one: Any, other: Any) -> bool:
    """Whether two datasets are isomorphic."""
    return isomorphic(as_graph(one), as_graph(other))
