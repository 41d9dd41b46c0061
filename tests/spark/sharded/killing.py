"""Kill this process at a place while it makes a version; for programs of their own.

Places: ``resolved`` (before the tasks), ``writing`` (as a store is opened), ``applying`` (after the
first task), ``applied`` (after all tasks), ``committing`` and ``committed`` (before and after the
commit is linked).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from jelly_plugins.spark.sharded import shard
from jelly_plugins.spark.sharded.shard import ShardResult, ShardWork


def die(*_: Any, **__: Any) -> NoReturn:
    """End this process without clean-up."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("the process is still running")


class Dying:
    """A store whose opening ends the process."""

    __init__ = read_only = die


def prepare(place: str) -> None:
    """Make the libraries die at a place, if it is one of theirs."""
    module: Any = shard
    system: Any = os
    if place == "writing":
        module.Store = Dying
    elif place == "committing":
        system.link = die
    elif place == "committed":
        system.link = _after(os.link)


def _after(function: Callable[..., object]) -> Callable[..., None]:
    def run(*arguments: Any) -> None:
        function(*arguments)
        die()

    return run


def runner(place: str) -> Callable[[Sequence[ShardWork]], list[ShardResult]]:
    """Return a runner of tasks that dies at a place, if it is one of its own."""

    def run(works: Sequence[ShardWork]) -> list[ShardResult]:
        if place == "resolved":
            die()
        results = []
        for work in works:
            results.append(shard.apply_shard(work))
            if place == "applying":
                die()
        if place == "applied":
            die()
        return results

    return run
