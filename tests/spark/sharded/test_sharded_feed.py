"""The changes of a sharded store: as patches, as a log, and as a source of Spark's."""

from __future__ import annotations

import random
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Store
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from jelly_plugins import ChainError, JellyError
from jelly_plugins.codec import PatchOptions
from jelly_plugins.oxigraph import BOOKKEEPING, replay
from jelly_plugins.patch import BEGIN, COMMIT, read_patches, write_patches
from jelly_plugins.spark.datasource.feed import FeedReader
from jelly_plugins.spark.datasource.settings import ReadSettings, StoreSettings
from jelly_plugins.spark.sharded.cleaning import vacuum
from jelly_plugins.spark.sharded.errors import RootError
from jelly_plugins.spark.sharded.restoring import restore
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.store import ShardedStore
from tests.cli.command import jelly

from .logs import Writer, apply, assert_same, log_file, quads
from .places import FolderOfObjects

NOW = timedelta()


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A root that is not there yet."""
    path = tmp_path / "root"
    return FolderOfObjects(path) if request.param == "objects" else path


def _fill(root: Any, folder: Path, versions: int, **settings: Any) -> Writer:
    writer = Writer(seed=3)
    for number in range(versions):
        apply(root, log_file(folder / f"{number}.jellyp", [writer.patch(45)]), **settings)
    return writer


def _log(root: Any, before: int, after: int | None = None) -> bytes:
    file = BytesIO()
    write_patches(ShardedStore(root).changes(before, after), file, options=OPTIONS)
    return file.getvalue()


OPTIONS = PatchOptions(rdf_star=True)


def test_a_second_store_follows_version_by_version(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 4)
    second = tmp_path / "second"
    for version in range(1, 5):
        done = apply(second, _log(place, version - 1, version), shards=2)
        assert (done.version, done.replayed.patches) == (version, 2 if version == 1 else 1)
        assert_same(second, set(quads(place, version)))
        first = ShardedStore(place, version=version).commit
        assert ShardedStore(second).commit.namespaces == first.namespaces
        # Exactly once.
        assert not apply(second, _log(place, version - 1, version), shards=2).committed
    # And as a whole, once more, into a store of one file.
    store = Store()
    assert replay(store, _log(place, 0)).patches == 5
    assert {quad for quad in store if quad.graph_name != BOOKKEEPING} == set(quads(place))
    assert not apply(second, _log(place, 0), shards=2).committed
    # A gap is rejected.
    third = tmp_path / "third"
    apply(third, _log(place, 0, 1), shards=1)
    for root in (third, tmp_path / "empty"):
        with pytest.raises(ChainError):
            apply(root, _log(place, 2), shards=1)
    assert apply(third, _log(place, 1), shards=1).replayed.patches == 3
    assert_same(third, set(quads(place)))


def test_a_patch_says_what_has_changed_and_no_more(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 3)
    store = ShardedStore(place)
    for version, patch in enumerate(store.changes(0)):
        if not version:
            assert patch.operations == [BEGIN, COMMIT]
            before = patch.id
            continue
        commit = store.at(version).commit
        assert str(patch.id.value).replace("-", "") == f"urn:uuid:{commit.id}"
        assert patch.header("version").lex == str(version)
        assert patch.prev == before
        before = patch.id
        old, new = set(quads(place, version - 1)), set(quads(place, version))
        kinds = [operation.kind.code for operation in patch]
        assert (kinds[0], kinds[-1]) == ("TX", "TC")
        assert kinds.count("A") == len(new - old)
        assert kinds.count("D") == len(old - new)
    assert list(store.changes(3)) == list(store.at(1).changes(1)) == []


def test_a_version_without_changes_is_an_empty_patch(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 2)
    apply(place, b"H id <urn:x> . TX . TC . Z .")
    [patch] = ShardedStore(place).changes(2)
    assert patch.operations == [BEGIN, COMMIT]
    # It moves the follower all the same.
    second = tmp_path / "second"
    assert apply(second, _log(place, 0)).replayed.patches == 4
    position = ShardedStore(second).commit.positions[-1]
    assert position.patch == f"<{patch.id.value}>"


def test_namespaces_change_too(place: Any, tmp_path: Path) -> None:
    apply(place, b"TX . PA 'a' <urn:a> . PA 'b' <urn:b> . PA 'c' <urn:c> <urn:g> . TC .", shards=1)
    apply(place, b"TX . PD 'a' . PA 'b' <urn:b2> . PD 'c' <urn:g> . TC .", shards=1)
    found = [patch.operations[1:-1] for patch in ShardedStore(place).changes(0)]
    assert [len(each) for each in found] == [0, 3, 3]
    assert {each.kind.code for each in found[2]} == {"PA", "PD"}
    second = tmp_path / "second"
    apply(second, _log(place, 0))
    assert ShardedStore(second).commit.namespaces == ShardedStore(place).commit.namespaces


def test_versions_that_are_gone_are_skipped(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 4)
    early = tmp_path / "early"
    apply(early, _log(place, 0, 1))
    late = tmp_path / "late"
    apply(late, _log(place, 0, 3))
    vacuum(place, keep=2, grace=NOW)
    # Of versions 3 and 4, of the vacuum's, and the empty one.
    assert len(list(ShardedStore(place).changes(0))) == 4
    fresh = tmp_path / "fresh"
    apply(fresh, _log(place, 0))
    assert_same(fresh, set(quads(place)))
    apply(late, _log(place, 3))
    assert_same(late, set(quads(place)))
    # Its version was vacuumed, so the changes after it are unknown.
    with pytest.raises(RootError, match="stores of version 1 were removed"):
        _log(place, 1)
    with pytest.raises(ChainError):
        apply(early, _log(place, 0))


def test_a_restore_is_followed(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 3)
    restore(place, 1)
    second = tmp_path / "second"
    for version in range(1, 5):
        apply(second, _log(place, version - 1, version))
        assert_same(second, set(quads(place, version)))
    assert set(quads(place, 4)) == set(quads(place, 1)) != set(quads(place, 3))


def test_stores_in_another_order_are_compared_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    _fill(root, tmp_path, 2)
    expected = {
        (operation.kind, operation.value)
        for patch in ShardedStore(root).changes(1)
        for operation in patch
    }
    read = ShardedStore.quads_of_shard

    def shuffled(self: ShardedStore, number: int) -> Any:
        found = list(read(self, number))
        random.Random(self.version).shuffle(found)
        return iter(found)

    monkeypatch.setattr(ShardedStore, "quads_of_shard", shuffled)
    [patch] = ShardedStore(root).changes(1)
    assert {(operation.kind, operation.value) for operation in patch} == expected


def test_what_cannot_be_compared(place: Any, tmp_path: Path) -> None:
    _fill(place, tmp_path, 2)
    store = ShardedStore(place)
    with pytest.raises(ValueError, match="must not be after to_version"):
        store.changes(2, 1)
    with pytest.raises(RootError, match="no version 3"):
        store.changes(1, 3)
    with pytest.raises(TypeError):
        store.changes("1")  # type: ignore[arg-type]


def test_the_command_writes_a_log(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _fill(root, tmp_path, 3)
    out = tmp_path / "log.jellyp"
    assert jelly("spark", "changes", root, "--from-version", "1", "-o", out).code == 0
    found = list(read_patches(str(out)))
    assert [patch.header("version").lex for patch in found] == ["2", "3"]
    done = jelly("spark", "changes", root, "--from-version", "0", "--to-version", "1")
    assert done.text.startswith("H id <urn:uuid:")
    assert done.text.endswith("TC .\n")
    done = jelly("spark", "changes", root, "--from-version", "2", "--to-version", "1")
    assert (done.code, done.err.count("\n")) == (2, 1)
    done = jelly("spark", "changes", root, "--from-version", "9")
    assert (done.code, done.err) == (1, f"jelly: {root}: there is no version 9\n")


def test_what_is_wrong_with_a_root(tmp_path: Path) -> None:
    storage = storage_at(tmp_path / "root")
    reader = FeedReader(storage, StoreSettings(last=9), ReadSettings(), StructType())
    with pytest.raises(RootError, match="root: there is no sharded store here"):
        reader.partitions()
    _fill(tmp_path / "root", tmp_path, 1)
    with pytest.raises(RootError, match="root: option endingVersion: there is no version 9"):
        reader.partitions()


# With Spark


@pytest.mark.slow
def test_spark_reads_changes_and_applies_them(spark: SparkSession, tmp_path: Path) -> None:
    from jelly_plugins.spark import apply_patches

    root, second = tmp_path / "root", tmp_path / "second"
    _fill(root, tmp_path, 3)

    def read(**options: Any) -> Any:
        reader = spark.read.format("jelly-store").option("readChangeFeed", "true")
        return reader.options(**options).load(str(root))

    rows = read(startingVersion=2, endingVersion=2).collect()
    [patch] = ShardedStore(root).changes(1, 2)
    assert len(rows) == sum(1 for _ in patch)
    assert {row.id for row in rows} == {f"<{patch.id.value}>"}
    assert apply_patches(spark, read(endingVersion=2), second, shards=2).replayed.patches == 3
    assert_same(second, set(quads(root, 2)))
    assert apply_patches(spark, read(startingVersion=3), second).replayed.patches == 1
    assert_same(second, set(quads(root, 3)))
    assert not apply_patches(spark, read(startingVersion=4), second).committed
    with pytest.raises(Exception, match=r"option startingVersion is 5, .*there is no version 4"):
        read(startingVersion=5).collect()


@pytest.mark.slow
def test_a_stream_follows_a_store(spark: SparkSession, tmp_path: Path) -> None:
    from jelly_plugins.spark import apply_patches

    root, second = tmp_path / "root", tmp_path / "second"
    writer = _fill(root, tmp_path, 3)
    stream = spark.readStream.format("jelly-store").option("readChangeFeed", "true")

    def follow() -> int:
        frame = stream.option("maxFilesPerTrigger", 2).load(str(root))
        return apply_patches(spark, frame, second, shards=2, application="f").replayed.patches

    assert follow() == 4
    assert_same(second, set(quads(root, 3)))
    assert ShardedStore(second).version == 2
    apply(root, log_file(tmp_path / "more.jellyp", [writer.patch()]))
    restore(root, 1)
    assert follow() == 2
    assert_same(second, set(quads(root, 1)))
    # Another store in its place.
    root.rename(tmp_path / "elsewhere")
    _fill(root, tmp_path, 6)
    with pytest.raises(JellyError, match="the root now has another store"):
        follow()
