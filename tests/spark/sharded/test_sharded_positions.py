"""Positions in very many logs: none is lost, and commits stay short."""

from __future__ import annotations

import io
import os
import random
import time
from datetime import timedelta
from pathlib import Path

import pytest

from jelly_plugins import LimitError
from jelly_plugins.codec import PatchOptions, PatchStatementType
from jelly_plugins.patch import read_patches, write_patches
from jelly_plugins.patch.replay.position import Position
from jelly_plugins.spark.sharded import documents, positions
from jelly_plugins.spark.sharded.commits import make_log
from jelly_plugins.spark.sharded.errors import CommitConflictError, RootError
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.store import ShardedStore

from .logs import apply, quads

pytestmark = pytest.mark.usefixtures("kind")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit has few positions, and there are few archives."""
    monkeypatch.setattr(positions, "INLINE", 4)
    monkeypatch.setattr(positions, "TOGETHER", 3)
    monkeypatch.setattr(positions, "FULL", 20)


def _position(log: int, number: int = 1) -> Position:
    return Position(
        log=f"<urn:log:{log}>",
        patch=f"<urn:patch:{log}:{number}>",
        number=number,
        transactions=1,
        complete=True,
    )


def _log(number: int, patches: int = 1) -> bytes:
    """A log of its own."""
    text = ""
    for patch in range(patches):
        prev = f"H prev <urn:{number}:{patch - 1}> . " if patch else ""
        text += f"H id <urn:{number}:{patch}> . {prev}TX . "
        text += f'A <urn:s{number}> <urn:p> "{patch}" . TC . Z .\n'
    return text.encode()


def _commit_path(root: Path) -> Path:
    return max((root / "_commits").iterdir())


def test_a_commit_stays_short_however_many_logs_there_are(tmp_path: Path) -> None:
    log = make_log(storage_at(tmp_path), 1)[0]
    wanted: dict[str, Position] = {}
    pick = random.Random(1)
    longest = 0
    for start in range(0, 20_000, 500):
        for number in range(start, start + 500):
            wanted[_position(number).log] = _position(number)
        # And some go on.
        for number in pick.sample(range(start + 500), 20):
            wanted[_position(number).log] = _position(number, start + 2)
        log.publish(log.head().next(positions=tuple(wanted.values())))
        longest = max(longest, _commit_path(tmp_path).stat().st_size)
    head = log.head()
    assert {each.log: each for each in head.positions} == wanted
    assert len(head.positions) == len(wanted)
    assert longest < 250_000
    assert len(head.archives) < 20
    assert sum(each.positions for each in head.archives) < 40_000


@pytest.mark.usefixtures("few")
def test_no_log_is_applied_twice_however_long_ago_it_was(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(25):
        assert apply(root, _log(number), shards=1).committed
    assert len(ShardedStore(root).commit.archives) > 1
    assert len(ShardedStore(root).commit.positions) == 25
    # From the disk, as another process would.
    positions._archived.cache_clear()
    positions._remembered.cache_clear()
    for number in random.Random(2).sample(range(25), 8):
        assert not apply(root, _log(number), shards=1).committed
    assert ShardedStore(root).version == 25
    # One of the first goes on, and then again does not.
    for number in (0, 7):
        assert apply(root, _log(number, 2), shards=1).replayed.patches == 1
        assert not apply(root, _log(number, 2), shards=1).committed
    assert len(quads(root)) == 27
    assert ShardedStore(root).verify() == []


def test_a_log_without_ids_is_the_same_as_triples_and_as_text(tmp_path: Path) -> None:
    text = b'TX .\nPA "ex" <urn:ex> .\nA <urn:s> <urn:p> <urn:o> .\nTC .\nZ .\n'
    triples = io.BytesIO()
    options = PatchOptions(statement_type=PatchStatementType.TRIPLES)
    write_patches(read_patches(text), triples, options=options)
    assert apply(tmp_path / "root", triples.getvalue(), shards=1).committed
    assert not apply(tmp_path / "root", text, shards=1).committed


def test_a_position_with_other_types_is_none() -> None:
    found = positions.to_fields(_position(1))
    assert positions.position_of(found) == _position(1)
    for name, wrong in (
        ("closed", 1),
        ("content", None),
        ("graph", 1),
        ("number", -1),
        ("number", True),
    ):
        with pytest.raises(ValueError, match="is not a position"):
            positions.position_of({**found, name: wrong})


@pytest.mark.usefixtures("few")
def test_what_is_to_be_no_more_is_not_said_by_an_archive(tmp_path: Path) -> None:
    log = make_log(storage_at(tmp_path), 1)[0]
    for count in (30, 60):
        log.publish(log.head().next(positions=tuple(map(_position, range(count)))))
    log.publish(log.head().next(positions=tuple(map(_position, range(1, 60)))))
    assert set(log.head().positions) == set(map(_position, range(1, 60)))
    log.publish(log.head().next(positions=()))
    assert (log.head().positions, log.head().archives) == ((), ())


@pytest.mark.usefixtures("few")
def test_the_logs_of_an_application_stay_known_in_short_commits(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(8):
        apply(root, _log(100 + number), shards=1)
        apply(root, _log(number), shards=1, application="a", batch=number)
    assert len(ShardedStore(root).commit.positions) == 16
    # Those of its earlier logs go into archives as all others do.
    assert len(list((root / "_positions").iterdir())) < 8


@pytest.mark.usefixtures("few")
def test_a_damaged_archive_is_reported(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(8):
        apply(root, _log(number), shards=1)
    store = ShardedStore(root)
    [archive] = (root / "_positions").iterdir()
    data = archive.read_bytes()
    archive.write_bytes(data.replace(b"urn:1", b"urn:9", 1))
    [problem] = store.verify()
    assert archive.name in problem
    positions._archived.cache_clear()
    positions._remembered.cache_clear()
    with pytest.raises(RootError, match=archive.name):
        apply(root, _log(1), shards=1)
    archive.unlink()
    with pytest.raises(RootError, match="positions cannot be read"):
        ShardedStore(root)


@pytest.mark.usefixtures("few")
def test_the_second_of_two_writers_leaves_no_archive(tmp_path: Path) -> None:
    log = make_log(storage_at(tmp_path), 1)[0]
    one, other = (log.head().next(positions=tuple(map(_position, range(9)))) for _ in range(2))
    log.publish(one)
    with pytest.raises(CommitConflictError):
        log.publish(other)
    assert len(list((tmp_path / "_positions").iterdir())) == 1
    assert len(log.head().positions) == 9


@pytest.mark.usefixtures("few")
def test_a_vacuum_removes_archives_that_no_version_names(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(22):
        apply(root, _log(number), shards=1)
    old = time.time() - 7200
    for archive in (root / "_positions").iterdir():
        os.utime(archive, (old, old))
    before = set(os.listdir(root / "_positions"))
    store = ShardedStore(root)
    store.vacuum(keep=1, grace=timedelta())
    needed = {each.file for each in ShardedStore(root).commit.archives}
    assert needed < before
    assert set(os.listdir(root / "_positions")) == needed
    assert len(list(ShardedStore(root).history())) >= 22
    assert not apply(root, _log(0), shards=1).committed


def test_a_commit_that_could_not_be_read_is_rejected_before_anything_is_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "root"
    apply(root, _log(0), shards=1)
    monkeypatch.setattr(documents, "MAX_JSON", 5000)
    stores = set((root / "shard=0").iterdir())
    tight = f"H id <urn:{'long' * 1100}> . ".encode() + _log(1)[len("H id <urn:1:0> . ") :]
    bound = b"H id <urn:x> . TX . " + b"".join(b"PA n%d: <urn:n> . " % n for n in range(300))
    for patch in (tight, bound + b"TC . Z ."):
        with pytest.raises(LimitError, match="longer than 5000 bytes, which is more"):
            apply(root, patch, shards=1)
    assert set((root / "shard=0").iterdir()) == stores
    assert ShardedStore(root).version == 1
    assert len(quads(root)) == 1
    log = make_log(storage_at(root))[0]
    with pytest.raises(LimitError):
        log.publish(log.head().next(positions=(_position(10**4200),)))
    monkeypatch.setattr(documents, "MAX_JSON", 50_000)
    monkeypatch.setattr(documents, "MAX_VALUES", 200)
    with pytest.raises(LimitError, match="of more than 200 values, which is more"):
        apply(root, bound + b"TC . Z .", shards=1)
    assert apply(root, _log(2), shards=1).committed
