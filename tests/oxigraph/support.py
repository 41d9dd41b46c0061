"""Short ways to Jelly bytes and to the contents of stores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyoxigraph import Store

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    LogicalType,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
)
from jelly_plugins.io.streams import write_bytes

S, P, O, G = (Iri(f"urn:{letter}") for letter in "spog")  # noqa: E741

GENERALIZED = {"generalized_statements": True, "rdf_star": True}


def jelly(*statements: Any, **changes: Any) -> bytes:
    """A flat stream of these statements; ``changes`` are stream options."""
    quads = bool(statements) and len(statements[0]) == 4
    defaults: dict[str, Any] = {
        "physical_type": PhysicalType.QUADS if quads else PhysicalType.TRIPLES,
        "rdf_star": True,
    }
    return write_bytes(statements, options=StreamOptions(**(defaults | changes)))


def numbered(count: int, *, label: str = "s") -> list[Triple]:
    """As many different triples."""
    return [Triple(Iri(f"urn:{label}/{i}"), P, Literal(f"value {i}")) for i in range(count)]


def contents(store: Iterable[Any]) -> set[str]:
    """The quads of a store as text, and its named graphs."""
    graphs = store.named_graphs() if isinstance(store, Store) else ()
    return {str(quad) for quad in store} | {f"graph {name}" for name in graphs}


__all__ = [
    "DEFAULT_GRAPH",
    "GENERALIZED",
    "BlankNode",
    "G",
    "Iri",
    "Literal",
    "LogicalType",
    "O",
    "P",
    "PhysicalType",
    "Quad",
    "S",
    "StreamOptions",
    "Triple",
    "contents",
    "jelly",
    "numbered",
]
