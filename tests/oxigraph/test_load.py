"""``load`` and ``read_quads``: what gets into a store, and what is reported on the way."""

from __future__ import annotations

import gzip
import io
import signal
import subprocess
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from pyoxigraph import NamedNode, Store

from jelly_plugins import (
    DEFAULT_GRAPH,
    BlankNode,
    ConversionSettings,
    Iri,
    JellyError,
    LimitError,
    Literal,
    PhysicalType,
    Quad,
    SourceError,
    StreamOptions,
    TermError,
    Triple,
    convert,
)
from jelly_plugins.codec import Encoder, delimit
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.io.streams import encode, write_bytes, write_delimited
from jelly_plugins.oxigraph import dump, load, loading, positions, read_quads, record, replay
from jelly_plugins.oxigraph.loading import BATCH, SMALL
from jelly_plugins.oxigraph.terms import describe
from tests.shared_data import shared

from .. import programs
from .support import GENERALIZED, G, O, P, S, contents, jelly, numbered

GRAPH = ox.NamedNode("urn:target")


@pytest.mark.parametrize(
    "read", [lambda src: load(Store(), src), lambda src: len([*read_quads(src)])]
)
def test_sources_of_every_kind(read: Callable[[Any], int], tmp_path: Path) -> None:
    data = jelly(Triple(S, P, O))
    path = tmp_path / "x.jelly.gz"
    path.write_bytes(gzip.compress(data))
    for src in (data, io.BytesIO(data), path, str(path)):
        assert read(src) == 1
    with pytest.raises(SourceError):
        read(tmp_path / "absent.jelly")


def test_labels_are_kept_by_default() -> None:
    data = jelly(Triple(BlankNode("x"), P, BlankNode("a b")))
    (quad,) = read_quads(data)
    assert quad.subject == ox.BlankNode("x")
    assert list(read_quads(data)) == [quad]
    (fresh,) = read_quads(data, blank_nodes="fresh")
    assert fresh.subject not in (quad.subject, fresh.object)
    assert list(read_quads(data, blank_nodes="fresh")) != [fresh]


def test_reading_quads_is_lazy() -> None:
    data = write_bytes(numbered(2000), frame_rows=20, options=StreamOptions())
    source = io.BytesIO(data[:-1])
    quads = read_quads(source)
    assert next(quads).subject == ox.NamedNode("urn:s/0")
    with pytest.raises(JellyError, match="ends inside a frame"):
        list(quads)


@pytest.mark.parametrize("physical_type", PhysicalType)
@pytest.mark.parametrize("number", [1, SMALL + 1])
def test_statements_of_the_default_graph_go_into_a_graph(
    store: ox.Store, physical_type: PhysicalType, number: int
) -> None:
    statements: list[Any] = [*numbered(number - 1), Triple(S, P, Literal("a . \n b"))]
    if physical_type is not PhysicalType.TRIPLES:
        statements = [Quad(*each, DEFAULT_GRAPH) for each in statements]
    data = jelly(*statements, physical_type=physical_type)
    ways: list[dict[str, Any]] = [{"blank_nodes": "keep"}, {"quoted_triples": "reify"}]
    ways += [{"atomic": False}, {"blank_nodes": "canonicalize"}, {}]
    for graph in (GRAPH, ox.BlankNode("g"), ox.DefaultGraph()):
        for settings in ways if number == 1 else ways[:1]:
            assert load(store, data, graph=graph, **settings) == number
        assert set(store) == set(read_quads(data, graph=graph))
        assert {quad.graph_name for quad in store} == {graph}
        assert len(store) == number
        store.clear()


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("number", [0, 1, SMALL - 1, SMALL, SMALL + 1])
def test_any_number_of_statements(store: ox.Store, number: int, atomic: bool) -> None:
    store.add(ox.Quad(GRAPH, GRAPH, GRAPH))
    assert load(store, jelly(*numbered(number)), atomic=atomic) == number
    assert len(store) == number + 1


def test_fresh_nodes_are_the_same_in_the_whole_source(store: ox.Store) -> None:
    # More labels than the decoder remembers, then the first one again.
    number = 70_000
    statements = [Triple(BlankNode(str(i)), P, O) for i in [*range(number), 0]]
    load(store, jelly(*statements))
    assert len(store) == number


def test_namespaces_are_told(store: ox.Store) -> None:
    reported: list[tuple[str, str]] = []
    data = write_bytes(numbered(2), namespaces={"ex": "http://example.org/", "": "urn:"})
    load(store, data, on_namespace=lambda *found: reported.append(found))
    assert reported == [("ex", "http://example.org/"), ("", "urn:")]


@pytest.mark.parametrize("atomic", [True, False])
@pytest.mark.parametrize("number", [0, 5, 25_000, BATCH + 10_000])
def test_progress(store: ox.Store, number: int, atomic: bool) -> None:
    """It ends at all statements, and may read the store, which has whole batches."""
    reported: list[int] = []
    sizes: set[int] = set()

    def progress(count: int) -> None:
        reported.append(count)
        sizes.add(len(store))

    load(store, jelly(*numbered(number)), atomic=atomic, progress=progress)
    assert len(reported) == max(1, -(-number // 10_000))
    assert sum(reported) == number
    assert sizes == ({0, BATCH} if number > BATCH and not atomic else {0})


@pytest.fixture
def long_statements(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Turtle of 20 KB, whose 750 statements take 9 MB, and limits that are lower as well."""
    monkeypatch.setattr(loading, "_HELD_BYTES", 1 << 20)
    monkeypatch.setattr(loading, "_BATCH_BYTES", 1 << 20)
    lines = "".join(f"p:a p:b p:c{n} .\n" for n in range(750))
    return f"@prefix p: <http://e/{'a' * 4000}> .\n{lines}".encode()


@pytest.mark.parametrize("quoted_triples", ["reject", "reify"])
@pytest.mark.parametrize("blank_nodes", ["fresh", "keep", "canonicalize"])
def test_long_statements_are_not_held(
    tmp_path: Path, long_statements: bytes, blank_nodes: Any, quoted_triples: Any
) -> None:
    store = ox.Store(str(tmp_path))
    how: dict[str, Any] = {"blank_nodes": blank_nodes, "quoted_triples": quoted_triples}
    with pytest.raises(LimitError, match=r"that a load may hold in memory.*atomic=False"):
        load(store, long_statements, format="turtle", **how)
    assert len(store) == 0
    if blank_nodes != "canonicalize":
        assert load(store, long_statements, format="turtle", atomic=False, **how) == 750
        assert len(store) == 750


def test_long_statements_go_in_by_smaller_batches(
    tmp_path: Path, long_statements: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    add = loading._add_at_once

    def count(store: ox.Store, quads: Any, **kwargs: Any) -> None:
        batch = list(quads)
        batches.append(len(batch))
        add(store, iter(batch), **kwargs)

    monkeypatch.setattr(loading, "_add_at_once", count)
    load(ox.Store(str(tmp_path)), long_statements, format="turtle", atomic=False)
    assert sum(batches) == 750
    assert max(batches) < 250


LOADS_FROM_TWO_THREADS = """
import threading
from pyoxigraph import Store
from jelly_plugins.oxigraph import load
from tests.oxigraph.support import jelly, numbered

store = Store()
started = threading.Barrier(2)

def run(label):
    data = jelly(*numbered(12_000, label=label))
    started.wait()
    load(store, data, progress=lambda *_: None)

threads = [threading.Thread(target=run, args=(label,)) for label in "ab"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(store))
"""


def test_two_threads_may_load_into_one_store_in_memory() -> None:
    # In a process of its own: what this guards against stops the whole interpreter.
    done = programs.run(LOADS_FROM_TWO_THREADS)
    assert (done.stdout.strip(), done.returncode) == ("24000", 0), done.stderr


@pytest.mark.parametrize("width", [2, 60])
def test_canonical_labels_of_empty_graphs(width: int) -> None:
    """A graph without statements keeps its identity with the node that statements have."""
    options = StreamOptions.flat(PhysicalType.GRAPHS)
    encoder = Encoder(options, frame_rows=width)
    for name in ("x", "y"):
        encoder.start_graph(BlankNode(name))
    node = Quad(BlankNode("x"), Iri("urn:p"), Literal("o"), DEFAULT_GRAPH)
    stream = b"".join(map(delimit, [*encoder.add([node]), *encoder.finish()]))
    store = ox.Store()
    foreign = ox.Quad(ox.BlankNode("x"), ox.NamedNode("urn:p"), ox.Literal("foreign"))
    store.add(foreign)
    assert load(store, stream, blank_nodes="canonicalize") == 1
    [added] = [quad for quad in store if quad != foreign]
    named, other = sorted(store.named_graphs(), key=lambda name: name != added.subject)
    assert named == added.subject != foreign.subject
    assert other not in (ox.BlankNode("x"), ox.BlankNode("y"), named)


# All or nothing: after errors anywhere in the source, and after the end of the process

OLD = ox.Quad(ox.NamedNode("urn:old"), ox.NamedNode("urn:old"), ox.Literal("old"))

#: Small enough for one transaction, and large enough for a bulk load.
SIZES = [50, SMALL + 500]

VARIED = [
    Quad(S, P, O, G),
    Quad(BlankNode("b"), P, Literal("x", langtag="en"), G),
    Quad(S, P, Triple(S, P, Literal("1", datatype="urn:d")), Iri("urn:h")),
    Quad(S, Iri("http://example.org/p#q"), Literal("z" * 200), G),
]


@pytest.fixture
def filled(store: ox.Store) -> ox.Store:
    """A store with something in it."""
    store.add(OLD)
    return store


def test_truncation_at_any_byte(filled: ox.Store) -> None:
    options = StreamOptions(physical_type=PhysicalType.QUADS, rdf_star=True)
    frames = list(map(delimit, encode(VARIED, options=options, frame_rows=4)))
    data = b"".join(frames)
    ends = set(accumulate(map(len, frames)))
    assert len(ends) > 2
    before = contents(filled)
    # Where a frame ends a stream may end too; no bytes at all are an empty one.
    for size in set(range(1, len(data))) - ends:
        with pytest.raises(JellyError) as caught:
            load(filled, data[:size])
        assert caught.value.source == "<bytes>"
        assert contents(filled) == before
    load(filled, data)
    assert len(filled) == len(before) + len(VARIED)


@pytest.mark.parametrize("count", SIZES)
def test_a_bad_row_in_the_last_frame(filled: ox.Store, count: int) -> None:
    data = jelly(*numbered(count), Triple(Iri("no iri"), P, O))
    with pytest.raises(TermError) as caught:
        load(filled, data)
    assert (caught.value.frame or 0) >= count // 256
    assert caught.value.row is not None
    assert contents(filled) == {str(OLD)}


def test_no_graph_is_added_by_a_load_that_fails(filled: ox.Store) -> None:
    encoder = Encoder(StreamOptions(physical_type=PhysicalType.GRAPHS))
    encoder.start_graph(G)
    data = b"".join(map(delimit, encoder.finish()))
    with pytest.raises(JellyError):
        load(filled, data + b"\x05\x0a")
    assert list(filled.named_graphs()) == []


def test_whole_batches_stay_when_it_is_not_atomic(filled: ox.Store) -> None:
    data = write_bytes([*numbered(BATCH + 100), Triple(Iri("no iri"), P, O)])
    with pytest.raises(TermError):
        load(filled, data, atomic=False)
    assert len(filled) == BATCH + 1


#: Loads a file into the store of a folder; says when it has read all but the last bytes, then waits
#: for the given seconds, and continues.
LOADS = """
import sys, time
from pyoxigraph import Store
from jelly_plugins.oxigraph import load

folder, path, wait = sys.argv[1:]

class Source:
    def __init__(self):
        data = open(path, "rb").read()
        self.chunks = [data[:-10], data[-10:]]
    def read(self, size):
        if len(self.chunks) == 1:
            print("read", flush=True)
            time.sleep(float(wait))
        return self.chunks.pop(0) if self.chunks else b""

load(Store(folder), Source())
print("loaded", flush=True)
"""


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("after", ["nothing", "a bit", "a bit more"])
def test_all_or_nothing_after_a_kill(tmp_path: Path, count: int, after: str) -> None:
    folder = tmp_path / "store"
    store = ox.Store(folder)
    store.add(OLD)
    store.flush()
    del store
    path = tmp_path / "x.jelly"
    path.write_bytes(jelly(*numbered(count)))
    # Killed while the source is being read, or soon after, while the store is writing.
    wait = "60" if after == "nothing" else "0"
    with programs.start(LOADS, folder, path, wait) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"read\n"
        if after != "nothing":
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.002 if after == "a bit" else 0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    size = len(ox.Store(folder))
    assert size == 1 if after == "nothing" else size in (1, count + 1)


@pytest.mark.parametrize("count", [3, SMALL + 500])
def test_the_last_call_of_progress_comes_before_the_store_has_anything(
    filled: ox.Store, count: int
) -> None:
    def stop(_: int) -> None:
        raise RuntimeError("stop")

    for blank_nodes in ("fresh", "keep", "canonicalize"):
        with pytest.raises(RuntimeError, match="stop"):
            load(filled, jelly(*numbered(count)), progress=stop, blank_nodes=blank_nodes)
        assert contents(filled) == {str(OLD)}


# What is given in place of a store, a graph or an id

LOG = b"H id <urn:1> . TX . A <urn:s> <urn:p> <urn:o> . TC ."
STORE = r"Store is needed, not '.*'; Store\(path\) opens"
NAME = r"graph must be a NamedNode, BlankNode or DefaultGraph \(got "


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda path: load("data.store", path), STORE),  # type: ignore[arg-type]
        (lambda path: dump("data.store", path), STORE),  # type: ignore[arg-type]
        (lambda path: record("data.store", path), STORE),  # type: ignore[arg-type]
        (lambda _: replay("log.jellyp", LOG), STORE),  # type: ignore[arg-type]
        (lambda _: positions("data.store"), STORE),  # type: ignore[arg-type]
        (lambda path: dump(Store(), path, graph="urn:g"), NAME),  # type: ignore[arg-type]
        (lambda _: load(Store(), jelly(Triple(S, P, O)), graph="urn:g"), NAME),  # type: ignore[arg-type]
        (lambda _: list(read_quads(b"", graph=ox.Literal("g"))), NAME),  # type: ignore[arg-type]
        (lambda _: replay(Store(), LOG, graph=None), NAME),  # type: ignore[arg-type]
        (lambda _: replay(Store(), LOG, until=NamedNode("urn:1")), "until must be the id"),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_the_wrong_type(call: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=message):
        call(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["blank_nodes", "quoted_triples"])
@pytest.mark.parametrize(
    "call", [lambda **given: load(Store(), **given), lambda **given: list(read_quads(**given))]
)
def test_other_values_of_a_choice(call: Any, name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be .* \(got 'other'\)"):
        call(src=jelly(Triple(S, P, O)), **{name: "other"})


# Quoted triples: kept as objects, rejected elsewhere, or reified

QUOTED = Triple(S, P, O)
TERM = "<<( <urn:s> <urn:p> <urn:o> )>>"
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"


def reified(*statements: Triple | Quad) -> set[str]:
    """What statements are read as, the one reifier called ``_:r``."""
    quads = list(read_quads(jelly(*statements), quoted_triples="reify"))
    reifiers = {quad.subject for quad in quads if str(quad.predicate) == REIFIES}
    assert len(reifiers) == 1
    (reifier,) = reifiers
    return {str(quad).replace(str(reifier), "_:r") for quad in quads}


@pytest.mark.parametrize("quoted_triples", ["reject", "reify"])
def test_objects_are_triple_terms(store: ox.Store, quoted_triples: str) -> None:
    data = jelly(Triple(S, P, QUOTED), Triple(S, P, Triple(S, P, QUOTED)))
    assert load(store, data, quoted_triples=quoted_triples) == 2  # type: ignore[arg-type]
    assert contents(store) == {
        f"<urn:s> <urn:p> {TERM}",
        f"<urn:s> <urn:p> <<( <urn:s> <urn:p> {TERM} )>>",
    }


@pytest.mark.parametrize("in_bytes", [True, False])
def test_a_rejected_term_is_named(store: ox.Store, in_bytes: bool) -> None:
    statements = [Triple(S, P, Literal(str(number))) for number in range(5000)]
    statements[1000] = Triple(S, P, Iri("http://[bad"))
    data = jelly(*statements)
    source = data if in_bytes else io.BytesIO(data)
    with pytest.raises(TermError, match=r"rejects 'http://\[bad'") as caught:
        load(store, source, quoted_triples="reify")
    assert caught.value.source is not None
    assert contents(store) == set()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        (Triple(QUOTED, P, O), "as subject "),
        (Triple(S, P, Triple(QUOTED, P, O)), "as subject of a quoted triple "),
        (Quad(QUOTED, P, O, G), "as subject "),
    ],
)
def test_other_positions_are_rejected_with_a_way_out(
    store: ox.Store, statement: Triple | Quad, says: str
) -> None:
    store.add(ox.Quad(ox.NamedNode("urn:x"), ox.NamedNode("urn:x"), ox.Literal("x")))
    before = contents(store)
    with pytest.raises(TermError, match="a quoted triple " + says) as caught:
        load(store, jelly(statement))
    assert "quoted_triples='reify'" in str(caught.value)
    assert (caught.value.frame, caught.value.source) == (0, "<bytes>")
    assert caught.value.row is not None
    assert contents(store) == before


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ([Triple(QUOTED, P, Literal("x"))], {'_:r <urn:p> "x"', f"_:r {REIFIES} {TERM}"}),
        # A quoted triple has one reifier.
        (
            [Triple(QUOTED, P, Iri("urn:1")), Triple(S, P, O), Triple(QUOTED, P, S)],
            {
                "<urn:s> <urn:p> <urn:o>",
                "_:r <urn:p> <urn:1>",
                "_:r <urn:p> <urn:s>",
                f"_:r {REIFIES} {TERM}",
            },
        ),
        # It is stated in every graph that has it.
        (
            [Quad(QUOTED, P, O, graph) for graph in (G, DEFAULT_GRAPH, BlankNode("g"))],
            {
                f"_:r {rest}{graph}"
                for rest in ("<urn:p> <urn:o>", f"{REIFIES} {TERM}")
                for graph in (" <urn:g>", "", " _:g")
            },
        ),
        (
            [Triple(S, P, Triple(QUOTED, P, O))],
            {"<urn:s> <urn:p> <<( _:r <urn:p> <urn:o> )>>", f"_:r {REIFIES} {TERM}"},
        ),
    ],
)
def test_subjects_are_reified(statements: list[Any], expected: set[str]) -> None:
    assert reified(*statements) == expected


def test_subjects_inside_quoted_subjects_are_reified() -> None:
    quads = list(read_quads(jelly(Triple(Triple(QUOTED, P, QUOTED), P, O)), quoted_triples="reify"))
    inner, outer = (quad for quad in quads if str(quad.predicate) == REIFIES)
    assert f"<<( {inner.object} )>>" == TERM
    assert str(outer.object) == f"{inner.subject} <urn:p> {TERM}"
    (statement,) = (quad for quad in quads if quad.predicate == ox.NamedNode("urn:p"))
    assert statement.subject == outer.subject != inner.subject


def test_strings_are_not_quoted_triples() -> None:
    strings = [
        Literal('<<( <<( \\ " )>> <urn:x> .', langtag="en"),
        Literal("<<(\n<<( ", None, "urn:d"),
    ]
    statements = [Quad(S, P, Triple(S, P, text), G) for text in strings]
    data = jelly(*statements)
    expected = set(map(str, read_quads(data)))
    assert set(map(str, read_quads(data, quoted_triples="reify"))) == expected
    assert reified(*statements, Quad(Triple(S, P, strings[0]), P, strings[1], G)) >= expected


def test_different_quoted_triples_have_different_reifiers() -> None:
    others = [QUOTED, Triple(S, P, S), Triple(BlankNode("s"), P, O), Triple(S, P, Literal("urn:o"))]
    data = jelly(*(Triple(quoted, P, O) for quoted in others))
    quads = read_quads(data, quoted_triples="reify")
    assert len({quad.subject for quad in quads}) == len(others)


def test_generalized_quoted_triples_are_rejected_when_reifying() -> None:
    for statement in (
        Triple(S, QUOTED, O),
        Triple(Triple(S, QUOTED, O), P, O),
        Triple(Triple(Literal("x"), P, O), P, O),
        Triple(Literal("x"), P, O),
    ):
        with pytest.raises(TermError):
            list(read_quads(jelly(statement, **GENERALIZED), quoted_triples="reify"))


@pytest.mark.parametrize(("blank_nodes", "again"), [("keep", 2), ("fresh", 4)])
def test_loading_again(store: ox.Store, blank_nodes: str, again: int) -> None:
    data = jelly(Triple(QUOTED, P, O))
    for size in (2, again):
        count = load(
            store,
            data,
            quoted_triples="reify",
            blank_nodes=blank_nodes,  # type: ignore[arg-type]
        )
        assert (count, len(store)) == (1, size)


def test_reified_triples_go_into_the_graph_that_was_asked_for(store: ox.Store) -> None:
    graph = ox.NamedNode("urn:target")
    load(store, jelly(Triple(QUOTED, P, O)), quoted_triples="reify", graph=graph)
    assert {quad.graph_name for quad in store} == {graph}


@pytest.mark.parametrize("format_", ["jelly", "nt", "nq", "rt", "rpb"])
def test_quoted_subjects_of_all_formats_that_have_them_are_reified(format_: str) -> None:
    out = io.BytesIO()
    settings = ConversionSettings(notation=Notation.RDF_STAR)
    convert(
        jelly(Triple(QUOTED, P, O)),
        out,
        source_format="jelly",
        target_format=format_,
        settings=settings,
    )
    store = ox.Store()
    assert load(store, out.getvalue(), format=format_, quoted_triples="reify") == 1
    assert len(store) == 2
    [reifies] = store.quads_for_pattern(None, ox.NamedNode(REIFIES[1:-1]), None)
    assert len(list(store.quads_for_pattern(reifies.subject, None, None))) == 2


# Without pyoxigraph, and real files through stores and back


WITHOUT_PYOXIGRAPH = """
import sys
sys.modules["pyoxigraph"] = None
from jelly_plugins import MissingExtraError
from jelly_plugins.backends import get_backend
try:
    import jelly_plugins.oxigraph
except MissingExtraError as error:
    print(error)
try:
    import jelly_plugins.oxigraph.backend
except ImportError as error:
    print(error)
"""


def test_a_missing_pyoxigraph_is_reported() -> None:
    done = programs.run(WITHOUT_PYOXIGRAPH)
    line = "Oxigraph needs pyoxigraph: pip install 'jelly-plugins[oxigraph]'"
    assert [each.startswith(line) for each in done.stdout.splitlines()] == [True, True]


# Real files through stores and back: what comes out is what went in


def canonical(quads: Iterable[ox.Quad]) -> ox.Dataset:
    """Quads with their blank nodes renamed, equal if they are isomorphic."""
    dataset = ox.Dataset(quads)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return dataset


@pytest.mark.parametrize(
    ("name", "new_store"),
    [
        pytest.param("so", "memory", marks=pytest.mark.slow),
        pytest.param("so", "disk", marks=pytest.mark.slow),
        ("qudt-vocab", "disk"),
    ],
    indirect=["new_store"],
)
def test_ontologies(new_store: Callable[[], ox.Store], name: str, tmp_path: Path) -> None:
    text = gzip.decompress(shared(f"data/{name}.nt.gz").read_bytes())
    quads = list(ox.parse(text, ox.RdfFormat.N_TRIPLES))[:30_000]
    path = tmp_path / "source.jelly"
    write_delimited(encode((tuple(quad)[:3] for quad in quads), describe=describe), path)
    # Reading gives the terms to the letter; only a store changes literals.
    assert list(read_quads(path)) == quads

    source = ox.Store()
    source.extend(quads)
    store = new_store()
    assert load(store, path) == len(quads)
    if any(isinstance(quad.subject, ox.BlankNode) for quad in quads):
        assert contents(store) != contents(source)
    assert canonical(store) == canonical(source)

    back = tmp_path / "back.jelly.gz"
    assert dump(store, back) == len(source)
    assert contents(read_quads(back)) == contents(store)
