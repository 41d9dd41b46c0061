"""Jobs of the formats around Jelly: Apache Jena's, message logs, and results of queries."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import pyoxigraph
from pyoxigraph import QueryResultsFormat, RdfFormat, Store, parse_query_results
from rdflib.query import Result

from jelly_plugins import BlankNode, Iri, Literal, arrow, codec, jena, oxigraph, read
from jelly_plugins.messages import Message, convert_messages, read_messages, write_messages
from jelly_plugins.sparql import read_results, write_results

from ..conversions import converted, written
from .data import Data
from .measure import Run, Runs, job
from .store_jobs import filling
from .term_jobs import count, encode, read_ntriples

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


def _jena_to_terms(form: str, data: Data) -> dict[str, Run]:
    rows = _rows(data, form)
    return {"ours": lambda: count(jena.read(rows)), "ours, Jelly": lambda: count(read(data.jelly))}


def _terms_to_jena(form: str, data: Data) -> dict[str, Run]:
    statements = data.statements
    return {
        "ours": lambda: jena.write(statements, io.BytesIO(), format=form),
        "ours, Jelly": lambda: encode(codec.Encoder, statements),
    }


for _form, _name in _JENA.items():
    for _short, _title, _make in (
        ("to-ntriples", f"{_name} → N-Triples, bytes", _jena_to_text),
        ("from-ntriples", f"N-Triples → {_name}, bytes", _text_to_jena),
        ("to-generic", f"{_name} → generic terms, iterate", _jena_to_terms),
        ("from-generic", f"generic terms → {_name}", _terms_to_jena),
    ):
        job("jena", f"{_form}-{_short}", _title, _form)(_make)


def _of_both(run: Callable[[str], Run], peer: str, theirs: Run) -> dict[str, Run]:
    return {**{f"ours, {form}": run(form) for form in _JENA}, peer: theirs}


@job("jena", "jena-to-memory", "RDF Thrift and RDF Protobuf → store in memory", "memory")
@job("jena", "jena-to-disk", "RDF Thrift and RDF Protobuf → store on disk", "disk")
def jena_to_store(place: str, data: Data) -> dict[str, Run]:
    def ours(form: str) -> Run:
        rows = _rows(data, form)
        return filling(place, lambda store: oxigraph.load(store, rows, format=form))

    text = data.ntriples
    theirs = filling(place, lambda store: store.bulk_load(text, RdfFormat.N_TRIPLES))
    return _of_both(ours, "pyoxigraph, bulk_load", theirs)


@job("jena", "jena-from-memory", "Store in memory → RDF Thrift and RDF Protobuf")
def jena_from_memory(data: Data) -> dict[str, Run]:
    store = Store()
    store.bulk_load(data.ntriples, RdfFormat.N_TRIPLES)
    return _of_both(
        lambda form: lambda: oxigraph.dump(store, io.BytesIO(), format=form),
        "pyoxigraph, N-Quads",
        lambda: store.dump(format=RdfFormat.N_QUADS),
    )


# Message logs of messages of five triples, as a sensor sends them. The peer of a syntax is its
# parser alone, on the same documents, one by one, without using the terms.

#: Number of messages of a log; logs in YAML-LD have a tenth.
MESSAGES: Final = 20_000

_SOSA: Final = "http://www.w3.org/ns/sosa/"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_PARSERS: Final = {
    "ttl": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "ndjsonld": RdfFormat.JSON_LD,
    "yamlld": RdfFormat.JSON_LD,
    "rdf": RdfFormat.RDF_XML,
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
    return written(write_messages, _messages(form), format=form)


@cache
def _messages(form: str) -> list[Message]:
    messages = list(read_messages(_log("nq" if form == "nq" else "nt"), format="nq"))
    return messages[: len(messages) // 10] if form == "yamlld" else messages


def _documents(form: str) -> list[Any]:
    log = _log(form)
    if form == "yamlld":
        import yaml

        return [json.dumps(each) for each in yaml.load_all(log, Loader=yaml.CSafeLoader)]
    return log.splitlines() if form in ("ndjsonld", "rdf") else log.split(b"MESSAGE\n")[:-1]


def _log_converted(source: str, target: str) -> Runs:
    log = _log(source)

    def run() -> None:
        convert_messages(log, io.BytesIO(), source_format=source, target_format=target)

    return Runs({"ours": run}, count=MESSAGES, things="messages")


def _log_read(form: str) -> Runs:
    log = _log(form)
    runs: dict[str, Run] = {"ours": lambda: count(read_messages(log, format=form))}
    if form in _PARSERS:
        documents, parser = _documents(form), _PARSERS[form]
        runs["pyoxigraph, each document"] = lambda: sum(
            count(pyoxigraph.parse(each, parser)) for each in documents
        )
    return Runs(runs, count=len(_messages(form)), things="messages")


def _log_written(form: str) -> Runs:
    messages = _messages(form)
    runs: dict[str, Run] = {"ours": lambda: written(write_messages, messages, format=form)}
    return Runs(runs, count=len(messages), things="messages")


for _form in ("nt", "nq", "jelly", "ttl", "trig", "ndjsonld", "yamlld", "rdf"):
    job("messages", f"log-read-{_form}", f"Log in {_form} → messages", _form)(_log_read)
    job("messages", f"log-write-{_form}", f"Messages → log in {_form}", _form)(_log_written)
for _form in ("nt", "nq"):
    job("messages", f"log-{_form}-to-jelly", f"Log in {_form} → Jelly", _form, "jelly")(
        _log_converted
    )
job("messages", "log-jelly-to-nt", "Log in Jelly → nt", "jelly", "nt")(_log_converted)


# Results of queries, a million cells, compared with SPARQL JSON

ROWS: Final = 250_000
_NAMES: Final = ["a", "b", "c", "d"]
_EX: Final = "http://example.org/"


def _iris(n: int) -> tuple[Any, ...]:
    numbers = (f"resource/{n // 3}", "ns#knows", f"r/{n % 1000}", f"res/{n}")
    return tuple(Iri(f"{_EX}{each}") for each in numbers)


def _literals(n: int) -> tuple[Any, ...]:
    return tuple(Literal(str(n * by % 100_003), None, f"{_XSD}integer") for by in (1, 7, 11, 13))


def _mixed(n: int) -> tuple[Any, ...]:
    return (
        Iri(f"{_EX}{n}") if n % 2 else Literal(str(n)),
        None if n % 3 else Literal(f"name {n}", "en"),
        BlankNode(f"b{n // 2}"),
        None if n % 5 else Iri(f"{_EX}x"),
    )


@cache
def _solutions(make: Any) -> list[Any]:
    return [make(n) for n in range(ROWS)]


@cache
def _results(make: Any, form: str) -> bytes:
    return written(write_results, _NAMES, _solutions(make), format=form)


def _read_cells(make: Any) -> dict[str, Run]:
    jelly, text = _results(make, "jellys"), _results(make, "srj")
    form: Any = QueryResultsFormat.JSON
    return {
        "Jelly-SPARQL": lambda: list(read_results(jelly)),
        "rdflib, JSON": lambda: Result.parse(io.BytesIO(text), format="json"),
        "pyoxigraph, JSON": lambda: list(parse_query_results(text, form)),  # type: ignore[arg-type]
    }


def _cells_to_arrow(make: Any) -> dict[str, Run]:
    jelly, text = _results(make, "jellys"), _results(make, "srj")
    return {
        "Jelly-SPARQL": lambda: arrow.read_results(jelly).read_all(),
        "json.loads": lambda: json.loads(text),
    }


def _write_cells(make: Any) -> dict[str, Run]:
    rows = _solutions(make)
    result = Result.parse(io.BytesIO(_results(make, "srj")), format="json")
    return {
        "Jelly-SPARQL": lambda: write_results(_NAMES, rows, io.BytesIO(), format="jellys"),
        "rdflib, JSON": lambda: result.serialize(format="json"),
    }


def _size_of_cells(make: Any) -> dict[str, Run]:
    return {
        "Jelly-SPARQL": lambda: len(_results(make, "jellys")),
        "JSON": lambda: len(_results(make, "srj")),
    }


def _of_cells(runs: Callable[[Any], dict[str, Run]], make: Any) -> Runs:
    unit: Any = "bytes" if runs is _size_of_cells else "seconds"
    return Runs(runs(make), count=ROWS * len(_NAMES), things="cells", unit=unit)


for _name, _cells in (("IRIs", _iris), ("literals", _literals), ("mixed terms", _mixed)):
    for _short, _title, _runs in (
        ("read", f"Results of {_name} to terms", _read_cells),
        ("to-arrow", f"Results of {_name} to Arrow", _cells_to_arrow),
        ("write", f"Results of {_name} from terms", _write_cells),
        ("size", f"Size of results of {_name}", _size_of_cells),
    ):
        job("results", f"{_cells.__name__[1:]}-results-{_short}", _title, _runs, _cells)(_of_cells)
