"""Build Jelly-RDF streams by hand from rows and terms, valid or not.

Every function returns bytes, without any checks or state. Ids are those on the wire, where 0 is
omitted.

>>> frame(options(), name("urn:s"), triple(s=iri())).hex()
'0a0c0a0a100148085008580878010a094a07120575726e3a730a0412020a00'
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from jelly_plugins.codec.common.options import PhysicalType
from jelly_plugins.codec.common.positions import GRAPH_START_FIELDS, POSITIONS, STATEMENT_FIELDS
from jelly_plugins.codec.common.terms import Kind
from jelly_plugins.codec.common.wire import bytes_field, delimit, varint, varint_field
from jelly_plugins.codec.rdf.rules import Row

TRIPLES = PhysicalType.TRIPLES
QUADS = PhysicalType.QUADS
GRAPHS = PhysicalType.GRAPHS

_STATEMENT_NUMBERS = {field: number for number, field in STATEMENT_FIELDS.items()}
_GRAPH_NUMBERS = {kind: number for number, kind in GRAPH_START_FIELDS.items()}


class WireTerm(NamedTuple):
    """A term in a statement: its kind determines the field, the payload is the field's value."""

    kind: Kind
    payload: bytes


def text(number: int, value: str | bytes) -> bytes:
    """A string field, omitted if empty; bytes are written unchanged, UTF-8 or not."""
    raw = value.encode() if isinstance(value, str) else value
    return bytes_field(number, raw) if raw else b""


def frame(*rows: bytes, metadata: dict[str, bytes] | None = None) -> bytes:
    """A frame: its rows, then its metadata."""
    entries = (
        bytes_field(15, text(1, key) + text(2, value)) for key, value in (metadata or {}).items()
    )
    return b"".join((*rows, *entries))


def stream(*frames: bytes) -> bytes:
    """A byte stream of delimited frames."""
    return b"".join(map(delimit, frames))


def row(number: int, body: bytes) -> bytes:
    """A row with one field set."""
    return bytes_field(1, bytes_field(number, body))


def options(
    physical: int = TRIPLES,
    *,
    logical: int = 0,
    names: int = 8,
    prefixes: int = 8,
    datatypes: int = 8,
    version: int = 1,
    generalized: bool = False,
    star: bool = False,
    stream_name: str | bytes = "",
) -> bytes:
    """A row of options."""
    return row(
        Row.OPTIONS,
        text(1, stream_name)
        + varint_field(2, physical)
        + varint_field(3, generalized)
        + varint_field(4, star)
        + varint_field(9, names)
        + varint_field(10, prefixes)
        + varint_field(11, datatypes)
        + varint_field(14, logical)
        + varint_field(15, version),
    )


def entry(number: int, value: str | bytes, id: int = 0) -> bytes:  # noqa: A002
    """A row with an entry of a lookup: its value, and an optional id."""
    return row(number, varint_field(1, id) + text(2, value))


name = partial(entry, Row.NAME)
prefix = partial(entry, Row.PREFIX)
datatype = partial(entry, Row.DATATYPE)


def iri(prefix: int = 0, name: int = 0) -> WireTerm:
    """An IRI by its two ids."""
    return WireTerm(Kind.IRI, varint_field(1, prefix) + varint_field(2, name))


def bnode(label: str | bytes = "b") -> WireTerm:
    """A blank node."""
    return WireTerm(Kind.BLANK_NODE, label.encode() if isinstance(label, str) else label)


def literal(
    lex: str | bytes = "x", *, lang: str | bytes | None = None, datatype: int | None = None
) -> WireTerm:
    """A literal; a language tag or datatype is written if given, even if it is empty or 0."""
    body = text(1, lex)
    if lang is not None:
        body += bytes_field(2, lang.encode() if isinstance(lang, str) else lang)
    if datatype is not None:
        body += varint(3 << 3) + varint(datatype)
    return WireTerm(Kind.LITERAL, body)


def default_graph() -> WireTerm:
    """The name of the default graph."""
    return WireTerm(Kind.DEFAULT_GRAPH, b"")


def _positions(terms: dict[str, WireTerm | None]) -> bytes:
    letters = {position[0]: index for index, position in enumerate(POSITIONS)}
    return b"".join(
        bytes_field(_STATEMENT_NUMBERS[letters[letter], term.kind], term.payload)
        for letter, term in terms.items()
        if term is not None
    )


def quoted(
    s: WireTerm | None = None, p: WireTerm | None = None, o: WireTerm | None = None
) -> WireTerm:
    """A quoted triple."""
    return WireTerm(Kind.TRIPLE, _positions({"s": s, "p": p, "o": o}))


def statement(number: int, *terms: WireTerm | None, **named: WireTerm | None) -> bytes:
    """A row of a statement, with terms by position, or by ``s``, ``p``, ``o`` and ``g`` in the
    order that they have on the wire; a missing term repeats. A triple with a graph is invalid.
    """
    return row(number, _positions({**dict(zip("spog", terms, strict=False)), **named}))


triple = partial(statement, Row.TRIPLE)
quad = partial(statement, Row.QUAD)


def graph_start(term: WireTerm | None = None) -> bytes:
    """A row that starts a graph."""
    body = b"" if term is None else bytes_field(_GRAPH_NUMBERS[term.kind], term.payload)
    return row(Row.GRAPH_START, body)


#: A row that ends a graph.
graph_end = partial(row, Row.GRAPH_END, b"")


def namespace(name: str | bytes, value: WireTerm | None = None) -> bytes:
    """A row that declares a namespace."""
    body = text(1, name)
    if value is not None:
        body += bytes_field(2, value.payload)
    return row(Row.NAMESPACE, body)


#: Lookup entries for a triple that uses only the names 1 to 3.
SPO = (name("urn:s"), name("urn:p"), name("urn:o"))


def spo() -> bytes:
    """The triple urn:s, urn:p, urn:o, with ids that are valid anywhere after :data:`SPO`."""
    return triple(iri(name=1), iri(name=2), iri(name=3))
