"""Read sharded stores: versions, patterns, dumps and queries; restore and clean them."""

from __future__ import annotations

import io
from collections import Counter
from datetime import timedelta
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store

from jelly_plugins import ChainError, read_frames
from jelly_plugins.oxigraph import read_quads
from jelly_plugins.spark.shards import (
    QueryError,
    RootError,
    ShardedStore,
    queries,
    restore,
    vacuum,
    verify,
)
from jelly_plugins.spark.shards.queries import scope_of

from .logs import Writer, apply, assert_same, log_file, quads, replayed


@pytest.fixture(scope="module", params=["subject", "graph"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a root of three versions, and of its logs."""
    folder = tmp_path_factory.mktemp(request.param)
    writer = Writer(seed=5)
    for number in range(3):
        log = log_file(folder / f"{number}.jellyp", [writer.patch(90)])
        apply(folder / "root", log, shards=4, shard_by=request.param)
    return folder


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A root of three versions."""
    copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "root"


def logs(root: Path) -> list[str]:
    return sorted(str(each) for each in root.parent.glob("*.jellyp"))


@pytest.fixture
def single(root: Path) -> Store:
    store = Store()
    store.extend(list(replayed(*logs(root))))
    return store


def test_every_version_can_be_opened(root: Path) -> None:
    store = ShardedStore(root)
    assert store.version == 3
    assert [each.number for each in store.versions()] == [3, 2, 1]
    for version in (1, 2, 3):
        assert set(quads(root, version)) == replayed(*logs(root)[:version])
    for absent in (0, 4):
        with pytest.raises(RootError, match=rf"version {absent} does not exist.*1, 2, 3"):
            ShardedStore(root, absent)
    for wrong in ("1", 1.0, True):
        with pytest.raises(TypeError, match="version must be a whole number"):
            ShardedStore(root, wrong)  # type: ignore[arg-type]
    with pytest.raises(RootError, match="there is no sharded store here"):
        ShardedStore(root.parent)


def test_a_root_may_be_a_url_of_a_file(root: Path) -> None:
    for url in (root.as_uri(), f"file:{root}", f"file://localhost{root}"):
        assert ShardedStore(url).root == str(root)
    with pytest.raises(RootError, match="must not name a host"):
        ShardedStore(f"file://host{root}")


def test_patterns_find_what_a_single_store_finds(root: Path, single: Store) -> None:
    store = ShardedStore(root)
    some = list(single)
    patterns: list[tuple[Any, Any, Any, Any]] = [(None, None, None, None)]
    patterns += [
        (None, None, None, DefaultGraph()),
        (None, None, Literal("x", language="en-gb"), None),
    ]
    for each in some[::7]:
        patterns += [
            (each.subject, None, None, None),
            (None, each.predicate, each.object, None),
            (None, None, None, each.graph_name),
            tuple(each),
        ]
    for pattern in patterns:
        expected = list(single.quads_for_pattern(*pattern))
        assert Counter(store.quads_for_pattern(*pattern)) == Counter(expected)
    assert all(each in store for each in some)
    assert Quad(NamedNode("urn:no"), NamedNode("urn:p"), Literal("")) not in store


def test_one_shard_is_opened_where_the_key_is_given(root: Path) -> None:
    store = ShardedStore(root)
    by_subject = store.content.shard_by == "subject"
    key: Any = BlankNode("b1" if by_subject else "g")
    pattern = (key, None, None) if by_subject else (None, None, None, key)
    list(store.quads_for_pattern(*pattern))
    assert len(store._stores) == 1


def test_a_dump_has_all_quads(root: Path, single: Store) -> None:
    target = root.parent / "all.jelly"
    store = ShardedStore(root)
    assert store.dump(target) == len(single)
    assert list(read_quads(target)) == list(store)
    with read_frames(target) as frames:
        assert frames.options is not None
    file = io.BytesIO()
    assert ShardedStore(root, 1).dump(file) == len(ShardedStore(root, 1))


# Restore, vacuum


def test_a_version_is_restored(root: Path) -> None:
    first, *later = logs(root)
    apply(root, b"D <urn:x> <urn:p> <urn:y> .", application="a", batch=4)
    done = restore(root, 1)
    assert (done.number, done.restored) == (5, 1)
    assert_same(root, replayed(first))
    content = ShardedStore(root).content
    assert content == done
    # Its positions are those of the first version, and batches are not repeated.
    assert content.logs == ShardedStore(root, 1).content.logs
    assert not apply(root, b"A <urn:x> <urn:p> <urn:y> .", application="a", batch=4).committed
    with pytest.raises(ChainError):
        apply(root, later[1])
    assert apply(root, *later).patches == 2
    assert_same(root, replayed(first, *later))
    with pytest.raises(RootError, match="version 9 does not exist"):
        restore(root, 9)


def test_a_vacuum_keeps_versions_and_removes_the_rest(root: Path) -> None:
    with pytest.raises(ValueError, match="keep must be at least 1"):
        vacuum(root, keep=0)
    for wrong in (0, 1.5, None):
        with pytest.raises(TypeError, match="grace must be a timedelta"):
            vacuum(root, grace=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="grace must not be negative"):
        vacuum(root, grace=timedelta(seconds=-1))
    assert vacuum(root, keep=1) == vacuum(root, keep=5, grace=timedelta())
    before = {each.number: set(quads(root, each.number)) for each in ShardedStore(root).versions()}
    planned = vacuum(root, keep=2, grace=timedelta(), dry_run=True)
    assert planned.versions == (1,)
    assert planned.stores
    assert len(ShardedStore(root).versions()) == 3
    assert vacuum(root, keep=2, grace=timedelta()) == planned
    assert {n: set(quads(root, n)) for n in (2, 3)} == {n: before[n] for n in (2, 3)}
    assert not any((root / store).exists() for store in planned.stores)
    with pytest.raises(RootError, match="version 1 does not exist, or was vacuumed"):
        ShardedStore(root, 1)
    assert verify(root) == verify(root, 2) == []
    assert quads(root, 4) == quads(root, 3)
    apply(root, b"A <urn:x> <urn:p> <urn:y> .")
    assert ShardedStore(root).version == 5


def test_a_vacuum_makes_a_version_if_an_attempt_may_run(root: Path) -> None:
    (root / "shard=0" / ".unfinished").mkdir()
    (root / "_versions" / ".unfinished").touch()
    (root / "other").mkdir()
    done = vacuum(root, keep=9, grace=timedelta())
    assert done.stores == ("_versions/.unfinished", "shard=0/.unfinished")
    assert ShardedStore(root).version == 4
    assert (root / "other").exists()
    assert vacuum(root, keep=9, grace=timedelta()).stores == ()
    assert ShardedStore(root).version == 4


# Queries

#: For both ways of sharding.
REJECTED = {
    "SELECT DISTINCT ?s { ?s ?p ?o }": "Distinct is not supported",
    "SELECT * { ?s ?p ?o } ORDER BY ?s": "OrderBy",
    "SELECT * { ?s ?p ?o } LIMIT 1": "Slice",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }": "AggregateJoin",
    "SELECT * { ?s ?p ?o { SELECT ?s { ?s ?q ?r } } }": "ToMultiSet",
    "SELECT (1 AS ?one) {}": "begin with a triple pattern",
    "SELECT * { VALUES ?x { 1 } }": "ToMultiSet is not",
    "SELECT * { BIND(1 AS ?x) OPTIONAL { ?s ?p ?x } }": "begin with a triple pattern",
    "SELECT * { { ?s ?p ?o } UNION { BIND(1 AS ?x) } }": "begin with a triple pattern",
    "SELECT * FROM <urn:g> { ?s ?p ?o }": "FROM",
    "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }": "ServiceGraphPattern",
    "SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?p ?o } }": "EXISTS is not supported",
    "ASK { ?s ?p ?o }": "only SELECT queries are supported",
    "SELECT nonsense": "not well-formed",
}


@pytest.mark.parametrize("query", [*REJECTED])
def test_queries_that_shards_cannot_answer_are_rejected(query: str) -> None:
    for shard_by in ("subject", "graph"):
        with pytest.raises(QueryError, match=REJECTED[query]):
            scope_of(query, shard_by)  # type: ignore[arg-type]


def test_the_word_service_may_be_in_a_query(root: Path) -> None:
    """As a name, a prefix, in a text, an IRI, or a comment."""
    query = """
        PREFIX service: <urn:service> # SERVICE <urn:x> {}
        SELECT ?service ("SERVICE" AS ?a) ('\\' SERVICE' AS ?b) {
            ?s service:SERVICE ?service ; <urn:SERVICE> ?o ; <urn:p0> ?p
            FILTER(?o != \"\"\"a " SERVICE \"\"\"@service)
        }
    """
    assert list(ShardedStore(root, 1).select(query)) == []


def test_what_a_query_makes_oxigraph_raise_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raising:
        def query(self, _: str) -> None:
            raise OSError("no")

    monkeypatch.setattr(queries, "Store", Raising)
    with pytest.raises(QueryError, match="cannot be evaluated: no"):
        scope_of("SELECT * { ?s ?p ?o }", "graph")


def test_a_key_in_the_query_is_asked_of_one_shard(root: Path) -> None:
    store = ShardedStore(root)
    list(store.select("SELECT * { GRAPH <urn:g> { <urn:s1> ?p ?o } }"))
    assert len(store._stores) == 1
