"""The first part of a replay: rows become transactions, and those are selected that a store does
not have yet.

``test_exactly_once`` has the same rules with real stores; here no log is read and no store changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from jelly_plugins import ChainError, OrderError
from jelly_plugins.codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    AnyOperation,
    add,
    header,
)
from jelly_plugins.patch.replay.replay import Entry, Position, Selection
from jelly_plugins.patch.replay.transactions import NetChanges, ReplaySettings


class ListedTarget:
    """A target that is at given positions, and is never changed."""

    graph = ""
    text = staticmethod(str)

    def __init__(self, positions: Sequence[Position] = ()) -> None:
        self._positions = positions

    def positions(self) -> Sequence[Position]:
        return self._positions

    def apply(self, changes: NetChanges, position: Position | None, /) -> int:
        raise NotImplementedError


#: A patch: its id, its prev, and the values that its transactions add.
Patch = tuple[str | None, str | None, Sequence[str]]
ONE: Patch = ("<1>", None, ["a"])
TWO: Patch = ("<2>", "<1>", ["b", "c"])
THREE: Patch = ("<3>", "<2>", ["d"])


class Log:
    """Feeds patches to a selection, and collects what it selects."""

    def __init__(self, *positions: Position, **settings: Any) -> None:
        self.selection = Selection(ListedTarget(positions), ReplaySettings(**settings))
        self.entries: list[Entry] = []

    def feed(self, *patches: Patch, ended: bool = True) -> Log:
        rows: list[AnyOperation] = []
        for at, (id_, prev, transactions) in enumerate(patches, 1):
            chained = (("id", id_), ("prev", prev))
            rows += [header(key, value) for key, value in chained if value is not None]
            for values in transactions:
                rows += [BEGIN, *map(add, values), COMMIT]
            if ended or at < len(patches):
                rows.append(END)
        return self.read(*rows)

    def read(self, *rows: AnyOperation) -> Log:
        self.entries += self.selection.entries(rows)
        return self

    @property
    def selected(self) -> str:
        """What the selected entries add; a dot for an entry that only moves the position."""
        return " ".join(
            "." if each.changes is None else "".join(each.changes.net) for each in self.entries
        )

    @property
    def position(self) -> Position | None:
        return self.entries[-1].reached


def position(*patches: Patch, **settings: Any) -> Position:
    found = Log().feed(*patches, **settings).position
    assert found is not None
    return found


def test_all_of_a_log() -> None:
    log = Log().feed(ONE, TWO)
    assert log.selected == "a . b c ."
    assert log.position == Position(log="<1>", patch="<2>", transactions=2, complete=True)
    assert [each.begins for each in log.entries] == [True, False, True, False, False]


def test_the_rest_of_a_patch() -> None:
    at = position(ONE, ("<2>", "<1>", ["b"]), ended=False)
    assert (at.transactions, at.complete) == (1, False)
    log = Log(at).feed(ONE, TWO)
    assert log.selected == "c ."
    assert Log(position(ONE, TWO, ended=False)).feed(ONE, TWO).selected == "."
    # It may grow, even after its end.
    assert Log(position((*TWO[:1], None, ["b"]))).feed(("<2>", None, ["b", "c"])).selected == "c ."


def test_the_next_file_of_a_log() -> None:
    assert Log(position(ONE, TWO)).feed(THREE).selected == "d ."
    assert Log(position(ONE, TWO)).feed(TWO, THREE).selected == "d ."
    with pytest.raises(ChainError, match="only the first 2 transactions"):
        Log(position(ONE, TWO, ended=False)).feed(THREE)


def test_patches_without_ids() -> None:
    plain: list[Patch] = [(None, None, ["a"]), (None, None, []), (None, None, ["b", "c"])]
    log = Log(name="log").feed(*plain)
    assert log.selected == "a . b c ."
    assert log.position == Position(log="log", patch="3", transactions=2, complete=True)
    assert Log(log.position, name="log").feed(*plain, (None, None, ["d"])).selected == "d ."
    # Without a name there is no position.
    log = Log(log.position).feed(*plain)
    assert (log.selected, log.position) == ("a . b c .", None)
    assert log.selection.advice
    # Those after an id count as its transactions.
    log = Log().feed(ONE, *plain)
    assert log.position == Position(log="<1>", patch="<1>", transactions=4, complete=True)
    assert Log(log.position).feed(ONE, *plain, TWO).selected == "b c ."


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([ONE, THREE], "it follows patch <2>, but the patch before it is <1>"),
        ([ONE, (None, "<7>", []), TWO], "it follows patch <7>"),
        ([THREE], "it follows patch <2>, but nothing was applied before"),
        ([ONE, TWO, ONE], "an earlier patch of the log has the same id"),
        ([ONE, (None, None, ["b"]), ONE], "an earlier patch of the log has the same id"),
    ],
)
def test_patches_that_do_not_follow(patches: list[Patch], message: str) -> None:
    with pytest.raises(ChainError, match=message):
        Log().feed(*patches)


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([ONE], "the store is at patch <2>, which the log does not have"),
        ([ONE, ("<7>", "<1>", ["x"])], "the store is at patch <2>"),
        ([("<8>", "<7>", ["x"])], "the log follows patch <7>, but the store is at patch <2>"),
    ],
)
def test_another_log_than_was_applied(patches: list[Patch], message: str) -> None:
    log = Log(position(ONE, TWO)).feed(*patches)
    assert log.selected == ""
    with pytest.raises(ChainError, match=message):
        log.selection.check_found()


def test_an_edited_log_gets_what_the_ids_say() -> None:
    edited: Patch = ("<2>", "<1>", ["x"])
    assert Log(position(ONE, TWO)).feed(ONE, edited, THREE).selected == "d ."
    log = Log(position(ONE, TWO)).feed(ONE, edited)
    log.selection.check_found()
    assert (log.selected, log.selection.position) == ("", position(ONE, TWO))


def test_until() -> None:
    log = Log(until="1").feed(ONE)
    assert log.selection.is_complete
    with pytest.raises(ChainError, match="at patch <2> already, after patch <1>"):
        Log(position(ONE, TWO), until="1").feed(ONE, TWO)


A, B = add("a"), add("b")
ID, PREV = header("id", "<urn:2>"), header("prev", "<urn:1>")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], ""),
        ([END], ""),
        ([ID, END], "."),
        ([ID, BEGIN, COMMIT, END], " ."),
        ([BEGIN, A, COMMIT, BEGIN, B, COMMIT, END], "a b ."),
        ([A, B, END], "ab ."),
        ([A, BEGIN, B, COMMIT, A, END], "a b a ."),
        ([A, BEGIN, B, ABORT, END], "a ."),
        ([BEGIN, A, ID, B, COMMIT, END], "ab ."),
        ([A, END, ID, B, END], "a . b ."),
        ([A, ID, B, END], "ab ."),
        # Without an id, a patch starts with its first change.
        ([BEGIN, COMMIT, END], ""),
        ([BEGIN, A, ABORT, END], ""),
        ([BEGIN, COMMIT, BEGIN, A, COMMIT, END], "a ."),
        # The rows end inside a patch.
        ([BEGIN, A, COMMIT], "a"),
        ([BEGIN, A, COMMIT, BEGIN, B], "a"),
        ([A], ""),
    ],
)
def test_transactions(rows: list[AnyOperation], expected: str) -> None:
    assert Log().read(*rows).selected == expected


@pytest.mark.parametrize(("known", "left"), [(1, "b ab b ."), (2, "ab b ."), (3, "b .")])
def test_operations_outside_of_transactions_count_one_by_one(known: int, left: str) -> None:
    rows = [ID, A, B, BEGIN, A, B, COMMIT, B, END]
    at = Position(log="<urn:2>", patch="<urn:2>", transactions=known, complete=False)
    assert Log(at).read(*rows).selected == left
    assert Log().read(*rows).position == Position(
        log="<urn:2>", patch="<urn:2>", transactions=4, complete=True
    )


def test_headers() -> None:
    rows = [ID, PREV, header("note", "x"), header("id", "<urn:3>"), BEGIN, A, COMMIT]
    log = Log(position(("<urn:1>", None, ["x"]))).read(*rows)
    assert (log.selected, log.selection.reading) == ("a", "<urn:2>")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([COMMIT], "COMMIT outside a transaction"),
        ([ABORT], "ABORT outside a transaction"),
        ([BEGIN, BEGIN], "BEGIN inside a transaction"),
        ([BEGIN, END], "END inside a transaction"),
        ([BEGIN, COMMIT, ID], "'id' comes after a transaction"),
        ([A, BEGIN, COMMIT, PREV], "'prev' comes after a transaction"),
    ],
)
def test_rows_out_of_order(rows: list[AnyOperation], message: str) -> None:
    with pytest.raises(OrderError, match=message):
        Log().read(*rows)
