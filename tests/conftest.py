"""Settings of all tests: a slow machine fails none of them, on CI hypothesis tries the same
examples each time, processes that tests start can be interrupted, and of several processes that run
the tests (``-n 3``) one has all of Spark's."""

from __future__ import annotations

import ast
import os
import signal
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from jelly_plugins.patch.replay import target

settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    max_examples=int(os.environ.get("JELLY_PLUGINS_EXAMPLES", "40")),
)
settings.register_profile("ci", settings.get_profile("patient"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "patient")

# gRPC logs connections that end, which tests end on purpose.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

# A shell that runs the tests in the background has interrupts ignored, in all processes below it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _no_lock_is_left() -> Iterator[None]:
    """A test that leaves the lock of a store taken fails, rather than a later one wait forever."""
    yield
    assert not any(lock._is_owned() for lock in target._LOCKS)  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is slow takes as long as it takes."""
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(0))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each process a file of tests at a time, or a test of files that take minutes, and what
    needs Spark to one of them, so that it is started once. The group marks of xdist 3.8 have no
    effect with pytest 9.2."""
    from xdist.scheduler import LoadFileScheduling

    @cache
    def users_of_spark(file: str) -> set[str]:
        """The tests of a file that need a Spark session, or fixtures that do."""
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
                # Elsewhere a test, or a document, is called after it.
                if "spark" in nodeid.lower():
                    return "spark"
                return nodeid if file == "tests/test_docs.py" else file
            return "spark" if test.partition("[")[0] in users_of_spark(file) else nodeid

        def _assign_work_unit(self, node: Any) -> None:
            # What takes longest comes first, so that the others do not wait for it in the end.
            if "spark" in self.workqueue:
                self.workqueue.move_to_end("spark", last=False)
            super()._assign_work_unit(node)

    return Scheduling(config, log)
