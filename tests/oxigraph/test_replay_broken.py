"""Logs that were cut, flipped and spliced: a result or a JellyError, and whole transactions."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError
from jelly_plugins.oxigraph import positions, replay
from jelly_plugins.patch import PatchReader, write_rows

from ..shared_data import shared
from .support import contents, data, jelly_log, log, patch, transaction

#: Each transaction changes several quads, and each patch has more than one transaction.
PATCHES = [
    patch(
        number,
        transaction(
            f"A <urn:s> <urn:p> {number} .",
            f'A _:b{number} <urn:p> "text {number}"@en <urn:g> .',
            f"D <urn:s> <urn:p> {number - 2} .",
        ),
        transaction("A <urn:undone> <urn:p> 1 .", end="TA ."),
        f"PA 'ex' <urn:ex:{number}> .",
        transaction(*(f"A <urn:more:{number}> <urn:p> {each} ." for each in range(5))),
    )
    for number in range(1, 7)
]


def rejected(store: ox.Store, source: Any) -> JellyError | None:
    """Replay a log; the error with which it is rejected, if it is."""
    try:
        replay(store, source)
    except JellyError as error:
        return error
    return None


def states(source: bytes) -> list[set[str]]:
    """All data that a store goes through, transaction by transaction."""
    store = ox.Store()
    found: list[set[str]] = [set()]
    replay(store, source, commit_every=1, progress=lambda _: found.append(data(store)))
    return found


@pytest.mark.parametrize("write", [log, jelly_log])
def test_truncated_at_every_byte(write: Any) -> None:
    whole = write(*PATCHES)
    known = states(whole)
    for length in range(0, len(whole), 1 if write is jelly_log else 5):
        store = ox.Store()
        error = rejected(store, whole[:length])
        assert data(store) in known
        if write is jelly_log:
            assert error is not None or data(store) in known[1:]
            # What is missing comes with the whole of it. Text does not tell where it was cut: the
            # end of a file is the end of its last patch.
            replay(store, whole)
            assert data(store) == known[-1]


@pytest.mark.parametrize("write", [log, jelly_log])
@pytest.mark.parametrize("seed", range(300))
def test_a_broken_log_gives_a_result_or_an_error(write: Any, seed: int) -> None:
    rng = random.Random(f"{write.__name__}/{seed}")
    broken = bytearray(write(*PATCHES))
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(broken))
        kind = rng.randrange(4)
        if kind == 0:
            broken[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del broken[at : at + rng.randrange(1, 9)]
        elif kind == 2:
            broken[at:at] = broken[at : at + rng.randrange(1, 60)]
        else:
            broken[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 5)))
    store = ox.Store()
    applied: list[set[str]] = [set()]
    with suppress(JellyError):
        replay(
            store,
            bytes(broken),
            commit_every=1,
            progress=lambda _: applied.append(data(store)),
        )
    # Nothing is left of a transaction that was not applied.
    assert data(store) == applied[-1]
    assert len(positions(store)) <= 1


@pytest.mark.parametrize("ending", ["jellyp", "rdfp"])
@pytest.mark.parametrize("text", [b"", b"\n", b"\x00", b"\xff" * 40, b"# nothing\n"])
def test_logs_of_nothing(ending: str, text: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"log.{ending}"
    path.write_bytes(text)
    store = ox.Store()
    error = rejected(store, path)
    assert error is None or str(error).startswith(str(path))
    assert (error is None) is ((not text.strip() and ending == "rdfp") or text.startswith(b"#"))
    assert contents(store) == set()


@pytest.mark.parametrize("seed", range(20))
def test_real_logs_broken(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "log.jellyp"
    write_rows(PatchReader(shared("data/patch/rdf-stax.rdfp")), path)
    whole = path.read_bytes()
    rng = random.Random(seed)
    at = rng.randrange(len(whole))
    for broken in (whole[:at], whole[:at] + bytes((whole[at] ^ 0x55,)) + whole[at + 1 :]):
        store = ox.Store()
        if rejected(store, broken):
            assert contents(store) == set()
