"""Stores whose recorders were killed, and what a dump has of a store that is being recorded."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")

import pyoxigraph as ox
from rdflib import Graph

from jelly_plugins import ChainError
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.oxigraph import BOOKKEEPING, dump, load, positions, record, replay
from jelly_plugins.patch import read_patches, undo
from jelly_plugins.rdflib import record as record_graph

ONE_MORE = b"H id <urn:x> .\nTX .\nA <urn:s> <urn:p> <urn:x> .\nTC .\n"


MAKERS: dict[str, Callable[[Path], ox.Store]] = {
    "in memory": lambda _: ox.Store(),
    "on disk": lambda folder: ox.Store(folder / "store"),
}


@pytest.fixture(params=MAKERS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ox.Store:
    return MAKERS[request.param](tmp_path)


def quad(number: int) -> ox.Quad:
    return ox.Quad(ox.NamedNode("urn:s"), ox.NamedNode("urn:p"), ox.Literal(str(number)))


def data(store: ox.Store) -> set[ox.Quad]:
    return {quad for quad in store if quad.graph_name != BOOKKEEPING}


def leave_open(store: ox.Store, path: Path, cut: float = 0) -> None:
    """Record three patches, and end as a killed process does, before the third one is applied.

    :param cut: how much of a fourth patch is in the log.
    """
    recorder = record(store, path)
    for number in range(3):
        recorder.add(quad(number))
    del recorder
    gc.collect()
    if cut:
        whole = path.read_bytes()
        undo(path)
        more = path.read_bytes()[len(whole) :]
        path.write_bytes(whole + more[: int(len(more) * cut)])
    # Without the compiled kernel, each transaction of an Oxigraph store moves the position.
    [position] = positions(store)
    if position.patch == position.log:
        store.remove(quad(2))


@pytest.mark.parametrize("ending", ["jellyp", "rdfp"])
@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_a_truncated_log_of_a_killed_recorder(
    store: ox.Store, ending: str, moves: bool, cut: float, tmp_path: Path
) -> None:
    path = tmp_path / f"log.{ending}"
    leave_open(store, path, cut)
    for log in (ONE_MORE, path):
        with pytest.raises(ChainError, match=r"is being recorded in .*log.* record\(\) again"):
            replay(store, log)
    if moves:
        elsewhere = path.rename(tmp_path / f"elsewhere.{ending}")
        with pytest.raises(ChainError, match=r"is being recorded in .*log"):
            record(store, elsewhere)
        elsewhere.rename(path)
    record(store, path).close()
    assert data(store) == set(map(quad, range(3)))
    [position] = positions(store)
    # Other logs and another recorder may change the store again.
    assert replay(store, ONE_MORE).patches == 1
    with record(store, path) as recorder:
        recorder.add(quad(3))
    patches = list(read_patches(path))
    assert len(patches) == 4
    assert position.complete
    assert position.patch == term_text(patches[2].id)  # type: ignore[arg-type]


#: Patches of several transactions, with and without TX and TC; applied twice, each would show.
SEVERAL = """H id <urn:1> .
TX .\nA _:b <urn:p> <urn:o> .\nTC .\nTX .\nA <urn:s> <urn:p> <urn:aborted> .\nTA .
TX .\nD _:b <urn:p> <urn:o> .\nTC .\nA _:c <urn:p> <urn:o> .\nD _:c <urn:p> <urn:o> .\nZ .
"""


@pytest.mark.parametrize("again", ["", SEVERAL, SEVERAL[: SEVERAL.index("TX")] + "Z .\n"])
def test_a_recorder_counts_transactions_as_a_replay_does(
    store: ox.Store, again: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.rdfp"
    path.write_text(SEVERAL + again)
    assert replay(store, path).transactions == 3
    [position] = positions(store)
    record(store, path).close()
    assert positions(store) == [position]
    assert replay(store, path).transactions == 0
    with record(store, path) as recorder:
        recorder.add(quad(1))
    assert replay(store, path).transactions == 0


def test_a_dump_of_a_store_that_is_being_recorded(tmp_path: Path) -> None:
    store, copy = ox.Store(), ox.Store()
    path, file = tmp_path / "log.jellyp", tmp_path / "dump.jelly"
    with record(store, path) as recorder:
        recorder.add(quad(0))
        with pytest.raises(ChainError, match="close the recorder, which writes"):
            dump(store, file, bookkeeping=True)
        assert dump(store, file) == 1
    dump(store, file, bookkeeping=True)
    load(copy, file, bookkeeping=True)
    assert replay(copy, path).patches == 0
    with record(store, path) as recorder:
        recorder.add(quad(1))
    assert replay(copy, path).patches == 1


def test_a_recorder_leaves_no_graph_of_its_own(tmp_path: Path) -> None:
    store = ox.Store()
    record(store, tmp_path / "log.jellyp").close()
    assert list(store.named_graphs()) == []


def test_threads_find_one_recorder(tmp_path: Path) -> None:
    graph = Graph()
    ready = threading.Barrier(8)
    opened: list[Any] = []

    def run(number: int) -> None:
        ready.wait()
        with suppress(ChainError):
            opened.append(record_graph(graph, tmp_path / f"{number}.jellyp"))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [recorder] = opened
    recorder.close()
