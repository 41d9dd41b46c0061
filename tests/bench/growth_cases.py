"""Data with one dimension to double, and all code that reads or writes it.

A dimension makes data of size ``n`` for some entries; an entry prepares its input and returns the
function to measure.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
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

from ..conversions import converted, written

#: Makes data of a size.
Make = Callable[[int], Any]
#: Prepares the input of an entry and returns the function to measure.
Entry = Callable[[Any], Callable[[], object]]

EX: Final = "http://example.org/"
P: Final = Iri(EX + "p")
S: Final = Iri(EX + "s")
TEXT: Final = Literal("o")


def _on(prepare: Callable[[Any], Any], run: Callable[[Any], object]) -> Entry:
    """An entry that runs on something that is made of the data before."""

    def entry(data: Any) -> Callable[[], object]:
        return partial(run, prepare(data))

    return entry


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


def _rows(make: Callable[[int], tuple[Any, ...]]) -> Make:
    """Triples or quads, one for each number."""

    def statements(n: int) -> Data:
        kinds = {3: Triple, 4: Quad}
        found = map(make, range(n))
        return Data([kinds[len(each)](*each) for each in found])

    return statements


def _objects(make: Callable[[int], Iterable[Any]]) -> Make:
    return lambda n: Data([Triple(S, P, term) for term in make(n)])


def _nested(depth: int, term: Any) -> Any:
    for _ in range(depth):
        term = Triple(S, P, term)
    return term


#: Makes data of size n, by the things of which there are n.
DIMENSIONS: Final[dict[str, Make]] = {
    "subjects": _rows(lambda k: (_iri("s", k), P, TEXT)),
    "predicates": _rows(lambda k: (S, _iri("p", k), TEXT)),
    "literals": _rows(lambda k: (S, P, Literal(str(k)))),
    "repeated statements": _rows(lambda _: (S, P, TEXT)),
    "named graphs": _rows(lambda k: (S, P, TEXT, _iri("g", k))),
    "blank graphs": _rows(lambda k: (S, P, TEXT, BlankNode(f"g{k}"))),
    "changes of graph": _rows(lambda k: (S, P, Literal(str(k)), _iri("g", k % 2))),
    "namespaces": lambda n: Data([Triple(S, P, S)], {f"n{k}": f"{EX}{k}/" for k in range(n)}),
    "blank nodes": _rows(lambda k: (BlankNode(f"b{k}"), P, S)),
    "chain of blank nodes": _rows(lambda k: (BlankNode(f"b{k}"), P, BlankNode(f"b{k + 1}"))),
    "prefixes": _rows(lambda k: (S, P, _iri(k, "o"))),
    "names": _rows(lambda k: (S, P, _iri("o", k))),
    "datatypes": _rows(lambda k: (S, P, Literal("o", None, f"{EX}d{k}"))),
    "languages": _rows(lambda k: (S, P, Literal("o", f"x-{k}"))),
    "kB of a literal": _objects(lambda n: [Literal("o" * 1024 * n)]),
    "kB of escapes": _objects(lambda n: [Literal('"\n\\\u00e9' * 256 * n)]),
    "kB of an IRI": _objects(lambda n: [_iri("o" * 1024 * n)]),
    "kB of language tag": _objects(lambda n: [Literal("o", "en" + "-abcdefgh" * 113 * n)]),
    "depth of quoted triples": _objects(lambda n: [_nested(n, S)] * 200),
    "quoted triples": _rows(lambda k: (S, P, Triple(S, P, Literal(str(k))))),
    "frames": lambda n: Data([Triple(S, P, Literal(str(k))) for k in range(n)], frame_rows=1),
    "rows of a frame": lambda n: Data(
        [Triple(S, P, Literal(str(k))) for k in range(n)], frame_rows=n
    ),
    "files": lambda n: Data([Triple(S, P, S)], files=n),
    "columns": lambda n: Data([Triple(S, P, S)], columns=n),
}
#: First size of the slow form, by default and by dimension.
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

FORMATS: Final = ("nt", "nq", "ttl", "trig", "rdf", "jsonld", "rt", "rpb")


def _written(data: Data, form: str) -> bytes:
    prefixes = dict(data.namespaces)
    return written(jena.write, data.statements, format=form, namespaces=prefixes)


def _conversion(source: str, target: str) -> Entry:
    def prepared(data: Data) -> list[bytes]:
        given = data.jelly
        if source != "jelly":
            given = converted(given, "jelly", source)
        return [given] * data.files

    def run(given: list[bytes]) -> object:
        return convert(given, io.BytesIO(), source_format=source, target_format=target)

    return _on(prepared, run)


def _of_jelly(run: Callable[[bytes], object]) -> Entry:
    return _on(lambda data: data.jelly, run)


def _load(**settings: Any) -> Entry:
    return _of_jelly(lambda jelly: oxigraph.load(pyoxigraph.Store(), jelly, **settings))


def _dump(data: Data) -> Callable[[], object]:
    store = pyoxigraph.Store()
    oxigraph.load(store, data.jelly, quoted_triples="reify")
    return lambda: oxigraph.dump(store, io.BytesIO(), namespaces=data.namespaces)


def _record_oxigraph(quads: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        oxigraph.record(pyoxigraph.Store(), Path(folder) / "log.jellyp") as recorder,
    ):
        for quad in quads:
            recorder.add(quad)


def _record_rdflib(rows: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        jelly_rdflib.record(rdflib.Dataset(), Path(folder) / "log.jellyp") as recorder,
    ):
        for row in rows:
            recorder.graph.add(row)


def _arrow_write(data: Data) -> Callable[[], object]:
    table = arrow.read(data.jelly).read_all()
    for number in range(data.columns):
        table = table.append_column(f"c{number}", pyarrow.nulls(table.num_rows))
    return lambda: arrow.write(table, io.BytesIO(), options=data.options)


def _parsed(jelly: bytes, kind: Any = rdflib.Dataset) -> Any:
    return kind().parse(data=jelly, format="jelly-plugins")


def _serialize(form: str) -> Entry:
    return _on(
        lambda data: _parsed(data.jelly),
        lambda graph: graph.serialize(format=form, encoding="utf-8"),
    )


ENTRIES: Final[dict[str, Entry]] = {
    "read": _of_jelly(lambda jelly: list(read(jelly))),
    "read_frames": _of_jelly(lambda jelly: list(read_frames(jelly))),
    "write": lambda data: lambda: data.jelly,
    "arrow.read": _of_jelly(lambda jelly: arrow.read(jelly).read_all()),
    "arrow.write": _arrow_write,
    "Graph().parse": _of_jelly(partial(_parsed, kind=rdflib.Graph)),
    "Dataset().parse": _of_jelly(_parsed),
    "Dataset().serialize jelly": _serialize("jelly-plugins"),
    "Dataset().serialize rt": _serialize("rdf-thrift"),
    "rdflib.load rt": _on(
        partial(_written, form="rt"),
        lambda rows: jelly_rdflib.load(rdflib.Dataset(), rows, format="rt"),
    ),
    "oxigraph.load": _load(),
    "oxigraph.load terms": _load(quoted_triples="reify"),
    "oxigraph.load canonicalize": _load(blank_nodes="canonicalize"),
    "oxigraph.load rt": _on(
        partial(_written, form="rt"),
        lambda rows: oxigraph.load(pyoxigraph.Store(), rows, format="rt"),
    ),
    "oxigraph.dump": _dump,
    "oxigraph.record": _on(lambda data: list(oxigraph.read_quads(data.jelly)), _record_oxigraph),
    "rdflib.record": _on(
        lambda data: list(jelly_rdflib.read_statements(data.jelly)), _record_rdflib
    ),
    **{
        f"jena.read {name}": _on(partial(_written, form=name), lambda rows: list(jena.read(rows)))
        for name in ("rt", "rpb")
    },
    **{f"jelly to {name}": _conversion("jelly", name) for name in ("jelly", *FORMATS)},
    **{f"{name} to jelly": _conversion(name, "jelly") for name in FORMATS},
}


# Patches


def _patch(number: int, *rows: Any) -> list[Any]:
    opening = [header("id", Iri(f"urn:patch:{number}"))]
    if number:
        opening.append(header("prev", Iri(f"urn:patch:{number - 1}")))
    return [*opening, *rows, END]


def _log(make: Callable[[int], Iterable[Any]]) -> Make:
    """One patch of one transaction, of the rows for each number."""
    return lambda n: _patch(0, BEGIN, *(row for k in range(n) for row in make(k)), COMMIT)


def _quad(number: int, graph: Any = DEFAULT_GRAPH) -> Quad:
    return Quad(_iri("s", number), P, Literal(str(number)), graph)


LOGS: Final[dict[str, Make]] = {
    "patches": lambda n: [row for k in range(n) for row in _patch(k, BEGIN, add(_quad(k)), COMMIT)],
    "transactions": lambda n: _patch(
        0, *(row for k in range(n) for row in (BEGIN, add(_quad(k)), COMMIT))
    ),
    "headers": lambda n: _patch(
        0, *(header(f"h{k}", Literal("x")) for k in range(n)), BEGIN, add(_quad(0)), COMMIT
    ),
    "additions": _log(lambda k: [add(_quad(k))]),
    "deletions": lambda n: _patch(
        0, BEGIN, *(kind(_quad(k)) for kind in (add, delete) for k in range(n)), COMMIT
    ),
    "one again and again": _log(lambda _: (add(_quad(0)), delete(_quad(0)))),
    "graphs": _log(lambda k: [add(_quad(0, _iri("g", k)))]),
    "graphs that come and go": _log(
        lambda k: [kind(_quad(0, _iri("g", k))) for kind in (add, delete)]
    ),
    "namespaces of patches": _log(lambda k: [add_namespace(f"n{k}", _iri(k, ""))]),
    "namespaces of graphs": _log(lambda k: [add_namespace("n", _iri("n"), _iri("g", k))]),
    "empty transactions": lambda n: _patch(0, *([BEGIN, COMMIT] * n)),
}
PATCH_FORMATS: Final = ("jellyp", "rdfp", "trp")


def _of_log(run: Callable[[bytes], object], form: Any = "jellyp") -> Entry:
    return _on(lambda rows: written(write_rows, rows, format=form), run)


def _diff(rows: list[Any]) -> Callable[[], object]:
    old = [row.value for row in rows if isinstance(row.value, Quad)]
    return lambda: diff(old, [*old[: len(old) // 2], _quad(-1)])


def _write_log(rows: list[Any], form: Any) -> object:
    return write_patches(group(rows), io.BytesIO(), format=form)


LOG_ENTRIES: Final[dict[str, Entry]] = {
    **{
        f"read_patches {name}": _of_log(lambda log: list(read_patches(log)), name)
        for name in PATCH_FORMATS
    },
    **{
        f"write_patches {name}": _on(lambda rows: rows, partial(_write_log, form=name))
        for name in PATCH_FORMATS
    },
    "check": _of_log(check),
    "compact": _of_log(lambda log: compact(read_patches(log))),
    "invert": _of_log(lambda log: [invert(patch) for patch in read_patches(log)]),
    "diff": _diff,
    "oxigraph.replay": _of_log(lambda log: oxigraph.replay(pyoxigraph.Store(), log)),
    "rdflib.replay Dataset": _of_log(lambda log: jelly_rdflib.replay(rdflib.Dataset(), log)),
    "rdflib.replay Graph": _of_log(lambda log: jelly_rdflib.replay(rdflib.Graph(), log)),
}


# Messages


def _message(n: int, make: Callable[[int], tuple[Any, ...]]) -> list[list[Any]]:
    return [[Triple(*make(k)) for k in range(n)]]


MESSAGES: Final[dict[str, Make]] = {
    "messages": lambda n: [[Triple(_iri("s", k), P, Literal(str(k)))] for k in range(n)],
    "statements of a message": partial(_message, make=lambda k: (_iri("s", k), P, Literal(str(k)))),
    "objects of a message": partial(_message, make=lambda k: (S, P, Literal(str(k)))),
    "lines of a literal": lambda n: [[Triple(S, P, Literal("a line\n" * n))]],
    "blank nodes of a message": partial(
        _message, make=lambda k: (BlankNode(f"b{k}"), P, BlankNode(f"b{k + 1}"))
    ),
    "empty messages": lambda n: [[]] * n,
}
MESSAGE_FORMATS: Final = ("jelly", "nt", "nq", "ttl", "trig", "rdf", "ndjsonld", "yamlld")


def _message_log(messages: Any, form: str) -> bytes:
    return written(write_messages, messages, format=form)


MESSAGE_ENTRIES: Final[dict[str, Entry]] = {
    **{
        f"read_messages {name}": _on(
            partial(_message_log, form=name),
            lambda log, name=name: list(read_messages(log, format=name)),
        )
        for name in MESSAGE_FORMATS
    },
    **{
        f"write_messages {name}": _on(lambda made: made, partial(_message_log, form=name))
        for name in MESSAGE_FORMATS
    },
    "convert_messages nt jelly": _on(
        partial(_message_log, form="nt"),
        lambda log: convert_messages(log, io.BytesIO(), source_format="nt", target_format="jelly"),
    ),
}


# Results

RESULTS: Final[dict[str, Make]] = {
    "solutions": lambda n: (["v"], [(Literal(str(k)),) for k in range(n)]),
    "variables": lambda n: ([f"v{k}" for k in range(n)], [tuple([S] * n)]),
    "kB of a value": lambda n: (["v"], [(Literal("o" * 1024 * n),)]),
}


def _results(given: Any, form: str) -> bytes:
    return written(sparql.write_results, *given, format=form)


RESULT_ENTRIES: Final[dict[str, Entry]] = {
    **{
        f"read_results {name}": _on(
            partial(_results, form=name), lambda rows: list(sparql.read_results(rows))
        )
        for name in ("srt", "srp", "jellys")
    },
    **{
        f"write_results {name}": _on(lambda given: given, partial(_results, form=name))
        for name in ("srt", "srp", "jellys")
    },
    "read_solutions": _on(
        partial(_results, form="srt"), lambda rows: list(oxigraph.read_solutions(rows))
    ),
    "Result.parse srt": _on(
        partial(_results, form="srt"),
        lambda rows: rdflib.query.Result.parse(io.BytesIO(rows), format="srt"),
    ),
}

#: Dimensions, with the entries that use them.
GROUPS: Final[dict[str, tuple[Mapping[str, Make], Mapping[str, Entry]]]] = {
    "statements": (DIMENSIONS, ENTRIES),
    "patches": (LOGS, LOG_ENTRIES),
    "messages": (MESSAGES, MESSAGE_ENTRIES),
    "results": (RESULTS, RESULT_ENTRIES),
}
