"""IRIs and language tags that Jelly can represent, but that are not valid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jelly_plugins import BlankNode, Iri, Literal, Quad, Triple, write
from jelly_plugins.codec.common.terms import RDF_LANG_STRING
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.tools.validation import LISTED, TermChecks, ValidationSettings, validate
from tests.cli.command import jelly

S, P = Iri("urn:s"), Iri("urn:p")


@pytest.mark.parametrize(
    ("term", "words"),
    [
        (Iri(""), "relative"),
        (Iri("a/b"), "relative"),
        (Iri("1a:b"), "relative"),
        (Iri("urn:a b"), "the character ' '"),
        (Iri("urn:a\u0000"), "the character"),
        (Iri("urn:{x}"), "the character '{'"),
        (Iri("urn:%zz"), "hexadecimal"),
        (Literal("x", langtag=""), "language tag"),
        (Literal("x", langtag="en_US"), "language tag"),
        (Literal("x", langtag="abcdefghi"), "language tag"),
        (Literal("x", datatype="int"), "relative"),
        (Literal("x", datatype=RDF_LANG_STRING), "no language tag"),
        (Triple(S, Iri("x"), S), "relative"),
    ],
)
def test_invalid_terms(term: object, words: str) -> None:
    [problem] = TermChecks().problems((S, P, term))
    assert words in problem


@pytest.mark.parametrize(
    "term",
    [
        Iri("http://example.org/é?a=%C3%A9#b"),
        Iri("urn:x"),
        Iri("mailto:a@b"),
        Literal("x", langtag="de-DE-1996"),
        Literal("x", langtag="x-a"),
        Literal("a b"),
        BlankNode("a b"),
    ],
)
def test_valid_terms(term: object) -> None:
    assert list(TermChecks().problems((S, P, term))) == []


def test_a_stream(tmp_path: Path) -> None:
    rows = [Quad(S, P, Iri("o"), S), Quad(S, P, Literal("x", langtag="en"), Iri("g"))]
    data = write_bytes(rows, namespaces={"x": "y z:"})
    assert validate(data).term_problems == []
    found = validate(data, settings=ValidationSettings(terms=True))
    assert found.bad_terms == 4
    assert found.term_problems[0].startswith("frame 0: the IRI <y z:>")
    path = tmp_path / "x.jelly"
    path.write_bytes(data)
    assert jelly("validate", path).code == 0
    done = jelly("validate", path, "--terms")
    assert done.code == 1
    assert "frame 0: the IRI <g> is relative" in done.text
    done = jelly("validate", path, "--terms", "--json")
    assert (done.code, json.loads(done.text)["bad_terms"]) == (1, 4)


def test_a_result_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    write([Triple(S, P, Iri(str(n))) for n in range(LISTED + 5)], path)
    found = validate(path, settings=ValidationSettings(terms=True))
    assert (found.bad_terms, len(found.term_problems)) == (LISTED + 5, LISTED)
    assert f"bad terms         {LISTED + 5}\n" in jelly("validate", path, "--terms").text
