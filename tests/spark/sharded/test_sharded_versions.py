"""Earlier versions: opened by number and by time, listed, and restored."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from jelly_plugins import ChainError
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add, write_patches
from jelly_plugins.spark.sharded import cleaning, commits, positions
from jelly_plugins.spark.sharded.checks import Time, parse_time
from jelly_plugins.spark.sharded.cleaning import vacuum
from jelly_plugins.spark.sharded.commits import CommitLog, open_log
from jelly_plugins.spark.sharded.copying import copy_store
from jelly_plugins.spark.sharded.documents import seal
from jelly_plugins.spark.sharded.errors import CheckpointError, CommitConflictError, RootError
from jelly_plugins.spark.sharded.layout import make_root
from jelly_plugins.spark.sharded.resharding import reshard
from jelly_plugins.spark.sharded.restoring import restore
from jelly_plugins.spark.sharded.storage import local, storage_at
from jelly_plugins.spark.sharded.storage.objects import transfer
from jelly_plugins.spark.sharded.store import ShardedStore
from tests.cli.command import jelly

from .faults import Killed
from .logs import Writer, apply, assert_same, log_file, patch, quad, replayed
from .places import FolderOfObjects

NOW = timedelta()


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """A root that is not there yet."""
    path = tmp_path / "root"
    return FolderOfObjects(path) if request.param == "objects" else path


def _add(root: Any, number: int, **settings: Any) -> Any:
    """Apply one patch with one new quad, which names the one before."""
    return apply(root, _log(number), **{"shards": 2, **settings})


def _log(*numbers: int, prev: bool = True, ids: bool = True) -> bytes:
    made = []
    for number in numbers:
        rows = [BEGIN, add(quad(f"s{number}")), COMMIT]
        made.append(patch(number, rows, prev=prev) if ids else Patch(rows))
    file = BytesIO()
    write_patches(made, file)
    return file.getvalue()


def _subjects(root: Any, **version: Any) -> set[str]:
    return {quad.subject.value.removeprefix("urn:") for quad in ShardedStore(root, **version)}


def _at(root: Path, times: dict[int, str]) -> None:
    """Set when versions were made."""
    for version, time in times.items():
        path = root / f"_commits/{version:012d}.json"
        found = json.loads(path.read_bytes())
        del found["checksum"]
        path.write_bytes(seal(found | {"timestamp": time}))


# By time


def test_a_version_is_opened_by_the_time_at_which_it_was_the_newest(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(3):
        _add(root, number)
    _at(root, {1: "2026-01-01T00:00:00+00:00", 2: "2026-01-02T00:00:00.500+01:00"})
    _at(root, {3: "2026-01-03T00:00:00+00:00"})
    times: dict[Time, int] = {
        "2026-01-01T00:00:00Z": 1,
        "2026-01-01T22:59:59.999Z": 1,
        "2026-01-02T00:00:00.5+01:00": 2,
        datetime(2026, 1, 2, 23, 59, tzinfo=UTC): 2,
        "2026-01-03t00:00:00z": 3,
        datetime(2027, 1, 1, tzinfo=UTC): 3,
    }
    for time, version in times.items():
        assert ShardedStore(root, timestamp=time).version == version
        assert ShardedStore(root).at(timestamp=time).version == version
    first = r"no version at 2025-12-31T00:00:00\+00:00: the first was made at 2026-01-01T"
    with pytest.raises(RootError, match=first):
        ShardedStore(root, timestamp="2025-12-31T00:00:00Z")
    vacuum(root, keep=1, grace=NOW)
    with pytest.raises(RootError, match="the stores of version 2 were removed by a vacuum"):
        ShardedStore(root, timestamp="2026-01-02T12:00:00Z")


def test_invalid_times_are_rejected(place: Any) -> None:
    _add(place, 0)
    for time in ("yesterday", "2026-01-01", "2026-01-01T00:00:00", datetime(2026, 1, 1)):
        with pytest.raises(ValueError, match="timestamp must"):
            ShardedStore(place, timestamp=time)
    with pytest.raises(TypeError, match="must be a datetime or a str"):
        parse_time(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not both"):
        ShardedStore(place, version=1, timestamp="2026-01-01T00:00:00Z")


def test_nothing_was_there_before_the_first_version(tmp_path: Path) -> None:
    make_root(storage_at(tmp_path / "root"), 2)
    with pytest.raises(RootError, match=r"no version at .*: there are no versions"):
        ShardedStore(tmp_path / "root", timestamp="2030-01-01T00:00:00Z")


def test_times_are_in_the_order_of_versions_though_clocks_differ(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _add(root, 0)
    _at(root, {1: "2100-01-01T00:00:00.000+00:00"})
    _add(root, 1)
    made = [commit.timestamp for commit in ShardedStore(root).history()]
    assert made == ["2100-01-01T00:00:00.001+00:00", "2100-01-01T00:00:00.000+00:00"]
    assert ShardedStore(root, timestamp="2100-01-01T00:00:00Z").version == 1


# Restoring


def test_a_restored_version_is_a_new_one(place: Any, tmp_path: Path) -> None:
    writer = Writer()
    logs = [log_file(tmp_path / f"{number}.jellyp", [writer.patch()]) for number in range(3)]
    for log in logs:
        apply(place, log)
    before = ShardedStore(place)
    made = before.restore(1)
    assert (made.version, made.restored, made.operations) == (4, 1, 0)
    old = before.at(1).commit
    for name in ("shards", "quads", "positions", "applications", "namespaces"):
        assert getattr(made, name) == getattr(old, name)
    assert_same(place, replayed(logs[0]))
    assert set(before) == set(before.at(3)) == replayed(*logs)
    # What was undone is applied from where the version stood.
    assert apply(place, *logs).replayed.patches == 2
    assert_same(place, replayed(*logs))
    # The newest one is as it is.
    assert ShardedStore(place).restore(5).version == 5
    with pytest.raises(RootError, match="no version 9"):
        restore(place, 9)
    with pytest.raises(ValueError, match="give a version"):
        restore(place)


def test_a_version_is_restored_by_its_time(place: Any) -> None:
    _add(place, 0)
    time = ShardedStore(place).commit.made()
    _add(place, 1)
    found = ShardedStore(place, timestamp=time).version
    # Both may have been made within a millisecond.
    assert restore(place, timestamp=time).restored == (1 if found == 1 else None)


def test_the_empty_store_can_be_restored(place: Any) -> None:
    _add(place, 0)
    assert restore(place, 0).shards == ShardedStore(place, version=0).commit.shards
    assert _subjects(place) == set()
    assert _add(place, 0).committed
    assert _subjects(place) == {"s0"}


def test_what_follows_what_was_undone_is_rejected_and_not_skipped(place: Any) -> None:
    for number in range(3):
        _add(place, number)
    restore(place, 1)
    # The second version was at the end of this patch, but was undone.
    with pytest.raises(ChainError):
        _add(place, 2)
    assert _add(place, 1).committed
    assert _add(place, 2).committed
    assert not _add(place, 1).committed
    assert _subjects(place) == {"s0", "s1", "s2"}
    # A version that was undone is restored in its turn: that it was undone is undone.
    restore(place, 2)
    with pytest.raises(ChainError):
        apply(place, _log(3), shards=2)
    restore(place, 3)
    assert not _add(place, 1).committed
    assert _add(place, 3).committed


def test_batches_that_were_undone_have_to_come_again(place: Any) -> None:
    def batch(number: int, application: str = "a", **settings: Any) -> Any:
        log = _log(number, ids=False)
        return apply(place, log, shards=2, application=application, batch=number, **settings)

    for number in range(4):
        batch(number)
    batch(0, "b")
    made = restore(place, 2)
    assert made.undone == {"a": 3, "b": 0}
    with pytest.raises(CheckpointError, match=r"undone batches 2 to 3 of application 'a'"):
        batch(4)
    with pytest.raises(CheckpointError, match=r"undone batches 0 to 0 of application 'b'"):
        batch(1, "b")
    assert not batch(1).committed
    assert batch(2).committed
    with pytest.raises(CheckpointError, match=r"undone batches 3 to 3"):
        batch(4)
    # Others' commits keep it.
    batch(0, "c")
    assert ShardedStore(place).commit.undone == {"a": 3, "b": 0}
    assert batch(3).committed
    assert batch(4).committed
    assert ShardedStore(place).commit.undone == {"b": 0}
    assert _subjects(place) == {"s0", "s1", "s2", "s3", "s4"}
    # Restored once more before it has caught up.
    restore(place, 1)
    assert ShardedStore(place).commit.undone == {"a": 4, "b": 0, "c": 0}


def test_no_undone_batch_is_skipped(place: Any) -> None:
    """That the last of them comes again says nothing of those before it."""

    def batch(number: int) -> Any:
        return apply(place, _log(number, ids=False), shards=2, application="a", batch=number)

    for number in (3, 5, 8, 13):
        batch(number)
    restore(place, 1)
    for wrong in (6, 8, 13):
        with pytest.raises(CheckpointError, match=r"undone batches 5 to 13 of application 'a'"):
            batch(wrong)
    # A restore of what was undone, and of what was before.
    restore(place, 3)
    with pytest.raises(CheckpointError, match=r"undone batches 9 to 13"):
        batch(21)
    restore(place, 2)
    with pytest.raises(CheckpointError, match=r"undone batches 8 to 13"):
        batch(13)
    # What has another number now may come before it.
    for number in (7, 8, 13, 21):
        assert batch(number).committed
    assert _subjects(place) == {f"s{number}" for number in (3, 5, 7, 8, 13, 21)}
    # Versions whose stores are gone report it as well.
    restore(place, 1)
    vacuum(place, keep=1, grace=timedelta())
    with pytest.raises(CheckpointError, match=r"undone batches 5 to 21"):
        batch(8)


def test_a_restore_loses_against_another_writer(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        _add(place, number)
    publish = CommitLog.publish

    def late(self: CommitLog, commit: Any) -> None:
        monkeypatch.setattr(CommitLog, "publish", publish)
        _add(place, 2)
        publish(self, commit)

    monkeypatch.setattr(CommitLog, "publish", late)
    with pytest.raises(CommitConflictError):
        restore(place, 1)
    assert _subjects(place) == {"s0", "s1", "s2"}


def test_a_version_that_is_listed_twice_is_one(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        _add(place, number)
    storage = storage_at(place)
    names = storage.names
    monkeypatch.setattr(
        type(storage), "names", lambda _, folder: [each for each in names(folder) for _ in "12"]
    )
    store = ShardedStore(place)
    assert [commit.version for commit in store.history()] == [3, 2, 1]
    assert store.verify() == []


# With a vacuum


def test_a_vacuum_keeps_what_was_restored(place: Any) -> None:
    for number in range(4):
        _add(place, number)
    restore(place, 1)
    # Version 1 has the same stores; version 6 is the vacuum's own.
    assert vacuum(place, keep=1, grace=NOW).versions == [4, 3, 2]
    assert _subjects(place) == {"s0"}
    assert ShardedStore(place).verify() == []
    with pytest.raises(RootError, match="stores of version 2 were removed"):
        restore(place, 2)
    assert _whole(place) == [6, 5, 1]
    # A second one has nothing to do.
    assert vacuum(place, keep=1, grace=NOW).versions == []
    assert ShardedStore(place).version == 6
    assert _add(place, 1).committed


def test_a_restore_while_a_vacuum_is_at_it(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the vacuum makes its version, that sees the restore; otherwise the restore loses."""
    for number in range(4):
        _add(place, number)
    forget = CommitLog.forget

    def meanwhile(self: CommitLog, version: int) -> None:
        monkeypatch.setattr(CommitLog, "forget", forget)
        forget(self, 2)
        with pytest.raises(RootError, match="stores of version 2 were removed"):
            restore(place, 2)
        restore(place, 3)
        forget(self, version)

    monkeypatch.setattr(CommitLog, "forget", meanwhile)
    vacuum(place, keep=1, grace=NOW)
    store = ShardedStore(place)
    assert (store.version, store.at(5).commit.restored, store.verify()) == (6, 3, [])
    assert _subjects(place) == {"s0", "s1", "s2"}
    assert _whole(place) == [6, 5]


def _whole(place: Any) -> list[int]:
    """The versions that can be opened, all of which are whole."""
    store = ShardedStore(place)
    readable = [commit.version for commit in store.history() if commit.readable]
    for version in readable:
        found = ShardedStore(place, version=version)
        assert len(set(found)) == found.commit.quads
        assert [text for text in found.verify() if "no commit names it" not in text] == []
    return readable


@pytest.mark.parametrize("ends", ["returns", "is killed"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_vacuum_in_the_middle_of_a_restore(
    place: Any, monkeypatch: pytest.MonkeyPatch, when: str, ends: str
) -> None:
    """A whole vacuum right before or after the commit: versions that can be opened are complete."""
    for number in range(3):
        _add(place, number)
    publish = CommitLog.publish

    def meanwhile(self: CommitLog, commit: Any) -> Any:
        monkeypatch.setattr(CommitLog, "publish", publish)
        if when == "before":
            vacuum(place, keep=1, grace=NOW)
        made = publish(self, commit)
        if when == "after":
            vacuum(place, keep=1, grace=NOW)
        if ends == "is killed":
            raise Killed
        return made

    monkeypatch.setattr(CommitLog, "publish", meanwhile)
    wins = when == "after"
    expected = pytest.raises((Killed, CommitConflictError))
    with expected if not wins or ends == "is killed" else nullcontext():
        restore(place, 1)
    # Version 4 is the restore, and 5 the vacuum's; or the vacuum has taken the number.
    expected_versions = [5, 4, 1] if wins else [4, 3]
    assert _whole(place) == expected_versions
    assert _subjects(place) == ({"s0"} if wins else {"s0", "s1", "s2"})
    vacuum(place, keep=1, grace=NOW)
    assert _whole(place) == expected_versions
    assert _add(place, 1 if wins else 3).committed


def test_a_vacuum_keeps_archives_of_what_is_restored_meanwhile(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Positions of logs in files that only versions name which the vacuum is to forget."""
    monkeypatch.setattr(positions, "INLINE", 1)
    monkeypatch.setattr(positions, "TOGETHER", 2)
    monkeypatch.setattr(cleaning, "LEAST_GRACE", NOW)
    for number in range(10):
        apply(place, _log(number, prev=False), shards=2)
    older = ShardedStore(place, version=5).commit
    newest = {archive.file for archive in ShardedStore(place).commit.archives}
    assert newest.isdisjoint(archive.file for archive in older.archives)
    forget = CommitLog.forget

    def meanwhile(self: CommitLog, version: int) -> None:
        monkeypatch.setattr(CommitLog, "forget", forget)
        restore(place, 5)
        forget(self, version)

    monkeypatch.setattr(CommitLog, "forget", meanwhile)
    vacuum(place, keep=1, grace=NOW)
    store = ShardedStore(place)
    assert store.commit.archives == older.archives
    positions.check_archives(storage_at(place), older.archives)
    assert _subjects(place) == {f"s{number}" for number in range(5)}


def test_a_restore_loses_against_a_vacuum_that_removes_archives(
    place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier vacuum made versions forget them, and was killed. No store is to be removed."""
    monkeypatch.setattr(positions, "INLINE", 1)
    monkeypatch.setattr(positions, "TOGETHER", 2)
    monkeypatch.setattr(cleaning, "LEAST_GRACE", NOW)
    _add(place, 0)
    for number in range(1, 10):
        file = BytesIO()
        write_patches([patch(number, [BEGIN, COMMIT], prev=False)], file)
        apply(place, file.getvalue(), shards=2)
    publish = CommitLog.publish

    def meanwhile(self: CommitLog, commit: Any) -> Any:
        monkeypatch.setattr(CommitLog, "publish", publish)
        for version in range(1, 10):
            self.forget(version)
        done = vacuum(place, keep=1, grace=NOW)
        assert (done.versions, done.stores) == ([], [])
        assert any(name.startswith("_positions/") for name in done.staged)
        return publish(self, commit)

    monkeypatch.setattr(CommitLog, "publish", meanwhile)
    with pytest.raises(CommitConflictError):
        restore(place, 5)
    assert ShardedStore(place).verify() == []


@pytest.mark.parametrize("hidden", ["newest", "all but the first", "staged"])
def test_a_vacuum_keeps_what_the_newest_versions_name_whatever_is_listed(
    place: Any, monkeypatch: pytest.MonkeyPatch, hidden: str
) -> None:
    """One list lacks what there is: commits of a restore, whose stores no other version names."""
    for number in range(4):
        _add(place, number)
    restore(place, 1)
    for version in (1, 2, 3):
        open_log(storage_at(place)).forget(version)
    storage = storage_at(place)
    names = storage.names
    kept = {"newest": 4, "all but the first": 1, "staged": 9}[hidden]

    def listed(_: object, folder: str) -> list[str]:
        if folder == "_staging" and hidden == "staged":
            return []
        found = names(folder)
        return found if folder != "_commits" else found[:kept]

    monkeypatch.setattr(type(storage), "names", listed)
    vacuum(place, keep=1, grace=NOW)
    monkeypatch.undo()
    assert _subjects(place) == {"s0"}
    assert ShardedStore(place).verify() == []


# Clocks


def _clock(monkeypatch: pytest.MonkeyPatch, wrong: timedelta) -> None:
    """Let the clock of this process, which writes, be wrong."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.now(tz) + wrong

    monkeypatch.setattr(commits, "datetime", Clock)


@pytest.mark.parametrize("wrong", [timedelta(days=366), timedelta(days=-366)])
def test_a_writer_with_a_wrong_clock_breaks_nothing(
    place: Any, monkeypatch: pytest.MonkeyPatch, wrong: timedelta
) -> None:
    """The storage's clock counts, for the times of versions and for the ages of files."""
    _add(place, 0)
    with monkeypatch.context() as patched:
        _clock(patched, wrong)
        _add(place, 1)
    sleep(0.01)
    between = datetime.now(UTC)
    _add(place, 2)
    made = [commit.made() for commit in ShardedStore(place).history()]
    assert made == sorted({*made}, reverse=True)
    assert max(abs(each - between) for each in made) < timedelta(minutes=1)
    assert ShardedStore(place).verify() == []
    assert _subjects(place, timestamp=datetime.now(UTC)) == {"s0", "s1", "s2"}
    if not isinstance(place, FolderOfObjects):
        assert ShardedStore(place, timestamp=between).version == 2
    with monkeypatch.context() as patched:
        _clock(patched, wrong)
        # A vacuum's clock does not count either.
        assert vacuum(place, keep=1, grace=timedelta(hours=1)).versions == []
        assert vacuum(place, keep=1, grace=NOW).versions == [2, 1]
    assert _subjects(place) == {"s0", "s1", "s2"}


def test_a_head_in_the_future_is_reported_and_its_age_is_when_it_was_put(place: Any) -> None:
    """As another program has made it; what follows keeps the order."""
    for number in range(2):
        _add(place, number)
    log = open_log(storage_at(place))
    future = datetime.now(UTC) + timedelta(days=366, minutes=1)
    log.put(replace(log.head().next(operations=0), timestamp=future.isoformat()))
    said = r"version 3: its time, .*, is 527,04[01] minutes in the future"
    [problem] = ShardedStore(place).verify()
    assert re.search(said, problem)
    if not isinstance(place, FolderOfObjects):
        done = jelly("spark", "status", place)
        assert "minutes in the future" in done.text
    _add(place, 2)
    newest, before = list(ShardedStore(place).history())[:2]
    assert newest.made() - before.made() == timedelta(milliseconds=1)
    assert ShardedStore(place, timestamp=datetime.now(UTC)).version == 2
    assert vacuum(place, keep=1, grace=NOW).versions == [3, 2, 1]
    assert _subjects(place) == {"s0", "s1", "s2"}


# What a writer says of its versions

SAID = {"user": "ann", "reason": "it was time = now"}


def test_metadata_is_in_the_history(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _add(root, 0)
    _add(root, 1, metadata=SAID)
    # Alone, it makes no version.
    assert not _add(root, 1, metadata={"user": "bob"}).committed
    restore(root, 1, metadata={"user": "bob"})
    reshard(root, 3, metadata={"user": "eve"})
    _add(root, 1, shards=3)
    vacuum(root, keep=1, grace=NOW, metadata={"user": "cron"})
    found = [dict(each.metadata) for each in ShardedStore(root).history()]
    assert found == [{"user": "cron"}, {}, {"user": "eve"}, {"user": "bob"}, SAID, {}]
    lines = jelly("spark", "history", root).text.splitlines()
    assert lines[0].endswith("0 operations, user=cron")
    assert lines[3].endswith(", restored from version 1, vacuumed, user=bob")
    assert lines[4].endswith(", user=ann, reason=it was time = now")
    fields = json.loads(jelly("spark", "history", root, "--json").text.splitlines()[4])
    assert fields["metadata"] == SAID
    copy_store(root, tmp_path / "copy", history=True)
    assert [dict(each.metadata) for each in ShardedStore(tmp_path / "copy").history()] == found


def test_the_command_takes_metadata(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(2):
        _add(root, number)
    done = jelly("spark", "restore", root, "--version", "1", "--metadata", "reason=a=b")
    assert done.text.endswith(", restored from version 1, reason=a=b\n")
    done = jelly("spark", "restore", root, "--version", "2", "--metadata", "reason")
    assert (done.code, "--metadata must be KEY=VALUE" in done.err) == (2, True)


@pytest.mark.parametrize("wrong", ["x", {"a": 1}, {1: "a"}])
def test_metadata_of_another_type_is_rejected(tmp_path: Path, wrong: Any) -> None:
    for call in (
        lambda: apply(tmp_path / "root", _log(0), metadata=wrong),
        lambda: restore(tmp_path / "root", 1, metadata=wrong),
    ):
        with pytest.raises(TypeError, match=r"must be a (dict of str by )?str"):
            call()


# Every version verified


def test_all_versions_are_verified(place: Any) -> None:
    for number in range(3):
        _add(place, number)
    restore(place, 1)
    store = ShardedStore(place)
    assert store.verify(every=True) == []
    storage = storage_at(place)
    name, checksum = store.at(2).commit.shards[0].named  # type: ignore[index,misc]
    files = storage.files(name, checksum)
    broken = next(file for each, file in files.items() if each.endswith(".sst"))
    path = Path(storage.name) / broken.object
    data = bytearray(path.read_bytes())
    data[broken.offset + 1] ^= 1
    path.write_bytes(data)
    problems = store.verify(every=True)
    # One for each store that has it.
    stores = {each for commit in store.history() for each in commit.stores().items()}
    listed = [storage.files(*each).values() for each in stores]
    having = [found for found in listed if broken.checksum in {file.checksum for file in found}]
    assert len(problems) == len(having) > 0
    assert all("checksum does not match" in each for each in problems)


@pytest.mark.parametrize(("version", "every"), [(1, False), (3, False), (1, True), (3, True)])
def test_a_damaged_newest_commit_is_reported_once(
    tmp_path: Path, version: int, every: bool
) -> None:
    root = tmp_path / "root"
    for number in range(3):
        _add(root, number)
    store = ShardedStore(root, version=version)
    newest = root / "_commits/000000000003.json"
    newest.write_bytes(newest.read_bytes().replace(b"quads", b"quods"))
    [problem] = store.verify(every=every)
    assert f"{newest}: damaged: its checksum does not match" in problem


def test_a_version_whose_stores_a_vacuum_has_removed_is_not_verified_in_silence(place: Any) -> None:
    for number in range(3):
        _add(place, number)
    store = ShardedStore(place, version=1)
    vacuum(place, keep=1, grace=NOW)
    [problem] = store.verify()
    assert problem.endswith("version 1: its stores were removed by a vacuum")


def test_each_file_is_read_once(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        _add(place, number, shards=1)
    storage = storage_at(place)
    read: Counter[Any] = Counter()
    checksum_of_file = local.checksum_of_file

    def counted(path: Path) -> str:
        read[path.stat().st_ino] += 1
        return checksum_of_file(path)

    monkeypatch.setattr(local, "checksum_of_file", counted)
    wrong = transfer.wrong

    def files(client: Any, parts: Any) -> Any:
        read.update({file for file in parts.values() if file.size})
        return wrong(client, parts)

    monkeypatch.setattr("jelly_plugins.spark.sharded.storage.objects.storage.wrong", files)
    assert ShardedStore(place).verify(every=True) == []
    assert set(read.values()) == {1}
    distinct = {
        (file.checksum, file.object)
        for commit in ShardedStore(place).history()
        for each in commit.stores().items()
        for file in storage.files(*each).values()
        if file.size
    }
    assert len(read) <= len(distinct)


def test_the_command_verifies_all_versions(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(2):
        _add(root, number, shards=1)
    store = ShardedStore(root)
    [name, *_] = store.at(1).commit.stores().keys() - store.commit.stores().keys()
    done = jelly("spark", "verify", root, "--all")
    assert (done.code, done.text) == (0, "all versions: 1 shard checked, no problems\n")
    (root / name / "CURRENT").unlink()
    assert jelly("spark", "verify", root).code == 0
    done = jelly("spark", "verify", root, "--all")
    assert (done.code, "version 1, shard" in done.text, "CURRENT" in done.text) == (1, True, True)


# The command


def test_the_command_shows_and_restores_versions(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for number in range(3):
        _add(root, number)
    _at(root, {1: "2026-01-01T00:00:00+00:00", 2: "2026-01-02T00:00:00+00:00"})
    time = "2026-01-01T12:00:00Z"
    done = jelly("spark", "restore", root, "--timestamp", time)
    assert done.text.startswith("version 4 of ")
    assert done.text.endswith(": 1 quads, 0 operations, restored from version 1\n")
    assert jelly("spark", "restore", root, "--version", "2").code == 0
    lines = jelly("spark", "history", root).text.splitlines()
    assert [line.split(" of ")[0] for line in lines] == [f"version {n}" for n in (5, 4, 3, 2, 1)]
    text = jelly("spark", "history", root, "--json").text
    found = [json.loads(line) for line in text.splitlines()]
    assert [each["restored"] for each in found] == [2, 1, None, None, None]
    assert [each["quads"] for each in found] == [2, 1, 3, 2, 1]
    assert found[0]["positions"][0]["patch"] == "<urn:patch:1>"
    verified = jelly("spark", "verify", root, "--timestamp", time)
    assert verified.text.startswith("version 1: ")
    copied = jelly("spark", "copy", root, tmp_path / "copy", "--timestamp", time)
    assert (copied.code, _subjects(tmp_path / "copy")) == (0, {"s0"})
    for wrong in (
        ("restore", root),
        ("restore", root, "--version", "1", "--timestamp", time),
        ("restore", root, "--timestamp", "yesterday"),
    ):
        done = jelly("spark", *wrong)
        assert (done.code, done.err.count("\n")) == (2, 1)


def test_copies_of_restored_versions(place: Any, tmp_path: Path) -> None:
    for number in range(3):
        _add(place, number, application="a", batch=number)
    restore(place, 1)
    copy_store(place, tmp_path / "all", history=True)
    copy_store(place, tmp_path / "one")
    assert next(ShardedStore(tmp_path / "all").history()).restored == 1
    one = ShardedStore(tmp_path / "one").commit
    assert (one.version, one.restored, one.undone) == (1, None, {"a": 2})
    for root in (tmp_path / "all", tmp_path / "one"):
        assert _subjects(root) == {"s0"}
        with pytest.raises(CheckpointError):
            _add(root, 3, application="a", batch=3)
