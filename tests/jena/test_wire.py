"""Random rows, compared with the ``thrift`` package and protobuf, which read and write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jelly_plugins import BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.codec import DEFAULT_GRAPH, DEFAULT_LIMITS, describe
from jelly_plugins.codec.text.ntriples import parse_nquads
from jelly_plugins.jena import JenaFormat, read
from jelly_plugins.jena.terms import TermTexts

from . import peers
from .kernels import KERNELS, Kernel, load_kernel, outcome, rows

FORMATS = list(JenaFormat)

# Rows of any kind, most of which mean nothing

TEXT = st.text(max_size=20)
PREFIX_NAMES = st.fixed_dictionaries({"prefix": st.sampled_from(["", "x"]), "localName": TEXT})
NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1)
DECIMALS = st.fixed_dictionaries({"value": NUMBERS, "scale": st.integers(-50, 50)})


def literals(*kinds: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[Any]:
    return st.tuples(TEXT, st.one_of(*kinds)).map(
        lambda parts: ("literal", {"lex": parts[0], **parts[1]})
    )


def members(**kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.one_of(
        *(kind.map(lambda value, name=name: {name: value}) for name, kind in kinds.items())
    )


TAGS = st.sampled_from(["en", "de-CH", "x1-2", "", "a b", "en--ltr", "en--up"])
DATATYPES = st.one_of(TEXT, st.sampled_from(["http://www.w3.org/2001/XMLSchema#string"]))
LITERALS = {
    JenaFormat.THRIFT: literals(
        st.just({}),
        members(langtag=TAGS, datatype=DATATYPES, dtPrefix=PREFIX_NAMES, baseDirection=TEXT),
        st.fixed_dictionaries({"langtag": TAGS, "baseDirection": st.sampled_from(["ltr", "up"])}),
    ),
    JenaFormat.PROTOBUF: literals(
        st.just({}),
        members(
            langtag=TAGS,
            datatype=DATATYPES,
            dtPrefix=PREFIX_NAMES,
            langdir=TAGS,
            simple=st.booleans(),
        ),
    ),
}


def terms(literal: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make terms of all kinds, as values of rows."""
    iri = TEXT.map(lambda text: ("iri", {"iri": text}))
    usual = st.one_of(
        iri,
        TEXT.map(lambda text: ("bnode", {"label": text})),
        PREFIX_NAMES.map(lambda name: ("prefixName", name)),
        literal,
        NUMBERS.map(lambda number: ("valInteger", number)),
        st.floats().map(lambda number: ("valDouble", number)),
        DECIMALS.map(lambda number: ("valDecimal", number)),
        st.sampled_from([("repeat", {}), ("any", {}), ("undefined", {})]),
        TEXT.map(lambda text: ("variable", {"name": text})),
    )
    return st.recursive(
        usual,
        lambda inner: st.fixed_dictionaries({"S": iri, "P": iri, "O": inner}).map(
            lambda triple: ("tripleTerm", triple)
        ),
        max_leaves=4,
    )


def streams(form: JenaFormat) -> st.SearchStrategy[Any]:
    iri = TEXT.map(lambda text: ("iri", {"iri": text}))
    term = terms(LITERALS[form])
    triple = {"S": iri, "P": iri, "O": term}
    row = st.one_of(
        st.fixed_dictionaries({"prefix": st.sampled_from(["", "x"]), "uri": TEXT}).map(
            lambda row: ("prefixDecl", row)
        ),
        st.fixed_dictionaries(triple).map(lambda row: ("triple", row)),
        st.fixed_dictionaries({**triple, "G": iri}).map(lambda row: ("quad", row)),
        st.fixed_dictionaries({**triple, "S": term}).map(lambda row: ("triple", row)),
    )
    return st.lists(row, max_size=6)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(FORMATS).flatmap(lambda each: st.tuples(st.just(each), streams(each))))
def test_both_forms_agree(case: tuple[JenaFormat, list[Any]]) -> None:
    form, values = case
    data = rows(form, *values)
    try:
        kernels = [load_kernel(name) for name in KERNELS]
    except ImportError:
        pytest.skip("the kernel is not built")
    text = [outcome(kernel.text, data, form, size=7) for kernel in kernels]
    assert text[0] == text[1]
    found = outcome(lambda: list(read(data, format=form)))
    if isinstance(text[0], bytes):
        parsed = parse_nquads(text[0], relative_iris=True, base_directions=True)
        assert list(parsed) == [as_quad(each) for each in found]
    else:
        assert (found[0], found[1].removeprefix("<bytes>: ")) == text[0]


def as_quad(statement: Any) -> Any:
    return statement if len(statement) == 4 else Quad(*statement, DEFAULT_GRAPH)


# Statements that are written

IRIS = st.sampled_from(["urn:a", "http://e/x", "http://e/é", "http://e/#y", "urn:" + "z" * 200])
NODES = st.one_of(IRIS.map(Iri), st.sampled_from(["b", "b1", "a b", ""]).map(BlankNode))
OBJECTS = st.recursive(
    st.one_of(
        NODES,
        st.builds(Literal, TEXT),
        st.builds(Literal, TEXT, st.sampled_from(["en", "de-CH", "ar--rtl"])),
        st.builds(Literal, TEXT, st.none(), IRIS),
    ),
    lambda inner: st.builds(Triple, NODES, IRIS.map(Iri), inner),
    max_leaves=3,
)
STATEMENTS = st.one_of(
    st.builds(Triple, NODES, IRIS.map(Iri), OBJECTS),
    st.builds(Quad, NODES, IRIS.map(Iri), OBJECTS, NODES),
)


def decoded(data: bytes, form: JenaFormat) -> list[Any]:
    """Read the statements of rows with the other implementations."""
    if form is JenaFormat.THRIFT:
        values = peers.thrift_values(data, peers.THRIFT_ROW)
    else:
        values = peers.protobuf_values(data, "RDF_StreamRow")
    prefixes = {row["prefix"]: row["uri"] for kind, row in values if kind == "prefixDecl"}
    found: list[Any] = []
    for kind, row in values:
        if kind != "prefixDecl":
            made = [peer_term(row[part], prefixes) for part in "SPOG" if part in row]
            found.append(Triple(*made) if kind == "triple" else Quad(*made))
    return found


def peer_term(term: tuple[str, Any], prefixes: dict[str, str]) -> Any:
    kind, value = term
    if kind == "iri":
        return Iri(value["iri"])
    if kind == "prefixName":
        return Iri(prefixes[value["prefix"]] + value["localName"])
    if kind == "bnode":
        return BlankNode(value["label"])
    if kind == "tripleTerm":
        return Triple(*(peer_term(value[part], prefixes) for part in "SPO"))
    langtag = value.get("langdir") or value.get("langtag")
    if "baseDirection" in value:
        langtag = f"{langtag}--{value['baseDirection']}"
    datatype = value.get("datatype")
    if "dtPrefix" in value:
        datatype = prefixes[value["dtPrefix"]["prefix"]] + value["dtPrefix"]["localName"]
    return Literal(value["lex"], langtag, datatype)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", list(KERNELS))
@settings(max_examples=100, deadline=None)
@given(statements=st.lists(STATEMENTS, max_size=5), abbreviate=st.booleans())
def test_written_rows(form: JenaFormat, name: str, statements: list[Any], abbreviate: bool) -> None:
    try:
        kernel: Kernel = load_kernel(name)
    except ImportError:
        pytest.skip("the kernel is not built")
    writer = kernel.RowWriter(form)
    opening = []
    if abbreviate:
        opening = [writer.add_prefix("e", "http://e/"), writer.add_prefix("h", "http://e/#")]
    lines = TermTexts(describe, DEFAULT_LIMITS).lines(statements)
    assert decoded(b"".join(opening) + writer.add_lines(lines), form) == statements
