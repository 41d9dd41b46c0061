"""Where patches begin and end in RDF Patch text: the one rule that reader and writer share.

Z ends a patch. Many tools write none, and begin the next patch with its headers.
"""

from __future__ import annotations

from ...codec.patch.operations import OperationKind
from ..model import ID, PREV


class PatchOpening:
    """Tells which headers open a new patch: a patch has one ``id``, and it has ``id`` and ``prev``
    before its operations. Inside a transaction no patch begins.

    :ivar has_operations: whether the patch has rows besides headers, so far.
    """

    def __init__(self) -> None:
        self._has_id = False
        self.has_operations = False
        self._inside_transaction = False

    def row(self, kind: OperationKind) -> None:
        """Take note of a row that is no header."""
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
