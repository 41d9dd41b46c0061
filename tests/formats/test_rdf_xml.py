"""Rewriting RDF/XML: the same document as before for a parser of XML, and what it rejects."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from itertools import permutations
from typing import Any

import pytest
import rdflib
from rdflib import RDF

from jelly_plugins import BlankNode, Iri, JellyError, Limits, Literal, convert, read_frames
from jelly_plugins.errors import LimitError, TermError, TextError
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.rdf_xml import RdfXmlText
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.io.sources import Format

from ..codec.input_kinds import Trickle
from ..conversions import converted

OPENING = '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'


def document(properties: str, *, before: str = "") -> str:
    return f'{before}{OPENING}<r:Description r:about="urn:s">{properties}</r:Description></r:RDF>'


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def statements(data: bytes, base: str | None, size: int) -> list[Any]:
    settings = ConversionSettings(base=base)
    return list(read_statements(Trickle(data, size), Format.RDF_XML, settings))


def objects(text: str | bytes, base: str | None = None, *, size: int = 1 << 16) -> list[Any]:
    """The objects of a document that is read in chunks of a size."""
    data = text.encode() if isinstance(text, str) else text

    return [each.object for each in statements(data, base, size)]


# What pyoxigraph's parser reads in another way


@pytest.mark.parametrize("size", [1, 3, 1 << 16])
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("\n <![CDATA[a]]>\n", "\n a\n"),
        ("a<!-- b -->\n", "a\n"),
        ("<!-- a --> <!-- b -->x", " x"),
        ("foo<!-- - - ><x y='-->bar", "foobar"),
        ("foo<?x > ? y??>bar", "foobar"),
        (" <![CDATA[ ]]> ", "   "),
        ("<![CDATA[&lt;<b>]] >]]]]><![CDATA[>]]>", "&lt;<b>]] >]]>"),
        ("<![CDATA[<!-- a -->]]>", "<!-- a -->"),
        ("<!-- <![CDATA[ -->a<!-- ]]> -->", "a"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("&#13;&#xD;&#x000009;", "\r\r\t"),
        (" &amp;&#38;#38;&lt;!-- ", " &&#38;<!-- "),
        ("]]&gt;", "]]>"),
    ],
)
def test_text(written: str, read: str, size: int) -> None:
    assert objects(document(f"<e:p>{written}</e:p>"), size=size) == [Literal(read)]


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_white_space_in_attributes(size: int) -> None:
    text = document('<e:p r:nodeID="x"/>').replace(
        'about="urn:s"', "about='urn:s' e:q='a\n\tb&#10;\"'"
    )
    found = objects(text, size=size)
    assert Literal('a  b\n"') in found


@pytest.mark.parametrize("size", [1, 5, 1 << 16])
@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-16", "utf-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("iso-8859-1", "ISO-8859-1"),
        ("iso-8859-15", "ISO-8859-15"),
        ("cp1252", "windows-1252"),
        ("ascii", "US-ASCII"),
        ("koi8-r", "KOI8-R"),
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
    ],
)
def test_encodings(encoding: str, name: str, size: int) -> None:
    word = {"ascii": "cafe", "koi8-r": "кафе"}.get(encoding, "café")
    before = f'<?xml version="1.0" encoding="{name}"?>\n'
    text = document(f'<e:p xml:lang="fr">{word}</e:p>' * 500, before=before)
    assert objects(text.encode(encoding), size=size) == [Literal(word, "fr")] * 500


def test_encodings_that_are_rejected() -> None:
    for name in ("rot13", "utf-7", "idna", "hex", "gb18030"):
        before = f'<?xml version="1.0" encoding="{name}"?>'
        with pytest.raises(TextError, match=r"the declared encoding is not supported"):
            objects(document("<e:p>x</e:p>", before=before))
    for name in ("utf-16", "none-such"):
        before = f'<?xml version="1.0" encoding="{name}"?>'
        with pytest.raises(TextError, match=r"encoding"):
            objects(document("<e:p>x</e:p>", before=before))
    before = '<?xml version="1.0" encoding="ascii"?>'
    with pytest.raises(TextError, match="malformed XML: not well-formed"):
        objects(document("<e:p>é</e:p>", before=before))
    with pytest.raises(TextError, match="malformed XML"):
        objects(document("<e:p>é</e:p>").encode("latin-1"))
    with pytest.raises(TextError, match="malformed XML"):
        objects(document("<e:p>é</e:p>").encode("utf-16")[:-1])


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize(
    ("base", "text", "subject"),
    [
        ("http://b/x/y", '<e:T xml:base="" r:about="x"/>', "http://b/x/x"),
        ("http://b/x/y", '<e:T xml:base="sub/" r:about="x"/>', "http://b/x/sub/x"),
        (None, '<e:T xml:base="http://c/d" r:about="x"/>', "http://c/x"),
        (None, '<e:T xml:base="http://c/d?a&amp;b" r:about="#x"/>', "http://c/d?a&b#x"),
        (None, '<e:T xml:base="" r:about="urn:x"/>', "urn:x"),
        (
            "http://b/",
            '<e:T r:about="urn:y" xml:base="c/"><e:p><e:U xml:base="d/"/></e:p>'
            '<e:p><e:T xml:base="e/" r:about="x"/></e:p></e:T>',
            "http://b/c/e/x",
        ),
        (
            "http://b/",
            '<e:U r:about="urn:y" xml:base="c/"><e:p><e:U/></e:p></e:U><e:T r:about="x"/>',
            "http://b/x",
        ),
        # Resolved as other IRIs are.
        ("http://a//b/", '<e:T xml:base="c/" r:about="x"/>', "http://a//b/c/x"),
        ("app://x/y/", '<e:T xml:base="c/" r:about="x"/>', "app://x/y/c/x"),
        ("http://a/http://b/d/", '<e:T xml:base="c/" r:about="x"/>', "http://a/http://b/d/c/x"),
    ],
)
def test_bases(base: str | None, text: str, subject: str, size: int) -> None:
    found = statements(f"{OPENING}{text}</r:RDF>".encode(), base, size)
    assert subject in [each.subject.value for each in found if each.object == Iri("http://e/T")]


def test_a_base_of_the_root_element() -> None:
    text = document('<e:p r:resource="x"/>').replace("xmlns:e", 'xml:base="c/" xmlns:e', 1)
    assert objects(text, "http://b/") == [Iri("http://b/c/x")]
    with pytest.raises(TextError, match=r"'c/' is relative: relative IRIs need a base$"):
        objects(text)
    with pytest.raises(TextError, match=r"relative IRIs need a base$"):
        objects(text.replace('"c/"', '""'))
    with pytest.raises(TextError, match=r"cannot be resolved against"):
        objects(text.replace('"c/"', '"c {"'), "http://b/")


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize(
    ("entities", "written", "read"),
    [
        ("<!ENTITY a 'http://x/'>", "&a;b&a;", "http://x/bhttp://x/"),
        ("<!ENTITY a 'x\"y'>", "&a;", 'x"y'),
        ('<!ENTITY a "x&#34;y&#38;lt;">', "&a;", 'x"y<'),
        ('<!ENTITY b "z&amp;"><!ENTITY a "x&b;y">', "&a;", "xz&y"),
        ("<!ENTITY a 'x'><!ATTLIST e:p xml:lang CDATA 'en'>", "&a;", "x@en"),
        ('<!ENTITY a "1"><!ENTITY a "2">', "&a;", "1"),
        ('<!ENTITY lt "&#38;#60;">', "&lt;", "<"),
        ('<!-- <!ENTITY a "no"> ]> --><!ENTITY a "x">', "&a;", "x"),
        ("<?b <!ENTITY a 'no'> ]> ?><!ENTITY a 'x'>", "&a;", "x"),
        ("<!ELEMENT a (b, c)*><!ENTITY a 'x]>'><!NOTATION n SYSTEM '>'>", "&a;", "x]>"),
        ("<!ENTITY a 'x'>", "<![CDATA[&a;]]>&a;", "&a;x"),
        ("<!ENTITY a 'x\ny'>", "&a;", "x\ny"),
    ],
)
def test_entities(entities: str, written: str, read: str, size: int) -> None:
    text = document(f"<e:p>{written}</e:p>", before=f"<!DOCTYPE r:RDF [\n{entities} ]>\n")
    word, _, language = read.partition("@")
    assert objects(text, size=size) == [Literal(word, language or None)]
    if "CDATA" not in entities + written:
        attribute = document("", before=f'<!DOCTYPE r:RDF PUBLIC "a" "b" [{entities}] >')
        attribute = attribute.replace("r:about", f"e:p='{written}' r:about")
        assert objects(attribute, size=size) == [Literal(read.replace("\n", " "))]


def test_an_entity_of_elements() -> None:
    text = document("&a;", before="<!DOCTYPE r:RDF [<!ENTITY a '<e:p>x</e:p>'>]>")
    assert objects(text) == [Literal("x")]


@pytest.mark.parametrize(
    ("subset", "message"),
    [
        ("<!ENTITY % a 'x'> %a;", "parameter"),
        ("%a;", "not declared"),
        ("<!ENTITY a SYSTEM 'file:///etc/passwd'>", "external"),
        ("<!ENTITY a '&#0;'>", "character"),
        ("<!ENTITY a '&a;'>", "not declared"),
        ("<!ENTITY a '&b;'><!ENTITY b ''>", "&b; is not declared before &a;"),
        ("<!ENTITY b ''>", "entity"),
        (f"<!ENTITY b '{'x' * 1000}'><!ENTITY a '&b;&b;'>", "1024 characters"),
    ],
)
def test_document_types_that_are_rejected(subset: str, message: str) -> None:
    text = document("<e:p>&a;</e:p>", before=f"<!DOCTYPE r:RDF [{subset}]>")
    with pytest.raises(JellyError, match=message):
        objects(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("subset", ["", "[<!ENTITY known 'k'>]"])
def test_entities_of_an_external_document_type(subset: str, encoding: str) -> None:
    """Expat leaves them out."""
    before = f"<!DOCTYPE r:RDF SYSTEM 'urn:x' {subset}>"
    known = "&known;&amp;" if subset else "k&amp;"
    data = document(f"<e:p>{known}</e:p>", before=before).encode(encoding)
    assert objects(data) == [Literal("k&")]
    for name in ("other", "x" * 300):
        for content in (f"<e:p>&{name};</e:p>", f'<e:p r:resource="urn:&{name};"/>'):
            data = document(content, before=before).encode(encoding)
            with pytest.raises(TextError, match="is not declared"):
                objects(data)
    # In two chunks.
    for at in range(len(data)):
        with pytest.raises(TextError, match="is not declared"):
            list(RdfXmlText().chunks([data[:at], data[at:]]))


def test_entities_that_grow_are_rejected_early() -> None:
    entity = f"<!DOCTYPE a [<!ENTITY a '{'x' * 1000}'>]>"
    tracemalloc.start()
    try:
        for text in ("<e:p>{}</e:p>", '<e:p e:q="{}"/>'):
            data = document(text.format("&a;" * (1 << 20)), before=entity)
            with pytest.raises(JellyError, match=r"expand to|amplification|a tag"):
                objects(data)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("size", [1, 1 << 16])
@pytest.mark.parametrize(
    "text",
    [
        document('<e:p e:q="<x"/>'),
        document("<e:p e:q='<!-- x -->'/>"),
        document('<e:p <!-- x --> e:q="y"/>'),
        document("foo<!-- - -- ><x y='-->bar"),
        document("<e:p>\x01</e:p>"),
        document("<e:p>\ufffe</e:p>"),
        document("<e:p>&#1;</e:p>"),
        document("<e:p>&#xD800;</e:p>"),
        document("<e:p>&#x110000000000000;</e:p>"),
        document("<e:p><?xml version='1.0'?></e:p>"),
        document("", before=" <?xml version='1.0'?>"),
        document("<!DOCTYPE a>"),
        document("", before="<!DOCTYPE a><!DOCTYPE a>"),
        document("<!ELEMENT a ANY>"),
        document("", before="<![CDATA[x]]>"),
        document("", before="x"),
        document("") + "<a/>",
        document("")[:-1],
        document("")[:-20],
        document("<e:p></e:q>"),
        document("<e:p e:a='' e:a=''/>"),
        document("<e:p>&x;</e:p>"),
        " ",
    ],
)
def test_documents_that_are_malformed(text: str, size: int) -> None:
    with pytest.raises(TextError, match="malformed XML") as caught:
        objects("\n" * ("<?xml" not in text) + text, size=size)
    assert caught.value.line == 1 + ("<?xml" not in text)
    assert caught.value.column is not None


#: What may come before the root element.
PROLOG = """\ufeff<?xml version="1.0"?><!-- <a/> - > --><?a <b/> ?>
    <!DOCTYPE x [<!ENTITY a "b"><!-- <c> -->]>"""


@pytest.mark.parametrize("size", [1, 10, 1 << 16])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (document("<e:p r:bagID='x'>y</e:p>"), "rdf:bagID is not part of RDF 1.1"),
        (document("<e:p r:parseType='x'>y</e:p>"), "parseType x is not supported"),
        (document("<e:p a='1' r:parseType = 'x'><x/></e:p>"), "parseType x is not supported"),
        ("Prefix(:=<http://e/>)\nOntology(<urn:o>)", "this is another syntax than RDF/XML"),
        ("\n# a\n@prefix e: <http://e/> .", "this is another syntax than RDF/XML"),
        ('{"@id": "urn:s"}', "this is another syntax than RDF/XML"),
        ("<http://e/s> <http://e/p> <http://e/o> .", "malformed XML"),
        ("", "has no root element"),
        (" \n", "has no root element"),
        ("<!-- <a> -->", "has no root element"),
        (PROLOG, "has no root element"),
        (f"{PROLOG}<!-- - -->\n", "has no root element"),
        ("<!-- a -- b -->", "malformed XML"),
        (PROLOG.replace("- >", "-- >"), "malformed XML"),
        ("<!-- a", "malformed XML"),
        (OPENING + "<e:T", "the document is truncated$"),
    ],
)
def test_documents_that_are_rejected(text: str, message: str, size: int) -> None:
    with pytest.raises(TextError, match=message):
        objects(text, size=size)


@pytest.mark.parametrize("attribute", ["xmlns:x='urn:{}'", "xml:base='urn:{}'"])
def test_long_namespaces_and_bases(attribute: str) -> None:
    for size in (4096, 4097):
        text = document(f"<e:p {attribute.format('x' * (size - 4))}>x</e:p>")
        if size == 4096:
            assert objects(text) == [Literal("x")]
            continue
        with pytest.raises(LimitError, match="4096"):
            objects(text)


def test_namespaces_in_scope_are_bounded() -> None:
    """pyoxigraph compares each of them with all others, those of elements around it too."""
    names = [" ".join(f'xmlns:n{n}_{at}="urn:{at}"' for at in range(90)) for n in range(50)]
    inner = "".join(f"<e:n {each}><e:p>" for each in names) + "</e:p></e:n>" * len(names)
    with pytest.raises(LimitError, match="4096"):
        objects(document(f"<e:p>{inner}</e:p>"))
    after = "".join(f"<e:p {each}>x</e:p>" for each in names)
    assert objects(document(after)) == [Literal("x")] * len(names)


def test_documents_that_are_truncated() -> None:
    """A part of a document is not accepted as a whole one."""
    before = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>'
    text = document(
        '<e:p xml:lang="de">v&amp;&a;</e:p><e:q r:parseType="Literal"><b c="d">x</b><br/></e:q>'
        '<e:q r:parseType="Collection"><e:X/></e:q><!-- c --><e:p><e:W/></e:p>',
        before=before,
    )
    for end in range(len(text)):
        with pytest.raises(TextError):
            objects(text[:end])
    for after in ("", " ", " <!-- d -->", " <!-- d -->\n"):
        assert len(objects(text + after)) == 8


def test_text_without_statements_is_bounded() -> None:
    """pyoxigraph holds tokens of any length, and crashes the process when memory is exhausted."""
    settings = ConversionSettings(limits=Limits(frame_bytes=1 << 18))
    statement = '<r:Description r:about="urn:s"><e:p>o</e:p></r:Description>'
    many = f"{OPENING}{statement * 10_000}</r:RDF>".encode()
    assert len(list(read_statements(many, Format.RDF_XML, settings))) == 10_000
    for junk in (b"\0", b" ", b">", b"<!-- -->"):
        text = gzip.compress(f"{OPENING}{statement}".encode() + junk * (1 << 20))
        with pytest.raises(LimitError, match=r"bytes without a statement .*Limits\.frame_bytes"):
            list(read_statements(text, Format.RDF_XML, settings))


@pytest.mark.parametrize("size", [1, 1 << 16])
def test_labels_that_end_in_a_dot(size: int) -> None:
    """Names in XML may, labels in N-Quads may not."""
    text = document('<e:p r:nodeID="a."/><e:p r:nodeID = \'a..\'/><e:p r:nodeID="a.b"/>')
    assert objects(text, size=size) == [BlankNode("a."), BlankNode("a.."), BlankNode("a.b")]
    lines = converted(text.encode(), "rdf", "nt")
    assert [each.object for each in read_statements(lines, Format.N_TRIPLES)] == objects(text)


def test_namespaces_are_reported() -> None:
    text = (
        '<!DOCTYPE a [<!ENTITY x "http://x/">]><r:RDF xmlns="urn:d" xmlns:x=\'&x;y&#35;\' '
        'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><!-- <a xmlns:no="urn:no"/> -->'
        '<x:T r:about="urn:s" x:p="\'xmlns:no="></x:T></r:RDF>'
    )
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    with read_frames(converted(Trickle(text.encode(), 10), "rdf", "jelly")) as frames:
        found = {name: iri.value for frame in frames for name, iri in frame.namespaces}
    assert found == {"": "urn:d", "x": "http://x/y#", "r": rdf}


def test_time_and_memory_are_linear_in_long_tokens() -> None:
    # In chunks so small that quadratic time would not end.
    size = 1 << 20
    for opening, closing in (
        ('<e:p e:q="', '"/>'),
        ("<e:p>", "</e:p>"),
        ("<!--", "-->"),
        ("<![CDATA[", "]]>"),
        ("<?x ", "?>"),
    ):
        for filler in ("x", "&", "> ", "- ", "] "):
            data = document(opening + filler * (size // len(filler)) + closing).encode()
            try:
                for chunk in RdfXmlText().chunks(cut(data, 64)):
                    assert len(chunk) < 3 * size
            except JellyError as error:
                if opening in ("<e:p>", "<![CDATA[") and filler != "&":
                    raise AssertionError(opening, filler) from error


@pytest.mark.parametrize("in_each", [1, 50])
def test_namespaces_of_xml_literals_are_bounded(in_each: int) -> None:
    """pyoxigraph declares all namespaces in scope in each element of the content of a literal."""
    names = " ".join(f'xmlns:n{n}="urn:{"x" * 200}{n}"' for n in range(500))
    opening = f'<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" {names}>'
    literal = f'<n1:p r:parseType="Literal">{"<n1:a><n1:b/></n1:a>" * in_each}</n1:p>'

    def read(count: int) -> int:
        literals = literal * (count // in_each)
        text = f'{opening}<r:Description r:about="urn:s">{literals}</r:Description></r:RDF>'
        return len(list(read_statements(text.encode(), Format.RDF_XML)))

    assert read(100) == 100 // in_each
    with pytest.raises(TextError, match="namespaces of XML literals"):
        read(1000)


@pytest.mark.parametrize("name", ["id/138", "id/", "a%20", "\U00010348"])
def test_classes_without_an_xml_name(name: str) -> None:
    """pyoxigraph makes the name of an element of a class that comes first."""
    rows = [
        f"<urn:s> <{RDF.type}> <http://e/{name}> .",
        f"<urn:s> <{RDF.type}> <http://e/{name}#> .",
        f"<urn:s> <{RDF.type}> <http://e/Class> .",
        '<urn:s> <urn:p> "o" .',
    ]
    for lines in permutations(rows):
        text = "<urn:first> <urn:p> <urn:o> .\n" + "\n".join(lines)
        out = io.BytesIO()
        convert(text.encode(), out, source_format="nt", target_format="rdf")
        read = rdflib.Graph().parse(data=out.getvalue(), format="xml")
        assert set(read) == set(rdflib.Graph().parse(data=text, format="nt"))
    alone = "\n".join(rows[:2]).encode()
    for text in (alone, alone + b"\n<urn:next> <urn:p> <urn:o> ."):
        with pytest.raises(TermError, match="no XML name"):
            convert(text, io.BytesIO(), source_format="nt", target_format="rdf")


def test_classes_without_an_xml_name_at_the_ends_of_chunks() -> None:
    text = "".join(
        f"<urn:s{n}> <{RDF.type}> <http://e/{n}> .\n<urn:s{n}> <urn:p> <urn:o> .\n"
        for n in range(10_000)
    )
    out = io.BytesIO()
    convert(text.encode(), out, source_format="nt", target_format="rdf")
    assert (
        out.getvalue().count(b"<rdf:type ") == out.getvalue().count(b"<rdf:Description ") == 10_000
    )


def test_long_names_take_linear_time() -> None:
    iri = f"http://e/{'a' * (1 << 20)}/"
    for statement in (f"<urn:s> <{iri}> <urn:o> .", f"<urn:s> <{RDF.type}> <{iri}> ."):
        with pytest.raises(TermError, match="no XML name") as caught:
            convert(statement.encode(), io.BytesIO(), source_format="nt", target_format="rdf")
        assert len(str(caught.value)) < 300


def test_prefixes_that_are_reserved_are_left_out() -> None:
    text = b"@prefix x: <http://www.w3.org/XML/1998/namespace> . <urn:s> <urn:p> <urn:o> ."
    out = io.BytesIO()
    convert(text, out, source_format="ttl", target_format="rdf")
    assert len(rdflib.Graph().parse(data=out.getvalue(), format="xml")) == 1


def test_a_long_tag() -> None:
    for start in ('<r:Description e:a="', "<!--"):
        document = [(OPENING + start).encode(), *[b"x" * (1 << 20)] * 40]
        with pytest.raises(LimitError, match="a tag or comment is too long"):
            list(RdfXmlText().chunks(document))


def test_names_of_rdf_are_known_by_the_namespace_in_scope() -> None:
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    node = f'<x:Description xmlns:x="{rdf}" xmlns:r="urn:e:" r:nodeID="v." r:bagID="b"/>'
    text = document(f"<e:p>{node}</e:p>")
    assert {Literal("v."), Literal("b")} <= {*objects(text)}
    other = document('<e:p e:bagID="x" r:resource="urn:o"/>')
    assert {*objects(other)} == {Iri("urn:o"), Literal("x")}
    with pytest.raises(TextError, match="bagID") as caught:
        objects(document(f'<e:p>{node}</e:p>\n<e:q r:bagID="b"/>'))
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "inner",
    [
        '<e:a xml:base="b/">x</e:a>',
        '<e:a r:nodeID="v." r:bagID="b" r:parseType="other">x</e:a>',
    ],
)
def test_an_xml_literal_is_not_changed(inner: str) -> None:
    (literal,) = objects(document(f'<e:p r:parseType="Literal">{inner}</e:p>'))
    assert isinstance(literal, Literal)
    opening = inner.partition(">")[0]
    assert literal.lex.startswith(opening)
    # After it, names are RDF's again.
    with pytest.raises(TextError, match="bagID"):
        objects(document(f'<e:p r:parseType="Literal">{inner}</e:p><e:q r:bagID="b"/>'))
