"""Deeply nested text is rejected before pyoxigraph parses it, which would crash the process."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable

import pytest

from jelly_plugins import convert
from jelly_plugins.errors import LimitError, TextError
from jelly_plugins.formats.depth import DEPTH, TURTLE_CHUNK, with_bounded_json
from jelly_plugins.messages import read_messages
from jelly_plugins.sparql import read_results

DEEP = 100_000


def converted(text: str, form: str) -> bytes:
    out = io.BytesIO()
    convert(text.encode(), out, source_format=form, target_format="nq")
    return out.getvalue()


def turtle(depth: int) -> str:
    return "PREFIX : <urn:> :s :p " + "<<(:s :p " * depth + ":o" + " )>>" * depth + " ."


def json_results(depth: int) -> bytes:
    term = '{"type":"triple","value":{"subject":{"type":"uri","value":"urn:s"},'
    term += '"predicate":{"type":"uri","value":"urn:p"},"object":'
    text = '{"head":{"vars":["a"]},"results":{"bindings":[{"a":'
    text += term * depth + '{"type":"uri","value":"urn:o"}' + "}}" * depth + "}]}}"
    return text.encode()


@pytest.mark.parametrize(
    "read",
    [
        lambda: converted(turtle(DEEP), "ttl"),
        lambda: converted(turtle(DEEP), "trig"),
        lambda: converted('{"urn:p":' * DEEP + "1" + "}" * DEEP, "jsonld"),
        lambda: list(read_messages(turtle(DEEP).encode(), format="ttl")),
        lambda: list(read_messages(b'{"urn:p":' * DEEP + b"1" + b"}" * DEEP, format="ndjsonld")),
        lambda: list(read_results(json_results(DEEP), format="srj")),
        # Nested and never closed.
        lambda: converted("PREFIX : <urn:> :s :p " + "<<(:s :p " * DEEP, "ttl"),
        lambda: list(read_results(json_results(DEEP)[: DEEP * 50], format="srj")),
    ],
)
def test_deep_nesting_is_rejected(read: Callable[[], object]) -> None:
    with pytest.raises(
        (LimitError, TextError), match=r"nested more than 1024 deep|depth of quoted triples"
    ):
        read()


def test_as_deep_as_terms_may_be() -> None:
    assert converted(turtle(64), "ttl").count(b"<<(") == 64
    assert len(list(read_results(json_results(64), format="srj"))) == 1


def test_many_triple_terms_that_are_not_nested() -> None:
    statements = "PREFIX : <urn:>\n" + ":s :p <<(:s :p :o)>>,<<(:a :p :o)>> .\n" * 20_000
    assert converted(statements, "ttl").count(b"\n") == 40_000
    text = "<<(" * DEPTH
    assert converted(f'<urn:s> <urn:p> "{text}" .', "ttl").count(b"<<(") == DEPTH
    assert len(text) * 2 > TURTLE_CHUNK


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
