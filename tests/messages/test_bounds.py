"""Long logs, and long parts of a log, take no more memory than needed, or are rejected."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from jelly_plugins import LimitError, Limits, native
from jelly_plugins.io.sources import Input
from jelly_plugins.messages.documents import rdf_xml_events
from jelly_plugins.messages.formats import syntax_named
from jelly_plugins.messages.reader import read_messages
from jelly_plugins.messages.text import ReadSettings
from jelly_plugins.messages.turtle import turtle_events

from ..programs import run
from .logs import RDF, sizes

HEAD = 'VERSION "1.2-messages"\n'


_NAME = "x" * 4000


@pytest.mark.parametrize(
    ("format_", "log", "megabytes"),
    [
        ("ttl", "".join(f'<urn:a> <urn:p> "{"x" * 300_000}{n}" .\n' for n in range(20)), 1),
        (
            "ttl",
            f"PREFIX a: <urn:{_NAME}>\n" + "".join(f"a:{n} a:p a:o .\n" for n in range(1500)),
            8,
        ),
        (
            "rdf",
            f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="urn:{_NAME}:">'
            + "".join(f'<rdf:Seq rdf:about="urn:{n}"><e:p>x</e:p></rdf:Seq>' for n in range(8000))
            + "</rdf:RDF>\n",
            8,
        ),
    ],
)
def test_long_statements_are_not_held(format_: str, log: str, megabytes: int) -> None:
    split = turtle_events if format_ == "ttl" else rdf_xml_events
    events = split(Input(log.encode()), syntax_named(format_), ReadSettings())
    longest = max(len(event) for event in events if isinstance(event, bytes))
    assert longest < megabytes << 20


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


def test_short_names_of_long_iris_are_bounded() -> None:
    context = f'{{"@context": {{"a": "urn:{"x" * 30_000}"}}'
    nodes = ",".join('{"@id": "a:b", "a:p": 1}' for _ in range(2000))
    for log in (f'{context}, "@graph": [{nodes}]}}\n', f'{context}}}\n{{"@graph": [{nodes}]}}\n'):
        with pytest.raises(LimitError, match="frame_expansion"):
            sizes(log, "ndjsonld")
    # A context of another document does not count.
    local = f'{context}, "@id": "urn:a", "urn:p": 1}}\n'
    document = '{"@id": "urn:a", "urn:p": "' + "x" * 200_000 + '"}\n'
    assert sizes(local + document, "ndjsonld") == [1, 1]
    own = '{"@context": {"n": "urn:n"}, "n": 1}'
    assert sizes('{"@graph": [' + ",".join([own] * 9999) + "]}\n", "ndjsonld") == [9999]


def test_a_large_context_is_not_processed_for_any_number_of_small_documents() -> None:
    context = json.dumps({"@context": {f"t{n}": f"urn:{n}" for n in range(2000)}})
    documents = '{"@id": "urn:a", "t1": "%s"}\n'
    limits = Limits(frame_expansion=1 << 17)
    log = f"{context}\n" + documents % ("x" * 100) * 10
    assert sizes(log, "ndjsonld", limits=limits) == [1] * 10
    log = f"{context}\n" + documents % "" * 100
    with pytest.raises(LimitError, match=r"length of the contexts.*frame_expansion"):
        sizes(log, "ndjsonld", limits=limits)
    assert len(sizes(log, "ndjsonld")) == 100


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
    done = run(_RUN, tmp_path, form, str(number))
    assert done.returncode == 0, done.stderr
    few, many = map(int, done.stdout.split())
    assert many < few + (12 << 20)
