"""JSON-LD: remote contexts that the caller supplies, and numbers that pyoxigraph would misread."""

from __future__ import annotations

import json
import re
from typing import Any

import pyoxigraph
import pytest

from jelly_plugins import Iri, Literal, read_frames
from jelly_plugins.codec import DEFAULT_LIMITS, Limits
from jelly_plugins.errors import LimitError, TextError
from jelly_plugins.formats.convert import read_statements
from jelly_plugins.formats.json_ld import prepared
from jelly_plugins.formats.reading import with_bounded_json
from jelly_plugins.formats.settings import ConversionSettings
from jelly_plugins.io.sources import Format

from ..conversions import converted

XSD = "http://www.w3.org/2001/XMLSchema#"
CONTEXTS = {
    "http://s.example/a": {"@context": "b"},
    "http://s.example/b": {"@context": {"name": "urn:name"}},
    "http://s.example/c": ["b", {"p": {"@id": "urn:p", "@context": "b"}}],
    "http://s.example/d": {"@import": "b", "r": "urn:r", "@version": 1.1},
    "http://s.example/e": b'{"@context": {"name": "urn:name"}}',
}


def objects(document: bytes | str, **settings: Any) -> list[Any]:
    data = document.encode() if isinstance(document, str) else document
    found = read_statements(data, Format.JSON_LD, ConversionSettings(**settings))
    return [quad.object for quad in found]


# Contexts


@pytest.mark.parametrize("given", [CONTEXTS, CONTEXTS.__getitem__])
@pytest.mark.parametrize(
    ("document", "count"),
    [
        ('{"@context": ["http://s.example/a", {"x": "urn:x"}], "name": 1, "x": 1.5}', 2),
        ('{"@context": "a", "name": 1}', 1),
        ('{"@context": "c", "name": 1, "p": {"name": 2}}', 3),
        ('{"@context": "d", "name": 1, "r": 2}', 2),
        ('{"@context": "e", "name": 1}', 1),
        ('{"urn:p": {"@context": "a", "name": 1}}', 2),
        # Within a JSON literal there are no contexts.
        ('{"urn:p": {"@type": "@json", "@value": {"@context": "urn:none"}}}', 1),
    ],
)
def test_remote_contexts(document: str, count: int, given: Any) -> None:
    assert len(objects(document, contexts=given, base="http://s.example/")) == count


def fail(iri: str) -> Any:
    raise OSError(f"no network for {iri}")


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        (None, "the context urn:c is not available and never fetched: .* contexts=$"),
        ({}, "the context urn:c is not among those"),
        (fail, "the context urn:c cannot be loaded: no network"),
        ({"urn:c": "urn:c"}, "contains itself"),
        ({"urn:c": {"@import": "urn:c"}}, "contains itself"),
        (
            {"urn:c": ["urn:d"], "urn:d": {"p": {"@id": "urn:p", "@context": "urn:c"}}},
            "contains itself",
        ),
        ({"urn:c": {"@import": 1}}, "@import must be"),
        ({"urn:c": {"@import": "urn:d"}, "urn:d": []}, "not one object"),
        ({"urn:c": object()}, "not valid JSON"),
        ({"urn:c": {"@vocab": b"x"}}, "not valid JSON"),
        ({"urn:c": "//[x"}, "cannot be resolved"),
        (
            {f"urn:{n}": [f"urn:{n - 1}"] * 2 for n in range(1, 60)}
            | {"urn:0": {"p": f"urn:{'p' * 100_000}"}, "urn:c": "urn:59"},
            "the contexts of a document come to more than",
        ),
    ],
)
def test_remote_contexts_that_are_rejected(contexts: Any, message: str) -> None:
    with pytest.raises(TextError, match=message) as caught:
        objects('{"@context": "urn:c", "p": 1}', contexts=contexts, base="app://h/d")
    assert caught.value.source == "<bytes>"


# Relative IRIs, and documents as a whole

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
    with read_frames(converted(text, "jsonld", "jelly")) as frames:
        (frame,) = frames
    assert len(frame.statements) == 2
    assert frame.namespaces == [("n", Iri("urn:n#"))]


def test_truncated_and_malformed_documents() -> None:
    document = b"""[{"@id": "urn:s", "urn:p": {"@value": "o", "@language": "en"}},
        {"@id": "urn:g", "@graph": {"@id": "urn:s", "urn:p": {"@id": "_:b"}}}]"""
    for end in range(len(document)):
        with pytest.raises(TextError):
            objects(document[:end])
    with pytest.raises(TextError, match="malformed JSON") as caught:
        objects('{"@context":{},\n "a" 1}')
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_a_document_with_contexts_is_held() -> None:
    document = b"[" + b",".join([b'{"@id":"urn:s","urn:p":1}'] * 50_000) + b"]"
    limits = Limits(frame_bytes=200_000)
    assert converted(document, "jsonld", "nt", limits=limits).count(b"\n") == 50_000
    for data, contexts in ((document, {}), (document[:-1] + b',{"@context":{}}]', None)):
        with pytest.raises(LimitError, match="the length of a document with contexts"):
            objects(data, limits=limits, contexts=contexts)


# Numbers, which pyoxigraph would misread

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
        for contexts in (None, {}):
            with pytest.raises(TextError, match="cannot be read as an integer"):
                objects(document, contexts=contexts)
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
    assert len(objects(text)) == 3
    integer = {"@value": "100000000000000000000", "@type": XSD + "integer"}
    document = json.dumps({"@id": "urn:s", "urn:p": integer})
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


LONG = f"urn:{'x' * 30_000}"


@pytest.mark.parametrize(
    "context",
    [
        {"a": LONG},
        {"a": {"@id": "b:y", "@prefix": True}, "b": LONG},
        {"@vocab": LONG, "a": "y"},
        [{"@base": LONG[:15_000]}, {"@base": LONG[4:15_000]}],
        {f"c{n}": f"c{n - 1}:{LONG[4:504]}" for n in range(60, 0, -1)},
    ],
)
def test_short_names_of_long_iris_are_bounded(context: Any) -> None:
    nodes = [{"@id": "a:b", "a:p": 1}] * 2000
    with pytest.raises(LimitError, match="frame_expansion"):
        objects(json.dumps({"@context": context, "@graph": nodes}))


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
