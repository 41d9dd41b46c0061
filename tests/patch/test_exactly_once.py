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

import oxrdflib.store
import pyoxigraph as ox
import pytest
from rdflib import Dataset, Graph, URIRef

from jelly_plugins import (
    ChainError,
    Iri,
    JellyError,
    OptionsError,
    OrderError,
    TermError,
    Triple,
    TruncatedError,
)
from jelly_plugins import oxigraph as oxigraph_backend
from jelly_plugins import rdflib as rdflib_backend
from jelly_plugins.codec import PatchEncoder, PatchOptions, PatchStreamType, delimit
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch import ABORT, BEGIN, COMMIT, END, Patch, PatchReader, add, group, header
from jelly_plugins.reserved import BOOKKEEPING_IRI

from .targets import MAKERS, WHOLE, Target


@pytest.fixture(params=MAKERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A store of each kind."""
    return Target(MAKERS[request.param](tmp_path))


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
    store = Target(MAKERS[kind](tmp_path))
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


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("row", [adds(1), deletes(1), 'PA "x" <urn:x> .', 'PD "x" <urn:x> .'])
def test_the_reserved_graph_is_rejected(kind: str, row: str, tmp_path: Path) -> None:
    store = Target(WHOLE[kind](tmp_path))
    with pytest.raises(TermError, match=r"patch <urn:1>: .*bookkeeping"):
        store.replay(log(patch(1, adds(1), f"{row[:-1]}<{BOOKKEEPING_IRI}> .")))
    into, how = store, {"graph": BOOKKEEPING}
    if store.is_graph:
        into, how = Target(Graph(store.store.store, URIRef(BOOKKEEPING_IRI))), {}
    with pytest.raises(TermError, match="bookkeeping"):
        into.replay(log(patch(1, row)), **how)
    assert (store.rows(), store.positions()) == (set(), [])


def test_a_damaged_position() -> None:
    store = ox.Store()
    subject, predicate = (
        ox.NamedNode(f"urn:jelly-plugins:{iri}") for iri in ("log:x", "position:")
    )
    store.add(ox.Quad(subject, predicate, ox.Literal("nonsense"), BOOKKEEPING))
    with pytest.raises(ChainError, match="damaged"):
        Target(store).replay(log(ONE))


# A patch that grows: what its source had before is not applied again


def transaction_of(*rows: str) -> str:
    return "\n".join(["TX .", *rows, "TC .\n"])


def source_of(form: str, rows: str) -> bytes:
    """A log that ends with these rows of a patch, and without a mark."""
    text = log("H id <urn:1> .\n", rows)
    if form == "text":
        return text
    # In a stream of type FLAT nothing ends a patch; of type PUNCTUATED, a mark would.
    options = PatchOptions(stream_type=PatchStreamType[form.upper()], rdf_star=False)
    encoder = PatchEncoder(options, frame_rows=1)
    *rows_of_patch, _ = PatchReader(log("H id <urn:1> .\n", rows, "Z .\n"))
    return b"".join(map(delimit, encoder.add(rows_of_patch)))


ABORTED = f"TX .\n{adds(7)}\nTA .\n"
ONE_ROW = f"{adds(1)}\n"


@pytest.mark.parametrize("form", ["text", "flat", "punctuated"])
@pytest.mark.parametrize(
    ("steps", "objects"),
    [
        # Rows, and the number of transactions up to there: operations outside of TX and TC count
        # one by one.
        ([(ABORTED, 0), (ONE_ROW, 1)], [1]),
        ([(ABORTED, 0), (transaction_of(adds(1), adds(2)), 1)], [1, 2]),
        ([(ABORTED, 0), (ABORTED, 0)], []),
        ([(transaction_of(adds(1)), 1), (transaction_of(adds(2), deletes(1)), 2)], [2]),
        (
            [
                (transaction_of(adds(0)) + ONE_ROW, 2),
                (f"{deletes(0)}\n", 3),
                (f"{adds(2)}\n{adds(0)}\n{deletes(1)}\n", 6),
                (f"{adds(3)}\n", 7),
            ],
            [0, 2, 3],
        ),
    ],
)
def test_a_patch_that_grows(
    store: Target, form: str, steps: list[tuple[str, int]], objects: list[int]
) -> None:
    rows = ""
    applied = 0
    for more, transactions in steps:
        rows += more
        done = store.replay(source_of(form, rows))
        assert (done.operations > 0) is (transactions > applied)
        applied = transactions
        done = store.replay(source_of(form, rows))
        assert (done.patches, done.transactions) == (0, 0)
        [position] = store.positions()
        assert (position.transactions, position.complete) == (transactions, True)
    # A mark may come later, and is never forgotten.
    for ending in ("Z .\n", "") if form == "text" else ():
        done = store.replay(source_of(form, rows + ending))
        assert (done.patches, done.transactions) == (0, 0)
    assert store.objects() == [f"urn:{each}" for each in objects]


def test_a_flat_stream_that_had_only_headers(store: Target) -> None:
    store.replay(source_of("flat", ""))
    for operations in (3, 0):
        done = store.replay(source_of("flat", f"{adds(1)}\n{adds(2)}\n{deletes(1)}\n"))
        assert done.operations == operations
    assert store.objects() == ["urn:2"]


# What is selected of a log; ``test_reference_model`` has random ones

A, B = (add(Triple(Iri("urn:s"), Iri("urn:p"), Iri(f"urn:{name}"))) for name in "ab")
ID = header("id", Iri("urn:2"))


@pytest.mark.parametrize(
    ("rows", "sizes", "patches"),
    [
        ([], [], 0),
        ([END], [], 0),
        ([ID, END], [], 1),
        ([ID, BEGIN, COMMIT, END], [0], 1),
        ([BEGIN, A, COMMIT, BEGIN, B, COMMIT, END], [1, 1], 1),
        ([A, B, END], [2], 1),
        ([A, BEGIN, B, COMMIT, A, END], [1, 1, 1], 1),
        ([A, BEGIN, B, ABORT, END], [1], 1),
        ([BEGIN, A, ID, B, COMMIT, END], [2], 1),
        ([A, END, ID, B, END], [1, 1], 2),
        ([A, ID, B, END], [2], 1),
        # Without an id, a patch starts with its first change.
        ([BEGIN, COMMIT, END], [], 0),
        ([BEGIN, A, ABORT, END], [], 0),
        ([BEGIN, COMMIT, BEGIN, A, COMMIT, END], [1], 1),
        # The first id counts.
        ([ID, header("note", ID.value.value), header("id", Iri("urn:3")), A, END], [1], 1),
    ],
)
def test_transactions(rows: list[Any], sizes: list[int], patches: int) -> None:
    found: list[int] = []
    store = Target(ox.Store())
    done = store.replay(list(group(rows)), commit_every=1, progress=found.append, name="log")
    assert (found, done.patches) == (sizes, patches)
    assert store.replay(list(group(rows)), name="log").transactions == 0
    if patches:
        assert done.position.patch in ("<urn:2>", "1")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([COMMIT], "COMMIT outside a transaction"),
        ([ABORT], "ABORT outside a transaction"),
        ([BEGIN, BEGIN], "BEGIN inside a transaction"),
        ([BEGIN], "END inside a transaction"),
        ([BEGIN, COMMIT, ID], "'id' comes after a transaction"),
        ([A, BEGIN, COMMIT, header("prev", Iri("urn:1"))], "'prev' comes after a transaction"),
    ],
)
def test_rows_out_of_order(rows: list[Any], message: str) -> None:
    with pytest.raises(OrderError, match=message):
        Target(ox.Store()).replay([Patch(iter(rows))])


@pytest.mark.parametrize(
    ("rows", "patch"),
    [
        ("TX .\nX .\n", ""),
        ("H note 1 .\nX .\n", "patch number 1: "),
        ("Z .\nX .\n", "patch number 2: "),
        ("H id <urn:1> .\nX .\n", "patch <urn:1>: "),
    ],
)
def test_an_error_names_the_patch_that_is_read(rows: str, patch: str) -> None:
    with pytest.raises(JellyError, match=f"^<bytes>: line 2, column 1: {patch}no row"):
        Target(ox.Store()).replay(rows.encode())


FOUR = patch(4, adds(4), prev=3)


@pytest.mark.parametrize(
    ("applied", "patches", "message"),
    [
        ([], [ONE, THREE], "it follows patch <urn:2>, but the patch before it is <urn:1>"),
        ([], [ONE, "H prev <urn:7> .\nZ .\n", TWO], "it follows patch <urn:7>"),
        ([], [THREE], "it follows patch <urn:2>, but nothing was applied before"),
        ([], [ONE, TWO, ONE], "an earlier patch of the log has the same id"),
        ([], [ONE, patch(None, adds(5)), ONE], "an earlier patch of the log has the same id"),
        ([ONE, TWO], [THREE, ONE], "an earlier patch of the log has the same id"),
        ([ONE, TWO], [ONE], "the store is at patch <urn:2>, which the log does not have"),
        ([ONE, TWO], [ONE, patch(7, adds(7), prev=1)], "the store is at patch <urn:2>"),
        ([ONE, TWO], [patch(8, prev=7)], "the log follows patch <urn:7>, but the store is at"),
    ],
)
def test_patches_that_do_not_follow(applied: list[str], patches: list[str], message: str) -> None:
    store = Target(ox.Store())
    store.replay(log(*applied))
    with pytest.raises(ChainError, match=message):
        store.replay(log(*patches))


def test_the_next_file_of_a_log() -> None:
    for following in ([THREE], [TWO, THREE]):
        store = Target(ox.Store())
        store.replay(log(ONE, TWO))
        assert store.replay(log(*following)).patches == 1
        assert [each.log for each in store.positions()] == ["<urn:1>"]
        # It was replayed in part.
        [position] = store.positions()
        oxigraph_backend.set_position(store.store, replace(position, complete=False))
        with pytest.raises(ChainError, match="only the first 1 transactions"):
            store.replay(log(FOUR))
        assert store.replay(log(THREE, FOUR)).patches == 2


def test_patches_without_ids() -> None:
    plain = [patch(None, adds(1)), patch(None), patch(None, adds(2)) + patch(None, deletes(1))]
    store = Target(ox.Store())
    for name, applied, again in (("log", 3, 0), (None, 3, 3)):
        assert store.replay(log(*plain), name=name).transactions == applied
        done = store.replay(log(*plain), name=name)
        assert (done.transactions, bool(done.advice)) == (again, name is None)
    [position] = store.positions()
    assert (position.log, position.patch, position.transactions) == ("log", "4", 1)
    assert store.replay(log(*plain, patch(None, adds(3))), name="log").transactions == 1
    # Those after an id count as its transactions.
    store = Target(ox.Store())
    done = store.replay(log(ONE, *plain))
    assert (done.position.patch, done.position.transactions) == ("<urn:1>", 4)
    assert store.replay(log(ONE, *plain, TWO)).transactions == 1


def test_an_edited_log_gets_what_the_ids_say() -> None:
    store = Target(ox.Store())
    store.replay(log(ONE, TWO))
    edited = patch(2, adds(8), prev=1)
    assert store.replay(log(ONE, edited)).transactions == 0
    assert store.replay(log(ONE, edited, THREE)).transactions == 1
    assert store.objects() == ["urn:2", "urn:3"]
    # It may have fewer transactions than were applied.
    assert store.replay(log(ONE, TWO, patch(3, prev=2), FOUR)).transactions == 1


def test_until() -> None:
    store = Target(ox.Store())
    assert store.replay(log(ONE, TWO), until="urn:1").position.patch == "<urn:1>"
    store.replay(log(ONE, TWO))
    with pytest.raises(ChainError, match="at patch <urn:2> already, after patch <urn:1>"):
        store.replay(log(ONE, TWO), until="urn:1")


# Logs that are truncated near their beginning


@pytest.mark.parametrize("headers", ["H id <urn:2> .\n", "H id <urn:2> .\nH prev <urn:1> .\n"])
def test_text_that_ends_behind_headers(store: Target, tmp_path: Path, headers: str) -> None:
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


# Several replays at once


def test_replays_at_once_apply_a_log_once(store: Target) -> None:
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


def test_a_replay_that_another_one_has_overtaken(store: Target) -> None:
    def overtake(_: Any) -> None:
        store.replay(log(ONE, TWO, THREE))

    with pytest.raises(ChainError, match="the position in log <urn:1> has moved"):
        store.replay(log(ONE, TWO, THREE), commit_every=1, progress=overtake)
    assert store.objects() == ["urn:2", "urn:3"]


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_an_invalid_name(store: Target, tmp_path: Path, name: str) -> None:
    with pytest.raises(OptionsError, match="name of a log"):
        store.replay(log(ONE, TWO), name=name)
    path = tmp_path / "log.jellyp"
    with pytest.raises(OptionsError, match="name of a log"):
        store.record(path, name=name)
    assert not path.exists()
    assert (store.objects(), store.positions()) == ([], [])


def test_what_is_no_patch(store: Target) -> None:
    with pytest.raises(TypeError, match="a Patch is needed, not 1"):
        store.replay([1])


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
    assert Target(graph).objects() == [f"urn:{i}" for i in range(4)]
