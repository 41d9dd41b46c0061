"""Read sharded stores: versions, patterns and dumps; restore and clean them."""

from __future__ import annotations

import io
from collections import Counter
from datetime import timedelta
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
from pyoxigraph import DefaultGraph, Literal, NamedNode, Quad, Store

from jelly_plugins import ChainError, read_frames
from jelly_plugins.oxigraph import read_quads
from jelly_plugins.spark.shards import RootError, ShardedStore, restore, shard_of, vacuum, verify

from .logs import apply, assert_same, quads
from .model import quads_after, random_log, text_of

LOG = random_log(92, patches=3, subjects=40, size=90)


@pytest.fixture(scope="module", params=["subject", "graph"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of three versions."""
    root = tmp_path_factory.mktemp(request.param) / "root"
    for patch in LOG:
        apply(root, text_of([patch]), shards=4, shard_by=request.param)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    """A root of three versions, to be changed."""
    copytree(made, tmp_path / "root")
    return tmp_path / "root"


def test_every_version_can_be_opened(root: Path) -> None:
    store = ShardedStore(root)
    assert store.version == 3
    assert [each.number for each in store.versions()] == [3, 2, 1]
    for version in (1, 2, 3):
        assert set(quads(root, version)) == quads_after(LOG[:version])
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


def test_patterns_find_what_a_single_store_finds(root: Path) -> None:
    store, single = ShardedStore(root), Store()
    some = sorted(quads_after(LOG), key=str)
    single.extend(some)
    patterns: list[tuple[Any, Any, Any, Any]] = [(None, None, None, None)]
    patterns += [
        (None, None, None, DefaultGraph()),
        (None, None, Literal("x", language="en"), None),
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


def test_only_the_shard_of_a_key_is_opened(root: Path) -> None:
    store = ShardedStore(root)
    data = quads_after(LOG)
    some = next(quad for quad in data if str(quad.graph_name) == "<urn:g>" and "<" in str(quad[0]))
    by_subject = store.content.shard_by == "subject"
    key = some.subject if by_subject else some.graph_name
    for number in {*range(4)} - {shard_of(str(key), 4)}:
        rmtree(root / f"shard={number}", ignore_errors=True)
    pattern = (key, None, None, None) if by_subject else (None, None, None, key)
    assert some in store.quads_for_pattern(*pattern)
    assert list(store.select(f"SELECT * {{ GRAPH <urn:g> {{ {some.subject} ?p ?o }} }}"))
    with pytest.raises(RootError, match="is missing"):
        list(store)


def test_a_dump_has_all_quads(root: Path) -> None:
    target = root.parent / "all.jelly"
    store = ShardedStore(root)
    assert store.dump(target) == len(quads_after(LOG))
    assert list(read_quads(target)) == list(store)
    with read_frames(target) as frames:
        assert frames.options is not None
    file = io.BytesIO()
    assert ShardedStore(root, 1).dump(file) == len(ShardedStore(root, 1))


# Restore, vacuum


def test_a_version_is_restored(root: Path) -> None:
    apply(root, b"D <urn:x> <urn:p> <urn:y> .", application="a", batch=4)
    done = restore(root, 1)
    assert (done.number, done.restored) == (5, 1)
    assert_same(root, quads_after(LOG[:1]))
    content = ShardedStore(root).content
    assert content == done
    # Its positions are those of the first version, and batches are not repeated.
    assert content.logs == ShardedStore(root, 1).content.logs
    assert not apply(root, b"A <urn:x> <urn:p> <urn:y> .", application="a", batch=4).committed
    with pytest.raises(ChainError):
        apply(root, text_of(LOG[2:]))
    assert apply(root, text_of(LOG[1:])).patches == 2
    assert_same(root, quads_after(LOG))
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
