"""Jobs of the formats around Jelly: Apache Jena's, message logs, and results of queries."""

from __future__ import annotations

import io
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pyoxigraph
from pyoxigraph import QueryResultsFormat, RdfFormat, parse_query_results
from rdflib.query import Result

from jelly_plugins import BlankNode, Iri, Literal
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from jelly_plugins.sparql import read_results, write_results

from ..conversions import converted, written
from .data import Data
from .measure import Run, Runs, job
from .term_jobs import count, read_ntriples

# RDF Thrift and RDF Protobuf. The peers are the same data as N-Triples and as Jelly.

_JENA: Final = {"rt": "RDF Thrift", "rpb": "RDF Protobuf"}


@cache
def _rows(data: Data, form: str) -> bytes:
    """The data as rows."""
    return converted(data.ntriples, "nt", form)


def _jena_to_text(form: str, data: Data) -> dict[str, Run]:
    rows = _rows(data, form)
    return {
        "ours": lambda: converted(rows, form, "nt"),
        "ours, Jelly": lambda: converted(data.jelly, "jelly", "nt"),
        "pyoxigraph, N-Triples": lambda: read_ntriples(data),
    }


def _text_to_jena(form: str, data: Data) -> dict[str, Run]:
    return {
        "ours": lambda: converted(data.ntriples, "nt", form),
        "ours, Jelly": lambda: converted(data.ntriples, "nt", "jelly"),
    }


for _form, _name in _JENA.items():
    for _short, _title, _make in (
        ("to-ntriples", f"{_name} → N-Triples, bytes", _jena_to_text),
        ("from-ntriples", f"N-Triples → {_name}, bytes", _text_to_jena),
    ):
        job("jena", f"{_form}-{_short}", _title, _form)(_make)


# Message logs of messages of five triples, as a sensor sends them. The peer of a syntax is its
# parser alone, on the same documents, one by one, without using the terms.

#: Number of messages of a log.
MESSAGES: Final = 20_000

_SOSA: Final = "http://www.w3.org/ns/sosa/"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_PARSERS: Final = {
    "ttl": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ndjsonld": RdfFormat.JSON_LD,
}


def _lines(graph: str) -> Iterator[str]:
    for n in range(MESSAGES):
        s = f"<http://example.org/observation/{n}>"
        time = f"2026-01-{n // 86400 % 28 + 1:02}T{n // 3600 % 24:02}:{n // 60 % 60:02}:00Z"
        yield (
            f"{s} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{_SOSA}Observation> {graph}.\n"
            f'{s} <{_SOSA}resultTime> "{time}"^^<{_XSD}dateTime> {graph}.\n'
            f"{s} <{_SOSA}madeBySensor> <http://example.org/sensor/{n % 100}> {graph}.\n"
            f"{s} <{_SOSA}observedProperty> <http://example.org/temperature> {graph}.\n"
            f'{s} <{_SOSA}hasSimpleResult> "{n % 40}.5"^^<{_XSD}double> {graph}.\nMESSAGE\n'
        )


@cache
def _log(form: str) -> bytes:
    """Return the log in a syntax."""
    if form in ("nt", "nq"):
        graph = "<http://example.org/graph> " if form == "nq" else ""
        return f'VERSION "1.2-messages"\n{"".join(_lines(graph))}'.encode()
    return written(write_messages, read_messages(_log("nt"), format="nt"), format=form)


def _log_converted(source: str, target: str) -> Runs:
    log = _log(source)

    def run() -> None:
        convert_messages(log, io.BytesIO(), source_format=source, target_format=target)

    return Runs({"ours": run}, count=MESSAGES, things="messages")


def _log_read(form: str) -> Runs:
    log = _log(form)
    runs: dict[str, Run] = {"ours": lambda: count(read_messages(log, format=form))}
    if form in _PARSERS:
        parser = _PARSERS[form]
        documents = log.splitlines() if form == "ndjsonld" else log.split(b"MESSAGE\n")[:-1]
        runs["pyoxigraph, each document"] = lambda: sum(
            count(pyoxigraph.parse(each, parser)) for each in documents
        )
    return Runs(runs, count=MESSAGES, things="messages")


for _form in ("nt", "nq", "jelly", *_PARSERS):
    job("messages", f"log-read-{_form}", f"Log in {_form} → messages", _form)(_log_read)
for _source, _target in (("nt", "jelly"), ("nq", "jelly"), ("jelly", "nt")):
    _title = f"Log in {_source} → {_target}"
    job("messages", f"log-{_source}-to-{_target}", _title, _source, _target)(_log_converted)


# Results of queries, a million cells, compared with SPARQL JSON

ROWS: Final = 250_000
_NAMES: Final = ["a", "b", "c", "d"]
_EX: Final = "http://example.org/"


@cache
def _solutions() -> list[tuple[Any, ...]]:
    return [
        (
            Iri(f"{_EX}{n}") if n % 2 else Literal(str(n * 7), None, f"{_XSD}integer"),
            None if n % 3 else Literal(f"name {n}", "en"),
            BlankNode(f"b{n // 2}"),
            None if n % 5 else Iri(f"{_EX}x"),
        )
        for n in range(ROWS)
    ]


@cache
def _results(form: str) -> bytes:
    return written(write_results, _NAMES, _solutions(), format=form)


@job("results", "results-read", "Results → terms")
def results_read() -> Runs:
    jelly, text = _results("jellys"), _results("srj")
    form: Any = QueryResultsFormat.JSON
    runs: dict[str, Run] = {
        "Jelly-SPARQL": lambda: list(read_results(jelly)),
        "rdflib, JSON": lambda: Result.parse(io.BytesIO(text), format="json"),
        "pyoxigraph, JSON": lambda: list(parse_query_results(text, form)),  # type: ignore[arg-type]
    }
    return Runs(runs, count=ROWS * len(_NAMES), things="cells")


@job("results", "results-write", "Results from terms")
def results_write() -> Runs:
    rows = _solutions()
    result = Result.parse(io.BytesIO(_results("srj")), format="json")
    runs: dict[str, Run] = {
        "Jelly-SPARQL": lambda: write_results(_NAMES, rows, io.BytesIO(), format="jellys"),
        "rdflib, JSON": lambda: result.serialize(format="json"),
    }
    return Runs(runs, count=ROWS * len(_NAMES), things="cells")


@job("results", "results-size", "Size of results")
def results_size() -> Runs:
    runs: dict[str, Run] = {
        "Jelly-SPARQL": lambda: len(_results("jellys")),
        "JSON": lambda: len(_results("srj")),
    }
    return Runs(runs, count=ROWS * len(_NAMES), things="cells", unit="bytes", rounds=1)
