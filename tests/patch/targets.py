"""Graphs, datasets and stores of every kind that a log can be replayed into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from jelly_plugins import oxigraph as oxigraph_backend
from jelly_plugins import rdflib as rdflib_backend

from .reference_model import Row

XSD = "http://www.w3.org/2001/XMLSchema#"


class Target:
    """A graph, dataset or store, and how it is read and changed."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self.is_graph = isinstance(store, Graph)
        self.backend: Any = rdflib_backend if self.is_graph else oxigraph_backend

    @property
    def has_quads(self) -> bool:
        return isinstance(self.store, Dataset) or not self.is_graph

    def replay(self, log: Any, **settings: Any) -> Any:
        return self.backend.replay(self.store, log, **settings)

    def record(self, path: Path, **settings: Any) -> Any:
        return self.backend.record(self.store, path, **settings)

    def quad(self, text: str) -> Any:
        """A statement of N-Quads, as the store takes it."""
        [quad] = ox.parse(f"{text} .".encode(), ox.RdfFormat.N_QUADS)
        if not self.is_graph:
            return quad
        triple = tuple(map(_term, quad.triple))
        return triple if quad.graph_name == ox.DefaultGraph() else (*triple, _term(quad.graph_name))

    def change(self, recorder: Any, *rows: str) -> None:
        """Add and delete statements in one transaction, by rows as RDF Patch has them."""
        made = [("add" if row[0] == "A" else "remove", self.quad(row[2:])) for row in rows]
        if self.is_graph:
            for verb, quad in made:
                getattr(recorder.graph, verb)(quad)
            recorder.commit()
        elif len(made) == 1:
            getattr(recorder, made[0][0])(made[0][1])
        else:
            with recorder.transaction() as transaction:
                for verb, quad in made:
                    getattr(transaction, verb)(quad)

    def positions(self) -> list[Any]:
        found: list[Any] = self.backend.positions(self.store)
        return found

    def rows(self) -> set[Row]:
        """Its statements without the bookkeeping, as N-Quads has them."""
        if not self.is_graph:
            return {
                tuple(
                    f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)
                    for term in quad
                    if term != ox.DefaultGraph()
                )
                for quad in self.store
                if quad.graph_name != oxigraph_backend.BOOKKEEPING
            }
        found = set()
        rows = self.store.quads() if self.has_quads else ((*each, None) for each in self.store)
        for *triple, graph in rows:
            default = graph in (None, DATASET_DEFAULT_GRAPH_ID)
            if not triple[1].startswith("urn:jelly-plugins:"):
                found.add(tuple(map(_text, triple if default else [*triple, graph])))
        return found

    def objects(self) -> list[str]:
        """The objects of its statements in order, which are IRIs and strings."""
        return sorted(row[2][1:-1] for row in self.rows())

    def namespaces(self) -> dict[str, str]:
        if self.is_graph:
            return {name: str(iri) for name, iri in self.store.namespaces()}
        return oxigraph_backend.namespaces(self.store)


def _term(term: Any) -> Any:
    """A term of Oxigraph as rdflib's."""
    if isinstance(term, ox.NamedNode):
        return URIRef(term.value)
    if isinstance(term, ox.BlankNode):
        return BNode(term.value)
    plain = term.language or term.datatype.value == f"{XSD}string"
    datatype = None if plain else URIRef(term.datatype.value)
    return Literal(term.value, lang=term.language, datatype=datatype)


def _text(term: Any) -> str:
    if isinstance(term, URIRef):
        return f"<{term}>"
    if isinstance(term, BNode):
        return f"_:{term}"
    assert isinstance(term, Literal)
    lex = str(term).replace("\\", "\\\\").replace('"', '\\"')
    if term.language:
        return f'"{lex}"@{term.language}'
    plain = term.datatype is None or str(term.datatype) == f"{XSD}string"
    return f'"{lex}"' if plain else f'"{lex}"^^<{term.datatype}>'


#: Makes empty graphs and datasets of every kind.
GRAPHS: dict[str, Callable[[], Graph]] = {
    "Graph": Graph,
    "Graph, SimpleMemory": lambda: Graph(store="SimpleMemory"),
    "Graph, Oxigraph": lambda: Graph(store="Oxigraph"),
    "graph of a Dataset": lambda: Dataset().graph(URIRef("urn:g")),
    "Dataset": Dataset,
    "Dataset, union": lambda: Dataset(default_union=True),
    "Dataset, Oxigraph": lambda: Dataset(store="Oxigraph"),
    "ConjunctiveGraph": ConjunctiveGraph,
    "ConjunctiveGraph, Oxigraph": lambda: ConjunctiveGraph(store="Oxigraph"),
}


def _makers(*names: str) -> dict[str, Callable[[Path], Any]]:
    """Makers of stores and of graphs; the folder is for stores on disk."""
    return {
        "Oxigraph in memory": lambda _: ox.Store(),
        "Oxigraph on disk": lambda path: ox.Store(path / "store"),
        **{name: lambda _, make=GRAPHS[name]: make() for name in names},
    }


MAKERS = _makers("Graph", "Dataset", "Graph, Oxigraph")
#: Those that have several graphs.
WHOLE = _makers(*(name for name in GRAPHS if name.startswith("Dataset")))
#: Those that can be recorded.
RECORDED = _makers(
    "Graph", "Dataset", "Graph, SimpleMemory", "graph of a Dataset", "Dataset, union"
)
