"""Tasks and drivers to which everything happens that may happen."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread

from jelly_plugins.spark.sharded import shard as shard_module
from jelly_plugins.spark.sharded.batch import Runner
from jelly_plugins.spark.sharded.shard import ShardResult, ShardWork, apply_shard

from .here import run_here

Task = Callable[[ShardWork], ShardResult]


class Killed(BaseException):
    """Simulates the end of a process, if the process is that of the tests."""


def once(markers: Path, name: str) -> bool:
    """Whether this is the first call with this name, of all processes."""
    markers.mkdir(exist_ok=True)
    try:
        os.close(os.open(markers / name, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def killed_in_its_middle(markers: Path) -> Task:
    """The first attempt for each shard is killed with part of the operations applied."""

    def task(work: ShardWork) -> ShardResult:
        if once(markers, f"{work.version}-{work.shard}"):
            module = shard_module
            module.CHUNK = 100
            apply = module._net
            calls = []

            def net(chunk: list[shard_module.Block]) -> tuple[list[bytes], list[bytes]]:
                calls.append(chunk)
                if len(calls) == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                return apply(chunk)

            module._net = net  # type: ignore[assignment]
            module.apply_shard(work)
            # There was less to do than three chunks.
            os.kill(os.getpid(), signal.SIGKILL)
        return apply_shard(work)

    return task


def failing_when_done(markers: Path) -> Task:
    """The first attempt for each shard does all of its work, and its result is lost."""

    def task(work: ShardWork) -> ShardResult:
        result = apply_shard(work)
        if once(markers, f"{work.version}-{work.shard}"):
            raise OSError("the result is lost")
        return result

    return task


def running_twice() -> Task:
    """Two attempts for each shard at once, as by speculation; the result of one is taken."""

    def task(work: ShardWork) -> ShardResult:
        other = Thread(target=apply_shard, args=(work,))
        other.start()
        result = apply_shard(work)
        other.join()
        return result

    return task


def overtaken(run: Runner, other: Callable[[], object]) -> Runner:
    """Another driver does something while the tasks of this one are running."""

    def runner(works: Sequence[ShardWork]) -> list[ShardResult]:
        results = list(run(works))
        other()
        return results

    return runner


def here(task: Task) -> Runner:
    """Runs tasks in this process, each up to four times."""

    def attempt(work: ShardWork, attempts: int = 4) -> ShardResult:
        try:
            return task(work)
        except OSError:
            if attempts == 1:
                raise
            return attempt(work, attempts - 1)

    def runner(works: Sequence[ShardWork]) -> list[ShardResult]:
        return [attempt(work) for work in works]

    return runner


def dying(results: int) -> Runner:
    """The driver dies while it waits for the tasks."""

    def runner(works: Sequence[ShardWork]) -> list[ShardResult]:
        list(run_here(works[:results]))
        raise Killed

    return runner
