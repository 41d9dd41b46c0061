"""Recording what changes a graph, through any of its interfaces."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Store
from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef, Variable, namespace
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.namespace import OWL, Namespace

from jelly_plugins import Iri, OptionsError, TermError, Triple
from jelly_plugins.codec.text.ntriples import term_text
from jelly_plugins.oxigraph import replay as replay_into_oxigraph
from jelly_plugins.patch import compact, invert, read_patches, undo
from jelly_plugins.patch.recording import LogWriter
from jelly_plugins.rdflib import positions, record, replay

from ..patch.targets import GRAPHS
from .support import jelly
from .test_replay import FILLING, G, O, P, S, patch, quads, state, triples

pytestmark = pytest.mark.filterwarnings("ignore:.*(Conjunctive|default_context|Dataset.contexts).*")

ONE, TWO = Literal(1), Literal(2)
JELLY = Triple(*map(Iri, ("urn:jelly", "urn:p", "urn:o")))

#: Graphs that can be recorded.
MAKERS = {
    name: make
    for name, make in GRAPHS.items()
    if not name.startswith("Conjunctive") and "Oxigraph" not in name
}


@pytest.fixture(params=MAKERS)
def graph(request: pytest.FixtureRequest) -> Graph:
    """A graph of any kind."""
    return MAKERS[request.param]()


@pytest.fixture(params=["jellyp", "rdfp"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"log.{request.param}"


def codes(path: Path) -> list[str]:
    """What each patch of a log does."""
    return [
        " ".join(each.kind.code for each in patch if each.value is not None)
        for patch in read_patches(path)
    ]


def contents(graph: Graph) -> set[Any]:
    return quads(graph) if isinstance(graph, ConjunctiveGraph) else triples(graph)


def check(graph: Graph, path: Path, before: set[Any] = frozenset()) -> None:  # type: ignore[assignment]
    """Replaying the log on what was there before gives what there is."""
    copy: Any = Dataset() if isinstance(graph, ConjunctiveGraph) else Graph()
    for statement in before:
        copy.add(statement)
    replay(copy, path, check_unmatched=True)
    assert contents(copy) == contents(graph)


def test_changes_in_a_block(graph: Graph, path: Path) -> None:
    with record(graph, path) as recorder:
        recorder.graph.add((S, P, ONE))
        if type(graph) is Graph:
            recorder.graph.addN([(S, P, each, recorder.graph) for each in (ONE, TWO, O)])
        recorder.graph.add((S, P, BNode("b")))
        recorder.graph.remove((S, P, ONE))
        recorder.graph.update("INSERT { ?s <urn:q> ?o, [] } WHERE { ?s <urn:p> ?o }")
        recorder.graph.parse(data="<urn:parsed> <urn:p> <urn:o> .", format="turtle")
        # Which goes into the indices of a store in memory elsewhere.
        recorder.graph.parse(data=jelly([JELLY]), format="jelly-plugins")
        recorder.graph.bind("ex", URIRef("http://example.org/"))
    assert len(codes(path)) == 1
    check(graph, path)
    assert {(URIRef(f"urn:{each}"), P, O) for each in ("parsed", "jelly")} < triples(graph)
    # Nothing is recorded any more.
    size = path.stat().st_size
    graph.add((S, P, Literal("later")))
    assert path.stat().st_size == size


def test_commits_outside_of_a_block(graph: Graph, path: Path) -> None:
    recorder = record(graph, path)
    recorded = recorder.graph
    recorded.add((S, P, ONE))
    recorder.commit()
    recorded.add((S, P, ONE))
    recorder.commit()
    recorded.add((S, P, TWO))
    recorder.commit()
    recorded.update(
        "DELETE { ?s ?p ?o } INSERT { ?s ?p 3 } WHERE { ?s ?p ?o FILTER(?o = 1 && ?p = <urn:p>) }"
    )
    recorder.commit()
    recorded.remove((None, P, TWO))
    recorded.remove((None, P, TWO))
    # What is made through the graph itself is not recorded.
    graph.add((S, P, O))
    graph.remove((S, P, O))
    # Nothing is lost where the last commit is missing.
    recorder.close()
    assert codes(path) == ["A", "A", "D A", "D"]
    check(graph, path)
    assert triples(graph) == {(S, P, Literal(3))}


def test_whole_graphs(path: Path) -> None:
    dataset = Dataset()
    named = dataset.graph(G)
    named.add((S, P, ONE))
    with record(dataset, path) as recorder:
        recorder.graph.update("CLEAR GRAPH <urn:g>")
        recorder.commit()
        recorder.graph.graph(G).add((S, P, TWO))
        recorder.commit()
        recorder.graph.update("MOVE <urn:g> TO <urn:h>")
        recorder.commit()
        recorder.graph.remove_graph(URIRef("urn:h"))
        recorder.commit()
        recorder.graph.update(
            "INSERT { <urn:s> <urn:p> 1 GRAPH <urn:g> { <urn:s> <urn:p> 1 } } WHERE {}"
        )
        recorder.commit()
        recorder.graph.update("DROP ALL")
        recorder.commit()
        for each in (G, URIRef("urn:h")):
            recorder.graph.graph(each).add((S, P, ONE))
        recorder.commit()
        # The graphs that the recorder gives are recorded, too.
        for each in recorder.graph.graphs():
            each.add((S, P, TWO))
        recorder.graph.get_graph(G).add((S, P, O))
    assert codes(path) == ["D", "A", "A D", "D", "A A", "D D", "A A", "A A A A"]
    check(dataset, path, {(S, P, ONE, G)})
    assert all(each.store is dataset.store for each in dataset.store.contexts())


def test_only_the_graph_itself(path: Path) -> None:
    dataset = Dataset()
    one = dataset.graph(G)
    with record(one, path) as recorder:
        store = recorder.graph.store
        Graph(store, URIRef("urn:h")).add((S, P, ONE))
        Graph(store, DATASET_DEFAULT_GRAPH_ID).add((S, P, ONE))
        Graph(store, G).add((S, P, TWO))
    assert codes(path) == ["A"]
    check(one, path)
    assert sum(1 for _ in dataset.quads()) == 3


def test_namespaces(path: Path) -> None:
    graph = Graph()
    with record(graph, path) as recorder:
        recorder.graph.bind("ex", Namespace("http://example.org/"))
        recorder.commit()
        recorder.graph.bind("ex", Namespace("http://example.com/"), replace=True)
        recorder.commit()
        recorder.graph.bind("other", Namespace("http://example.com/"))
    assert codes(path) == ["PA", "PD PA", "PD PA"]
    copy = Graph()
    replay(copy, path)
    found = dict(copy.namespaces())
    assert found == dict(graph.namespaces())
    assert "ex" not in found
    assert found["other"] == URIRef("http://example.com/")


def test_rebound_namespaces_are_undone(path: Path) -> None:
    graph, copy = Graph(), Graph()
    before = dict(copy.namespaces())
    with record(graph, path) as recorder:
        # rdflib's own owl: goes, since it lets an IRI have one name.
        recorder.graph.bind("mine", OWL, replace=True)
        recorder.graph.bind("rdf", Namespace("urn:rdf:"), replace=True)
    replay(copy, path)
    assert dict(copy.namespaces()) == dict(graph.namespaces()) != before
    inverted = invert(compact(read_patches(path), exact=True))
    assert replay(copy, [inverted], check_prev=False, name="inverse").operations == 4
    assert dict(copy.namespaces()) == before


def change_all(graph: Graph) -> None:
    graph.add((S, P, TWO))
    # Equal to the literals that are there.
    graph.remove((S, P, Literal("x", lang="EN")))
    graph.remove((S, None, Literal("y", lang="EN")))
    graph.remove((None, None, None))
    graph.add((S, P, BNode("new")))
    graph.bind("x", URIRef("urn:other"), replace=True)
    if isinstance(graph, ConjunctiveGraph):
        Graph(graph.store, URIRef("urn:new")).add((S, P, ONE))
        graph.update("CLEAR ALL")


def test_an_exception_and_a_log_that_cannot_be_written_undo_a_transaction(
    graph: Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in "xy":
        graph.add((S, P, Literal(text, lang="en")))
    replay(graph, patch(1, *FILLING))
    before = state(graph)

    def fail(*_: object) -> int:
        raise OSError("the disk is full")

    def block(error: type[Exception] | None) -> None:
        with record(graph, path) as recorder:
            opening.append(path.read_bytes())
            change_all(recorder.graph)
            if error is not None:
                raise error

    opening: list[bytes] = []
    with pytest.raises(InterruptedError):
        block(InterruptedError)
    assert state(graph) == before
    # Language tags that differ in case are equal, and restored as they were.
    assert {'"x"@en', '"y"@en'} < {term.n3() for term in graph.objects()}
    assert [path.read_bytes()] == opening
    monkeypatch.setattr(LogWriter, "append", fail)
    with pytest.raises(OSError, match="full"):
        block(None)
    assert state(graph) == before
    recorder = record(graph, path)
    recorder.graph.add((S, P, TWO))
    with pytest.raises(OSError, match="full"):
        recorder.commit()
    recorder.close()
    assert state(graph) == before
    assert codes(path) == []


@pytest.mark.parametrize("name", ["Graph", "Dataset", "Graph, SimpleMemory"])
def test_a_term_that_is_none(name: str, path: Path) -> None:
    graph = MAKERS[name]()
    recorder = record(graph, path)
    recorder.graph.add((S, P, ONE))
    recorder.commit()
    before = state(graph)
    recorder.graph.add((S, P, Variable("x")))
    with pytest.raises(TermError):
        recorder.commit()
    assert state(graph)[:3] == before[:3]
    recorder.graph.add((S, P, TWO))
    recorder.close()
    assert codes(path) == ["A", "A"]
    check(graph, path)


@pytest.mark.parametrize("name", ["Graph", "Dataset", "Dataset, union", "graph of a Dataset"])
def test_changes_of_the_graph_itself_are_not_taken_for_recorded_ones(name: str, path: Path) -> None:
    graph = MAKERS[name]()
    with pytest.raises(OptionsError, match="change the recorder's graph"), record(graph, path):
        graph.add((S, P, ONE))


def test_what_cannot_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"rdflib\.Dataset"):
        record(ConjunctiveGraph(), tmp_path / "log.jellyp")
    for make in (Graph, Dataset):
        with pytest.raises(OptionsError, match=r"jelly_plugins\.oxigraph\.record\(store"):
            record(make("Oxigraph"), tmp_path / "log.jellyp")
    with record(Graph(), tmp_path / "log.jellyp") as recorder:
        for act in (
            lambda: record(recorder.graph, tmp_path / "other.jellyp"),
            lambda: replay(recorder.graph, b""),
            lambda: positions(recorder.graph),
        ):
            with pytest.raises(OptionsError, match="being recorded"):
                act()


def test_a_recorder_that_was_not_closed(graph: Graph, path: Path) -> None:
    recorder = record(graph, path)
    recorder.graph.add((S, P, O))
    recorder.commit()
    del recorder
    gc.collect()
    assert replay(graph, path).patches == 0
    with record(graph, path) as recorder:
        recorder.graph.add((S, P, ONE))
    assert codes(path) == ["A", "A"]
    assert [each.patch for each in positions(graph)] == [term_text(list(read_patches(path))[-1].id)]


def test_into_oxigraph(path: Path) -> None:
    dataset = Dataset()
    with record(dataset, path) as recorder:
        recorder.graph.parse(
            data="@prefix : <urn:> . :s :p 1.0, 'x'@en, [ :q () ] . :g { :s :p _:b }", format="trig"
        )
    store = Store()
    replay_into_oxigraph(store, path, check_unmatched=True)
    copy: Any = Dataset()
    replay(copy, path)
    assert len(quads(copy)) == len(store) - 1 - sum(
        "prefix" in str(quad.predicate) for quad in store
    )


@pytest.mark.parametrize("name", ["Graph", "Dataset", "graph of a Dataset"])
def test_a_rollback_keeps_what_others_have_added(name: str, path: Path) -> None:
    graph = MAKERS[name]()
    recorder = record(graph, path)
    recorder.graph.add((S, P, ONE))
    graph.add((S, P, TWO))
    recorder.rollback()
    recorder.close()
    assert triples(graph) == {(S, P, TWO)}


@pytest.mark.parametrize("update", ["DROP GRAPH <urn:empty>", "DROP ALL", "CLEAR ALL"])
def test_a_rollback_restores_empty_graphs(update: str, path: Path) -> None:
    dataset = Dataset()
    dataset.graph(URIRef("urn:empty"))
    dataset.graph(G).add((S, P, ONE))
    with record(dataset, path) as recorder:
        recorder.graph.update(update)
        recorder.rollback()
    # The default graph is always there, whether rdflib's store in memory lists it or not.
    names = {each.identifier for each in dataset.store.contexts()}
    assert names - {DATASET_DEFAULT_GRAPH_ID} == {URIRef("urn:empty"), G}
    assert quads(dataset) == {(S, P, ONE, G)}


_FORM = Literal("01", datatype=namespace.XSD.integer, normalize=False)


def test_literals_are_added_in_the_form_of_the_log(path: Path) -> None:
    graph, replica = Graph(), Graph()
    with record(graph, path) as recorder:
        recorder.graph.update("INSERT DATA { <urn:s> <urn:p> 01 }")
        recorder.graph.add((S, P, ONE))
        recorder.graph.add((S, P, Literal("x", datatype=namespace.XSD.string)))
        assert (S, P, _FORM) in recorder.graph
        assert (None, P, _FORM) in recorder.graph
    assert triples(graph) == {(S, P, ONE), (S, P, Literal("x"))}
    replay(replica, path, check_unmatched=True)
    undo(path)
    for each in (graph, replica):
        replay(each, path, check_unmatched=True)
        assert len(each) == 0


def test_forms_that_were_there_before(path: Path) -> None:
    graph, replica = Graph(), Graph()
    graph.add((S, P, _FORM))
    replica.add((S, P, ONE))
    with record(graph, path) as recorder:
        for change in (
            lambda: recorder.graph.add((S, P, _FORM)),
            lambda: recorder.graph.add((S, P, ONE)),
            lambda: recorder.graph.remove((S, P, _FORM)),
            lambda: recorder.graph.remove((None, P, _FORM)),
        ):
            change()
            recorder.commit()
            replay(replica, path)
            assert (len(replica) > 0) == (len(graph) > 0)
    assert len(graph) == 0


@pytest.mark.parametrize("bound", ["none", "rdflib"])
def test_a_recorder_binds_no_namespaces(tmp_path: Path, bound: Any) -> None:
    graph = Graph(bind_namespaces=bound)
    before = dict(graph.namespaces())
    with record(graph, tmp_path / "log.jellyp") as recorder:
        assert dict(recorder.graph.namespaces()) == dict(graph.namespaces()) == before
        recorder.graph.bind("x", "urn:x:")
    assert dict(graph.namespaces()) == before | {"x": URIRef("urn:x:")}
    copy = Graph(bind_namespaces="none")
    assert replay(copy, tmp_path / "log.jellyp").operations == 1
    assert dict(copy.namespaces()) == {"x": URIRef("urn:x:")}
