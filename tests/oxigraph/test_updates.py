"""The effect of SPARQL updates: what is recorded of one is what Oxigraph itself makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jelly_plugins.oxigraph import BOOKKEEPING, record, replay

from .support import data

PREFIX = "PREFIX : <urn:> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "

#: What stores have before an update.
BEFORE = """
    INSERT DATA {
        :a :p :b, 1, "x"@en, "}" . :b :p :c . :c :q _:x . _:x :q "?s" .
        :t :p <<( :a :p :b )>> .
        GRAPH :g { :a :p :b . :d :p 01 }
        GRAPH :h { :h :p :b . _:y :p _:z . }
    };
    CREATE GRAPH :empty
"""

UPDATES = [
    "",
    "INSERT DATA { }",
    "INSERT DATA { :n :p 1, 01, 1.50, 'x'@EN ; :q _:b . _:b :p _:b GRAPH :g { :a :p _:b } }",
    "INSERT DATA { GRAPH :g { :a :p ( 1 [ :q 2 ] ) } }",
    "INSERT DATA { << :a :p :b >> :q 1 . :a :p 5 {| :q 6 |} . :a :p <<( :a :p _:b )>> }",
    "DELETE DATA { :a :p :b . :none :p 1 . GRAPH :g { :d :p 1 } }",
    "DELETE WHERE { ?s :p ?o }",
    "DELETE WHERE { GRAPH ?g { ?s :p :b } . ?s :p ?o }",
    "DELETE WHERE { ?s ?p <<( ?a ?q ?b )>> }",
    "DELETE { ?s :p ?o } INSERT { ?o :was ?s } WHERE { ?s :p ?o }",
    "DELETE { ?s :p ?o } WHERE { ?s :p ?o FILTER(?o < 2 && ?o>0) # } WHERE {\n }",
    "INSERT { ?s :new [] , _:b . _:b :q ?o } WHERE { ?s :p ?o }",
    "INSERT { :once :p 1 } WHERE { }",
    "INSERT { :never :p 1 } WHERE { :none :p ?x }",
    "INSERT { ?s :copy <<( ?s :p ?o )>> } WHERE { ?s :p ?o }",
    "INSERT { GRAPH ?g { ?s :more ?o } } WHERE { GRAPH ?g { ?s :p ?o } }",
    "WITH :g DELETE { ?s :p ?o } INSERT { ?s :r ?o . GRAPH :i { ?o :back ?s } } WHERE { ?s :p ?o }",
    "WITH :g INSERT { ?s :z ?o } USING :h WHERE { ?s :p ?o }",
    "INSERT { ?s :u ?o } USING :g USING NAMED :h "
    "WHERE { { ?s :p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }",
    "INSERT { ?s :opt ?x } WHERE { ?s :p ?o OPTIONAL { ?s :q ?x } }",
    "INSERT { ?s :sum ?n } WHERE { SELECT ?s (COUNT(*) AS ?n) WHERE { ?s :p ?o } GROUP BY ?s }",
    "INSERT { ?o :lit ?s } WHERE { ?s :p ?o }",
    "INSERT { ?s ?o ?s } WHERE { ?s :p ?o }",
    'INSERT { ?s :v ?v } WHERE { ?s :p :b VALUES ?v { 1 UNDEF "a } b" } }',
    "INSERT { ?s :b ?v } WHERE { ?s :p :b BIND('''a\n\"}''' AS ?v) }",
    "INSERT { ?s :bn ?v } WHERE { ?s :p ?o BIND(BNODE() AS ?v) }",
    "INSERT { ?s :path ?o } WHERE { ?s :p+/:q? ?o }",
    "CLEAR GRAPH :g",
    "CLEAR SILENT GRAPH :none",
    "CLEAR DEFAULT",
    "COPY :none TO :g",
    "CLEAR NAMED",
    "CLEAR ALL",
    "DROP GRAPH :g",
    "DROP GRAPH :empty",
    "DROP ALL",
    "CREATE GRAPH :made",
    "CREATE SILENT GRAPH :g",
    "COPY :g TO :h",
    "COPY DEFAULT TO :h",
    "COPY :h TO DEFAULT",
    "COPY GRAPH :g TO GRAPH :g",
    "MOVE :g TO :i",
    "MOVE DEFAULT TO :g",
    "MOVE SILENT :none TO :g",
    "ADD :g TO :h",
    "ADD :g TO DEFAULT",
    # Several operations, each of which sees those before it.
    "DELETE { ?s :p ?o } INSERT { ?s :q ?o } WHERE { ?s :p ?o }; DELETE WHERE { ?s :q :b }",
    "INSERT DATA { :new :p _:b }; INSERT { ?o :seen ?s } WHERE { ?s :p ?o FILTER(isBLANK(?o)) }",
    "INSERT { ?s :n [] } WHERE { ?s :p :b }; DELETE { ?s :n ?x } WHERE { ?s :n ?x . ?s :q ?y };"
    "INSERT { ?x :last ?s } WHERE { ?s :n ?x }",
    "CLEAR ALL; INSERT { :left :p ?n } WHERE { SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o } }",
    "DROP GRAPH :g; INSERT DATA { GRAPH :g { :a :p :b } }",
    "INSERT DATA { GRAPH :x { :a :p 1 } }; MOVE :x TO :y; DELETE DATA { GRAPH :y { :a :p 01 } } ;",
    "CREATE GRAPH :x; DROP GRAPH :x",
    # Graphs that are not there, and that the update itself has made.
    "INSERT DATA { GRAPH :x { :a :p 1 } }; DELETE DATA { GRAPH :x { :a :p 1 } }; DROP ALL",
    "CREATE GRAPH :x; DROP NAMED",
    "INSERT { GRAPH ?v { ?s :in ?v } } WHERE { ?s :p :b BIND(BNODE() AS ?v) }",
    "INSERT { GRAPH ?v { ?s :in ?v } } WHERE { ?s :p :b BIND(BNODE() AS ?v) }; DROP ALL",
    "DELETE DATA { :a :p :b }; INSERT DATA { :a :p :b }",
]


def canonical(store: ox.Store) -> set[str]:
    """The quads of a store with labels of blank nodes that depend on the rest only."""
    dataset = ox.Dataset(quad for quad in store if quad.graph_name != BOOKKEEPING)
    dataset.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return {str(quad) for quad in dataset}


def compare(store: ox.Store, folder: Path, updates: list[str]) -> None:
    """Run updates as they are and recorded, and replay what was recorded."""
    plain = ox.Store()
    plain.update(PREFIX + BEFORE)
    store.extend(plain)
    store.add_graph(ox.NamedNode("urn:empty"))
    copy = ox.Store()
    copy.extend(plain)
    with record(store, folder / "log.jellyp") as recorder:
        for update in updates:
            plain.update(PREFIX + update)
            recorder.update(PREFIX + update)
            assert canonical(store) == canonical(plain)
    if (folder / "log.jellyp").stat().st_size:
        replay(copy, folder / "log.jellyp", check_unmatched=True)
    assert data(copy) == data(store)


@pytest.mark.parametrize("update", UPDATES)
def test_the_effect_is_that_of_the_update(store: ox.Store, tmp_path: Path, update: str) -> None:
    compare(store, tmp_path, [update])


@given(st.lists(st.sampled_from(UPDATES), min_size=2, max_size=5))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_updates_one_after_the_other(
    tmp_path_factory: pytest.TempPathFactory, updates: list[str]
) -> None:
    whole = "; ".join(update.rstrip("; ") for update in updates if update)
    for course in (updates, [whole]):
        probe = ox.Store()
        probe.update(PREFIX + BEFORE)
        try:
            for update in course:
                probe.update(PREFIX + update)
        except (RuntimeError, SyntaxError):
            # A graph that one of them needs is gone, or two have a blank node in common.
            continue
        compare(ox.Store(), tmp_path_factory.mktemp("effect"), course)


FAILING = [
    *[(text, SyntaxError) for text in ("nonsense", "PREFIX", "WITH", "DELETE {", "}", "COPY TO")],
    ("DELETE DATA { _:b :p 1 }", SyntaxError),
    ("DELETE { ?s :p _:b } WHERE { ?s :p 1 }", SyntaxError),
    ("INSERT DATA { :a :p ?x }", SyntaxError),
    ("INSERT DATA { :a :p :new }; INSERT DATA { :a :p ?x }", SyntaxError),
    ("INSERT { :a :p ?x } WHERE { SERVICE <http://127.0.0.1:1/> { ?x :p 1 } }", Exception),
    ("LOAD <http://127.0.0.1:1/>", Exception),
]


@pytest.mark.parametrize(("update", "error"), FAILING, ids=[update for update, _ in FAILING])
def test_an_update_that_fails(
    store: ox.Store, tmp_path: Path, update: str, error: type[Exception]
) -> None:
    store.update(PREFIX + BEFORE)
    path = tmp_path / "log.jellyp"
    with record(store, path) as recorder:
        recorder.update(PREFIX + "INSERT DATA { :a :p :first }")
        before, size = {str(quad) for quad in store}, path.stat().st_size
        with pytest.raises(error):
            recorder.update(PREFIX + update)
        assert {str(quad) for quad in store} == before
        assert path.stat().st_size == size


def test_settings_of_an_update(store: ox.Store, tmp_path: Path) -> None:
    def twice(term: Any) -> Any:
        return ox.Literal(2 * term.value)

    with record(store, tmp_path / "log.jellyp") as recorder:
        recorder.update(
            "INSERT DATA { <a> x:p 'b' }", base_iri="http://e/", prefixes={"x": "urn:x:"}
        )
        recorder.update(
            "INSERT { ?s <urn:twice> ?t } WHERE { ?s ?p ?o BIND(<urn:twice>(?o) AS ?t) }",
            custom_functions={ox.NamedNode("urn:twice"): twice},
        )
    assert data(store) == {
        '<http://e/a> <urn:x:p> "b"',
        '<http://e/a> <urn:twice> "bb"',
    }
