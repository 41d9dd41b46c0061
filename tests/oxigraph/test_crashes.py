"""Recorders and replays that are killed at any line: nothing is lost, nothing is doubled, and
nothing else changes the store before its log is recorded on."""

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
from jelly_plugins.patch import recording
from jelly_plugins.patch.recording import LogWriter

from ..interrupting import Interrupting
from ..shared_data import ROOT
from .support import data, log, patch, transaction

#: Labels that Oxigraph has and would not be given are not kept by a log.
NODES = [ox.NamedNode("urn:s"), ox.BlankNode("b"), ox.BlankNode("label-6162")]


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


def record_and_exit(folder: str, log: str, seed: str, line: str) -> None:
    """Record until the process ends at a line; print a letter after each transaction."""
    write = LogWriter._write

    def halves(writer: LogWriter, written: bytes) -> None:
        half = len(written) // 2
        write(writer, written[:half])
        write(writer, written[half:])

    LogWriter._write = halves  # type: ignore[method-assign]
    # Write the position often.
    recorders._OPERATIONS = 60  # type: ignore[misc]
    store = ox.Store(folder)
    watched = (__file__, recorders.__file__, recording.__file__)
    with Interrupting(int(line), watched.__contains__, lambda: os._exit(9)):
        recorder = record(store, log)
        changes(recorder, random.Random(int(seed)), set(), lambda: os.write(1, b"x"))
        os._exit(0)


def replay_and_exit(folder: str, log: str, group: str, line: str) -> None:
    """Replay a log until the process ends at a line."""
    store = ox.Store(folder)
    with Interrupting(int(line), lambda file: "jelly_plugins" in file, lambda: os._exit(9)):
        replay(store, log, commit_every=int(group))
        os._exit(0)


def killed(function: Callable[..., None], *arguments: Any) -> int:
    """Call a function in a process of its own that it ends; return how much was printed."""
    code = f"import sys; from {__name__} import *; {function.__name__}(*sys.argv[1:])"
    command = [sys.executable, "-c", code, *map(str, arguments)]
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
    path = folder / f"log.{form}"
    line = rng.choice((rng.randrange(1, 200), rng.randrange(1, 9000)))
    finished = killed(record_and_exit, folder / "store", path, seed, line)
    expected = states(seed)[finished : finished + 2]
    store = ox.Store(folder / "store")
    marked = recording_of(store) is not None
    if marked:
        with pytest.raises(ChainError, match="is being recorded in log"):
            load(store, b"<urn:x> <urn:p> <urn:y> .", format="nt")
        with pytest.raises(ChainError, match="is being recorded in log"):
            replay(store, b"H id <urn:other> . TX . A <urn:s> <urn:p> 1 . TC .")
        with pytest.raises(ChainError, match=r"is being recorded in log .* record\(\) again"):
            replay(store, path)
        elsewhere = path.rename(folder / f"elsewhere.{form}")
        with pytest.raises(ChainError, match="is being recorded in log"):
            record(store, elsewhere)
        elsewhere.rename(path)
    else:
        # It was killed before the log had its options.
        assert finished == 0
    with record(store, path) as recorder:
        assert data(store) in expected
        recorder.add(ox.Quad(NODES[0], ox.NamedNode("urn:q"), ox.Literal("more")))
    load(store, b"", format="nt")
    copy = ox.Store()
    replay(copy, path, check_unmatched=True)
    assert data(copy) == data(store)
    assert replay(store, path).transactions == 0
    assert [each.patch for each in positions(copy)] == [each.patch for each in positions(store)]


@pytest.mark.parametrize("form", ["jellyp", "rdfp"])
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(100, 200), marks=pytest.mark.slow)])
def test_recorders_that_are_killed(tmp_path: Path, seeds: range, form: str) -> None:
    for seed in seeds:
        (tmp_path / str(seed)).mkdir()
        run(tmp_path / str(seed), seed, form)


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_replays_that_are_killed(tmp_path: Path, kills: int) -> None:
    """The store is between two transactions, and the next replay continues there."""
    path, folder = tmp_path / "log.rdfp", tmp_path / "store"
    # A statement that comes and goes: repeating a transaction would show.
    path.write_bytes(
        log(
            *(
                patch(n, transaction(f"{'DA'[n % 2]} _:s <urn:p> 1 .", f"A _:s <urn:q> {n} ."))
                for n in range(1, 40 * kills)
            )
        )
    )
    copy, known = ox.Store(), [set[str]()]
    replay(copy, path, commit_every=1, progress=lambda _: known.append(data(copy)))
    rng = random.Random(kills)
    for _ in range(kills):
        killed(replay_and_exit, folder, path, rng.choice((1, 10, 1000)), rng.randrange(1, 9000))
        assert data(ox.Store(folder)) in known
    store = ox.Store(folder)
    replay(store, path)
    assert data(store) == known[-1]
    assert positions(store) == positions(copy)
