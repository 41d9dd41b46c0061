"""Random rows, compared with the ``thrift`` package and protobuf, which read and write them."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jelly_plugins import BlankNode, Iri, Literal, Quad, Triple
from jelly_plugins.codec import DEFAULT_GRAPH
from jelly_plugins.codec.text.ntriples import parse_nquads
from jelly_plugins.jena import JenaFormat, read

from ..fuzz.jena import made_rows, random_rows
from . import peers
from .kernels import KERNELS, Kernel, lines_of, load_kernel, outcome

FORMATS = list(JenaFormat)


@pytest.mark.parametrize("form", FORMATS)
def test_readers_agree(form: JenaFormat) -> None:
    """Both forms of the reader of text, and the reader of terms, on rows of any kind."""
    try:
        kernels = [load_kernel(name) for name in KERNELS]
    except ImportError:
        pytest.skip("the kernel is not built")
    rejected = 0
    for number in range(1000):
        rng = Random(f"wire/{number}")
        data = made_rows(rng, form, 1) if number % 4 else random_rows(rng, form)
        text = [outcome(kernel.text, data, form, size=7) for kernel in kernels]
        assert text[0] == text[1]
        found = outcome(lambda data=data: list(read(data, format=form)))
        if isinstance(text[0], bytes):
            parsed = parse_nquads(text[0], relative_iris=True, base_directions=True)
            assert list(parsed) == [as_quad(each) for each in found]
        else:
            assert (found[0], found[1].removeprefix("<bytes>: ")) == text[0]
            rejected += 1
    assert 100 < rejected < 900


def as_quad(statement: Any) -> Any:
    return statement if len(statement) == 4 else Quad(*statement, DEFAULT_GRAPH)


# Statements that are written

TEXT = st.text(max_size=20)

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
    written = writer.add_lines(lines_of(statements))
    assert decoded(b"".join(opening) + written, form) == statements
