"""The rows of a log as transactions and ends of patches. Stores and positions are not known here.

Rules of this file:
1. A transaction consists of the operations between TX and TC, or of operations outside of any, up
   to the next TX or the end of their patch. An aborted transaction (TA) leaves no trace.
2. A transaction is given once the row after it was read: if the log breaks off there, nothing is
   applied of a patch of one transaction, and the reader knows whether it is the last of its patch.
   Only a source that may not give more for a while does not wait for that row
   (:meth:`TransactionReader.release`).
3. The headers ``id`` and ``prev`` come before the end of a patch's first transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final, Generic, NamedTuple, TypeAlias

from ....codec.patch.operations import AnyOperation, Header, OperationKind
from ....errors import OrderError
from ....patch.model import ID, PREV
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

# Looked up for each row.
_HEADER: Final = OperationKind.HEADER
_BEGIN: Final = OperationKind.BEGIN
_COMMIT: Final = OperationKind.COMMIT
_ABORT: Final = OperationKind.ABORT
_END: Final = OperationKind.END


class PatchEnd(NamedTuple):
    """The end of a patch.

    :ivar id: the patch's first header ``id`` in the syntax of N-Triples; None without one.
    :ivar prev: likewise of ``prev``.
    :ivar marked: whether a row has ended the patch: a mark, or the next patch's headers. Otherwise
        its source has ended, and may grow.
    """

    id: str | None
    prev: str | None
    marked: bool


class Transaction(NamedTuple, Generic[C]):
    """A transaction that was not aborted.

    :ivar id: of its patch, as in :class:`PatchEnd`; likewise ``prev``.
    :ivar loose: whether only the end of the source has ended it, so that it may grow.
    :ivar rows: its operations, if they were kept.
    :ivar end: the end of the patch, if that is the next row; it is not given again.
    """

    id: str | None
    prev: str | None
    changes: C
    loose: bool
    rows: list[AnyOperation]
    end: PatchEnd | None


Event: TypeAlias = Transaction[C] | PatchEnd


class TransactionReader(Generic[C]):
    """Reads the transactions of one log.

    :param target: makes the objects that gather the changes of a transaction.
    :param keeps_rows: whether operations outside of TX and TC are needed one by one.
    :param done: counts the aborted transactions.
    :ivar id: of the patch that is being read, as in :class:`PatchEnd`.
    :ivar has_headers: whether that patch has headers.
    :ivar changes: of the transaction that is being read.
    """

    def __init__(
        self,
        target: Target[C],
        *,
        keeps_rows: Callable[[], bool],
        done: Replayed,
    ) -> None:
        self._target = target
        self._keeps_rows = keeps_rows
        self._done = done
        #: The transaction that waits for the row after it: its changes, its operations, and whether
        #: it has neither TC nor a TX after it.
        self._waiting: tuple[C, list[AnyOperation], bool] | None = None
        self.changes = target.changes()
        self._rows: list[AnyOperation] = []
        self._start_patch()

    def _start_patch(self) -> None:
        self.id: str | None = None
        self._prev: str | None = None
        self.has_headers = False
        self._has_transactions = False

    def read(
        self,
        source: Iterable[AnyOperation],
        *,
        has_ended: Callable[[], bool],
    ) -> Iterator[Event[C]]:
        """Read rows: headers, operations and ends of patches.

        :param has_ended: whether the source has ended: then no row has ended its last patch.
        :raises OrderError: a row may not follow the rows before it.
        """
        rows = iter(source)
        inside = False
        row = next(rows, None)
        while row is not None:
            kind = row.kind
            if self._waiting is not None and kind is not _END:
                yield self._given()
            if kind in CHANGES:
                again = chain((row,), rows)
                if inside or not self._keeps_rows():
                    row = self.changes.gather(again)
                else:
                    row = self._gather_and_keep(again)
                continue
            if kind is _HEADER:
                self._add_header(row.value)
                row = next(rows, None)
                continue
            if inside is not (kind is _COMMIT or kind is _ABORT):
                where = "inside" if inside else "outside"
                raise OrderError(f"{kind.name} {where} a transaction")
            if kind is _ABORT:
                self._done.aborted += 1
                self._take()
            elif kind is _COMMIT or self.changes.operations:
                self._waiting = (*self._take(), kind is _END)
                self._has_transactions = True
            if kind is _BEGIN and self._waiting is not None:
                yield self._given()
            elif kind is _END:
                end = PatchEnd(self.id, self._prev, not has_ended())
                yield end if self._waiting is None else self._given(end)
                self._start_patch()
            inside = kind is _BEGIN
            row = next(rows, None)
        yield from self.release()

    def release(self) -> Iterator[Transaction[C]]:
        """Give the transaction that waits for the row after it, if there is one."""
        if self._waiting is not None:
            yield self._given()

    def _given(self, end: PatchEnd | None = None) -> Transaction[C]:
        """The transaction that waits for the row after it, and does so no more.

        :param end: that row, if it ends the patch.
        """
        assert self._waiting is not None
        changes, rows, is_loose = self._waiting
        self._waiting = None
        loose = is_loose and end is not None and not end.marked
        return Transaction(self.id, self._prev, changes, loose, rows, end)

    def _take(self) -> tuple[C, list[AnyOperation]]:
        """The changes and rows of the transaction that was read; begin the next."""
        taken = self.changes, self._rows
        self.changes, self._rows = self._target.changes(), []
        return taken

    def _gather_and_keep(self, rows: Iterator[AnyOperation]) -> AnyOperation | None:
        """Gather changes and keep their rows; return the first row that is none."""
        found = None
        kept = []
        for row in rows:
            if row.kind not in CHANGES:
                found = row
                break
            kept.append(row)
        self.changes.gather(iter(kept))
        self._rows += kept
        return found

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
