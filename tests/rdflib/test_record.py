"""Recording what changes a graph, whoever changes it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Store
from rdflib import BNode, ConjunctiveGraph, Dataset, Graph, Literal, URIRef, Variable, namespace
from rdflib.namespace import Namespace

from jelly_plugins import ChainError, OptionsError, SourceError, TermError
from jelly_plugins.codec import Iri, Triple
from jelly_plugins.oxigraph import BOOKKEEPING
from jelly_plugins.oxigraph import replay as replay_into_oxigraph
from jelly_plugins.patch import Patch, add, invert, read_patches, write_patches
from jelly_plugins.patch.recording import LogWriter
from jelly_plugins.patch.replay.locks import lock_of
from jelly_plugins.rdflib import GraphRecorder, positions, record, replay, set_position
from jelly_plugins.rdflib.callers import default_graph
from jelly_plugins.rdflib.oxigraph_store import graph_name, inner_store_of
from jelly_plugins.rdflib.terms import read_form

from .test_replay import FILLING, MAKERS, G, O, P, S, patch, quads, state, triples

pytestmark = pytest.mark.filterwarnings("ignore:.*(Conjunctive|default_context|Dataset.contexts).*")

ONE, TWO = Literal(1), Literal(2)


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
    replay(copy, path, strict=True)
    assert contents(copy) == contents(graph)


def test_changes_in_a_block(graph: Graph, path: Path) -> None:
    with record(graph, path) as recorder:
        graph.add((S, P, ONE))
        graph.addN([(S, P, each, graph) for each in (ONE, TWO, O)] if type(graph) is Graph else [])
        recorder.add((S, P, BNode("b")))
        graph.remove((S, P, ONE))
        graph.update("INSERT { ?s <urn:q> ?o, [] } WHERE { ?s <urn:p> ?o }")
        graph.parse(data="<urn:parsed> <urn:p> <urn:o> .", format="turtle")
        graph.bind("ex", URIRef("http://example.org/"))
    assert len(codes(path)) == 1
    check(graph, path)
    assert (URIRef("urn:parsed"), P, O) in graph
    # Nothing is recorded any more.
    size = path.stat().st_size
    graph.add((S, P, Literal("later")))
    assert path.stat().st_size == size


def test_methods_of_the_recorder_are_transactions(graph: Graph, path: Path) -> None:
    recorder = record(graph, path)
    recorder.add((S, P, ONE))
    recorder.add((S, P, ONE))
    recorder.add((S, P, TWO))
    recorder.update(
        "DELETE { ?s ?p ?o } INSERT { ?s ?p 3 } WHERE { ?s ?p ?o FILTER(?o = 1 && ?p = <urn:p>) }"
    )
    recorder.remove((None, P, TWO))
    recorder.remove((None, P, TWO))
    graph.add((S, P, O))
    graph.remove((S, P, O))
    recorder.close()
    assert codes(path) == ["A", "A", "D A", "D"]
    check(graph, path)
    assert triples(graph) == {(S, P, Literal(3))}


def test_a_dataset(path: Path) -> None:
    for maker in ("Dataset", "Dataset, union", "Dataset, Oxigraph", "ConjunctiveGraph"):
        dataset: Any = MAKERS[maker]()
        with record(dataset, path) as recorder:
            named = Graph(dataset.store, G)
            named.add((S, P, ONE))
            Graph(dataset.store, BNode("g")).add((S, P, ONE))
            dataset.add((S, P, ONE))
            dataset.addN([(S, P, TWO, named), (S, P, O, dataset.default_context)])
            recorder.commit()
            named.remove((None, None, ONE))
            dataset.update("INSERT DATA { GRAPH <urn:h> { <urn:s> <urn:p> 1 } }")
            recorder.commit()
            # From every graph.
            dataset.remove((S, P, None))
        assert codes(path)[0] == "A A A A A"
        assert len(codes(path)) == 3
        check(dataset, path)
        path.unlink()


def test_whole_graphs(path: Path) -> None:
    dataset = Dataset()
    named = dataset.graph(G)
    named.add((S, P, ONE))
    with record(dataset, path) as recorder:
        dataset.update("CLEAR GRAPH <urn:g>")
        recorder.commit()
        named.add((S, P, TWO))
        recorder.commit()
        dataset.update("MOVE <urn:g> TO <urn:h>")
        recorder.commit()
        dataset.remove_graph(URIRef("urn:h"))
        recorder.commit()
        dataset.update("INSERT { <urn:s> <urn:p> 1 GRAPH <urn:g> { <urn:s> <urn:p> 1 } } WHERE {}")
        recorder.commit()
        dataset.update("DROP ALL")
    assert codes(path) == ["D", "A", "A D", "D", "A A", "D D"]
    check(dataset, path, {(S, P, ONE, G)})


def test_updates_of_an_oxigraph_store(path: Path) -> None:
    dataset: Any = Dataset(store="Oxigraph")
    dataset.bind("u", URIRef("urn:"))
    with record(dataset, path) as recorder:
        dataset.update("INSERT DATA { u:s u:p 1, _:b GRAPH u:g { u:s u:p 2 } }")
        recorder.commit()
        before = quads(dataset)
        dataset.update("DELETE { ?s ?p ?o } INSERT { GRAPH u:h { ?s ?p ?o } } WHERE { ?s ?p ?o }")
        assert quads(dataset) != before
        recorder.rollback()
        assert quads(dataset) == before
        with pytest.raises(SyntaxError):
            dataset.update("nonsense")
        dataset.update("DELETE WHERE { ?s u:p 1 }; INSERT { ?s u:q ?o } WHERE { ?s u:p ?o }")
        recorder.commit()
        with pytest.raises(TermError, match="quoted"):
            dataset.update("INSERT DATA { u:s u:p <<( u:s u:p u:o )>> }")
        # In rdflib's engine, because of its bindings.
        dataset.update(
            "DELETE { ?s u:q ?o } INSERT { GRAPH u:i { ?s u:q ?o } } WHERE { ?s u:q ?o }",
            initBindings={"s": S},
        )
    assert codes(path) == ["A A A", "D A", "D A"]
    check(dataset, path)


def test_only_the_graph_itself(path: Path) -> None:
    dataset = Dataset()
    one, other = dataset.graph(G), dataset.graph(URIRef("urn:h"))
    with record(one, path):
        other.add((S, P, ONE))
        default_graph(dataset).add((S, P, ONE))
        Graph(dataset.store, G).add((S, P, TWO))
        dataset.remove((S, P, ONE))
    assert codes(path) == ["A"]
    check(one, path)


def test_what_changes_nothing_is_no_patch(graph: Graph, path: Path) -> None:
    graph.add((S, P, ONE))
    with record(graph, path):
        graph.add((S, P, ONE))
        graph.remove((S, P, TWO))
        graph.add((S, P, TWO))
        graph.remove((S, P, TWO))
        graph.remove((S, P, ONE))
        graph.add((S, P, ONE))
        # The first use of rdflib's own namespaces binds them.
        graph.serialize(format="nt")
        _ = graph.namespace_manager.qname("urn:x")
    assert path.stat().st_size == 0 or codes(path) == ["PA"]


def test_namespaces(path: Path) -> None:
    graph = Graph()
    with record(graph, path) as recorder:
        graph.bind("ex", Namespace("http://example.org/"))
        recorder.commit()
        graph.bind("ex", Namespace("http://example.com/"), replace=True)
        recorder.commit()
        graph.bind("other", Namespace("http://example.com/"))
    assert codes(path) == ["PA", "PA", "PD PA"]
    copy = Graph()
    replay(copy, path)
    found = dict(copy.namespaces())
    assert "ex" not in found
    assert found["other"] == URIRef("http://example.com/")


def change_all(graph: Graph) -> None:
    graph.add((S, P, TWO))
    graph.remove((None, None, None))
    graph.add((S, P, BNode("new")))
    graph.bind("x", URIRef("urn:other"), replace=True)
    if isinstance(graph, ConjunctiveGraph):
        Graph(graph.store, URIRef("urn:new")).add((S, P, ONE))
        graph.update("CLEAR ALL")


def test_an_exception_takes_it_all_back(graph: Graph, path: Path) -> None:
    replay(graph, patch(1, *FILLING))
    before = state(graph)

    def block() -> None:
        with record(graph, path):
            change_all(graph)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        block()
    assert state(graph) == before
    assert path.stat().st_size == 0


def test_a_log_that_cannot_be_written(
    graph: Graph, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replay(graph, patch(1, *FILLING))
    before = state(graph)

    def fail(*_: object) -> int:
        raise OSError("the disk is full")

    def block() -> None:
        with record(graph, path):
            change_all(graph)

    monkeypatch.setattr(LogWriter, "append", fail)
    with pytest.raises(OSError, match="full"):
        block()
    assert state(graph) == before
    recorder = record(graph, path)
    with pytest.raises(OSError, match="full"):
        recorder.add((S, P, TWO))
    recorder.close()
    assert state(graph) == before


@pytest.mark.parametrize("name", ["Graph", "Dataset", "Graph, SimpleMemory"])
def test_a_term_that_is_none(name: str, path: Path) -> None:
    graph = MAKERS[name]()
    recorder = record(graph, path)
    recorder.add((S, P, ONE))
    before = state(graph)
    with pytest.raises(TermError):
        recorder.add((S, P, Variable("x")))
    assert state(graph)[:3] == before[:3]
    recorder.add((S, P, TWO))
    recorder.close()
    assert codes(path) == ["A", "A"]
    check(graph, path)


def test_the_store_has_its_own_methods_again(graph: Graph, path: Path) -> None:
    methods = dict(graph.store.__dict__)
    with record(graph, path):
        assert set(graph.store.__dict__) > set(methods)
    assert {key for key in graph.store.__dict__ if key in ("add", "addN", "remove", "update")} == {
        key for key in methods if key in ("add", "addN", "remove", "update")
    }


def test_two_recorders(graph: Graph, path: Path) -> None:
    with record(graph, path):
        with pytest.raises(SourceError, match="someone else"):
            record(graph, path)
        other = record(graph, path.with_stem("other"))
        with pytest.raises(ValueError, match="already"):
            other.add((S, P, O))
        other.close()
        graph.add((S, P, ONE))
    check(graph, path)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_block_in_a_block_leaves_the_first_as_it_is(
    graph: Graph, path: Path, elsewhere: bool
) -> None:
    refused: list[str] = []

    def enter() -> None:
        with pytest.raises(ValueError, match="already") as error, recorder:
            graph.add((S, P, TWO))
        refused.append(str(error.value))

    recorder = record(graph, path)
    with recorder:
        graph.add((S, P, ONE))
        graph.bind("ex", "urn:ex")
        if elsewhere:
            thread = threading.Thread(target=enter)
            thread.start()
            thread.join()
        else:
            enter()
        graph.add((S, P, O))
    assert len(refused) == 1
    assert codes(path) == ["PA A A"]
    check(graph, path)


def test_a_change_of_another_thread_while_a_block_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits until what the block has changed is in the log."""
    graph = Graph()
    recorder = record(graph, path)
    commit = recorder.commit
    waits: list[bool] = []

    def add() -> None:
        waits.append(not moving.acquire(blocking=False))
        if not waits[-1]:
            moving.release()
            recorder.add((S, P, TWO))

    def commit_late() -> None:
        if not waits:
            thread = threading.Thread(target=add)
            thread.start()
            thread.join()
        commit()

    moving = lock_of(graph.store)
    monkeypatch.setattr(recorder, "commit", commit_late)
    with recorder:
        graph.add((S, P, ONE))
    assert waits == [True]
    check(graph, path)


def test_a_graph_that_somebody_else_has_moved(graph: Graph, path: Path) -> None:
    first, second, third = ((URIRef("urn:s"), URIRef("urn:p"), Literal(n)) for n in range(3))
    with record(graph, path) as recorder:
        graph.add(first)
        recorder.commit()
        [position] = positions(graph)
        set_position(graph, replace(position, patch="<urn:other>", number=2))
        graph.add(second)
        with pytest.raises(ChainError, match=r"stands at patch <urn:other> in log .* at work"):
            recorder.commit()
        assert second not in graph
        set_position(graph, position)
        graph.add(third)
    assert len(list(read_patches(path))) == 2


def test_a_change_waits_for_whoever_else_moves_the_graph(graph: Graph, path: Path) -> None:
    errors: list[Exception] = []

    def change(recorder: GraphRecorder) -> None:
        try:
            recorder.add((S, P, Literal(2)))
        except ChainError as error:
            errors.append(error)

    inner = inner_store_of(graph.store)
    with contextlib.closing(record(graph, path)) as recorder:
        recorder.add((S, P, Literal(1)))
        [position] = positions(graph)
        thread = threading.Thread(target=change, args=(recorder,))
        with lock_of(graph.store if inner is None else inner):
            thread.start()
            thread.join(0.1)
            assert thread.is_alive()
            # Whoever has the lock may take it again.
            set_position(graph, replace(position, patch="<urn:other>", number=2))
        thread.join()
    assert "at work" in str(errors[0])
    assert len(list(read_patches(path))) == 1


def test_a_replay_of_another_log_while_changes_are_recorded(tmp_path: Path) -> None:
    """Each of both has a lock that the other one needs."""
    graph = Graph()
    other = [Patch([add(Triple(Iri("urn:s"), Iri("urn:p"), Iri(f"urn:{n}")))]) for n in range(300)]
    with record(graph, tmp_path / "log.jellyp") as recorder:
        thread = threading.Thread(target=replay, args=(graph, other))
        thread.start()
        for number in range(300):
            recorder.add((S, P, Literal(number)))
            recorder.commit()
        thread.join()
    assert len(graph) == 600
    check(graph, tmp_path / "log.jellyp")


def test_a_recorder_that_is_closed(graph: Graph, path: Path) -> None:
    with record(graph, path) as recorder:
        graph.add((S, P, ONE))
    before = contents(graph), path.read_bytes()
    for change in (
        lambda: recorder.add((S, P, TWO)),
        lambda: recorder.remove((S, P, None)),
        lambda: recorder.update("CLEAR ALL"),
        recorder.__enter__,
    ):
        with pytest.raises(SourceError, match=r"log\.\w+: .*closed"):
            change()
    recorder.close()
    graph.add((S, P, TWO))
    graph.remove((S, P, TWO))
    assert (contents(graph), path.read_bytes()) == before


def test_going_on(graph: Graph, path: Path) -> None:
    for number in range(4):
        with record(graph, path):
            graph.add((S, P, Literal(number)))
            graph.remove((S, P, Literal(number - 2)))
    assert len(codes(path)) == 4
    check(graph, path)
    assert [each.number for each in positions(graph)] == [4]
    # The graph has it all.
    assert replay(graph, path).patches == 0


def test_a_graph_that_is_behind(graph: Graph, path: Path) -> None:
    other: Any = Dataset() if isinstance(graph, ConjunctiveGraph) else Graph()
    with record(other, path):
        other.add((S, P, ONE))
    with record(graph, path):
        assert contents(graph) == contents(other)
        graph.add((S, P, TWO))
    check(graph, path)


def test_undone(path: Path) -> None:
    graph = Graph()
    graph.add((S, P, ONE))
    with record(graph, path):
        graph.add((S, P, ONE))
        graph.update("DELETE { ?s ?p ?o } INSERT { ?s ?p 2, [] } WHERE { ?s ?p ?o }")
    write_patches(map(invert, read_patches(path)), path.with_stem("undo"))
    replay(graph, path.with_stem("undo"), check_prev=False, strict=True)
    assert set(graph) == {(S, P, ONE)}


def test_into_oxigraph(path: Path) -> None:
    dataset = Dataset()
    with record(dataset, path):
        dataset.parse(
            data="@prefix : <urn:> . :s :p 1.0, 'x'@en, [ :q () ] . :g { :s :p _:b }", format="trig"
        )
    store = Store()
    replay_into_oxigraph(store, path, strict=True)
    copy: Any = Dataset()
    replay(copy, path)
    assert len(quads(copy)) == len(store) - 1 - sum(
        "prefix" in str(quad.predicate) for quad in store
    )


_DECIMALS = [Literal(form, datatype=namespace.XSD.decimal) for form in ("1", "1.0", "1.00", "+1.0")]
#: Forms of few literals, each of which is one literal for some stores, and several for others.
_FORMS = [
    *_DECIMALS,
    *(Literal(form, datatype=namespace.XSD.integer) for form in ("1", "01")),
    *(Literal(form, datatype=namespace.XSD.int) for form in ("1", "2")),
    *(Literal(form, datatype=namespace.XSD.double) for form in ("1", "1.0", "1e0", "INF")),
    *(Literal("x", lang=tag) for tag in ("EN-gb", "en-GB")),
    Literal("x"),
    Literal("x", datatype=namespace.XSD.string),
    Literal("1", datatype=namespace.XSD.boolean),
    Literal("P12M", datatype=namespace.XSD.duration),
    Literal("0a", datatype=namespace.XSD.hexBinary),
    BNode("label-612062"),
]
#: What only a store that has forms of its own makes one of.
_UNUSUAL = [
    Literal(form, datatype=datatype, normalize=False)
    for datatype, forms in (
        (namespace.XSD.integer, ("01", "+1")),
        (namespace.XSD.hexBinary, ("0a", "0A")),
    )
    for form in forms
]
_UPDATES = [
    "INSERT { <urn:s> <urn:p> 1.0, 01, 'x' } WHERE {}",
    "DELETE { <urn:s> <urn:p> 1.00 } INSERT { <urn:s> <urn:p> 1.0 } WHERE {}",
    "DELETE { ?s ?p ?o } INSERT { ?s ?p ?n } WHERE { ?s ?p ?o BIND(?o + 1.0 AS ?n) }",
    "DELETE { ?s ?p 'x' } INSERT { ?s ?p 'X'@EN, '0a'^^<urn:d> } WHERE { ?s ?p 'x' }",
    # rdflib's parser of SPARQL does not give these the form that its constructor would.
    "INSERT { <urn:s> <urn:p> '0a'^^<http://www.w3.org/2001/XMLSchema#hexBinary> } WHERE {}",
    "INSERT { <urn:s> <urn:p> '01'^^<http://www.w3.org/2001/XMLSchema#int> } WHERE {}",
]
_CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, len(_FORMS + _UNUSUAL) - 1), st.integers(0, 2)),
        st.tuples(st.just("remove"), st.integers(0, len(_FORMS + _UNUSUAL) - 1), st.integers(0, 3)),
        st.tuples(st.just("replace"), st.integers(0, len(_FORMS) - 1), st.integers(0, 2)),
        st.tuples(st.just("clear"), st.just(0), st.integers(0, 3)),
        st.tuples(st.just("update"), st.integers(0, len(_UPDATES) - 1), st.just(0)),
        st.tuples(st.just("commit"), st.just(0), st.just(0)),
        st.tuples(st.just("rollback"), st.just(0), st.just(0)),
    ),
    max_size=20,
)


def held(graph: Any) -> set[Any]:
    """What a graph has, in the store's own terms where that has some."""
    inner = inner_store_of(graph.store)
    if inner is not None and isinstance(graph, Dataset):
        return {each for each in inner if each.graph_name != BOOKKEEPING}
    if inner is not None and type(graph) is Graph:
        return {each.triple for each in inner if each.graph_name == graph_name(graph)}
    return {tuple(map(read_form, statement)) for statement in contents(graph)}


@pytest.mark.parametrize("name", MAKERS)
@given(changes=_CHANGES)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_replica_is_equal_after_every_commit(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, int]], name: str
) -> None:
    path = tmp_path_factory.mktemp("replica") / "log.jellyp"
    graph: Any = MAKERS[name]()
    replica: Any = MAKERS[name]()
    native = inner_store_of(graph.store) is not None
    forms = _FORMS + _UNUSUAL if native else _FORMS
    updates = _UPDATES if native else _UPDATES[:-2]
    with record(graph, path) as recorder:
        graphs = [graph] * 4
        if isinstance(graph, ConjunctiveGraph):
            others = [Graph(graph.store, each) for each in (G, BNode("label-"))]
            graphs = [default_graph(graph), *others, graph]
        for verb, number, place in [*changes, ("commit", 0, 0)]:
            term = forms[number % len(forms)]
            target = graphs[place]
            if verb == "add":
                target.add((S, P, term))
            elif verb == "remove":
                target.remove((S, P, term))
            elif verb == "replace":
                target.set((S, P, term))
                target.addN([(S, P, each, target) for each in forms[number : number + 3]])
            elif verb == "clear":
                target.remove((S, None, None))
            elif verb == "update":
                graph.update(updates[number % len(updates)])
            elif verb == "rollback":
                recorder.rollback()
            else:
                recorder.commit()
                if path.stat().st_size:
                    replay(replica, path, strict=True)
                assert held(replica) == held(graph)
    if native and isinstance(graph, Dataset) and path.stat().st_size:
        store = Store()
        replay_into_oxigraph(store, path, strict=True)
        assert {each for each in store if each.graph_name != BOOKKEEPING} == held(graph)


def test_forms_of_one_literal(graph: Graph, path: Path) -> None:
    """Additions and deletions of a literal meet, whatever its form."""
    one, other = (
        Literal("1.0", datatype=namespace.XSD.decimal),
        Literal("x", datatype=namespace.XSD.string),
    )
    with record(graph, path) as recorder:
        for term in one, other:
            graph.add((S, P, term))
            recorder.commit()
            graph.remove((S, P, None))
            graph.add((S, P, term))
            recorder.commit()
            graph.remove((S, P, None))
            recorder.commit()
    assert codes(path) == ["A", "D"] * 2


def test_two_forms_of_a_string(path: Path) -> None:
    graph = Graph()
    plain, typed = Literal("x"), Literal("x", datatype=namespace.XSD.string)
    with record(graph, path) as recorder:
        graph.add((S, P, typed))
        recorder.commit()
        # There already.
        graph.add((S, P, plain))
        recorder.commit()
        # Still there.
        graph.remove((S, P, typed))
        recorder.commit()
        graph.add((S, P, typed))
        graph.remove((S, P, plain))
        recorder.commit()
        graph.remove((S, P, typed))
    assert codes(path) == ["A", "D"]
    check(graph, path)


def test_two_forms_of_a_number_as_sparql_makes_them(path: Path) -> None:
    graph = Graph()
    padded = f'<urn:s> <urn:p> "01"^^<{namespace.XSD.integer}>'
    with record(graph, path) as recorder:
        graph.update(f"INSERT DATA {{ {padded}, 1 }}")
        assert len(graph) == 2
        recorder.commit()
        # Still there.
        graph.update(f"DELETE DATA {{ {padded} }}")
        recorder.commit()
        graph.update("DELETE DATA { <urn:s> <urn:p> 1 }")
        assert len(graph) == 0
    assert codes(path) == ["A", "D"]
    check(graph, path)


def test_what_is_parsed_is_recorded(graph: Graph, path: Path) -> None:
    """However it goes into the store."""
    source = Graph()
    source.add((S, P, Literal("01", datatype=namespace.XSD.integer, normalize=False)))
    data = source.serialize(format="jelly-plugins", encoding="utf-8")
    with record(graph, path):
        graph.parse(data=data, format="jelly-plugins")
    assert codes(path) == ["A"]
    check(graph, path)


def test_replaying_what_is_recorded(graph: Graph, path: Path) -> None:
    log = patch(1, "A <urn:s> <urn:p> 1 .")
    with record(graph, path):
        if inner_store_of(graph.store) is None:
            replay(graph, log)
        else:
            with pytest.raises(OptionsError, match="being recorded"):
                replay(graph, log)
    check(graph, path) if path.stat().st_size else None


_TERMS = st.sampled_from([S, BNode("a"), BNode("b")])
_OBJECTS = st.sampled_from([ONE, TWO, Literal("x", lang="en"), BNode("a"), O])
_PATTERNS = st.tuples(st.none() | _TERMS, st.none() | st.just(P), st.none() | _OBJECTS)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.tuples(_TERMS, st.just(P), _OBJECTS), st.integers(0, 2)),
        st.tuples(st.just("remove"), _PATTERNS, st.integers(0, 3)),
        st.tuples(
            st.just("update"),
            st.sampled_from(
                [
                    "DELETE { ?s ?p ?o } INSERT { ?s <urn:q> ?o } WHERE { ?s ?p ?o }",
                    "INSERT { GRAPH ?g { ?s <urn:q> [] } } WHERE { GRAPH ?g { ?s <urn:p> ?o } }",
                    "ADD <urn:g1> TO <urn:g2>",
                    "CLEAR SILENT GRAPH <urn:g1>",
                ]
            ),
            st.just(0),
        ),
        st.tuples(st.just("commit"), st.none(), st.just(0)),
        st.tuples(st.just("rollback"), st.none(), st.just(0)),
    ),
    max_size=15,
)


@given(_STEPS, st.sampled_from(["Dataset", "Dataset, Oxigraph", "ConjunctiveGraph"]))
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_course_of_things(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any, int]], name: str
) -> None:
    path = tmp_path_factory.mktemp("record") / "log.jellyp"
    dataset: Any = MAKERS[name]()
    committed: set[Any] = set()
    with record(dataset, path) as recorder:
        main = dataset.default_context
        graphs = [main, *(Graph(dataset.store, URIRef(f"urn:g{i}")) for i in (1, 2)), dataset]
        for verb, value, number in steps:
            if verb == "commit":
                recorder.commit()
                committed = contents(dataset)
            elif verb == "rollback":
                recorder.rollback()
                assert contents(dataset) == committed
            elif verb == "update":
                dataset.update(value)
            elif verb == "add":
                graphs[number].add(value)
            else:
                graphs[number].remove(value)
    if path.stat().st_size:
        check(dataset, path)
    else:
        assert contents(dataset) == set()
