"""kill -9 in the middle of a replay on disk: the same command again, and the store is what it would
have been."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins.oxigraph import positions, replay

from .replays import data, jelly_log, patch, transaction

#: Replays the log of a path into the store of a folder; says when it begins.
REPLAYS = """
import sys
from pyoxigraph import Store
from jelly_plugins.oxigraph import replay

folder, path = sys.argv[1:]
store = Store(folder)
print("begins", flush=True)
replay(store, path)
"""

ROOT = Path(__file__).parents[2]


def swinging(patches: int, size: int) -> list[str]:
    """Patches each of which undoes a part of the one before it, so that any operation that is lost
    or repeated shows; some with blank nodes, some of several transactions."""
    made = []
    for number in range(1, patches + 1):
        rows = [f"D <urn:s> <urn:at> {number - 1} .", f"A <urn:s> <urn:at> {number} ."]
        for i in range(size):
            subject = f"_:b{i}" if number % 3 == 0 else f"<urn:s:{i}>"
            rows.append(f"A {subject} <urn:p> {number} <urn:g:{i % 3}> .")
            if number > 3:
                rows.append(f"D {subject} <urn:p> {number - 3} <urn:g:{i % 3}> .")
        half = len(rows) // 2
        made.append(patch(number, transaction(*rows[:half]), transaction(*rows[half:])))
    return made


class Crashes:
    """A log, what a store has after it, and a replay of it that is killed again and again."""

    def __init__(self, folder: Path, patches: int, size: int) -> None:
        self.path = folder / "log.jellyp"
        self.path.write_bytes(jelly_log(*swinging(patches, size)))
        undisturbed = ox.Store(folder / "undisturbed")
        started = time.perf_counter()
        replay(undisturbed, self.path)
        self.seconds = time.perf_counter() - started
        self.expected = data(undisturbed)
        self.reached = positions(undisturbed)
        self.store = folder / "store"
        self.kills = 0
        self._random = random.Random(7)

    def replay(self, seconds: float | None) -> None:
        """Replay in another process, which is killed after a time."""
        with subprocess.Popen(
            [sys.executable, "-c", REPLAYS, str(self.store), str(self.path)],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begins\n"
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                self.kills += 1
            process.wait()

    def run(self, kills: int) -> None:
        """Kill replays at random moments, into a new store whenever one has come to its end; after
        each the same command may run on."""
        while self.kills < kills:
            before = self.kills
            self.replay(self._random.uniform(0, self.seconds / 3))
            self.check_position()
            if self.kills == before or self._random.random() < 0.2:
                self.replay(None)
                self.check()
                shutil.rmtree(self.store)
        self.replay(None)
        self.check()

    def check_position(self) -> None:
        """The data are those of the position, whichever it is."""
        store = ox.Store(self.store)
        at = ox.NamedNode("urn:at")
        numbers = [quad.object.value for quad in store.quads_for_pattern(None, at, None)]
        assert numbers == [str(each.number) for each in positions(store)]

    def check(self) -> None:
        """The store is what it would have been."""
        store = ox.Store(self.store)
        assert data(store) == self.expected
        assert positions(store) == self.reached


def test_a_few_kills(tmp_path: Path) -> None:
    Crashes(tmp_path, patches=60, size=60).run(5)


@pytest.mark.slow
def test_many_kills(tmp_path: Path) -> None:
    Crashes(tmp_path, patches=120, size=120).run(60)
