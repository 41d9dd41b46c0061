"""Replaying logs of patches into graphs and datasets, over rdflib's stores and over Oxigraph."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rdflib import BNode, Dataset, Graph, Literal, URIRef, namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ReadOnlyGraphAggregate
from rdflib.plugins.stores.memory import Memory

from jelly_plugins import ConflictError, JellyError, OptionsError, TermError
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.patch.replay.replay import Position
from jelly_plugins.rdflib import load, positions, record, replay, set_position
from jelly_plugins.rdflib.oxigraph_store import inner_store

from ..patch.targets import GRAPHS as MAKERS

S, P, O, G = (URIRef(f"urn:{letter}") for letter in "spog")  # noqa: E741

pytestmark = pytest.mark.filterwarnings("ignore:.*(ConjunctiveGraph|default_context).*")


def patch(number: int, *lines: str) -> bytes:
    """A patch that follows the one before it."""
    prev = f"H prev <urn:p:{number - 1}> .\n" if number > 1 else ""
    rows = "\n".join(lines)
    return f"H id <urn:p:{number}> .\n{prev}TX .\n{rows}\nTC .\nZ .\n".encode()


WHOLE = [name for name in MAKERS if name.startswith(("Dataset", "Conjunctive"))]


@pytest.fixture(params=MAKERS)
def graph(request: pytest.FixtureRequest) -> Graph:
    """A graph of any kind."""
    return MAKERS[request.param]()


@pytest.fixture(params=WHOLE)
def dataset(request: pytest.FixtureRequest) -> Any:
    """A dataset of any kind."""
    return MAKERS[request.param]()


def triples(graph: Graph) -> set[Any]:
    """The triples of a graph, without the bookkeeping that Oxigraph has."""
    return {row[:3] for row in graph if not str(row[1]).startswith("urn:jelly-plugins:")}


def quads(dataset: Any) -> set[Any]:
    """The quads of a dataset; those of its default graph have None."""
    found = set()
    main = dataset.default_context.identifier
    for subject, predicate, object_, name in dataset.quads():
        name = getattr(name, "identifier", name)
        if name == URIRef(BOOKKEEPING.value):
            continue
        found.add((subject, predicate, object_, None if name == main else name))
    return found


def test_quads(dataset: Any) -> None:
    log = patch(
        1,
        "A <urn:s> <urn:p> <urn:o> .",
        "A <urn:s> <urn:p> <urn:o> <urn:g> .",
        "A <urn:s> <urn:p> <urn:o> _:g .",
        "A <urn:s> <urn:p> 1 <urn:g> .",
    )
    replay(dataset, log)
    one = Literal(1)
    assert quads(dataset) == {(S, P, O, None), (S, P, O, G), (S, P, O, BNode("g")), (S, P, one, G)}
    # From the default graph only, and from another only.
    log += patch(2, "D <urn:s> <urn:p> <urn:o> .")
    replay(dataset, log)
    assert quads(dataset) == {(S, P, O, G), (S, P, O, BNode("g")), (S, P, one, G)}
    replay(dataset, log + patch(3, "D <urn:s> <urn:p> <urn:o> <urn:g> ."))
    assert quads(dataset) == {(S, P, O, BNode("g")), (S, P, one, G)}


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in WHOLE])
def test_named_graphs_in_a_graph(name: str) -> None:
    graph = MAKERS[name]()
    replay(graph, patch(1, "A <urn:s> <urn:p> <urn:o> ."))
    with pytest.raises(TermError, match="named graph"):
        replay(graph, patch(2, "A <urn:s> <urn:p> 1 .", "A <urn:s> <urn:p> 2 <urn:h> ."))
    assert triples(graph) == {(S, P, O)}


def test_two_prefixes_of_one_iri(graph: Graph) -> None:
    rows = ["PA 'a' <urn:x> .", "PA 'b' <urn:x> .", "PA 'c' <urn:x> ."]
    replay(graph, patch(1, *rows))
    found = dict(graph.namespaces())
    assert [found.get(name) for name in "abc"] == [URIRef("urn:x")] * 3
    replay(graph, patch(1, *rows) + patch(2, "PD 'c' .", "PA 'a' <urn:y> ."))
    found = dict(graph.namespaces())
    assert (found["a"], found["b"]) == (URIRef("urn:y"), URIRef("urn:x"))
    if inner_store(graph) is None:
        assert "c" not in found
        assert graph.store.prefix(URIRef("urn:x")) == "b"


def test_namespaces_that_swap_their_names(graph: Graph) -> None:
    rows = [("", "0"), ("foo", "0"), ("foo", "1"), ("", "1"), ("bar", "0"), ("", "0"), ("", "0")]
    bound = {}
    for number, (name, iri) in enumerate(rows, 1):
        bound[name] = f"urn:ns{iri}"
        done = rows[:number]
        lines = [f'PA "{name}" <urn:ns{iri}> .\n' for name, iri in done]
        log = "".join(["TX .\n", *lines, "TC .\n"]).encode()
        assert replay(graph, log, name=f"log {number}").operations == number
        found = {name: str(iri) for name, iri in graph.namespaces() if iri.startswith("urn:ns")}
        assert found == bound
        assert all(graph.store.prefix(URIRef(iri)) in found for iri in bound.values())


def test_a_string_is_deleted_in_both_forms(graph: Graph) -> None:
    typed = Literal("x", datatype=namespace.XSD.string)
    graph.add((S, P, typed))
    log = patch(1, 'D <urn:s> <urn:p> "x" .')
    replay(graph, log, check_unmatched=True)
    assert triples(graph) == set()
    graph.add((S, P, typed))
    log += patch(2, 'A <urn:s> <urn:p> "x" .', "D <urn:s> <urn:p> <urn:o> .")
    replay(graph, log)
    assert len(triples(graph)) == 1
    graph.add((S, P, Literal("x")))
    with pytest.raises(ConflictError):
        replay(graph, log + patch(3, 'A <urn:s> <urn:p> "x" .'), check_unmatched=True)
    text = f'D <urn:s> <urn:p> "x"^^<{namespace.XSD.string}> .'
    replay(graph, log + patch(3, text))
    assert triples(graph) == set()


FILLING = ["A <urn:s> <urn:p> <urn:o> .", "A _:b <urn:p> 1 .", "PA 'x' <urn:x> ."]


def state(graph: Graph) -> tuple[Any, ...]:
    """All there is to see of a graph's store."""
    store = graph.store
    found = {
        (triple, frozenset(getattr(context, "identifier", context) for context in contexts))
        for triple, contexts in store.triples((None, None, None), None)
    }
    names = (
        {getattr(each, "identifier", each) for each in store.contexts()}
        if (store.context_aware)
        else set()
    )
    # A graph without a name of its own has another one each time.
    places = [replace(each, graph="") for each in positions(graph)]
    return found, names, dict(store.namespaces()), places, len(graph)


class Breaks:
    """A store's method that fails at its n-th call."""

    def __init__(self, method: Callable[..., Any], at: int, error: BaseException) -> None:
        self._method = method
        self.left = at
        self._error = error

    def __call__(self, *args: Any, **settings: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self._error
        return self._method(*args, **settings)


@pytest.mark.parametrize("name", [name for name in MAKERS if "Oxigraph" not in name])
@pytest.mark.parametrize("at", range(1, 5))
@pytest.mark.parametrize("method", ["add", "remove", "bind"])
@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
def test_the_graph_is_restored(
    name: str, at: int, method: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = MAKERS[name]()
    replay(graph, patch(1, *FILLING))
    before = state(graph)
    other = "<urn:new>" if name in WHOLE else ""
    rows = [
        f"A <urn:s> <urn:p> 2 {other} .",
        "D <urn:s> <urn:p> <urn:o> .",
        "PA 'x' <urn:y> .",
        f"A <urn:s> <urn:p> 3 {other} .",
        "D _:b <urn:p> 1 .",
        "PA 'z' <urn:z> .",
        "A <urn:s> <urn:p> <urn:o> .",
        "D <urn:s> <urn:p> 2 .",
        "PD 'x' .",
        "PA 'q' <urn:q> .",
        "A <urn:s> <urn:p> 4 .",
        "D <urn:s> <urn:p> 3 .",
        "D <urn:s> <urn:p> 4 .",
        "PA 'r' <urn:r> .",
        "D <urn:s> <urn:p> <urn:o> .",
    ]
    breaks = Breaks(getattr(graph.store, method), at, error("no"))
    monkeypatch.setattr(graph.store, method, breaks)
    log = patch(1, *FILLING) + patch(2, *rows)
    caught: BaseException | None = None
    try:
        replay(graph, log)
    except BaseException as raised:
        caught = raised
    monkeypatch.undo()
    if caught is None:
        assert breaks.left > 0
    else:
        assert type(caught) is (TermError if error is ValueError else error)
        assert state(graph) == before
        assert replay(graph, log).patches == 1


BAD = [
    "A <urn:s> <urn:p> << <urn:s> <urn:p> <urn:o> >> .",
    "A <urn:s> <urn:p> nonsense .",
    'A <urn:s> <urn:p> "1E999999999999"^^<http://www.w3.org/2001/XMLSchema#decimal> .',
    "PA 'a b' <urn:x> .",
]


@pytest.mark.parametrize("bad", BAD)
def test_what_a_graph_cannot_hold(graph: Graph, bad: str) -> None:
    if "Oxigraph" in type(graph.store).__name__ and bad != BAD[1]:
        pytest.skip("Oxigraph can")
    replay(graph, patch(1, *FILLING))
    before = state(graph)
    with pytest.raises(JellyError, match="<urn:p:2>"):
        replay(graph, patch(1, *FILLING) + patch(2, "A <urn:s> <urn:p> 7 .", bad))
    assert state(graph) == before


def test_positions_live_as_long_as_the_store(dataset: Any) -> None:
    replay(dataset, patch(1, *FILLING))
    [position] = positions(dataset)
    assert positions(Graph()) == []
    copy = Dataset()
    set_position(copy, position)
    # It is one in the copy's own default graph.
    assert positions(copy) == [replace(position, graph="")]
    assert replay(copy, patch(1, *FILLING) + patch(2)).patches == 1
    moved = Position(log=position.log, patch="<urn:x>", transactions=1, complete=True)
    set_position(dataset, moved)
    assert positions(dataset) == [replace(moved, graph=position.graph)]


def test_other_graphs_of_the_store_are_left_alone() -> None:
    store = Memory()
    one, other = Graph(store, URIRef("urn:one")), Graph(store, URIRef("urn:other"))
    other.add((S, P, O))
    replay(one, patch(1, "A <urn:s> <urn:p> <urn:o> .", "A <urn:s> <urn:p> 1 ."))
    replay(one, patch(2, "D <urn:s> <urn:p> <urn:o> ."))
    assert set(one) == {(S, P, Literal(1))}
    assert set(other) == {(S, P, O)}


def test_the_default_graph_of_a_dataset() -> None:
    dataset = Dataset()
    log = patch(1, "A <urn:s> <urn:p> <urn:o> <urn:g> .", "A <urn:s> <urn:p> 1 .")
    replay(dataset.graph(DATASET_DEFAULT_GRAPH_ID), log)
    assert quads(dataset) == {(S, P, O, G), (S, P, Literal(1), None)}


def test_a_store_on_disk(tmp_path: Path) -> None:
    dataset = Dataset(store="Oxigraph")
    dataset.open(str(tmp_path / "store"))
    replay(dataset, patch(1, *FILLING))
    dataset.close()
    del dataset
    gc.collect()
    again = Dataset(store="Oxigraph")
    again.open(str(tmp_path / "store"))
    assert replay(again, patch(1, *FILLING) + patch(2, "A <urn:s> <urn:p> 7 .")).patches == 1
    assert dict(again.namespaces())["x"] == URIRef("urn:x")
    assert len(quads(again)) == 3


def test_a_graph_that_cannot_be_changed(tmp_path: Path) -> None:
    both = ReadOnlyGraphAggregate([Graph(), Graph()])
    change: list[Callable[[], object]] = [
        lambda: load(both, b"<urn:s> <urn:p> <urn:o> .", format="nt"),
        lambda: replay(both, patch(1, "A <urn:s> <urn:p> <urn:o> .")),
        lambda: record(both, tmp_path / "log.jellyp"),
        lambda: set_position(
            both, Position(log="log", patch="<urn:1>", transactions=1, complete=True)
        ),
    ]
    for each in change:
        with pytest.raises(OptionsError, match="a ReadOnlyGraphAggregate cannot be changed"):
            each()
    assert not (tmp_path / "log.jellyp").exists()
