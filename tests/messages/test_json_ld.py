"""NDJSON-LD and YAML-LD: lines, documents, contexts."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from jelly_plugins import (
    DEFAULT_GRAPH,
    Iri,
    LimitError,
    Limits,
    Literal,
    MissingExtraError,
    Quad,
    TextError,
)
from jelly_plugins.messages import read_messages

from ..codec.input_kinds import Trickle
from .logs import XSD, read, sizes

CONTEXT = '{"@context": {"@vocab": "urn:v:"}}\n'
A = '{"@id": "urn:a", "p": 1}\n'


class TestLines:
    @pytest.mark.parametrize(
        ("log", "expected"),
        [
            ("", []),
            ("{}\n", [0]),
            ("{}", [0]),
            (" { \t} \r\n{}\r\n", [0, 0]),
            (CONTEXT, []),
            (CONTEXT + A + A, [1, 1]),
            (A + CONTEXT + A, [0, 1]),
            (CONTEXT + A + '{"@context": {}}\n' + A, [1, 0]),
            (CONTEXT + A + '{"@context": null}\n' + A, [1, 0]),
            (CONTEXT + A + "\n \n{}\n", [1, 0]),
            ('{"@context": {"@vocab": "urn:"}, "p": "MESSAGE\\n{}"}', [1]),
            ('{"\\u0040context": {"@vocab": "urn:"}}\n{"p": 1}', [1]),
            ('{"@graph": []}\n{"@id": "urn:a"}\n', [0, 0]),
            ('{"@id": "urn:g", "@graph": [{"@id": "urn:a", "urn:p": [1, 2]}]}', [2]),
        ],
    )
    def test_messages(self, log: str, expected: list[int]) -> None:
        assert sizes(log, "ndjsonld") == expected

    def test_a_local_context_does_not_change_the_one_in_force(self) -> None:
        log = CONTEXT + '{"@context": {"q": "urn:q"}, "@id": "urn:a", "p": 1, "q": 2}\n' + A
        first, second = read(log, "ndjsonld")
        assert {quad.predicate for quad in first} == {Iri("urn:v:p"), Iri("urn:q")}
        assert [quad.predicate for quad in second] == [Iri("urn:v:p")]

    def test_a_local_context_can_leave_the_one_in_force(self) -> None:
        log = CONTEXT + '{"@context": null, "@id": "urn:a", "p": 1, "urn:q": 2}\n'
        assert [quad.predicate for quad in read(log, "ndjsonld")[0]] == [Iri("urn:q")]

    def test_relative_iris_need_a_base(self) -> None:
        log = A + '{"@id": "urn:a", "urn:p": [{"@id": "rel"}, "v"]}'
        with pytest.raises(TextError, match=r"line 2: message 1: the IRI <rel> is relative: .*"):
            read(log, "ndjsonld")
        assert len(read(log, "ndjsonld", base="http://e/")[1]) == 2
        text = '{"@id": "urn:a", "urn:p": "\\" <x-jelly-plugins-no-base://x/> \\n"}'
        assert len(read(text, "ndjsonld")[0]) == 1

    def test_a_context_that_is_given(self) -> None:
        for context in ({"@vocab": "urn:v:"}, {"@context": {"@vocab": "urn:v:"}}):
            assert sizes(A, "ndjsonld", context=context) == [1]
        assert sizes(A, "ndjsonld", context="urn:c", contexts={"urn:c": {"@vocab": "urn:"}}) == [1]

    def test_terms(self) -> None:
        [message] = read(
            '{"@id":"urn:a","urn:p":[true,0.5,{"@value":"x","@language":"en-GB"},{"@id":"rel"}]}',
            "ndjsonld",
            base="http://example.org/",
        )
        assert message.quads == [
            Quad(Iri("urn:a"), Iri("urn:p"), term, DEFAULT_GRAPH)
            for term in (
                Literal("true", None, XSD + "boolean"),
                Literal("5.0E-1", None, XSD + "double"),
                Literal("x", "en-gb"),
                Iri("http://example.org/rel"),
            )
        ]

    @pytest.mark.parametrize(
        "wrong",
        [
            "[]",
            "null",
            '"x"',
            "x",
            '{"@id": ',
            '{"urn:p": 1} {"urn:p": 2}',
            '{"urn:p": 1}{}',
            '{"@context": {}, "@context": {}}',
            '{"@context": 1, "p": 2}',
            '{"@context": {"p": {"@id": 1}}, "p": 2}',
            '{"urn:p": "\udc80"}'.encode("utf-8", "surrogateescape"),
            '{"@context": {}, "urn:p": NaN}',
            '{"@context": {}, "urn:p": "\\ud800"}',
            '{"@context":' + "[" * 100_000,
            '{"@context": {}, "p":' + '{"p":' * 500 + "1" + "}" * 500 + "}",
        ],
        ids=range(15),
    )
    def test_errors_have_the_line(self, wrong: Any) -> None:
        data = wrong if isinstance(wrong, bytes) else wrong.encode("utf-8", "surrogatepass")
        with pytest.raises(TextError) as caught:
            sizes(b"{}\n\n" + data + b"\n{}\n", "ndjsonld")
        assert caught.value.line == 3

    def test_the_depth_is_bounded(self) -> None:
        with pytest.raises(LimitError, match="message 1: the text is nested"):
            sizes("{}\n" + '{"p":' * 100_000, "ndjsonld")

    def test_a_line_is_bounded(self) -> None:
        with pytest.raises(LimitError, match="frame_bytes"):
            sizes('{"urn:p": "' + "x" * 300_000, "ndjsonld", limits=Limits(frame_bytes=100_000))

    def test_a_message_is_yielded_as_soon_as_its_line_is_complete(self) -> None:
        source = Trickle((CONTEXT + A + A).encode(), len(CONTEXT + A))
        messages = read_messages(source, format="ndjsonld")
        assert len(next(messages)) == 1


def test_remote_contexts() -> None:
    asked = []

    def load(iri: str) -> Any:
        asked.append(iri)
        return {"@context": {"name": "https://schema.org/name"}}

    log = '{"@context": "https://schema.org/", "name": "x"}\n'
    assert sizes(log * 3, "ndjsonld", contexts=load) == [1, 1, 1]
    assert asked == ["https://schema.org/"]
    with pytest.raises(TextError, match=r"line 2: message 1: the context .* is not av"):
        sizes("{}\n" + log, "ndjsonld")


yaml = pytest.importorskip("yaml")


class TestYaml:
    @pytest.mark.parametrize(
        ("log", "expected"),
        [
            ("", []),
            ("# nothing\n", []),
            ("--- {}\n", [0]),
            ("---\n", [0]),
            ("---\n---\n--- {}\n", [0, 0, 0]),
            ("urn:p: 1\n", [1]),
            ("urn:p: 1\n---\nurn:p: [1, 2]\n... # x\n---\nurn:p: 3\n...\n", [1, 2, 1]),
            ("urn:p: >\n  x....\n  ...\n", [1]),
            ("%YAML 1.2\n---\nurn:p: 1\n", [1]),
            ("- {urn:p: 1}\n- {urn:p: 1}\n", [2]),
            ("urn:p: |\n  ---\n  x\n", [1]),
            ('urn:p: "---\n\n  ---"\n', [1]),
            ("urn:p: &a\n  urn:q: 1\nurn:r: *a\n", [4]),
            ('{"@graph": [{"@id": "urn:a", "urn:p": "x"}]}', [1]),
        ],
    )
    def test_messages(self, log: str, expected: list[int]) -> None:
        assert sizes(log, "yamlld") == expected

    @pytest.mark.parametrize(
        ("scalar", "expected"),
        [
            ("yes", Literal("yes")),
            ("no", Literal("no")),
            ("on", Literal("on")),
            ("2026-01-01", Literal("2026-01-01")),
            ("12:30:45", Literal("12:30:45")),
            ("1_000", Literal("1_000")),
            ("<<", Literal("<<")),
            ("true", Literal("true", None, XSD + "boolean")),
            ("False", Literal("false", None, XSD + "boolean")),
            ("'true'", Literal("true")),
            ("!!str 1", Literal("1")),
            ("! 1", Literal("1")),
            ("007", Literal("7", None, XSD + "integer")),
            ("0o17", Literal("15", None, XSD + "integer")),
            ("0x1F", Literal("31", None, XSD + "integer")),
            ("-1.5e3", Literal("-1500", None, XSD + "integer")),
            ("0.5", Literal("5.0E-1", None, XSD + "double")),
            ('"\\u263A"', Literal("☺")),
        ],
    )
    def test_scalars(self, scalar: str, expected: Any) -> None:
        [message] = read(f"'@id': urn:a\nurn:p: {scalar}\n", "yamlld")
        assert [quad.object for quad in message] == [expected]

    def test_contexts_are_each_documents_own(self) -> None:
        log = '"@context": {"@vocab": "urn:"}\np: 1\n---\np: 1\n'
        assert sizes(log, "yamlld") == [1, 0]
        assert sizes(log, "yamlld", context={"@vocab": "urn:"}) == [1, 1]
        with pytest.raises(TextError, match="line 3: message 1: the context urn:c is not"):
            sizes("--- {}\n---\n'@context': urn:c\n", "yamlld")

    @pytest.mark.parametrize(
        ("wrong", "line"),
        [
            ("'a': [1\n", None),
            ("a: b: c\n", 3),
            ("\ta: 1\n", 3),
            ("- 1\n a: 2\n", None),
            ("text\n", 3),
            ("1: 2\n", 3),
            ("urn:a: 1\nurn:a: 2\n", 4),
            ("? [1]\n: 2\n", 3),
            ("urn:a: *b\n", 3),
            ("urn:a: &b\n  urn:c: *b\n", 4),
            ("urn:a: !foo 1\n", 3),
            ("urn:a: !!python/object:os.system {}\n", 3),
            ("urn:a: !!int 1\n", 3),
            ("urn:a: !!map {}\n", 3),
            ("urn:a: " + "1" * 2000, 3),
            ("urn:a: x\u2028y\n", None),
            ("urn:p: 1\n...\nurn:p: 1\n", 5),
            ("urn:a: .inf\n", 3),
            ("urn:a: 1e999\n", 3),
            ("urn:a: " + "[" * 5000 + "\n", 3),
            ("'@context': urn:c\n", 3),
            ("'@context': 5\nurn:p: 1\n", 3),
            ("urn:a: \x07\n", None),
        ],
    )
    def test_errors_have_the_line(self, wrong: str, line: int | None) -> None:
        with pytest.raises(TextError) as caught:
            sizes("--- {}\n---\n" + wrong, "yamlld")
        assert caught.value.line is not None
        if line is not None:
            assert caught.value.line == line

    def test_bad_utf_8(self) -> None:
        with pytest.raises(TextError, match="malformed YAML"):
            sizes(b"--- {}\n---\nurn:p: \xff\n", "yamlld")

    def test_values_that_repeat_themselves_are_bounded(self) -> None:
        lines = ["urn:a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
        lines += [f"urn:a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
        with pytest.raises(TextError, match="more than 1000000 values"):
            sizes("\n".join(lines), "yamlld")
        long = f"urn:a: &a {'x' * 1000}\nurn:b: [{', '.join(['*a'] * 1000)}]\n"
        with pytest.raises(LimitError, match="frame_bytes"):
            sizes(long, "yamlld", limits=Limits(frame_bytes=100_000))

    def test_where_a_message_came_from(self) -> None:
        found = read("--- {}\n\n---\n# x\nurn:p: 1\n", "yamlld")
        assert [message.line for message in found] == [1, 5]


def test_json_is_yaml() -> None:
    document = {"@id": "urn:a", "urn:p": ["yes", 1, True, "\x7f\x85\u2028"]}
    assert read(json.dumps(document), "yamlld") == read(json.dumps(document), "ndjsonld")


def test_the_extra_that_has_all_libraries_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("yaml", "pyoxigraph"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"jelly-plugins\[messages\]"):
        read_messages(b"a: 1", format="yamlld")
