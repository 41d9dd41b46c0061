"""``convert``, ``load`` and ``dump`` as functions and as commands."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jelly_plugins import Iri, JellyError, Literal, TermError, Triple
from jelly_plugins.codec import Limits
from jelly_plugins.io.sources import Format
from jelly_plugins.jena import JenaFormat, JenaReader, detect, write
from jelly_plugins.jena import read as read_rows

from ..conversions import converted

TEXT = b'<urn:s> <urn:p> "x"@en .\n_:b <urn:p> <urn:o> <urn:g> .\n'
JENA = [Format.RDF_THRIFT, Format.RDF_PROTOBUF]


@pytest.mark.parametrize("jena", JENA)
def test_prefixes_are_converted(jena: Format) -> None:
    turtle = b"@prefix e: <http://e/> . e:s e:p e:o ."
    rows = converted(turtle, Format.TURTLE, jena, namespaces=True)
    with JenaReader(rows) as batches:
        assert sum(len(batch.statements) for batch in batches) == 1
        assert batches.prefixes == {"e": "http://e/"}
    assert b"@prefix e: <http://e/>" in converted(rows, jena, Format.TURTLE)
    jelly_ = converted(rows, jena, Format.JELLY, namespaces=True)
    assert converted(jelly_, Format.JELLY, jena) == rows
    other = JENA[1 - JENA.index(jena)]
    assert converted(converted(rows, jena, other), other, jena) == rows
    plain = converted(turtle, Format.TURTLE, jena, namespaces=False)
    assert b"prefix" not in converted(plain, jena, Format.TURTLE)


@pytest.mark.parametrize("jena", JENA)
def test_statements_that_a_target_cannot_express(jena: Format) -> None:
    rows = converted(TEXT, Format.N_QUADS, jena)
    for target in (Format.N_TRIPLES, Format.TURTLE, Format.RDF_XML):
        with pytest.raises(TermError, match="graph") as caught:
            converted(rows, jena, target)
        assert caught.value.source == "<bytes>"
    directed = b'<urn:s> <urn:p> "x"@en--ltr .\n'
    rows = converted(directed, Format.N_TRIPLES, jena)
    assert converted(rows, jena, Format.N_TRIPLES) == directed
    with pytest.raises(TermError, match="Jelly cannot carry the base direction"):
        converted(rows, jena, Format.JELLY)
    seven = b'<urn:s> <urn:p> "007"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    assert converted(converted(seven, Format.N_TRIPLES, jena), jena, Format.N_TRIPLES) == seven


S, P, RELATIVE = map(Iri, ("urn:s", "urn:p", "rel"))


@pytest.mark.parametrize("namespaces", [None, {"e": "re"}])
@pytest.mark.parametrize("jena", JENA)
@pytest.mark.parametrize(
    "triple",
    [
        Triple(RELATIVE, P, S),
        Triple(S, RELATIVE, S),
        Triple(S, P, Triple(S, P, RELATIVE)),
        Triple(S, P, Literal("<urn:a", datatype="rel")),
    ],
)
def test_relative_iris(
    triple: Triple, jena: Format, namespaces: dict[str, str] | None, tmp_path: Path
) -> None:
    source = tmp_path / f"x.{jena}"
    write([Triple(S, P, S), triple], source, namespaces=namespaces)
    for target in (Format.N_TRIPLES, Format.N_QUADS, Format.JELLY):
        with pytest.raises(TermError, match="<bytes>: the IRI <rel> is relative"):
            converted(source.read_bytes(), jena, target)
    with pytest.raises(TermError, match=r"IRI|datatype"):
        converted(source.read_bytes(), jena, Format.TURTLE)
    for target in JENA:
        rows = converted(source.read_bytes(), jena, target)
        assert list(read_rows(rows, format=JenaFormat(target))) == [Triple(S, P, S), triple]


def test_formats_are_detected(tmp_path: Path) -> None:
    statements = [Triple(Iri("urn:s"), Iri("urn:p"), Literal("x"))]
    for name in ("x.rt", "x.trdf.gz", "x.rpb", "x.pbrdf.bz2"):
        write(statements, tmp_path / name)
        assert list(read_rows(tmp_path / name)) == statements
        plain = tmp_path / "plain"
        plain.write_bytes((tmp_path / name).read_bytes())
        assert list(read_rows(plain)) == statements
    with pytest.raises(ValueError, match="is of neither"):
        write(statements, tmp_path / "x.nt")
    with pytest.raises(ValueError, match="is of neither"):
        write(statements, io.BytesIO())
    with pytest.raises(JellyError, match="neither RDF Thrift nor RDF Protobuf"):
        list(read_rows(b"<urn:s> <urn:p> <urn:o> ."))
    assert list(read_rows(b"")) == []
    assert detect(b"\x0a\x1c") is None


def test_jena_to_jelly_with_limits() -> None:
    rows = converted(TEXT, Format.N_QUADS, Format.RDF_THRIFT)
    with pytest.raises(JellyError, match="string_bytes"):
        converted(rows, Format.RDF_THRIFT, Format.JELLY, limits=Limits(string_bytes=3))


@pytest.mark.parametrize("name", ["rt", "rdf-thrift", "application/rdf+thrift", "rpb", "pbrdf"])
def test_formats_are_named_by_text(name: str) -> None:
    statements = [Triple(Iri("urn:s"), Iri("urn:p"), Literal("x"))]
    written, expected = io.BytesIO(), io.BytesIO()
    assert write(statements, written, format=name) == 1
    thrift = "rt" in name or "thrift" in name
    write(statements, expected, format=JenaFormat.THRIFT if thrift else JenaFormat.PROTOBUF)
    assert written.getvalue() == expected.getvalue()
    assert list(read_rows(written.getvalue(), format=name)) == statements


def test_unknown_names_of_formats_are_rejected() -> None:
    for call in (
        lambda: write([], io.BytesIO(), format="nonsense"),
        lambda: list(read_rows(b"", format="nonsense")),
        lambda: JenaReader(b"", format=1),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="is not one of the formats rt, rpb"):
            call()
