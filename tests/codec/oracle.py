"""Second readers of Jelly-RDF and Jelly-Patch, which read Protocol Buffers messages and trust all
input.

They were written from the specification alone and are as short as possible. Tests compare the
codec with them. They have no limits and reject nothing.
"""

from __future__ import annotations

from typing import Any

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    Operation,
    OperationKind,
    Quad,
    Triple,
)
from jelly_plugins.codec.patch.operations import END, Header, Namespace
from jelly_plugins.proto import patch_pb2, rdf_pb2


class Table:
    """Entries of one lookup."""

    def __init__(self) -> None:
        self.values: dict[int, str] = {}
        self.last = 0

    def assign(self, entry: Any) -> None:
        self.last = entry.id or self.last + 1
        self.values[self.last] = entry.value


class Oracle:
    """Reads the frames of one stream of Jelly-RDF."""

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


class PatchOracle(Oracle):
    """Reads the frames of one stream of Jelly-Patch."""

    def operations(self, data: bytes) -> list[Operation]:
        """Return the operations of a frame, with an END where the frame's end implies one."""
        operations = []
        for row in patch_pb2.RdfPatchFrame.FromString(data).rows:
            field = row.WhichOneof("row")
            value = getattr(row, field)
            if field == "options":
                self.options = value
            elif field in ("name", "prefix", "datatype"):
                getattr(self, f"{field}s" if field != "prefix" else "prefixes").assign(value)
            else:
                number = row.DESCRIPTOR.fields_by_name[field].number
                operations.append(Operation(OperationKind(number), self.value(field, value)))
        if self.options.stream_type == patch_pb2.PATCH_STREAM_TYPE_FRAME:
            operations.append(END)
        return operations

    def value(self, field: str, message: Any) -> Any:
        """Return the contents of a row."""
        quads = self.options.statement_type == patch_pb2.PATCH_STATEMENT_TYPE_QUADS
        if field.startswith("statement"):
            positions = ("subject", "predicate", "object", "graph")
            if quads:
                return Quad(*self.repeatable(message, *positions))
            return Triple(*self.repeatable(message, *positions[:3]))
        if field.startswith("namespace"):
            iri = self.iri(message.value) if message.HasField("value") else None
            graph = self.repeatable(message, "graph")[0] if quads else None
            return Namespace(message.name, iri, graph)
        if field == "header":
            return Header(message.key, self.term(message, "value"))
        return None
