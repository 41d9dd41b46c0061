"""Doubling a dimension of the data at most doubles instructions and memory.

The tests count Python's instructions and allocations, which do not depend on the machine; of C code
only the memory. A dimension makes data of size ``n`` for some entries; an entry prepares its input
and returns the function to measure.
"""

from __future__ import annotations

import gc
import io
import sys
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any, Final

import pyarrow
import pyoxigraph
import pytest
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
    oxigraph,
    read,
)
from jelly_plugins import rdflib as jelly_rdflib
from jelly_plugins.codec.patch.operations import BEGIN, COMMIT, END
from jelly_plugins.io.streams import write_bytes
from jelly_plugins.messages import convert_messages, read_messages, write_messages
from jelly_plugins.patch import (
    add,
    add_namespace,
    compact,
    delete,
    group,
    header,
    read_patches,
    write_patches,
    write_rows,
)
from jelly_plugins.sparql import write_results

from ..conversions import written

#: rdflib warns inside its own serializers.
pytestmark = pytest.mark.filterwarnings("ignore:Dataset:DeprecationWarning")

#: First size, by default and by dimension: smaller ones are a single batch, or larger ones exceed
#: a limit.
_FIRST: Final = 32
_FIRSTS: Final = {
    "depth of quoted triples": 2,
    "kB of an IRI": 16,
    "kB of language tag": 4,
    "empty messages": 128,
}
#: Instructions and bytes that a doubling may always add, for a constant amount of work.
_INSTRUCTIONS: Final = 4_000
_BYTES: Final = 1 << 18
#: Maximum growth at the second doubling as a multiple of that at the first: 2 if linear, 4 if
#: quadratic.
_MOST: Final = 3.0

#: Lines that are worse than linear, and why they cannot be better. By how much depends on rdflib's
#: version.
_BIND: Final = "rdflib's bind looks at all namespaces (insert_trie)"
_STEEP: Final = {
    ("namespaces", "Dataset().parse"): _BIND,
    ("namespaces of patches", "rdflib.replay Dataset"): _BIND,
}

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
    """Statements, and options for writing them."""

    statements: list[Any]
    namespaces: Mapping[str, str] = field(default_factory=dict)
    frame_rows: int = 256
    columns: int = 0

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
    "columns": lambda n: Data([Triple(S, P, S)], columns=n),
}


def _jelly(data: Data) -> bytes:
    return data.jelly


def _table(data: Data) -> Callable[[], object]:
    table = arrow.read(data.jelly).read_all()
    for number in range(data.columns):
        table = table.append_column(f"c{number}", pyarrow.nulls(table.num_rows))
    return lambda: arrow.write(table, io.BytesIO(), options=data.options)


def _parsed(jelly: bytes) -> Any:
    return rdflib.Dataset().parse(data=jelly, format="jelly-plugins")


ENTRIES: Final[dict[str, Entry]] = {
    "read": _on(_jelly, lambda jelly: list(read(jelly))),
    "arrow.write": _table,
    "Dataset().parse": _on(_jelly, _parsed),
    "Dataset().serialize rt": _on(
        lambda data: _parsed(data.jelly),
        lambda graph: graph.serialize(format="rdf-thrift", encoding="utf-8"),
    ),
    "oxigraph.load terms": _on(
        _jelly, lambda jelly: oxigraph.load(pyoxigraph.Store(), jelly, quoted_triples="reify")
    ),
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


def _of_log(run: Callable[[bytes], object]) -> Entry:
    return _on(lambda rows: written(write_rows, rows, format="jellyp"), run)


LOG_ENTRIES: Final[dict[str, Entry]] = {
    "write_patches": _on(list, lambda rows: write_patches(group(rows), io.BytesIO())),
    "compact": _of_log(lambda log: compact(read_patches(log))),
    "oxigraph.replay": _of_log(lambda log: oxigraph.replay(pyoxigraph.Store(), log)),
    "rdflib.replay Dataset": _of_log(lambda log: jelly_rdflib.replay(rdflib.Dataset(), log)),
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


def _log_in(form: str) -> Callable[[Any], bytes]:
    return lambda messages: written(write_messages, messages, format=form)


MESSAGE_ENTRIES: Final[dict[str, Entry]] = {
    **{
        f"read_messages {name}": _on(
            _log_in(name), lambda log, name=name: list(read_messages(log, format=name))
        )
        for name in ("trig", "yamlld")
    },
    "write_messages ndjsonld": _on(list, _log_in("ndjsonld")),
    "convert_messages": _on(
        _log_in("nt"),
        lambda log: convert_messages(log, io.BytesIO(), source_format="nt", target_format="jelly"),
    ),
}


# Results

RESULTS: Final[dict[str, Make]] = {
    "solutions": lambda n: (["v"], [(Literal(str(k)),) for k in range(n)]),
    "variables": lambda n: ([f"v{k}" for k in range(n)], [tuple([S] * n)]),
    "kB of a value": lambda n: (["v"], [(Literal("o" * 1024 * n),)]),
}


def _results(given: Any) -> bytes:
    return written(write_results, *given, format="srt")


RESULT_ENTRIES: Final[dict[str, Entry]] = {
    "read_solutions": _on(_results, lambda rows: list(oxigraph.read_solutions(rows))),
    "write_results": _on(tuple, _results),
}

#: Dimensions, with the entries that use them.
GROUPS: Final[dict[str, tuple[Mapping[str, Make], Mapping[str, Entry]]]] = {
    "statements": (DIMENSIONS, ENTRIES),
    "patches": (LOGS, LOG_ENTRIES),
    "messages": (MESSAGES, MESSAGE_ENTRIES),
    "results": (RESULTS, RESULT_ENTRIES),
}


def lines() -> Iterator[Any]:
    for name, (dimensions, entries) in GROUPS.items():
        for dimension in dimensions:
            for entry in entries:
                reason = _STEEP.get((dimension, entry))
                marks = [pytest.mark.xfail(reason=reason)] if reason else []
                yield pytest.param(name, dimension, entry, id=f"{dimension}-{entry}", marks=marks)


def prepared(group: str, dimension: str, entry: str, size: int) -> Callable[[], object]:
    """The function to measure; the test is skipped if the format cannot express the data."""
    dimensions, entries = GROUPS[group]
    try:
        run = entries[entry](dimensions[dimension](size))
        run()
    except ValueError as error:
        pytest.skip(f"cannot be expressed: {error}")
    return run


@pytest.fixture(autouse=True, scope="module")
def _frozen() -> Iterator[None]:
    """Exclude existing objects from garbage collections, which would otherwise take most of the
    time.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def executed(run: Callable[[], object]) -> int:
    """Count the instructions of Python that a call executes."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def allocated(run: Callable[[], object]) -> int:
    """Return the peak of Python's allocations during a call, including its result."""
    gc.collect()
    tracemalloc.start()
    try:
        kept = run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        del kept
        tracemalloc.stop()


@pytest.mark.parametrize(("group", "dimension", "entry"), list(lines()))
def test_instructions_and_memory(group: str, dimension: str, entry: str) -> None:
    first = _FIRSTS.get(dimension, _FIRST)
    runs = [prepared(group, dimension, entry, size) for size in (first, 2 * first, 4 * first)]
    for what, count, least in (
        ("instructions", executed, _INSTRUCTIONS),
        ("bytes", allocated, _BYTES),
    ):
        # The first call includes one-time initialisation.
        count(runs[0])
        counts = [count(run) for run in runs]
        added = counts[1] - counts[0], counts[2] - counts[1]
        assert added[1] <= max(_MOST * added[0], least), (what, counts)
