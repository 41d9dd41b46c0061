"""Transactions that are applied together have the same effect as one by one."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import JellyError, OptionsError
from jelly_plugins.oxigraph import count_quads, positions, replay
from jelly_plugins.oxigraph.patches import store as transaction_module
from jelly_plugins.patch import Patch

from .support import counting, data, jelly_log, log, number_of, patch, patches_of, transaction

GROUPS = (1, 2, 10, 1000)
#: Operations of a large transaction.
MANY = 600


@pytest.fixture
def updates(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the updates that stores were asked for."""
    found: list[str] = []
    run = transaction_module.Update.run

    def noted(self: transaction_module.Update, *args: Any, **settings: Any) -> None:
        found.append(";".join(self._parts))
        run(self, *args, **settings)

    monkeypatch.setattr(transaction_module.Update, "run", noted)
    return found


@pytest.mark.parametrize(
    ("patches", "group", "expected"),
    [
        *((counting(40), group, most) for group, most in ((None, 1), (1, 40), (7, 6), (40, 1))),
        # Operations of a group are bounded, and so is their text.
        (counting(5, 4000), None, 3),
        ([patch(n, f'A <urn:s> <urn:p> "{n}{"x" * 1_500_000}" .') for n in range(1, 5)], 1000, 2),
    ],
    ids=["default", "1", "7", "40", "many operations", "long terms"],
)
def test_so_many_updates(
    store: ox.Store, updates: list[str], patches: list[str], group: int | None, expected: int
) -> None:
    assert replay(store, log(*patches), commit_every=group).transactions == len(patches)
    assert len(updates) == expected


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [1, MANY])
@pytest.mark.parametrize("bad", [1, 5, 9])
def test_a_transaction_that_is_rejected(store: ox.Store, group: int, size: int, bad: int) -> None:
    patches = counting(9, size)
    patches[bad - 1] = patches[bad - 1].replace(
        "TC .", "A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> .\nTC ."
    )
    with pytest.raises(JellyError, match=f"patch <urn:p:{bad}>: ") as caught:
        replay(store, log(*patches), commit_every=group)
    assert str(caught.value).count("patch <urn") == 1
    expected = ox.Store()
    if bad > 1:
        replay(expected, log(*counting(bad - 1, size)))
    assert data(store) == data(expected)
    assert [(each.patch, each.transactions) for each in positions(store)] == [
        (each.patch, each.transactions) for each in positions(expected)
    ]
    assert replay(store, log(*counting(9, size)), commit_every=group).transactions == 10 - bad


@pytest.mark.parametrize("size", [1, MANY])
def test_what_was_told_is_applied(store: ox.Store, size: int) -> None:
    reported = []

    def progress(operations: int) -> None:
        reported.append(operations)
        assert count_quads(store) >= sum(reported)
        [position] = positions(store)
        assert number_of(position) >= len(reported)

    replay(store, log(*counting(9, size)), commit_every=4, progress=progress)
    assert len(reported) == 9


def test_patches_that_are_waited_for_are_applied_one_by_one(store: ox.Store) -> None:
    patches = patches_of(*counting(5))
    counts = []

    def given() -> Iterator[Patch]:
        for each in patches:
            counts.append(count_quads(store))
            yield each

    replay(store, given())
    # Each is applied once the end of its patch was read.
    assert counts == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("write", [log, jelly_log])
@pytest.mark.parametrize("follow", [False, True])
def test_a_pipe_that_gives_no_more_for_now(
    store: ox.Store, write: Any, follow: bool, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "log")
    settings = {"follow": follow, "stop": lambda: True}
    thread = threading.Thread(target=replay, args=(store, tmp_path / "log"), kwargs=settings)
    thread.start()
    with open(tmp_path / "log", "wb", buffering=0) as out:
        out.write(write(*counting(7)))
        while count_quads(store) < 6:
            assert thread.is_alive()
    thread.join()
    assert count_quads(store) == 7


def test_no_group_at_all(store: ox.Store) -> None:
    with pytest.raises(OptionsError, match="commit_every must be at least 1"):
        replay(store, log(*counting(1)), commit_every=0)


@pytest.mark.parametrize("group", GROUPS)
def test_progress_that_raises_ends_it(store: ox.Store, group: int) -> None:
    """Nothing is reported afterwards, and nothing is applied but the rest of its group."""
    reported = []

    def progress(operations: int) -> None:
        reported.append(operations)
        if len(reported) == 3:
            raise ValueError("that is enough")

    with pytest.raises(ValueError, match="that is enough"):
        replay(store, log(*counting(40, 300)), commit_every=group, progress=progress)
    assert reported == [300] * 3
    [position] = positions(store)
    last = {1: 3, 2: 4, 10: 10, 1000: 33}[group]
    assert (number_of(position), count_quads(store)) == (last, last * 300)


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [1, MANY])
def test_a_store_that_was_rejected_something_can_be_opened_again(
    tmp_path: Path, group: int, size: int
) -> None:
    store = ox.Store(tmp_path / "store")
    wrong = patch(4, transaction("A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> ."))
    gc.collect()
    gc.disable()
    try:
        # What pytest.raises keeps would lead to the store.
        with suppress(JellyError):
            replay(store, log(*counting(3, size), wrong), commit_every=group)
        del store
        assert count_quads(ox.Store(tmp_path / "store")) == 3 * size
    finally:
        gc.enable()


class LateError(Exception):
    """What the handler of a signal raises."""


@pytest.mark.parametrize("error", [LateError, KeyboardInterrupt])
@pytest.mark.parametrize("applied", [False, True])
@pytest.mark.parametrize("group", [1, 2, 7, 10])
def test_what_a_signal_raises_is_no_fault_of_a_transaction(
    store: ox.Store,
    monkeypatch: pytest.MonkeyPatch,
    group: int,
    applied: bool,
    error: type[BaseException],
) -> None:
    """It comes out of the replay, and the position is that of what was applied."""
    run = transaction_module.Update.run
    updates = 0

    def interrupted(self: transaction_module.Update, *args: Any, **settings: Any) -> None:
        nonlocal updates
        updates += 1
        if updates != 2 or applied:
            run(self, *args, **settings)
        if updates == 2:
            raise error

    monkeypatch.setattr(transaction_module.Update, "run", interrupted)
    patches = counting(30)
    with pytest.raises(error):
        replay(store, log(*patches), commit_every=group)
    [position] = positions(store)
    assert count_quads(store) == number_of(position) == group * (1 + applied)
    assert replay(store, log(*patches)).transactions == len(patches) - number_of(position)
