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


def transactions(*, keeps_rows: bool = False) -> TransactionReader[Listed]:
    return TransactionReader(ListedTarget(), keeps_rows=lambda: keeps_rows, done=Replayed())


def read(
    rows: Any, reader: TransactionReader[Listed] | None = None, *, has_ended: bool = False
) -> Iterator[Transaction[Listed] | PatchEnd]:
    return (reader or transactions()).read(rows, has_ended=lambda: has_ended)


def shown(rows: list[AnyOperation], *, has_ended: bool = False) -> list[str]:
    """The operations of each transaction, with ``.`` if its patch ends there and ``~`` if it may
    grow; and ``Z`` for the end of a patch that is not that of a transaction."""
    return [
        "Z"
        if isinstance(event, PatchEnd)
        else "".join(row.value for row in event.changes.rows)
        + "." * (event.end is not None)
        + "~" * event.loose
        for event in read(rows, has_ended=has_ended)
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([END], ["Z"]),
        ([BEGIN, COMMIT, END], ["."]),
        ([BEGIN, A, COMMIT, BEGIN, B, COMMIT, END], ["a", "b."]),
        ([A, B, END], ["ab."]),
        ([A, BEGIN, B, COMMIT, A, END], ["a", "b", "a."]),
        ([BEGIN, A, ABORT, END], ["Z"]),
        ([A, BEGIN, B, ABORT, END], ["a", "Z"]),
        ([BEGIN, A, COMMIT, BEGIN, B, ABORT, END], ["a", "Z"]),
        ([BEGIN, A, ID, B, COMMIT, END], ["ab."]),
        ([A, END, ID, B, END], ["a.", "b."]),
        # The rows end inside a patch.
        ([BEGIN, A, COMMIT], ["a"]),
        ([BEGIN, A, COMMIT, BEGIN, B], ["a"]),
        ([A], []),
    ],
)
def test_transactions(rows: list[AnyOperation], expected: list[str]) -> None:
    assert shown(rows) == expected


def test_only_operations_that_no_row_has_ended_may_grow() -> None:
    assert shown([BEGIN, A, COMMIT, B, END], has_ended=True) == ["a", "b.~"]
    assert shown([B, BEGIN, A, COMMIT, END], has_ended=True) == ["b", "a."]


def test_headers() -> None:
    first, second, third = read(
        [header("note", "x"), PREV, ID, header("id", "y"), A, END, PREV, END, B, END]
    )
    assert isinstance(first, Transaction)
    assert (first.id, first.prev) == ("<urn:2>", "<urn:1>")
    assert first.end == PatchEnd("<urn:2>", "<urn:1>", marked=True)
    assert second == PatchEnd(None, "<urn:1>", marked=True)
    assert (third.id, third.prev) == (None, None)


@pytest.mark.parametrize("following", [BEGIN, A, header("note", "x"), END])
def test_a_transaction_is_given_once_the_row_after_it_was_read(following: AnyOperation) -> None:
    taken: list[AnyOperation] = []

    def rows() -> Iterator[AnyOperation]:
        for row in (BEGIN, A, COMMIT, following, END):
            taken.append(row)
            yield row

    next(read(rows()))
    assert taken == [BEGIN, A, COMMIT, following]


def test_release_does_not_wait_for_the_row_after_it() -> None:
    reader = transactions()
    released: list[Any] = []

    def rows() -> Iterator[AnyOperation]:
        yield from (BEGIN, A, COMMIT)
        released.extend(reader.release())
        yield END

    assert list(read(rows(), reader)) == [PatchEnd(None, None, marked=True)]
    [transaction] = released
    assert (transaction.changes.rows, transaction.end) == ([A], None)
    assert not list(reader.release())


@pytest.mark.parametrize("rows", [[A, B], [BEGIN, A, COMMIT, BEGIN, A, B]])
def test_unfinished(rows: list[AnyOperation]) -> None:
    reader = transactions()
    list(read(rows, reader))
    assert reader.changes.operations == 2


def test_rows_are_kept_outside_of_tx_and_tc() -> None:
    for keeps_rows in (False, True):
        reader = transactions(keeps_rows=keeps_rows)
        first, second = read([A, header("note", "x"), B, BEGIN, A, COMMIT, END], reader)
        assert isinstance(first, Transaction)
        assert isinstance(second, Transaction)
        assert first.changes.rows == [A, B]
        assert (first.rows, second.rows) == ([A, B] if keeps_rows else [], [])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([COMMIT], "COMMIT outside a transaction"),
        ([ABORT], "ABORT outside a transaction"),
        ([BEGIN, BEGIN], "BEGIN inside a transaction"),
        ([BEGIN, A, END], "END inside a transaction"),
        ([BEGIN, COMMIT, ID], "the header 'id' comes after a transaction"),
        ([A, BEGIN, PREV, COMMIT], "the header 'prev' comes after a transaction"),
    ],
)
def test_rows_out_of_order(rows: list[AnyOperation], message: str) -> None:
    with pytest.raises(OrderError, match=message):
        list(read(rows))


def test_aborted_transactions_are_counted() -> None:
    done = Replayed()
    reader = TransactionReader(ListedTarget(), keeps_rows=lambda: False, done=done)
    list(read([BEGIN, A, ABORT, BEGIN, ABORT, END], reader))
    assert done.aborted == 2
