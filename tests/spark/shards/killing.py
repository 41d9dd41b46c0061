"""A program that applies a log, and dies at one of the steps that leave something in the root.

Arguments: the root, the log, the number of the step, from 0, and Spark's master, if Spark is to do
it. Prints the number of steps if it is still alive in the end.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jelly_plugins.spark.shards import apply_patches, shard, storage

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
        (storage, "_sync"),
        (os, "link"),
        (shutil, "rmtree"),
        (Path, "mkdir"),
        (Path, "rename"),
        (Path, "unlink"),
    ):
        setattr(owner, name, watched(getattr(owner, name), last))


def main(folder: str, log: str, last: str, master: str = "") -> None:
    spark = None
    if master:
        from jelly_plugins.spark import session

        from ..conftest import SETTINGS

        spark = session(master, config=SETTINGS)
    watch(int(last))
    apply_patches(spark, log, folder, shards=3)
    print(count)


if __name__ == "__main__":
    main(*sys.argv[1:])
