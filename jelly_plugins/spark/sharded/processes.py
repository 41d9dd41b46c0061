"""Run the work of shards in several processes of this machine, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import TypeVar

from ...errors import JellyError
from .batch import Runner
from .shard import CHUNK, ShardResult, ShardWork, apply_shard

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


def run_in_processes(
    function: Callable[[_Work], _Result], works: Sequence[_Work], processes: int
) -> Iterable[_Result]:
    """Call a function with each of ``works``; with one process or work, in this process.

    :param function: a function of a module.
    :param processes: maximum number of processes.
    :return: the results, in order.
    :raises JellyError: the function has raised it, or a process has exited.
    """
    workers = min(processes, len(works))
    if workers <= 1:
        return map(function, works)
    # The libraries for stores and buckets use threads, which a fork would lose.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        try:
            return list(pool.map(function, works))
        except BrokenProcessPool as error:
            raise JellyError(f"a process that works on a shard has exited: {error}") from error


def on_driver(processes: int) -> Runner:
    """Return a runner that does the work of shards in processes of this machine.

    :param processes: maximum number of processes. A process needs about a second to start, so that
        each has at least some ten thousand statements.
    """

    def run(works: Sequence[ShardWork]) -> Iterable[ShardResult]:
        staged = sum(extent.size for work in works for extent, _ in work.staged)
        return run_in_processes(apply_shard, works, min(processes, 1 + staged // CHUNK))

    return run
