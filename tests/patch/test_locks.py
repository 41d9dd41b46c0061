"""Locks of stores, where processes fork."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Event, RLock, Thread
from typing import Any

import pytest

from jelly_plugins.patch.replay.target import lock_of
from jelly_plugins.rdflib import oxigraph_store

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
STORE = object()


@pytest.mark.parametrize(
    "lock", [lambda: lock_of(STORE), lambda: oxigraph_store._making], ids=["store", "making"]
)
def test_a_child_does_not_wait_for_threads_of_its_parent(
    lock: Callable[[], AbstractContextManager[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test that was interrupted may have left it held by this thread.
    monkeypatch.setattr(oxigraph_store, "_making", RLock())
    held, done = Event(), Event()

    def hold() -> None:
        with lock():
            held.set()
            done.wait()

    thread = Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        signal.alarm(20)
        with lock():
            os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
