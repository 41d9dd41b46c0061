"""Roots in object stores: what is asked of them, what is shared, and whatever may happen to it."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyoxigraph import NamedNode
from pyspark.sql import SparkSession

from jelly_plugins import JellyError, OptionsError
from jelly_plugins.spark import ShardedStore, apply_patches
from jelly_plugins.spark.sharded import StorageError, copy_store, documents
from jelly_plugins.spark.sharded.batch import Applied
from jelly_plugins.spark.sharded.commits import CommitLog, make_log
from jelly_plugins.spark.sharded.errors import CommitConflictError, RootError
from jelly_plugins.spark.sharded.layout import make_root, open_root
from jelly_plugins.spark.sharded.shard import ShardResult, ShardWork, apply_shard
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.storage.objects import ObjectStorage, storage, transfer
from tests.cli.command import jelly
from tests.shared_data import ROOT

from . import faults
from .logs import Writer, assert_same, log_file, replayed
from .logs import apply as apply_
from .places import FolderOfObjects
from .s3 import SECRET, Asked, S3Server

NOW = timedelta()


def apply(root: Any, *sources: object, shards: int = 1, **settings: Any) -> Applied:
    """Apply logs without Spark; most of what can happen happens with one shard."""
    return apply_(root, *sources, shards=shards, **settings)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    started = S3Server()
    yield started
    started.stop()


@pytest.fixture
def bucket(server: S3Server, tmp_path: Path) -> Iterator[ObjectStorage]:
    """A root in a bucket, where there is nothing, with a cache of its own."""
    server.counts.clear()
    yield ObjectStorage(server.root(uuid4().hex), server.options(cache_dir=str(tmp_path / "cache")))
    server.happens()


@pytest.fixture
def folder(tmp_path: Path) -> FolderOfObjects:
    """Likewise, in a folder."""
    return FolderOfObjects(tmp_path / "bucket", {"cache_dir": str(tmp_path / "cache")})


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    writer = Writer(seed=23)
    return [log_file(tmp_path / f"{n}.jellyp", [writer.patch(60)]) for n in range(4)]


def elsewhere(storage: ObjectStorage, tmp_path: Path) -> ObjectStorage:
    """The root, as a machine sees it that has nothing of it yet."""
    options = {**storage._options, "cache_dir": str(tmp_path / uuid4().hex)}
    if isinstance(storage, FolderOfObjects):
        return FolderOfObjects(Path(storage.name), options)
    return ObjectStorage(storage.name, options)


# What is there


def test_a_root_in_a_bucket(bucket: ObjectStorage, logs: list[str], tmp_path: Path) -> None:
    del logs[3:]
    for number, log in enumerate(logs):
        assert apply(bucket, log).version == number + 1
    assert_same(elsewhere(bucket, tmp_path), replayed(*logs))
    store = ShardedStore(bucket)
    assert store.root == bucket.name
    assert not apply(bucket, logs[0]).committed
    assert set(store.at(2)) == replayed(*logs[:2])
    assert json.loads(bucket.read("_root.json"))["format"] == 2
    # Nothing of the attempts is left, in the bucket or here.
    assert bucket.names("_staging") == []
    del store
    assert [*(tmp_path / "cache" / "open").iterdir()] == []


def test_a_later_version_has_only_what_is_new(
    bucket: ObjectStorage, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "LARGE", 20_000)
    lines = [f'A <urn:s{n}> <urn:p> "{n * 7919}" .\n' for n in range(4000)]
    apply(bucket, "".join(lines).encode(), shards=1)
    first = server.counts["bytes put"]
    reader = elsewhere(bucket, tmp_path)
    assert len(list(ShardedStore(reader))) == 4000
    got = server.counts["bytes got"]
    server.counts.clear()
    assert len(list(ShardedStore(reader))) == 4000
    assert server.counts["bytes got"] < 10_000
    server.counts.clear()
    apply(bucket, b"A <urn:new> <urn:p> <urn:o> . Z .", shards=1)
    assert server.counts["bytes put"] < first / 2
    # The machine that writes has all that it wrote; the other gets what is new.
    assert server.counts["bytes got"] < 20_000
    server.counts.clear()
    assert len(list(ShardedStore(reader))) == 4001
    assert server.counts["bytes got"] < got / 2
    [shard] = ShardedStore(bucket).commit.shards or ()
    parts = bucket.files(shard.store or "", shard.checksum)
    assert {part.object.partition("/v")[2][0] for part in parts.values()} == {"1", "2"}


def test_large_files_are_put_in_parts(
    bucket: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from jelly_plugins.spark.sharded.storage.objects import client

    monkeypatch.setattr(client, "PART", 5 << 20)
    monkeypatch.setattr(client, "CHUNK", 1 << 20)
    path = tmp_path / "large"
    path.write_bytes(random.Random(1).randbytes(12 << 20))
    bucket.client.put("x/large", path)
    assert b"".join(bucket.client.chunks("x/large", 5, 7 << 20)) == path.read_bytes()[5:][: 7 << 20]
    assert (
        b"".join(bucket.client.chunks("x/large", 11 << 20, 9 << 20))
        == path.read_bytes()[11 << 20 :]
    )


def test_requests_do_not_grow_with_the_shards_that_stay(server: S3Server, tmp_path: Path) -> None:
    counted = []
    for shards in (4, 64):
        root = ObjectStorage(
            server.root(uuid4().hex), server.options(cache_dir=str(tmp_path / "cache"))
        )
        apply(root, b"A <urn:a> <urn:p> <urn:o> . Z .", shards=shards)
        server.counts.clear()
        apply(root, b"A <urn:a> <urn:p> <urn:o2> . Z .", shards=shards)
        counted.append(server.counts["requests"])
    assert counted[0] == counted[1] < 30


def test_requests_of_verify_follow_the_objects(
    bucket: ObjectStorage, server: S3Server, logs: list[str]
) -> None:
    """Small files of one object are got together, though each is compared by itself."""
    apply(bucket, logs[0])
    commit = ShardedStore(bucket).commit
    assert commit.shards is not None
    [shard] = commit.shards
    assert shard.store is not None
    assert shard.checksum is not None
    files = bucket.files(shard.store, shard.checksum)
    before = server.asked
    assert list(bucket.damages(shard.store, shard.checksum or "", set())) == []
    assert server.asked - before == 2 < len(files)


def test_a_root_may_be_named_by_a_url(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.root("named")
    options = server.options()
    make_root(storage_at(url, options), 2)
    assert ShardedStore(url, storage_options=options).layout.shards == 2
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    assert ShardedStore(url).layout.shards == 2
    assert ShardedStore(Path(url)).root == url
    with pytest.raises(RootError, match=r"the store has 2 shards .got shards=3."):
        make_log(storage_at(url), 3)
    with pytest.raises(RootError, match="there is no sharded store here"):
        ShardedStore(server.root("nothing"))
    # What settings lack the environment has, though some are given.
    assert not ShardedStore(url, storage_options={"user_agent": "x"}).version
    with pytest.raises(StorageError, match=r"s3://no-such/x/: cannot be listed: .*404"):
        make_root(storage_at("s3://no-such/x"))
    with pytest.raises(RootError, match=r"no sharded store here: .*404 Not Found \(NoSuchBucket\)"):
        ShardedStore("s3://no-such/x")


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ("s3://key:secret@bucket/x", "must not have a user or a password"),
        ("s3://bucket/x?X-Amz-Signature=secret", "must not have a query"),
        ("s3://bucket/x#secret", "must not have a query"),
        ("s3://bucket/a/../b", "not the URL of a bucket"),
    ],
)
def test_a_url_that_is_not_a_root_is_rejected(root: str, said: str) -> None:
    with pytest.raises(RootError, match=said) as caught:
        storage_at(root)
    assert "secret" not in str(caught.value)


def test_settings_are_checked(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match="are only for roots in object stores"):
        ShardedStore(tmp_path, storage_options={"region": "x"})
    with pytest.raises(TypeError, match="storage_options must be a dict"):
        storage_at("s3://bucket", "x")  # type: ignore[arg-type]
    for options in (
        {"nonsense_key": SECRET},
        {"timeout": SECRET},
        {"max_retries": SECRET},
        {"cache_bytes": SECRET},
    ):
        storage = ObjectStorage("s3://bucket/x", options)
        with pytest.raises(OptionsError) as caught:
            assert storage.cache and storage.client  # noqa: PT018 (either may raise)
        _assert_no_secret(caught.value)


def test_what_is_missing_is_reported() -> None:
    code = (
        "import sys; sys.modules['obstore'] = None\n"
        "from jelly_plugins.spark import ShardedStore\n"
        "try: ShardedStore('s3://bucket/x')\n"
        "except ImportError as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'jelly-plugins[spark,objects]'" in found.stdout


def test_folders_do_without(tmp_path: Path) -> None:
    apply(tmp_path / "root", b"A <urn:s> <urn:p> <urn:o> . Z .")
    code = (
        "import sys; from jelly_plugins.spark import ShardedStore\n"
        f"assert len(list(ShardedStore({str(tmp_path / 'root')!r}))) == 1\n"
        "assert not [name for name in sys.modules if name.startswith('obstore')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_layouts_reject_each_other(folder: FolderOfObjects, logs: list[str]) -> None:
    """A bucket that was copied to a folder, file by file, is no root there."""
    apply(folder, logs[0])
    with pytest.raises(RootError, match="layout 2 is not supported"):
        ShardedStore(Path(folder.name))


# Puts


def _always(method: str, fault: str, times: int = 1 << 30, path: str = "") -> Callable[..., Any]:
    done: list[Asked] = []

    def happens(asked: Asked) -> str | None:
        if asked.method != method or path not in asked.path or len(done) >= times:
            return None
        done.append(asked)
        return fault

    return happens


@pytest.mark.parametrize("fault", ["failed", "lost", "unheard"])
@pytest.mark.parametrize("retries", ["0", "2"])
def test_a_put_that_is_reported_as_failed(
    bucket: ObjectStorage, server: S3Server, fault: str, retries: str
) -> None:
    """The write has succeeded, or is repeated: a writer never gets a wrong result."""
    options = {**bucket._options, "max_retries": retries, "timeout": "1s"}
    storage = ObjectStorage(bucket.name, options)
    make_root(storage, 1)
    server.happens(_always("PUT", fault, 1))
    assert storage.put_if_absent("x", b"one")
    assert not storage.put_if_absent("x", b"other")
    server.happens(_always("PUT", fault, 1))
    assert not storage.put_if_absent("x", b"other")
    assert storage.put_if_absent("x", b"one")
    assert storage.read("x") == b"one"


def test_a_put_that_always_fails_is_reported(
    bucket: ObjectStorage, server: S3Server, logs: list[str]
) -> None:
    apply(bucket, logs[0])
    server.happens(_always("PUT", "failed", path="_commits"))
    with pytest.raises(StorageError, match=r"_commits/000000000002.json: cannot be put"):
        apply(bucket, logs[1])
    server.happens()
    assert ShardedStore(bucket).version == 1
    assert apply(bucket, logs[1]).committed
    assert_same(bucket, replayed(*logs[:2]))


def test_what_cannot_be_known_is_said(
    bucket: ObjectStorage, server: S3Server, logs: list[str]
) -> None:
    """The commit was made, and its writer cannot find out; nor is it applied again."""
    apply(bucket, logs[0])

    def happens(asked: Asked) -> str | None:
        return "lost" if "000000000002" in asked.path else None

    server.happens(happens)
    with pytest.raises(StorageError, match="is unknown whether this was written"):
        apply(bucket, logs[1])
    server.happens()
    assert_same(bucket, replayed(*logs[:2]))
    assert not apply(bucket, logs[1]).committed


@pytest.mark.parametrize("fault", ["conflict", "page"])
def test_whatever_is_answered_is_no_other_version(
    bucket: ObjectStorage, server: S3Server, logs: list[str], fault: str
) -> None:
    """Faults in each request: results are complete, and errors are errors of this library."""
    for log in logs[:2]:
        apply(bucket, log)
    whole = {version: set(ShardedStore(bucket, version=version)) for version in (1, 2)}
    for number in range(100):
        server.happens(lambda asked, number=number: fault if asked.number == number else None)
        with suppress(JellyError):
            store = ShardedStore(bucket)
            assert (store.version, set(store)) == (2, whole[2])
        if server.asked <= number:
            break
    assert number > 2
    for number in range(100):
        server.happens(lambda asked, number=number: fault if asked.number == number else None)
        with suppress(JellyError):
            apply(bucket, logs[2])
        if server.asked <= number:
            break
    server.happens()
    apply(bucket, logs[2])
    assert_same(bucket, replayed(*logs[:3]))


def test_documents_are_no_longer_than_they_may_be(
    bucket: ObjectStorage, server: S3Server, logs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    apply(bucket, logs[0])
    commit = "_commits/000000000001.json"
    listed = f"{ShardedStore(bucket).commit.shards[0].store}/_files.json"  # type: ignore[index]
    for name in ("_root.json", commit, listed):
        before = bucket.read(name)
        bucket.replace(name, before + b" " * 3_000_000)
        monkeypatch.setattr(storage, "MAX_JSON", 1_000_000)
        monkeypatch.setattr(documents, "MAX_JSON", 1_000_000)
        server.counts.clear()
        with pytest.raises(RootError, match=rf"{name}: .*longer than 1000000 bytes"):
            list(ShardedStore(bucket))
        assert len(bucket.read("_root.json")) <= 1_000_001
        bucket.replace(name, before)
    assert len(set(ShardedStore(bucket))) > 0


def test_a_server_that_writes_over_what_is_there_is_rejected(
    bucket: ObjectStorage, server: S3Server, logs: list[str]
) -> None:
    server.happens(lambda _: "unconditional")
    for _ in range(2):
        with pytest.raises(RootError, match="overwrites existing files"):
            apply(bucket, logs[0])


def test_an_invalid_endpoint_is_reported(server: S3Server, tmp_path: Path) -> None:
    options = server.options(cache_dir=str(tmp_path), endpoint="::")
    with pytest.raises(StorageError, match=r"s3://bucket/x/_root.json: cannot be got: "):
        ShardedStore("s3://bucket/x", storage_options=options)


def test_of_two_writers_one_wins(bucket: ObjectStorage, server: S3Server) -> None:
    """Though each put of a commit is reported as failed, done or not."""
    apply(bucket, b"TX . TC . Z .", shards=2)
    pick = random.Random(5)

    def happens(asked: Asked) -> str | None:
        if asked.method == "PUT" and "_commits" in asked.path:
            return pick.choice([None, "failed", "lost"])
        return None

    server.happens(happens)

    def write(name: str) -> None:
        for number in range(2):
            text = f"TX . A <urn:{name}> <urn:p> <urn:{number}> . TC . Z ."
            apply(bucket, text.encode(), shards=2, application=name, batch=number, retries=20)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["a", "b"]))
    store = ShardedStore(bucket)
    assert (len(list(store)), store.version) == (4, 4)
    assert [each for each in store.verify() if "no commit names it" not in each] == []


# Credentials


def _assert_no_secret(error: BaseException | None) -> None:
    """Neither an error nor its causes contain the secret."""
    while error is not None:
        assert SECRET not in f"{error} {error!r} {error.args}"
        error = error.__cause__ or error.__context__


def test_credentials_are_nowhere(
    bucket: ObjectStorage, server: S3Server, logs: list[str], capfd: Any
) -> None:
    """Not even where the server's own words have them."""
    apply(bucket, logs[0])
    found = {each.name: bucket.client.get(each.name) for each in bucket.client.objects("_commits")}
    found["_root.json"] = bucket.read("_root.json")
    assert not [name for name, data in found.items() if SECRET.encode() in data]
    store = ShardedStore(bucket)
    works: list[ShardWork] = []
    with pytest.raises(faults.Killed):
        apply(bucket, logs[1], run=_taking(works))
    for each in (bucket, store, store.commit, works[0], works[0].attempt, bucket.client):
        assert SECRET not in f"{each} {each!r}"
    said = {
        "failed": "500",
        "expired": "403 Forbidden (ExpiredToken)",
        "denied": "403 Forbidden (SignatureDoesNotMatch)",
        "region": "400 Bad Request (AuthorizationHeaderMalformed)",
    }
    for fault, code in said.items():
        for action in (lambda: ShardedStore(bucket), lambda: apply(bucket, logs[1])):
            server.happens(lambda _, fault=fault: fault)  # type: ignore[misc]
            with pytest.raises(StorageError) as caught:
                action()
            _assert_no_secret(caught.value)
            assert bucket.name in str(caught.value)
            assert code.partition(" (")[0] in str(caught.value)
        # The answer to HEAD, as the first one is where something is applied, has no code.
        server.happens(lambda _, fault=fault: fault)  # type: ignore[misc]
        with pytest.raises(StorageError) as caught:
            ShardedStore(bucket)
        assert code in str(caught.value)
    options = [f"{name}={value}" for name, value in bucket._options.items()]
    arguments = [each for option in options for each in ("--storage-option", option)]
    done = jelly("spark", "status", bucket.name, *arguments)
    assert (done.code, done.err.count("\n"), SECRET in done.err) == (1, 1, False)
    printed = capfd.readouterr()
    assert SECRET not in printed.out + printed.err


def _taking(works: list[ShardWork]) -> Callable[[Sequence[ShardWork]], list[ShardResult]]:
    def run(given: Sequence[ShardWork]) -> list[ShardResult]:
        works.extend(given)
        raise faults.Killed

    return run


@pytest.mark.parametrize(
    "number",
    [6, 11, *(pytest.param(each, marks=pytest.mark.slow) for each in range(16) if each % 5 != 1)],
)
def test_credentials_that_expire_in_the_middle(
    bucket: ObjectStorage, server: S3Server, logs: list[str], number: int
) -> None:
    apply(bucket, logs[0])
    server.happens(lambda asked: "expired" if asked.number >= number else None)
    applied = None
    with suppress(StorageError):
        applied = apply(bucket, logs[1])
    server.happens()
    # What comes after the commit is left for a vacuum.
    assert ShardedStore(bucket).version == (1 if applied is None else 2)
    assert apply(bucket, logs[1]).committed is (applied is None)
    assert_same(bucket, replayed(*logs[:2]))


# Objects


def _damage(storage: ObjectStorage, name: str, how: str) -> bytes:
    data = storage.client.get(name)
    if how == "missing":
        storage.client.delete([name])
    elif how == "cut":
        storage.client.put(name, data[: len(data) // 2])
    else:
        storage.client.put(name, bytes(byte ^ 1 for byte in data))
    return data


@pytest.mark.parametrize("how", ["missing", "cut", "changed"])
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_an_object_that_is_damaged_is_named(
    folder: FolderOfObjects,
    logs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    every: bool,
) -> None:
    monkeypatch.setattr(transfer, "LARGE", 2000)
    for log in logs[:2]:
        apply(folder, log, shards=1)
    objects = [each.name for each in folder.client.objects("shard=0") if each.size]
    [shard] = ShardedStore(folder).commit.shards or ()
    named = {part.object for part in folder.files(shard.store or "", shard.checksum).values()}
    named.add(f"{shard.store}/_files.json")
    assert {name.rpartition("/")[2] for name in named} >= {"_files.json", "_pack"}
    assert len(named) > 5
    if not every:
        objects = [f"{shard.store}/_files.json", f"{shard.store}/_pack", objects[1]]
    for name in objects:
        data = _damage(folder, name, how)
        problems = ShardedStore(folder).verify()
        if name not in named:
            assert problems == []
        else:
            assert problems
            last = name.rpartition("/")[2]
            for problem in problems:
                assert problem.startswith(f"{folder.name}: version 2, shard 0: ")
                assert name in problem or f"{shard.store}/{last}" in problem
            for action in (list, lambda store: apply(store._storage, logs[2], shards=1)):
                store = ShardedStore(elsewhere(folder, tmp_path))
                with pytest.raises(RootError) as caught:
                    action(store)
                said = str(caught.value)
                assert folder.name in said
                assert name in said
                assert re.search("version [23], shard 0: ", said)
        folder.client.put(name, data)
    assert ShardedStore(folder).verify() == []
    assert_same(elsewhere(folder, tmp_path), replayed(*logs[:2]))


def test_staged_operations_that_are_changed_are_applied_nowhere(
    folder: FolderOfObjects, logs: list[str]
) -> None:
    """Every bit of their index, and of what is staged for the shards."""
    apply(folder, logs[0], shards=2)
    attempt = folder.attempt("attempt")
    attempt.begin()
    staged = attempt.folder("0")
    staged.mkdir()
    for shard, size in ((0, 7), (1, 12)):
        (staged / f"{shard:05d}").write_bytes(bytes(size))
    attempt.finish("0")
    name = "_staging/attempt/0"
    path = folder.root / name
    whole = path.read_bytes()
    extents = attempt.extents("0")
    assert [(shard, extent.size) for shard, extent in extents.items()] == [(0, 7), (1, 12)]
    # The missing bytes are after the end.
    said = f"^{folder.name}/{name}: (damaged|cannot be got): "
    for place in range(extents[0].offset):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(RootError, match=said):
                attempt.extents("0")
    for end in range(extents[0].offset):
        path.write_bytes(whole[:end])
        with pytest.raises(RootError, match=said):
            attempt.extents("0")


def test_a_list_that_leads_elsewhere_is_rejected(folder: FolderOfObjects, logs: list[str]) -> None:
    apply(folder, logs[0], shards=1)
    [shard] = ShardedStore(folder).commit.shards or ()
    from jelly_plugins.spark.sharded.documents import checksum_in, seal

    for files in (
        {"../x": [1, "0" * 32, f"{shard.store}/_pack", 0]},
        {"x": [1, "0" * 32, "shard=1/v1-abc/_pack", 0]},
        {"x": [1, "0" * 32, "shard=0/v1-abc/../../x", 0]},
        {"x": [-1, "0" * 32, f"{shard.store}/_pack", 0]},
        {"x": [1, "../..", f"{shard.store}/_pack", 0]},
        {"x": [1]},
        [],
    ):
        data = seal({"files": files})
        folder.client.put(f"{shard.store}/_files.json", data)
        with pytest.raises(RootError, match="not a list of files"):
            folder.open(shard.store or "", checksum_in(data))


@pytest.mark.usefixtures("at_once")
def test_a_vacuum_leaves_what_later_versions_share(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    for log in logs:
        apply(folder, log, shards=2)
    folder.client.put("shard=0/v4-0123/_pack", b"x" * 1000)
    folder.client.put("shard=1/v9-0123/_pack", b"x" * 1000)
    folder.client.put("_staging/attempt/0", b"x" * 1000)
    planned = ShardedStore(folder).vacuum(keep=1, grace=NOW, dry_run=True)
    done = ShardedStore(folder).vacuum(keep=1, grace=NOW)
    assert done.versions == planned.versions == [3, 2, 1]
    assert done.size == planned.size > 3000
    assert {"shard=0/v4-0123", "shard=1/v9-0123"} <= {*done.stores}
    assert done.staged == ["_staging/attempt"]
    named = set()
    for shard in ShardedStore(folder).commit.shards or ():
        parts = folder.files(shard.store or "", shard.checksum)
        named |= {part.object for part in parts.values()} | {f"{shard.store}/_files.json"}
    there = [*folder.client.objects("shard=0"), *folder.client.objects("shard=1")]
    assert {each.name for each in there if each.size} <= named
    assert_same(elsewhere(folder, tmp_path), replayed(*logs))
    again = ShardedStore(folder).vacuum(keep=2, grace=NOW)
    assert (again.stores, again.staged) == ([], [])


# The cache


def test_a_cache_that_is_damaged_is_mended(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    for log in logs[:2]:
        apply(folder, log, shards=2)
    expected = replayed(*logs[:2])
    cached = sorted((tmp_path / "cache" / "files").glob("*/*"))
    assert len(cached) > 10
    for damage in ("changed", "cut", "gone", "folder", "link", "loop", "pipe", "empty"):
        for path in cached:
            data = path.read_bytes() if path.is_file() else b""
            if path.is_dir():
                shutil.rmtree(path)
            path.unlink(missing_ok=True)
            if damage == "folder":
                (path / "x").mkdir(parents=True)
            elif damage in ("link", "loop"):
                path.symlink_to(path if damage == "loop" else __file__)
            elif damage == "pipe":
                os.mkfifo(path)
            elif damage != "gone":
                half = len(data) // 2
                changed = data[:half] + bytes(each ^ 1 for each in data[half:])
                path.write_bytes({"changed": changed, "cut": data[:half], "empty": b""}[damage])
        assert_same(folder, expected)
    shutil.rmtree(tmp_path / "cache")
    assert_same(folder, expected)
    # Nor is what a writer begins with.
    for path in (tmp_path / "cache" / "files").glob("*/*"):
        path.write_bytes(b"x" * path.stat().st_size)
    apply(folder, logs[2], shards=2)
    assert_same(elsewhere(folder, tmp_path), replayed(*logs[:3]))


def test_a_cache_is_bounded_and_open_files_are_kept(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    for log in logs:
        apply(folder, log, shards=2)
    options = {"cache_dir": str(tmp_path / "small"), "cache_bytes": "60000"}
    storage = FolderOfObjects(Path(folder.name), options)
    first = ShardedStore(storage)
    count = len(list(first))
    for version in (1, 2, 3, 4):
        list(ShardedStore(storage, version=version))
        size = sum(path.stat().st_size for path in (tmp_path / "small" / "files").glob("*/*"))
        assert size <= 60_000
    assert len(list(first)) == len(list(first.select("SELECT * { ?s ?p ?o }"))) + sum(
        1 for each in first if str(each.graph_name) != "DEFAULT"
    )
    assert len(list(first)) == count
    none = FolderOfObjects(Path(folder.name), {**options, "cache_bytes": "0"})
    assert_same(none, replayed(*logs))


def _open_and_wait(storage: ObjectStorage, ready: Any) -> None:
    store = ShardedStore(storage)
    list(store)
    ready.send(True)
    ready.recv()


def _killed_fetching(storage: ObjectStorage, _: Any) -> None:
    from jelly_plugins.spark.sharded.storage.objects.cache import Cache

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    Cache.add = die  # type: ignore[method-assign, assignment]
    list(ShardedStore(storage))


def test_processes_that_are_killed_leave_nothing_that_counts(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    apply(folder, logs[0], shards=2)
    context = _processes()
    reader = elsewhere(folder, tmp_path)
    cache = Path(reader._options["cache_dir"])
    for function in (_killed_fetching, _open_and_wait):
        here, there = context.Pipe()
        process = context.Process(target=function, args=(reader, there))
        process.start()
        there.close()
        if function is _open_and_wait:
            assert here.recv()
            process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    assert [*(cache / "open").iterdir()]
    assert_same(reader, replayed(logs[0]))
    assert [*(cache / "open").iterdir()] == []


# Whatever happens


def _processes() -> Any:
    """Processes that begin quickly, and have nothing of this one's threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.spark.sharded.test_sharded_objects"])
    return context


def _applying(storage: ObjectStorage, log: str, number: int) -> None:
    options = {**storage._options, "user_agent": f"process {os.getpid()}"}
    try:
        apply(ObjectStorage(storage.name, options), log, application="killed", batch=number)
    except JellyError as error:
        print(error)
        sys.exit(3)


@pytest.mark.parametrize("kills", [3, pytest.param(100, marks=pytest.mark.slow)])
def test_processes_killed_at_any_request(
    bucket: ObjectStorage, server: S3Server, tmp_path: Path, kills: int
) -> None:
    """Before a request is done, or after it: a whole version, from which the next goes on."""
    pick = random.Random(kills)
    writer = Writer(seed=kills)
    done: list[str] = []
    context = _processes()
    make_root(bucket, 1)
    number = 0
    log = log_file(tmp_path / "0.jellyp", [writer.patch(30)])
    for _ in range(kills):
        place, before = pick.randrange(20), pick.random() < 0.5

        def happens(asked: Asked, place: int = place, before: bool = before) -> str | None:
            if asked.number != place or not asked.agent.startswith("process "):
                return None
            os.kill(int(asked.agent.split()[1]), signal.SIGKILL)
            return "failed" if before else "lost"

        server.happens(happens)
        process = context.Process(target=_applying, args=(bucket, log, number))
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        server.happens()
        version = ShardedStore(bucket).version
        assert version in (len(done), len(done) + 1)
        assert process.exitcode or version == len(done) + 1
        if version == len(done) + 1:
            done.append(log)
            number += 1
            log = log_file(tmp_path / f"{number}.jellyp", [writer.patch(30)])
        if kills < 10 or not number % 10:
            assert_same(elsewhere(bucket, tmp_path), replayed(*done))
    for part in bucket.names("_staging"):
        assert len(part) == 32
    apply(bucket, log, application="killed", batch=number)
    assert_same(elsewhere(bucket, tmp_path), replayed(*done, log))


def _task(work: ShardWork, sent: Any) -> None:
    sent.send(apply_shard(work))


@pytest.mark.slow
def test_tasks_killed_at_any_request(
    bucket: ObjectStorage, server: S3Server, tmp_path: Path
) -> None:
    pick = random.Random(9)
    writer = Writer(seed=9)
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch(30)]) for n in range(10)]
    context = _processes()
    killed = 0

    def run(works: Sequence[ShardWork]) -> list[ShardResult]:
        nonlocal killed
        results = []
        for work in works:
            while True:
                here, there = context.Pipe()
                process = context.Process(target=_task, args=(work, there))
                place = pick.randrange(12)
                server.happens(
                    lambda asked, process=process, place=place: (  # type: ignore[misc]
                        process.kill() if asked.number == place else None  # type: ignore[func-returns-value]
                    )
                )
                process.start()
                there.close()
                try:
                    results.append(here.recv())
                except EOFError:
                    killed += 1
                    continue
                finally:
                    process.join()
                break
        server.happens()
        return results

    for log in logs:
        apply(bucket, log, run=run, shards=2)
    assert killed > 5
    assert_same(elsewhere(bucket, tmp_path), replayed(*logs))


# Another server

#: The URL of a folder in a bucket of some other server's, the settings of which are in the
#: environment: ``AWS_ENDPOINT_URL``, ``AWS_ALLOW_HTTP``, ``AWS_ACCESS_KEY_ID`` and so on.
OTHER = os.environ.get("JELLY_PLUGINS_TEST_BUCKET")


@pytest.fixture
def other(tmp_path: Path) -> Iterator[ObjectStorage]:
    """A root there."""
    if OTHER is None:
        pytest.skip("JELLY_PLUGINS_TEST_BUCKET does not name a bucket")
    root = ObjectStorage(f"{OTHER}/{uuid4().hex}", {"cache_dir": str(tmp_path / "cache")})
    yield root
    root.remove(each.name for each in root.objects(""))
    assert root.names("") == []


def test_another_server(other: ObjectStorage, tmp_path: Path) -> None:
    from .test_sharded_faults import FAULTS, Course

    root = other
    for number in range(20):
        with ThreadPoolExecutor(6) as pool:
            data = [str(each).encode() for each in range(6)]
            won = list(
                pool.map(lambda each, name=f"x/{number}": root.put_if_absent(name, each), data)
            )
        assert sum(won) == 1
        assert root.read(f"x/{number}") == data[won.index(True)]
    root.remove(each.name for each in root.objects("x"))
    course = Course(tmp_path, faults.here)
    course.root = root
    kinds = [each for each in FAULTS if each != "stale_attempt"]
    for number in range(len(kinds)):
        course.batch(number, kinds[number], patches=1)
    ShardedStore(root).vacuum(keep=1, grace=NOW)
    assert_same(elsewhere(root, tmp_path), replayed(*course.logs))
    assert copy_store(root, tmp_path / "copy").version == 1


def test_random_logs_on_another_server(other: ObjectStorage, tmp_path: Path) -> None:
    from .test_sharded_model import logs_as_rows

    counted = logs_as_rows(
        tmp_path,
        range(60),
        lambda folder: ObjectStorage(f"{other.name}/{folder.name}", other._options),
    )
    assert counted["whole: equal"] > 10


def test_processes_killed_at_any_time_on_another_server(
    other: ObjectStorage, tmp_path: Path
) -> None:
    pick = random.Random(5)
    writer = Writer(seed=5)
    done: list[str] = []
    context = _processes()
    make_root(other, 1)
    log = log_file(tmp_path / "0.jellyp", [writer.patch(30)])
    killed = 0
    while killed < 60:
        process = context.Process(target=_applying, args=(other, log, len(done)))
        process.start()
        process.join(pick.uniform(0.05, 1))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        killed += process.exitcode != 0
        version = ShardedStore(other).version
        assert version in (len(done), len(done) + 1)
        assert process.exitcode or version == len(done) + 1
        if version == len(done) + 1:
            done.append(log)
            log = log_file(tmp_path / f"{len(done)}.jellyp", [writer.patch(30)])
    apply(other, log, application="killed", batch=len(done))
    assert_same(elsewhere(other, tmp_path), replayed(*done, log))


# Everything that is done with a store


def test_copies_between_folders_and_buckets(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    local = tmp_path / "local"
    for log in logs:
        apply(local, log, shards=2)
    ShardedStore(local).vacuum(keep=3, grace=NOW)
    # The last one is the vacuum's.
    assert copy_store(local, folder, history=True).versions == 5
    back = tmp_path / "back"
    done = copy_store(folder, back, history=True)
    assert (done.version, done.versions) == (5, 5)
    for version in (2, 3, 4, 5):
        expected = set(ShardedStore(local, version=version))
        assert set(ShardedStore(folder, version=version)) == expected
        assert set(ShardedStore(back, version=version)) == expected
    for root in (folder, back):
        with pytest.raises(RootError, match="were removed by a vacuum"):
            ShardedStore(root, version=1)
    # What versions share they share again.
    assert done.size < sum(path.stat().st_size for path in back.rglob("*") if path.is_file())
    shared = [path for path in back.glob("shard=*/*/*.sst") if path.stat().st_nlink > 1]
    assert shared
    one = tmp_path / "one"
    assert copy_store(folder, one, version=2).version == 1
    assert set(ShardedStore(one)) == set(ShardedStore(local, version=2))
    # It goes on where that version stood.
    assert apply(one, *logs, shards=2).replayed.patches == 2
    assert set(ShardedStore(one)) == set(ShardedStore(local))
    with pytest.raises(RootError, match="a sharded store with other versions"):
        copy_store(local, folder)
    assert copy_store(ShardedStore(local).at(0)._storage, tmp_path / "x", version=3).version == 1


@pytest.mark.parametrize("to", ["folder", "objects"])
def test_a_copy_that_failed_is_completed_by_the_same_call(
    folder: FolderOfObjects,
    logs: list[str],
    tmp_path: Path,
    to: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    local = tmp_path / "local"
    for log in logs[:3]:
        apply(local, log, shards=2)
    target: Any = folder if to == "objects" else tmp_path / "copy"
    put = CommitLog.put

    def failing(log: CommitLog, commit: Any) -> None:
        if commit.version == 3:
            raise StorageError("is not reached", source=log.storage.name)
        put(log, commit)

    with monkeypatch.context() as patch:
        patch.setattr(CommitLog, "put", failing)
        with pytest.raises(StorageError):
            copy_store(local, target, history=True)
    # The first versions are there, each of them whole.
    assert ShardedStore(target).version == 2
    whole = copy_store(local, tmp_path / "whole", history=True)
    done = copy_store(local, target, history=True)
    assert (done.version, done.versions, done.stores) == (3, 3, whole.stores)
    assert done.size < whole.size
    assert set(ShardedStore(target)) == set(ShardedStore(local))
    # So a copy follows its source, as long as no other writer commits to it.
    apply(local, logs[3], shards=2)
    assert copy_store(local, target, history=True).version == 4
    assert copy_store(local, target, history=True).size == 0
    assert [commit.id for commit in ShardedStore(target).history()] == [
        commit.id for commit in ShardedStore(local).history()
    ]
    ShardedStore(target).restore(1)
    with pytest.raises(RootError, match="a sharded store with other versions"):
        copy_store(local, target, history=True)


def test_a_copy_of_one_version_that_was_not_verified_is_verified_by_the_same_call(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = tmp_path / "local"
    apply(local, logs[0], shards=2)
    with monkeypatch.context() as patch:
        patch.setattr(ShardedStore, "verify", lambda _: ["cannot be got"])
        with pytest.raises(RootError, match="failed verification: cannot be got"):
            copy_store(local, folder)
    assert copy_store(local, folder).version == 1
    assert set(ShardedStore(folder)) == set(ShardedStore(local))
    apply(local, logs[1], shards=2)
    with pytest.raises(RootError, match="a sharded store with other versions"):
        copy_store(local, folder)


def test_a_copy_of_what_is_damaged_is_rejected(
    folder: FolderOfObjects, logs: list[str], tmp_path: Path
) -> None:
    local = tmp_path / "local"
    apply(local, logs[0], shards=1)
    [table, *_] = local.glob("shard=0/*/*.sst")
    data = bytearray(table.read_bytes())
    data[10] ^= 1
    table.write_bytes(data)
    with pytest.raises(RootError, match=f"{table.name}: damaged"):
        copy_store(local, folder)
    assert ShardedStore(folder).version == 0


def test_the_commands_take_buckets(bucket: ObjectStorage, logs: list[str], tmp_path: Path) -> None:
    apply(bucket, logs[0], shards=2)
    options = [f"{name}={value}" for name, value in bucket._options.items()]
    arguments = [each for option in options for each in ("--storage-option", option)]
    root = bucket.name
    assert "shards   2 by subject" in jelly("spark", "status", root, *arguments).text
    shown = jelly("spark", "verify", root, *arguments).text
    assert shown.startswith("version 1: 2 shards checked")
    assert "versions  0" in jelly("spark", "vacuum", root, *arguments).text
    local = tmp_path / "local"
    done = jelly("spark", "copy", bucket.name, local, *arguments)
    assert (done.code, "version   1" in done.text) == (0, True)
    assert_same(local, replayed(logs[0]))
    other = f"{bucket.name}-copy"
    done = jelly("spark", "copy", local, other, *arguments, "--history", "--json")
    assert json.loads(done.text)["versions"] == 1
    assert_same(ObjectStorage(other, bucket._options), replayed(logs[0]))
    again = jelly("spark", "copy", local, other, *arguments)
    assert (again.code, "0 bytes" in again.text) == (0, True)
    bad = jelly("spark", "status", root, "--storage-option", "secret")
    assert (bad.code, "secret" in bad.err) == (2, False)


@pytest.mark.slow
def test_batches_with_faults(folder: FolderOfObjects, tmp_path: Path) -> None:
    from .test_sharded_faults import FAULTS, Course

    course = Course(tmp_path, faults.here)
    course.root = folder
    kinds = [each for each in FAULTS if each != "stale_attempt"]
    for number in range(20):
        course.batch(number, kinds[number % len(kinds)], patches=1)
    assert ShardedStore(folder).vacuum(keep=1, grace=NOW).stores
    assert_same(elsewhere(folder, tmp_path), replayed(*course.logs))


@pytest.mark.slow
def test_spark_applies_and_reads(
    spark: SparkSession, bucket: ObjectStorage, logs: list[str], tmp_path: Path
) -> None:
    options = bucket._options
    assert apply_patches(spark, logs[0], bucket.name, shards=2, storage_options=options).committed
    frame = spark.read.format("jelly-patch").option("maxPartitionBytes", "1").load(logs[1])
    assert apply_patches(spark, frame, bucket.name, storage_options=options).committed
    (tmp_path / "stream").mkdir()
    for log in logs[:3]:
        (tmp_path / "stream" / Path(log).name).write_bytes(Path(log).read_bytes())
    stream = spark.readStream.format("jelly-patch").load(str(tmp_path / "stream"))

    def drain(**more: str) -> Applied:
        return apply_patches(
            spark,
            stream,
            bucket.name,
            application="a",
            storage_options=options,
            **more,  # type: ignore[arg-type]
        )

    with pytest.raises(OptionsError, match="pass checkpoint"):
        drain()
    assert drain(checkpoint=str(tmp_path / "checkpoint")).committed
    assert not drain(checkpoint=str(tmp_path / "checkpoint")).committed
    assert_same(bucket, replayed(*logs[:3]))
    store = ShardedStore(bucket.name, storage_options=options)
    query = "SELECT * { ?s <urn:p0> ?o }"
    found = store.select_dataframe(spark, query).collect()
    assert len(found) == len(list(store.select(query))) > 0
    assert store.count(NamedNode("urn:s1")) == sum(
        1 for each in store if each.subject == NamedNode("urn:s1")
    )


def test_a_storage_goes_to_other_processes(bucket: ObjectStorage, folder: FolderOfObjects) -> None:
    for each in (bucket, folder):
        again = pickle.loads(pickle.dumps(each))
        assert (again, again.name, again._options) == (each, each.name, each._options)
        assert hash(again) == hash(each)
    make_root(bucket, 1)
    log = CommitLog(pickle.loads(pickle.dumps(bucket)), open_root(bucket))
    log.publish(log.head().next())
    with pytest.raises(CommitConflictError):
        log.publish(replace(log.head(), id="another"))


@pytest.mark.spark
@pytest.mark.slow
def test_the_page_on_buckets(server: S3Server, tmp_path: Path) -> None:
    """Its Python code runs unchanged, in a process whose environment has the credentials."""
    server.make_bucket("data")
    page = (ROOT / "docs" / "buckets.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    environment = {**os.environ, **server.environment(), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", "\n".join(blocks)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
