"""Reading RDF text: every kind of source, and errors with their line."""

from __future__ import annotations

import gzip
import io
import json
import re
import tracemalloc
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    JellyError,
    Limits,
    Literal,
    Quad,
    Triple,
    convert,
    write,
)
from jelly_plugins.errors import LimitError, SourceError, TermError, TextError
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.parsed import ParsedReader
from jelly_plugins.formats.settings import ConversionSettings, Job
from jelly_plugins.io.sources import Format, format_of

from ..codec.input_kinds import INPUT_KINDS, Trickle

TEXTS = {
    Format.N_TRIPLES: b'<urn:s> <urn:p> "o"@en .\n<urn:s> <urn:p> _:b .\n',
    Format.N_QUADS: b'<urn:s> <urn:p> "o"@en .\n<urn:s> <urn:p> _:b <urn:g> .\n',
    Format.TURTLE: b'<urn:s> <urn:p> "o"@en , _:b .',
    Format.TRIG: b'<urn:s> <urn:p> "o"@en . <urn:g> { <urn:s> <urn:p> _:b }',
    Format.RDF_XML: b"""<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
        <r:Description r:about="urn:s"><p xmlns="urn:" xml:lang="en">o</p>
        <p xmlns="urn:" r:nodeID="b"/></r:Description></r:RDF>""",
    Format.JSON_LD: b"""[{"@id": "urn:s", "urn:p": {"@value": "o", "@language": "en"}},
        {"@id": "urn:g", "@graph": {"@id": "urn:s", "urn:p": {"@id": "_:b"}}}]""",
}
SUBJECT, PREDICATE = Iri("urn:s"), Iri("urn:p")
OBJECTS = Literal("o", "en"), BlankNode("b")


def expected(form: Format) -> list[Any]:
    if not form.has_graphs:
        return [Triple(SUBJECT, PREDICATE, each) for each in OBJECTS]
    graphs = DEFAULT_GRAPH, Iri("urn:g")
    return [Quad(SUBJECT, PREDICATE, *each) for each in zip(OBJECTS, graphs, strict=True)]


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("kind", ["bytes", "path", "BytesIO", "gzip", "bz2", "one byte at a time"])
def test_every_format_from_every_kind_of_source(form: Format, kind: str, tmp_path: Path) -> None:
    with (
        INPUT_KINDS[kind](TEXTS[form], tmp_path) as src,
        closing(read_statements(src, form)) as statements,
    ):
        assert list(statements) == expected(form)


@pytest.mark.parametrize("form", TEXTS)
def test_an_error_of_the_source_stays_unchanged(form: Format) -> None:
    packed = gzip.compress(TEXTS[form] + b" " * 100_000)
    with pytest.raises(JellyError, match="<bytes>: the compressed data ends too early"):
        list(read_statements(packed[:-4], form))
    with pytest.raises(SourceError, match="absent: No such file"):
        list(read_statements("absent", form))


def test_the_position_of_an_error() -> None:
    with pytest.raises(TextError) as caught:
        list(read_statements(b"<urn:s> <urn:p>\n <urn:o x> .", Format.TURTLE))
    assert (caught.value.source, caught.value.line, caught.value.column) == ("<bytes>", 2, 2)
    assert str(caught.value).startswith("<bytes>: line 2, column 2: Invalid IRI")


def test_namespaces_may_be_entities() -> None:
    text = (
        '<!DOCTYPE x [ <!ENTITY xsd "http://www.w3.org/2001/XMLSchema#" > ]>\n'
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        + '<r:Description r:about="urn:s" r:value="&xsd;string"/>' * 5000
        + "</r:RDF>"
    )
    found = list(read_statements(text.encode(), Format.RDF_XML))
    assert len(found) == 5000
    assert found[-1].object == Literal("http://www.w3.org/2001/XMLSchema#string")


#: A term that N-Triples can have and pyoxigraph rejects, and its error.
REJECTED = {
    "http://e/x?a[]=1": "Invalid IRI code point '['",
    "http://e/100%": "Invalid IRI percent encoding '%'",
    "http://[x": "Invalid character '[' in host",
    '"x"@zh-classical': "A subtag may be eight characters in length at maximum",
    '"x"@a': "The given language subtag is invalid",
}


@pytest.mark.parametrize("term", REJECTED)
def test_terms_that_pyoxigraph_rejects_are_named(term: str) -> None:
    """N-Triples and N-Quads have them; no other format does."""
    given = term if term.startswith('"') else f"<{term}>"
    text = f"<urn:s> <urn:p> {given} .\n".encode()
    for form in (Format.N_TRIPLES, Format.N_QUADS):
        out = io.BytesIO()
        convert(text, out, source_format=form, target_format="nt")
        assert out.getvalue() == text
    reason = re.escape(REJECTED[term])
    for form in (Format.TURTLE, Format.TRIG):
        with pytest.raises(TextError, match=reason):
            list(read_statements(text, form))
    named = re.escape(repr(term.removeprefix('"x"@')))
    for target in ("turtle", "trig", "rdf", "jsonld"):
        with pytest.raises(JellyError, match=f"Oxigraph rejects {named}: {reason}"):
            convert(text, io.BytesIO(), source_format="nt", target_format=target)


def test_a_literal_that_the_parser_rejects() -> None:
    text = b'<urn:s> <urn:p> "' + b"x" * (20 << 20) + b'" .'
    with pytest.raises(LimitError, match="too long"):
        list(read_statements(text, Format.TURTLE))


def test_terms_that_jelly_does_not_have() -> None:
    text = b'<urn:s> <urn:p> "x"@ar--rtl .'
    assert next(read_statements(text, Format.TURTLE)).object == Literal("x", "ar--rtl")
    with pytest.raises(TermError, match=r"<bytes>: .*base direction"):
        convert(text, io.BytesIO(), source_format="ttl", target_format="jelly")
    with pytest.raises(SourceError, match="nonsense"):
        list(read_statements(b"", Format.TURTLE, ConversionSettings(base="nonsense")))


def test_triple_terms() -> None:
    text = b'<urn:s> <urn:p> <<( <urn:a> <urn:b> <<( <urn:c> <urn:d> "1" )>> )>> .'
    inner = Triple(Iri("urn:c"), Iri("urn:d"), Literal("1"))
    outer = Triple(SUBJECT, PREDICATE, Triple(Iri("urn:a"), Iri("urn:b"), inner))
    for form in (Format.TURTLE, Format.N_TRIPLES):
        assert list(read_statements(text, form)) == [outer]


def test_long_iris_of_short_text_are_not_held() -> None:
    # Each of 150,000 statements uses a long namespace.
    start = b"@prefix x: <http://example.org/" + b"a" * 4000 + b"> .\n"
    text = start + b"x:s x:p x:o .\n" * 150_000
    tracemalloc.start()
    try:
        assert sum(1 for _ in islice(read_statements(text, Format.TURTLE), 300)) == 300
        assert tracemalloc.get_traced_memory()[1] < 100 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.nt", Format.N_TRIPLES),
        ("a.b/x.NQ", Format.N_QUADS),
        ("x.xml.bz2", Format.RDF_XML),
        ("x.rdf", Format.RDF_XML),
        ("x.jelly.zst", Format.JELLY),
        ("x.gz", None),
        ("jelly", None),
        ("-", None),
    ],
)
def test_formats_by_name(name: str, form: Format | None) -> None:
    assert format_of(name) is form


#: JSON-LD with a relative IRI in each position of a statement, and of each kind.
RELATIVE = {
    "an object": ({"@id": "urn:s", "urn:p": [{"@id": "rel"}, "v"]}, "rel"),
    "an empty reference": ({"@id": "", "urn:p": "v"}, ""),
    "a fragment": ({"@id": "#f", "urn:p": "v"}, "#f"),
    "an authority": ({"@id": "//h/x", "urn:p": "v"}, "//h/x"),
    "a path with an empty segment": ({"@id": "/.//x", "urn:p": "v"}, "/x"),
    "a datatype": ({"@id": "urn:s", "urn:p": {"@value": "v", "@type": "dt"}}, "dt"),
    "a graph": ({"@id": "rel", "@graph": {"@id": "urn:s", "urn:p": "v"}}, "rel"),
    "a predicate": ({"@context": {"@vocab": ""}, "@id": "urn:s", "rel": "v"}, "rel"),
    "a relative base": ({"@context": {"@base": "b/"}, "@id": "rel", "urn:p": "v"}, "b/rel"),
}


@pytest.mark.parametrize("position", RELATIVE)
def test_relative_iris_in_json_ld_need_a_base(position: str) -> None:
    document, iri = RELATIVE[position]
    text = json.dumps([{"@id": "urn:s", "urn:p": "first"}, document]).encode()
    message = re.escape(f"<bytes>: the IRI <{iri}> is relative: relative IRIs need a base")
    with pytest.raises(TextError, match=message):
        list(read_statements(text, Format.JSON_LD))
    found = list(read_statements(text, Format.JSON_LD, ConversionSettings(base="http://e/d/x")))
    assert len(found) >= 2
    assert any("http://e/" in str(each) or "//h/x" in str(each) for each in found)


def test_json_ld_without_relative_iris_needs_no_base() -> None:
    text = b"""{"@context": {"@base": "http://e/", "n": "urn:n#", "v": "x-jelly/"},
        "@id": "rel", "urn:p": ["x-jelly-plugins-no-base://x/", "<x-jelly-plugins-no-base://x/>"]}"""
    with ParsedReader(text, Format.JSON_LD, Job()) as chunks:
        assert sum(chunk.statements for chunk in chunks) == 2
        assert chunks.namespaces == {"n": "urn:n#"}


@pytest.mark.parametrize("form", [Format.TURTLE, Format.TRIG, Format.RDF_XML])
def test_relative_iris_need_a_base(form: Format) -> None:
    text = TEXTS[form].replace(b"urn:s", b"s")
    with pytest.raises(TextError, match=r"relative IRIs need a base"):
        list(read_statements(text, form))
    assert len(list(read_statements(text, form, ConversionSettings(base="http://e/")))) == 2


def test_a_truncated_document() -> None:
    """A part of an RDF/XML or JSON-LD document is not accepted as a whole one."""
    xml = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>
        <r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">
        <r:Description r:about="urn:s" e:foo="bar"><e:p xml:lang="de">v&amp;&a;</e:p>
        <e:q r:parseType="Literal"><b c="d">x</b><br/></e:q>
        <e:q r:parseType="Collection"><e:X/></e:q>
        </r:Description><!-- c --><e:Z><e:p><e:W/></e:p></e:Z></r:RDF> <!-- d -->\n"""
    whole = len(list(read_statements(xml, Format.RDF_XML)))
    for end in range(xml.index(b"</r:RDF>") + 8):
        with pytest.raises(TextError):
            list(read_statements(xml[:end], Format.RDF_XML))
    for end in (xml.index(b"<!-- d"), len(xml) - 1):
        assert len(list(read_statements(xml[:end], Format.RDF_XML))) == whole
    with pytest.raises(TextError, match="truncated"):
        list(read_statements(xml[: xml.index(b"<e:Z>")], Format.RDF_XML))
    for end in range(len(TEXTS[Format.JSON_LD])):
        with pytest.raises(TextError):
            list(read_statements(TEXTS[Format.JSON_LD][:end], Format.JSON_LD))


@pytest.mark.parametrize("source", [bytes, Trickle, gzip.compress])
def test_rdf_xml_without_a_root_element(source: Any) -> None:
    prolog = b"""\xef\xbb\xbf<?xml version="1.0"?><!-- <a/> - > --><?a <b/> ?>
        <!DOCTYPE x [<!ENTITY a "b"><!-- <c> -->]>"""
    for text in (b"", b" \n", b"<!-- <a> -->", prolog, prolog + b"<!-- - -->\n"):
        with pytest.raises(TextError, match="has no root element"):
            list(read_statements(source(text), Format.RDF_XML))
    for text in (b"<!-- a -- b -->", prolog.replace(b"- >", b"-- >"), b"<!-- a"):
        with pytest.raises(TextError, match="malformed XML"):
            list(read_statements(source(text), Format.RDF_XML))
    for root in (
        b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>',
        b'<a xmlns="urn:"/>',
    ):
        assert len(list(read_statements(source(prolog + root), Format.RDF_XML))) == (
            root[1:2] == b"a"
        )


@pytest.mark.parametrize("source", [bytes, Trickle])
def test_a_parse_type_that_the_parser_would_omit(source: Any) -> None:
    opening = (
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">'
        '<r:Description r:about="urn:s">'
    )
    for text in ("<e:p r:parseType='Other'/>", '<e:p\n x="1" r:parseType = "other"><x/></e:p>'):
        with pytest.raises(TextError, match=r"parseType [Oo]ther is not supported"):
            list(read_statements(source((opening + text).encode()), Format.RDF_XML))
    text = (
        f'{opening}<!-- <e:p r:parseType="x"/> --><e:p>r:parseType="x"</e:p>'
        '<e:q r:parseType="Literal"><b/></e:q></r:Description></r:RDF>'
    )
    assert len(list(read_statements(source(text.encode()), Format.RDF_XML))) == 2


def test_a_truncated_tag_is_reported() -> None:
    text = b'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:"><e:T'
    with pytest.raises(TextError, match="truncated") as caught:
        list(read_statements(text, Format.RDF_XML))
    assert "after-end" not in str(caught.value)


def test_rdf_xml_without_statements_is_bounded() -> None:
    """pyoxigraph holds tokens of any length, and crashes the process when memory is exhausted."""
    statement = '<r:Description r:about="urn:s" xmlns="urn:"><p>o</p></r:Description>'
    opening = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    limits = Limits(frame_bytes=1 << 18)
    many = f"{opening}{statement * 10_000}</r:RDF>".encode()
    assert len(many) > limits.frame_bytes
    assert (
        len(list(read_statements(many, Format.RDF_XML, ConversionSettings(limits=limits))))
        == 10_000
    )
    for junk in (b"\0", b" ", b">", b"<!-- -->"):
        text = gzip.compress(f"{opening}{statement}".encode() + junk * (1 << 20))
        with pytest.raises(LimitError, match=r"bytes without a statement .*Limits\.frame_bytes"):
            list(read_statements(text, Format.RDF_XML, ConversionSettings(limits=limits)))


@pytest.mark.parametrize("form", ["turtle", "nt", "rdf/xml", "json-ld", "trig", "nquads"])
def test_jelly_is_not_text(form: str, tmp_path: Path) -> None:
    path = tmp_path / "data.jelly.gz"
    write([Triple(Iri("urn:s"), Iri("urn:p"), Iri("urn:o"))], path)
    data = gzip.decompress(path.read_bytes())
    for source in (path, data, io.BytesIO(data)):
        with pytest.raises(SourceError, match="this is Jelly-RDF, not "):
            convert(source, io.BytesIO(), source_format=form, target_format="nt")
    file = io.BytesIO(b"xx" + data)
    file.seek(2)
    with pytest.raises(SourceError, match="this is Jelly-RDF"):
        convert(file, io.BytesIO(), source_format=form, target_format="jelly")
