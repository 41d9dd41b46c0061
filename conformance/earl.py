"""Results as an EARL report: one assertion for each case, in Turtle.

Reference: Evaluation and Report Language (EARL) 1.0 Schema, W3C.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from rdflib import DCTERMS, DOAP, RDF, BNode, Graph, Literal, Namespace, URIRef

import jelly_plugins

from .manifest import Case
from .outcome import Outcome, Status

EARL: Final = Namespace("http://www.w3.org/ns/earl#")
PROJECT: Final = URIRef("https://pypi.org/project/jelly-plugins/")

_OUTCOMES: Final = {
    Status.PASSED: EARL.passed,
    Status.FAILED: EARL.failed,
    Status.INAPPLICABLE: EARL.inapplicable,
}


def report(results: Iterable[tuple[Case, Outcome]], adapter: str) -> str:
    """Return the report's text.

    :param results: cases with their outcomes.
    :param adapter: the name of the adapter; part of the subject's name.
    """
    graph = Graph()
    for prefix, namespace in (("earl", EARL), ("doap", DOAP), ("dcterms", DCTERMS)):
        graph.bind(prefix, namespace)
    now = Literal(datetime.now(UTC).replace(microsecond=0))
    subject = _describe_subject(graph, adapter)
    assertor = URIRef(f"{PROJECT}#conformance")
    graph.add((assertor, RDF.type, EARL.Software))
    graph.add((assertor, DCTERMS.title, Literal("jelly-plugins conformance runner")))
    for case, outcome in results:
        assertion, result, test = BNode(), BNode(), URIRef(case.iri)
        graph.add((assertion, RDF.type, EARL.Assertion))
        graph.add((assertion, EARL.assertedBy, assertor))
        graph.add((assertion, EARL.subject, subject))
        graph.add((assertion, EARL.test, test))
        graph.add((assertion, EARL.mode, EARL.automatic))
        graph.add((assertion, EARL.result, result))
        graph.add((test, RDF.type, EARL.TestCase))
        graph.add((test, DCTERMS.title, Literal(case.title)))
        graph.add((result, RDF.type, EARL.TestResult))
        graph.add((result, EARL.outcome, _OUTCOMES[outcome.status]))
        graph.add((result, DCTERMS.date, now))
        if outcome.reason:
            graph.add((result, DCTERMS.description, Literal(outcome.reason)))
    return graph.serialize(format="turtle")


def _describe_subject(graph: Graph, adapter: str) -> URIRef:
    """Describe the tested software: the project, its version, the adapter and the kernel."""
    graph.add((PROJECT, RDF.type, DOAP.Project))
    graph.add((PROJECT, DOAP.name, Literal("jelly-plugins")))
    graph.add((PROJECT, DOAP["programming-language"], Literal("Python")))
    graph.add((PROJECT, DOAP.homepage, PROJECT))
    release = URIRef(f"{PROJECT}{jelly_plugins.__version__}/")
    graph.add((PROJECT, DOAP.release, release))
    graph.add((release, RDF.type, DOAP.Version))
    graph.add((release, DOAP.revision, Literal(jelly_plugins.__version__)))
    kernel = "compiled" if jelly_plugins.native else "Python"
    subject = URIRef(f"{PROJECT}#{adapter}")
    graph.add((subject, RDF.type, EARL.TestSubject))
    graph.add((subject, RDF.type, EARL.Software))
    graph.add((subject, DCTERMS.isVersionOf, PROJECT))
    graph.add((subject, DCTERMS.hasVersion, release))
    graph.add((subject, DCTERMS.title, Literal(f"jelly-plugins, {adapter} terms, {kernel} kernel")))
    return subject
