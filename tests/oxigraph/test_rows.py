"""Rows of text: what is written without asking pyoxigraph is what pyoxigraph would have written."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins.codec.common.terms import XSD_STRING
from jelly_plugins.codec.text.forms import TEXTS
from jelly_plugins.errors import TermError
from jelly_plugins.oxigraph.rows import RowFactory

XSD = "http://www.w3.org/2001/XMLSchema#"
P = ox.NamedNode("urn:p")


def asked(lex: str, langtag: str | None = None, datatype: str | None = None) -> str:
    """The text of a literal as pyoxigraph and a store have it."""
    if datatype is not None:
        store = ox.Store()
        store.add(ox.Quad(P, P, ox.Literal(lex, datatype=ox.NamedNode(datatype))))
        return str(next(iter(store)).object)
    return str(ox.Literal(lex, language=langtag))


@pytest.mark.parametrize("datatype", [*sorted(TEXTS), "urn:datatype", f"{XSD}long", XSD_STRING])
@pytest.mark.parametrize("lex", ["01", " x ", "", 'a"b', "é\n", "-0.0"])
def test_datatypes(datatype: str, lex: str) -> None:
    assert RowFactory().literal(lex, None, datatype) == asked(lex, None, datatype)


@given(st.text(), st.sampled_from([None, "en", "EN-us"]))
def test_texts(lex: str, langtag: str | None) -> None:
    assert RowFactory().literal(lex, langtag, None) == asked(lex, langtag)


def test_directions() -> None:
    expected = ox.Literal("x", language="en", direction=ox.BaseDirection.RTL)
    assert RowFactory().literal("x", "EN--rtl", None) == str(expected)


@pytest.mark.parametrize(
    ("langtag", "datatype"),
    [("not a tag", None), ("en> <urn:x", None), (None, "urn:x> }"), (None, "relative")],
)
def test_what_oxigraph_refuses(langtag: str | None, datatype: str | None) -> None:
    for _ in range(2):
        with pytest.raises(TermError, match="Oxigraph refuses"):
            RowFactory().literal("x", langtag, datatype)


IRI, NODE, LITERAL = "<urn:a>", "_:b", '"x"'
QUOTED = "<<( <urn:a> <urn:a> <urn:a> )>>"


@pytest.mark.parametrize("graph", [IRI, NODE, LITERAL, QUOTED, ""])
@pytest.mark.parametrize("object_", [IRI, NODE, LITERAL, QUOTED])
@pytest.mark.parametrize("predicate", [IRI, NODE, LITERAL, QUOTED])
@pytest.mark.parametrize("subject", [IRI, NODE, LITERAL, QUOTED])
def test_positions(subject: str, predicate: str, object_: str, graph: str) -> None:
    factory = RowFactory()
    row: Any = (subject, predicate, object_, graph)
    if subject in (IRI, NODE) and predicate == IRI and graph in (IRI, NODE, ""):
        assert factory.quad(row) == row
        if not graph:
            assert factory.triple(row[:3]) == row
        return
    with pytest.raises(TermError, match="Oxigraph cannot hold"):
        factory.quad(row)
