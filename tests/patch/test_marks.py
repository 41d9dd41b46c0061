"""Stores whose recorders were killed, and what a dump has of a store that is being recorded."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyoxigraph")
pytest.importorskip("oxrdflib")

import pyoxigraph as ox
from rdflib import Dataset, Graph, Literal, URIRef

import jelly_plugins.oxigraph as in_oxigraph
import jelly_plugins.rdflib as in_rdflib
from jelly_plugins import ChainError, SourceError, TruncatedError
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.patch import read_patches, undo
from jelly_plugins.rdflib.oxigraph_store import inner_store_of

S, P = "urn:s", "urn:p"

pytestmark = pytest.mark.filterwarnings("ignore:.*default_context.*")
ONE_MORE = b"H id <urn:x> .\nTX .\nA <urn:s> <urn:p> <urn:x> .\nTC .\n"


class Oxigraph:
    """A store of pyoxigraph."""

    module: Any = in_oxigraph

    def __init__(self, store: Any) -> None:
        self.target = store
        self.store: ox.Store = store

    def add(self, recorder: Any, number: int) -> None:
        recorder.add(self.quad(number))

    def quad(self, number: int) -> ox.Quad:
        return ox.Quad(ox.NamedNode(S), ox.NamedNode(P), ox.Literal(str(number)), self.graph)

    @property
    def graph(self) -> Any:
        return ox.DefaultGraph()

    @property
    def data(self) -> set[ox.Quad]:
        return {quad for quad in self.store if quad.graph_name != in_oxigraph.BOOKKEEPING}


class Rdflib(Oxigraph):
    """A graph or dataset of rdflib over a store of pyoxigraph."""

    module = in_rdflib

    def __init__(self, graph: Any) -> None:
        super().__init__(inner_store_of(graph.store))
        self.target = graph

    def add(self, recorder: Any, number: int) -> None:
        recorder.graph.add((URIRef(S), URIRef(P), Literal(str(number))))
        recorder.commit()

    @property
    def graph(self) -> Any:
        if isinstance(self.target, Dataset):
            return ox.DefaultGraph()
        return ox.NamedNode(str(self.target.identifier))


MAKERS: dict[str, Callable[[Path], Oxigraph]] = {
    "Oxigraph in memory": lambda _: Oxigraph(ox.Store()),
    "Oxigraph on disk": lambda folder: Oxigraph(ox.Store(folder / "store")),
    "Graph": lambda _: Rdflib(Graph("Oxigraph", URIRef("urn:g"))),
    "Dataset": lambda _: Rdflib(Dataset("Oxigraph")),
}


@pytest.fixture(params=MAKERS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Oxigraph:
    return MAKERS[request.param](tmp_path)


def leave_open(target: Oxigraph, path: Path, cut: float = 0) -> None:
    """Record three patches, and end as a killed process does, before the third one is applied.

    :param cut: how much of a fourth patch is in the log.
    """
    recorder = target.module.record(target.target, path)
    for number in range(3):
        target.add(recorder, number)
    del recorder
    gc.collect()
    if cut:
        whole = path.read_bytes()
        undo(path)
        more = path.read_bytes()[len(whole) :]
        path.write_bytes(whole + more[: int(len(more) * cut)])
    # Without the compiled kernel, each transaction of an Oxigraph store moves the position.
    [position] = target.module.positions(target.target)
    if position.patch == position.log:
        target.store.remove(target.quad(2))


@pytest.mark.parametrize("ending", ["jellyp", "rdfp"])
@pytest.mark.parametrize("again", ["replay", "record", "moved"])
@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
def test_a_truncated_log_of_a_killed_recorder(
    target: Oxigraph, ending: str, again: str, cut: float, tmp_path: Path
) -> None:
    path = tmp_path / f"log.{ending}"
    leave_open(target, path, cut)
    module, graph = target.module, target.target
    with pytest.raises(ChainError, match=r"is being recorded in .*log"):
        module.replay(graph, ONE_MORE)
    if again == "record":
        module.record(graph, path).close()
    else:
        if again == "moved":
            path = path.rename(tmp_path / f"elsewhere.{ending}")
        with pytest.raises(TruncatedError):
            module.replay(graph, path)
    assert target.data == set(map(target.quad, range(3)))
    [position] = module.positions(graph)
    # Other logs and another recorder may change the store again.
    assert module.replay(graph, ONE_MORE).patches == 1
    with module.record(graph, path) as recorder:
        target.add(recorder, 3)
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
    target: Oxigraph, again: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.rdfp"
    path.write_text(SEVERAL + again)
    module, graph = target.module, target.target
    assert module.replay(graph, path).transactions == 3
    [position] = module.positions(graph)
    module.record(graph, path).close()
    assert module.positions(graph) == [position]
    assert module.replay(graph, path).transactions == 0
    with module.record(graph, path) as recorder:
        target.add(recorder, 1)
    assert module.replay(graph, path).transactions == 0


def test_another_graph_than_the_recorded_one(tmp_path: Path) -> None:
    store = ox.Store()
    target = Rdflib(Graph(in_rdflib_store(store), URIRef("urn:g")))
    path = tmp_path / "log.jellyp"
    leave_open(target, path)
    for change in (
        lambda: in_oxigraph.replay(store, path),
        lambda: in_oxigraph.replay(store, path, graph=ox.NamedNode("urn:h")),
        lambda: in_oxigraph.record(store, path),
    ):
        with pytest.raises(ChainError, match=r"is being recorded in .*log"):
            change()
    assert in_oxigraph.replay(store, path, graph=ox.NamedNode("urn:g")).patches == 0
    in_oxigraph.set_position(store, in_oxigraph.positions(store)[0])


def in_rdflib_store(store: ox.Store) -> Any:
    from oxrdflib.store import OxigraphStore

    return OxigraphStore(store=store)


def test_a_dump_of_a_store_that_is_being_recorded(tmp_path: Path) -> None:
    store, copy = ox.Store(), ox.Store()
    target = Oxigraph(store)
    path, dump = tmp_path / "log.jellyp", tmp_path / "dump.jelly"
    with in_oxigraph.record(store, path) as recorder:
        target.add(recorder, 0)
        with pytest.raises(ChainError, match="close the recorder, which writes"):
            in_oxigraph.dump(store, dump, bookkeeping=True)
        assert in_oxigraph.dump(store, dump) == 1
    in_oxigraph.dump(store, dump, bookkeeping=True)
    in_oxigraph.load(copy, dump, bookkeeping=True)
    assert in_oxigraph.replay(copy, path).patches == 0
    with in_oxigraph.record(store, path) as recorder:
        target.add(recorder, 1)
    assert in_oxigraph.replay(copy, path).patches == 1


def test_a_recorder_leaves_no_graph_of_its_own(tmp_path: Path) -> None:
    dataset = Dataset("Oxigraph")
    in_rdflib.record(dataset, tmp_path / "log.jellyp").close()
    assert list(inner_store_of(dataset.store).named_graphs()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_that_is_forked_leaves_the_mark(tmp_path: Path) -> None:
    target = Rdflib(Graph("Oxigraph", URIRef("urn:g")))
    recorder = in_rdflib.record(target.target, tmp_path / "log.jellyp")
    target.add(recorder, 0)
    child = os.fork()
    if not child:
        code = 1
        try:
            with suppress(SourceError):
                target.add(recorder, 1)
            recorder.close()
            with suppress(ChainError):
                in_rdflib.set_position(target.target, in_rdflib.positions(target.target)[0])
                os._exit(2)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    target.add(recorder, 2)
    recorder.close()
    assert len(list(read_patches(tmp_path / "log.jellyp"))) == 2


def test_threads_find_one_recorder(tmp_path: Path) -> None:
    graph = Graph()
    ready = threading.Barrier(8)
    opened: list[Any] = []

    def run(number: int) -> None:
        ready.wait()
        with suppress(ChainError):
            opened.append(in_rdflib.record(graph, tmp_path / f"{number}.jellyp"))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [recorder] = opened
    recorder.close()
