"""Build Jelly-Patch streams by hand, row by row, valid or not.

``wire_builder`` builds terms, frames and the terms of lookup entries.

>>> frame(options(), start(), commit()).hex()
'0a0e0a0c0801100148085008580878010a0232000a023a00'
"""

from __future__ import annotations

from jelly_plugins.codec.common.positions import STATEMENT_FIELDS
from jelly_plugins.codec.common.wire import bytes_field, varint_field
from jelly_plugins.codec.patch.options import PatchStatementType, PatchStreamType
from jelly_plugins.codec.patch.rules import HEADER_VALUE_FIELDS, NAMESPACE_GRAPH_FIELDS, PatchRow

from .wire_builder import WireTerm, bnode, default_graph, frame, iri, literal, quoted, row, text

__all__ = ["bnode", "default_graph", "frame", "iri", "literal", "quoted"]

TRIPLES = PatchStatementType.TRIPLES
QUADS = PatchStatementType.QUADS
FRAME = PatchStreamType.FRAME
FLAT = PatchStreamType.FLAT
PUNCTUATED = PatchStreamType.PUNCTUATED

_STATEMENT_NUMBERS = {field: number for number, field in STATEMENT_FIELDS.items()}
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


def entry(kind: PatchRow, value: str, id: int = 0) -> bytes:  # noqa: A002
    """An entry of a lookup."""
    return row(kind, varint_field(1, id) + text(2, value))


def name(value: str, id: int = 0) -> bytes:  # noqa: A002
    """An entry of the name lookup."""
    return entry(PatchRow.NAME, value, id)


def prefix(value: str, id: int = 0) -> bytes:  # noqa: A002
    """An entry of the prefix lookup."""
    return entry(PatchRow.PREFIX, value, id)


def datatype(value: str, id: int = 0) -> bytes:  # noqa: A002
    """An entry of the datatype lookup."""
    return entry(PatchRow.DATATYPE, value, id)


def _statement(kind: PatchRow, terms: tuple[WireTerm | None, ...]) -> bytes:
    return row(
        kind,
        b"".join(
            bytes_field(_STATEMENT_NUMBERS[position, term.kind], term.payload)
            for position, term in enumerate(terms)
            if term is not None
        ),
    )


def add(*terms: WireTerm | None) -> bytes:
    """A row that adds a statement. A term that is None or missing repeats."""
    return _statement(PatchRow.STATEMENT_ADD, terms)


def delete(*terms: WireTerm | None) -> bytes:
    """A row that deletes a statement."""
    return _statement(PatchRow.STATEMENT_DELETE, terms)


def _namespace(
    kind: PatchRow,
    name: str,
    value: WireTerm | None,
    graph: WireTerm | None,
    graph_first: bool = False,
) -> bytes:
    parts = [] if value is None else [bytes_field(2, value.payload)]
    if graph is not None:
        parts.append(bytes_field(_GRAPH_NUMBERS[graph.kind], graph.payload))
    if graph_first:
        parts.reverse()
    return row(kind, text(1, name) + b"".join(parts))


def namespace_add(
    name: str,
    value: WireTerm | None = None,
    graph: WireTerm | None = None,
    *,
    graph_first: bool = False,
) -> bytes:
    """A row that adds a namespace; its fields may be in a different order on the wire."""
    return _namespace(PatchRow.NAMESPACE_ADD, name, value, graph, graph_first)


def namespace_delete(
    name: str, value: WireTerm | None = None, graph: WireTerm | None = None
) -> bytes:
    """A row that deletes a namespace."""
    return _namespace(PatchRow.NAMESPACE_DELETE, name, value, graph)


def header(key: str, *values: WireTerm) -> bytes:
    """A row with a header; only exactly one value is valid."""
    return row(
        PatchRow.HEADER,
        text(1, key)
        + b"".join(bytes_field(_VALUE_NUMBERS[value.kind], value.payload) for value in values),
    )


def start() -> bytes:
    """A row that starts a transaction."""
    return row(PatchRow.TRANSACTION_START, b"")


def commit() -> bytes:
    """A row that commits a transaction."""
    return row(PatchRow.TRANSACTION_COMMIT, b"")


def abort() -> bytes:
    """A row that aborts a transaction."""
    return row(PatchRow.TRANSACTION_ABORT, b"")


def mark() -> bytes:
    """A row of punctuation."""
    return row(PatchRow.PUNCTUATION, b"")


#: Lookup entries for the IRIs urn:s, urn:p and urn:o.
SPO = (name("urn:s"), name("urn:p"), name("urn:o"))


def spo(*graph: WireTerm) -> tuple[WireTerm, ...]:
    """The terms urn:s, urn:p and urn:o, with ids that are valid anywhere after :data:`SPO`."""
    return (iri(name=1), iri(name=2), iri(name=3), *graph)
