"""Kill programs that apply a log at the steps that leave something in the root.

``killing FOLDER FIRST LAST BY`` kills a first load and a batch at steps from FIRST to LAST, in
processes of their own, and checks the store after each kill. It prints the number of kills.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas  # noqa: F401  (pyarrow imports it, which takes longer than the work)

from jelly_plugins.spark.shards import ShardedStore, apply_patches, shard, vacuum
from jelly_plugins.spark.shards import root as root_module

from .logs import assert_same
from .model import Patch, quads_after, random_log, text_of

#: Number of steps so far; a step has a beginning and an end.
count = 0


def step(last: int) -> None:
    """End this process without clean-up, if this is the step."""
    global count
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
    count += 1


def watched(function: Callable[..., Any], last: int) -> Callable[..., Any]:
    def run(*arguments: Any, **settings: Any) -> Any:
        step(last)
        found = function(*arguments, **settings)
        step(last)
        return found

    return run


def watch(last: int) -> None:
    """Make the steps of the libraries die."""
    for owner, name in (
        (shard, "copy"),
        (shard, "write"),
        (root_module, "_sync"),
        (os, "link"),
        (shutil, "rmtree"),
        (Path, "mkdir"),
        (Path, "rename"),
        (Path, "unlink"),
    ):
        setattr(owner, name, watched(getattr(owner, name), last))


def killed(work: Callable[[], None]) -> bool:
    """Run in a process of its own; return whether it was killed.

    A fork has no threads of this process, which therefore runs nothing that starts some.
    """
    if (child := os.fork()) == 0:
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def apply(root: Path, patches: list[Patch], last: int) -> None:
    watch(last)
    apply_patches(None, text_of(patches), root, shards=3)


def check(root: Path, *allowed: list[Patch]) -> None:
    """Check that the store has what it has after one of some logs."""
    if (root / "_versions").exists() and list((root / "_versions").glob("*.json")):
        assert set(ShardedStore(root)) in [quads_after(patches) for patches in allowed]


def check_and_clean(root: Path, patches: list[Patch]) -> None:
    assert_same(root, quads_after(patches))
    vacuum(root, keep=1, grace=timedelta())
    assert_same(root, quads_after(patches))
    left = {path.relative_to(root).as_posix() for path in root.glob("*/*") if path.is_dir()}
    assert left == set(ShardedStore(root).content.stored())


def kill(root: Path, last: int) -> int:
    """Kill a first load and a batch at a step; return the number of kills."""
    patches = random_log(1, ids=True)
    kills = 0
    for before, after in ((0, 5), (5, 8)):
        kills += killed(lambda after=after: apply(root, patches[:after], last))  # type: ignore[misc]
        assert not killed(
            lambda before=before, after=after: check(root, patches[:before], patches[:after])  # type: ignore[misc]
        )
        assert not killed(lambda after=after: apply(root, patches[:after], -1))  # type: ignore[misc]
    assert not killed(lambda: check_and_clean(root, patches))
    return kills


def main(folder: str, *bounds: str) -> None:
    print(sum(kill(Path(folder, str(number)), number) for number in range(*map(int, bounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
