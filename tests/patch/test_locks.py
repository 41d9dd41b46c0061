"""Locks of stores, where processes fork."""

from __future__ import annotations

import os
import signal
from threading import Event, Thread

import pytest

from jelly_plugins.patch.replay.transactions import lock_of

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
STORE = object()


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
