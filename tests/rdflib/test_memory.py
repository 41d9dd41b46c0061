"""rdflib's stores in memory: written and read by their indices, as if by their own methods."""

from __future__ import annotations

import gc
import sys
import weakref
from functools import partial
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, BNode, Dataset, Graph, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, QuotedGraph
from rdflib.plugins.stores.memory import Memory
from rdflib.store import TripleAddedEvent

from jelly_plugins import Iri, JellyError, PhysicalType, Triple
from jelly_plugins import Literal as JellyLiteral
from jelly_plugins.io.streams import WriteSettings
from jelly_plugins.rdflib import memory, terms, writing
from jelly_plugins.rdflib.memory import add_statements, compiled
from jelly_plugins.rdflib.streams import read_quads

from .support import TRIPLES, O, P, S, jelly, parse, quads_of, to_bytes

HALVES = ["compiled", "python"]
NAMES = [URIRef(f"urn:g{n}") for n in range(3)]


@pytest.fixture(params=HALVES)
def half(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which of the two does the work."""
    use(request.param, monkeypatch)
    return str(request.param)


@pytest.fixture
def writer() -> None:
    """Skip without the compiled module, which writes indices."""
    if compiled() is None:
        pytest.skip("indices are written by the compiled module")


def use(half: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if half == "python":
        for module in memory, terms:
            monkeypatch.setattr(module, "compiled", lambda: None)
    elif compiled() is None:
        pytest.skip("the compiled half is not there")


def state(store: Any) -> dict[str, Any]:
    """All that a store remembers, without dictionaries that have nothing left in them."""
    found = memory.state_of(store)
    for name in ("spo", "pos", "osp"):
        key = f"_{type(store).__name__}__{name}"
        pruned = {
            first: {second: dict(third) for second, third in inner.items() if third}
            for first, inner in found[key].items()
        }
        found[key] = {first: inner for first, inner in pruned.items() if inner}
    return found


def read(graph: Graph) -> set[Any]:
    """The triples of a graph in generic terms, as they are written."""
    batches = writing.Part(None, graph).batches(PhysicalType.TRIPLES, terms.EncoderTerms())
    found = list(chain.from_iterable(batches))
    assert len(found) == len(graph)
    return set(found)


# Each a new object, so that equal terms are not the same object.
_MAKERS: list[Any] = [
    lambda: URIRef("urn:a"),
    lambda: URIRef("urn:b"),
    lambda: BNode("b"),
    lambda: Literal("x"),
    lambda: Literal("x", lang="en"),
    lambda: Literal("x", lang="EN"),
    lambda: Literal("1", datatype=rdflib.XSD.integer),
    lambda: Literal("1", datatype=URIRef("urn:d")),
]
term = st.sampled_from(_MAKERS).map(lambda make: make())
shared = st.sampled_from([make() for make in _MAKERS])
quad = st.tuples(*[term | shared] * 3, st.integers(0, 2))


@pytest.mark.usefixtures("writer")
@settings(deadline=None, max_examples=60)
@given(
    before=st.lists(quad, max_size=4),
    batches=st.lists(st.lists(quad, max_size=6), max_size=3),
    removed=st.lists(quad, max_size=3),
)
def test_a_store_is_as_if_its_own_methods_had_been_called(
    before: list[Any], batches: list[list[Any]], removed: list[Any]
) -> None:
    stores = Memory(), Memory()
    graphs = [[Graph(store, name) for name in NAMES] for store in stores]
    for store, own in zip(stores, graphs, strict=True):
        for s, p, o, g in before:
            store.add((s, p, o), own[g])
    for batch in batches:
        for s, p, o, g in batch:
            stores[0].add((s, p, o), graphs[0][g])
        add_statements(stores[1], graphs[1].__getitem__, batch)
    assert state(stores[0]) == state(stores[1])
    for pattern in ((None, None, None), (None, URIRef("urn:a"), None), (None, None, Literal("x"))):
        for one, other in zip(*graphs, strict=True):
            assert len(one) == len(other)
            assert set(one.triples(pattern)) == set(other.triples(pattern))
            assert read(one) == read(other)
    for s, p, o, g in removed:
        for store, own in zip(stores, graphs, strict=True):
            store.remove((s, p, o), own[g])
        assert state(stores[0]) == state(stores[1])


@pytest.mark.usefixtures("writer")
def test_terms_come_in_the_order_in_which_they_were_added() -> None:
    slow, fast = Graph(), Graph()
    triples = [
        (URIRef(f"urn:s{n % 3}"), URIRef(f"urn:p{n % 5}"), Literal(n)) for n in range(30, 0, -1)
    ]
    for triple in triples:
        slow.add(triple)
    add_statements(fast.store, lambda _: fast, triples[:])
    for pattern in ((triples[0][0], None, None), (None, triples[0][1], None)):
        assert list(slow.triples(pattern)) == list(fast.triples(pattern))
    assert to_bytes(slow) == to_bytes(fast)


class BrokenError(Exception):
    pass


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("enabled", [True, False])
def test_the_garbage_collector_is_left_as_it_was(enabled: bool) -> None:
    running = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        graph = Graph()
        parse(graph, jelly([Triple(S, P, O)], options=TRIPLES))
        assert gc.isenabled() is enabled

        def broken(_: object) -> Graph:
            assert not gc.isenabled()
            raise BrokenError

        with pytest.raises(BrokenError):
            add_statements(graph.store, broken, [(S, P, O)])
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if running else gc.disable)()


@pytest.mark.usefixtures("writer")
def test_the_garbage_collector_visits_few_dictionaries_and_still_frees_a_graph() -> None:
    triples = [Triple(Iri(f"urn:s{n % 10}"), P, JellyLiteral(str(n))) for n in range(1000)]
    data = jelly(triples, options=TRIPLES)
    gc.collect()
    before = len(gc.get_objects())
    graph = parse(Graph(), data)
    gc.collect()
    # Three for each triple, if rdflib had added them. Python 3.14 tracks every dictionary.
    assert sys.version_info >= (3, 14) or len(gc.get_objects()) - before < 500
    store: Any = graph.store
    subject = URIRef("urn:s1")
    # A formula holds the store.
    formula = QuotedGraph(store, BNode())
    graph.add((subject, RDF.value, formula))
    graph.add((formula, RDF.value, Literal("1")))
    gone = weakref.ref(store)
    del graph, store, formula
    gc.collect()
    assert gone() is None


# When it is left alone


@pytest.mark.parametrize("watched", ["event", "method", "class"])
def test_each_triple_is_reported_where_that_is_asked_for(watched: str) -> None:
    seen: list[Any] = []

    def add(store: Memory, *arguments: Any, **settings: Any) -> None:
        seen.append(arguments)
        Memory.add(store, *arguments, **settings)

    graph = Graph(type("Own", (Memory,), {"add": add})() if watched == "class" else "default")
    if watched == "event":
        graph.store.dispatcher.subscribe(TripleAddedEvent, seen.append)
    elif watched == "method":
        graph.store.add = partial(add, graph.store)  # type: ignore[method-assign, arg-type]
    assert len(parse(graph, jelly([Triple(S, P, O)], options=TRIPLES))) == len(seen) == 1


@pytest.mark.parametrize("methods", [("add",), ("addN",), ("add", "addN")])
def test_methods_that_a_subclass_overrides_are_called(methods: Any, store: str) -> None:
    called: list[str] = []

    def add(self: Any, triple: Any) -> Any:
        called.append("add")
        return Graph.add(self, triple)

    def add_n(self: Any, quads: Any) -> Any:
        called.append("addN")
        return Graph.addN(self, quads)

    own = {"add": add, "addN": add_n}
    kind = type("Own", (Graph,), {name: own[name] for name in methods})
    graph = parse(kind(store=store), jelly([Triple(S, P, O), Triple(S, P, S)], options=TRIPLES))
    assert len(graph) == 2
    assert called == (["add"] * 2 if methods == ("add",) else ["addN"])


# Reading


@pytest.mark.usefixtures("half")
def test_statements_are_written_graph_by_graph_and_subject_by_subject() -> None:
    dataset = Dataset()
    for n in range(200):
        subject = BNode(f"b{n % 7}") if n % 3 else URIRef(f"urn:s{n % 11}")
        value = Literal(f"{n % 17}", lang="en") if n % 2 else Literal(n % 5)
        name = DATASET_DEFAULT_GRAPH_ID if n < 120 else NAMES[n % 3]
        dataset.get_context(name).add((subject, URIRef(f"urn:p{n % 4}"), value))
    dataset.get_context(NAMES[1]).remove((None, URIRef("urn:p1"), None))
    dataset.graph(URIRef("urn:empty"))
    data = to_bytes(dataset)
    found = list(read_quads(data, blank_nodes="keep"))
    assert len(found) == len(set(found))
    assert quads_of(parse(Dataset(), data, blank_nodes="keep")) == quads_of(dataset)
    runs = [key for key, _ in groupby(found, key=itemgetter(3, 0))]
    assert len(runs) == len(set(runs))
    assert to_bytes(dataset) == data


@pytest.mark.usefixtures("half")
def test_a_graph_may_change_while_it_is_written() -> None:
    graph = Graph()
    for n in range(5000):
        graph.add((URIRef(f"urn:s{n}"), RDF.value, Literal(n)))
    frames = writing.encode_graph(writing.parts_of(graph), TRIPLES, WriteSettings(frame_rows=100))
    first = next(frames)
    graph.remove((URIRef("urn:s4999"), None, None))
    graph.add((URIRef("urn:new"), RDF.value, Literal("new")))
    assert len(first) + sum(map(len, frames)) > 0


@pytest.mark.usefixtures("half")
def test_what_is_no_term_is_rejected_when_it_is_written() -> None:
    graph = Graph()
    graph.add((URIRef("urn:s"), RDF.value, Graph()))  # type: ignore[arg-type]
    with pytest.raises(JellyError, match="is not an RDF term"):
        to_bytes(graph)
