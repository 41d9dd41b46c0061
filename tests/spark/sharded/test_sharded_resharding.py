"""Another number of shards; and stores that grow, are restored and vacuumed while one follows."""

from __future__ import annotations

import json
import random
import shutil
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Store
from pyspark.sql import SparkSession

from jelly_plugins.codec import PatchOptions
from jelly_plugins.oxigraph import BOOKKEEPING, replay
from jelly_plugins.patch import write_patches
from jelly_plugins.spark.sharded.cleaning import vacuum
from jelly_plugins.spark.sharded.commits import Commit, CommitLog
from jelly_plugins.spark.sharded.copying import copy_store
from jelly_plugins.spark.sharded.documents import seal
from jelly_plugins.spark.sharded.errors import CommitConflictError, RootError
from jelly_plugins.spark.sharded.resharding import reshard
from jelly_plugins.spark.sharded.restoring import restore
from jelly_plugins.spark.sharded.store import ShardedStore
from tests.cli.command import jelly

from .here import run_here
from .logs import Writer, apply, assert_same, log_file, quads, replayed
from .places import FolderOfObjects

NOW = timedelta()


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A root that is not there yet."""
    path = tmp_path / "root"
    return FolderOfObjects(path) if request.param == "objects" else path


def _fill(root: Any, folder: Path, shards: int, **settings: Any) -> tuple[Writer, str]:
    writer = Writer(seed=7, subjects=60)
    log = log_file(folder / "log.jellyp", [writer.patch(300)])
    apply(root, log, shards=shards, application="a", batch=4, **settings)
    return writer, log


@pytest.mark.parametrize("by", ["subject", "graph"])
@pytest.mark.parametrize(("old", "new"), [(2, 4), (4, 1), (2, 3)])
def test_quads_go_to_the_shards_they_belong_to(tmp_path: Path, old: int, new: int, by: str) -> None:
    root = tmp_path / "root"
    _, log = _fill(root, tmp_path, old, shard_by=by)
    before = ShardedStore(root)
    made = reshard(root, new)
    assert (made.version, made.operations, len(made.shards or ())) == (2, 0, new)
    for name in ("quads", "positions", "applications", "namespaces"):
        assert getattr(made, name) == getattr(before.commit, name)
    assert ShardedStore(root).layout.shards == new
    assert_same(root, replayed(log))
    assert before.at(1).layout.shards == old
    assert set(before.at(1)) == set(before) == replayed(log)
    # Shards without quads have no store.
    assert all((each.store is None) is (not each.quads) for each in made.shards or ())
    assert reshard(root, new).version == 2


def test_a_resharded_store_goes_on(place: Any, tmp_path: Path) -> None:
    writer, log = _fill(place, tmp_path, 2)
    reshard(place, 4)
    more = log_file(tmp_path / "more.jellyp", [writer.patch()])
    # What was applied is known.
    assert not apply(place, log, shards=4).committed
    assert apply(place, more, shards=4).committed
    assert_same(place, replayed(log, more))
    subject = next(iter(ShardedStore(place))).subject
    store = ShardedStore(place)
    assert set(store.quads_for_pattern(subject, None, None)) == {
        quad for quad in store if quad.subject == subject
    }
    with pytest.raises(RootError, match=r"the store has 4 shards .got shards=2."):
        apply(place, more, shards=2)
    reshard(place, 1)
    assert vacuum(place, keep=1, grace=NOW).versions == [3, 2, 1]
    assert_same(place, replayed(log, more))
    copy_store(place, tmp_path / "copy")
    assert ShardedStore(tmp_path / "copy").layout.shards == 1
    copy_store(place, tmp_path / "all", history=True)
    assert_same(tmp_path / "all", replayed(log, more))


def test_copies_keep_the_numbers_of_shards(place: Any, tmp_path: Path) -> None:
    writer, _ = _fill(place, tmp_path, 2)
    reshard(place, 3)
    apply(place, log_file(tmp_path / "more.jellyp", [writer.patch()]), shards=3)
    copy_store(place, tmp_path / "all", history=True)
    for version, shards in ((1, 2), (2, 3), (3, 3)):
        copy = ShardedStore(tmp_path / "all", version=version)
        assert copy.layout.shards == shards
        assert set(copy) == set(quads(place, version))


def test_the_empty_store_is_resharded(place: Any) -> None:
    apply(place, b"TX . TC . Z .", shards=2)
    assert len(reshard(place, 5).shards or ()) == 5
    assert len(ShardedStore(place)) == 0


def test_an_active_writer_loses_or_wins(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was staged for the old shards is never applied to the new ones, nor left out."""
    writer, log = _fill(place, tmp_path, 2)
    more = log_file(tmp_path / "more.jellyp", [writer.patch()])

    def meanwhile(works: Any) -> Any:
        reshard(place, 4)
        return run_here(works)

    with pytest.raises(CommitConflictError):
        apply(place, more, shards=2, run=meanwhile, retries=5)
    assert_same(place, replayed(log))
    assert apply(place, more, shards=4).committed
    publish = CommitLog.publish
    last = log_file(tmp_path / "last.jellyp", [writer.patch()])

    def late(self: CommitLog, commit: Commit) -> None:
        monkeypatch.setattr(CommitLog, "publish", publish)
        apply(place, last, shards=4)
        publish(self, commit)

    monkeypatch.setattr(CommitLog, "publish", late)
    with pytest.raises(CommitConflictError):
        reshard(place, 3)
    assert ShardedStore(place).layout.shards == 4
    assert_same(place, replayed(log, more, last))


def test_an_attempt_that_dies_leaves_what_a_vacuum_takes(
    place: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: None
) -> None:
    _, log = _fill(place, tmp_path, 2)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CommitLog, "publish", dies)
    with pytest.raises(KeyboardInterrupt):
        reshard(place, 8)
    monkeypatch.undo()
    assert_same(place, replayed(log))
    monkeypatch.setattr("jelly_plugins.spark.sharded.cleaning.LEAST_GRACE", NOW)
    # Also of shards that no version has.
    removed = vacuum(place, keep=9, grace=NOW).stores
    assert len(removed) >= 2
    assert any(int(name.split("/")[0].split("=")[1]) > 1 for name in removed)
    assert_same(place, replayed(log))
    assert at_once is None


def test_quads_that_are_missing_are_not_lost_in_silence(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _fill(root, tmp_path, 2)
    path = root / "_commits/000000000001.json"
    found = json.loads(path.read_bytes())
    del found["checksum"]
    found["quads"] += 1
    found["shards"][0]["quads"] += 1
    path.write_bytes(seal(found))
    with pytest.raises(RootError, match="quads, but the commit has"):
        reshard(root, 4)
    assert ShardedStore(root).version == 1


def test_numbers_that_are_none(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 2)
    for wrong in (0, -1, 65537):
        with pytest.raises(ValueError, match="shards must be"):
            reshard(place, wrong)
    with pytest.raises(TypeError):
        reshard(place, 2.5)  # type: ignore[arg-type]


def test_the_command_reshards(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _, log = _fill(root, tmp_path, 2)
    done = jelly("spark", "reshard", root, "4", "--processes", "1")
    assert done.text.endswith(", 4 shards\n")
    assert_same(root, replayed(log))


@pytest.mark.slow
def test_processes_reshard(place: Any, tmp_path: Path) -> None:
    _, log = _fill(place, tmp_path, 2)
    if not isinstance(place, FolderOfObjects):
        reshard(place, 4, processes=2)
        assert_same(place, replayed(log))


def test_spark_reshards(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    _, log = _fill(root, tmp_path, 2)
    reshard(root, 6, spark)
    assert_same(root, replayed(log))


# All of it together


def _model(root: Any, folder: Path, seed: int, rounds: int) -> None:
    """A store to which everything happens, and one that follows it."""
    pick = random.Random(seed)
    writer = Writer(seed=seed, subjects=12)
    second = folder / "second"
    #: What each version has: quads and namespaces.
    expected: dict[int, tuple[set[Any], dict[str, Any]]] = {0: (set(), {})}
    followed = 0
    log = log_file(folder / "log.jellyp", [writer.patch(12)])
    apply(root, log, shards=pick.choice([1, 2, 4]))
    expected[1] = replayed(log), dict(ShardedStore(root).commit.namespaces)
    for number in range(rounds):
        store = ShardedStore(root)
        done = pick.choice(["patch", "patch", "patch", "reshard", "restore", "vacuum"])
        if done == "patch":
            # The log may have been rewound: a new one, then.
            writer.number += 100
            first = log_file(folder / f"{number}.jellyp", [_alone(writer.patch(12))])
            before = set(store)
            apply(root, first, shards=store.layout.shards)
            assert set(quads(root)) == replayed_onto(before, first)
        elif done == "reshard":
            before = set(store)
            reshard(root, pick.choice([1, 2, 3, 4, 6]))
            assert set(quads(root)) == before
        elif done == "restore":
            known = [commit.version for commit in store.history() if commit.readable]
            version = pick.choice(known)
            restore(root, version)
            assert set(quads(root)) == expected[version][0]
        else:
            vacuum(root, keep=pick.randrange(2, 5), grace=NOW)
        head = ShardedStore(root)
        expected[head.version] = set(head), dict(head.commit.namespaces)
        assert head.verify() == []
        if pick.random() < 0.6:
            _follow(root, second, followed, head.version)
            followed = head.version
            assert_same(second, expected[followed][0])
            assert ShardedStore(second).commit.namespaces == expected[followed][1]
    for commit in ShardedStore(root).history():
        if commit.readable and commit.version in expected:
            assert set(quads(root, commit.version)) == expected[commit.version][0]


def _alone(patch: Any) -> Any:
    patch.headers = [each for each in patch.headers if each.key != "prev"]
    return patch


def replayed_onto(before: set[Any], log: str) -> set[Any]:
    """What a log makes of quads."""
    store = Store()
    store.extend(before)
    replay(store, log, check_blank_nodes=False)
    return {quad for quad in store if quad.graph_name != BOOKKEEPING}


def _follow(root: Any, second: Path, before: int, after: int) -> None:
    file = BytesIO()
    try:
        found = ShardedStore(root).changes(before, after)
    except RootError:
        # A vacuum was faster: the follower begins anew.
        shutil.rmtree(second)
        found = ShardedStore(root).changes(0, after)
    write_patches(found, file, options=PatchOptions(rdf_star=True))
    if file.getvalue():
        apply(second, file.getvalue(), shards=3)


@pytest.mark.parametrize("seed", [0])
def test_a_second_store_follows_whatever_happens(place: Any, tmp_path: Path, seed: int) -> None:
    _model(place, tmp_path, seed, 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 40))
def test_second_stores_follow_for_long(place: Any, tmp_path: Path, seed: int) -> None:
    _model(place, tmp_path, seed, 25)
