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
from jelly_plugins.patch.replay.transactions import PatchEnd, Transaction, TransactionReader

from .listed import Listed, ListedTarget

A, B = add("a"), add("b")
ID, PREV = header("id", "<urn:2>"), header("prev", "<urn:1>")


def read(rows: Any, *, seeks: bool = False) -> Iterator[Transaction[Listed] | PatchEnd]:
    reader = TransactionReader(ListedTarget(), Replayed(), lambda _id, _prev: seeks)
    return reader.read(rows)


def shown(rows: list[AnyOperation], *, seeks: bool = False) -> list[str]:
    """The operations of each transaction; and ``Z`` for the end of a patch."""
    return [
        "Z" if isinstance(event, PatchEnd) else "".join(row.value for row in event.changes.rows)
        for event in read(rows, seeks=seeks)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([END], ["Z"]),
        ([BEGIN, COMMIT, END], ["", "Z"]),
        ([BEGIN, A, COMMIT, BEGIN, B, COMMIT, END], ["a", "b", "Z"]),
        ([A, B, END], ["ab", "Z"]),
        ([A, BEGIN, B, COMMIT, A, END], ["a", "b", "a", "Z"]),
        ([BEGIN, A, ABORT, END], ["Z"]),
        ([A, BEGIN, B, ABORT, END], ["a", "Z"]),
        ([BEGIN, A, ID, B, COMMIT, END], ["ab", "Z"]),
        ([A, END, ID, B, END], ["a", "Z", "b", "Z"]),
        # The rows end inside a patch.
        ([BEGIN, A, COMMIT], ["a"]),
        ([BEGIN, A, COMMIT, BEGIN, B], ["a"]),
        ([A], []),
    ],
)
def test_transactions(rows: list[AnyOperation], expected: list[str]) -> None:
    assert shown(rows) == expected


def test_operations_outside_of_transactions_one_by_one() -> None:
    rows = [A, B, BEGIN, A, B, COMMIT, B, A, END]
    assert shown(rows, seeks=True) == ["a", "b", "ab", "b", "a", "Z"]
    found = [each for each in read(rows, seeks=True) if isinstance(each, Transaction)]
    assert [each.size for each in found] == [1] * 5
    assert [each.begins for each in found] == [True, False, True, True, False]
    found = [each for each in read(rows) if isinstance(each, Transaction)]
    assert [each.size for each in found] == [2, 1, 2]
    # The rest comes together.
    answers = iter((True, False))
    reader = TransactionReader(ListedTarget(), Replayed(), lambda _id, _prev: next(answers))
    sizes = [each.size for each in reader.read([A, B, A, END]) if isinstance(each, Transaction)]
    assert sizes == [1, 2]


def test_headers() -> None:
    rows = [ID, PREV, header("note", "x"), header("id", "<urn:3>"), BEGIN, A, COMMIT, END]
    transaction, end, *rest = read([*rows, BEGIN, COMMIT, END])
    assert (transaction.id, transaction.prev) == ("<urn:2>", "<urn:1>")
    assert end == ("<urn:2>", "<urn:1>")
    assert {(each.id, each.prev) for each in rest} == {(None, None)}


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
    assert len(list(TransactionReader(ListedTarget(), done).read(rows))) == 2
    assert done.aborted == 2
