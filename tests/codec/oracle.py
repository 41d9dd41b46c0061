"""A second reader of Jelly-RDF, which reads Protocol Buffers messages and trusts all input.

It was written from the specification alone and is as short as possible. Tests compare the codec
with it. It has no limits and rejects nothing.
"""

from __future__ import annotations

from typing import Any

from jelly_plugins.codec import DEFAULT_GRAPH, BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.proto import rdf_pb2


class Table:
    """Entries of one lookup."""

    def __init__(self) -> None:
        self.values: dict[int, str] = {}
        self.last = 0

    def assign(self, entry: Any) -> None:
        self.last = entry.id or self.last + 1
        self.values[self.last] = entry.value


class Oracle:
    """Reads the frames of one stream."""

    def __init__(self) -> None:
        self.names, self.prefixes, self.datatypes = Table(), Table(), Table()
        self.prefix_id = self.name_id = 0
        self.last: dict[str, Any] = {}
        self.graph: Any = None
        self.options: Any = None
        self.namespaces: list[tuple[str, Iri]] = []

    def decode(self, data: bytes) -> list[Any]:
        """Return the statements of a frame."""
        statements = []
        for row in rdf_pb2.RdfStreamFrame.FromString(data).rows:
            kind = row.WhichOneof("row")
            value = getattr(row, kind)
            if kind == "options":
                self.options = value
            elif kind in ("name", "prefix", "datatype"):
                getattr(self, f"{kind}s" if kind != "prefix" else "prefixes").assign(value)
            elif kind == "triple":
                terms = self.repeatable(value, "subject", "predicate", "object")
                if self.options.physical_type == rdf_pb2.PHYSICAL_STREAM_TYPE_GRAPHS:
                    statements.append(Quad(*terms, self.graph))
                else:
                    statements.append(Triple(*terms))
            elif kind == "quad":
                terms = self.repeatable(value, "subject", "predicate", "object", "graph")
                statements.append(Quad(*terms))
            elif kind == "graph_start":
                self.graph = self.term(value, "graph")
            elif kind == "namespace":
                self.namespaces.append((value.name, self.iri(value.value)))
        return statements

    def repeatable(self, statement: Any, *oneofs: str) -> list[Any]:
        for oneof in oneofs:
            if statement.WhichOneof(oneof):
                self.last[oneof] = self.term(statement, oneof)
        return [self.last[oneof] for oneof in oneofs]

    def term(self, message: Any, oneof: str) -> Any:
        field = message.WhichOneof(oneof)
        value = getattr(message, field)
        kind = field.partition("_")[2]
        if kind == "iri":
            return self.iri(value)
        if kind == "bnode":
            return BlankNode(value)
        if kind == "literal":
            return self.literal(value)
        if kind == "triple_term":
            return Triple(*(self.term(value, part) for part in ("subject", "predicate", "object")))
        return DEFAULT_GRAPH

    def iri(self, message: Any) -> Iri:
        self.prefix_id = message.prefix_id or self.prefix_id
        self.name_id = message.name_id or self.name_id + 1
        prefix = self.prefixes.values[self.prefix_id] if self.prefix_id else ""
        return Iri(prefix + self.names.values[self.name_id])

    def literal(self, message: Any) -> Literal:
        kind = message.WhichOneof("literalKind")
        if kind == "langtag":
            return Literal(message.lex, langtag=message.langtag)
        if kind == "datatype":
            return Literal(message.lex, datatype=self.datatypes.values[message.datatype])
        return Literal(message.lex)
