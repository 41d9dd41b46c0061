"""Jobs of rdflib's terms and graphs, and of pyoxigraph's quads and stores."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import rdflib
import rdflib.plugin
from pyjelly.integrations.rdflib.parse import parse_jelly_flat as pyjelly_read
from pyoxigraph import RdfFormat, Store
from rdflib.parser import Parser
from rdflib.serializer import Serializer

from jelly_plugins import oxigraph
from jelly_plugins import rdflib as jelly_rdflib

from .data import Data
from .measure import Prepared, Run, Runs, job
from .term_jobs import count, read_ntriples

#: pyjelly's plugins, under a name that no other plugin uses.
PYJELLY: Final = "pyjelly"
_MODULE: Final = "pyjelly.integrations.rdflib"
rdflib.plugin.register(PYJELLY, Parser, f"{_MODULE}.parse", "RDFLibJellyParser")
rdflib.plugin.register(PYJELLY, Serializer, f"{_MODULE}.serialize", "RDFLibJellySerializer")

OURS: Final = "jelly-plugins"

# rdflib


@job("rdflib", "jelly-to-rdflib", "Jelly → rdflib terms, iterate")
def jelly_to_rdflib(data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: count(jelly_rdflib.read_statements(data.jelly)),
        "pyjelly": lambda: count(pyjelly_read(io.BytesIO(data.jelly))),
    }


def _parse(text: bytes, format: str, store: str = "default") -> Prepared:  # noqa: A002
    @contextmanager
    def make() -> Iterator[rdflib.Graph]:
        yield rdflib.Graph(store=store)

    return Prepared(make, lambda graph: graph.parse(data=text, format=format))


def _serialize(graph: rdflib.Graph, format: str) -> Callable[[], object]:  # noqa: A002
    return lambda: graph.serialize(io.BytesIO(), format=format, encoding="utf-8")


@job("rdflib", "jelly-to-graph", "Jelly → rdflib Graph", "default")
@job("rdflib", "jelly-to-oxigraph-graph", 'Jelly → Graph(store="Oxigraph")', "Oxigraph")
def jelly_to_graph(store: str, data: Data) -> dict[str, Run]:
    runs: dict[str, Run] = {
        "ours": _parse(data.jelly, OURS, store),
        "pyjelly": _parse(data.jelly, PYJELLY, store),
        "rdflib, N-Triples": _parse(data.ntriples, "nt", store),
    }
    if store == "Oxigraph":
        runs["oxrdflib, N-Triples"] = _parse(data.ntriples, "ox-nt", store)
    return runs


@job("rdflib", "ntriples-to-graph", "N-Triples → rdflib Graph", "nt", "nt")
@job("rdflib", "turtle-to-graph", "Turtle → rdflib Graph", "turtle", "turtle")
@job("rdflib", "rdf-xml-to-graph", "RDF/XML → rdflib Graph", "xml", "xml")
def text_to_graph(ours: str, theirs: str, data: Data) -> dict[str, Run]:
    if theirs == "xml":
        graph = rdflib.Graph().parse(data=data.jelly, format=OURS)
        text = graph.serialize(format="xml", encoding="utf-8")
    else:
        text = data.ntriples if theirs == "nt" else data.turtle
    return {"ours": _parse(text, f"{OURS}-{ours}"), "rdflib": _parse(text, theirs)}


@job("rdflib", "graph-to-jelly", "rdflib Graph → Jelly")
def graph_to_jelly(data: Data) -> Runs:
    graph = rdflib.Graph().parse(data=data.jelly, format=OURS)
    runs: dict[str, Run] = {
        "ours": _serialize(graph, OURS),
        "pyjelly": _serialize(graph, PYJELLY),
        "rdflib, N-Triples": _serialize(graph, "nt"),
    }
    return Runs(runs, count=len(graph))


# pyoxigraph


@contextmanager
def folder() -> Iterator[str]:
    """A folder, whose files a store may still be removing."""
    made = tempfile.TemporaryDirectory(prefix="jelly-bench-", ignore_cleanup_errors=True)
    with made as name:
        yield name


@contextmanager
def store_in(place: str) -> Iterator[Store]:
    """An empty store, in ``memory`` or on ``disk``."""
    if place == "memory":
        yield Store()
        return
    with folder() as name:
        store = Store(name)
        yield store
        del store


def filling(place: str, fill: Callable[[Store], object]) -> Prepared:
    """A run that fills an empty store; it includes opening and closing the store."""

    @contextmanager
    def make() -> Iterator[str | None]:
        if place == "memory":
            yield None
            return
        with folder() as name:
            yield name

    def act(name: str | None) -> Store:
        store = Store() if name is None else Store(name)
        fill(store)
        return store

    return Prepared(make, act)


@job("oxigraph", "jelly-to-pyoxigraph", "Jelly → pyoxigraph quads, iterate")
def jelly_to_pyoxigraph(data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: count(oxigraph.read_quads(data.jelly)),
        "pyoxigraph, N-Triples": lambda: read_ntriples(data),
    }


_LOADED: Final = "Jelly → pyoxigraph store"


@job("oxigraph", "jelly-to-memory", f"{_LOADED} in memory, labels fresh", "memory", "fresh")
@job("oxigraph", "jelly-to-memory-kept", f"{_LOADED} in memory, labels kept", "memory", "keep")
@job("oxigraph", "jelly-to-disk", f"{_LOADED} on disk, labels fresh", "disk", "fresh")
@job("oxigraph", "jelly-to-disk-kept", f"{_LOADED} on disk, labels kept", "disk", "keep")
def jelly_to_store(place: str, labels: Any, data: Data) -> dict[str, Run]:
    jelly, text = data.jelly, data.ntriples
    return {
        "ours": filling(place, lambda store: oxigraph.load(store, jelly, blank_nodes=labels)),
        "pyoxigraph, bulk_load": filling(
            place, lambda store: store.bulk_load(text, RdfFormat.N_TRIPLES)
        ),
    }


@job("oxigraph", "turtle-to-memory", "Turtle → pyoxigraph store in memory", "memory")
@job("oxigraph", "turtle-to-disk", "Turtle → pyoxigraph store on disk", "disk")
def turtle_to_store(place: str, data: Data) -> dict[str, Run]:
    turtle, form = data.turtle, RdfFormat.TURTLE
    return {
        "ours": filling(place, lambda store: oxigraph.load(store, turtle, format=form)),
        "pyoxigraph, bulk_load": filling(place, lambda store: store.bulk_load(turtle, form)),
    }


@job("oxigraph", "memory-to-jelly", "pyoxigraph store in memory → Jelly", "memory")
@job("oxigraph", "disk-to-jelly", "pyoxigraph store on disk → Jelly", "disk")
def store_to_jelly(place: str, data: Data) -> Runs:
    opened = store_in(place)
    store = opened.__enter__()
    store.bulk_load(data.ntriples, RdfFormat.N_TRIPLES)
    runs: dict[str, Run] = {
        "ours": lambda: oxigraph.dump(store, io.BytesIO()),
        "pyoxigraph, N-Quads": lambda: store.dump(io.BytesIO(), RdfFormat.N_QUADS),
    }
    return Runs(runs, count=len(store), close=lambda: opened.__exit__(None, None, None))
