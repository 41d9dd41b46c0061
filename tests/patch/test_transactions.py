"""The first part of a replay: rows become transactions and ends of patches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from jelly_plugins import OrderError
from jelly_plugins.codec.patch.operations import (
    ABORT,
    BEGIN,
    COMMIT,
    END,
    AnyOperation,
    add,
    header,
)
from jelly_plugins.patch.replay.position import Replayed
from jelly_plugins.patch.replay.transactions import (
    Event,
    PatchStart,
    Transaction,
    TransactionReader,
)

from .listed import Listed, ListedTarget

A, B = add("a"), add("b")
ID, PREV = header("id", "<urn:2>"), header("prev", "<urn:1>")


def read(rows: Any, *, seeks: bool = False) -> Iterator[Event[Listed]]:
    return TransactionReader(ListedTarget(), Replayed(), lambda: seeks).read(rows)


def shown(rows: list[AnyOperation], *, seeks: bool = False) -> list[str]:
    """The operations of each transaction; ``H`` and ``Z`` for the start and end of a patch."""
    return [
        "".join(row.value for row in event.changes.rows)
        if isinstance(event, Transaction)
        else "H"
        if isinstance(event, PatchStart)
        else "Z"
        for event in read(rows, seeks=seeks)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([END], ["Z"]),
        ([ID, END], ["H", "Z"]),
        ([ID, BEGIN, COMMIT, END], ["H", "", "Z"]),
        ([BEGIN, A, COMMIT, BEGIN, B, COMMIT, END], ["H", "a", "b", "Z"]),
        ([A, B, END], ["H", "ab", "Z"]),
        ([A, BEGIN, B, COMMIT, A, END], ["H", "a", "b", "a", "Z"]),
        ([A, BEGIN, B, ABORT, END], ["H", "a", "Z"]),
        ([BEGIN, A, ID, B, COMMIT, END], ["H", "ab", "Z"]),
        ([A, END, ID, B, END], ["H", "a", "Z", "H", "b", "Z"]),
        # Without an id, a patch starts with its first change.
        ([PREV, BEGIN, COMMIT, END], ["Z"]),
        ([BEGIN, A, ABORT, END], ["Z"]),
        ([BEGIN, COMMIT, BEGIN, A, COMMIT, END], ["H", "a", "Z"]),
        # The rows end inside a patch.
        ([BEGIN, A, COMMIT], ["H", "a"]),
        ([BEGIN, A, COMMIT, BEGIN, B], ["H", "a"]),
        ([A], ["H"]),
    ],
)
def test_transactions(rows: list[AnyOperation], expected: list[str]) -> None:
    assert shown(rows) == expected


def test_operations_outside_of_transactions_one_by_one() -> None:
    rows = [A, B, BEGIN, A, B, COMMIT, B, A, END]
    assert shown(rows, seeks=True) == ["H", "a", "b", "ab", "b", "a", "Z"]
    found = [each for each in read(rows, seeks=True) if isinstance(each, Transaction)]
    assert [each.size for each in found] == [1] * 5
    assert [each.begins for each in found] == [True, False, True, True, False]
    found = [each for each in read(rows) if isinstance(each, Transaction)]
    assert [each.size for each in found] == [2, 1, 2]
    # The rest comes together.
    answers = iter((True, False))
    reader = TransactionReader(ListedTarget(), Replayed(), lambda: next(answers))
    sizes = [each.size for each in reader.read([A, B, A, END]) if isinstance(each, Transaction)]
    assert sizes == [1, 2]


def test_headers() -> None:
    rows = [ID, PREV, header("note", "x"), header("id", "<urn:3>"), BEGIN, A, COMMIT, END]
    start, _, end, *rest = read([*rows, BEGIN, COMMIT, END])
    assert start == end == ("<urn:2>", "<urn:1>")
    assert rest == [(None, None)]


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
        list(read(rows))


def test_aborted_transactions_are_counted() -> None:
    done = Replayed()
    rows = [BEGIN, A, ABORT, BEGIN, COMMIT, BEGIN, ABORT, END]
    assert len(list(TransactionReader(ListedTarget(), done).read(rows))) == 1
    assert done.aborted == 2
