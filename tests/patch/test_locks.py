"""Locks of stores and graphs, with threads and where processes fork."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from threading import Barrier, Event, Thread
from typing import Any

import pytest
from rdflib import Graph

from jelly_plugins import ChainError
from jelly_plugins.patch.replay.transactions import lock_of
from jelly_plugins.rdflib import record

STORE = object()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_wait_for_threads_of_its_parent() -> None:
    held, done = Event(), Event()

    def hold() -> None:
        with lock_of(STORE):
            held.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        with lock_of(STORE):
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0


def test_threads_find_one_recorder(tmp_path: Path) -> None:
    graph = Graph()
    ready = Barrier(8)
    opened: list[Any] = []

    def run(number: int) -> None:
        ready.wait()
        with suppress(ChainError):
            opened.append(record(graph, tmp_path / f"{number}.jellyp"))

    threads = [Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [recorder] = opened
    recorder.close()
