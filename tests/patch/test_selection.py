"""The second part of a replay: which transactions a store does not have yet.

``test_exactly_once`` has the same rules with real stores; here no log is read and no store changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jelly_plugins import ChainError
from jelly_plugins.codec.patch.operations import AnyOperation, add
from jelly_plugins.patch.replay.position import Position, Replayed
from jelly_plugins.patch.replay.selection import Content, Entry, Selection
from jelly_plugins.patch.replay.settings import ReplaySettings
from jelly_plugins.patch.replay.transactions import PatchEnd, Transaction

from .listed import Listed, ListedTarget

#: A patch: its id, its prev, and the values that its transactions add.
Patch = tuple[str | None, str | None, Sequence[str]]
ONE: Patch = ("1", None, ["a"])
TWO: Patch = ("2", "1", ["b", "c"])
THREE: Patch = ("3", "2", ["d"])


def rows(values: str) -> list[AnyOperation]:
    return [add(value) for value in values]


class Log:
    """Feeds patches to a selection, and collects what it selects."""

    def __init__(self, *positions: Position, **settings: Any) -> None:
        self.done = Replayed()
        self.selection = Selection(
            ListedTarget(positions), ReplaySettings(**settings), done=self.done
        )
        self.entries: list[Entry[Listed]] = []

    def feed(self, *patches: Patch, marked: bool = True, loose: bool = False) -> Log:
        for id_, prev, transactions in patches:
            end = PatchEnd(id_, prev, marked)
            for at, values in enumerate(transactions, 1):
                last = at == len(transactions)
                kept = rows(values)
                changes = Listed(*kept)
                found = Transaction(id_, prev, changes, loose and last, kept, end if last else None)
                self._add(self.selection.transaction(found))
            if not transactions:
                self._add(self.selection.end(end))
        return self

    def _add(self, entry: Entry[Listed] | None) -> None:
        if entry is not None:
            self.entries.append(entry)

    @property
    def selected(self) -> list[str]:
        """What the selected entries add; empty for an entry that only moves the position."""
        return ["".join(row.value for row in entry.changes.rows) for entry in self.entries]

    @property
    def position(self) -> Position:
        return self.entries[-1].reached


def position(*patches: Patch, **settings: Any) -> Position:
    return Log().feed(*patches, **settings).position


def test_all_of_a_log() -> None:
    log = Log().feed(ONE, TWO)
    assert log.selected == ["a", "b", "c"]
    assert [entry.patches for entry in log.entries] == [1, 1, 0]
    at = log.position
    assert (at.log, at.patch, at.number, at.transactions) == ("1", "2", 2, 2)
    assert (at.complete, at.closed) == (True, True)


def test_the_rest_of_a_log() -> None:
    log = Log(position(ONE)).feed(ONE, TWO)
    assert (log.selected, log.done.skipped) == (["b", "c"], 1)
    assert log.done.position == position(ONE)
    assert log.position == position(ONE, TWO)


def test_the_rest_of_a_patch() -> None:
    part: Patch = ("2", "1", ["b"])
    log = Log(position(ONE, part, marked=False)).feed(ONE, TWO)
    assert (log.selected, log.done.skipped) == (["c"], 2)
    with pytest.raises(ChainError, match="was complete with 1 transactions"):
        Log(position(ONE, part)).feed(ONE, TWO)


def test_nothing_is_left() -> None:
    log = Log(position(ONE, TWO)).feed(ONE, TWO)
    assert (log.selected, log.done.skipped) == ([], 3)
    log.selection.check_found()


def test_the_next_file_of_a_log() -> None:
    assert Log(position(ONE, TWO)).feed(THREE).position.number == 3
    log = Log(position(ONE, TWO)).feed(TWO, THREE)
    assert (log.selected, log.position.log) == (["d"], "1")


def test_an_end_alone_moves_the_position() -> None:
    log = Log()
    log._add(log.selection.transaction(Transaction("1", None, Listed(add("a")), False, [], None)))
    assert not log.position.complete
    log._add(log.selection.end(PatchEnd("1", None, True)))
    assert log.selected == ["a", ""]
    assert log.position == position(ONE)


def test_patches_without_transactions() -> None:
    empty: Patch = ("1", None, [])
    log = Log().feed(empty, (None, None, []), ("2", "1", []))
    assert log.selected == ["", ""]
    assert [entry.patches for entry in log.entries] == [1, 1]
    assert log.position.number == 3
    grown = Log(position(empty, marked=False)).feed(ONE)
    assert (grown.selected, grown.done.skipped) == (["a"], 0)


def test_patches_without_ids() -> None:
    first, second = (None, None, ["a"]), (None, None, ["a"])
    log = Log(position(first)).feed(first, second)
    assert (log.selected, log.done.skipped) == (["a"], 1)
    assert log.position.patch != position(first).patch


@pytest.mark.parametrize("id_", [None, "2"])
def test_a_transaction_that_has_grown(id_: str | None) -> None:
    before: Patch = (None if id_ is None else "1", None, ["a"])
    at = position(before, (id_, None, ["bc"]), marked=False, loose=True)
    assert at.loose
    assert Log(at).feed(before, (id_, None, ["bcd"])).selected == ["d"]
    other = Log(at)
    with pytest.raises(ChainError, match=r"do not begin with them|does not have"):
        other.feed(before, (id_, None, ["bd"])).selection.check_found()


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([("2", "0", ["b"])], "follows patch 0, but the patch before it is 1"),
        ([ONE, ("1", None, ["x"])], "different content"),
        ([TWO, THREE, ("2", "3", ["b"])], "an earlier patch of the log has the same id"),
    ],
)
def test_patches_that_do_not_follow(patches: list[Patch], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        Log().feed(ONE, *patches)


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([ONE, ("2", "1", ["b", "x"])], "different content"),
        ([ONE, ("2", "1", ["b"])], "1 transactions, but 2 of it were applied"),
        ([("3", "1", ["d"])], "the log follows patch 1, but the store is at patch 2"),
        ([ONE], "is at patch 2, which the log does not have"),
    ],
)
def test_another_log_than_was_applied(patches: list[Patch], message: str) -> None:
    log = Log(position(ONE, TWO))
    with pytest.raises(ChainError, match=message):
        log.feed(*patches).selection.check_found()


def test_the_same_patch_again() -> None:
    log = Log().feed(ONE, TWO, TWO, THREE)
    assert (log.selected, log.done.skipped) == (["a", "b", "c", "d"], 2)


def test_until() -> None:
    patches: list[Patch] = [("<1>", None, ["a"]), ("<2>", "<1>", ["b"]), ("<3>", "<2>", ["c"])]
    log = Log(until="2").feed(patches[0])
    assert not log.selection.is_complete
    assert log.feed(patches[1]).selection.is_complete
    with pytest.raises(ChainError, match="at patch <3> already, after patch <2>"):
        Log(position(*patches), until="2").feed(*patches)


def test_only_positions_in_transactions_that_may_have_grown_need_rows() -> None:
    at = position(ONE, marked=False, loose=True)
    assert not Log(position(ONE)).selection.keeps_rows()
    log = Log(at)
    assert log.selection.keeps_rows()
    assert not log.feed(ONE).selection.keeps_rows()


def test_content_is_that_of_all_transactions() -> None:
    expected = Content().plus(Listed(*rows("b"))).plus(Listed(*rows("c")))
    assert position(ONE, TWO).content == expected.text()
