"""Data with one dimension to double, and all code that reads or writes it.

A dimension makes data of size ``n`` for some entries; an entry prepares its input and returns the
function to measure.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow
import pyoxigraph
import rdflib

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    Iri,
    Literal,
    PhysicalType,
    Quad,
    StreamOptions,
    Triple,
    arrow,
    convert,
    jena,
    oxigraph,
    read,
    read_frames,
    sparql,
)
from jelly_plugins import rdflib as jelly_rdflib
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from jelly_plugins.patch import (
    PatchFormat,
    add,
    add_namespace,
    check,
    compact,
    delete,
    diff,
    group,
    header,
    invert,
    read_patches,
    write_patches,
    write_rows,
)

#: Prepares the input of an entry and returns the function to measure.
Entry = Callable[[Any], Callable[[], object]]

EX: Final = "http://example.org/"
P: Final = Iri(EX + "p")
S: Final = Iri(EX + "s")


# Statements


@dataclass(frozen=True)
class Data:
    """Statements, and options for writing them.

    :ivar files: number of files that are converted together.
    """

    statements: list[Any]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    frame_rows: int = 256
    columns: int = 0
    files: int = 1

    @property
    def options(self) -> StreamOptions:
        quads = isinstance(self.statements[0], Quad)
        kind = PhysicalType.QUADS if quads else PhysicalType.TRIPLES
        star = any(isinstance(each, Triple) for row in self.statements for each in row)
        return StreamOptions.flat(kind, rdf_star=star, max_name_table_size=256)

    @property
    def jelly(self) -> bytes:
        return write_bytes(
            self.statements,
            options=self.options,
            namespaces=self.namespaces,
            frame_rows=self.frame_rows,
        )


def _iri(*parts: object) -> Iri:
    return Iri(EX + "/".join(map(str, parts)))


def _objects(terms: Iterable[Any]) -> Data:
    return Data([Triple(S, P, term) for term in terms])


def _nested(depth: int, term: Any) -> Any:
    for _ in range(depth):
        term = Triple(S, P, term)
    return term


#: Makes data of size n, by the things of which there are n.
DIMENSIONS: Final[dict[str, Callable[[int], Data]]] = {
    "subjects": lambda n: Data([Triple(_iri("s", k), P, Literal("o")) for k in range(n)]),
    "predicates": lambda n: Data([Triple(S, _iri("p", k), Literal("o")) for k in range(n)]),
    "literals": lambda n: _objects(Literal(str(k)) for k in range(n)),
    "repeated statements": lambda n: _objects([Literal("o")] * n),
    "named graphs": lambda n: Data([Quad(S, P, Literal("o"), _iri("g", k)) for k in range(n)]),
    "blank graphs": lambda n: Data(
        [Quad(S, P, Literal("o"), BlankNode(f"g{k}")) for k in range(n)]
    ),
    "changes of graph": lambda n: Data(
        [Quad(S, P, Literal(str(k)), _iri("g", k % 2)) for k in range(n)]
    ),
    "namespaces": lambda n: Data([Triple(S, P, S)], {f"n{k}": f"{EX}{k}/" for k in range(n)}),
    "blank nodes": lambda n: Data([Triple(BlankNode(f"b{k}"), P, S) for k in range(n)]),
    "chain of blank nodes": lambda n: Data(
        [Triple(BlankNode(f"b{k}"), P, BlankNode(f"b{k + 1}")) for k in range(n)]
    ),
    "prefixes": lambda n: _objects(_iri(k, "o") for k in range(n)),
    "names": lambda n: _objects(_iri("o", k) for k in range(n)),
    "datatypes": lambda n: _objects(Literal("o", None, f"{EX}d{k}") for k in range(n)),
    "languages": lambda n: _objects(Literal("o", f"x-{k}") for k in range(n)),
    "kB of a literal": lambda n: _objects([Literal("o" * 1024 * n)]),
    "kB of escapes": lambda n: _objects([Literal('"\n\\\u00e9' * 256 * n)]),
    "kB of an IRI": lambda n: _objects([_iri("o" * 1024 * n)]),
    "kB of language tag": lambda n: _objects([Literal("o", "en" + "-abcdefgh" * 113 * n)]),
    "depth of quoted triples": lambda n: _objects([_nested(n, S)] * 200),
    "quoted triples": lambda n: _objects(Triple(S, P, Literal(str(k))) for k in range(n)),
    "frames": lambda n: Data([Triple(S, P, Literal(str(k))) for k in range(n)], frame_rows=1),
    "rows of a frame": lambda n: Data(
        [Triple(S, P, Literal(str(k))) for k in range(n)], frame_rows=n
    ),
    "files": lambda n: Data([Triple(S, P, S)], files=n),
    "columns": lambda n: Data([Triple(S, P, S)], columns=n),
}
#: First size, by default and by dimension.
START: Final = 1000
STARTS: Final = {
    "depth of quoted triples": 2,
    "namespaces": 128,
    "kB of a literal": 64,
    "kB of escapes": 64,
    "kB of an IRI": 16,
    "kB of language tag": 4,
    "files": 8,
    "columns": 64,
}
#: Maximum sizes of dimensions with a limit.
MOST: Final = {"depth of quoted triples": 64, "kB of language tag": 16 * 1024}

#: Formats of conversions.
FORMATS: Final = ("jelly", "nt", "nq", "ttl", "trig", "rdf", "jsonld", "rt", "rpb")


def _from_jelly(target: str) -> Entry:
    def entry(data: Data) -> Callable[[], object]:
        jelly = [data.jelly] * data.files
        return lambda: convert(jelly, io.BytesIO(), source_format="jelly", target_format=target)

    return entry


def _to_jelly(source: str) -> Entry:
    def entry(data: Data) -> Callable[[], object]:
        made = io.BytesIO()
        convert(data.jelly, made, source_format="jelly", target_format=source)
        texts = [made.getvalue()] * data.files
        return lambda: convert(texts, io.BytesIO(), source_format=source, target_format="jelly")

    return entry


def _parse(make: Callable[[], Any], format_: str) -> Entry:
    def entry(data: Data) -> Callable[[], object]:
        given = data.jelly if format_ == "jelly" else _rows(data, format_)
        return lambda: make().parse(data=given, format=_PLUGINS[format_])

    return entry


def _serialize(make: Callable[[], Any], format_: str) -> Entry:
    def entry(data: Data) -> Callable[[], object]:
        graph = make().parse(data=data.jelly, format="jelly-plugins")
        return lambda: graph.serialize(format=_PLUGINS[format_], encoding="utf-8")

    return entry


_PLUGINS: Final = {"jelly": "jelly-plugins", "rt": "rdf-thrift", "rpb": "rdf-protobuf"}


def _rows(data: Data, format_: str) -> bytes:
    out = io.BytesIO()
    prefixes = dict(data.namespaces)
    jena.write(data.statements, out, format=format_, namespaces=prefixes)
    return out.getvalue()


def _dump(data: Data) -> Callable[[], object]:
    store = _loaded(data)
    return lambda: oxigraph.dump(store, io.BytesIO(), namespaces=data.namespaces)


def _loaded(data: Data) -> pyoxigraph.Store:
    store = pyoxigraph.Store()
    oxigraph.load(store, data.jelly, quoted_triples="reify")
    return store


def _record_oxigraph(data: Data) -> Callable[[], object]:
    quads = list(oxigraph.read_quads(data.jelly))

    def run() -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            oxigraph.record(pyoxigraph.Store(), Path(folder) / "log.jellyp") as recorder,
        ):
            for quad in quads:
                recorder.add(quad)

    return run


def _record_rdflib(data: Data) -> Callable[[], object]:
    rows: list[Any] = list(jelly_rdflib.read_statements(data.jelly))

    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            dataset = rdflib.Dataset()
            with jelly_rdflib.record(dataset, Path(folder) / "log.jellyp") as recorder:
                for row in rows:
                    recorder.graph.add(row)

    return run


def _arrow_write(data: Data) -> Callable[[], object]:
    table = arrow.read(data.jelly).read_all()
    for number in range(data.columns):
        table = table.append_column(f"c{number}", pyarrow.nulls(table.num_rows))
    return lambda: arrow.write(table, io.BytesIO(), options=data.options)


def _jena_read(format_: str) -> Entry:
    def entry(data: Data) -> Callable[[], object]:
        rows = _rows(data, format_)
        return lambda: list(jena.read(rows))

    return entry


def _jena_load(data: Data) -> Callable[[], object]:
    rows = _rows(data, "rt")
    return lambda: oxigraph.load(pyoxigraph.Store(), rows, format="rt")


def _with(data: Data, run: Callable[[bytes], object]) -> Callable[[], object]:
    jelly = data.jelly
    return lambda: run(jelly)


ENTRIES: Final[dict[str, Entry]] = {
    "read": lambda data: _with(data, lambda jelly: list(read(jelly))),
    "read_frames": lambda data: _with(data, lambda jelly: list(read_frames(jelly))),
    "write": lambda data: lambda: data.jelly,
    "arrow.read": lambda data: _with(data, lambda jelly: arrow.read(jelly).read_all()),
    "arrow.write": _arrow_write,
    **{
        f"{kind.__name__}().parse {name}": _parse(kind, name)
        for kind in (rdflib.Graph, rdflib.Dataset)
        for name in _PLUGINS
    },
    **{
        f"{kind.__name__}().serialize {name}": _serialize(kind, name)
        for kind in (rdflib.Graph, rdflib.Dataset)
        for name in _PLUGINS
    },
    "oxigraph.load": lambda data: _with(
        data, lambda jelly: oxigraph.load(pyoxigraph.Store(), jelly)
    ),
    "oxigraph.load terms": lambda data: _with(
        data, lambda jelly: oxigraph.load(pyoxigraph.Store(), jelly, quoted_triples="reify")
    ),
    "oxigraph.load canonicalize": lambda data: _with(
        data,
        lambda jelly: oxigraph.load(pyoxigraph.Store(), jelly, blank_nodes="canonicalize"),
    ),
    "oxigraph.dump": _dump,
    "oxigraph.record": _record_oxigraph,
    "rdflib.record": _record_rdflib,
    "jena.read rt": _jena_read("rt"),
    "jena.read rpb": _jena_read("rpb"),
    "jena.write rt": lambda data: lambda: _rows(data, "rt"),
    "jena.write rpb": lambda data: lambda: _rows(data, "rpb"),
    "oxigraph.load rt": _jena_load,
    **{f"jelly to {name}": _from_jelly(name) for name in FORMATS},
    **{f"{name} to jelly": _to_jelly(name) for name in FORMATS if name != "jelly"},
}


# Patches


def _patch(number: int, *rows: Any) -> list[Any]:
    opening = [header("id", Iri(f"urn:patch:{number}"))]
    if number:
        opening.append(header("prev", Iri(f"urn:patch:{number - 1}")))
    return [*opening, *rows, END]


def _log(*rows: Any) -> list[Any]:
    return _patch(0, BEGIN, *rows, COMMIT)


def _quad(number: int, graph: Any = DEFAULT_GRAPH) -> Quad:
    return Quad(_iri("s", number), P, Literal(str(number)), graph)


LOGS: Final[dict[str, Callable[[int], list[Any]]]] = {
    "patches": lambda n: [row for k in range(n) for row in _patch(k, BEGIN, add(_quad(k)), COMMIT)],
    "transactions": lambda n: _patch(
        0, *(row for k in range(n) for row in (BEGIN, add(_quad(k)), COMMIT))
    ),
    "headers": lambda n: _patch(
        0, *(header(f"h{k}", Literal("x")) for k in range(n)), BEGIN, add(_quad(0)), COMMIT
    ),
    "additions": lambda n: _log(*(add(_quad(k)) for k in range(n))),
    "deletions": lambda n: _log(
        *(add(_quad(k)) for k in range(n)), *(delete(_quad(k)) for k in range(n))
    ),
    "one again and again": lambda n: _log(
        *(row for _ in range(n) for row in (add(_quad(0)), delete(_quad(0))))
    ),
    "graphs": lambda n: _log(*(add(_quad(0, _iri("g", k))) for k in range(n))),
    "graphs that come and go": lambda n: _log(
        *(
            row
            for quad in (_quad(0, _iri("g", k)) for k in range(n))
            for row in (add(quad), delete(quad))
        )
    ),
    "namespaces of patches": lambda n: _log(
        *(add_namespace(f"n{k}", _iri(k, "")) for k in range(n))
    ),
    "namespaces of graphs": lambda n: _log(
        *(add_namespace("n", _iri("n"), _iri("g", k)) for k in range(n))
    ),
    "empty transactions": lambda n: _patch(0, *([BEGIN, COMMIT] * n)),
}
PATCH_FORMATS: Final = ("jellyp", "rdfp", "trp")


def _written(rows: list[Any], format_: str) -> bytes:
    out = io.BytesIO()
    write_rows(rows, out, format=PatchFormat(format_))
    return out.getvalue()


def _patch_entry(run: Callable[[bytes], object], format_: str = "jellyp") -> Entry:
    def entry(rows: list[Any]) -> Callable[[], object]:
        log = _written(rows, format_)
        return lambda: run(log)

    return entry


def _diff(rows: list[Any]) -> Callable[[], object]:
    old = [row.value for row in rows if isinstance(row.value, Quad)]
    return lambda: diff(old, [*old[: len(old) // 2], _quad(-1)])


LOG_ENTRIES: Final[dict[str, Entry]] = {
    **{
        f"read_patches {name}": _patch_entry(lambda log: list(read_patches(log)), name)
        for name in PATCH_FORMATS
    },
    **{
        f"write_patches {name}": (
            lambda rows, name=name: (
                lambda: write_patches(  # type: ignore[misc]
                    group(rows), io.BytesIO(), format=PatchFormat(name)
                )
            )
        )
        for name in PATCH_FORMATS
    },
    "check": _patch_entry(check),
    "compact": _patch_entry(lambda log: compact(read_patches(log))),
    "invert": _patch_entry(lambda log: [invert(patch) for patch in read_patches(log)]),
    "diff": _diff,
    "oxigraph.replay": _patch_entry(lambda log: oxigraph.replay(pyoxigraph.Store(), log)),
    "rdflib.replay Dataset": _patch_entry(lambda log: jelly_rdflib.replay(rdflib.Dataset(), log)),
    "rdflib.replay Graph": _patch_entry(lambda log: jelly_rdflib.replay(rdflib.Graph(), log)),
}


# Messages

MESSAGES: Final[dict[str, Callable[[int], list[list[Any]]]]] = {
    "messages": lambda n: [[Triple(_iri("s", k), P, Literal(str(k)))] for k in range(n)],
    "statements of a message": lambda n: [
        [Triple(_iri("s", k), P, Literal(str(k))) for k in range(n)]
    ],
    "objects of a message": lambda n: [[Triple(S, P, Literal(str(k))) for k in range(n)]],
    "lines of a literal": lambda n: [[Triple(S, P, Literal("a line\n" * n))]],
    "blank nodes of a message": lambda n: [
        [Triple(BlankNode(f"b{k}"), P, BlankNode(f"b{k + 1}")) for k in range(n)]
    ],
    "empty messages": lambda n: [[]] * n,
}
MESSAGE_FORMATS: Final = ("jelly", "nt", "nq", "ttl", "trig", "rdf", "ndjsonld", "yamlld")


def _message_log(messages: Any, format_: str) -> bytes:
    out = io.BytesIO()
    write_messages(messages, out, format=format_)
    return out.getvalue()


def _read_messages(format_: str) -> Entry:
    def entry(messages: Any) -> Callable[[], object]:
        log = _message_log(messages, format_)
        return lambda: list(read_messages(log, format=format_))

    return entry


MESSAGE_ENTRIES: Final[dict[str, Entry]] = {
    **{f"read_messages {name}": _read_messages(name) for name in MESSAGE_FORMATS},
    **{
        f"write_messages {name}": (
            lambda messages, name=name: lambda: _message_log(messages, name)  # type: ignore[misc]
        )
        for name in MESSAGE_FORMATS
    },
    "convert_messages nt jelly": lambda messages: (
        lambda log: (
            lambda: convert_messages(log, io.BytesIO(), source_format="nt", target_format="jelly")
        )
    )(_message_log(messages, "nt")),
}


# Results

RESULTS: Final[dict[str, Callable[[int], tuple[list[str], list[Any]]]]] = {
    "solutions": lambda n: (["v"], [(Literal(str(k)),) for k in range(n)]),
    "variables": lambda n: ([f"v{k}" for k in range(n)], [tuple([S] * n)]),
    "kB of a value": lambda n: (["v"], [(Literal("o" * 1024 * n),)]),
}


def _results(given: Any, format_: str) -> bytes:
    out = io.BytesIO()
    variables, solutions = given
    sparql.write_results(variables, solutions, out, format=jena.JenaFormat(format_))
    return out.getvalue()


def _read_results(read_: Callable[..., Any], format_: str) -> Entry:
    def entry(given: Any) -> Callable[[], object]:
        rows = _results(given, format_)
        return lambda: list(read_(rows, format=jena.JenaFormat(format_)))

    return entry


def _parse_results(given: Any) -> Callable[[], object]:
    rows = _results(given, "rt")
    return lambda: rdflib.query.Result.parse(io.BytesIO(rows), format="srt")


RESULT_ENTRIES: Final[dict[str, Entry]] = {
    **{f"read_results {name}": _read_results(sparql.read_results, name) for name in ("rt", "rpb")},
    **{
        f"write_results {name}": (lambda given, name=name: lambda: _results(given, name))  # type: ignore[misc]
        for name in ("rt", "rpb")
    },
    "read_solutions": _read_results(oxigraph.read_solutions, "rt"),
    "Result.parse srt": _parse_results,
}

#: Dimensions, with the entries that use them.
GROUPS: Final[dict[str, tuple[Mapping[str, Callable[[int], Any]], Mapping[str, Entry]]]] = {
    "statements": (DIMENSIONS, ENTRIES),
    "patches": (LOGS, LOG_ENTRIES),
    "messages": (MESSAGES, MESSAGE_ENTRIES),
    "results": (RESULTS, RESULT_ENTRIES),
}
