"""What patches of a log do in the end, without the transactions that were aborted, and whether each
follows the one before it.

Patches of a log are counted from 1, wherever they are counted. One without an id that changes
nothing (a keepalive) is counted, and none follows it: the next one follows the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ...codec.patch.operations import Operation, OperationKind
from ...codec.text.ntriples import term_text
from ...errors import ChainError, OrderError
from ..model import Patch
from ..text.order import PatchOrder

_BOUNDS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)


def parts_of(operations: Iterable[Operation]) -> Iterator[tuple[bool, list[Operation]]]:
    """The operations of a patch, those of each transaction and those between two together.

    :return: whether they were in a transaction, and the operations, without the rows that start and
        end it. Nothing comes of a transaction that was aborted.
    :raises OrderError: transactions are not in order.
    """
    order = PatchOrder()
    part: list[Operation] = []
    for operation in operations:
        kind = operation.kind
        inside = order.inside_transaction
        order.take(kind)
        if kind not in _BOUNDS:
            part.append(operation)
            continue
        if part and kind is not OperationKind.ABORT:
            yield inside, part
        part = []
    if order.inside_transaction:
        raise OrderError("a patch ends inside a transaction")
    if part:
        yield False, part


def committed(operations: Iterable[Operation]) -> Iterator[Operation]:
    """The operations of a patch that have an effect.

    :raises OrderError: transactions are not in order.
    """
    for _, part in parts_of(operations):
        yield from part


def check_follows(number: int, patch: Patch, last: Any, *, first: bool) -> None:
    """Reject a patch that does not follow the previous one.

    :param number: of the patch in its log.
    :param last: id of the patch before, None without one.
    :param first: whether there is none before; then it may follow anything.
    :raises ChainError: it does.
    """
    if first or patch.prev is None or patch.prev == last:
        return
    name = f"number {number}" if patch.id is None else term_text(patch.id)
    found = term_text(patch.prev)
    expected = None if last is None else term_text(last)
    before = "has no id" if expected is None else f"is {expected}"
    raise ChainError(
        f"patch {name}: it follows patch {found}, but the one before it {before}",
        expected=expected,
        found=found,
    )
