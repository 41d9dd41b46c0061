"""A second reader of Jelly-Patch, which reads Protocol Buffers messages and trusts all input.

It uses ``oracle`` to read terms.
"""

from __future__ import annotations

from typing import Any

from jelly_plugins.codec import Operation, OperationKind, Quad, Triple
from jelly_plugins.codec.patch.operations import END, Header, Namespace
from jelly_plugins.proto import patch_pb2

from .oracle import Oracle


class PatchOracle(Oracle):
    """Reads the frames of one stream."""

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
