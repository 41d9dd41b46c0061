"""Reading sharded stores: versions, patterns, queries, dumps; verifying and cleaning them."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, Store
from pyspark.sql import SparkSession

from jelly_plugins import read_frames
from jelly_plugins.oxigraph import read_quads
from jelly_plugins.spark.sharded import queries
from jelly_plugins.spark.sharded.cleaning import vacuum
from jelly_plugins.spark.sharded.documents import checksum_in, seal
from jelly_plugins.spark.sharded.errors import RootError
from jelly_plugins.spark.sharded.queries import QueryError, Scope, scope_of
from jelly_plugins.spark.sharded.storage import files
from jelly_plugins.spark.sharded.storage.files import LIST, File, survey, to_list
from jelly_plugins.spark.sharded.store import ShardedStore

from .logs import Writer, apply, log_file, quads, replayed, solutions

NOW = timedelta()


@pytest.fixture(params=["subject", "graph"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A root of three versions."""
    writer = Writer(seed=5)
    for number in range(3):
        log = log_file(tmp_path / f"{number}.jellyp", [writer.patch(90)])
        apply(tmp_path / "root", log, shards=4, shard_by=request.param)
    return tmp_path / "root"


@pytest.fixture
def single(root: Path) -> Store:
    store = Store()
    store.extend(replayed(*sorted(str(each) for each in root.parent.glob("*.jellyp"))))
    return store


@pytest.mark.usefixtures("kind")
def test_every_version_can_be_opened(root: Path) -> None:
    store = ShardedStore(root)
    logs = sorted(str(each) for each in root.parent.glob("*.jellyp"))
    assert store.version == store.head().version == 3
    assert [commit.version for commit in store.history()] == [3, 2, 1]
    for version in (1, 2, 3):
        assert set(store.at(version)) == replayed(*logs[:version])
    assert len(list(store.at(0))) == len(store.at(0)) == 0
    with pytest.raises(RootError, match="no version 4"):
        store.at(4)
    assert f"<th>quads</th><td>{len(store):,}</td>" in store._repr_html_()


@pytest.mark.usefixtures("kind")
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
        assert store.count(*pattern) == len(expected)
    assert all(each in store for each in some)
    assert Quad(NamedNode("urn:no"), NamedNode("urn:p"), Literal("")) not in store


@pytest.mark.usefixtures("kind")
def test_one_shard_is_opened_where_the_key_is_given(root: Path) -> None:
    store = ShardedStore(root)
    by_subject = store.layout.shard_by == "subject"
    key: Any = BlankNode("b1" if by_subject else "g")
    list(
        store.quads_for_pattern(key, None, None)
        if by_subject
        else store.quads_for_pattern(None, None, None, key)
    )
    assert list(store._open) == [store.shard_number(key)]


@pytest.mark.usefixtures("kind")
def test_a_dump_has_all_quads(root: Path, single: Store) -> None:
    target = root.parent / "all.jelly.gz"
    store = ShardedStore(root)
    assert store.dump(target) == len(single)
    assert set(read_quads(target)) == set(single)
    # One stream, the same whatever makes it, with the quads of shard after shard.
    single_thread = root.parent / "one.jelly"
    made = []
    for threads in (1, 2, 3, 20):
        store.dump(single_thread, threads=threads)
        made.append(single_thread.read_bytes())
        assert list(read_quads(single_thread)) == list(store)
    assert len(set(made)) == 1
    with read_frames(single_thread) as frames:
        assert frames.options is not None
        assert sum(len(frame.statements) for frame in frames) == len(single)
    with pytest.raises(ValueError, match="threads"):
        store.dump(target, threads=0)


class Full(io.BytesIO):
    """A disk with little space."""

    def write(self, data: Any, /) -> int:
        if self.tell() + len(data) > 100:
            raise OSError(28, "no space is left")
        return super().write(data)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_dump_that_cannot_be_written_is_not_the_stores_fault(root: Path, threads: int) -> None:
    before = threading.active_count()
    with pytest.raises(OSError, match="no space is left"):
        ShardedStore(root).dump(Full(), threads=threads)
    assert threading.active_count() == before


def _used(root: Path) -> list[str]:
    """The stores of the newest version."""
    shards = ShardedStore(root).commit.shards
    assert shards is not None
    return [shard.store for shard in shards if shard.store is not None]


def _list_again(root: Path) -> None:
    """As if the files of the newest version were those that were written."""
    path = max((root / "_commits").iterdir())
    commit = json.loads(path.read_text())
    for shard in commit["shards"]:
        if (store := shard["store"]) is not None:
            (root / store / LIST).unlink()
            found = survey(root / store, None, {}).items()
            data = to_list({name: File(*each, f"{store}/{name}", 0) for name, each in found})
            (root / store / LIST).write_bytes(data)
            shard["checksum"] = checksum_in(data)
    del commit["checksum"]
    path.write_bytes(seal(commit))


def _flip(path: Path, place: int, bits: int = 255) -> None:
    """Damage a byte, and leave what is known of the file as it is."""
    before = path.stat()
    with path.open("r+b") as file:
        file.seek(place)
        [byte] = file.read(1)
        file.seek(place)
        file.write(bytes([byte ^ bits]))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _found_flips(root: Path, places: int) -> int:
    """Flip a byte at each of some places of each file of a version; each is found, in text."""
    store = ShardedStore(root)
    commit = max((root / "_commits").iterdir())
    paths = [commit, root / "_root.json"]
    for name in _used(root):
        paths += sorted((root / name).iterdir())
    flips = 0
    pick = random.Random(places)
    for path in paths:
        size = path.stat().st_size
        chosen = range(size) if size <= places else sorted(pick.sample(range(size), places))
        for place in chosen:
            bits = 1 << pick.randrange(8)
            _flip(path, place, bits)
            problems = store.verify()
            _flip(path, place, bits)
            assert len(problems) == 1, (path, place, bits)
            assert str(root) in problems[0]
            if path.name != "_root.json":
                assert f"version {store.version}" in problems[0]
            assert str(path.relative_to(root)) in problems[0]
            if path.parent.parent.parent == root:
                assert f"shard {path.parent.parent.name.removeprefix('shard=')}:" in problems[0]
            flips += 1
    assert store.verify() == []
    return flips


def test_verify_finds_a_byte_that_was_flipped(root: Path) -> None:
    assert _found_flips(root, 2) >= 60


@pytest.mark.slow
def test_verify_finds_500_bytes_of_each_file(tmp_path: Path) -> None:
    writer = Writer(seed=7)
    for number in range(2):
        log = log_file(tmp_path / f"{number}.jellyp", [writer.patch(60)])
        apply(tmp_path / "root", log, shards=1, shard_by="subject")
    assert _found_flips(tmp_path / "root", 500) > 5000


def test_verify_finds_files_that_are_gone_cut_or_new(root: Path) -> None:
    first, second, *_ = (root / name for name in _used(root))
    (first / "CURRENT").unlink()
    table = next(second.glob("*.sst"))
    os.truncate(table, table.stat().st_size - 1)
    (second / "000999.log").write_bytes(b"")
    found = ShardedStore(root).verify()
    assert len(found) == 3
    assert f"{first.name}/CURRENT: does not exist" in found[0]
    assert f"{second.name}/{table.name}: has" in found[1]
    assert f"{second.name}/000999.log: is not a file of this version" in found[2]
    shutil.copy(second / "_files.json", first / "_files.json")
    (second / "_files.json").unlink()
    found = ShardedStore(root).verify()
    assert "_files.json: damaged: not the list that the commit names" in found[0]
    assert "_files.json: does not exist" in found[1]
    shutil.rmtree(first)
    assert "_files.json: does not exist" in ShardedStore(root).verify()[0]


def _commit_file(root: Path, version: int) -> Path:
    return root / "_commits" / f"{version:012d}.json"


@pytest.mark.usefixtures("kind")
def test_verify_finds_commits_that_are_gone(root: Path) -> None:
    stores = {name for name in _used(root) if "/v3-" in name}
    assert stores
    _commit_file(root, 2).unlink()
    found = ShardedStore(root).verify()
    problem = "missing, although newer versions exist: commits were lost"
    assert found == [f"{root}: version 2: {problem}"]
    _commit_file(root, 1).unlink()
    assert "versions 1 to 2: missing" in ShardedStore(root).verify()[0]
    # What remains is whole, and can be read and gone on from.
    assert len(list(ShardedStore(root))) == len(ShardedStore(root))


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("all_of_them", [False, True])
def test_verify_finds_stores_whose_commit_is_gone(root: Path, all_of_them: bool) -> None:
    if all_of_them:
        shutil.rmtree(root / "_commits")
    else:
        _commit_file(root, 3).unlink()
    lost = {
        str(path.parent.relative_to(root))
        for path in root.glob("shard=*/v*/_files.json")
        if all_of_them or path.parent.name.startswith("v3-")
    }
    store = ShardedStore(root)
    assert store.version == (0 if all_of_them else 2)
    found = store.verify()
    assert lost
    assert len(found) == len(lost)
    for name in lost:
        assert any(f"{name}: no commit names it" in each for each in found)
    # Once the version is made again, they are what any attempt leaves that was too late.
    shard_by = store.layout.shard_by
    apply(root, b"A <urn:new> <urn:p> <urn:o> <urn:g> . Z .", shards=4, shard_by=shard_by)
    if not all_of_them:
        assert ShardedStore(root).verify() == []


def test_files_that_a_version_shares_are_not_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.stat().st_ino for name in _used(root) for path in (root / name).iterdir()}
    read: list[Path] = []
    checksum = files.checksum_of_file

    def reading(path: Path) -> str:
        read.append(path)
        return checksum(path)

    monkeypatch.setattr(files, "checksum_of_file", reading)
    shard_by = ShardedStore(root).layout.shard_by
    apply(root, b"A <urn:new> <urn:p> <urn:o> <urn:g> . Z .", shards=4, shard_by=shard_by)
    assert read
    assert not before & {path.stat().st_ino for path in read}
    shared = [path for path in read[0].parent.iterdir() if path.stat().st_ino in before]
    assert [path for path in shared if path.suffix == ".sst"]
    # They are to have the bytes that they had in the beginning.
    assert ShardedStore(root).verify() == []
    _flip(next(path for path in shared if path.suffix == ".sst"), 100)
    assert len(ShardedStore(root).verify()) == 1
    assert len(ShardedStore(root, version=3).verify()) == 1


def test_reading_leaves_the_files_of_a_version_as_they_are(root: Path) -> None:
    store = ShardedStore(root)
    list(store)
    store.count(None, NamedNode("urn:p0"), None)
    list(store.select("SELECT * { ?s ?p ?o }", unchecked=True))
    for name in _used(root):
        copy = root.parent / name.replace("/", "-")
        Store.read_only(str(root / name)).backup(str(copy))
    assert store.verify() == []


def test_verify_looks_at_quads_and_counts(root: Path) -> None:
    used = _used(root)
    stranger = Quad(BlankNode("b1"), NamedNode("urn:new"), Literal(""), BlankNode("b1"))
    for name in used[:2]:
        Store(str(root / name)).add(stranger)
    _list_again(root)
    found = ShardedStore(root).verify()
    assert len([problem for problem in found if "the commit has" in problem]) == 2
    assert any("1 quads belong to other shards" in problem for problem in found)
    (root / used[0] / "CURRENT").unlink()
    _list_again(root)
    assert any("cannot be opened" in problem for problem in ShardedStore(root).verify())


def test_a_damaged_store_is_reported_by_any_reader(tmp_path: Path) -> None:
    lines = [f'A <urn:s{n}> <urn:p> "{n * 7919}" .\n' for n in range(3000)]
    root = tmp_path / "root"
    apply(root, "".join(lines).encode(), shards=1, shard_by="subject")
    shared = ShardedStore(root)
    assert shared.commit.shards is not None
    [table] = [shard.store for shard in shared.commit.shards]
    assert table is not None
    for path in (root / table).glob("*.sst"):
        for place in range(0, path.stat().st_size, 50):
            _flip(path, place)
    subject = NamedNode("urn:s1")
    readers: list[Callable[[ShardedStore], object]] = [
        list,
        lambda store: list(store.select("SELECT * { ?s ?p ?o }")),
        lambda store: store.count(subject),
        lambda store: Quad(subject, NamedNode("urn:p"), Literal("7919")) in store,
        lambda store: store.dump(tmp_path / "dump.jelly"),
        lambda _: apply(root, lines[0].encode(), shards=1, shard_by="subject"),
    ]
    for reader in readers:
        with pytest.raises(RootError, match=r"/root: version [12], shard 0: shard=0/.* cannot be"):
            reader(ShardedStore(root))
    _list_again(root)
    assert any("cannot be" in problem for problem in ShardedStore(root).verify())


# Vacuum


def _stores(root: Path) -> set[str]:
    return {f"{each.parent.name}/{each.name}" for each in root.glob("shard=*/*")}


@pytest.mark.usefixtures("at_once")
def test_a_vacuum_keeps_versions_and_removes_the_rest(root: Path) -> None:
    store = ShardedStore(root)
    before = {version: list(store.at(version)) for version in (2, 3)}
    (root / "shard=0" / "v3-orphan").mkdir()
    (root / "shard=0" / "v3-orphan" / "data").write_bytes(b"x" * 1000)
    (root / "_staging" / "attempt").mkdir(parents=True)
    planned = store.vacuum(keep=2, grace=NOW, dry_run=True)
    assert (root / "shard=0" / "v3-orphan").exists()
    done = store.vacuum(keep=2, grace=NOW)
    assert done == planned
    assert done.versions == [1]
    assert "shard=0/v3-orphan" in done.stores
    assert done.staged == ["_staging/attempt"]
    assert done.size >= 1000
    for version, content in before.items():
        assert quads(root, version) == content
    with pytest.raises(RootError, match="version 1 were removed"):
        store.at(1)
    needed = {shard.store for each in store.history() for shard in each.shards or () if shard.store}
    assert _stores(root) == needed
    again = store.vacuum(keep=2, grace=NOW)
    assert (again.versions, again.stores, again.staged) == ([], [], [])


def test_a_vacuum_leaves_what_is_young(root: Path) -> None:
    before = _stores(root)
    orphan = root / "shard=1" / "v4-attempt"
    orphan.mkdir(parents=True)
    (root / "_staging" / "attempt").mkdir(parents=True)
    done = vacuum(root, keep=1, grace=timedelta(hours=1))
    assert (done.versions, done.stores, done.staged) == ([], [], [])
    assert _stores(root) == before | {"shard=1/v4-attempt"}
    # A store is as young as the newest file in it.
    old = time.time() - 7200
    (orphan / "young").write_bytes(b"")
    os.utime(orphan, (old, old))
    os.utime(root / "_staging" / "attempt", (old, old))
    done = vacuum(root, keep=1, grace=timedelta(hours=1))
    assert (done.stores, done.staged) == ([], ["_staging/attempt"])
    os.utime(orphan / "young", (old, old))
    os.utime(orphan, (old, old))
    assert vacuum(root, keep=1, grace=timedelta(hours=1)).stores == ["shard=1/v4-attempt"]


@pytest.mark.usefixtures("kind")
def test_a_vacuum_leaves_what_is_no_store(root: Path, tmp_path: Path) -> None:
    """Files or links that a user has put beside stores."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").touch()
    (root / "shard=9").symlink_to(tmp_path / "mine")
    (root / "shard=0" / "backup").mkdir()
    (root / "shard=0" / "v1-x y").touch()
    (root / "shard=0" / "version1-x").touch()
    assert ShardedStore(root).vacuum(keep=100, grace=timedelta()).stores == []
    assert (root / "shard=9" / "file").exists()
    assert {"backup", "v1-x y", "version1-x"} < set(os.listdir(root / "shard=0"))


def test_patches_go_on_after_a_vacuum(root: Path) -> None:
    ShardedStore(root).vacuum(keep=1, grace=NOW)
    shard_by = ShardedStore(root).layout.shard_by
    before = set(quads(root))
    apply(root, b"A <urn:new> <urn:p> _:b1 . Z .", shards=4, shard_by=shard_by)
    new = Quad(NamedNode("urn:new"), NamedNode("urn:p"), BlankNode("b1"))
    assert set(quads(root)) == before | {new}
    # The vacuum has made one itself.
    assert ShardedStore(root).version == 5


@pytest.mark.usefixtures("kind")
def test_a_vacuum_of_nothing_is_rejected(root: Path) -> None:
    with pytest.raises(ValueError, match="newest version is always kept"):
        vacuum(root, keep=0)
    with pytest.raises(ValueError, match="negative"):
        vacuum(root, grace=timedelta(-1))


# Queries

STARS = [
    "SELECT * { ?s <urn:p0> ?o }",
    "SELECT ?s ?a { ?s <urn:p0> ?a ; <urn:p1> ?b FILTER(isBlank(?b)) }",
    "SELECT * { ?s <urn:p0> ?a OPTIONAL { ?s <urn:p1> ?b } BIND(str(?a) AS ?t) }",
    "SELECT * { ?s <urn:p0> ?a MINUS { ?s <urn:p1> <urn:o1> } }",
    "SELECT * { ?s <urn:p0> ?a FILTER NOT EXISTS { ?s <urn:p1> ?b } }",
    "SELECT * { ?s <urn:p0> ?a FILTER(?a = 1 || EXISTS { ?s <urn:p1> ?b FILTER(?b != 1) }) }",
    "SELECT * { VALUES ?o { <urn:o1> <urn:o2> } ?s <urn:p0> ?o }",
    "SELECT * { { ?s <urn:p0> ?o } UNION { ?t <urn:p1> ?o } }",
    "SELECT * { GRAPH ?g { ?s <urn:p0> ?a ; ?p ?b } }",
    "SELECT * { GRAPH <urn:g> { <urn:s1> ?p ?o } }",
    "SELECT * { <urn:s1> ?p ?o }",
    "SELECT ?o { [] <urn:p0> ?o ; <urn:p1> ?o }",
]

GRAPHS = [
    "SELECT * { GRAPH ?g { ?s <urn:p0> ?b . ?b ?p ?c } }",
    "SELECT * { ?s <urn:p0> ?b . ?b ?p ?c }",
    "SELECT * { GRAPH <urn:g> { ?s (<urn:p0>/<urn:p1>)+ ?b } }",
    "SELECT * { GRAPH ?g { ?s <urn:p0> ?b OPTIONAL { ?b <urn:p1> ?c } } }",
    "SELECT * { { ?s <urn:p0> ?o } UNION { GRAPH ?g { ?s <urn:p1> ?o } } }",
    "SELECT * { GRAPH ?g { ?a <urn:p0> ?b FILTER EXISTS { ?b ?c ?d } } }",
]

#: For both ways of sharding.
REJECTED = {
    "SELECT DISTINCT ?s { ?s ?p ?o }": "Distinct needs the solutions of all shards",
    "SELECT * { ?s ?p ?o } ORDER BY ?s": "OrderBy",
    "SELECT * { ?s ?p ?o } LIMIT 1": "Slice",
    "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }": "AggregateJoin",
    "SELECT * { ?s ?p ?o { SELECT ?s { ?s ?q ?r } } }": "ToMultiSet",
    "SELECT (1 AS ?one) {}": "no triple pattern",
    "SELECT * { VALUES ?x { 1 } }": "no triple pattern",
    "SELECT * { VALUES ?x { 1 } OPTIONAL { ?s ?p ?x } }": "OPTIONAL and MINUS",
    "SELECT * { { ?s ?p ?o } UNION { VALUES ?x { 1 } } }": "side of a UNION",
    "SELECT * FROM <urn:g> { ?s ?p ?o }": "FROM",
    "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }": "ServiceGraphPattern",
    "SELECT * { BIND(1 AS ?x) FILTER EXISTS { ?s ?p ?o } }": "EXISTS needs",
    "ASK { ?s ?p ?o }": "only SELECT queries are supported",
    "CONSTRUCT WHERE { ?s ?p ?o }": "only SELECT queries are supported",
    "SELECT nonsense": "not well-formed",
}

REJECTED_BY_SUBJECT = [
    "SELECT * { ?s <urn:p0> ?b . ?b ?p ?c }",
    "SELECT * { ?s <urn:p0>/<urn:p1> ?b }",
    "SELECT * { ?s <urn:p0> ?a OPTIONAL { ?a <urn:p1> ?b } }",
    "SELECT * { ?s <urn:p0> ?a MINUS { ?t <urn:p1> ?a } }",
    "SELECT * { ?s <urn:p0> ?a FILTER NOT EXISTS { ?a <urn:p1> ?b } }",
    "SELECT * { ?s <urn:p0> ?a FILTER(1 = 1 && EXISTS { ?t <urn:p1> ?a }) }",
    "SELECT * { { { ?s <urn:p0> ?o } UNION { ?t <urn:p1> ?o } } ?s ?p ?q }",
    "SELECT * { { { ?s <urn:p0> ?o } UNION { ?t <urn:p1> ?o } } "
    "{ { ?s <urn:p0> ?o } UNION { ?t <urn:p1> ?o } } }",
    "SELECT * { <urn:s1> ?p ?o . <urn:s2> ?p ?o }",
    "SELECT * { [] <urn:p0> ?o . [] <urn:p1> ?o }",
]

REJECTED_BY_GRAPH = [
    "SELECT * { ?s ?p ?o GRAPH ?g { ?s ?q ?r } }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } GRAPH ?h { ?s ?q ?r } }",
    "SELECT * { GRAPH <urn:g> { ?s ?p ?o } FILTER EXISTS { ?s ?q ?r } }",
]


def _counted(found: Iterator[dict[str, str | None]]) -> Counter[frozenset[tuple[str, str | None]]]:
    return Counter(frozenset(each.items()) for each in found)


@pytest.mark.usefixtures("kind")
def test_queries_that_shards_can_answer_are_answered(root: Path, single: Store) -> None:
    store = ShardedStore(root)
    queries = STARS if store.layout.shard_by == "subject" else GRAPHS
    answered = 0
    for query in queries:
        expected = _counted(solutions(single, query))
        assert _counted(store.select(query)) == expected, query
        answered += bool(expected)
    assert answered >= len(queries) - 2


@pytest.mark.parametrize("query", [*REJECTED])
def test_queries_that_shards_cannot_answer_are_rejected(query: str) -> None:
    for shard_by in ("subject", "graph"):
        with pytest.raises(QueryError, match=REJECTED[query]):
            scope_of(query, shard_by)  # type: ignore[arg-type]


@pytest.mark.usefixtures("kind")
def test_queries_that_join_over_shards_are_rejected(root: Path) -> None:
    store = ShardedStore(root)
    by_subject = store.layout.shard_by == "subject"
    for query in REJECTED_BY_SUBJECT if by_subject else REJECTED_BY_GRAPH:
        with pytest.raises(QueryError):
            list(store.select(query))
        list(store.select(query, unchecked=True))


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "select*{service<urn:x>{?s ?p ?o}}",
        "SELECT * { ?s ?p ?o . Service Silent ?o { ?a ?b ?c } }",
        "PREFIX e: <urn:> SELECT * { ?s ?p 'x\\'' # '\n SERVICE e:x { ?a ?b ?c } }",
    ],
)
def test_a_service_is_no_damage(root: Path, query: str) -> None:
    """Nor is it asked, once for each shard."""
    store = ShardedStore(root)
    with pytest.raises(QueryError, match="SERVICE is not supported"):
        list(store.select(query, unchecked=True))
    with pytest.raises(QueryError, match="SERVICE is not supported"):
        store.select_dataframe(None, query, unchecked=True)  # type: ignore[arg-type]


@pytest.mark.usefixtures("kind")
def test_the_word_service_may_be_in_a_query(root: Path) -> None:
    """As a name, a prefix, in a text, an IRI, or a comment."""
    query = """
        PREFIX service: <urn:service> # SERVICE <urn:x> {}
        SELECT ?service ("SERVICE" AS ?a) ('\\' SERVICE' AS ?b) {
            ?service service:SERVICE|<urn:SERVICE>|service:a\\-SERVICE|<urn:p0> ?o
            FILTER(?o != \"\"\"a " SERVICE \"\"\"@service)
        }
    """
    assert list(ShardedStore(root).select(query, unchecked=True))


def test_what_a_query_makes_oxigraph_raise_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Raising:
        def query(self, _: str) -> None:
            raise OSError("no")

    monkeypatch.setattr(queries, "Store", Raising)
    with pytest.raises(QueryError, match="cannot be evaluated: no"):
        Scope.all("SELECT * {}")


@pytest.mark.usefixtures("kind")
def test_a_key_in_the_query_is_asked_of_one_shard(root: Path) -> None:
    store = ShardedStore(root)
    list(store.select("SELECT * { GRAPH <urn:g> { <urn:s1> ?p ?o } }"))
    assert len(store._open) == 1


def test_a_query_gives_a_dataframe(spark: SparkSession, root: Path, single: Store) -> None:
    store = ShardedStore(root)
    query = "SELECT ?o ?s { ?s <urn:p0> ?o OPTIONAL { ?s <urn:p1> ?none FILTER(false) } }"
    frame = store.select_dataframe(spark, query)
    assert frame.columns == ["o", "s"]
    expected = _counted(solutions(single, query))
    assert _counted(row.asDict() for row in frame.collect()) == expected
    nothing = store.at(0).select_dataframe(spark, query)
    assert (nothing.columns, nothing.count()) == (["o", "s"], 0)
