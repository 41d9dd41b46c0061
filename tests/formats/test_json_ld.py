"""JSON-LD: remote contexts that the caller supplies, and numbers that pyoxigraph would misread."""

from __future__ import annotations

import io
import json
from typing import Any

import pyoxigraph
import pytest
import rdflib

from jelly_plugins import Literal, convert, oxigraph
from jelly_plugins import rdflib as backend
from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.errors import LimitError, TextError
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.json_ld import prepared
from jelly_plugins.formats.reading import with_bounded_json
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.io.sources import Format

XSD = "http://www.w3.org/2001/XMLSchema#"
REMOTE = (
    b'{"@context": ["http://s.example/a", {"x": "urn:x"}], "name": "n", "x": 1.5, "@id": "urn:s"}'
)
CONTEXTS = {
    "http://s.example/a": {"@context": "b"},
    "http://s.example/b": {"@context": {"name": "urn:name"}},
}


def test_contexts_everywhere() -> None:
    graph = rdflib.Graph()
    backend.load(graph, REMOTE, format="jsonld", contexts=CONTEXTS)
    assert {str(p) for _, p, _ in graph} == {"urn:name", "urn:x"}
    over_store = rdflib.Graph(store="Oxigraph")
    backend.load(over_store, REMOTE, format="jsonld", contexts=CONTEXTS)
    assert {str(p) for _, p, _ in over_store} == {"urn:name", "urn:x"}
    store = pyoxigraph.Store()
    oxigraph.load(store, REMOTE, format="jsonld", contexts=CONTEXTS.__getitem__)
    assert {quad.predicate.value for quad in store} == {"urn:name", "urn:x"}
    out = io.BytesIO()
    settings = ConversionSettings(contexts=CONTEXTS)
    convert(REMOTE, out, source_format="jsonld", target_format="nt", settings=settings)
    assert out.getvalue().startswith(b'<urn:s> <urn:name> "n" .')


def objects(document: bytes, **settings: Any) -> list[Any]:
    return [
        quad.object
        for quad in read_statements(document, Format.JSON_LD, ConversionSettings(**settings))
    ]


def test_contexts_that_are_missing() -> None:
    with pytest.raises(TextError, match=r"a is not available and never fetched: .* contexts=$"):
        objects(REMOTE)
    with pytest.raises(TextError, match=r"the context http://s\.example/a is not among those"):
        objects(REMOTE, contexts={})
    with pytest.raises(TextError, match="contains itself"):
        objects(REMOTE, contexts={"http://s.example/a": "http://s.example/a"})
    with pytest.raises(TextError, match="malformed JSON"):
        objects(REMOTE[:-1], contexts=CONTEXTS)
    with pytest.raises(LimitError, match="the length of a document with contexts"):
        objects(REMOTE, contexts=CONTEXTS, limits=Limits(frame_bytes=60))
    relative = REMOTE.replace(b"http://s.example/a", b"a")
    assert len(objects(relative, contexts=CONTEXTS, base="http://s.example/")) == 2


#: Numbers, and what JSON-LD makes of them; None if pyoxigraph would make something else.
NUMBERS = {
    "1": "1",
    "-0": "0",
    "1.0": "1",
    "1.5e3": "1500",
    "99999999999999999999": "99999999999999999999",
    "100000000000000000000": None,
    "-100000000000000000000": None,
    "123456789012345678901": None,
    "999999999999999999999": None,
    "100000000000000000000.0": None,
    "1e20": None,
    "1E+20": None,
    "1.5e20": None,
    "1000e17": None,
    "0.1e21": None,
    "1000000000000000000000": "1.0E21",
    "1e21": "1.0E21",
    "1e3": "1000",
    "1e19": "10000000000000000000",
    "100000000000000000000.5": None,
    "1e-20": "1.0E-20",
}


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers(number: str) -> None:
    document = f'{{"@id": "urn:s", "urn:p": ["{number}\\"", {number}]}}'.encode()
    expected = NUMBERS[number]
    for size in (1, 7, len(document)):
        chunks = [document[at : at + size] for at in range(0, len(document), size)]
        if expected is not None:
            assert list(with_bounded_json(chunks)) == chunks
            continue
        with pytest.raises(TextError, match=r"the number .* cannot be read as an integer"):
            list(with_bounded_json(chunks))
    if expected is None:
        with pytest.raises(TextError, match="cannot be read as an integer"):
            objects(document)
        with pytest.raises(TextError, match="cannot be read as an integer"):
            objects(document, contexts={})
    else:
        assert objects(document)[1].lex == expected


def test_numbers_with_long_exponents() -> None:
    exponent = "9" * 30
    for number in (f"1e-{exponent}", f"1e{exponent}"):
        document = f'{{"@id": "urn:s", "urn:p": {number}}}'.encode()
        assert list(with_bounded_json([document])) == [document]
    assert objects(b'{"@id": "urn:s", "urn:p": 10e0000000000}') == [
        Literal("10", None, XSD + "integer")
    ]


def test_numbers_in_strings_are_not_checked() -> None:
    text = '{"@id": "urn:s", "urn:1e20": ["100000000000000000000", "\\\\", " 1e20 \\" 1e20"]}'
    assert len(objects(text.encode())) == 3
    integer = {"@value": "100000000000000000000", "@type": XSD + "integer"}
    document = json.dumps({"@id": "urn:s", "urn:p": integer}).encode()
    assert objects(document) == [Literal("100000000000000000000", None, XSD + "integer")]


def test_a_number_of_many_digits_takes_linear_time() -> None:
    chunks = [b"[", *[b"1" * 4096] * 2048, b"]"]
    assert sum(map(len, with_bounded_json(chunks))) == 2 + 4096 * 2048


@pytest.mark.parametrize("size", [1, 1 << 16])
def test_nested_contexts_are_bounded(size: int) -> None:
    """pyoxigraph copies all terms for each context within another one."""

    def document(levels: int) -> bytes:
        inner = '{"@context":{"b":"urn:b"},"a":' * levels + "1" + "}" * levels
        return f'{{"@context":{{"a":"urn:a"}},"@id":"urn:s","a":{inner}}}'.encode()

    def load(data: bytes) -> int:
        chunks = (data[start : start + size] for start in range(0, len(data), size))
        return len(b"".join(prepared(chunks, None, None, DEFAULT_LIMITS)))

    assert load(document(31)) == len(document(31))
    # Contexts beside one another are not nested.
    beside = b"[" + b",".join([document(3)] * 100) + b"]"
    assert load(beside) == len(beside)
    for levels in (33, 300):
        with pytest.raises(LimitError, match="contexts of JSON-LD are nested more than 32 deep"):
            load(document(levels))


def chain(number: int) -> bytes:
    terms = ",".join(f'"a{n}":"a{n + 1}:x"' for n in range(number))
    return f'{{"@context":{{{terms}}},"@id":"urn:s","a1":1}}'.encode()


def test_terms_that_refer_to_each_other() -> None:
    assert len(objects(chain(200))) == 1
    with pytest.raises(LimitError, match="more than 256 terms of a context"):
        objects(chain(500))
    with pytest.raises(TextError, match="nested too deeply"):
        objects(b'{"@context":{"a":"b:x","b":"a:x"},"a":1}')


LINKS: list[Any] = [
    lambda n: (f"t{n}", f"t{n + 1}:x"),
    lambda n: (f"t{n}", {"@reverse": f"t{n + 1}:x"}),
    lambda n: (f"t{n}", {"@id": f"urn:{n}", "@type": f"t{n + 1}:x"}),
    lambda n: (f"t{n}", {"@id": f"urn:{n}", "@type": f"t{n + 1}"}),
    lambda n: (f"t{n}", {"@id": f"urn:{n}", "@container": "@index", "@index": f"t{n + 1}:x"}),
    lambda n: (f"t{n}:x", {"@type": f"t{n + 1}:x"}),
]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("around", ["{}", '{"@type":"@json"}', '{"urn:q":[]}'])
@pytest.mark.parametrize("escaped", [False, True])
def test_chains_of_terms_are_bounded(link: Any, around: str, escaped: bool) -> None:
    """pyoxigraph follows them by recursion, which may end the process."""
    context = dict(map(link, range(30_000)))
    document = {**json.loads(around), "@context": context, "urn:p": "x"}
    data = json.dumps(document).encode()
    if escaped:
        data = data.replace(b'"@context"', rb'"@\u0063ontext"')
    with pytest.raises(LimitError, match="more than 256 terms of a context"):
        objects(b"[{}" + b",{}" * 50_000 + b"," + data + b"]")


@pytest.mark.parametrize("contexts", [None, {}])
@pytest.mark.parametrize(
    "number", ["1234567890123456789.5", "1E400", "1" * 5000, "0.1000000000000000055", "-0.0"]
)
def test_numbers_are_not_rounded(number: str, contexts: dict[str, Any] | None) -> None:
    text = f'{{"@context":{{}},"@id":"urn:s","urn:p":{number}}}'
    settings = ConversionSettings(contexts=contexts)
    (found,) = read_statements(text.encode(), Format.JSON_LD, settings)
    (expected,) = pyoxigraph.parse(text.encode(), pyoxigraph.RdfFormat.JSON_LD)
    assert found.object.lex == expected.object.value


def test_contexts_by_relative_iris() -> None:
    text = b'{"@context":"c","@id":"urn:s","a":"x"}'
    settings = ConversionSettings(contexts={"app://h/c": {"a": "urn:a"}}, base="app://h/d")
    assert len(list(read_statements(text, Format.JSON_LD, settings))) == 1
    with pytest.raises(TextError, match="cannot be resolved"):
        list(read_statements(text.replace(b'"c"', b'"//[x"'), Format.JSON_LD, settings))


def test_contexts_with_a_long_iri() -> None:
    for term in ("a", "@vocab", "@base"):
        context = f'{{"@context":{{"{term}":"urn:{"x" * 1_000_000}:"}},"@graph":['
        document = context + ",".join(['{"@id":"b","a:b":1}'] * 1000) + "]}"
        with pytest.raises(LimitError, match="frame_expansion"):
            objects(document.encode())


def test_a_long_document_without_contexts() -> None:
    document = b"[" + b",".join([b'{"@id":"urn:s","urn:p":1}'] * 50_000) + b"]"
    limits = Limits(frame_bytes=200_000)
    assert read(document, limits) == 50_000
    with pytest.raises(LimitError, match="the length of a document with contexts"):
        read(document[:-1] + b',{"@context":{}}]', limits)
    with pytest.raises(TextError, match="malformed JSON") as caught:
        objects(b'{"@context":{},\n "a" 1}')
    assert (caught.value.line, caught.value.column) == (2, 6)


def read(document: bytes, limits: Limits) -> int:
    out = io.BytesIO()
    convert(document, out, source_format="jsonld", target_format="nt", limits=limits)
    return out.getvalue().count(b"\n")


TERMS = {f"t{n}": f"urn:{n}" for n in range(4000)}
SCOPED = {"@id": "urn:s", "@context": {"x": "urn:x"}}


@pytest.mark.parametrize(
    ("context", "node", "count"),
    [
        (dict.fromkeys(TERMS, SCOPED), {}, 1),
        (TERMS, {"@context": {"x": "urn:x"}}, 5000),
        (TERMS | {"s": SCOPED}, {"s": {"x": 1}}, 5000),
        (TERMS | {"s": SCOPED}, {"@type": "s"}, 5000),
        (TERMS | {"s": SCOPED, "type": "@type"}, {"type": ["s"]}, 5000),
        (TERMS | {"s": SCOPED}, {"s": [{"x": 1}] * 5000}, 1),
        (TERMS | {"s": SCOPED | {"@container": "@index"}}, {"s": {"i": [{"x": 1}] * 5000}}, 1),
        ([TERMS, "urn:c"], {"@context": ["urn:d"]}, 5000),
    ],
    ids=["scoped", "siblings", "uses", "types", "aliases", "items", "index", "remote"],
)
def test_copies_of_terms_are_bounded(context: Any, node: dict[str, Any], count: int) -> None:
    """The parser copies the terms in force for each context."""
    remote = {"urn:c": {"y": "urn:y"}, "urn:d": {"x": "urn:x"}}

    def read(count: int) -> int:
        nodes = [{"@id": "urn:a", "urn:p": 1, **node}] * count
        text = json.dumps({"@context": context, "@graph": nodes}).encode()
        settings = ConversionSettings(contexts=remote)
        return len(list(read_statements(text, Format.JSON_LD, settings)))

    with pytest.raises(LimitError, match="terms in force"):
        read(count)
    if count > 1:
        assert read(100) >= 100
