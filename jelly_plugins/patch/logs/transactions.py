"""What a patch does in the end: its operations without the transactions that were aborted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from ...codec.patch.operations import Operation, OperationKind
from ...codec.patch.rules import NEXT, ROW_OF, PatchState
from ...errors import OrderError
from ..text.order import misplaced

_BOUNDS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)


def parts_of(operations: Iterable[Operation]) -> Iterator[tuple[bool, list[Operation]]]:
    """The operations of a patch, those of each transaction and those between two together.

    :return: whether they were in a transaction, and the operations, without the rows that start and
        end it. Nothing comes of a transaction that was aborted.
    :raises OrderError: transactions are not in order.
    """
    state = PatchState.PUNCTUATED
    part: list[Operation] = []
    for operation in operations:
        kind = operation.kind
        after = NEXT[state].get(ROW_OF[kind])
        if after is None:
            raise misplaced(kind, state)
        if kind not in _BOUNDS:
            part.append(operation)
            continue
        if part and kind is not OperationKind.ABORT:
            yield state is PatchState.PUNCTUATED_TRANSACTION, part
        part = []
        state = after
    if state is PatchState.PUNCTUATED_TRANSACTION:
        raise OrderError("a patch ends inside a transaction")
    if part:
        yield False, part


def committed(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations of a patch that have an effect.

    :raises OrderError: transactions are not in order.
    """
    for _, part in parts_of(operations):
        yield from part
