"""The meaning of rows, with both kernels."""

from __future__ import annotations

import io
from typing import Any

import pytest

from jelly_plugins import BlankNode, Iri, Limits, Literal, Quad, Triple
from jelly_plugins.codec import DEFAULT_GRAPH
from jelly_plugins.codec.text.ntriples import parse_nquads
from jelly_plugins.errors import (
    JellyError,
    LimitError,
    LookupTableError,
    StatementError,
    TermError,
    TextError,
)
from jelly_plugins.jena import JenaFormat, read, write

from ..codec.test_encoder import BAD_TRIPLES
from .kernels import Kernel, lines_of, rows

FORMATS = list(JenaFormat)
S, P, O, G = (("iri", {"iri": f"urn:{name}"}) for name in "spog")  # noqa: E741
GENERIC = Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE = f"{XSD}integer", f"{XSD}decimal", f"{XSD}double"


def triple(*terms: Any) -> Any:
    return "triple", dict(zip("SPO", terms, strict=True))


def quad(*terms: Any) -> Any:
    return "quad", dict(zip("SPOG", terms, strict=False))


def prefix(name: str, iri: str) -> Any:
    return "prefixDecl", {"prefix": name, "uri": iri}


def literal(lex: str, **parts: Any) -> Any:
    return "literal", {"lex": lex, **parts}


def name_of(name: str, local: str) -> Any:
    return "prefixName", {"prefix": name, "localName": local}


@pytest.fixture(params=FORMATS)
def form(request: pytest.FixtureRequest) -> JenaFormat:
    found: JenaFormat = request.param
    return found


def test_triples_and_quads(kernel: Kernel, form: JenaFormat) -> None:
    data = rows(form, triple(S, P, O), quad(S, P, O, G), quad(S, P, O))
    found = kernel.read(data, form)
    named = Quad(*GENERIC, Iri("urn:g"))
    # What is in the default graph is a triple.
    assert found == list(read(data, format=form)) == [GENERIC, named, GENERIC]
    line = "<urn:s> <urn:p> <urn:o>"
    assert kernel.text(data, form).decode() == f"{line} .\n{line} <urn:g> .\n{line} .\n"
    # Rows in the default graph have no graph, as in Apache Jena.
    written = kernel.write([GENERIC, named, Quad(*GENERIC, DEFAULT_GRAPH)], form)
    assert written == rows(form, triple(S, P, O), quad(S, P, O, G), triple(S, P, O))


@pytest.mark.parametrize("name", ["DefaultGraphNode", "DefaultGraph", "DefaultGraphs"])
def test_what_jena_calls_the_default_graph(kernel: Kernel, form: JenaFormat, name: str) -> None:
    iri = f"urn:x-arq:{name}"
    data = rows(form, quad(S, P, O, ("iri", {"iri": iri})))
    expected = GENERIC if name != "DefaultGraphs" else Quad(*GENERIC, Iri(iri))
    assert kernel.read(data, form) == [expected]
    named = Quad(*GENERIC, Iri(iri))
    if name == "DefaultGraphs":
        assert kernel.write([named], form) == data
    else:
        with pytest.raises(TermError, match="which means the default graph"):
            kernel.write([named], form)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, None])
def test_chunks_of_any_size(kernel: Kernel, form: JenaFormat, size: int | None) -> None:
    values = [
        prefix("x", "urn:x:"),
        triple(name_of("x", "a"), P, literal("l", langtag="en")),
        quad(("bnode", {"label": "b"}), P, literal("l", langtag="en"), G),
        triple(S, P, ("valInteger", -3)),
    ]
    data = rows(form, *values)
    assert kernel.read(data, form, size=size) == [
        Triple(Iri("urn:x:a"), Iri("urn:p"), Literal("l", "en")),
        Quad(BlankNode("b"), Iri("urn:p"), Literal("l", "en"), Iri("urn:g")),
        Triple(Iri("urn:s"), Iri("urn:p"), Literal("-3", datatype=XSD_INTEGER)),
    ]
    assert kernel.text(data, form, size=size).count(b"\n") == 3


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (literal(""), Literal("")),
        (literal('é"\\\n\U0001f600', simple=True), Literal('é"\\\n\U0001f600')),
        (literal("x", datatype=f"{XSD}string"), Literal("x")),
        (literal("1", datatype=f"{XSD}int"), Literal("1", datatype=f"{XSD}int")),
        (literal("1", dtPrefix={"prefix": "x", "localName": "d"}), Literal("1", None, "urn:x:d")),
        (name_of("x", ""), Iri("urn:x:")),
        (name_of("", "é"), Iri("urn:empty:é")),
        (("bnode", {"label": ""}), BlankNode("")),
        (("bnode", {"label": "a b"}), BlankNode("a b")),
        (("valInteger", 7), Literal("7", datatype=XSD_INTEGER)),
        (("valInteger", -(1 << 63)), Literal(str(-(1 << 63)), datatype=XSD_INTEGER)),
        (("valDouble", 1.0), Literal("1.0E0", datatype=XSD_DOUBLE)),
        (("valDouble", -1.5e-7), Literal("-1.5E-7", datatype=XSD_DOUBLE)),
        (("valDouble", float("nan")), Literal("NaN", datatype=XSD_DOUBLE)),
        (("valDouble", 1.5e300), Literal("1.5E300", datatype=XSD_DOUBLE)),
        (("valDouble", float("-inf")), Literal("-INF", datatype=XSD_DOUBLE)),
        (("valDecimal", {"value": 5, "scale": 0}), Literal("5", datatype=XSD_DECIMAL)),
        (("valDecimal", {"value": -500, "scale": 3}), Literal("-0.500", datatype=XSD_DECIMAL)),
        (("valDecimal", {"value": -5, "scale": 3}), Literal("-0.005", datatype=XSD_DECIMAL)),
        (("valDecimal", {"value": 0, "scale": -3}), Literal("0", datatype=XSD_DECIMAL)),
        (("tripleTerm", {"S": S, "P": P, "O": O}), GENERIC),
        (
            ("tripleTerm", {"S": S, "P": P, "O": ("tripleTerm", {"S": S, "P": P, "O": O})}),
            Triple(Iri("urn:s"), Iri("urn:p"), GENERIC),
        ),
    ],
)
def test_terms(kernel: Kernel, form: JenaFormat, term: Any, expected: Any) -> None:
    opening = (prefix("x", "urn:x:"), prefix("", "urn:empty:"))
    data = rows(form, *opening, triple(S, P, term), triple(S, P, term))
    assert [found.object for found in kernel.read(data, form)] == [expected] * 2
    text = kernel.text(data, form)
    again = kernel.lines(text, form)
    assert [found.object for found in kernel.read(again, form)] == [expected] * 2
    written = kernel.write([Triple(Iri("urn:s"), Iri("urn:p"), expected)] * 2, form)
    assert kernel.read(written, form) == kernel.read(data, form)
    assert kernel.text(written, form) == text


def test_text_of_recurring_terms(kernel: Kernel, form: JenaFormat) -> None:
    directed = literal("x", langdir="en--ltr")
    if form is JenaFormat.THRIFT:
        directed = literal("x", langtag="en", baseDirection="ltr")
    name = name_of("x", "o")
    values = [
        prefix("x", "urn:"),
        triple(S, P, directed),
        triple(S, P, directed),
        triple(P, S, name),
        prefix("x", "urn:other:"),
        triple(P, S, name),
        triple(P, S, name),
    ]
    assert kernel.text(rows(form, *values), form).decode().splitlines() == [
        '<urn:s> <urn:p> "x"@en--ltr .',
        '<urn:s> <urn:p> "x"@en--ltr .',
        "<urn:p> <urn:s> <urn:o> .",
        "<urn:p> <urn:s> <urn:other:o> .",
        "<urn:p> <urn:s> <urn:other:o> .",
    ]


def test_a_prefix_that_is_declared_again(kernel: Kernel, form: JenaFormat) -> None:
    decoder = kernel.StatementReader(form)
    decoder.read_text(rows(form, prefix("x", "urn:a"), prefix("x", "urn:b")), 0)
    assert decoder.declared == [("x", "urn:a"), ("x", "urn:b")]


@pytest.mark.parametrize(
    "statement",
    [
        # A quad is a statement here.
        *(bad for name, (bad, _) in BAD_TRIPLES.items() if name != "too wide"),
        (*GENERIC, *GENERIC[:2]),
        (*GENERIC[:2], tuple.__new__(Triple, GENERIC[:2])),
        (*GENERIC[:2], Literal("x", "en--up")),
        (Literal("x"), *GENERIC[1:]),
        Triple(*GENERIC[:2], Literal("x", None, f"{RDF}langString")),
    ],
)
def test_values_that_are_not_statements_are_rejected(
    form: JenaFormat, statement: tuple[Any, ...]
) -> None:
    with pytest.raises((TermError, StatementError)) as caught:
        write([GENERIC, statement], io.BytesIO(), format=form)
    assert caught.value.row == 1


def test_base_directions(kernel: Kernel) -> None:
    expected = [Triple(Iri("urn:s"), Iri("urn:p"), Literal("x", "ar--rtl"))]
    parts = {
        JenaFormat.THRIFT: {"langtag": "ar", "baseDirection": "rtl"},
        JenaFormat.PROTOBUF: {"langdir": "ar--rtl"},
    }
    for each, direction in parts.items():
        data = rows(each, triple(S, P, literal("x", **direction)))
        assert kernel.read(data, each) == expected
        assert kernel.write(expected, each) == data
        text = kernel.text(data, each)
        assert text == b'<urn:s> <urn:p> "x"@ar--rtl .\n'
        assert kernel.lines(text, each) == data
        with pytest.raises(TermError, match="ltr or rtl"):
            kernel.read(data.replace(b"rtl", b"xyz"), each)


def test_a_base_is_kept_and_resolves_nothing(kernel: Kernel) -> None:
    relative = ("iri", {"iri": "x"})
    data = rows(JenaFormat.PROTOBUF, ("base", {"iri": "urn:b/"}), triple(S, P, relative))
    reader = kernel.StatementReader(JenaFormat.PROTOBUF)
    text, _ = reader.read_text(data, 0)
    assert (reader.base, text) == ("urn:b/", b"<urn:s> <urn:p> <x> .\n")


@pytest.mark.parametrize(
    ("iri", "relative"),
    [
        *(("urn:a", False), ("http://a", False), ("https:a", False), ("a:", False)),
        *(("httpx+1.-Z:a", False), ("Http:", False)),
        *(("", True), ("a", True), (":", True), ("http", True), ("https", True)),
        *(("1:", True), ("+a:", True), ("a/b:c", True), ("http/:", True), ("\u00e9:", True)),
    ],
)
def test_relative_iris_are_noticed(kernel: Kernel, iri: str, relative: bool) -> None:
    form = JenaFormat.PROTOBUF
    for term in (Iri(iri), Literal("x", datatype=iri)):
        if term == Literal("x", datatype=""):
            continue
        reader = kernel.StatementReader(form)
        reader.read_text(kernel.write([Triple(Iri("urn:s"), Iri("urn:p"), term)], form), 0)
        assert reader.has_relative_iris is relative, term


@pytest.mark.parametrize(
    ("values", "error", "message", "row"),
    [
        # No writer makes these, and Apache Jena does not read them.
        ([triple(("repeat", {}), P, O)], TermError, "repeat of a term is used as subject", 0),
        ([triple(S, P, O), triple(S, P, ("any", {}))], TermError, "pattern for any term", 1),
        ([triple(S, ("undefined", {}), O)], TermError, "undefined term is used as predicate", 0),
        ([triple(("variable", {"name": "v"}), P, O)], TermError, "variable is used as subject", 0),
        ([triple(literal("x"), P, O)], StatementError, "LITERAL as subject", 0),
        ([triple(S, ("bnode", {"label": "b"}), O)], StatementError, "BLANK_NODE as predicate", 0),
        ([quad(S, P, O, literal("x"))], StatementError, "LITERAL as graph", 0),
        (
            [triple(S, P, literal("x", datatype=f"{RDF}langString"))],
            TermError,
            "langString has no language tag",
            0,
        ),
        ([triple(S, P, name_of("x", "a"))], LookupTableError, "prefix 'x' was not declared", 0),
        (
            [triple(S, P, O), triple(S, P, literal("", dtPrefix={"prefix": "", "localName": ""}))],
            LookupTableError,
            "prefix '' was not declared",
            1,
        ),
    ],
)
def test_rows_without_meaning_are_rejected(
    kernel: Kernel, form: JenaFormat, values: Any, error: type[JellyError], message: str, row: int
) -> None:
    with pytest.raises(error, match=message) as caught:
        kernel.text(rows(form, *values), form)
    assert caught.value.row == row


def test_two_kinds_of_a_literal_are_rejected(kernel: Kernel) -> None:
    both = {"langtag": "en", "datatype": f"{XSD}int"}
    data = rows(JenaFormat.THRIFT, triple(S, P, literal("x", **both)))
    with pytest.raises(TermError, match="not both"):
        kernel.read(data, JenaFormat.THRIFT)
    two = {"datatype": "urn:d", "dtPrefix": {"prefix": "x", "localName": "y"}}
    data = rows(JenaFormat.THRIFT, prefix("x", "urn:"), triple(S, P, literal("x", **two)))
    with pytest.raises(TermError, match="two datatypes"):
        kernel.read(data, JenaFormat.THRIFT)
    # An implied datatype may be written.
    tagged = {"langtag": "en", "datatype": f"{RDF}langString"}
    data = rows(JenaFormat.THRIFT, triple(S, P, literal("x", **tagged)))
    assert kernel.read(data, JenaFormat.THRIFT)[0].object == Literal("x", "en")


def test_generalized_statements_are_rejected(kernel: Kernel, form: JenaFormat) -> None:
    with pytest.raises(TextError, match="LITERAL as subject"):
        kernel.lines(b'"x" <urn:p> <urn:o> .\n', form)


def test_literals_without_the_tag_that_their_datatype_implies(
    kernel: Kernel, form: JenaFormat
) -> None:
    untagged = Literal("x", None, f"{RDF}langString")
    with pytest.raises(TextError, match=r"line 1.*langString has no language tag"):
        kernel.lines(f'<urn:s> <urn:p> "x"^^<{RDF}langString> .\n'.encode(), form)
    # Results have them.
    assert kernel.RowWriter(form, solutions=True).term(untagged)


# Writing


def test_a_prefix_of_another_iri_changes_names(kernel: Kernel) -> None:
    encoder = kernel.RowWriter(JenaFormat.THRIFT)
    for name, iri in (("a", "http://e/"), ("b", "http://e/"), ("a", "http://f/")):
        encoder.add_prefix(name, iri)
    line = b"<http://e/s> <http://f/p> <http://e/o> .\n"
    expected = triple(name_of("b", "s"), name_of("a", "p"), name_of("b", "o"))
    assert encoder.add_lines(line) == rows(JenaFormat.THRIFT, expected)


def test_prefix_names_are_written_in_thrift_only(kernel: Kernel) -> None:
    statements = [
        Triple(Iri("http://e/a"), Iri("http://e/x#p"), Literal("1", None, "http://e/x#d")),
        Triple(Iri("http://e/a/b"), Iri("http://e/x#q"), Iri("http://e/x#long-q")),
    ]
    prefixes = {"e": "http://e/", "x": "http://e/x#", "l": "http://e/x#long-"}
    lines = lines_of(statements)
    encoder = kernel.RowWriter(JenaFormat.THRIFT)
    opening = b"".join(encoder.add_prefix(*each) for each in prefixes.items())
    expected = [
        triple(
            name_of("e", "a"),
            name_of("x", "p"),
            literal("1", dtPrefix={"prefix": "x", "localName": "d"}),
        ),
        # A local name contains no slash, and the longest prefix is used.
        triple(("iri", {"iri": "http://e/a/b"}), name_of("x", "q"), name_of("l", "q")),
    ]
    assert encoder.add_lines(lines) == rows(JenaFormat.THRIFT, *expected)
    written = rows(JenaFormat.THRIFT, *(prefix(*each) for each in prefixes.items()))
    assert opening == written
    assert kernel.read(opening + encoder.add_lines(lines), JenaFormat.THRIFT) == statements
    encoder = kernel.RowWriter(JenaFormat.PROTOBUF)
    encoder.add_prefix("e", "http://e/")
    assert encoder.add_lines(lines) == kernel.lines(lines, JenaFormat.PROTOBUF)


def test_nesting_is_limited(form: JenaFormat) -> None:
    deep: Any = GENERIC
    for _ in range(65):
        deep = Triple(Iri("urn:s"), Iri("urn:p"), deep)
    with pytest.raises(LimitError, match="nesting"):
        write([deep], io.BytesIO(), format=form)


def test_limits_of_writing(kernel: Kernel, form: JenaFormat) -> None:
    long = b'<urn:s> <urn:p> "%s" .\n' % (b"x" * 101)
    for limits in (Limits(string_bytes=100), Limits(frame_bytes=100)):
        with pytest.raises(LimitError, match=r"string_bytes|frame_bytes") as caught:
            kernel.lines(long, form, limits=limits)
        assert caught.value.row == 0
    encoder = kernel.RowWriter(form, limits=Limits(prefix_table=1))
    encoder.add_prefix("a", "urn:a")
    with pytest.raises(LimitError, match="prefix_table"):
        encoder.add_prefix("b", "urn:b")


def test_lines_in_any_form(kernel: Kernel, form: JenaFormat) -> None:
    text = (
        b"# comment\n\n<urn:s> <urn:p> <urn:o>.\n"
        b'_:a <urn:p> "\\u00e9\\n"@en-GB <urn:g> . # more\n'
        b"<urn:s> <urn:p> <<( <urn:a> <urn:b> _:c )>> .\r\n"
        b'<urn:s> <urn:p> "x"^^<http://www.w3.org/2001/XMLSchema#string> _:g .\n'
        b'_:label-612062 <urn:p> "" .'
    )
    rows = kernel.lines(text, form)
    assert kernel.read(rows, form) == [
        Triple(*statement[:3]) if statement.graph is DEFAULT_GRAPH else statement
        for statement in parse_nquads(text)
    ]
