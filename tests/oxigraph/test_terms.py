"""Terms, and rows and lines of text for Oxigraph, as pyoxigraph itself judges and writes them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    LimitError,
    Limits,
    Literal,
    PhysicalType,
    Quad,
    SourceError,
    StreamOptions,
    TermError,
    Triple,
    read,
    read_frames,
)
from jelly_plugins.codec import Decoder, Encoder, OperationKind, PatchDecoder, PatchEncoder
from jelly_plugins.codec.patch import decoder as reference_patches
from jelly_plugins.codec.patch.operations import END, add
from jelly_plugins.codec.text import transcoding as reference
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.io.streams import encode, write_bytes
from jelly_plugins.oxigraph import load, read_quads
from jelly_plugins.oxigraph.loading import SMALL
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.oxigraph.terms import REIFY, OxigraphFactory, describe
from jelly_plugins.patch.writer import infer_options

from ..fuzz.comparison import native as native_kernel
from .support import REJECTED, G, O, P, S, jelly, numbered
from .support import jelly as to_jelly

XSD = "http://www.w3.org/2001/XMLSchema#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    "term",
    [
        S,
        Iri("http://example.org/é?q=%20#f"),
        BlankNode("b0"),
        BlankNode("é.1"),
        Literal(""),
        Literal('a\0\t"\\\n\u0085￾'),
        Literal("x", langtag="en-latn-us"),
        Literal("01", datatype=f"{XSD}integer"),
        Literal("x", datatype="urn:d"),
        Literal("x", datatype=f"{RDF}langString"),
        Triple(S, P, O),
        Triple(BlankNode("b"), P, Triple(S, P, Literal("x"))),
        DEFAULT_GRAPH,
    ],
)
def test_terms_survive(term: Any) -> None:
    quad = Quad(S, P, O, term) if term is DEFAULT_GRAPH else Quad(S, P, term, G)
    factory = OxigraphFactory(blank_nodes="keep")
    (frame,) = read_frames(to_jelly(quad), factory=factory)
    (made,) = frame.statements
    assert type(made) is ox.Quad
    options = StreamOptions.flat(PhysicalType.QUADS, rdf_star=True)
    assert list(read(write_bytes([tuple(made)], options=options, describe=describe))) == [quad]


def test_a_base_direction_cannot_be_said() -> None:
    literal = ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL)
    with pytest.raises(TermError, match="base direction"):
        describe(literal)


def test_other_objects_are_no_terms() -> None:
    with pytest.raises(TermError, match="not a term of pyoxigraph"):
        describe("urn:s")


# Text for Oxigraph's parser: validated once, never half of it


def factory() -> OxigraphFactory:
    return OxigraphFactory(blank_nodes="keep", way_out=REIFY)


def outcome(decode: Any, *statements: Any) -> Any:
    """What comes of statements, or the error."""
    options = StreamOptions(
        physical_type=PhysicalType.QUADS if len(statements[0]) == 4 else PhysicalType.TRIPLES,
        rdf_star=True,
        generalized_statements=True,
    )
    try:
        return [item for frame in encode(statements, options=options) for item in decode(frame)]
    except JellyError as error:
        return type(error), error.message, error.frame, error.row


def text_outcome(decoder: Any, *statements: Any) -> Any:
    return outcome(decoder(Notation.RDF_1_2, validator=factory()).decode, *statements)


def quads_outcome(*statements: Any) -> Any:
    decoder = Decoder(factory())
    return outcome(lambda frame: decoder.decode(frame).statements, *statements)


#: Parts of IRIs and language tags that make more than noise when they meet.
IRI_PARTS = st.sampled_from(
    (
        *("http", "urn", ":", "//", "/", "a", "é", "%20", "%", "%4", "#", "?", "[::1]", "[", "@"),
        *("\\", " ", "<", ">", '"', "{", "^", "`", "|", "80", ".", "-", "+", "'", "("),
        *("\x00", "\x7f", "\x80", "\xa0", "\ue000", "\ufdd0", "\ufffd", "\ufffe"),
        *("\U0001f600", "\U0001ffff", "\U000e0001"),
    )
)
IRIS = st.one_of(
    st.lists(IRI_PARTS, max_size=8).map("".join),
    st.lists(IRI_PARTS, max_size=6).map(lambda parts: "http://" + "".join(parts)),
    st.lists(IRI_PARTS, max_size=6).map(lambda parts: "http://a.b/" + "".join(parts)),
)
TAG_PARTS = st.sampled_from(["en", "a", "x", "i", "-", "1", "DE", "Latn", "abcdefghi", "419", "de"])
TAGS = st.lists(TAG_PARTS, min_size=1, max_size=5).map("".join)


@given(IRIS)
def test_iris_are_judged_as_oxigraph_does(value: str) -> None:
    statement = Triple(S, Iri(value), Literal("x", datatype=value or "urn:d"))
    try:
        ox.NamedNode(value)
        rejected = False
    except ValueError:
        rejected = True
    for decoder in (native_kernel().TextDecoder, reference.TextDecoder):
        found = text_outcome(decoder, statement)
        assert isinstance(found, tuple) is rejected
        if rejected:
            assert found == quads_outcome(statement)
        else:
            [quad] = ox.parse(b"".join(found), ox.RdfFormat.N_QUADS, lenient=True)
            assert [quad.triple] == quads_outcome(statement)
            # What is said to be well-formed passes the parser that checks it, too.
            assert list(ox.parse(b"".join(found), ox.RdfFormat.N_QUADS)) == [quad]


@given(TAGS)
def test_language_tags_are_judged_as_oxigraph_does(tag: str) -> None:
    statement = Triple(S, P, Literal("x", langtag=tag))
    expected = quads_outcome(statement)
    for decoder in (native_kernel().TextDecoder, reference.TextDecoder):
        found = text_outcome(decoder, statement)
        if isinstance(expected, tuple):
            assert found == expected
        elif not isinstance(found, tuple):
            [quad] = ox.parse(b"".join(found), ox.RdfFormat.N_QUADS)
            assert [quad.triple] == expected
        else:
            # Oxigraph's constructors accept tags that are invalid in text.
            with pytest.raises(SyntaxError):
                list(ox.parse(f'<urn:s> <urn:p> "x"@{tag} .', ox.RdfFormat.N_QUADS))


@pytest.mark.parametrize(("bad", "message"), REJECTED)
def test_statements_are_judged_as_oxigraph_does(bad: Any, message: str) -> None:
    good = (S, P, O, G)[: len(bad)]
    statements = [type(bad)(*good), bad]
    expected = quads_outcome(*statements)
    error, found, _, row = expected
    assert error is TermError
    assert re.match(message, found)
    assert len(found) < 300
    assert row > 5
    for decoder in (native_kernel().TextDecoder, reference.TextDecoder):
        assert text_outcome(decoder, *statements) == expected


def test_graphs_of_repeated_statements_are_judged_too() -> None:
    options = StreamOptions(physical_type=PhysicalType.GRAPHS, generalized_statements=True)
    encoder = Encoder(options)
    for graph in (G, Literal("x")):
        encoder.start_graph(graph)
        encoder.add([Quad(S, P, O, graph)])
    frame = encoder.flush()
    for decoder in (native_kernel().TextDecoder, reference.TextDecoder):
        with pytest.raises(TermError, match="graph") as caught:
            list(decoder(Notation.RDF_1_2, validator=factory()).decode(frame))
        # The row that starts the graph.
        assert caught.value.row == 9


# Sources that break off


class Breaking:
    """A file that fails after all statements but the last frame's."""

    def __init__(self, error: BaseException) -> None:
        self.chunks = [jelly(*numbered(SMALL + 500))[:-10]]
        self.error = error

    def read(self, _size: int = -1) -> bytes:
        if self.chunks:
            return self.chunks.pop()
        raise self.error


@pytest.mark.parametrize("blank_nodes", ["fresh", "keep"])
def test_whatever_the_source_raises_nothing_is_loaded(store: ox.Store, blank_nodes: Any) -> None:
    for error in (ValueError("x"), KeyboardInterrupt(), BrokenPipeError(), SystemExit()):
        expected = SourceError if isinstance(error, Exception) else type(error)
        with pytest.raises(expected):
            load(store, Breaking(error), blank_nodes=blank_nodes)  # type: ignore[arg-type]
        assert len(store) == 0


# Hostile input


def repeating(size: int, times: int) -> bytes:
    """A frame of a few bytes more than a term's that says the term over and over."""
    return jelly(
        *(Triple(S, P, Literal("é" * size)) for _ in range(1)),
        *(Triple(Iri(f"urn:{i}"), P, Literal("é" * size)) for i in range(times)),
    )


def test_long_terms_are_not_repeated_without_end(store: ox.Store) -> None:
    data = repeating(100_000, 100)
    assert len(data) < 300_000
    limits = Limits(frame_expansion=1_000_000)
    for take in (
        lambda: load(store, data, limits=limits),
        lambda: load(store, data, limits=limits, blank_nodes="keep"),
        lambda: load(store, data, limits=limits, quoted_triples="reify"),
        lambda: list(read_quads(data, limits=limits)),
    ):
        with pytest.raises(LimitError, match="frame_expansion") as caught:
            take()
        assert caught.value.frame == 0
    assert len(store) == 0
    assert load(store, data) == 101


def test_a_line_that_oxigraph_does_not_read() -> None:
    store = ox.Store()
    # Each character is six of N-Quads.
    data = jelly(Triple(S, P, Literal("\x01" * (3 << 20))))
    for take in (lambda: list(read_quads(data)), lambda: load(store, data)):
        with pytest.raises(LimitError, match="a term is too long") as caught:
            take()
        assert caught.value.source == "<bytes>"
    assert len(store) == 0


# Rows of text: what is written without asking pyoxigraph is what it would have written


ROW_IRIS = ["urn:a", "http://example.org/é?q#f", "http://[::1]/", "urn:%zz", "http://a/ b", "x", ""]
ROW_IRIS += ["urn:" + "a" * size for size in (1017, 1018, 1019, 1100)]
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
    *(Iri(iri) for iri in ROW_IRIS),
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
            expected = rows_by(reference_patches.PatchDecoder(RowFactory(**settings)), data)
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
