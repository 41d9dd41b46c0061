"""Recorders that are killed between any two of their steps: nothing is lost, nothing doubled, and
nothing else changes the store before its log is recorded on or replayed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pyoxigraph as ox
import pytest

from jelly_plugins import ChainError
from jelly_plugins.oxigraph import load, positions, record, replay
from jelly_plugins.oxigraph.patches import record as recorders
from jelly_plugins.oxigraph.patches.store import recording_of
from jelly_plugins.patch.recording import LogWriter

from ..shared_data import ROOT
from .support import data

#: Labels that Oxigraph has and would not be given are not kept by a log.
NODES = [ox.NamedNode("urn:s"), ox.BlankNode("b"), ox.BlankNode("label-6162")]


class Steps:
    """Ends the process at one step of a recorder, or counts the steps."""

    def __init__(self, last: int) -> None:
        self._left = last

    def step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os._exit(9)

    def watch(self) -> None:
        write, make = LogWriter._write, recorders.Recorder._make
        apply = recorders.apply  # type: ignore[attr-defined]

        def writing(writer: LogWriter, written: bytes) -> None:
            self.step()
            half = len(written) // 2
            write(writer, written[:half])
            self.step()
            write(writer, written[half:])
            self.step()

        def making(*what: Any) -> None:
            make(*what)
            self.step()

        def applying(*what: Any) -> None:
            apply(*what)
            self.step()

        LogWriter._write = writing  # type: ignore[method-assign]
        recorders.Recorder._make = making  # type: ignore[method-assign]
        recorders.apply = applying  # type: ignore[attr-defined]
        # Write the position often.
        recorders._OPERATIONS = 60  # type: ignore[misc]


def changes(
    recorder: Any, rng: random.Random, state: set[ox.Quad], note: Callable[[], object]
) -> None:
    """Change the store and a set alike."""
    for _ in range(rng.randrange(1, 160)):
        quads = {
            ox.Quad(rng.choice(NODES), ox.NamedNode("urn:p"), ox.Literal(rng.randrange(9)))
            for _ in range(rng.choice((1, 1, 3, 60)))
        }
        with recorder.transaction() as transaction:
            if rng.random() < 0.6:
                transaction.extend(quads)
                state |= quads
            else:
                transaction.remove_all(quads)
                state -= quads
        note()


def child(folder: str, log: str, seed: str, last: str) -> None:
    """Record until the process ends at a step; print a letter after each transaction."""
    store = ox.Store(folder)
    Steps(int(last)).watch()
    recorder = record(store, log)
    changes(recorder, random.Random(int(seed)), set(), lambda: os.write(1, b"x"))
    os._exit(0)


PROGRAM = "import sys; from tests.oxigraph.test_record_crash import child; child(*sys.argv[1:])"


def killed(folder: Path, log: Path, seed: int, last: int) -> int:
    """Record in a process of its own that ends at a step; return how many transactions it has
    finished."""
    command = [sys.executable, "-c", PROGRAM, folder, log, str(seed), str(last)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=False)
    assert done.returncode in (0, 9)
    return len(done.stdout)


def states(seed: int) -> list[set[str]]:
    """The data after each transaction."""
    found: list[set[str]] = [set()]
    state: set[ox.Quad] = set()
    changes(MagicMock(), random.Random(seed), state, lambda: found.append(set(map(str, state))))
    return found


def run(folder: Path, seed: int, form: str) -> None:
    rng = random.Random(-seed)
    log = folder / f"log.{form}"
    finished = killed(folder / "store", log, seed, rng.choice((1, 2, 3, 4, rng.randrange(1, 500))))
    expected = states(seed)[finished : finished + 2]
    store = ox.Store(folder / "store")
    marked = recording_of(store) is not None
    if marked:
        with pytest.raises(ChainError, match="is being recorded in log"):
            load(store, b"<urn:x> <urn:p> <urn:y> .", format="nt")
        with pytest.raises(ChainError, match="is being recorded in log"):
            replay(store, b"H id <urn:other> . TX . A <urn:s> <urn:p> 1 . TC .")
        with pytest.raises(ChainError, match=r"is being recorded in log .* record\(\) again"):
            replay(store, log)
        elsewhere = log.rename(folder / f"elsewhere.{form}")
        with pytest.raises(ChainError, match="is being recorded in log"):
            record(store, elsewhere)
        elsewhere.rename(log)
    else:
        # It was killed before the log had its options.
        assert finished == 0
    with record(store, log) as recorder:
        assert data(store) in expected
        recorder.add(ox.Quad(NODES[0], ox.NamedNode("urn:q"), ox.Literal("more")))
    load(store, b"", format="nt")
    copy = ox.Store()
    replay(copy, log, check_unmatched=True)
    assert data(copy) == data(store)
    assert replay(store, log).transactions == 0
    assert [each.patch for each in positions(copy)] == [each.patch for each in positions(store)]


@pytest.mark.parametrize("form", ["jellyp", "rdfp"])
def test_kills(tmp_path: Path, form: str) -> None:
    for seed in range(2):
        (tmp_path / str(seed)).mkdir()
        run(tmp_path / str(seed), seed, form)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jellyp", "rdfp"])
def test_many_kills(tmp_path: Path, form: str) -> None:
    for seed in range(100, 200):
        (tmp_path / str(seed)).mkdir()
        run(tmp_path / str(seed), seed, form)
