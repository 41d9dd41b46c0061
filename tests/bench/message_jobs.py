"""Jobs of message logs: messages of five triples, as a sensor sends them.

The figures are messages per second. The peer of a syntax that another parser reads is this parser
alone, on the same documents, one by one, without using its terms.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import pyoxigraph

from jelly_plugins.messages import Message, convert_messages, read_messages, write_messages

from .codec_jobs import count
from .measure import Runs

#: Number of messages of a log; logs in YAML-LD have a tenth.
MESSAGES: Final = 20_000

_SOSA: Final = "http://www.w3.org/ns/sosa/"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"


def _lines(number: int, graph: str) -> Iterator[str]:
    for n in range(number):
        s = f"<http://example.org/observation/{n}>"
        time = (
            f"2026-01-{n // 86400 % 28 + 1:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z"
        )
        yield (
            f"{s} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{_SOSA}Observation> {graph}.\n"
            f'{s} <{_SOSA}resultTime> "{time}"^^<{_XSD}dateTime> {graph}.\n'
            f"{s} <{_SOSA}madeBySensor> <http://example.org/sensor/{n % 100}> {graph}.\n"
            f"{s} <{_SOSA}observedProperty> <http://example.org/temperature> {graph}.\n"
            f'{s} <{_SOSA}hasSimpleResult> "{n % 40}.5"^^<{_XSD}double> {graph}.\n'
        )


@cache
def log(format_: str) -> bytes:
    """Return the log in a syntax."""
    number = MESSAGES // 10 if format_ == "yamlld" else MESSAGES
    if format_ in ("nt", "nq"):
        graph = "<http://example.org/graph> " if format_ == "nq" else ""
        text = "".join(f"{each}MESSAGE\n" for each in _lines(number, graph))
        return f'VERSION "1.2-messages"\n{text}'.encode()
    return _write(list(read_messages(log("nt"), format="nt"))[:number], format_)


@cache
def _messages() -> list[Message]:
    return list(read_messages(log("nt"), format="nt"))


def _write(messages: list[Message], format_: str) -> bytes:
    out = io.BytesIO()
    write_messages(messages, out, format=format_)
    return out.getvalue()


def _convert(data: bytes, source: str, target: str) -> int:
    out = io.BytesIO()
    convert_messages(data, out, source_format=source, target_format=target)
    return out.tell()


def _runs(ours: Callable[[], object], number: int = MESSAGES, **others: Any) -> Runs:
    return Runs({"ours": ours, **others}, count=number, things="messages")


def _to_jelly(format_: str) -> Runs:
    data = log(format_)
    return _runs(lambda: _convert(data, format_, "jelly"))


def _from_jelly(format_: str) -> Runs:
    out = io.BytesIO()
    convert_messages(log(format_), out, source_format=format_, target_format="jelly")
    return _runs(lambda: _convert(out.getvalue(), "jelly", format_))


def log_nt_to_jelly() -> Runs:
    """N-Triples log → Jelly"""
    return _to_jelly("nt")


def log_nq_to_jelly() -> Runs:
    """N-Quads log → Jelly"""
    return _to_jelly("nq")


def log_jelly_to_nt() -> Runs:
    """Jelly → N-Triples log"""
    return _from_jelly("nt")


def log_jelly_to_nq() -> Runs:
    """Jelly → N-Quads log"""
    return _from_jelly("nq")


def _read(format_: str, documents: list[bytes] | None = None, parser: Any = None) -> Runs:
    data = log(format_)
    others: dict[str, Any] = {}
    if documents is not None:

        def parse_each() -> int:
            return sum(count(pyoxigraph.parse(each, parser)) for each in documents)

        others["pyoxigraph, each document"] = parse_each
    number = MESSAGES // 10 if format_ == "yamlld" else MESSAGES
    return _runs(lambda: count(read_messages(data, format=format_)), number, **others)


def log_read_nt() -> Runs:
    """N-Triples log → messages"""
    return _read("nt")


def log_read_nq() -> Runs:
    """N-Quads log → messages"""
    return _read("nq")


def log_read_jelly() -> Runs:
    """Jelly log → messages"""
    return _read("jelly")


def _documents(format_: str) -> list[bytes]:
    return log(format_).split(b"MESSAGE\n")[:-1]


def log_read_ttl() -> Runs:
    """Turtle log → messages"""
    return _read("ttl", _documents("ttl"), pyoxigraph.RdfFormat.TURTLE)


def log_read_trig() -> Runs:
    """TriG log → messages"""
    return _read("trig", _documents("trig"), pyoxigraph.RdfFormat.TRIG)


def log_read_ndjsonld() -> Runs:
    """NDJSON-LD log → messages"""
    documents = log("ndjsonld").splitlines()
    return _read("ndjsonld", documents, pyoxigraph.RdfFormat.JSON_LD)


def log_read_yamlld() -> Runs:
    """YAML-LD log → messages"""
    import yaml

    data = log("yamlld")

    def load_each() -> int:
        documents = yaml.load_all(data, Loader=yaml.CSafeLoader)
        parser = pyoxigraph.RdfFormat.JSON_LD
        return sum(count(pyoxigraph.parse(json.dumps(each), parser)) for each in documents)

    runs = _read("yamlld")
    return _runs(runs.runs["ours"], MESSAGES // 10, **{"PyYAML and pyoxigraph": load_each})  # type: ignore[arg-type]


def log_read_rdf() -> Runs:
    """RDF/XML log → messages"""
    return _read("rdf", log("rdf").splitlines(), pyoxigraph.RdfFormat.RDF_XML)


def _written(format_: str) -> Runs:
    messages = _messages()
    if format_ == "yamlld":
        messages = messages[: MESSAGES // 10]
    return _runs(lambda: _write(messages, format_), len(messages))


def log_write_nt() -> Runs:
    """Messages → N-Triples log"""
    return _written("nt")


def log_write_jelly() -> Runs:
    """Messages → Jelly log"""
    return _written("jelly")


def log_write_ttl() -> Runs:
    """Messages → Turtle log"""
    return _written("ttl")


def log_write_trig() -> Runs:
    """Messages → TriG log"""
    return _written("trig")


def log_write_ndjsonld() -> Runs:
    """Messages → NDJSON-LD log"""
    return _written("ndjsonld")


def log_write_yamlld() -> Runs:
    """Messages → YAML-LD log"""
    return _written("yamlld")


def log_write_rdf() -> Runs:
    """Messages → RDF/XML log"""
    return _written("rdf")


JOBS = (
    log_nt_to_jelly,
    log_nq_to_jelly,
    log_jelly_to_nt,
    log_jelly_to_nq,
    log_read_nt,
    log_read_nq,
    log_read_jelly,
    log_read_ttl,
    log_read_trig,
    log_read_ndjsonld,
    log_read_yamlld,
    log_read_rdf,
    log_write_nt,
    log_write_jelly,
    log_write_ttl,
    log_write_trig,
    log_write_ndjsonld,
    log_write_yamlld,
    log_write_rdf,
)
