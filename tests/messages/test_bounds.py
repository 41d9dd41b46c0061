"""Long logs, and long parts of a log, take no more memory than needed, or are rejected."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import LimitError, Limits, TextError, native
from jelly_plugins.formats.json_ld import ContextLoader
from jelly_plugins.io.sources import Input
from jelly_plugins.messages.documents import rdf_xml_events
from jelly_plugins.messages.formats import syntax_named
from jelly_plugins.messages.reader import read_messages
from jelly_plugins.messages.text import ReadSettings
from jelly_plugins.messages.turtle import turtle_events

from .logs import RDF, sizes

MEGABYTE = 1 << 20
HEAD = 'VERSION "1.2-messages"\n'


def longest_chunk(log: str, format_: str) -> int:
    """Return the maximum number of bytes of N-Quads that are held at once."""
    source, settings = Input(log.encode()), ReadSettings()
    split = turtle_events if format_ == "ttl" else rdf_xml_events
    events = split(source, syntax_named(format_), settings)
    return max(len(event) for event in events if isinstance(event, bytes))


def test_statements_with_long_terms_are_not_held() -> None:
    literals = "".join(f'<urn:a> <urn:p> "{"x" * 300_000}{n}" .\n' for n in range(20))
    assert longest_chunk(literals, "ttl") < MEGABYTE


def test_statements_with_long_namespaces_are_not_held() -> None:
    log = f"PREFIX a: <urn:{'x' * 4000}>\n" + "".join(f"a:{n} a:p a:o .\n" for n in range(1500))
    assert longest_chunk(log, "ttl") < 8 * MEGABYTE


def test_statements_of_documents_are_not_held() -> None:
    log = f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="urn:{"x" * 4000}:">' + "".join(
        f'<rdf:Description rdf:about="urn:{n}"><e:p>x</e:p></rdf:Description>' for n in range(8000)
    )
    assert longest_chunk(log + "</rdf:RDF>\n", "rdf") < 8 * MEGABYTE


@pytest.mark.parametrize(
    "declared",
    [
        "PREFIX a: <urn:{long}>",
        "@base <urn:{long}> .",
        "BASE <urn:x> BASE <x/{half}/> BASE <{half}/> <a> <a> <a> .",
    ],
)
@pytest.mark.parametrize("step", [None, 5000])
def test_iris_are_bounded(declared: str, step: int | None) -> None:
    declared = declared.format(long="x" * 4100, half="x" * 2500)
    log = f"{HEAD}<urn:a> <urn:p> <urn:b> .\nMESSAGE\n{declared}\n{'# y' * 50_000}\n".encode()
    source: Any = log if step is None else io.BufferedReader(io.BytesIO(log), step)  # type: ignore[arg-type]
    found = []
    with pytest.raises(LimitError, match="has more than 4096 bytes"):
        found.extend(read_messages(source, format="ttl"))
    assert len(found) == 1


@pytest.mark.parametrize("format_", ["nt", "ttl"])
def test_the_text_of_a_message_is_bounded(format_: str) -> None:
    line = f'<urn:a> <urn:p> "{"x" * 1000}" .\n'
    limits = Limits(frame_expansion=300_000)
    assert sizes(HEAD + (line * 200 + "MESSAGE\n") * 5, format_, limits=limits) == [200] * 5
    with pytest.raises(LimitError, match="frame_expansion"):
        sizes(HEAD + line * 1000, format_, limits=limits)


def test_a_value_of_yaml_is_bounded() -> None:
    with pytest.raises(LimitError, match="frame_bytes"):
        sizes('"@id": "' + "x" * 300_000, "yamlld", limits=Limits(frame_bytes=100_000))


LONG = "x" * 30_000


@pytest.mark.parametrize(
    "context",
    [
        {"a": f"urn:{LONG}"},
        {"a": {"@id": "b:y", "@prefix": True}, "b": f"urn:{LONG}"},
        {"@vocab": f"urn:{LONG}", "a": "y"},
        [{"@base": f"urn:{LONG[:15_000]}"}, {"@base": LONG[:15_000]}],
        {f"c{n}": f"c{n - 1}:{LONG[:500]}" for n in range(60, 0, -1)},
    ],
)
def test_short_names_of_long_iris_are_bounded(context: Any) -> None:
    context = json.dumps(context)
    nodes = ",".join('{"@id": "a:b", "a:p": 1}' for _ in range(2000))
    with pytest.raises(LimitError, match="frame_expansion"):
        sizes(f'{{"@context": {context}, "@graph": [{nodes}]}}\n', "ndjsonld")
    with pytest.raises(LimitError, match="frame_expansion"):
        sizes(f'{{"@context": {context}}}\n{{"@graph": [{nodes}]}}\n', "ndjsonld")


def test_a_context_that_was_long_does_not_count_any_more() -> None:
    document = '{"@id": "urn:a", "urn:p": "' + "x" * 200_000 + '"}\n'
    local = f'{{"@context": {{"a": "urn:{LONG}"}}, "@id": "urn:a", "urn:p": 1}}\n'
    assert sizes(local + document, "ndjsonld") == [1, 1]
    own = '{"@context": {"n": "urn:n"}, "n": 1}'
    assert sizes('{"@graph": [' + ",".join([own] * 9999) + "]}\n", "ndjsonld") == [9999]


def test_the_expansion_of_remote_contexts_is_limited() -> None:
    contexts: dict[str, Any] = {"urn:0": {"p": "urn:p"}}
    contexts |= {f"urn:{n}": [f"urn:{n - 1}", f"urn:{n - 1}"] for n in range(1, 60)}
    loader = ContextLoader(contexts, None)
    with pytest.raises(TextError, match="contexts"):
        loader.context("urn:59")


def test_a_large_context_is_not_processed_for_any_number_of_small_documents() -> None:
    context = json.dumps({"@context": {f"t{n}": f"urn:{n}" for n in range(2000)}})
    documents = '{"@id": "urn:a", "t1": "%s"}\n'
    limits = Limits(frame_expansion=1 << 17)
    assert (
        sizes(f"{context}\n" + documents % ("x" * 100) * 10, "ndjsonld", limits=limits) == [1] * 10
    )
    with pytest.raises(LimitError, match="frame_expansion"):
        sizes(f"{context}\n" + documents % "" * 100, "ndjsonld", limits=limits)


# Memory does not grow with a log. The tests measure sizes, never times

#: Writes a log of a number of messages, made one by one, reads it, converts it to Jelly and back,
#: and prints the peak memory in bytes; repeats this with ten times as many messages.
_RUN = """
import sys
from jelly_plugins import Iri, Literal, Triple
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from tests.memory import peak

folder, form, few = sys.argv[1], sys.argv[2], int(sys.argv[3])

def messages(number):
    for n in range(number):
        subject = Iri(f"http://example.org/{n}")
        yield [
            Triple(subject, Iri("http://example.org/p"), Literal(f"value {n} {m}"))
            for m in range(n % 3 * 2)
        ]

log, jelly, back = (f"{folder}/{name}" for name in (f"x.{form}", "x.jelly", f"y.{form}"))
for number in (few, few * 10):
    assert write_messages(messages(number), log) == number
    assert sum(1 for _ in read_messages(log)) == number
    assert convert_messages(log, jelly).messages == number
    assert sum(len(message) for message in read_messages(jelly)) == number * 2
    assert convert_messages(jelly, back).messages == number
    print(peak())
"""


@pytest.mark.skipif(not native, reason="the Python codec's caches are not full after so few")
@pytest.mark.parametrize("form", ["nt", "trig", "ndjsonld", "yamlld", "rdf"])
def test_ten_times_the_messages_take_no_more_memory(form: str, tmp_path: Path) -> None:
    number = 300 if form == "yamlld" else 1500
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(tmp_path), form, str(number)],
        capture_output=True,
        text=True,
        check=True,
    )
    few, many = map(int, done.stdout.split())
    assert many < few + (12 << 20)


def test_a_large_context_for_many_small_documents() -> None:
    terms = ",".join(f'"t{n}":"urn:t{n}"' for n in range(1000))
    log = f'{{"@context":{{{terms}}}}}\n' + '{"t1":1}\n' * 500
    with pytest.raises(LimitError, match="contexts"):
        sizes(log, "ndjsonld", limits=Limits(frame_expansion=5_000_000))
    assert len(sizes(log, "ndjsonld")) == 500
