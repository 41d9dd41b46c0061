"""Settings of all tests: slow machines do not fail tests, hypothesis tries the same examples on
each CI run, processes that tests start can be interrupted, and with several test processes (``-n
3``) one runs all tests of Spark.
"""

from __future__ import annotations

import ast
import os
import signal
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from jelly_plugins.patch.replay import transactions as target

settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    max_examples=int(os.environ.get("JELLY_PLUGINS_EXAMPLES", "40")),
)
settings.register_profile("ci", settings.get_profile("patient"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")

# gRPC logs ended connections, which tests end on purpose.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
# Spark starts Java by a fork, in which gRPC would stop and restart its own threads.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# A shell that runs the tests in the background ignores interrupts in all its child processes.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_lock_is_left() -> Iterator[None]:
    """Fail a test that does not release the lock of a store, instead of blocking a later one
    forever.
    """
    yield
    assert not any(lock._is_owned() for lock in target._LOCKS)  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests have no time limit."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process one file of tests at a time, or one test of files that take minutes. All
    tests that need Spark go to the same process, so that Spark starts once. The group marks of
    xdist 3.8 have no effect with pytest 9.2.
    """
    from xdist.scheduler import LoadFileScheduling

    @cache
    def users_of_spark(file: str) -> set[str]:
        """Return the tests of a file that need a Spark session, directly or through fixtures."""
        tree = ast.parse((config.rootpath / file).read_text())
        functions = [each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)]
        found = {"spark"}
        while more := {
            each.name
            for each in functions
            if each.name not in found and found.intersection(arg.arg for arg in each.args.args)
        }:
            found |= more
        return found

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            if not file.startswith("tests/spark/"):
                # Elsewhere the name of the test or document contains "spark".
                if "spark" in nodeid.lower():
                    return "spark"
                return nodeid if file == "tests/test_docs.py" else file
            return "spark" if test.partition("[")[0] in users_of_spark(file) else nodeid

        def _assign_work_unit(self, node: Any) -> None:
            # Start the longest tests first, so that the other processes do not wait for them at the
            # end.
            if "spark" in self.workqueue:
                self.workqueue.move_to_end("spark", last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)
