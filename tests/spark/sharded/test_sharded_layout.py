"""The root of sharded stores, the hash, and the log of commits."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from threading import Barrier, Thread

import pytest
from pyspark.sql import SparkSession

from jelly_plugins.spark.sharded.cleaning import vacuum
from jelly_plugins.spark.sharded.commits import CommitLog, Shard, make_log, open_log
from jelly_plugins.spark.sharded.copying import copy_store
from jelly_plugins.spark.sharded.documents import seal
from jelly_plugins.spark.sharded.errors import CommitConflictError, RootError
from jelly_plugins.spark.sharded.layout import (
    Root,
    make_root,
    open_root,
    shard_of,
    xxhash,
)
from jelly_plugins.spark.sharded.resharding import reshard
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.store import ShardedStore
from tests.cli.command import jelly

from .logs import apply

KEYS = ["", "<urn:s>", "_:b0", "<http://example.org/é/😀>", "x" * 100, "\0", "<urn:a>" * 5]


def test_the_hash_is_that_of_the_layout() -> None:
    """Fixed for ever: another program must find the same shards."""
    assert [shard_of(key, 16) for key in KEYS] == [4, 8, 13, 2, 7, 7, 2]
    spread = {shard_of(f"<urn:s{number}>", 64) for number in range(2000)}
    assert spread == set(range(64))


def test_spark_has_the_same_hash(spark: SparkSession) -> None:
    keys = [*KEYS, *(f"<http://example.org/resource/{number}>" for number in range(500))]
    frame = spark.createDataFrame([(key,) for key in keys], "key string")
    for shards in (1, 7, 16):
        found = frame.selectExpr("key", f"pmod(xxhash64(key), {shards}) AS shard").collect()
        assert [(row.key, row.shard) for row in found] == [
            (key, shard_of(key, shards)) for key in keys
        ]
    assert xxhash.xxh64_intdigest(b"", 42) != xxhash.xxh64_intdigest(b"", 0)


# Roots


def test_a_root_keeps_its_layout(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "root"
    assert make_root(storage_at(root), 4, "graph") == Root(shards=4, shard_by="graph")
    storage = storage_at(root)
    assert make_root(storage) == make_root(storage, 4) == open_root(storage)
    with pytest.raises(RootError, match=r"the store has 4 shards .got shards=5."):
        make_log(storage_at(root), 5)
    with pytest.raises(RootError, match="shard_by is graph in this store"):
        make_root(storage_at(root), shard_by="subject")
    assert make_root(storage_at(tmp_path / "other")) == Root(shards=16, shard_by="subject")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(RootError, match=r"another file, 'thesis.txt'"):
        make_root(storage_at(tmp_path), 4)
    with pytest.raises(RootError, match="no sharded store"):
        open_root(storage_at(tmp_path))
    with pytest.raises(RootError, match="no sharded store"):
        open_root(storage_at(tmp_path / "nowhere"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "layout 2 is not supported"),
        ({"hash": "md5"}, "hash 'md5' is not supported"),
        ({"shard_by": "object"}, r"shard_by must be one of .*got 'object'"),
        ({"shards": 0}, r"shards must be a number .*got 0"),
        ({"shards": True}, r"shards must be a number .*got True"),
        ({"shards": 1 << 40}, "shards must be a number from 1"),
        ({"shards": None}, r"shards must be a number .*got None"),
    ],
)
def test_a_root_of_another_layout_is_rejected(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    make_root(storage_at(tmp_path), 4)
    path = tmp_path / "_root.json"
    found = json.loads(path.read_text())
    del found["checksum"]
    path.write_bytes(seal(found | change))
    for opening in (open_root, make_root):
        with pytest.raises(RootError, match=message):
            opening(storage_at(tmp_path))


def test_any_bit_of_the_layout_that_is_flipped_is_found(tmp_path: Path) -> None:
    make_root(storage_at(tmp_path), 1)
    path = tmp_path / "_root.json"
    data = path.read_bytes()
    for place in range(len(data)):
        for bit in range(8):
            path.write_bytes(data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :])
            with pytest.raises(RootError):
                open_root(storage_at(tmp_path))
    path.write_bytes(data)
    assert open_root(storage_at(tmp_path)).shards == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b"null"])
def test_invalid_json_objects_are_rejected(tmp_path: Path, data: bytes) -> None:
    make_root(storage_at(tmp_path), 4)
    log = open_log(storage_at(tmp_path))
    log.publish(log.head().next())
    for path in (tmp_path / "_commits" / "000000000001.json", tmp_path / "_root.json"):
        path.write_bytes(data)
        with pytest.raises(RootError, match=path.name):
            log.head() if "commits" in str(path) else open_root(storage_at(tmp_path))


def test_a_document_of_too_many_values_is_not_made_of_them(tmp_path: Path) -> None:
    """They would take a hundred times its bytes."""
    make_root(storage_at(tmp_path), 4)
    (tmp_path / "_root.json").write_bytes(b'{"x": [' + b"[]," * (5 << 20) + b"[]]}")
    with pytest.raises(RootError, match=r"_root.json: of more than 4194304 values"):
        open_root(storage_at(tmp_path))


def test_bad_arguments_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shards must be from 1"):
        make_root(storage_at(tmp_path), 0)
    with pytest.raises(ValueError, match="shard_by must be one of"):
        make_root(storage_at(tmp_path), 1, "object")  # type: ignore[arg-type]


# Commits


@pytest.fixture
def log(tmp_path: Path) -> CommitLog:
    return make_log(storage_at(tmp_path), 2)[0]


@pytest.mark.usefixtures("kind")
def test_versions_follow_each_other(log: CommitLog) -> None:
    assert (log.head().version, log.versions(), list(log.history())) == (0, [], [])
    first = log.publish(log.head().next(namespaces={"": {"ex": "urn:é"}}, operations=3))
    second = log.publish(first.next())
    assert log.head() == second
    assert [commit.version for commit in log.history()] == [2, 1]
    assert log.read(1) == first
    with pytest.raises(RootError, match="no version 3"):
        log.read(3)


@pytest.mark.usefixtures("kind")
def test_a_commit_that_is_listed_and_not_there_is_distinguished_from_one_that_was_never_made(
    log: CommitLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = log.head()
    for _ in range(3):
        commit = commit.next()
        log.publish(commit)
    name = "_commits/000000000003.json"
    with monkeypatch.context() as patch:

        def missing(asked: str) -> bytes:
            raise FileNotFoundError(asked)

        patch.setattr(log.storage, "read", missing)
        for look in (log.head, lambda: log.read(3)):
            with pytest.raises(RootError, match=f"version 3 is listed, but {name} was not found"):
                look()
    log.storage.remove(["_commits/000000000002.json"])
    with pytest.raises(RootError, match="no version 2: its commit was lost, as version"):
        log.read(2)
    with pytest.raises(RootError, match=r"no version 4$"):
        log.read(4)


@pytest.mark.usefixtures("kind")
def test_versions_without_a_root_file_are_reported(log: CommitLog) -> None:
    log.publish(log.head().next())
    log.storage.remove(["_root.json"])
    message = "no sharded store here: it has versions, but _root.json was not found"
    with pytest.raises(RootError, match=message):
        open_root(log.storage)


@pytest.mark.usefixtures("kind")
def test_the_second_of_two_writers_is_reported(log: CommitLog) -> None:
    one, other = log.head().next(), log.head().next()
    one = log.publish(one)
    with pytest.raises(CommitConflictError, match="version 1 first") as caught:
        log.publish(other)
    assert caught.value.version == 1
    assert log.head() == one
    # What a network file system reports as a failure may have been done.
    log.put(one)


@pytest.mark.usefixtures("kind")
def test_one_of_many_writers_wins(log: CommitLog) -> None:
    barrier = Barrier(8)
    lost: list[CommitConflictError] = []

    def write() -> None:
        commit = log.head().next()
        barrier.wait()
        try:
            log.publish(commit)
        except CommitConflictError as error:
            lost.append(error)

    threads = [Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(lost), log.versions()) == (7, [1])
    assert log.storage.names("_commits") == ["000000000001.json"]


@pytest.mark.usefixtures("kind")
def test_a_version_that_was_forgotten_cannot_be_made_again(log: CommitLog) -> None:
    late = log.head().next()
    log.publish(log.head().next())
    log.publish(log.head().next())
    log.forget(1)
    assert log.read(1).shards is None
    with pytest.raises(CommitConflictError):
        log.publish(late)


@pytest.mark.usefixtures("kind")
def test_a_commit_names_only_what_is_there(log: CommitLog) -> None:
    gone = log.head().next(shards=(Shard("shard=0/v1-x", 1, "0" * 32), Shard()))
    with pytest.raises(RootError, match="no longer exists"):
        log.publish(gone)


NOTHING = {"quads": 0, "checksum": "0" * 32}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 9}, "format 9"),
        ({"version": 7}, "the commit of version 7"),
        ({"version": -1}, "not a commit"),
        ({"shards": []}, "0 shards"),
        ({"shards": [{"store": "../../etc", **NOTHING}] * 2}, "is not a store of shard 0"),
        ({"shards": [{"store": "shard=1/v1-x", **NOTHING}] * 2}, "is not a store of shard 0"),
        ({"shards": [{"store": "shard=0/../..", **NOTHING}] * 2}, "is not a store of shard 0"),
        ({"shards": [{"store": None, "quads": 1.5, "checksum": None}] * 2}, "not a commit"),
        ({"shards": [{"store": "shard=0/v1-x", "quads": 1, "checksum": None}] * 2}, "not a commit"),
        ({"restored": 3}, "it restores version 3"),
        ({"restored": "1"}, "not a commit"),
        ({"undone": {"a": -1}}, "not a commit"),
        ({"metadata": {"a": 1}}, "not a commit"),
        ({"shards": 5}, "not a commit"),
        ({"positions": [{}]}, "not a commit"),
        ({"applications": {"a": 1}}, "not a commit"),
        ({"timestamp": "yesterday"}, "not a commit"),
        ({"namespaces": []}, "not a commit"),
    ],
)
def test_a_damaged_commit_is_rejected(
    log: CommitLog, change: dict[str, object], message: str
) -> None:
    log.publish(log.head().next())
    path = Path(log.storage.place("_commits/000000000001.json"))
    found = json.loads(path.read_text()) | change
    del found["checksum"]
    path.write_bytes(seal(found))
    with pytest.raises(RootError, match=message):
        log.head()


@pytest.mark.usefixtures("kind")
def test_a_file_that_is_there_is_not_replaced(tmp_path: Path) -> None:
    storage = storage_at(tmp_path)
    assert storage.put_if_absent("x", b"1")
    assert storage.put_if_absent("x", b"1")
    assert not storage.put_if_absent("x", b"2")
    assert (tmp_path / "x").read_bytes() == b"1"
    assert os.listdir(tmp_path) == ["x"]


# Where a root may be


@pytest.mark.parametrize(
    "root", ["http://bucket/x", "ftp://x", "hdfs://host/x", "file://host/x", Path("hdfs://b/x")]
)
def test_a_root_that_is_not_a_local_path_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    """It would be a folder of that name here."""
    monkeypatch.chdir(tmp_path)
    for use in (storage_at, ShardedStore, vacuum):
        with pytest.raises(RootError, match="not a local path"):
            use(root)
    assert jelly("spark", "status", root).err.count("not a local path") == 1
    assert jelly("spark", "apply", "x", "--root", root).err.count("not a local path") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_root_that_has_to_be_there_is_not_made(tmp_path: Path) -> None:
    """A mount that went away leaves an empty folder, or none."""
    log = tmp_path / "log.rdfp"
    log.write_text("TX .\nTC .\nZ .\n")
    (tmp_path / "mount").mkdir()
    for root in (tmp_path / "mount", tmp_path / "nowhere"):
        with pytest.raises(RootError, match="there is no sharded store here"):
            make_log(storage_at(root), create=False)
        done = jelly("spark", "apply", str(log), "--root", root, "--existing")
        assert (done.code, done.err) == (1, f"jelly: {root}: there is no sharded store here\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["log.rdfp", "mount"]
    assert [*(tmp_path / "mount").iterdir()] == []
    root = tmp_path / "mount"
    make_root(storage_at(root), 3)
    assert make_root(storage_at(root), create=False).shards == 3
    with pytest.raises(RootError, match=r"the store has 3 shards .got shards=4."):
        make_log(storage_at(root), 4, create=False)


def test_a_root_may_be_a_file_url(tmp_path: Path) -> None:
    folder = tmp_path / "a root"
    make_root(storage_at(folder.as_uri()), 3)
    for url in (folder.as_uri(), f"file:{tmp_path}/a%20root", f"file://localhost{tmp_path}/a root"):
        assert ShardedStore(url).root == folder


def test_a_file_system_without_links_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", reject)
    with pytest.raises(RootError, match=r"cannot make a hard link here .Operation not permitted"):
        make_root(storage_at(tmp_path / "root"))
    assert [*(tmp_path / "root").iterdir()] == []
    (tmp_path / "file").touch()
    with pytest.raises(RootError, match="cannot be made: "):
        make_root(storage_at(tmp_path / "file" / "root"))


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("file:///root?x=1", "must not have a query or a fragment"),
        ("file:///root#f", "must not have a query or a fragment"),
        ("file:///root?", "must not have a query or a fragment"),
        ("file:tmp/x", "needs an absolute path"),
        ("FILE:x", "needs an absolute path"),
        ("file:///a%00b", "NUL"),
        ("a\0b", "NUL"),
    ],
)
def test_a_root_that_is_not_a_path_is_rejected(root: str, said: str) -> None:
    with pytest.raises(RootError, match=said):
        storage_at(root)


def test_a_file_or_a_name_that_is_too_long_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "file/x", "x" * 5000):
        with pytest.raises(RootError, match="cannot be read: "):
            ShardedStore(tmp_path / name)


@pytest.mark.parametrize("name", ["_root.json", "_commits/000000000001.json", "list"])
@pytest.mark.parametrize("what", ["pipe", "folder", "device", "loop"])
def test_what_is_no_file_is_no_document(tmp_path: Path, name: str, what: str) -> None:
    """A reader does not wait for it, does not read it endlessly, and reports it as damaged."""
    apply(tmp_path / "root", b"TX . A <urn:s> <urn:p> <urn:o> . TC .", shards=1)
    store = ShardedStore(tmp_path / "root").commit.shards[0].store  # type: ignore[index]
    path = tmp_path / "root" / (name if name != "list" else f"{store}/_files.json")
    path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if what == "device" else path)
    if name == "list":
        [damage] = ShardedStore(tmp_path / "root").verify()
        assert "_files.json: " in damage
        with pytest.raises(RootError, match=r"_files.json: (not a regular file|cannot be read)"):
            copy_store(tmp_path / "root", tmp_path / "copy")
        return
    for use in (ShardedStore, vacuum, lambda root: reshard(root, 2)):
        with pytest.raises(RootError, match=rf"{name}: .*(not a regular file|cannot be read)"):
            use(tmp_path / "root")


def test_a_folder_that_is_none_cannot_be_listed(tmp_path: Path) -> None:
    apply(tmp_path, b"TX . A <urn:s> <urn:p> <urn:o> . TC .", shards=1)
    shutil.rmtree(tmp_path / "_commits")
    (tmp_path / "_commits").touch()
    with pytest.raises(RootError, match="_commits: cannot be listed: Not a directory"):
        ShardedStore(tmp_path)


@pytest.mark.parametrize("version", ["1", True, 1.0, -1])
def test_a_version_is_a_whole_number(tmp_path: Path, version: object) -> None:
    make_root(storage_at(tmp_path), 4)
    with pytest.raises((TypeError, ValueError), match="version must"):
        ShardedStore(tmp_path, version=version)  # type: ignore[arg-type]
