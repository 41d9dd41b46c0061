"""Text for Oxigraph's parser: validated once, never half of it."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins import (
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
)
from jelly_plugins.codec import Decoder, Encoder
from jelly_plugins.codec.text import transcoding as reference
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.io.streams import encode
from jelly_plugins.oxigraph import load, read_quads
from jelly_plugins.oxigraph.loading import SMALL
from jelly_plugins.oxigraph.terms import REIFY, OxigraphFactory

from ..fuzz.comparison import native as native_kernel
from .support import REJECTED, G, O, P, S, jelly, numbered


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
            # Oxigraph's constructors take tags that no text has.
            with pytest.raises(SyntaxError):
                list(ox.parse(f'<urn:s> <urn:p> "x"@{tag} .', ox.RdfFormat.N_QUADS))


@pytest.mark.parametrize("bad", [statement for statement, _ in REJECTED])
def test_statements_are_judged_as_oxigraph_does(bad: Any) -> None:
    good = (S, P, O, G)[: len(bad)]
    statements = [type(bad)(*good), bad]
    expected = quads_outcome(*statements)
    assert isinstance(expected, tuple)
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
    for read in (
        lambda: load(store, data, limits=limits),
        lambda: load(store, data, limits=limits, blank_nodes="keep"),
        lambda: load(store, data, limits=limits, quoted_triples="reify"),
        lambda: list(read_quads(data, limits=limits)),
    ):
        with pytest.raises(LimitError, match="frame_expansion") as caught:
            read()
        assert caught.value.frame == 0
    assert len(store) == 0
    assert load(store, data) == 101


def test_a_line_that_oxigraph_does_not_read() -> None:
    store = ox.Store()
    # Each character is six of N-Quads.
    data = jelly(Triple(S, P, Literal("\x01" * (3 << 20))))
    for read in (lambda: list(read_quads(data)), lambda: load(store, data)):
        with pytest.raises(LimitError, match="a term is too long") as caught:
            read()
        assert caught.value.source == "<bytes>"
    assert len(store) == 0
