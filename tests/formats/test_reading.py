"""Reading RDF text: every kind of source, and errors with their line."""

from __future__ import annotations

import gzip
import io
import re
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest

from jelly_plugins import Iri, JellyError, Triple, convert, write
from jelly_plugins.errors import LimitError, SourceError, TextError
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.io.sources import Format

from ..conversions import converted

TEXTS = [each for each in Format if not each.is_binary and each is not Format.JELLY_TEXT]
LINE = b"<urn:s> <urn:p> <urn:o> .\n"


@pytest.mark.parametrize("form", TEXTS)
def test_an_error_of_the_source_stays_unchanged(form: Format) -> None:
    packed = gzip.compress(converted(LINE, "nt", form) + b" " * 100_000)
    with pytest.raises(JellyError, match="<bytes>: the compressed data ends too early"):
        list(read_statements(packed[:-4], form))
    with pytest.raises(SourceError, match="absent: No such file"):
        list(read_statements("absent", form))


def test_the_position_of_an_error() -> None:
    with pytest.raises(TextError) as caught:
        list(read_statements(b"<urn:s> <urn:p>\n <urn:o x> .", Format.TURTLE))
    assert (caught.value.source, caught.value.line, caught.value.column) == ("<bytes>", 2, 2)
    assert str(caught.value).startswith("<bytes>: line 2, column 2: Invalid IRI")


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


@pytest.mark.parametrize(("target", "size"), [("jsonld", 5), ("ttl", 9), ("rdf", 9)])
def test_a_literal_that_would_not_be_read_is_not_written(target: str, size: int) -> None:
    def text(size: int) -> bytes:
        return b'<urn:s> <urn:p> "' + b"\\n" * (size << 20) + b'x" .'

    with pytest.raises(LimitError):
        convert(text(size), io.BytesIO(), source_format="nt", target_format=target)
    out = io.BytesIO()
    convert(text(0), out, source_format="nt", target_format=target)
    assert convert(out.getvalue(), io.BytesIO(), source_format=target, target_format="nt")


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


@pytest.mark.parametrize("form", [Format.TURTLE, Format.TRIG, Format.RDF_XML])
def test_relative_iris_need_a_base(form: Format) -> None:
    text = converted(LINE, "nt", form).replace(b"urn:s", b"s")
    with pytest.raises(TextError, match=r"relative IRIs need a base"):
        list(read_statements(text, form))
    assert len(list(read_statements(text, form, ConversionSettings(base="http://e/")))) == 1
    with pytest.raises(SourceError, match="nonsense"):
        list(read_statements(b"", form, ConversionSettings(base="nonsense")))


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
