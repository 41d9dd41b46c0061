"""``dump`` and ``write_quads``: stores, graphs and quads as Jelly, all of it or an error."""

from __future__ import annotations

import gzip
import io
import signal
from io import BytesIO
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import (
    Frame,
    Iri,
    JellyError,
    LogicalType,
    OptionsError,
    PhysicalType,
    StatementError,
    StreamOptions,
    TermError,
    read,
    read_frames,
)
from jelly_plugins.codec import native
from jelly_plugins.io.streams import FrameReader
from jelly_plugins.oxigraph import dump, encode_quads, load, read_quads, write_quads

from .. import programs
from .support import G, contents, jelly, numbered

N = ox.NamedNode
GRAPHS = StreamOptions(physical_type=PhysicalType.GRAPHS, logical_type=LogicalType.FLAT_QUADS)
NAMES = [ox.DefaultGraph(), N("urn:g"), ox.BlankNode("g")]


def dumped(store: ox.Store, **settings: Any) -> tuple[StreamOptions, list[Frame], bytes]:
    """Options, frames and bytes of a dump."""
    file = io.BytesIO()
    count = dump(store, file, **settings)
    with FrameReader(file.getvalue()) as reader:
        options = reader.options
        frames = list(reader)
    assert count == sum(len(frame.statements) for frame in frames)
    return options, frames, file.getvalue()


@pytest.fixture
def filled(store: ox.Store) -> ox.Store:
    """A store with three statements in each of three graphs."""
    store.extend(
        ox.Quad(N(f"urn:{i}"), N("urn:p"), ox.Literal("x", language="en"), name)
        for i in range(3)
        for name in NAMES
    )
    return store


def test_a_store_is_flat_quads(filled: ox.Store) -> None:
    options, _, data = dumped(filled)
    assert (options.physical_type, options.logical_type) == (
        PhysicalType.QUADS,
        LogicalType.FLAT_QUADS,
    )
    assert (options.rdf_star, options.generalized_statements, options.version) == (False, False, 1)
    assert contents(read_quads(data)) == contents(iter(filled))


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_is_flat_triples(filled: ox.Store, name: Any) -> None:
    options, _, data = dumped(filled, graph=name)
    assert (options.physical_type, options.logical_type) == (
        PhysicalType.TRIPLES,
        LogicalType.FLAT_TRIPLES,
    )
    found = set(read_quads(data, graph=name))
    assert found == set(filled.quads_for_pattern(None, None, None, name))
    assert len(found) == 3


@pytest.mark.parametrize("graph", [None, N("urn:absent")])
@pytest.mark.parametrize("options", [None, GRAPHS])
def test_nothing_is_an_empty_stream(
    store: ox.Store, graph: Any, options: StreamOptions | None
) -> None:
    if graph is not None:
        store.add(ox.Quad(graph, graph, graph))
    found, frames, _ = dumped(store, graph=graph, options=options)
    assert [frame.statements for frame in frames] == [[]]
    is_triples = graph is not None and options is None
    assert (found.physical_type is PhysicalType.TRIPLES) is is_triples


def test_one_graph_by_options(filled: ox.Store) -> None:
    for options in (GRAPHS, StreamOptions(physical_type=PhysicalType.QUADS)):
        _, frames, _ = dumped(filled, graph=N("urn:g"), options=options)
        assert {statement.graph for frame in frames for statement in frame.statements} == {G}


@pytest.mark.parametrize("frame_rows", [1, 7, 256])
def test_many_empty_graphs_are_many_frames(store: ox.Store, frame_rows: int) -> None:
    for i in range(600):
        store.add_graph(N(f"urn:{i}"))
    _, frames, _ = dumped(store, options=GRAPHS, frame_rows=frame_rows)
    assert sum(len(frame.graphs) for frame in frames) == 600
    # The rows of one graph stay together: its end, entries, and its start.
    assert max(frame.rows for frame in frames) <= frame_rows + 5


def test_frames_end_where_they_are_told_to(store: ox.Store) -> None:
    load(store, jelly(*numbered(500)))
    _, frames, _ = dumped(store, frame_rows=20)
    assert max(frame.rows for frame in frames) <= 23
    _, frames, _ = dumped(store, frame_rows=10**6, frame_bytes=1000)
    assert len(frames) > 5
    assert max(frame.size for frame in frames) < 1100


def test_namespaces(filled: ox.Store) -> None:
    options, frames, _ = dumped(filled, namespaces={"ex": "http://example.org/", "": "urn:"})
    assert options.version == 2
    assert frames[0].namespaces == [("ex", Iri("http://example.org/")), ("", Iri("urn:"))]
    with pytest.raises(TermError, match="the namespace 'ex#'"):
        dump(filled, io.BytesIO(), namespaces={"ex": "ex#"})


@pytest.mark.parametrize("name", NAMES)
def test_rdf_star_is_declared_where_it_is_used(filled: ox.Store, name: Any) -> None:
    assert not dumped(filled)[0].rdf_star
    triple = ox.Triple(N("urn:s"), N("urn:p"), N("urn:o"))
    filled.add(ox.Quad(N("urn:s"), N("urn:p"), triple, name))
    options, _, data = dumped(filled)
    assert options.rdf_star
    assert contents(read_quads(data)) == contents(iter(filled))
    assert dumped(filled, options=GRAPHS)[0].rdf_star
    for other in NAMES:
        assert dumped(filled, graph=other)[0].rdf_star is (other == name)


def test_options_are_used(filled: ox.Store) -> None:
    wanted = StreamOptions(
        physical_type=PhysicalType.QUADS,
        stream_name="all of it",
        rdf_star=True,
        max_name_table_size=8,
        max_prefix_table_size=0,
        max_datatype_table_size=0,
        version=1,
    )
    assert dumped(filled, options=wanted)[0] == wanted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (StreamOptions(), "name the graph"),
        (
            StreamOptions(physical_type=PhysicalType.QUADS, logical_type=LogicalType.NAMED_GRAPHS),
            "NAMED_GRAPHS",
        ),
    ],
)
def test_options_that_do_not_match(store: ox.Store, options: Any, message: str) -> None:
    with pytest.raises(OptionsError, match=message):
        dump(store, io.BytesIO(), options=options)


@pytest.mark.parametrize(
    ("logical_type", "physical_type", "graph"),
    [
        (LogicalType.GRAPHS, PhysicalType.TRIPLES, N("urn:g")),
        (LogicalType.DATASETS, PhysicalType.QUADS, None),
        (LogicalType.DATASETS, PhysicalType.GRAPHS, None),
    ],
)
def test_one_element_is_one_frame(
    store: ox.Store, logical_type: LogicalType, physical_type: PhysicalType, graph: Any
) -> None:
    load(store, jelly(*numbered(500)), graph=N("urn:g"))
    options = StreamOptions(physical_type=physical_type, logical_type=logical_type)
    _, frames, _ = dumped(store, options=options, graph=graph)
    assert len(frames) == 1


def test_paths_are_compressed_and_replaced_as_a_whole(filled: ox.Store, tmp_path: Path) -> None:
    path = tmp_path / "x.jelly.gz"
    assert dump(filled, path) == 9
    before = path.read_bytes()
    assert before.startswith(b"\x1f\x8b")
    filled.add(
        ox.Quad(
            N("urn:s"),
            N("urn:p"),
            ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
        )
    )
    with pytest.raises(TermError, match="base direction"):
        dump(filled, path)
    assert path.read_bytes() == before
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("format_", ["jelly", "nt", "ttl", "rt"])
def test_a_label_with_a_colon(format_: str) -> None:
    """pyoxigraph's constructor accepts it."""
    store = ox.Store()
    store.add(ox.Quad(ox.BlankNode("a:b"), N("urn:p"), ox.Literal("x")))
    with pytest.raises(JellyError, match="no predicate can be read here"):
        dump(store, io.BytesIO(), format=format_)


# Dumps by way of the store's own text: all of it or an error

#: More text than is handed on at once.
MANY = 60_000


@pytest.fixture(scope="module")
def large() -> ox.Store:
    store = ox.Store()
    load(store, jelly(*numbered(MANY)))
    return store


class Failing(io.BytesIO):
    """Fails at some time."""

    def __init__(self, error: BaseException, after: int) -> None:
        super().__init__()
        self.error = error
        self.after = after

    def write(self, data: Any, /) -> int:
        self.after -= 1
        if self.after < 0:
            raise self.error
        return super().write(data)


@pytest.mark.parametrize("after", [0, 1, 40])
@pytest.mark.parametrize(
    "error", [OSError("full"), KeyboardInterrupt(), BrokenPipeError(), ValueError("x")], ids=repr
)
def test_whatever_the_output_raises(large: ox.Store, error: BaseException, after: int) -> None:
    with pytest.raises(type(error)) as caught:
        dump(large, Failing(error, after))
    assert caught.value is error
    assert dump(large, io.BytesIO()) == MANY


class Breaking:
    """Says some whole lines, and fails."""

    def __init__(self, store: ox.Store, error: BaseException) -> None:
        self.text = store.dump(format=ox.RdfFormat.N_QUADS) or b""
        self.error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(ox.Store(), name)

    def dump(self, output: Any, *_: Any, **__: Any) -> None:
        output.write(self.text)
        raise self.error


@pytest.mark.parametrize("count", [0, 3, MANY])
@pytest.mark.parametrize(
    "error",
    [
        OSError("Input/output error (os error 5)"),
        OSError("IO error: While pread: Invalid argument"),
        RuntimeError("Invalid argument (os error 22)"),
        SystemExit(),
    ],
    ids=repr,
)
def test_a_dump_that_breaks_off_is_none(
    count: int, error: BaseException, large: ox.Store, tmp_path: Path
) -> None:
    store = large if count == MANY else ox.Store()
    if count == 3:
        load(store, jelly(*numbered(count)))
    broken: Any = Breaking(store, error)
    if native:
        with pytest.raises(type(error)):
            dump(broken, tmp_path / "x.jelly")
        assert list(tmp_path.iterdir()) == []


#: Loads a store and dumps it; both wait in the middle, and never continue.
INTERRUPTED = """
import signal, sys, threading
from jelly_plugins.oxigraph import dump, load
from pyoxigraph import Store
from tests.oxigraph.support import jelly, numbered

class Waiting:
    chunks = [jelly(*numbered(20_000))]
    def read(self, size):
        return self.chunks.pop() if self.chunks else self.write(b"")
    def write(self, data):
        print("waiting", flush=True)
        threading.Event().wait()

signal.signal(signal.SIGINT, signal.default_int_handler)
store = Store(*sys.argv[2:])
if sys.argv[1] == "dump":
    load(store, Waiting.chunks[0])
try:
    dump(store, Waiting()) if sys.argv[1] == "dump" else load(store, Waiting())
except KeyboardInterrupt:
    print(len(store), threading.active_count(), flush=True)
"""


@pytest.mark.parametrize(("name", "quads"), [("dump", 20_000), ("load", 0)])
@pytest.mark.parametrize("on_disk", [False, True])
def test_an_interrupt_ends_it(name: str, quads: int, on_disk: bool, tmp_path: Path) -> None:
    folder = [tmp_path / "store"] if on_disk else []
    with programs.start(INTERRUPTED, name, *folder) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"waiting\n"
        process.send_signal(signal.SIGINT)
        try:
            assert process.communicate(timeout=60)[0] == b"%d 1\n" % quads
            assert process.returncode == 0
        finally:
            process.kill()


# Quads and triples from anywhere


S, P = N("urn:s"), N("urn:p")
TRIPLE = ox.Triple(S, P, ox.Literal("x", language="en"))
QUADS = [
    ox.Quad(S, P, ox.BlankNode("b"), N("urn:g")),
    ox.Quad(
        ox.BlankNode("b"), P, ox.Literal("1", datatype=ox.NamedNode("urn:d")), ox.BlankNode("g")
    ),
    ox.Quad(S, P, ox.Literal('"\\\n\u00e9')),
]


def written(quads: Any, **settings: Any) -> bytes:
    file = BytesIO()
    quads = list(quads)
    assert write_quads(quads, file, **settings) == len(quads)
    assert b"".join(encode_quads(quads, **settings)) == file.getvalue()
    return file.getvalue()


def test_quads() -> None:
    assert list(read_quads(written(QUADS))) == QUADS
    assert list(read_quads(written(iter(QUADS), frame_rows=1))) == QUADS
    assert list(read_quads(written([]))) == []


def test_triples() -> None:
    data = written([TRIPLE])
    assert list(read_quads(data)) == [ox.Quad(*TRIPLE)]
    with read_frames(data) as frames:
        assert frames.options.physical_type is PhysicalType.TRIPLES


def test_a_query(tmp_path: Path) -> None:
    store = ox.Store()
    store.extend(QUADS)
    path = tmp_path / "x.jelly.gz"
    found = store.query(
        "CONSTRUCT { ?o <urn:of> ?s } WHERE { GRAPH ?g { ?s ?p ?o } FILTER isBlank(?o) }"
    )
    assert write_quads(found, path) == 1
    assert gzip.decompress(path.read_bytes())
    assert load(ox.Store(), path) == 1


def test_a_store_as_dump_writes_it() -> None:
    store = ox.Store()
    store.extend(ox.Quad(S, P, ox.Literal(number)) for number in range(3000))
    file = BytesIO()
    dump(store, file)
    assert list(read(written(store))) == list(read(file.getvalue()))


def test_both_widths() -> None:
    default = ox.Quad(*TRIPLE)
    quads = StreamOptions.flat(PhysicalType.QUADS)
    triples = StreamOptions.flat(PhysicalType.TRIPLES)
    assert list(read_quads(written([TRIPLE, *QUADS], options=quads))) == [default, *QUADS]
    assert list(read_quads(written([default, TRIPLE], options=triples))) == [default, default]
    for statements in ([TRIPLE, *QUADS], QUADS):
        with pytest.raises(StatementError, match="no place for a named graph"):
            write_quads(statements, BytesIO(), options=triples)


def test_namespaces_of_quads() -> None:
    with read_frames(written(QUADS, namespaces={"ex": "urn:"})) as frames:
        assert [(name, iri.value) for frame in frames for name, iri in frame.namespaces] == [
            ("ex", "urn:")
        ]


def test_what_jelly_cannot_express(tmp_path: Path) -> None:
    path = tmp_path / "x.jelly"
    directed = ox.Literal("x", language="en", direction=ox.BaseDirection.LTR)
    with pytest.raises(TermError, match="base direction"):
        write_quads([TRIPLE, ox.Triple(S, P, directed)], path)
    quoted = ox.Triple(S, P, TRIPLE)
    with pytest.raises(StatementError, match="rdf_star"):
        write_quads([TRIPLE, quoted], path)
    assert not path.exists()
    options = StreamOptions.flat(PhysicalType.TRIPLES, rdf_star=True)
    assert list(read_quads(written([quoted], options=options))) == [ox.Quad(*quoted)]


@pytest.mark.parametrize("wrong", ["x.nt", [1], [("urn:s", "urn:p", "urn:o")]])
def test_what_is_no_quads(wrong: Any) -> None:
    with pytest.raises(TypeError, match="is not an instance of"):
        write_quads(wrong, BytesIO())


def test_a_grouped_stream() -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS, logical_type=4)
    assert list(read_quads(written(QUADS, options=options))) == QUADS
