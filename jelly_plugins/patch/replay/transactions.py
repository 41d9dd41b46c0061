"""The rows of a log as transactions, and where patches begin and end. Stores and positions are not
known here.

A transaction consists of the operations between TX and TC, or of operations outside of any, up to
the next TX or the end of their patch. An aborted transaction (TA) leaves no trace.

The source may end after operations outside of TX and TC, and have more of them later. So these are
counted one by one, and come one by one as long as it is not known which of them the store has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeAlias

from ...codec.patch.operations import AnyOperation, Header, OperationKind
from ...errors import OrderError
from ..model import ID, PREV
from .position import Replayed
from .target import C, Target

#: Kinds of operations that change something.
CHANGES: Final = frozenset(
    (
        OperationKind.ADD,
        OperationKind.DELETE,
        OperationKind.ADD_NAMESPACE,
        OperationKind.DELETE_NAMESPACE,
    )
)


class PatchStart(NamedTuple):
    """The start of a patch that has an ``id`` or a change.

    :ivar id: the first header ``id``, in the syntax of N-Triples; None without one.
    :ivar prev: likewise of ``prev``.
    """

    id: str | None
    prev: str | None


class Transaction(NamedTuple, Generic[C]):
    """A transaction that was not aborted, of a patch that has started.

    :ivar size: what it counts in a position: 1, or the number of its operations outside of TX and
        TC.
    :ivar begins: whether it is not the rest of operations that have come one by one.
    """

    changes: C
    size: int
    begins: bool


class PatchEnd(NamedTuple):
    """The end of a patch, which may not have started; see :class:`PatchStart`."""

    id: str | None
    prev: str | None


Event: TypeAlias = PatchStart | Transaction[C] | PatchEnd


class TransactionReader(Generic[C]):
    """Reads the transactions of one log.

    :param target: makes the objects that gather the changes of a transaction.
    :param done: counts the aborted transactions.
    :param seeks: returns whether operations outside of TX and TC are to come one by one. It is
        called once their patch has started.
    :ivar id: of the patch that is being read.
    :ivar has_headers: whether that patch has headers.
    """

    def __init__(
        self, target: Target[C], done: Replayed, seeks: Callable[[], bool] = lambda: False
    ) -> None:
        self._target = target
        self._done = done
        self._seeks = seeks
        self._begin()

    def _begin(self) -> None:
        self.id: str | None = None
        self._prev: str | None = None
        self.has_headers = False
        self._has_transactions = False
        self._has_started = False

    def read(self, source: Iterable[AnyOperation]) -> Iterator[Event[C]]:
        """Read rows: headers, operations and ends of patches.

        :raises OrderError: a row may not follow the rows before it.
        """
        rows = iter(source)
        changes = self._target.changes()
        inside = False
        begins = True
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if kind in CHANGES:
                if not inside:
                    yield from self._start()
                if not inside and self._seeks():
                    self._has_transactions = True
                    changes.gather(iter((row,)))
                    yield Transaction(changes, 1, begins)
                    begins = False
                    changes = self._target.changes()
                    row = next(rows, None)
                else:
                    row = changes.gather(chain((row,), rows))
                continue
            if kind is OperationKind.HEADER:
                self._add_header(row.value)
                row = next(rows, None)
                continue
            if inside is not (kind in (OperationKind.COMMIT, OperationKind.ABORT)):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            if kind is OperationKind.ABORT:
                self._done.aborted += 1
                changes = self._target.changes()
            elif kind is OperationKind.COMMIT or changes.operations:
                self._has_transactions = True
                # Without changes, a patch without an id is not one that others follow.
                if self.id is not None or changes.operations:
                    yield from self._start()
                if self._has_started:
                    yield Transaction(changes, 1 if inside else changes.operations, begins)
                changes = self._target.changes()
            begins = True
            if kind is OperationKind.END:
                if self.id is not None:
                    yield from self._start()
                yield PatchEnd(self.id, self._prev)
                self._begin()
            inside = kind is OperationKind.BEGIN
            row = next(rows, None)

    def _start(self) -> Iterator[PatchStart]:
        if not self._has_started:
            self._has_started = True
            yield PatchStart(self.id, self._prev)

    def _add_header(self, header: Header) -> None:
        self.has_headers = True
        key = header.chain_key
        if key not in (ID, PREV):
            return
        if self._has_transactions:
            raise OrderError(f"the header {header.key!r} comes after a transaction of its patch")
        value = self._target.text(header.value)
        if key == PREV:
            self._prev = self._prev or value
        else:
            self.id = self.id or value
