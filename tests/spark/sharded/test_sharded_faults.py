"""Faults of tasks and drivers: no operation is lost or duplicated, and a losing writer fails."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jelly_plugins import JellyError
from jelly_plugins.patch import BEGIN, COMMIT, Patch, add
from jelly_plugins.spark.sharded import batch as batch_module
from jelly_plugins.spark.sharded.batch import Applied, Runner
from jelly_plugins.spark.sharded.commits import Commit, CommitLog, open_log
from jelly_plugins.spark.sharded.errors import CommitConflictError, RootError
from jelly_plugins.spark.sharded.shard import ShardWork, apply_shard
from jelly_plugins.spark.sharded.storage import storage_at
from jelly_plugins.spark.sharded.store import ShardedStore
from jelly_plugins.spark.sharded.tasks import on_spark

from ... import programs
from . import faults
from .here import run_here
from .logs import Writer, apply, assert_same, log_file, quad, quads, replayed


class Course:
    """Batches of one application, each of which something happens to."""

    def __init__(self, folder: Path, run: Callable[[faults.Task], Runner]) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.run = run
        self.writer = Writer(seed=11)
        self.logs: list[str] = []
        self.conflicts = 0

    def batch(self, number: int, fault: str, patches: int = 2) -> None:
        """Apply one batch, in the face of a fault, until it is done."""
        log = log_file(
            self.folder / f"{number:02}.jellyp", [self.writer.patch(60) for _ in range(patches)]
        )
        self.logs.append(log)
        getattr(self, fault)(log, number)
        assert_same(self.root, replayed(*self.logs))
        done = ShardedStore(self.root).commit.applications["course"]
        assert done.number == number

    def apply(self, log: str, number: int, run: Runner | None = None) -> Applied:
        return apply(
            self.root,
            log,
            run=run or self.run(apply_shard),
            application="course",
            batch=number,
        )

    def nothing(self, log: str, number: int) -> None:
        assert self.apply(log, number).committed

    def lost_result(self, log: str, number: int) -> None:
        task = faults.failing_when_done(self.folder / "lost")
        assert self.apply(log, number, self.run(task)).committed

    def run_twice(self, log: str, number: int) -> None:
        assert self.apply(log, number, self.run(faults.running_twice())).committed

    def two_drivers(self, log: str, number: int) -> None:
        """Another driver has the same batch, and is faster."""
        run = faults.overtaken(self.run(apply_shard), lambda: self.apply(log, number))
        with pytest.raises(CommitConflictError, match="call again to retry"):
            self.apply(log, number, run)
        assert not self.apply(log, number).committed
        self.conflicts += 1

    def another_application(self, log: str, number: int) -> None:
        """Another driver has something else to apply, and is faster: the loser tries again."""
        extra = b"TX . A <urn:other> <urn:p> _:b1 . D <urn:other> <urn:p> _:b1 . TC . Z ."
        other = lambda: apply(self.root, extra, application="other", batch=number)  # noqa: E731
        with pytest.raises(CommitConflictError):
            self.apply(log, number, faults.overtaken(self.run(apply_shard), other))
        assert self.apply(log, number).committed
        self.conflicts += 1

    def driver_dies(self, log: str, number: int) -> None:
        """Before the commit: as if nothing had been."""
        with pytest.raises(faults.Killed):
            self.apply(log, number, faults.dying(1))
        assert self.apply(log, number).committed

    def driver_forgets(self, log: str, number: int) -> None:
        """After the commit: Spark does not know of it, and gives the batch again."""
        assert self.apply(log, number).committed
        assert not self.apply(log, number).committed

    def stale_attempt(self, log: str, number: int) -> None:
        """An attempt ends long after its batch was committed by another."""
        works: list[ShardWork] = []

        def late() -> None:
            for work in works:
                apply_shard(work)

        def run(found: list[ShardWork]) -> list[batch_module.ShardResult]:
            works.extend(found)
            results = list(self.run(apply_shard)(found))
            late()
            return results

        assert self.apply(log, number, run).committed
        # By now what it would read is gone as well.
        with pytest.raises((OSError, RootError), match=r"No such file|no longer exist"):
            late()

    def vacuumed(self, log: str, number: int) -> None:
        assert self.apply(log, number).committed
        ShardedStore(self.root).vacuum(keep=2, grace=timedelta())

    def killed(self, log: str, number: int) -> None:
        task = faults.killed_in_its_middle(self.folder / "killed")
        assert self.apply(log, number, self.run(task)).committed


FAULTS = [
    "nothing",
    "lost_result",
    "run_twice",
    "two_drivers",
    "another_application",
    "driver_dies",
    "driver_forgets",
    "stale_attempt",
    "vacuumed",
]


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize("batches", [len(FAULTS), pytest.param(20, marks=pytest.mark.slow)])
def test_batches_with_faults(tmp_path: Path, batches: int) -> None:
    course = Course(tmp_path, faults.here)
    for number in range(batches):
        course.batch(number, FAULTS[number % len(FAULTS)])
    assert course.conflicts >= 2 * (batches // len(FAULTS))
    # A vacuum finds all that the faults have left.
    store = ShardedStore(course.root)
    assert store.vacuum(keep=1, grace=timedelta()).stores
    assert_same(course.root, replayed(*course.logs))


@pytest.mark.usefixtures("kind")
@pytest.mark.parametrize(
    ("batches", "kinds"),
    [
        (3, ["killed", FAULTS[0]]),
        pytest.param(20, ["killed", *FAULTS], marks=pytest.mark.slow),
    ],
)
def test_batches_with_faults_on_spark(
    spark: SparkSession, tmp_path: Path, batches: int, kinds: list[str]
) -> None:
    course = Course(tmp_path, lambda task: on_spark(spark, task))
    for number in range(batches):
        course.batch(number, kinds[number % len(kinds)], patches=1)
    assert len(list((tmp_path / "killed").iterdir())) >= 2


def test_a_task_that_always_fails_is_reported(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = log_file(tmp_path / "log.jellyp", [Writer().patch()])

    def task(work: ShardWork) -> batch_module.ShardResult:
        raise OSError(f"disk full in shard {work.shard}")

    with pytest.raises(JellyError, match="a shard's task failed: OSError: disk full in shard"):
        apply(root, log, run=on_spark(spark, task))
    assert (ShardedStore(root).version, quads(root)) == (0, [])
    assert list((root / "_staging").iterdir()) == []


@pytest.mark.usefixtures("kind")
def test_a_loser_begins_again(tmp_path: Path) -> None:
    """With what it had staged: the log, a file that is read once, is not read again."""
    root = tmp_path / "root"
    writer = Writer()
    log = log_file(tmp_path / "log.jellyp", [writer.patch() for _ in range(3)])
    others = iter(
        log_file(tmp_path / f"{n}.rdfp", [Patch([BEGIN, add(quad(f"other{n}")), COMMIT])])
        for n in range(3)
    )
    done: list[str] = []

    def other() -> None:
        if (path := next(others, None)) is not None:
            apply(root, path)
            done.append(path)

    with Path(log).open("rb") as file:
        applied = apply(root, file, run=faults.overtaken(run_here, other), retries=3)
    assert (applied.version, applied.replayed.patches, len(done)) == (4, 3, 3)
    assert_same(root, replayed(log, *done))
    named = {each.store for each in ShardedStore(root).commit.shards or () if each.store}
    assert {f"{each.parent.name}/{each.name}" for each in root.glob("shard=*/v4-*")} <= named


@pytest.mark.usefixtures("kind")
def test_two_writers_both_come_through(tmp_path: Path) -> None:
    """Of eleven batches of each, all are applied: a loser needs less time than a new batch."""
    root = tmp_path / "root"
    apply(root, b"TX . TC . Z .", shards=2)

    def write(name: str) -> None:
        for number in range(11):
            text = f"TX . A <urn:{name}> <urn:p> <urn:{number}> . TC . Z ."
            log = text.encode()
            apply(root, log, shards=2, application=name, batch=number, retries=10)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, ["a", "b"]))
    assert len(quads(root)) == 22
    assert ShardedStore(root).verify() == []


@pytest.mark.usefixtures("kind")
def test_a_vacuum_and_a_batch_exclude_each_other(tmp_path: Path) -> None:
    """A vacuum whose grace period is shorter than a batch: the batch loses, the head stays."""
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    apply(root, logs[0])
    removed: list[str] = []

    def vacuum_late() -> None:
        old = time.time() - 7200
        for folder in root.glob("shard=*/v2-*"):
            for each in (folder, *folder.iterdir()):
                os.utime(each, (old, old))
        removed.extend(ShardedStore(root).vacuum(keep=1, grace=timedelta()).stores)

    run = faults.overtaken(run_here, vacuum_late)
    with pytest.raises(CommitConflictError):
        apply(root, logs[1], run=run)
    assert any("/v2-" in name for name in removed)
    assert_same(root, replayed(logs[0]))
    assert ShardedStore(root).version == 2
    assert apply(root, logs[1]).version == 3
    assert_same(root, replayed(*logs))


@pytest.mark.usefixtures("kind")
def test_a_vacuum_leaves_what_a_batch_may_be_at(tmp_path: Path) -> None:
    """For an hour, whatever the grace period: the batch is not disturbed."""
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    apply(root, logs[0])
    vacuum = lambda: ShardedStore(root).vacuum(keep=1, grace=timedelta())  # noqa: E731
    assert apply(root, logs[1], run=faults.overtaken(run_here, vacuum)).version == 2
    assert_same(root, replayed(*logs))


def test_a_vacuum_that_a_commit_overtakes_looks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has taken for an orphan is the head by now."""
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{n}.jellyp", [writer.patch()]) for n in range(2)]
    apply(root, logs[0])
    late: list[Commit] = []
    publish = CommitLog.publish
    monkeypatch.setattr(CommitLog, "publish", lambda _, commit: late.append(commit))
    apply(root, logs[1])

    def overtaken(log: CommitLog, commit: Commit) -> None:
        if late:
            publish(log, late.pop())
        publish(log, commit)

    monkeypatch.setattr(CommitLog, "publish", overtaken)
    old = time.time() - 7200
    for folder in root.glob("shard=*/v2-*"):
        for each in (folder, *folder.iterdir()):
            os.utime(each, (old, old))
    done = ShardedStore(root).vacuum(keep=1, grace=timedelta())
    assert (ShardedStore(root).version, done.versions) == (3, [1])
    assert_same(root, replayed(*logs))


@pytest.mark.usefixtures("kind")
def test_an_error_after_another_writers_commit_is_a_conflict(tmp_path: Path) -> None:
    """What a task began with may have been removed meanwhile."""
    root = tmp_path / "root"
    log = log_file(tmp_path / "log.jellyp", [Writer().patch()])

    def run(works: list[ShardWork]) -> list[batch_module.ShardResult]:
        if ShardedStore(root).version == 0:
            apply(root, b"TX . A <urn:other> <urn:p> <urn:o> . TC . Z .")
            raise OSError("a file of the store is gone")
        return list(run_here(works))

    assert apply(root, log, run=run, retries=1).version == 2
    with pytest.raises(RootError, match="cannot be written: disk full"):
        apply(root, b"A <urn:s> <urn:p> <urn:o> . Z .", run=_full)


def _full(_: list[ShardWork]) -> list[batch_module.ShardResult]:
    raise OSError("disk full")


@pytest.mark.usefixtures("kind")
def test_a_loser_takes_its_stores_with_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = log_file(tmp_path / "log.jellyp", [Writer().patch()])
    with pytest.raises(CommitConflictError):
        apply(root, log, run=faults.overtaken(run_here, lambda: apply(root, log)))
    shards = ShardedStore(root).commit.shards
    assert shards is not None
    named = {shard.store for shard in shards if shard.store}
    assert {f"{each.parent.name}/{each.name}" for each in root.glob("shard=*/*")} == named


@pytest.mark.usefixtures("kind")
def test_a_commit_that_comes_late_is_rejected(tmp_path: Path) -> None:
    """Even if a vacuum has taken the version that it lost against."""
    root = tmp_path / "root"
    late: list[Commit] = []
    writer = Writer()
    for number in range(4):
        if number == 1:
            late.append(open_log(storage_at(root)).head().next())
        apply(root, log_file(tmp_path / f"{number}.jellyp", [writer.patch()]))
    ShardedStore(root).vacuum(keep=1, grace=timedelta())
    with pytest.raises(CommitConflictError, match="version 2 first"):
        open_log(storage_at(root)).publish(late[0])


KILLED = """
import sys
from jelly_plugins.spark.sharded import batch
from jelly_plugins.spark.sharded.storage import storage_at
from tests.spark.sharded.killing import die, prepare, runner

root, log, place = sys.argv[1:]
prepare(place)
if place == "staging":
    batch.Stager.stage = die
settings = batch.BatchSettings(shards=2)
batch.apply_batch(batch.stage_sources([log]), runner(place), storage_at(root), settings)
"""


@pytest.mark.parametrize(
    "place", ["staging", "resolved", "writing", "applying", "applied", "committing", "committed"]
)
@pytest.mark.usefixtures("at_once")
def test_a_driver_that_is_killed_leaves_all_or_nothing(tmp_path: Path, place: str) -> None:
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{number}.jellyp", [writer.patch()]) for number in range(2)]
    apply(root, logs[0], shards=2)
    code = programs.run(KILLED, root, logs[1], place).returncode
    assert code == -signal.SIGKILL
    assert_same(root, replayed(*logs[: 2 if place == "committed" else 1]))
    assert apply(root, logs[1], shards=2).committed is (place != "committed")
    assert_same(root, replayed(*logs))
    store = ShardedStore(root)
    store.vacuum(grace=timedelta())
    assert not list(root.glob("_staging/*"))
    assert not list(root.glob("_commits/*.tmp"))
    assert_same(root, replayed(*logs))
