"""rdflib's terms: equal to those of its own constructors, and back."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, BNode, Dataset, Graph, Literal, URIRef, Variable
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph

import jelly_plugins
from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    JellyError,
    StreamOptions,
    TermError,
    Triple,
    read,
)
from jelly_plugins.backends import get_backend
from jelly_plugins.codec import Kind
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.rdflib import replay
from jelly_plugins.rdflib.terms import RdflibFactory, describe, describe_node

from .support import EX, GRAPHS, QUADS, G, O, P, S, jelly, jelly_frames, parse, to_bytes

pytestmark = pytest.mark.usefixtures("quiet")

XSD_NAMES = """
    anyURI base64Binary boolean byte date dateTime dateTimeStamp dayTimeDuration decimal double
    duration float gDay gMonth gMonthDay gYear gYearMonth hexBinary int integer language long
    negativeInteger nonNegativeInteger nonPositiveInteger normalizedString positiveInteger short
    time token unsignedByte unsignedInt unsignedLong unsignedShort yearMonthDuration
""".split()  # noqa: SIM905

DATATYPES = [
    *(str(rdflib.XSD[name]) for name in XSD_NAMES),
    *(str(RDF[name]) for name in ("XMLLiteral", "HTML", "JSON", "langString")),
    "http://example.org/datatype",
    "",
]

LEXICAL_FORMS = [
    *("", " ", "0", "1", "01", "-1", "+5", " 7 ", "-0", "1.50", "1e3", "1e400", "NaN", "INF"),
    *("true", "TRUE", "1_000", "\u0661", "9" * 5000, "aGk=", "aGk", "ff", "FFF", "a\nb", "\x00"),
    *("2024-02-30", "2024-02-29", "2024", "--02", "24:00:00", "12:00:00Z", "12:00:00+99:99"),
    *("2024-02-29T12:00:00.5Z", "2024-02-29T12:00:00", "99999-01-01T00:00:00", "-0001-01-01"),
    *("P12M", "P1Y2M3DT4H5M6.7S", "-P1D", "PT1e9S", "P99999999999999999999D", "P"),
    *("<b>x</b>", "<b>", "a & b", "{}", "[1,"),
]


def _same(one: Literal, other: Literal) -> bool:
    return (
        type(one) is type(other)
        and one == other
        and hash(one) == hash(other)
        and str(one) == str(other)
        and one.language == other.language
        and one.datatype == other.datatype
        and type(one.datatype) is type(other.datatype)
        and type(one.value) is type(other.value)
        and one.ill_typed == other.ill_typed
    )


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("datatype", DATATYPES)
def test_typed_literals_equal_those_of_the_constructor(
    datatype: str, normalize: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", normalize)
    factory = RdflibFactory()
    for lex in LEXICAL_FORMS:
        expected = Literal(lex, datatype=URIRef(datatype))
        made = factory.literal(lex, None, datatype)
        assert _same(made, expected), lex
        assert made.datatype == expected.datatype


def test_plain_and_tagged_literals_equal_those_of_the_constructor() -> None:
    factory = RdflibFactory()
    for lex in LEXICAL_FORMS:
        assert _same(factory.literal(lex, None, None), Literal(lex))
        for langtag in ("en", "en-GB", "EN"):
            assert _same(factory.literal(lex, langtag, None), Literal(lex, lang=langtag))


def test_a_language_tag_that_rdflib_rejects_is_rejected_with_its_place() -> None:
    literal = jelly_plugins.Literal("x", langtag="not a tag")
    with pytest.raises(TermError, match=r"frame 0, row 6: .*not a tag"):
        parse(Graph(), jelly([Triple(S, P, O), Triple(S, P, literal)]))


@given(st.text() | st.sampled_from(["", "label-", "label-6c6162656c2d", "label-61", "label-6"]))
def test_labels_come_back(label: str) -> None:
    """With the compiled module too."""
    node = RdflibFactory(blank_nodes="keep").blank_node(label)
    assert node == BNode(label)
    assert describe(node) == (Kind.BLANK_NODE, label)
    if not set(label) & set(map(chr, range(0xD800, 0xE000))):
        source = write_bytes([Triple(BlankNode(label), P, O)])
        graph = parse(Graph(), source, blank_nodes="keep")
        assert set(graph.subjects()) == {node}
        assert [each.subject.label for each in read(to_bytes(graph))] == [label]


def test_a_graph_whose_name_has_an_empty_label() -> None:
    """rdflib gives such a graph another name each time, so that its statements are rejected."""
    dataset = Dataset()
    label = BlankNode("")
    quad = jelly_plugins.Quad(S, P, label, label)
    with pytest.raises(TermError, match="a blank node without a label"):
        parse(dataset, jelly([quad]), blank_nodes="keep")
    with pytest.raises(TermError, match="a blank node without a label"):
        replay(dataset, b"TX .\nA <urn:s> <urn:p> <_:> <_:> .\nTC .\n")
    assert len(dataset) == 0


def test_fresh_blank_nodes_are_one_for_each_label_and_differ_between_readings() -> None:
    labels = ["b0", "b1", "x", "", "a b", "é", "78", "x78", "b", "_:b0", "B0"]
    first, second = RdflibFactory(), RdflibFactory()
    nodes = {label: first.blank_node(label) for label in labels}
    assert nodes == {label: first.blank_node(label) for label in labels}
    others = {second.blank_node(label) for label in labels}
    assert len(set(nodes.values()) | others) == 2 * len(labels)
    for node in nodes.values():
        assert node.isalnum()
        assert node.isascii()
        assert not node[0].isdigit()


def test_a_decimal_that_would_be_written_out_in_full_is_rejected() -> None:
    literal = jelly_plugins.Literal("1E999999999", datatype=str(rdflib.XSD.decimal))
    with pytest.raises(TermError, match="exponent") as caught:
        parse(Graph(), jelly([Triple(S, P, literal)]))
    assert (caught.value.frame, caught.value.row) == (0, 5)
    for lex in ("1e-99999999999999999999", "1E+10_000", "-1e00001001"):
        with pytest.raises(TermError, match="exponent"):
            RdflibFactory().literal(lex, None, str(rdflib.XSD.decimal))
    for lex in ("1E3", "1E1000", "1E", "Ex", "1.5"):
        expected = Literal(lex, datatype=rdflib.XSD.decimal)
        assert _same(RdflibFactory().literal(lex, None, str(rdflib.XSD.decimal)), expected)


def test_a_decimal_is_taken_as_it_is_where_rdflib_does_not_normalise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rdflib, "NORMALIZE_LITERALS", False)
    made = RdflibFactory().literal("1E999999999", None, str(rdflib.XSD.decimal))
    assert str(made) == "1E999999999"


def test_a_converter_that_raises_anything_is_a_term_error() -> None:
    def explode(_: Any) -> Any:
        raise RuntimeError("boom")

    class Value:
        def __init__(self, _: str) -> None:
            pass

    rdflib.term.bind(URIRef(EX + "d"), Value, lexicalizer=explode)
    try:
        with pytest.raises(TermError, match="boom"):
            RdflibFactory().literal("x", None, EX + "d")
    finally:
        rdflib.term._reset_bindings()


def test_blank_nodes_is_one_of_two_words() -> None:
    with pytest.raises(ValueError, match="'fresh' or 'keep'"):
        RdflibFactory(blank_nodes="other")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (URIRef("urn:s"), (Kind.IRI, "urn:s")),
        (BNode("b"), (Kind.BLANK_NODE, "b")),
        (Literal("x"), (Kind.LITERAL, "x", None, None)),
        (Literal("x", lang="en-GB"), (Kind.LITERAL, "x", "en-GB", None)),
        (Literal("x", datatype=rdflib.XSD.string), (Kind.LITERAL, "x", None, None)),
        (
            Literal("1", datatype=rdflib.XSD.integer),
            (Kind.LITERAL, "1", None, str(rdflib.XSD.integer)),
        ),
        (None, (Kind.DEFAULT_GRAPH,)),
        (DATASET_DEFAULT_GRAPH_ID, (Kind.DEFAULT_GRAPH,)),
    ],
)
def test_terms_are_taken_apart(term: Any, expected: tuple[Any, ...]) -> None:
    described = describe(term)
    assert described == expected
    assert all(type(part) in (str, Kind, type(None)) for part in described)


@pytest.mark.parametrize(
    "term", [Variable("v"), QuotedGraph(Graph().store, URIRef("urn:f")), "text", 1]
)
def test_what_is_no_term_is_rejected(term: Any) -> None:
    for function in (describe, describe_node):
        with pytest.raises(TermError, match="is not an RDF term"):
            function(term)


def test_a_graph_may_speak_of_the_default_graphs_name() -> None:
    graph = Graph().add((DATASET_DEFAULT_GRAPH_ID, RDF.type, DATASET_DEFAULT_GRAPH_ID))
    assert set(parse(Graph(), to_bytes(graph))) == set(graph)


def test_all_that_rdflib_holds_round_trips() -> None:
    graph = Graph()
    for number, datatype in enumerate(DATATYPES):
        for lex in LEXICAL_FORMS:
            literal = Literal(lex, datatype=URIRef(datatype))
            graph.add((URIRef(EX + "s"), URIRef(f"{EX}p{number}"), literal))
    for lex in LEXICAL_FORMS:
        graph.add((BNode("a b"), URIRef(EX + "plain"), Literal(lex)))
        graph.add((BNode("b."), URIRef(EX + "tagged"), Literal(lex, lang="de-AT")))
    back = parse(Graph(), to_bytes(graph), blank_nodes="keep")
    assert set(back) == set(graph)
    assert len(graph) > 1000


def test_xsd_string_is_the_same_as_no_datatype() -> None:
    graph = Graph().add((URIRef("urn:s"), RDF.value, Literal("x", datatype=rdflib.XSD.string)))
    assert next(parse(Graph(), to_bytes(graph)).objects()) == Literal("x")


# What rdflib cannot hold

STAR = StreamOptions(rdf_star=True, generalized_statements=True)


@pytest.mark.parametrize("into", [Graph, Dataset])
def test_quoted_triples_are_rejected_with_their_place(into: Any) -> None:
    data = jelly([Triple(S, P, O), Triple(S, P, Triple(S, P, O))], options=STAR)
    graph = into()
    with pytest.raises(TermError, match="quoted triples") as caught:
        parse(graph, data)
    assert (caught.value.frame, caught.value.row) == (0, 6)
    assert len(graph) == 0


@pytest.mark.parametrize(
    ("triple", "message"),
    [
        (Triple(jelly_plugins.Literal("l"), P, O), "a literal cannot be a subject"),
        (Triple(S, jelly_plugins.Literal("l"), O), "a literal cannot be a predicate"),
        (Triple(S, jelly_plugins.BlankNode("b"), O), "a blank node cannot be a predicate"),
    ],
)
def test_generalized_statements_are_rejected_unless_let_through(
    triple: Triple, message: str
) -> None:
    data = jelly([Triple(S, P, O), triple], options=STAR)
    graph = Graph()
    with pytest.raises(TermError, match=message) as caught:
        parse(graph, data)
    assert caught.value.frame == 0
    assert caught.value.row is not None
    assert len(graph) == 0
    assert len(parse(graph, data, generalized=True)) == 2

    quads = jelly([(*triple, G)], options=StreamOptions(**_fields(QUADS, STAR)))
    with pytest.raises(TermError, match=message):
        parse(Dataset(), quads)
    assert len(parse(Dataset(), quads, generalized=True)) == 1


def _fields(types: StreamOptions, features: StreamOptions) -> dict[str, Any]:
    return {
        "physical_type": types.physical_type,
        "logical_type": types.logical_type,
        "generalized_statements": features.generalized_statements,
        "rdf_star": features.rdf_star,
    }


def test_declarations_that_are_not_used_are_no_reason_to_reject() -> None:
    data = jelly([Triple(S, P, O)], options=STAR)
    assert len(parse(Graph(), data)) == 1


@pytest.mark.parametrize("generalized", [True, False])
def test_a_graph_named_by_a_literal_is_rejected(generalized: bool) -> None:
    name = jelly_plugins.Literal("g")
    quads = StreamOptions(**_fields(QUADS, STAR))
    graphs = StreamOptions(**_fields(GRAPHS, STAR))
    for data in (
        jelly([(S, P, O, name)], options=quads),
        jelly([(S, P, O, name)], options=graphs),
        jelly_frames([jelly_plugins.Frame(0, empty_graphs=[name])], options=graphs),
    ):
        dataset = Dataset()
        with pytest.raises(TermError, match="named by a literal") as caught:
            parse(dataset, data, generalized=generalized)
        assert (caught.value.frame, caught.value.row is None) == (0, False)
        assert not list(dataset.store.contexts())


def test_generalized_statements_are_written_where_they_are_declared() -> None:
    data = jelly([Triple(jelly_plugins.Literal("l"), P, O)], options=STAR)
    graph = parse(Graph(), data, generalized=True)
    with pytest.raises(JellyError, match="generalized_statements"):
        to_bytes(graph)
    back = parse(Graph(), to_bytes(graph, options=STAR), generalized=True)
    assert set(back) == set(graph)


def test_the_backend_reads_and_writes_statements() -> None:
    backend = get_backend("rdflib")
    assert backend.name == "rdflib"
    statements = [(S, P, O, G), (S, P, jelly_plugins.Literal("x"), DEFAULT_GRAPH)]
    with jelly_plugins.read_frames(
        jelly(statements), factory=backend.factory(blank_nodes="keep")
    ) as frames:
        read = [statement for frame in frames for statement in frame.statements]
    assert read[1][3] == DATASET_DEFAULT_GRAPH_ID
    assert list(jelly_plugins.read(jelly(read, describe=backend.describe))) == statements
