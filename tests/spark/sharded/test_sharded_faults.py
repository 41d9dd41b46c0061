"""Nothing lost, nothing doubled, the loser told: whatever happens to tasks and drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from jelly_plugins import JellyError
from jelly_plugins.spark.sharded import apply as apply_module
from jelly_plugins.spark.sharded.apply import Applied, Runner, run_here
from jelly_plugins.spark.sharded.commits import Commit, CommitLog
from jelly_plugins.spark.sharded.errors import CommitConflictError
from jelly_plugins.spark.sharded.layout import open_root
from jelly_plugins.spark.sharded.shard import ShardWork, apply_shard
from jelly_plugins.spark.sharded.store import ShardedStore
from jelly_plugins.spark.sharded.tasks import on_spark

from . import faults
from .logs import Writer, apply, assert_same, log_file, quads, replayed


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
        with pytest.raises(CommitConflictError, match="may be made again"):
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

        def run(found: list[ShardWork]) -> list[apply_module.ShardResult]:
            works.extend(found)
            results = list(self.run(apply_shard)(found))
            late()
            return results

        assert self.apply(log, number, run).committed
        # By now what it would read is gone as well.
        with pytest.raises(OSError, match="No such file"):
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


def test_twenty_batches_with_faults(tmp_path: Path) -> None:
    course = Course(tmp_path, faults.here)
    for number in range(20):
        course.batch(number, FAULTS[number % len(FAULTS)])
    assert course.conflicts >= 4
    # A vacuum finds all that the faults have left.
    store = ShardedStore(course.root)
    assert store.vacuum(keep=1, grace=timedelta()).stores
    assert_same(course.root, replayed(*course.logs))


def test_twenty_batches_with_faults_on_spark(spark: SparkSession, tmp_path: Path) -> None:
    course = Course(tmp_path, lambda task: on_spark(spark, task))
    kinds = ["killed", *FAULTS]
    for number in range(20):
        course.batch(number, kinds[number % len(kinds)], patches=1)
    assert len(list((tmp_path / "killed").iterdir())) >= 2


def test_a_task_that_always_fails_is_told(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = log_file(tmp_path / "log.jellyp", [Writer().patch()])

    def task(work: ShardWork) -> apply_module.ShardResult:
        raise OSError(f"disk full in shard {work.shard}")

    with pytest.raises(JellyError, match="a shard's task failed: OSError: disk full in shard"):
        apply(root, log, run=on_spark(spark, task))
    assert (ShardedStore(root).version, quads(root)) == (0, [])
    assert list((root / "_staging").iterdir()) == []


def test_a_loser_takes_its_stores_with_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    log = log_file(tmp_path / "log.jellyp", [Writer().patch()])
    with pytest.raises(CommitConflictError):
        apply(root, log, run=faults.overtaken(run_here, lambda: apply(root, log)))
    shards = ShardedStore(root).commit.shards
    assert shards is not None
    named = {shard.store for shard in shards if shard.store}
    assert {f"{each.parent.name}/{each.name}" for each in root.glob("shard=*/*")} == named


def test_a_commit_that_comes_late_is_refused(tmp_path: Path) -> None:
    """Even if a vacuum has taken the version that it lost against."""
    root = tmp_path / "root"
    late: list[Commit] = []
    writer = Writer()
    for number in range(4):
        if number == 1:
            late.append(CommitLog(root, open_root(root)).head().next())
        apply(root, log_file(tmp_path / f"{number}.jellyp", [writer.patch()]))
    ShardedStore(root).vacuum(keep=1, grace=timedelta())
    with pytest.raises(CommitConflictError, match="version 2 first"):
        CommitLog(root, open_root(root)).publish(late[0])


KILLED = """
import os, signal, sys
from pathlib import Path
from jelly_plugins.spark.sharded import apply, layout, shard

root, log, place = sys.argv[1:]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def after(function):
    def run(*arguments):
        function(*arguments)
        die()
    return run

if place == "staging":
    apply.Stager.stage = die
elif place == "resolved":
    apply._works = die
elif place == "applying":
    shard._net = die
elif place == "applied":
    apply._check = die
elif place == "committing":
    os.link = die
elif place == "committed":
    os.link = after(os.link)
settings = apply.Settings(shards=2)
apply.apply_batch(apply.stage_sources([log]), apply.run_here, root, settings)
"""


@pytest.mark.parametrize(
    "place", ["staging", "resolved", "applying", "applied", "committing", "committed"]
)
@pytest.mark.usefixtures("at_once")
def test_a_driver_that_is_killed_leaves_all_or_nothing(tmp_path: Path, place: str) -> None:
    root = tmp_path / "root"
    writer = Writer()
    logs = [log_file(tmp_path / f"{number}.jellyp", [writer.patch()]) for number in range(2)]
    apply(root, logs[0], shards=2)
    command = [sys.executable, "-c", KILLED, str(root), logs[1], place]
    code = subprocess.run(command, env={**os.environ}, check=False).returncode
    assert code == -signal.SIGKILL
    assert_same(root, replayed(*logs[: 2 if place == "committed" else 1]))
    assert apply(root, logs[1], shards=2).committed is (place != "committed")
    assert_same(root, replayed(*logs))
    store = ShardedStore(root)
    store.vacuum(grace=timedelta())
    assert not list(root.glob("_staging/*"))
    assert not list(root.glob("_commits/*.tmp"))
    assert_same(root, replayed(*logs))
