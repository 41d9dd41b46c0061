"""Queries of many shapes to sharded stores: equal to those of one store, or rejected."""

from __future__ import annotations

import random
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

from jelly_plugins.oxigraph.rows import text_of
from jelly_plugins.spark.shards.queries import QueryError, scope_of
from jelly_plugins.spark.shards.root import ShardBy
from jelly_plugins.spark.shards.store import ShardedStore

from .logs import apply

E = "http://e.org/"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"

PROLOGUE = f"PREFIX e: <{E}> PREFIX : <{E}> PREFIX again: <{E}> "

#: Ways to write some of the subjects, in queries that begin with the prologue.
NAMES = [
    "<http://e.org/a-b>",
    r"e:a\-b",
    r":a\-b",
    "e:a-b",
    "again:a-b",
    "e:%41",
    "e:A",
    r"e:x\/y",
    "e:x",
    r"e:x\?q\=1\#f",
    "e:é",
    "e:",
    ":",
    "e:d:e.f",
    "e:s1",
]

#: Patterns about one subject, instead of S. Many are for shards by graph too.
STARS = [
    "S ?p ?o",
    "S e:p ?o ; e:q ?x",
    "S e:p ?o , ?x",
    "S e:p ?o . S a ?t",
    "S a e:T",
    "S e:p ?o OPTIONAL { S e:q ?x }",
    "S e:p ?o OPTIONAL { S e:q ?x FILTER(?x != ?o) }",
    "S e:p ?o OPTIONAL { S e:q ?x OPTIONAL { S a ?t } }",
    "S e:p ?o MINUS { S e:q ?o }",
    "S e:p ?o MINUS { S e:q ?x }",
    "S e:p ?o FILTER(EXISTS { S e:q ?x } || ?o = e:s1)",
    "{ S e:p ?o } UNION { S e:q ?o }",
    "{ S e:p ?o } UNION { S e:q ?x } UNION { e:s1 a ?t }",
    "VALUES ?o { e:s1 e:s2 UNDEF } S e:p ?o",
    "S ?p ?o . FILTER(isBlank(?o) || isIRI(?o))",
    "{ { S ?p ?o } }",
    "{ S e:p ?o } S e:q ?x",
    "{ S e:p ?o } { S e:q ?x . BIND(STR(?x) AS ?text) }",
    "BIND(e:s1 AS ?o) S ?p ?o",
    "GRAPH e:g { S ?p ?o }",
    "GRAPH ?g { S e:p ?o ; e:q ?x }",
    "GRAPH ?g { S e:p ?o } GRAPH ?g { S e:q ?x }",
    "GRAPH ?g { S e:p ?o } OPTIONAL { S a ?t }",
    r"GRAPH e:g\-1 { S ?p ?o FILTER EXISTS { S e:q ?x } }",
    "GRAPH ?g { { S e:p ?o } UNION { S e:q ?o } }",
    "# S ?no ?pattern }\r S e:p ?o",
    'S e:p ?o FILTER(?o != "} S ?x ?y { # \\" ")',
]

#: Whole queries; some can be answered, others not, in one way of sharding or in both.
OTHERS = [
    # Joins
    "SELECT * { ?s e:p ?o . ?o e:q ?x }",
    "SELECT * { e:s1 e:p ?o . e:s2 e:p ?o }",
    "SELECT * { ?s e:p ?o OPTIONAL { ?o e:q ?x } }",
    "SELECT * { ?s e:p ?o MINUS { ?t e:q ?o } }",
    "SELECT * { ?s e:p ?o FILTER NOT EXISTS { ?o e:q ?x } }",
    "SELECT * { { { ?s e:p ?o } UNION { ?t e:q ?o } } ?s a ?x }",
    "SELECT * { OPTIONAL { ?s e:p ?o } ?s e:q ?x }",
    # Paths
    "SELECT * { ?s e:p/e:q ?o }",
    "SELECT * { ?s e:p|e:q ?o }",
    "SELECT * { ?s e:p* ?o }",
    "SELECT * { ?s e:p+ ?o }",
    "SELECT * { ?s !(e:p|^e:q) ?o }",
    "SELECT * { GRAPH ?g { ?s e:p+ ?o } }",
    "SELECT * { GRAPH ?g { e:s1 e:p* ?o } }",
    r"SELECT * { GRAPH e:g\-1 { ?s (e:p|e:q)+ ?o } }",
    # Blank nodes
    "SELECT * { [] e:p ?o }",
    "SELECT * { [] e:p ?o ; e:q ?x }",
    "SELECT * { ?s e:p [ e:q ?o ] }",
    "SELECT * { _:a e:p ?o . _:a e:q ?x }",
    "SELECT * { _:a e:p ?o . _:b e:q ?x }",
    "SELECT * { _:a e:p ?o OPTIONAL { _:a e:q ?x } }",
    "SELECT * { [] e:p ?o . [] e:q ?x }",
    "SELECT * { ?s e:p (1 2) }",
    # Graphs
    "SELECT * { GRAPH ?g {} }",
    "SELECT * { GRAPH e:g {} }",
    "SELECT * { ?s e:p ?o GRAPH ?g {} }",
    "SELECT * { GRAPH ?g { GRAPH ?h { ?s e:p ?o } } }",
    "SELECT * { GRAPH ?g { ?s e:p ?o } ?s e:q ?x }",
    "SELECT * { GRAPH ?g { ?s e:p ?o } GRAPH ?h { ?s e:q ?x } }",
    "SELECT * { GRAPH ?g { ?s e:p ?o . ?o e:q ?x } }",
    "SELECT * { GRAPH ?g { ?s e:p ?o OPTIONAL { ?o e:q ?x } } }",
    "SELECT * { GRAPH ?g { ?g e:p ?o } }",
    "SELECT * { GRAPH ?s { ?s e:p ?o } ?s e:q ?x }",
    "SELECT * { GRAPH ?g { ?s e:p ?o } MINUS { GRAPH ?g { ?s e:q ?x } } }",
    "SELECT * { VALUES ?g { e:g } GRAPH ?g { ?s e:p ?o } }",
    "SELECT * { { ?s e:p ?o } UNION { GRAPH ?g { ?s e:q ?o } } }",
    "SELECT * { GRAPH e:g { ?s e:p ?o } GRAPH e:g { ?o e:q ?x } }",
    "SELECT * { GRAPH e:g { ?s e:p ?o } GRAPH again:g { ?s e:q ?x } }",
    r"SELECT * { GRAPH e:g { ?s e:p ?o } GRAPH e:g\-1 { ?s e:q ?x } }",
    "SELECT * FROM e:g { ?s e:p ?o }",
    # What looks at several solutions
    "SELECT DISTINCT ?o { ?s e:p ?o }",
    "SELECT * { ?s e:p ?o } ORDER BY ?o",
    "SELECT * { ?s e:p ?o } LIMIT 2",
    "SELECT (COUNT(*) AS ?n) { ?s e:p ?o }",
    "SELECT ?s (COUNT(*) AS ?n) { ?s e:p ?o } GROUP BY ?s",
    "SELECT * { ?s e:p ?o { SELECT ?s { ?s e:q ?x } } }",
    "SELECT * { ?s e:p ?o FILTER(NOW() = NOW()) }",
    "SELECT (NOW() AS ?now) ?s { ?s e:p ?o }",
    # No pattern, or not in each part
    "SELECT (1 AS ?one) {}",
    "SELECT * { VALUES ?x { 1 2 } }",
    "SELECT * { VALUES ?x { 1 } OPTIONAL { ?s e:p ?o } }",
    "SELECT * { OPTIONAL { ?s e:p ?o } }",
    "SELECT * { MINUS { ?s e:p ?o } }",
    "SELECT * { BIND(1 AS ?x) FILTER EXISTS { ?s e:p ?o } }",
    "SELECT * { BIND(1 AS ?x) OPTIONAL { ?s ?p ?x } }",
    "SELECT * { { ?s ?p ?o } UNION { BIND(1 AS ?x) } }",
    # Values and expressions
    "SELECT * { ?s e:p ?o } VALUES ?o { e:s1 e:s2 }",
    "SELECT * { ?s e:p ?o } VALUES (?s ?o) { (e:s1 UNDEF) (UNDEF e:s2) }",
    "SELECT ?s (STR(?o) AS ?text) { ?s e:p ?o }",
    "SELECT ?s (EXISTS { ?s e:q ?x } AS ?has) { ?s e:p ?o }",
    "SELECT * { ?s e:p ?o FILTER(?o IN (e:s1, e:s2)) }",
    "SELECT * { ?s e:p ?o FILTER(?o<?s&&?s>?o) }",
    "SELECT * { ?s ?p ?o FILTER(sameTerm(?s, e:a\\-b)) }",
    "SELECT $s { $s e:p ?o . ?s e:q $x }",
    "select*where{?s<http://e.org/p>?o.?s<http://e.org/q>?x}",
    "SELECT * { ?s e:p 1 }",
    "SELECT * { ?s e:p '1'^^<http://www.w3.org/2001/XMLSchema#integer> }",
    "SELECT * { ?s e:p 'x'@en }",
    # Escapes in code points
    r"SELECT * { <http://e.org/\u0041> ?p ?o }",
    r"SELECT * { ?s e:p ?o FILTER(?o != '\u0041') }",
    r"SELECT * { ?s e:p '\\u0022 . ?t e:q ?x . #' }",
    # Other forms, and what is no query
    "ASK { ?s e:p ?o }",
    "CONSTRUCT { ?s e:p ?o } WHERE { ?s e:q ?o }",
    "SELECT * { ?s unknown:p ?o }",
    "SELECT * { ?s e:p }",
    "DELETE WHERE { ?s ?p ?o }",
    "",
]


def _shapes() -> Iterator[str]:
    yield from (PROLOGUE + query for query in OTHERS)
    for number, star in enumerate(STARS):
        yield PROLOGUE + f"SELECT * {{ {star.replace('S', '?s')} }}"
        for name in (NAMES[number % len(NAMES)], NAMES[(number * 7 + 1) % len(NAMES)]):
            yield PROLOGUE + f"SELECT * {{ {star.replace('S', name)} }}"
    for name in NAMES:
        yield PROLOGUE + f"SELECT * {{ {name} ?p ?o }}"
        yield PROLOGUE + f"SELECT * {{ GRAPH {name} {{ ?s ?p ?o }} }}"


SHAPES = list(_shapes())


def _data() -> list[Quad]:
    pick = random.Random(3).choice
    texts = ["a-b", "%41", "A", "x/y", "x", "x?q=1#f", "é", "", "d/", "d:e.f", "s1", "s2", "g"]
    subjects: list[Any] = [NamedNode(E + text) for text in texts]
    graphs = [*subjects, NamedNode(f"{E}g"), NamedNode(f"{E}g-1"), BlankNode("g")]
    subjects += [BlankNode("g"), BlankNode("b")]
    objects = [*subjects, Literal(1), Literal("x", language="en"), Literal("x")]
    predicates = [NamedNode(f"{E}p"), NamedNode(f"{E}q"), NamedNode(f"{E}d/p")]
    quads = set()
    for subject in subjects:
        for graph in (DefaultGraph(), NamedNode(f"{E}g"), NamedNode(f"{E}g-1")):
            quads |= {Quad(subject, pick(predicates), pick(objects), graph) for _ in range(4)}
        quads.add(Quad(subject, NamedNode(TYPE), NamedNode(f"{E}T")))
        quads.add(Quad(subject, pick(predicates), pick(subjects)))
    for graph in graphs:
        quads.add(Quad(pick(subjects), pick(predicates), pick(objects), graph))
        quads.add(Quad(graph, pick(predicates), pick(objects), graph))
    return sorted(quads, key=str)


DATA = _data()

SINGLE = Store()
SINGLE.extend(DATA)


def solutions(store: Store, query: str) -> Iterator[dict[str, str | None]]:
    """The solutions of a query in one store, as sharded ones give them."""
    found: Any = store.query(query)
    names = [variable.value for variable in found.variables]
    for solution in found:
        terms = zip(names, solution, strict=True)
        yield {name: None if term is None else text_of(term) for name, term in terms}


def _counted(found: Iterator[dict[str, str | None]]) -> Counter[frozenset[tuple[str, str | None]]]:
    return Counter(frozenset(each.items()) for each in found)


def _answered(store: ShardedStore, query: str) -> bool:
    """Whether a query has an answer of the shards and not an error; that answer is right."""
    try:
        found = _counted(store.select(query))
    except QueryError:
        return False
    assert found == _counted(solutions(SINGLE, query)), query
    return True


@pytest.mark.parametrize("shards", [4, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 16))])
@pytest.mark.parametrize("shard_by", get_args(ShardBy))
def test_many_shapes_are_answered_as_by_one_store_or_rejected(
    tmp_path: Path, shards: int, shard_by: str
) -> None:
    text = "".join(f"A {quad} .\n" for quad in DATA)
    apply(tmp_path / "root", text.encode(), shards=shards, shard_by=shard_by)
    store = ShardedStore(tmp_path / "root")
    answered = [query for query in SHAPES if _answered(store, query)]
    # Neither all nor nothing, and not for want of data.
    assert len(SHAPES) * 0.4 < len(answered) < len(SHAPES) * 0.9
    empty = [query for query in answered if not any(solutions(SINGLE, query))]
    assert len(empty) < len(answered) / 4


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (r"SELECT * { ?s e:p '\u0041' }", "write .* as the character itself"),
        ("SELECT DISTINCT ?s { ?s ?p ?o }", "DISTINCT is not supported"),
        ("SELECT ?s { ?s ?p ?o } LIMIT 1", "LIMIT or OFFSET is not"),
        ("SELECT ?s { ?s ?p ?o } ORDER BY ?s", "ORDER BY is not"),
        ("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "COUNT is not"),
        ("SELECT ?s { ?s ?p ?o VALUES ?o { 1 } }", "VALUES or a subquery is not"),
        ("SELECT (1 AS ?one) {}", "begin with a triple pattern"),
        ("SELECT * FROM <urn:g> { ?s ?p ?o }", "FROM"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?p ?o } }", "EXISTS is not supported"),
        ("SELECT * { ?s e:p ?o . ?o e:p ?x }", "not all triple patterns have the same"),
        ("SELECT (STR(?o) AS ?o) { ?s ?p ?o }", "cannot be evaluated"),
        # The two parsers resolve some relative IRIs differently.
        ("BASE <http://e.org/> SELECT * { <s> ?p ?o }", "relative IRIs are not supported"),
        ("BASE <http://e.org/> SELECT * { ?s ?p ?o }", "relative IRIs are not supported"),
        ("PREFIX r: <x/> SELECT * { r:s ?p ?o }", "relative IRIs are not supported"),
        ("SELECT * { <s> ?p ?o }", "cannot be evaluated"),
        ("ASK { ?s ?p ?o }", "only SELECT queries are supported"),
        ("SELECT nonsense", "not well-formed"),
    ],
)
def test_an_error_says_why(query: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        scope_of(PROLOGUE + query, "subject")


def test_a_service_is_rejected_before_it_is_asked() -> None:
    """But its word may be a name, a prefix, in a text, an IRI, or a comment."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for query in ("SELECT * {{ {} }}", "ASK {{ {} }}", "SELECT * {{ ?s <urn:p> ?o {} }}"):
            service = f"SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }}"
            with pytest.raises(QueryError):
                scope_of(query.format(service), "subject")
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
    query = """
        PREFIX service: <urn:service> # SERVICE <urn:x> {}
        SELECT ?service ("SERVICE" AS ?a) ('\\' SERVICE' AS ?b) {
            ?s service:SERVICE ?service ; <urn:SERVICE> ?o ; <urn:p0> ?p
            FILTER(?o != \"\"\"a " SERVICE \"\"\"@service)
        }
    """
    assert scope_of(query, "subject").variables == ["service", "a", "b"]
