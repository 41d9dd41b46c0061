"""Streams whose frames depend on earlier ones, as frames on the wire.

Frames are short and omit everything that they may: terms of the previous statement, in every
position, over several frames, and ids that follow from previous ids. Terms have all kinds and
lengths, including lengths that no cache keeps. Lookup entries are replaced while statements still
repeat their terms. Nearly all streams are valid. Oxigraph or rdflib reject some of them, late, for
a term of an early frame.
"""

from __future__ import annotations

import random
from typing import Any, Final

from jelly_plugins.codec import PatchStatementType, PatchStreamType, PhysicalType
from jelly_plugins.codec.common.positions import undeclared
from jelly_plugins.codec.common.terms import Kind

from ..codec import patch_wire, wire_builder
from ..codec.wire_builder import WireTerm

_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

#: Lengths of long terms: below and above the limits of caches, of long terms, and of the size from
#: which the allocator uses separate pages.
_LENGTHS: Final = (*(60, 100, 130, 260, 600, 1100) * 40, 5000, 140_000)

_PREFIXES: Final = ("http://a/", "http://b/x#", "urn:x:", "http://é.org/", "tag:")
_ODD_PREFIXES: Final = ("", "relative/", "http://[", "a b:", "urn:%zz")
_NAMES: Final = ("s", "p", "o", "", "é", "x/y", "urn:y:z", "http://c/d")
_ODD_NAMES: Final = ("a b", "<>", "%", "#a#b", "\ue000", '"', "\\", "{}")
_DATATYPES: Final = (
    *(_XSD + name for name in ("integer", "decimal", "double", "dateTime", "boolean", "string")),
    *("urn:type", "http://a/type", "http://é/t", _XSD + "gMonth"),
)
_ODD_DATATYPES: Final = ("no scheme", "", _RDF + "langString", _RDF + "dirLangString", "urn:a b")
_LEXES: Final = (
    *("", "x", "1", "01", "-0", "1.50", "1e0", "true", "2026-11-21T12:30:15.50Z", "2026-11-21"),
    *("a\nb\t\\", '"quoted"', "naïve ☃ 𝄞", "\x00\x7f\x85", "\ufffe"),
)
_TAGS: Final = ("en", "EN", "de-AT", "zh-hant-tw", "en--ltr", "x-private")
_ODD_TAGS: Final = ("", "e!", "toolonglanguage", "en-", "1")
_LABELS: Final = ("b", "b1", "é", "a b", "a.b", "-", "")
_TABLES: Final = ("name", "prefix", "datatype")
_VALUES: Final = {
    "name": (_NAMES, _ODD_NAMES),
    "prefix": (_PREFIXES, _ODD_PREFIXES),
    "datatype": (_DATATYPES, _ODD_DATATYPES),
}
#: Probability of repeating the previous term, by stream.
_REPEATS: Final = (0.3, 0.6, 0.6, 0.85)


class _Stream:
    """The state of a stream during its construction: what may be omitted, and what terms may refer
    to.
    """

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.wire: Any = wire_builder
        self.odd = rng.choice((0, 0, 0.003, 0.03))
        self.generalized = rng.random() < 0.5
        self.star = rng.random() < 0.7
        self.repeats = rng.choice(_REPEATS)
        self.sizes = {
            "name": rng.choice((8, 8, 9, 64)),
            "prefix": rng.choice((0, 1, 2, 3, 16)),
            "datatype": rng.choice((0, 1, 2, 16)),
        }
        self.defined: dict[str, list[int]] = {table: [] for table in _TABLES}
        self.entry_ids = dict.fromkeys(_TABLES, 0)
        self.name_id = self.prefix_id = 0
        self.given = [False] * 4
        self.rows: list[bytes] = []
        self.frames: list[bytes] = []

    # Terms

    def is_odd(self) -> bool:
        return self.rng.random() < self.odd

    def long(self, text: str) -> str:
        """Return the text, or a long text that begins with it."""
        if self.rng.random() < 0.12:
            length = self.rng.choice(_LENGTHS)
            return text + self.rng.choice("abcé") * (length // 2) + "z" * (length // 2)
        return text

    def entry(self, table: str) -> None:
        """Set an entry: the next one, or one that replaces another."""
        rng = self.rng
        size = self.sizes[table]
        number = 0
        if self.entry_ids[table] >= size or rng.random() < 0.4:
            number = rng.randrange(1, size + 1) if size else 1
        if self.is_odd():
            number = rng.randrange(size + 3)
        usual, odd = _VALUES[table]
        value = self.long(rng.choice(odd if self.is_odd() else usual))
        if table == "name" and not self.sizes["prefix"] and not self.is_odd():
            value = f"urn:{value}"
        self.rows.append(getattr(self.wire, table)(value, number))
        number = number or self.entry_ids[table] + 1
        self.entry_ids[table] = number
        if number not in self.defined[table]:
            self.defined[table].append(number)

    def reference(self, table: str) -> int:
        if self.is_odd() or not self.defined[table]:
            return self.rng.randrange(self.sizes[table] + 2)
        return self.rng.choice(self.defined[table])

    def iri(self) -> WireTerm:
        prefix, name = 0, self.reference("name")
        if self.sizes["prefix"] and (self.prefix_id == 0 or self.rng.random() < 0.4):
            prefix = self.reference("prefix")
        self.prefix_id = prefix or self.prefix_id
        following = self.name_id + 1
        self.name_id = name
        if name == following or (following in self.defined["name"] and self.rng.random() < 0.3):
            name = 0
            self.name_id = following
        return wire_builder.iri(prefix, name)

    def literal(self) -> WireTerm:
        rng = self.rng
        lex = self.long(rng.choice(_LEXES))
        kind = rng.randrange(3)
        if kind == 0:
            return wire_builder.literal(lex)
        if kind == 1 and (self.defined["datatype"] or self.is_odd()):
            return wire_builder.literal(lex, datatype=self.reference("datatype"))
        return wire_builder.literal(lex, lang=rng.choice(_ODD_TAGS if self.is_odd() else _TAGS))

    def of_kind(self, kind: Kind, depth: int) -> WireTerm:
        if kind is Kind.IRI:
            return self.iri()
        if kind is Kind.BLANK_NODE:
            return wire_builder.bnode(self.long(self.rng.choice(_LABELS)))
        if kind is Kind.LITERAL:
            return self.literal()
        if kind is Kind.DEFAULT_GRAPH:
            return wire_builder.default_graph()
        return wire_builder.quoted(*(self.term(position, depth + 1) for position in range(3)))

    def term(self, position: int, depth: int = 0) -> WireTerm:
        """Return a term that the stream's options allow there."""
        rng = self.rng
        usual = (
            (Kind.IRI, Kind.IRI, Kind.BLANK_NODE),
            (Kind.IRI,),
            (Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL, Kind.LITERAL, Kind.TRIPLE),
            (Kind.IRI, Kind.BLANK_NODE, Kind.DEFAULT_GRAPH),
        )[position]
        kind = rng.choice(usual)
        if self.generalized and rng.random() < 0.06:
            kind = rng.choice((Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL, Kind.TRIPLE))
        if kind is Kind.TRIPLE and (depth > 2 or position == 3):
            kind = Kind.BLANK_NODE
        if not self.is_odd() and undeclared(position, kind, self.generalized, self.star):
            kind = Kind.IRI
        return self.of_kind(kind, depth)

    def positions(self, width: int) -> list[WireTerm | None]:
        """Return the terms of a statement; None where it repeats."""
        made: list[WireTerm | None] = []
        for position in range(width):
            repeated = self.given[position] and self.rng.random() < self.repeats
            made.append(None if repeated or self.is_odd() else self.term(position))
            self.given[position] = True
        return made

    # Frames

    def open(self, options: bytes) -> None:
        self.rows.append(options)
        for table in _TABLES:
            for _ in range(self.rng.randrange(1, 4)):
                if self.sizes[table]:
                    self.entry(table)

    def some_entries(self) -> None:
        while self.rng.random() < 0.25:
            table = self.rng.choice(_TABLES)
            if self.sizes[table] or self.is_odd():
                self.entry(table)

    def end_frame(self) -> None:
        self.frames.append(b"".join(self.rows))
        self.rows.clear()


def leaning_stream(rng: random.Random) -> list[bytes]:
    """Make a stream of Jelly-RDF."""
    stream = _Stream(rng)
    wire = stream.wire
    physical = rng.choice((PhysicalType.TRIPLES, PhysicalType.QUADS, PhysicalType.GRAPHS))
    options = wire.options(
        physical,
        names=stream.sizes["name"],
        prefixes=stream.sizes["prefix"],
        datatypes=stream.sizes["datatype"],
        version=2,
        generalized=stream.generalized,
        star=stream.star,
    )
    stream.open(options)
    inside = False
    for _ in range(rng.randrange(2, 9)):
        for _ in range(rng.randrange(6)):
            stream.some_entries()
            kind = rng.random()
            if kind < 0.06:
                value = None if stream.is_odd() else stream.iri()
                stream.rows.append(wire.namespace(rng.choice(("ex", "", "é")), value))
            elif kind < 0.08:
                stream.rows.append(options)
            elif physical is PhysicalType.QUADS:
                stream.rows.append(wire.quad(*stream.positions(4)))
            elif physical is PhysicalType.TRIPLES or (inside and kind < 0.8):
                stream.rows.append(wire.triple(*stream.positions(3)))
            elif inside:
                stream.rows.append(wire.graph_end())
                inside = False
            else:
                stream.rows.append(wire.graph_start(stream.term(3)))
                inside = True
        stream.end_frame()
    return stream.frames


def leaning_log(rng: random.Random) -> list[bytes]:
    """Make a stream of Jelly-Patch."""
    stream = _Stream(rng)
    wire = stream.wire = patch_wire
    kind_of_stream = rng.choice(list(PatchStreamType))
    quads = rng.random() < 0.7
    options = wire.options(
        kind_of_stream,
        PatchStatementType.QUADS if quads else PatchStatementType.TRIPLES,
        names=stream.sizes["name"],
        prefixes=stream.sizes["prefix"],
        datatypes=stream.sizes["datatype"],
        generalized=stream.generalized,
        star=stream.star,
    )
    stream.open(options)
    inside = False
    for _ in range(rng.randrange(2, 9)):
        for _ in range(rng.randrange(6)):
            stream.some_entries()
            kind = rng.random()
            if kind < 0.1:
                value = stream.of_kind(rng.choice((Kind.IRI, Kind.BLANK_NODE, Kind.LITERAL)), 0)
                if stream.star and rng.random() < 0.2:
                    value = stream.of_kind(Kind.TRIPLE, 1)
                stream.rows.append(wire.header(rng.choice(("id", "prev", "note")), value))
            elif kind < 0.2:
                stream.rows.append(_namespace(stream, quads))
            elif kind < 0.22:
                stream.rows.append(options)
            elif kind < 0.3 or (stream.is_odd() and stream.is_odd()):
                ended = rng.choice((wire.commit, wire.commit, wire.abort))()
                stream.rows.append(ended if inside else wire.start())
                inside = not inside
            elif kind < 0.34 and kind_of_stream is PatchStreamType.PUNCTUATED and not inside:
                stream.rows.append(wire.mark())
            else:
                row = wire.add if rng.random() < 0.6 else wire.delete
                stream.rows.append(row(*stream.positions(4 if quads else 3)))
        if inside and kind_of_stream is PatchStreamType.FRAME and not stream.is_odd():
            stream.rows.append(wire.commit())
            inside = False
        stream.end_frame()
    if inside:
        stream.rows.append(wire.commit())
    if kind_of_stream is PatchStreamType.PUNCTUATED:
        stream.rows.append(wire.mark())
    if stream.rows:
        stream.end_frame()
    return stream.frames


def _namespace(stream: _Stream, quads: bool) -> bytes:
    rng = stream.rng
    adds = rng.random() < 0.7
    value = stream.iri() if adds or rng.random() < 0.3 else None
    graph = None
    if quads and not (stream.given[3] and rng.random() < stream.repeats):
        graph = stream.term(3)
        stream.given[3] = True
    row = stream.wire.namespace_add if adds else stream.wire.namespace_delete
    made: bytes = row(rng.choice(("ex", "", "é")), value, graph)
    return made
