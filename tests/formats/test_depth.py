"""Deeply nested text is rejected before pyoxigraph parses it, which would crash the process."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from jelly_plugins import Limits, convert
from jelly_plugins.errors import JellyError, LimitError
from jelly_plugins.formats import scans
from jelly_plugins.formats.reading import (
    DEPTH,
    JsonScan,
    TurtleScan,
    with_bounded_json,
    with_bounded_turtle,
)

from .. import conversions

DEEP = 100_000


def converted(text: str, form: str) -> bytes:
    return conversions.converted(text.encode(), form, "nq")


def turtle(depth: int) -> str:
    return "PREFIX : <urn:> :s :p " + "<<(:s :p " * depth + ":o" + " )>>" * depth + " ."


def rdf_xml(text: str) -> str:
    return f'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">{text}'


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (turtle(DEEP), "ttl"),
        (turtle(DEEP), "trig"),
        # Nested and never closed.
        ("PREFIX : <urn:> :s :p " + "<<(:s :p " * DEEP, "ttl"),
        ("<urn:s> <urn:p> " + "(" * 2 * DEEP, "ttl"),
        ("[ <urn:q> 1 ; <urn:p> " * 2 * DEEP, "trig"),
        ("<urn:s> <urn:p> <urn:o>" + "{|<urn:p> 1" * 2 * DEEP, "ttl"),
        ("# (\n" * DEEP + '<urn:s> <urn:p> """(""", ' + "(" * 2000, "ttl"),
        ('{"urn:p":' * DEEP + "1" + "}" * DEEP, "jsonld"),
        (rdf_xml("<rdf:Description><rdf:value>" * DEEP), "rdf"),
        (rdf_xml("<rdf:Seq rdf:b='/>'><rdf:li>" * DEEP), "rdf"),
    ],
)
def test_deep_nesting_is_rejected(text: str, form: str) -> None:
    with pytest.raises(LimitError, match=r"nested more than \d+ deep"):
        converted(text, form)


def test_as_deep_as_terms_may_be() -> None:
    assert converted(turtle(64), "ttl").count(b"<<(") == 64


def test_many_triple_terms_that_are_not_nested() -> None:
    statements = "PREFIX : <urn:>\n" + ":s :p <<(:s :p :o)>>,<<(:a :p :o)>> .\n" * 20_000
    assert converted(statements, "ttl").count(b"\n") == 40_000
    text = "<<(" * 100_000
    assert converted(f'<urn:s> <urn:p> "{text}" .', "ttl").count(b"<<(") == 100_000


def test_many_prefixes() -> None:
    text = "".join(f"PrEfIx p{number}: <urn:>\n" for number in range(51_000))
    with pytest.raises(LimitError, match="more than 100000 prefixes"):
        converted(text + text, "ttl")
    assert converted("<urn:s> <urn:prefix> ' prefix '.\n" * 120_000, "ttl").count(b"\n") == 120_000


@pytest.mark.parametrize("before", ["<urn:o>.", "1 .", '"x"@en.', "<urn:o> .\n@", "e:o . # e:a.\n"])
def test_declarations_after_what_ends_a_statement(before: str) -> None:
    text = f"PREFIX e: <urn:e:>\n<urn:s> a {before}prefix p: <{LONG}{LONG}> " + (
        "." if before.endswith("@") else ""
    )
    with pytest.raises(LimitError, match="4096 bytes"):
        converted(text, "ttl")


LONG = "x" * 4000


@pytest.mark.parametrize(
    "text",
    [
        f"PREFIX p: <urn:{LONG}{LONG}> p:a p:b p:c .",
        f"@base <urn:{LONG}{LONG}> .",
        # They follow from the base before.
        f"BASE <urn:/{LONG}/> @base <{LONG}/a> .",
        f"@base <urn:/{LONG}> . prefix # a comment <urn:>\n p: # '\n <{LONG}>",
    ],
)
@pytest.mark.parametrize("size", [1000, 1 << 20])
@pytest.mark.parametrize("scan_type", [TurtleScan, scans.TurtleScan])
def test_long_prefixes_and_bases(text: str, size: int, scan_type: type[TurtleScan]) -> None:
    scan = scan_type(DEPTH)
    data = text.encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    with pytest.raises(LimitError, match="4096 bytes"):
        list(with_bounded_turtle(chunks, None, scan))
    with pytest.raises(LimitError, match="4096 bytes"):
        converted(text, "trig")


def test_long_iris_that_no_name_repeats() -> None:
    iri = f"<data:{LONG}{LONG}>"
    text = f"PREFIX p: <urn:/{LONG}> BASE <urn:/a> p:prefix p:base {iri}, {iri} . <b> a {iri} ."
    assert converted(text, "ttl").count(b"\n") == 3
    with pytest.raises(LimitError, match="4096 bytes"):
        convert(b"", io.BytesIO(), source_format="ttl", target_format="nt", base=iri[1:-1])


def test_values_of_one_object_of_json_ld() -> None:
    """pyoxigraph holds an object at the top of a document as a whole."""
    limits = Limits(frame_rows=100)
    values = '{"@id":"urn:s","urn:p":[1' + ",1" * 50 + "]}"

    def checked(text: str) -> bytes:
        return b"".join(with_bounded_json((char.encode() for char in text), limits))

    for text in (f"[{values}" + f",{values}" * 20 + "]", values):
        assert checked(text).decode() == text
    for text in (f'{{"@graph":[{values},{values},{values}]}}', f'[1,{{"urn:q":[{values},{values}'):
        with pytest.raises(LimitError, match=r"the number of values of one object.*frame_rows"):
            checked(text)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_brackets_in_strings_do_not_count(size: int) -> None:
    draw = random.Random(size)
    parts = ["[" * 700, "{", '"', "\\", '\\"', "]", "é", "", "x}"]
    value: object = ["".join(draw.choices(parts, k=6)) for _ in range(200)]
    for _ in range(100):
        value = [value, {draw.choice(parts): draw.choice(parts)}]
    data = json.dumps(value, ensure_ascii=draw.random() < 0.5).encode()
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    assert b"".join(with_bounded_json(chunks)) == data
    nested = b"[" * DEPTH + data + b"]" * DEPTH
    chunks = [nested[at : at + size] for at in range(0, len(nested), size)]
    with pytest.raises(LimitError):
        list(with_bounded_json(chunks))


def test_a_tag_of_many_attributes() -> None:
    attributes = " ".join(f"rdf:p{number}=''" for number in range(4097))
    with pytest.raises(LimitError, match="a tag has more than 4096 attributes"):
        converted(rdf_xml(f"<rdf:Description {attributes}/></rdf:RDF>"), "rdf")
    attributes = " ".join(f"rdf:p{number}='{number:20}='" for number in range(4096))
    text = converted(rdf_xml(f"<rdf:Description {attributes}/></rdf:RDF>"), "rdf")
    assert text.count(b"\n") == 4096


def test_elements_of_rdf_xml_that_are_not_nested() -> None:
    text = "<rdf:Description rdf:value='/>'><rdf:value>/></rdf:value></rdf:Description>" * 5000
    text += "<rdf:Description rdf:value='>'/>" * 5000 + "</rdf:RDF>"
    assert converted(rdf_xml(text), "rdf").count(b"\n") == 15_000


class Text:
    """Random Turtle with brackets in every kind of token, not always well-formed.

    :ivar depth: how deep it is nested.
    """

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.depth = self._open = 0
        self.parts: list[str] = []
        for _ in range(draw.randrange(1, 6)):
            self.parts += [self.space(), self.iri(), self.iri(), " "]
            self.object(draw.randrange(12))
            self.parts += [self.space(), "."]

    def space(self) -> str:
        return self.draw.choice(["", " ", "\n", " # \"( ' <<[ ))\\\n", "\t", "\r"])

    def iri(self) -> str:
        return "<urn:" + "".join(self.draw.choices("()#'[a", k=self.draw.randrange(4))) + ">"

    def string(self) -> str:
        quote = self.draw.choice(['"', "'", '"""', "'''"])
        parts = ["(", "[", ")", "#", ">", "<<", " ", '\\"', "\\'", "\\\\", "'", '"', "\n"]
        unfit = (quote[0], "\n" if len(quote) == 1 else "")
        body = self.draw.choices([part for part in parts if part not in unfit], k=5)
        return quote + "".join(body[: self.draw.randrange(6)]) + quote

    def object(self, most: int) -> None:
        kind = self.draw.random() if most > 0 else 0
        if kind < 0.3:
            self.parts.append(self.draw.choice([self.string(), self.iri(), " 1"]))
            return
        # A triple term has two brackets.
        levels = 2 if kind > 0.9 else 1
        self._open += levels
        self.depth = max(self.depth, self._open)
        if kind < 0.5:
            self.parts.append("(")
            for _ in range(self.draw.randrange(4)):
                self.parts.append(self.space())
                self.object(most - 1)
            self.parts.append(")")
        else:
            ends = (
                ("[", "]")
                if kind < 0.65
                else ("{|", "|}")
                if kind < 0.75
                else ("<<", ">>")
                if levels == 1
                else ("<<(", ")>>")
            )
            self.parts += [ends[0], self.space(), self.iri(), self.iri()]
            self.object(most - 1)
            self.parts += [self.space(), ends[1]]
        self._open -= levels


@pytest.mark.parametrize("seed", range(100))
@pytest.mark.parametrize("scan_type", [TurtleScan, scans.TurtleScan])
def test_the_depth_of_turtle(seed: int, scan_type: type[TurtleScan]) -> None:
    draw = random.Random(seed)
    text = Text(draw)
    data = "".join(text.parts).encode()
    size = draw.choice([1, 2, 3, 7, 30, 1 << 20])
    chunks = [data[at : at + size] for at in range(0, len(data), size)]
    scan = scan_type(text.depth)
    assert b"".join(with_bounded_turtle(chunks, None, scan)) == data
    scan.scan(b" " * 10)
    if text.depth:
        with pytest.raises(LimitError):
            list(with_bounded_turtle(chunks, None, scan_type(text.depth - 1)))


TURTLE_PARTS = (
    b'"', b"'", b'"""', b"'''", b"\\", b"<", b">", b"<<", b">>", b"#", b"\n", b"(", b")", b"{",
    b"}", b"|", b"~", b"prefix", b"@base", b"PREFIX x:", b" ", b"urn:", b"a/b", b"\xc3", b"pb",
)  # fmt: skip
JSON_PARTS = (
    b'"', b"\\", b'\\"', b'"@context"', b'"@context":', b"{", b"}", b"[", b"]", b",", b"1", b"1e20",
    b"100000000000000000000", b"-", b".", b" ", b"x", b"e", b"\xff",
)  # fmt: skip


def scanned(scan: Any, chunks: list[bytes]) -> list[object]:
    found: list[object] = []
    try:
        for chunk in chunks:
            found.append(scan.scan(chunk))
    except JellyError as error:
        found += [repr(error), getattr(scan, "at", None)]
    return [*found, getattr(scan, "longest", None), getattr(scan, "repeats", None)]


@pytest.mark.skipif(TurtleScan is scans.TurtleScan, reason="the scans are not compiled")
def test_both_forms_of_the_scans_agree() -> None:
    limits = Limits(frame_rows=5)
    for seed in range(2000):
        draw = random.Random(seed)
        size = draw.choice([1, 2, 3, 5, 100])
        for parts, first, second in (
            (TURTLE_PARTS, TurtleScan(3), scans.TurtleScan(3)),
            (JSON_PARTS, JsonScan(4, limits), scans.JsonScan(4, limits)),
        ):
            data = b"".join(draw.choices(parts, k=draw.randrange(60))) + b" " * 10
            chunks = [data[at : at + size] for at in range(0, len(data), size)]
            assert scanned(first, chunks) == scanned(second, chunks), data
