"""Sharded stores in buckets: in memory, and on an S3 server on loopback that may fail.
No error shows credentials."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import GenericError

from jelly_plugins import JellyError, OptionsError
from jelly_plugins.spark.shards import (
    RootError,
    ShardedStore,
    restore,
    vacuum,
    verify,
)
from jelly_plugins.spark.shards import (
    bucket as bucket_module,
)
from jelly_plugins.spark.shards.bucket import Bucket, public_message
from jelly_plugins.spark.shards.store import storage_at

from .logs import apply, assert_same, quads
from .model import quads_after, random_log, text_of
from .s3 import SECRET, S3Server

_NUMBERS = count()


@pytest.fixture(scope="module")
def s3() -> Iterator[S3Server]:
    server = S3Server()
    yield server
    server.stop()


@pytest.fixture
def memory(tmp_path: Path) -> Bucket:
    """An empty bucket in memory, with a cache of its own."""
    return Bucket(f"memory://{next(_NUMBERS)}/root", {"cache_dir": str(tmp_path / "cache")})


@pytest.fixture
def bucket(s3: S3Server, tmp_path: Path) -> Iterator[Bucket]:
    """An empty folder of the server's bucket, which the client asks once."""
    options = s3.options(cache_dir=str(tmp_path / "cache"), max_retries="0")
    yield Bucket(s3.root(str(next(_NUMBERS))), options)
    s3.happens()


def _objects(bucket: Bucket) -> set[str]:
    return set(bucket.stored())


SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 50))]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_logs(memory: Bucket, seed: int) -> None:
    patches = random_log(seed, ids=True)
    # As in a task.
    memory = pickle.loads(pickle.dumps(memory))
    for stop in (2, 3, 5, 8):
        apply(memory, text_of(patches[:stop]), shards=2)
        assert_same(memory, quads_after(patches[:stop]))
    assert not apply(memory, text_of(patches), shards=2).committed
    restored = restore(memory, 1)
    assert_same(memory, quads_after(patches[:2]))
    vacuum(memory, keep=1, grace=timedelta())
    kept = [each.number for each in ShardedStore(memory).versions()]
    assert kept == [restored.number + 1, restored.number]
    assert _objects(memory) == set(restored.stored())


def test_files_of_the_previous_store_are_not_put_again(memory: Bucket) -> None:
    rows = b"".join(b"A <urn:s%d> <urn:p> <urn:o%d> . " % (n, n) for n in range(5000))
    apply(memory, rows, shards=1)
    first = _objects(memory)
    apply(memory, b"A <urn:s> <urn:p> <urn:o> .", shards=1)
    [shard] = ShardedStore(memory).content.shards
    assert shard.files is not None
    tables = {file.object for name, file in shard.files.items() if name.endswith(".sst")}
    assert tables & first
    assert len(_objects(memory)) < len(first) + len(shard.files)
    assert len(ShardedStore(memory)) == 5001


def test_the_cache_may_be_deleted_and_has_a_limit(memory: Bucket, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    apply(memory, b"A <urn:s> <urn:p> <urn:1> .", shards=1)
    store = ShardedStore(memory)
    assert len(list(store)) == 1
    assert list(cache.iterdir())
    for path in cache.iterdir():
        path.unlink()
    cache.rmdir()
    assert len(list(store)) == len(quads(memory)) == 1
    small = Bucket(memory.name, {"cache_dir": str(cache), "cache_bytes": 2000})
    for path in cache.iterdir():
        path.write_bytes(b"")
    assert len(quads(small)) == 1
    assert sum(path.stat().st_size for path in cache.iterdir()) <= 2000
    cache.chmod(0o500)
    nowhere = Bucket(memory.name, {"cache_dir": "/proc/none"})
    assert len(quads(nowhere)) == 1


def test_damaged_and_missing_objects_are_reported(memory: Bucket, tmp_path: Path) -> None:
    apply(memory, b"A <urn:s> <urn:p> <urn:1> .", shards=1)
    client = bucket_module._connect(memory.name, {})
    cold = Bucket(memory.name, {"cache_dir": str(tmp_path / "cold")})
    [shard] = ShardedStore(cold).content.shards
    assert shard.files is not None
    file = next(file for name, file in shard.files.items() if name.endswith(".sst"))
    whole = bytes(obstore.get(client, file.object).bytes())
    obstore.put(client, file.object, whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(RootError, match=r"checksum of shard=0.* does not match"):
        quads(cold)
    assert len(verify(cold)) == 1
    obstore.delete(client, file.object)
    with pytest.raises(RootError, match="is missing"):
        quads(cold)
    obstore.put(client, "_versions/000000000002.json", b"{}")
    with pytest.raises(RootError, match="version 2 is damaged"):
        ShardedStore(cold)


def test_random_faults_of_the_server(s3: S3Server, bucket: Bucket) -> None:
    """A request may fail, or be done and reported as failed: then an attempt fails or not."""
    pick = random.Random(1)
    patches = random_log(5, ids=True, patches=4)
    failed: list[str] = []
    for stop in range(1, len(patches) + 1):
        for _ in range(3):
            s3.happens(lambda *_: pick.choice(["failed", "lost", *[None] * 20]))
            try:
                apply(bucket, text_of(patches[:stop]), shards=2)
            except JellyError as error:
                failed.append(str(error))
            s3.happens()
            found = set(quads(bucket)) if bucket.versions() else set()
            assert found in (quads_after(patches[:stop]), quads_after(patches[: stop - 1]))
        apply(bucket, text_of(patches[:stop]), shards=2)
        assert_same(bucket, quads_after(patches[:stop]))
    assert failed
    assert SECRET not in "".join(failed)
    vacuum(bucket, keep=1, grace=timedelta())
    assert_same(bucket, quads_after(patches))
    assert _objects(bucket) == set(ShardedStore(bucket).content.stored())


@pytest.mark.parametrize("fault", ["lost", "failed"])
def test_a_commit_whose_outcome_is_not_reported(s3: S3Server, bucket: Bucket, fault: str) -> None:
    """It is read back: only if it was not done, the call fails, and can be repeated."""
    log = b"H id <urn:1> . A <urn:s> <urn:p> <urn:1> ."
    s3.happens(lambda method, path: fault if method == "PUT" and "_versions" in path else None)
    try:
        assert apply(bucket, log, shards=1).version == 1
    except RootError:
        assert fault == "failed"
        assert bucket.versions() == []
    s3.happens()
    assert apply(bucket, log, shards=1).committed == (fault == "failed")
    assert len(quads(bucket)) == 1


@pytest.mark.parametrize("name", ["bucket", "none"])
def test_a_wrong_key_and_a_bucket_that_does_not_exist(
    s3: S3Server, tmp_path: Path, name: str
) -> None:
    options = s3.options(cache_dir=str(tmp_path))
    s3.happens(lambda *_: "denied" if name == "bucket" else None)
    with pytest.raises(RootError) as caught:
        apply(f"s3://{name}/root", b"A <urn:s> <urn:p> <urn:1> .", storage_options=options)
    s3.happens()
    assert SECRET not in repr(caught.value)
    assert caught.value.__cause__ is None


SPELLINGS = [
    (url, name.upper() if upper else name)
    for url, vendor in (("s3://b/x", "aws_"), ("gs://b/x", "google_"), ("az://b/x", "azure_"))
    for setting in (
        "allow_http",
        "timeout",
        "http1_only",
        "connect_timeout",
        "allow_invalid_certificates",
    )
    for name in (setting, vendor + setting)
    for upper in (False, True)
]


@pytest.mark.parametrize(("url", "name"), SPELLINGS)
def test_settings_of_the_client_have_any_spelling(url: str, name: str) -> None:
    value = "30s" if "timeout" in name.lower() else "true"
    account = {"account_name": "a"} if url.startswith("az") else {}
    Bucket(url, {name: value, **account})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bogus", "have an unknown name"),
        ("aws_bogus", "have an unknown name"),
        ("HTTP3_ONLY", "have an unknown name"),
        ("", "have an unknown name"),
        ("allow_http", "are invalid"),
        ("timeout", "are invalid"),
        ("virtual_hosted_style_request", "are invalid"),
    ],
)
def test_settings_are_rejected_by_name_without_their_values(name: str, message: str) -> None:
    with pytest.raises(OptionsError, match=f"settings {message}") as caught:
        Bucket("s3://b/x", {name: "PASSWORD"})
    assert name.lower() in str(caught.value).lower()
    assert "PASSWORD" not in str(caught.value)


def test_an_endpoint_that_is_not_https() -> None:
    given = {"endpoint": "http://127.0.0.1:1", "region": "x", "max_retries": 0}
    given |= {"access_key_id": "x", "secret_access_key": "x"}
    with pytest.raises(RootError, match="not https needs allow_http"):
        Bucket("s3://b/x", given).versions()
    with pytest.raises(RootError, match="no connection to the endpoint"):
        Bucket("s3://b/x", {**given, "AWS_Allow_HTTP": True}).versions()


def test_a_root_that_is_not_a_bucket() -> None:
    for url in ("s3://", "s3://b//x", "s3://b/../x", "s3://user:key@b/x", "s3://b/x?key=y"):
        with pytest.raises(RootError):
            Bucket(url, {})
    with pytest.raises(OptionsError):
        Bucket("bogus://b/x", {})
    with pytest.raises(OptionsError, match="cache_bytes must be a whole number"):
        Bucket("memory://x", {"cache_bytes": "x"})


@pytest.mark.parametrize("kind", ["memory", "bucket"])
def test_one_of_many_writers_creates_a_version(request: pytest.FixtureRequest, kind: str) -> None:
    root: Bucket = request.getfixturevalue(kind)

    def create(writer: int) -> bytes | None:
        data = b"%d" % writer
        try:
            root.create(1, data)
        except FileExistsError:
            return None
        return data

    with ThreadPoolExecutor(8) as pool:
        created = [data for data in pool.map(create, range(8)) if data is not None]
    assert created == [root.read(1)]


# Credentials in settings, URLs and responses of object stores: no error shows them


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("s3://bucket/a@b", "region"),
        ("s3://b.u-c_k/x y/é", "region"),
        ("abfs://c@account.dfs.core.windows.net/x", "client_id"),
        ("az://$web", "account_name"),
    ],
)
def test_valid_urls(url: str, option: str) -> None:
    assert {Bucket(each, {option: "x"}).name for each in (url, f"{url}/")} == {url}


#: Characters that a URL may have escaped, and that users forget to.
ODD = "/ @ : ? # % & = + \" ' < > \\ [ ] \t \n é".replace(" ", "")


@pytest.mark.parametrize("odd", [*ODD, " ", "//", "@@", ":@", "?@"])
@pytest.mark.parametrize("scheme", ["s3", "gs", "az", "abfs", "https", "hdfs", "wasbs", "S3A"])
@pytest.mark.parametrize("user", ["user:", ""])
def test_no_secret_of_a_url_is_shown(scheme: str, odd: str, user: str) -> None:
    """Whatever characters it has, and whether there can be a root."""
    secret = f"SEC{odd}RET"
    for url in (f"{scheme}://{user}{secret}@bucket/x", f"{scheme}://bucket/x?{user}{secret}"):
        shown = ""
        try:
            shown = f"{storage_at(url, {})!r} {storage_at(url, {}).name}"
        except JellyError as error:
            shown = f"{error} {error!r}"
        if not user and "?" not in url and (scheme == "abfs" or "/" in odd):
            # That is a container's name, or a bucket's and a folder's.
            continue
        assert not re.search("SEC|RET", shown), shown


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "GET http://host/x?SECRET status code: 403 Forbidden: <?xml version='1.0'?>\n"
            "<Error><Code>NoSuchBucket</Code><Message>SECRET</Message></Error>",
            "GenericError, 403 Forbidden, NoSuchBucket",
        ),
        (
            "HEAD http://user:SECRET@host/x status code: 403 Forbidden: \nSECRET",
            "GenericError, 403 Forbidden",
        ),
        (
            "PUT https://user:SECRET@proxy/x: HTTP error: error sending request",
            "GenericError, no connection to the endpoint",
        ),
        ("SECRET", "GenericError"),
    ],
)
def test_a_message_of_the_client_is_not_shown(message: str, shown: str) -> None:
    assert public_message(GenericError(message)) == shown
