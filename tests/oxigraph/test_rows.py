"""Rows of text: what is written without asking pyoxigraph is what pyoxigraph would have written."""

from __future__ import annotations

import random
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jelly_plugins.codec.terms import XSD_STRING
from jelly_plugins.errors import TermError
from jelly_plugins.oxigraph.rows import _CANONICAL, _TEXTS, RowFactory, canonical

XSD = "http://www.w3.org/2001/XMLSchema#"
P = ox.NamedNode("urn:p")


def asked(lex: str, langtag: str | None = None, datatype: str | None = None) -> str:
    """The text of a literal as pyoxigraph and a store have it."""
    if datatype is not None:
        return str(canonical(ox.Literal(lex, datatype=ox.NamedNode(datatype))))
    return str(ox.Literal(lex, language=langtag))


def candidates(datatype: str, rng: random.Random) -> str:
    """A lexical form as there may be one of the datatype, in canonical form more often than not."""
    if datatype == f"{XSD}boolean":
        return rng.choice(("true", "false", "1", "0", "TRUE"))
    if datatype.startswith(f"{XSD}date"):
        year = rng.choice((rng.randrange(1, 10_000), rng.randrange(1900, 2100)))
        day = f"{year:04}-{rng.randrange(14):02}-{rng.randrange(33):02}"
        time = f"T{rng.randrange(26):02}:{rng.randrange(62):02}:{rng.randrange(62):02}"
        part = rng.choice(("", f".{rng.randrange(10 ** rng.randrange(1, 11))}"))
        zone = rng.choice(("", "Z", "+00:00", "-05:00"))
        return (day if datatype.endswith("date") else f"{day}{time}{part}") + zone
    digits = rng.choice(("0", str(rng.randrange(10 ** rng.randrange(1, 20)))))
    zeros = "0" * rng.randrange(8)
    part = rng.choice(("", "", f".{zeros}{rng.randrange(10 ** rng.randrange(1, 18))}"))
    return rng.choice(("", "", "-", "+")) + digits + part + rng.choice(("", "", "", "e0", "\n"))


@pytest.mark.parametrize("datatype", sorted(_CANONICAL))
def test_canonical_forms_are_those_of_the_store(datatype: str) -> None:
    rng = random.Random(datatype)
    forms = sorted({candidates(datatype, rng) for _ in range(4000)})
    kept = [form for form in forms if _CANONICAL[datatype].fullmatch(form)]
    assert len(kept) >= 2
    node = ox.NamedNode(datatype)
    store = ox.Store()
    store.extend(
        [
            ox.Quad(ox.NamedNode(f"urn:{at}"), P, ox.Literal(form, datatype=node))
            for at, form in enumerate(kept)
        ]
    )
    for quad in store:
        assert isinstance(quad.object, ox.Literal)
        assert quad.object.value == kept[int(quad.subject.value[4:])]
    # The others are asked for.
    factory = RowFactory()
    for form in rng.sample(forms, min(50, len(forms))):
        assert factory.literal(form, None, datatype) == asked(form, None, datatype)


@pytest.mark.parametrize("datatype", [*sorted(_TEXTS), "urn:datatype", f"{XSD}long", XSD_STRING])
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
