"""Jobs of rdflib: its terms, its graphs, its graphs over an Oxigraph store."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Final

import rdflib
import rdflib.plugin
from pyjelly.integrations.rdflib.parse import parse_jelly_flat as pyjelly_read
from rdflib.parser import Parser
from rdflib.serializer import Serializer

from jelly_plugins import rdflib as jelly_rdflib

from .codec_jobs import count
from .data import Data
from .measure import Prepared, Runs

#: pyjelly's plugins, under a name that no other plugin uses.
PYJELLY: Final = "pyjelly"
_MODULE: Final = "pyjelly.integrations.rdflib"
rdflib.plugin.register(PYJELLY, Parser, f"{_MODULE}.parse", "RDFLibJellyParser")
rdflib.plugin.register(PYJELLY, Serializer, f"{_MODULE}.serialize", "RDFLibJellySerializer")

OURS: Final = "jelly-plugins"


def jelly_to_rdflib(data: Data) -> Runs:
    """Jelly → rdflib terms, iterate"""
    return Runs(
        {
            "ours": lambda: count(jelly_rdflib.read_statements(data.jelly)),
            "pyjelly": lambda: count(pyjelly_read(io.BytesIO(data.jelly))),
        }
    )


def _parse(data: Callable[[], bytes], format: str, store: str = "default") -> Prepared:  # noqa: A002
    @contextmanager
    def make() -> Any:
        yield rdflib.Graph(store=store)

    return Prepared(make, lambda graph: graph.parse(data=data(), format=format))


def _serialize(graph: rdflib.Graph, format: str) -> Callable[[], int]:  # noqa: A002
    def run() -> int:
        out = io.BytesIO()
        graph.serialize(out, format=format, encoding="utf-8")
        return out.tell()

    return run


def jelly_to_graph(data: Data) -> Runs:
    """Jelly → rdflib Graph"""
    return Runs(
        {
            "ours": _parse(lambda: data.jelly, OURS),
            "pyjelly": _parse(lambda: data.jelly, PYJELLY),
            "rdflib, N-Triples": _parse(lambda: data.ntriples, "nt"),
        }
    )


def ntriples_to_graph(data: Data) -> Runs:
    """N-Triples → rdflib Graph"""
    return Runs(
        {
            "ours": _parse(lambda: data.ntriples, "jelly-plugins-nt"),
            "rdflib": _parse(lambda: data.ntriples, "nt"),
        }
    )


def turtle_to_graph(data: Data) -> Runs:
    """Turtle → rdflib Graph"""
    turtle = data.turtle
    return Runs(
        {
            "ours": _parse(lambda: turtle, "jelly-plugins-turtle"),
            "rdflib": _parse(lambda: turtle, "turtle"),
        }
    )


def rdf_xml_to_graph(data: Data) -> Runs:
    """RDF/XML → rdflib Graph"""
    graph = rdflib.Graph().parse(data=data.jelly, format=OURS)
    xml = graph.serialize(format="xml", encoding="utf-8")
    return Runs(
        {
            "ours": _parse(lambda: xml, "jelly-plugins-xml"),
            "rdflib": _parse(lambda: xml, "xml"),
        }
    )


def graph_to_jelly(data: Data) -> Runs:
    """rdflib Graph → Jelly"""
    graph = rdflib.Graph().parse(data=data.jelly, format=OURS)
    return Runs(
        {
            "ours": _serialize(graph, OURS),
            "pyjelly": _serialize(graph, PYJELLY),
            "rdflib, N-Triples": _serialize(graph, "nt"),
        },
        count=len(graph),
    )


def jelly_to_oxigraph_graph(data: Data) -> Runs:
    """Jelly → Graph(store="Oxigraph")"""
    return Runs(
        {
            "ours": _parse(lambda: data.jelly, OURS, "Oxigraph"),
            "pyjelly": _parse(lambda: data.jelly, PYJELLY, "Oxigraph"),
            "rdflib, N-Triples": _parse(lambda: data.ntriples, "nt", "Oxigraph"),
            "oxrdflib, N-Triples": _parse(lambda: data.ntriples, "ox-nt", "Oxigraph"),
        }
    )


JOBS: Final = (
    jelly_to_rdflib,
    jelly_to_graph,
    ntriples_to_graph,
    turtle_to_graph,
    rdf_xml_to_graph,
    graph_to_jelly,
    jelly_to_oxigraph_graph,
)
