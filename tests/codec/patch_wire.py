"""Build Jelly-Patch streams by hand, row by row, valid or not.

``wire_builder`` builds terms, frames and the terms of lookup entries.

>>> frame(options(), start(), commit()).hex()
'0a0e0a0c0801100148085008580878010a0232000a023a00'
"""

from __future__ import annotations

from functools import partial

from jelly_plugins.codec.common.wire import bytes_field, varint_field
from jelly_plugins.codec.patch.options import PatchStatementType, PatchStreamType
from jelly_plugins.codec.patch.rules import HEADER_VALUE_FIELDS, NAMESPACE_GRAPH_FIELDS, PatchRow

from .wire_builder import (
    WireTerm,
    bnode,
    default_graph,
    entry,
    frame,
    iri,
    literal,
    quoted,
    row,
    statement,
    text,
)

__all__ = ["bnode", "default_graph", "frame", "iri", "literal", "quoted"]

TRIPLES = PatchStatementType.TRIPLES
QUADS = PatchStatementType.QUADS
FRAME = PatchStreamType.FRAME
FLAT = PatchStreamType.FLAT
PUNCTUATED = PatchStreamType.PUNCTUATED

_GRAPH_NUMBERS = {kind: number for number, kind in NAMESPACE_GRAPH_FIELDS.items()}
_VALUE_NUMBERS = {kind: number for number, kind in HEADER_VALUE_FIELDS.items()}


def options(
    stream: int = FRAME,
    statement: int = TRIPLES,
    *,
    names: int = 8,
    prefixes: int = 8,
    datatypes: int = 8,
    version: int = 1,
    generalized: bool = False,
    star: bool = False,
) -> bytes:
    """A row of options."""
    return row(
        PatchRow.OPTIONS,
        varint_field(1, statement)
        + varint_field(2, stream)
        + varint_field(3, generalized)
        + varint_field(4, star)
        + varint_field(9, names)
        + varint_field(10, prefixes)
        + varint_field(11, datatypes)
        + varint_field(15, version),
    )


name = partial(entry, PatchRow.NAME)
prefix = partial(entry, PatchRow.PREFIX)
datatype = partial(entry, PatchRow.DATATYPE)
add = partial(statement, PatchRow.STATEMENT_ADD)
delete = partial(statement, PatchRow.STATEMENT_DELETE)


def _namespace(
    kind: PatchRow,
    name: str,
    value: WireTerm | None = None,
    graph: WireTerm | None = None,
    *,
    graph_first: bool = False,
) -> bytes:
    parts = [] if value is None else [bytes_field(2, value.payload)]
    if graph is not None:
        parts.append(bytes_field(_GRAPH_NUMBERS[graph.kind], graph.payload))
    if graph_first:
        parts.reverse()
    return row(kind, text(1, name) + b"".join(parts))


#: Rows of a namespace; their fields may be in a different order on the wire.
namespace_add = partial(_namespace, PatchRow.NAMESPACE_ADD)
namespace_delete = partial(_namespace, PatchRow.NAMESPACE_DELETE)


def header(key: str, *values: WireTerm) -> bytes:
    """A row with a header; only exactly one value is valid."""
    return row(
        PatchRow.HEADER,
        text(1, key)
        + b"".join(bytes_field(_VALUE_NUMBERS[value.kind], value.payload) for value in values),
    )


#: Rows without content.
start = partial(row, PatchRow.TRANSACTION_START, b"")
commit = partial(row, PatchRow.TRANSACTION_COMMIT, b"")
abort = partial(row, PatchRow.TRANSACTION_ABORT, b"")
mark = partial(row, PatchRow.PUNCTUATION, b"")


#: Lookup entries for the IRIs urn:s, urn:p and urn:o.
SPO = (name("urn:s"), name("urn:p"), name("urn:o"))


def spo(*graph: WireTerm) -> tuple[WireTerm, ...]:
    """The terms urn:s, urn:p and urn:o, with ids that are valid anywhere after :data:`SPO`."""
    return (iri(name=1), iri(name=2), iri(name=3), *graph)
