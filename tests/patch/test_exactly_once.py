"""What names a patch and a log, and where a replay goes on: the same for every kind of store.

The rules are in ``jelly_plugins.patch.replay.replay``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")
pytest.importorskip("oxrdflib")

import oxrdflib.store
import pyoxigraph as ox
from rdflib import Dataset, Graph, URIRef

from jelly_plugins import ChainError, JellyError, OptionsError, TruncatedError
from jelly_plugins import oxigraph as oxigraph_backend
from jelly_plugins import rdflib as rdflib_backend
from jelly_plugins.codec import (
    OperationKind,
    PatchEncoder,
    PatchOptions,
    PatchStreamType,
    delimit,
)
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch import (
    PatchReader,
)


class Store:
    """A store of any kind."""

    def __init__(self, store: Any) -> None:
        self.store = store
        self._backend: Any = rdflib_backend if isinstance(store, Graph) else oxigraph_backend

    def replay(self, log: Any, **settings: Any) -> Any:
        return self._backend.replay(self.store, log, **settings)

    def positions(self) -> list[Any]:
        found: list[Any] = self._backend.positions(self.store)
        return found

    def objects(self) -> list[str]:
        """The objects of its statements, in order."""
        if isinstance(self.store, Graph):
            rows = {row for row in self.store if not row[1].startswith("urn:jelly-plugins:")}
            return sorted(str(row[2]) for row in rows)
        quads = (quad for quad in self.store if quad.graph_name != BOOKKEEPING)
        return sorted(quad.object.value for quad in quads)


MAKERS: dict[str, Callable[[Path], Any]] = {
    "Oxigraph in memory": lambda _: ox.Store(),
    "Oxigraph on disk": lambda path: ox.Store(path / "store"),
    "Graph": lambda _: Graph(),
    "Dataset": lambda _: Dataset(),
    "Graph, Oxigraph": lambda _: Graph(store="Oxigraph"),
}


@pytest.fixture(params=MAKERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store of each kind."""
    return Store(MAKERS[request.param](tmp_path))


def patch(number: int | None, *rows: str, prev: int | None = None) -> str:
    """The text of a patch with one transaction, if there are rows."""
    id_ = "" if number is None else f"H id <urn:{number}> .\n"
    follows = "" if prev is None else f"H prev <urn:{prev}> .\n"
    transaction = "\n".join(["TX .", *rows, "TC .\n"]) if rows else ""
    return f"{id_}{follows}{transaction}Z .\n"


def adds(value: int) -> str:
    return f"A <urn:s> <urn:p> <urn:{value}> ."


def deletes(value: int) -> str:
    return f"D <urn:s> <urn:p> <urn:{value}> ."


def log(*patches: str) -> bytes:
    return "".join(["# A log.\n", *patches]).encode()


#: It swings: applied again, some of it shows.
ONE, TWO, THREE = (
    patch(1, adds(1), adds(10)),
    patch(2, adds(2), deletes(10), prev=1),
    patch(3, adds(3), deletes(1), prev=2),
)


# One log into several graphs


@pytest.mark.parametrize("kind", ["Oxigraph in memory", "Oxigraph on disk"])
def test_one_log_into_several_graphs_of_a_store(kind: str, tmp_path: Path) -> None:
    store = Store(MAKERS[kind](tmp_path))
    names = [*map(ox.NamedNode, ("urn:g", "urn:h%20é")), ox.BlankNode("g"), ox.DefaultGraph()]
    for patches, expected in (([ONE], 1), ([ONE, TWO, THREE], 2), ([ONE, TWO, THREE], 0)):
        for name in names:
            assert store.replay(log(*patches), graph=name).patches == expected
    for name in names:
        found = store.store.quads_for_pattern(None, None, None, name)
        assert {quad.object.value for quad in found} == {"urn:2", "urn:3"}
    graphs = {each.graph for each in store.positions()}
    assert graphs == {"", "<urn:g>", "_:g", "<urn:h%20é>"}


@pytest.mark.parametrize("make", [Dataset, lambda: Dataset(store="Oxigraph")])
def test_one_log_into_several_graphs_of_a_dataset(make: Callable[[], Dataset]) -> None:
    dataset = make()
    graphs = [dataset, dataset.graph(URIRef("urn:g")), dataset.graph(URIRef("urn:h"))]
    for graph in graphs:
        assert rdflib_backend.replay(graph, log(ONE, TWO)).patches == 2
        assert rdflib_backend.replay(graph, log(ONE, TWO)).patches == 0
    for graph in graphs:
        assert rdflib_backend.replay(graph, log(ONE, TWO, THREE)).patches == 1
        assert [each.patch for each in rdflib_backend.positions(graph)] == ["<urn:3>"]
    for graph in graphs[1:]:
        assert {str(row[2]) for row in graph} == {"urn:2", "urn:3"}


def test_a_damaged_position() -> None:
    store = ox.Store()
    subject, predicate = (
        ox.NamedNode(f"urn:jelly-plugins:{iri}") for iri in ("log:x", "position:")
    )
    store.add(ox.Quad(subject, predicate, ox.Literal("nonsense"), BOOKKEEPING))
    with pytest.raises(ChainError, match="damaged"):
        Store(store).replay(log(ONE))


# Operations outside of TX and TC at the end of a log, which may grow


def loose(form: str, *rows: str) -> bytes:
    """A log that ends with such operations, of a patch with an id, and without a mark."""
    text = log("H id <urn:1> .\n", "TX .\n", adds(0), "\nTC .\n", *(f"{row}\n" for row in rows))
    if form == "text":
        return text
    # In a stream of type FLAT nothing ends a patch; of type PUNCTUATED, a mark would.
    flat = form == "flat"
    options = PatchOptions(
        stream_type=PatchStreamType.FLAT if flat else PatchStreamType.PUNCTUATED, rdf_star=False
    )
    encoder = PatchEncoder(options, frame_rows=1)
    operations = [row for row in PatchReader(text) if row.kind is not OperationKind.END]
    return b"".join(map(delimit, encoder.add(operations)))


FORMS = ["text", "flat", "punctuated"]


@pytest.mark.parametrize("form", FORMS)
def test_loose_operations_at_the_end_of_a_log_that_grows(store: Store, form: str) -> None:
    rows = [adds(1), deletes(0), adds(2), adds(0), deletes(1), adds(3)]
    before = 0
    for size in (1, 2, 5, 6):
        done = store.replay(loose(form, *rows[:size]))
        # The first time, the transaction before it too.
        assert done.operations == size - before + (before == 0)
        before = size
        for _ in range(2):
            done = store.replay(loose(form, *rows[:size]))
            assert (done.patches, done.transactions) == (0, 0)
    assert store.objects() == ["urn:0", "urn:2", "urn:3"]
    assert [each.transactions for each in store.positions()] == [7]


# Patches that had no transaction when the log ended, and have some now


def streamed(text: bytes, stream_type: PatchStreamType) -> bytes:
    """The rows of a text without the mark that ends it, one a frame."""
    rows = list(PatchReader(text))
    encoder = PatchEncoder(PatchOptions(stream_type=stream_type, rdf_star=False), frame_rows=1)
    return b"".join(map(delimit, encoder.add(rows[:-1])))


ABORTED_ROWS = f"TX .\n{adds(7)}\nTA .\n"


@pytest.mark.parametrize("form", ["text", "punctuated"])
@pytest.mark.parametrize("before", [[], [ONE]])
@pytest.mark.parametrize("more", [f"{adds(2)}\n", f"TX .\n{adds(2)}\nTC .\n", ABORTED_ROWS])
def test_a_log_cut_behind_an_aborted_transaction(
    store: Store, form: str, before: list[str], more: str
) -> None:
    cut = log(*before, f"H id <urn:2> .\n{ABORTED_ROWS}")
    whole = cut + more.encode()
    if form == "punctuated":
        cut, whole = (streamed(each, PatchStreamType.PUNCTUATED) for each in (cut, whole))
        assert whole.startswith(cut)
    store.replay(cut)
    count = int(more != ABORTED_ROWS)
    assert store.replay(whole).transactions == count
    assert store.replay(whole).transactions == 0
    assert ("urn:2" in store.objects()) is bool(count)
    assert "urn:7" not in store.objects()
    assert [each.transactions for each in store.positions()] == [count]


def test_a_flat_stream_cut_behind_its_headers(store: Store) -> None:
    cut, whole = (
        streamed(log("H id <urn:1> .\n", rows, "Z .\n"), PatchStreamType.FLAT)
        for rows in ("", f"{adds(1)}\n{adds(2)}\n{deletes(1)}\n")
    )
    assert whole.startswith(cut)
    store.replay(cut)
    assert store.replay(whole).operations == 3
    assert store.replay(whole).operations == 0
    assert store.objects() == ["urn:2"]


# The patch that was applied last, in a later reading


def transaction_of(*rows: str) -> str:
    return "\n".join(["TX .", *rows, "TC .\n"])


@pytest.mark.parametrize("form", ["text", "flat", "punctuated"])
def test_a_patch_that_the_end_of_its_source_has_ended_may_grow(store: Store, form: str) -> None:
    def source(*transactions: str) -> bytes:
        text = log("H id <urn:1> .\n", *transactions)
        if form == "text":
            return text
        return streamed(text, PatchStreamType[form.upper()])

    parts = [transaction_of(adds(1)), transaction_of(adds(2), deletes(1)), transaction_of(adds(3))]
    if form == "flat":
        # It has no other patch, and takes no transactions away.
        parts = parts[:2]
    for size in range(1, len(parts) + 1):
        for _ in range(2):
            source_now = source(*parts[:size])
            store.replay(source_now)
        [position] = store.positions()
        assert (position.transactions, position.complete) == (size, True)
    # A mark may come later, and is never forgotten.
    if form == "text":
        for ending in ("Z .\n", "", "Z .\n"):
            done = store.replay(log("H id <urn:1> .\n", *parts, ending))
            assert (done.patches, done.transactions) == (0, 0)
    assert "urn:1" not in store.objects()


# Logs that are truncated near their beginning


@pytest.mark.parametrize("headers", ["H id <urn:2> .\n", "H id <urn:2> .\nH prev <urn:1> .\n"])
def test_text_that_ends_behind_headers(store: Store, tmp_path: Path, headers: str) -> None:
    for before in ([], [ONE]):
        truncated = tmp_path / "log.rdfp"
        truncated.write_bytes(log(*before, headers))
        with pytest.raises(TruncatedError, match=r"log\.rdfp.*ends after the headers"):
            store.replay(truncated)
    assert [each.patch for each in store.positions()] == ["<urn:1>"]
    # Once it is there, it is applied.
    assert store.replay(log(ONE, TWO)).patches == 1
    # Where it says that it is whole, it is.
    assert store.replay(log(ONE, TWO, patch(3, prev=2))).patches == 1


@pytest.mark.parametrize("size", range(1, 8))
def test_a_jelly_log_of_a_few_bytes(tmp_path: Path, size: int) -> None:
    store = Store(ox.Store())
    for value in range(1, 160):
        truncated = tmp_path / "log.jellyp"
        # A frame of this length, whose first bytes might be a comment or space.
        truncated.write_bytes(bytes((value, 0x0A, 0x20, 0x0A, 0x1E, 0x0A, 0x0A))[:size])
        with pytest.raises(JellyError, match=r"log\.jellyp"):
            store.replay(truncated)
    assert store.positions() == []


# Several replays at once


def test_replays_at_once_apply_a_log_once(store: Store) -> None:
    swinging = [patch(i, deletes(i - 1), adds(i), prev=i - 1 or None) for i in range(1, 40)]
    whole = log(*swinging)
    applied: list[int] = []
    errors: list[BaseException] = []
    ready = threading.Barrier(4)

    def run() -> None:
        ready.wait()
        counted = 0

        def progress(_: int) -> None:
            nonlocal counted
            counted += 1

        try:
            store.replay(whole, commit_every=1, progress=progress)
        except BaseException as error:
            errors.append(error)
        applied.append(counted)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(isinstance(error, ChainError) and "was faster" in str(error) for error in errors)
    assert sum(applied) == 39
    assert store.objects() == ["urn:39"]
    assert store.replay(whole).patches == 0


def test_a_replay_that_another_one_has_overtaken(store: Store) -> None:
    def overtake(_: Any) -> None:
        store.replay(log(ONE, TWO, THREE))

    with pytest.raises(ChainError, match="the position in log <urn:1> has moved"):
        store.replay(log(ONE, TWO, THREE), commit_every=1, progress=overtake)
    assert store.objects() == ["urn:2", "urn:3"]


def test_positions_can_be_given_to_another_graph() -> None:
    first, second = Graph(), Graph()
    done = rdflib_backend.replay(first, log(ONE))
    rdflib_backend.set_position(second, done.position)
    assert rdflib_backend.replay(second, log(ONE, TWO)).patches == 1
    moved = rdflib_backend.positions(second)[0]
    assert replace(moved, graph="") == replace(
        rdflib_backend.replay(first, log(ONE, TWO)).position, graph=""
    )


def test_an_empty_name(store: Store, tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="name of a log"):
        store.replay(log(ONE, TWO), name="")
    path = tmp_path / "log.jellyp"
    backend: Any = rdflib_backend if isinstance(store.store, Graph) else oxigraph_backend
    with pytest.raises(OptionsError, match="name of a log"):
        backend.record(store.store, path, name="")
    assert not path.exists()
    assert (store.objects(), store.positions()) == ([], [])


def test_what_is_no_patch(store: Store) -> None:
    backend: Any = rdflib_backend if isinstance(store.store, Graph) else oxigraph_backend
    with pytest.raises(TypeError, match="a Patch is needed, not 1"):
        backend.replay(store.store, [1])


@pytest.mark.parametrize("graph", [None, "urn:g", URIRef("urn:g"), ox.Literal("g")])
def test_a_graph_that_is_no_term_of_the_store(graph: Any) -> None:
    with pytest.raises(TypeError, match="a NamedNode, BlankNode or DefaultGraph"):
        oxigraph_backend.replay(ox.Store(), log(ONE), graph=graph)


def test_threads_that_use_an_oxigraph_store_of_rdflib_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make() -> ox.Store:
        # Long enough for the other thread to come by.
        time.sleep(0.02)
        return ox.Store()

    monkeypatch.setattr(oxrdflib.store, "ox", SimpleNamespace(Store=make))
    graph = Graph(store="Oxigraph")
    threads = [
        threading.Thread(target=rdflib_backend.replay, args=(graph, log(patch(i, adds(i)))))
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Store(graph).objects() == [f"urn:{i}" for i in range(4)]
