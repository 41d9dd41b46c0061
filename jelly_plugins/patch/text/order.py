"""The order of rows in RDF Patch, text or binary, and where patches begin and end; for readers and
writers.

Z ends a patch. Many tools write none, and begin the next patch with its headers.
"""

from __future__ import annotations

from ...codec.patch.operations import END, Operation, OperationKind, chain_key
from ...codec.patch.rules import NEXT, ROW_OF, PatchRow, PatchState
from ...errors import OrderError
from ..model import ID, PREV


class PatchOrder:
    """Follows rows: which may come next, and which headers open a new patch. A patch has one
    ``id``, and it has ``id`` and ``prev`` before its operations. Inside a transaction no patch
    begins.

    :ivar state: after the rows so far.
    :ivar has_operations: whether the patch has rows besides headers, so far.
    """

    def __init__(self) -> None:
        self.state = PatchState.BETWEEN_MARKS
        self.has_operations = False
        self._has_id = False

    @property
    def inside_patch(self) -> bool:
        """Whether there were rows after the last END."""
        return self.state is not PatchState.BETWEEN_MARKS

    @property
    def inside_transaction(self) -> bool:
        """Whether a transaction was begun and not ended."""
        return self.state is PatchState.PUNCTUATED_TRANSACTION

    def take(self, kind: OperationKind) -> None:
        """Take a row that is not a header.

        :raises OrderError: it is not allowed here.
        """
        after = NEXT[self.state].get(ROW_OF.get(kind, PatchRow.PUNCTUATION))
        if after is None:
            where = "inside" if self.inside_transaction else "outside"
            raise OrderError(f"a row {kind.code} {where} a transaction")
        self.state = after
        self.has_operations = kind is not OperationKind.END
        if kind is OperationKind.END:
            self._has_id = False

    def header(self, key: str) -> bool:
        """Take a header; return whether it opens a new patch, so that the one before it ends."""
        key = chain_key(key)
        opens = not self.inside_transaction and (
            (key == ID and self._has_id) or (key in (ID, PREV) and self.has_operations)
        )
        if opens:
            self._has_id = self.has_operations = False
            self.state = PatchState.BETWEEN_MARKS
        self._has_id = self._has_id or key == ID
        self.state = NEXT[self.state][PatchRow.HEADER]
        return opens

    def finish(self) -> list[Operation]:
        """End the source outside of a transaction.

        :return: END, unless there were no rows after the last one.
        """
        if not self.inside_patch:
            return []
        self.state = PatchState.BETWEEN_MARKS
        return [END]
