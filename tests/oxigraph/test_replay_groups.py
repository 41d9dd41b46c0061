"""Transactions that are applied together: the store sees one, and nobody can tell it from many."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest

from jelly_plugins import ConflictError, JellyError, OptionsError
from jelly_plugins.oxigraph import count, namespaces, positions, replay
from jelly_plugins.oxigraph.patches import transaction as transaction_module
from jelly_plugins.patch import Patch

from .replays import counting, data, everything, jelly_log, log, patch, patches_of, transaction

GROUPS = (1, 2, 10, 1000)
#: Operations for which a transaction, and a group, is applied in a thread of its own.
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


def mixed(patches: int, size: int = 1) -> list[str]:
    """Patches that add and delete what others have added, with blank nodes and namespaces."""
    made = []
    for number in range(1, patches + 1):
        rows = [f"A _:b{i % 7} <urn:p> {number * size + i} ." for i in range(size)]
        rows += [f"D _:b{i % 7} <urn:p> {(number - 2) * size + i} ." for i in range(0, size, 2)]
        rows.append(f"A <urn:s> <urn:at> {number} .")
        rows.append(f"D <urn:s> <urn:at> {number - 1} .")
        rows.append(f'P{"AD"[number % 2]} "n{number % 3}" <urn:n:{number}> .')
        made.append(patch(number, transaction(*rows[: size // 2]), transaction(*rows[size // 2 :])))
    return made


@pytest.mark.parametrize("size", [1, MANY])
def test_the_end_is_the_same(store: ox.Store, size: int) -> None:
    patches = mixed(12, size)
    replay(store, log(*patches), group=1)
    for group in GROUPS:
        other = ox.Store()
        done = replay(other, jelly_log(*patches), group=group)
        assert (done.patches, done.transactions) == (12, 24)
        assert everything(other) == everything(store)
        assert [done.position] == positions(other) == positions(store)
        assert namespaces(other) == namespaces(store)


@pytest.mark.parametrize(("group", "expected"), [(None, 1), (1, 40), (7, 6), (40, 1)])
def test_so_many_updates(
    store: ox.Store, updates: list[str], group: int | None, expected: int
) -> None:
    assert replay(store, log(*counting(40)), group=group).transactions == 40
    assert len(updates) == expected


def test_operations_of_a_group_are_bounded(store: ox.Store, updates: list[str]) -> None:
    assert replay(store, log(*counting(5, 4000))).transactions == 5
    assert len(updates) == 3


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("size", [1, MANY])
@pytest.mark.parametrize("bad", [1, 2, 5, 9])
def test_a_transaction_that_is_refused(store: ox.Store, group: int, size: int, bad: int) -> None:
    patches = counting(9, size)
    patches[bad - 1] = patches[bad - 1].replace(
        "TC .", "A <urn:s> <urn:p> <urn:o> <urn:jelly-plugins:bookkeeping> .\nTC ."
    )
    with pytest.raises(JellyError, match=f"patch <urn:p:{bad}>: ") as caught:
        replay(store, log(*patches), group=group)
    assert str(caught.value).count("patch <urn") == 1
    expected = ox.Store()
    if bad > 1:
        replay(expected, log(*counting(bad - 1, size)))
    assert data(store) == data(expected)
    assert [(each.patch, each.transactions) for each in positions(store)] == [
        (each.patch, each.transactions) for each in positions(expected)
    ]
    assert replay(store, log(*counting(9, size)), group=group).transactions == 10 - bad


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    "row", ["A <urn:s:1> <urn:p> 0 .", "D <urn:s:2> <urn:p> 7 .", "A <urn:s:4> <urn:p> 0 ."]
)
def test_strict(store: ox.Store, group: int, row: str) -> None:
    patches = counting(6)
    patches[3] = patches[3].replace("TC .", f"{row}\nTC .")
    with pytest.raises(ConflictError, match="patch <urn:p:4>: "):
        replay(store, log(*patches), group=group, strict=True)
    assert count(store) == 3


@pytest.mark.parametrize("group", GROUPS)
def test_strict_takes_what_comes_and_goes(store: ox.Store, group: int) -> None:
    rows = [f"{'AD'[i % 2]} <urn:s> <urn:p> {i // 2 % 3} ." for i in range(24)]
    done = replay(store, log(patch(1, *map(transaction, rows))), group=group, strict=True)
    assert (done.transactions, count(store)) == (24, 0)


@pytest.mark.parametrize("group", GROUPS)
def test_what_was_read_before_an_error_is_applied(store: ox.Store, group: int) -> None:
    with pytest.raises(JellyError, match="line"):
        replay(store, log(*counting(5)) + b"TX .\nA nonsense\n", group=group)
    assert count(store) == 5


@pytest.mark.parametrize("size", [1, MANY])
def test_what_was_told_is_applied(store: ox.Store, size: int) -> None:
    threads = set()

    def progress(done: Any) -> None:
        threads.add(threading.current_thread())
        assert count(store) >= done.operations
        [position] = positions(store)
        assert position.number >= done.position.number == done.transactions

    replay(store, log(*counting(9, size)), group=4, progress=progress)
    assert threads == {threading.current_thread()}


def test_an_interrupt_while_a_group_is_applied(store: ox.Store) -> None:
    """It waits for the group; nothing changes behind the back of whoever was interrupted."""
    patches = patches_of(*counting(40, MANY))

    def interrupted() -> Iterator[Patch]:
        yield from patches[:21]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(store, interrupted(), group=5)
    [position] = positions(store)
    assert count(store) == position.number * MANY
    replay(store, patches)
    assert count(store) == 40 * MANY


def test_patches_that_are_waited_for_are_applied_one_by_one(store: ox.Store) -> None:
    patches = patches_of(*counting(5))
    counts = []

    def given() -> Iterator[Patch]:
        for each in patches:
            counts.append(count(store))
            yield each

    replay(store, given())
    # Each is applied once the end of its patch was read.
    assert counts == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("write", [log, jelly_log])
def test_a_pipe_that_gives_no_more_for_now(store: ox.Store, write: Any) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source:
        thread = threading.Thread(target=replay, args=(store, source))
        thread.start()
        with os.fdopen(writing, "wb", buffering=0) as out:
            out.write(write(*counting(7)))
            while count(store) < 6:
                assert thread.is_alive()
        thread.join()
    assert count(store) == 7


def test_no_group_at_all(store: ox.Store) -> None:
    with pytest.raises(OptionsError, match="0 transactions"):
        replay(store, log(*counting(1)), group=0)
