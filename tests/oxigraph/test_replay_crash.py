"""kill -9 in the middle of ``jelly patch apply``: the same command again, and the store is what it
would have been."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pyoxigraph as ox
import pytest

from jelly_plugins.oxigraph import positions, replay

from ..cli.command import command
from .replays import data, jelly_log, number_of, patch, transaction


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

    def __init__(self, folder: Path, patches: int, size: int, group: int) -> None:
        self.group = str(group)
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
        """Replay in another process, which is killed a time after it has opened the store."""
        before = self._opened()
        with subprocess.Popen(
            command(
                "patch", "apply", self.path, "--store", self.store, "--commit-every", self.group
            ),
            stdout=subprocess.DEVNULL,
        ) as process:
            while process.poll() is None and self._opened() == before:
                time.sleep(0.001)
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                self.kills += 1
            code = process.wait()
        assert code in (0, -signal.SIGKILL)

    def _opened(self) -> int:
        """What changes whenever the store is opened."""
        try:
            return (self.store / "CURRENT").stat().st_mtime_ns
        except FileNotFoundError:
            return 0

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
        assert numbers == [str(number_of(each)) for each in positions(store)]

    def check(self) -> None:
        """The store is what it would have been."""
        store = ox.Store(self.store)
        assert data(store) == self.expected
        assert positions(store) == self.reached


def test_a_few_kills(tmp_path: Path) -> None:
    Crashes(tmp_path, patches=60, size=60, group=10).run(5)


@pytest.mark.slow
@pytest.mark.parametrize("group", [1, 10, 1000])
def test_many_kills(tmp_path: Path, group: int) -> None:
    Crashes(tmp_path, patches=120, size=120, group=group).run(30)
