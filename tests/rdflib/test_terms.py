"""rdflib's terms: in everything equal to those of its own constructors, and back."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import RDF, BNode, Dataset, Graph, Literal, URIRef, Variable
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph

import jelly_plugins
from jelly_plugins import BlankNode, JellyError, StreamOptions, TermError, Triple
from jelly_plugins.codec import native
from jelly_plugins.rdflib import load, replay
from jelly_plugins.rdflib.memory import compiled, parts_of
from jelly_plugins.rdflib.terms import (
    RdflibFactory,
    describe,
    describe_node,
    make_literal,
    read_form,
)

from .. import programs
from ..ntriples import write_lines
from .support import EX, QUADS, G, O, P, S, jelly, parse, to_bytes

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


#: Datatypes whose values are equal to one another: no documents.
COMPARABLE = [name for name in DATATYPES if not name.endswith(("XMLLiteral", "HTML"))]

#: Forms that are near to being usual.
FORMS = st.one_of(
    st.sampled_from(LEXICAL_FORMS),
    st.text(max_size=8),
    st.from_regex(r"[-+]?[0-9]{0,20}(\.[0-9]{0,8})?([eE][-+]?[0-9]{1,3})?", fullmatch=True),
    st.from_regex(r"-?[0-9]{1,30}", fullmatch=True),
    st.floats().map(repr),
    st.decimals(allow_nan=False, places=4, min_value=-(10**9), max_value=10**9).map(str),
    st.dates().map(str),
    st.datetimes().map(lambda moment: moment.isoformat()),
    st.from_regex(
        r"[0-2][0-9]{3}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?)?"
        r"(Z|[+-][0-2][0-9]:[0-6][0-9])?",
        fullmatch=True,
    ),
    st.from_regex(r"-?P([0-9]{1,3}Y)?([0-9]{1,3}M)?([0-9]{1,3}D)?(T[0-9]{1,3}S)?", fullmatch=True),
    st.sampled_from(["true", "false", "1", "0", "True", "TRUE"]),
)


def outcome(make: Any, *arguments: Any) -> Any:
    try:
        return parts_of(make(*arguments))
    except Exception as error:
        return type(error), str(error)


@settings(deadline=None, max_examples=300)
@given(FORMS, st.sampled_from(COMPARABLE), st.booleans())
@example("-0", str(rdflib.XSD.integer), True)
@example("-P1MT1S", str(rdflib.XSD.yearMonthDuration), True)
@example("2024-01-01T24:00:00", str(rdflib.XSD.dateTime), True)
@example("0000-01-01", str(rdflib.XSD.date), True)
@example("-P1M1D", str(rdflib.XSD.duration), True)
def test_typed_literals(form: str, datatype: str, normalize: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rdflib, "NORMALIZE_LITERALS", normalize)
        factory = RdflibFactory()
        # Once more, once the datatype is known.
        for _ in range(2):
            expected = outcome(make_literal, form, None, datatype)
            assert outcome(factory.literal, form, None, datatype) == expected


@settings(deadline=None)
@given(
    st.text(max_size=5),
    st.none() | st.text(max_size=4) | st.from_regex(r"[a-zA-Z0-9-]{1,9}\n?", fullmatch=True),
)
@example("x", "en\n")
@example("x", "")
@example("x", "a--b")
def test_plain_and_tagged_literals(form: str, langtag: str | None) -> None:
    factory = RdflibFactory()
    for _ in range(2):
        assert outcome(factory.literal, form, langtag, None) == outcome(
            make_literal, form, langtag, None
        )


@settings(deadline=None)
@given(st.text())
@example("http://example.org/a b")
@example("\u20ac<")
def test_iris_and_blank_nodes(text: str) -> None:
    kept, fresh = RdflibFactory(blank_nodes="keep"), RdflibFactory()
    for made, expected in (
        (kept.iri(text), URIRef(text)),
        (kept.blank_node(text), BNode(text)),
    ):
        assert (type(made), made, hash(made)) == (type(expected), expected, hash(expected))
    one, other = fresh.blank_node(text), fresh.blank_node(f"{text}x")
    assert type(one) is BNode
    assert one == fresh.blank_node(text) != other
    assert one.isascii()
    assert one.isalnum()


def test_rdflib_still_says_that_an_iri_is_none(caplog: pytest.LogCaptureFixture) -> None:
    logging.disable(logging.NOTSET)
    with caplog.at_level(logging.WARNING, "rdflib.term"):
        RdflibFactory().iri("http://example.org/a b")
        RdflibFactory().iri("http://example.org/\u20ac>")
    assert len(caplog.records) == 2


def test_datatypes_that_are_bound() -> None:
    """They count from the next reading on."""
    unknown, integer = "urn:datatype", str(rdflib.XSD.integer)

    def check() -> None:
        factory = RdflibFactory()
        for datatype in unknown, integer, str(rdflib.XSD.boolean):
            for form in "1", "01", "true":
                expected = outcome(make_literal, form, None, datatype)
                assert outcome(factory.literal, form, None, datatype) == expected
                raw = rdflib.Literal(form, datatype=URIRef(datatype), normalize=False)
                assert str(read_form(raw)) == expected[1]
        assert outcome(factory.literal, "x", "en", None) == outcome(make_literal, "x", "en", None)

    class Shout(str):
        pass

    check()
    try:
        rdflib.term.bind(URIRef(unknown), complex, lexicalizer=str)
        check()
        rdflib.term.bind(URIRef(integer), float)
        check()
        rdflib.term._reset_bindings()
        check()
        rdflib.term.bind(
            rdflib.XSD.boolean, bool, lambda _: True, lambda _: "yes", datatype_specific=True
        )
        check()
        rdflib.term.bind(None, Shout, lambda text: Shout(text.upper()))  # type: ignore[arg-type]
        check()
    finally:
        rdflib.term._reset_bindings()
    check()


def test_a_language_tag_that_rdflib_rejects_is_rejected_with_its_place() -> None:
    literal = jelly_plugins.Literal("x", langtag="not a tag")
    with pytest.raises(TermError, match=r"frame 0, row 6: .*not a tag"):
        parse(Graph(), jelly([Triple(S, P, O), Triple(S, P, literal)]))


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
        made = RdflibFactory().literal(lex, None, str(rdflib.XSD.decimal))
        assert parts_of(made) == parts_of(expected)


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
    triples = [Triple(S, P, O), Triple(S, P, Triple(S, P, O))]
    graph = into()
    with pytest.raises(TermError, match="quoted triples") as caught:
        parse(graph, jelly(triples, options=STAR))
    assert (caught.value.frame, caught.value.row) == (0, 6)
    # Text becomes Jelly while it is read, whose frames exist only there.
    with pytest.raises(TermError, match="quoted triples") as in_text:
        load(graph, b"".join(write_lines(triples)), format="nt")
    assert (in_text.value.frame, in_text.value.row) == (None, None)
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


def test_generalized_statements_are_written_where_they_are_declared() -> None:
    data = jelly([Triple(jelly_plugins.Literal("l"), P, O)], options=STAR)
    graph = parse(Graph(), data, generalized=True)
    with pytest.raises(JellyError, match="generalized_statements"):
        to_bytes(graph)
    back = parse(Graph(), to_bytes(graph, options=STAR), generalized=True)
    assert set(back) == set(graph)


# Other versions of rdflib


@pytest.mark.skipif(not native, reason="needs the compiled kernel")
def test_the_compiled_half_knows_this_rdflib() -> None:
    """Otherwise tests of it are skipped."""
    assert compiled() is not None


@pytest.mark.skipif(compiled() is None, reason="the compiled half is not there")
@pytest.mark.parametrize(
    ("file", "old", "new", "reason"),
    [
        (
            "term.py",
            "normalize if normalize is not None else rdflib.NORMALIZE_LITERALS",
            "True if normalize is None else normalize",
            "Literal does not read rdflib.NORMALIZE_LITERALS",
        ),
        ("term.py", "_invalid_uri_chars", "_other_uri_chars", "it lacks"),
        ("plugins/stores/memory.py", "__contextTriples", "__triplesOfContexts", "it lacks"),
    ],
)
def test_a_later_rdflib_is_told_from_the_one_that_is_known(
    file: str, old: str, new: str, reason: str, tmp_path: Path
) -> None:
    changed = tmp_path / "rdflib"
    shutil.copytree(
        Path(rdflib.__file__).parent, changed, ignore=shutil.ignore_patterns("__pycache__", "tools")
    )
    source = changed / file
    text = source.read_text()
    assert old in text
    source.write_text(text.replace(old, new))
    program = (
        "import logging; logging.basicConfig(format='%(message)s')\n"
        "import rdflib; from jelly_plugins.rdflib.memory import compiled\n"
        "graph = rdflib.Graph().parse(data='<urn:s> <urn:p> 01, \"x\"@en .', format='turtle')\n"
        "data = graph.serialize(format='jelly-plugins', encoding='jelly')\n"
        "copy = rdflib.Graph().parse(data=data, format='jelly-plugins')\n"
        "assert set(copy) == set(graph) and compiled() is None, rdflib.__file__\n"
    )
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = programs.run(program, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    (line,) = (each for each in done.stderr.splitlines() if "jelly-plugins" in each)
    assert f"differs from the versions that jelly-plugins supports: {reason}" in line
