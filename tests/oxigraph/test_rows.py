"""Rows of text: what is written without asking pyoxigraph is what pyoxigraph would have written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins.codec import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    OperationKind,
    PatchDecoder,
    PatchEncoder,
    Quad,
    Triple,
)
from jelly_plugins.codec.patch import decoder as reference
from jelly_plugins.codec.patch.operations import END, add
from jelly_plugins.errors import TermError
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.patch.writer import infer_options

XSD = "http://www.w3.org/2001/XMLSchema#"


IRIS = ["urn:a", "http://example.org/é?q#f", "http://[::1]/", "urn:%zz", "http://a/ b", "x", ""]
IRIS += ["urn:" + "a" * size for size in (1017, 1018, 1019, 1100)]
LEXES = [
    "",
    "x",
    "é",
    "\xa0",
    "a\ufffdb",
    "a\ufffe",
    "\uffff",
    "\U0001fffe",
    'q"',
    "\\",
    "\t",
    "\x7f",
]
LEXES += ["01", "-1", "-0", "1.50", "true", "2020-02-30", "2020-01-01", "\x80", "\ufeff"]
LEXES += [letter * size for letter in "xé" for size in (500, 512, 1018, 1019, 1022, 1023, 1030)]
LANGTAGS = ["en", "EN", "en-us", "en-US", "en--ltr", "e1", "abcd", "en-Latn", "en_us", "x" * 1021]
DATATYPES = [
    *(XSD + name for name in ("integer", "decimal", "boolean", "date", "token", "long", "string")),
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString",
    "urn:é",
    "relative",
    "urn:" + "d" * 1100,
]
TERMS: list[Any] = [
    *(Iri(iri) for iri in IRIS),
    *(Literal(lex) for lex in LEXES),
    *(Literal("x", langtag) for langtag in LANGTAGS),
    *(Literal(lex, None, datatype) for lex in LEXES for datatype in DATATYPES),
    BlankNode("b"),
    Triple(Iri("urn:a"), Iri("urn:b"), Literal("é" * 600)),
]


def rows_by(decoder: Any, data: list[bytes]) -> Any:
    try:
        operations = [row for frame in data for row in decoder.decode(frame).operations]
    except TermError as error:
        return str(error)
    rows = [row for kind, row in operations if kind is OperationKind.ADD]
    return rows, [[(type(term), getattr(term, "term", None)) for term in row] for row in rows]


@pytest.mark.parametrize("graph", [None, DEFAULT_GRAPH, Iri("urn:g"), BlankNode("g"), Literal("g")])
@pytest.mark.parametrize(
    "settings",
    [{}, {"graph": ox.NamedNode("urn:g")}, {"named_graphs": False}],
    ids=["usual", "into a graph", "one graph"],
)
def test_decoders_give_the_same_rows(graph: Any, settings: dict[str, Any]) -> None:
    for term in TERMS:
        for position in range(3):
            terms: list[Any] = [Iri("urn:s"), Iri("urn:p"), Iri("urn:o")]
            terms[position] = term
            statement: Any = Triple(*terms) if graph is None else Quad(*terms, graph)
            operations = [add(statement), add(statement)]
            options = replace(infer_options(operations), max_name_table_size=8)
            encoder = PatchEncoder(options)
            data = [*encoder.add([*operations, END]), *encoder.finish()]
            expected = rows_by(reference.PatchDecoder(RowFactory(**settings)), data)
            assert rows_by(PatchDecoder(RowFactory(**settings)), data) == expected, statement


def test_every_character() -> None:
    """A row has what pyoxigraph escapes as pyoxigraph does, and the kernel leaves the rest."""
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    parts = ["".join(characters[at : at + 64]) for at in range(0, len(characters), 64)]
    parts += characters[:0x300]
    operations = [add(Triple(Iri("urn:s"), Iri("urn:p"), Literal(lex))) for lex in parts]
    encoder = PatchEncoder(infer_options(operations))
    frames = [*encoder.add([*operations, END]), *encoder.finish()]
    rows, _ = rows_by(PatchDecoder(RowFactory()), frames)
    assert [row[2] for row in rows] == [str(ox.Literal(lex)) for lex in parts]
