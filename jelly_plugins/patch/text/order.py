"""Where patches begin and end in RDF Patch, text or binary: the one rule that readers and writers
share.

Z ends a patch. Many tools write none, and begin the next patch with its headers.
"""

from __future__ import annotations

from ...codec.patch.operations import END, Operation, OperationKind
from ...codec.patch.rules import PatchState
from ...errors import OrderError
from ..model import ID, PREV


def misplaced(kind: OperationKind, state: PatchState) -> OrderError:
    """The error for a row that is not allowed at a source's position."""
    where = "inside" if state is PatchState.PUNCTUATED_TRANSACTION else "outside"
    return OrderError(f"a row {kind.code} {where} a transaction")


class PatchOpening:
    """Detects headers that open a new patch: a patch has one ``id``, and it has ``id`` and ``prev``
    before its operations. Inside a transaction no patch begins.

    :ivar has_operations: whether the patch has rows besides headers, so far.
    """

    def __init__(self) -> None:
        self._has_id = False
        self.has_operations = False
        self._inside_transaction = False

    def row(self, kind: OperationKind) -> None:
        """Note a row that is not a header."""
        self.has_operations = kind is not OperationKind.END
        if kind is OperationKind.END:
            self._has_id = False
        elif kind is OperationKind.BEGIN:
            self._inside_transaction = True
        elif kind is OperationKind.COMMIT or kind is OperationKind.ABORT:
            self._inside_transaction = False

    def header(self, key: str) -> bool:
        """Take note of a header; return whether it opens a new patch."""
        opens = not self._inside_transaction and (
            (key == ID and self._has_id) or (key in (ID, PREV) and self.has_operations)
        )
        if opens:
            self._has_id = self.has_operations = False
        self._has_id = self._has_id or key == ID
        return opens


class OpenPatch:
    """The current patch of a reader: the common part of the readers of text and of binary rows.

    :ivar pending: bytes of a last row that was not complete, in a source that grows.
    :ivar ends_behind_headers: whether the source has ended after headers.
    """

    pending: int
    ends_behind_headers = False
    _state = PatchState.BETWEEN_MARKS
    _opening: PatchOpening

    @property
    def inside_patch(self) -> bool:
        """Whether there was something after the last END: rows, or part of one."""
        return self._state is not PatchState.BETWEEN_MARKS or self.pending > 0

    @property
    def _inside_transaction(self) -> bool:
        return self._state is PatchState.PUNCTUATED_TRANSACTION

    def _end(self) -> list[Operation]:
        """END, unless there were no rows after the last one."""
        if self._state is PatchState.BETWEEN_MARKS:
            return []
        self.ends_behind_headers = not self._opening.has_operations
        self._state = PatchState.BETWEEN_MARKS
        return [END]
