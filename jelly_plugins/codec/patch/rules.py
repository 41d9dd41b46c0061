"""What may follow what in a Jelly-Patch stream, stated once: rows, frames, patches, transactions.

Rules of this file:
1. It is tables. Decoder, encoder and the compiled kernel consult them and hold no copy.
2. A pair that a table does not list is an error; the reason is next to the table.
3. Numbers are those of patch.proto, except the two ends, which are not rows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..common.terms import Kind
from .operations import OperationKind
from .options import PatchStreamType


class PatchRow(IntEnum):
    """Fields of RdfPatchRow, exactly one of them is set in a row; and what ends rows."""

    OPTIONS = 1
    STATEMENT_ADD = 2
    STATEMENT_DELETE = 3
    NAMESPACE_ADD = 4
    NAMESPACE_DELETE = 5
    TRANSACTION_START = 6
    TRANSACTION_COMMIT = 7
    TRANSACTION_ABORT = 8
    NAME = 11
    PREFIX = 12
    DATATYPE = 13
    HEADER = 14
    PUNCTUATION = 15
    #: The frame ends. No row.
    END_OF_FRAME = 100
    #: The stream ends, after a frame. No row.
    END_OF_STREAM = 101


class PatchState(IntEnum):
    """The state of a stream between two rows."""

    START = 0
    FRAME = 1
    FRAME_TRANSACTION = 2
    FLAT = 3
    FLAT_TRANSACTION = 4
    #: There is nothing after the last mark.
    BETWEEN_MARKS = 5
    #: A whole transaction is last.
    PUNCTUATED = 6
    PUNCTUATED_TRANSACTION = 7
    #: The one patch of a flat stream is over.
    OVER = 8
    #: The last rows require more: headers, or lookup entries.
    PUNCTUATED_OPENING = 9
    #: Operations outside of any transaction are last.
    PUNCTUATED_LOOSE = 10


#: The state after the options row, by stream type.
FIRST_STATE: Final = {
    PatchStreamType.FRAME: PatchState.FRAME,
    PatchStreamType.FLAT: PatchState.FLAT,
    PatchStreamType.PUNCTUATED: PatchState.BETWEEN_MARKS,
}

#: Rows of a patch that may occur inside transactions and outside.
_ANYWHERE: Final = (
    PatchRow.STATEMENT_ADD,
    PatchRow.STATEMENT_DELETE,
    PatchRow.NAMESPACE_ADD,
    PatchRow.NAMESPACE_DELETE,
    PatchRow.NAME,
    PatchRow.PREFIX,
    PatchRow.DATATYPE,
    PatchRow.HEADER,
)
#: Those of them that another row is to follow in the same patch.
_PROMISES: Final = (PatchRow.NAME, PatchRow.PREFIX, PatchRow.DATATYPE, PatchRow.HEADER)


def _outside(patch: PatchState, transaction: PatchState) -> dict[PatchRow, PatchState]:
    return {**dict.fromkeys(_ANYWHERE, patch), PatchRow.TRANSACTION_START: transaction}


def _inside(patch: PatchState, transaction: PatchState) -> dict[PatchRow, PatchState]:
    return {
        **dict.fromkeys((*_ANYWHERE, PatchRow.OPTIONS), transaction),
        PatchRow.TRANSACTION_COMMIT: patch,
        PatchRow.TRANSACTION_ABORT: patch,
    }


_OUTSIDE_PUNCTUATED: Final = {
    **_outside(PatchState.PUNCTUATED_LOOSE, PatchState.PUNCTUATED_TRANSACTION),
    **dict.fromkeys(_PROMISES, PatchState.PUNCTUATED_OPENING),
}

#: The state after a row or an end, by the state before. In START only options are allowed, after
#: frames without rows; FIRST_STATE has the next state.
NEXT: Final[dict[PatchState, dict[PatchRow, PatchState]]] = {
    PatchState.START: {
        PatchRow.OPTIONS: PatchState.START,
        PatchRow.END_OF_FRAME: PatchState.START,
    },
    PatchState.FRAME: {
        **_outside(PatchState.FRAME, PatchState.FRAME_TRANSACTION),
        PatchRow.OPTIONS: PatchState.FRAME,
        PatchRow.END_OF_FRAME: PatchState.FRAME,
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.FRAME_TRANSACTION: _inside(PatchState.FRAME, PatchState.FRAME_TRANSACTION),
    PatchState.FLAT: {
        **_outside(PatchState.FLAT, PatchState.FLAT_TRANSACTION),
        PatchRow.OPTIONS: PatchState.FLAT,
        PatchRow.END_OF_FRAME: PatchState.FLAT,
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.FLAT_TRANSACTION: {
        **_inside(PatchState.FLAT, PatchState.FLAT_TRANSACTION),
        PatchRow.END_OF_FRAME: PatchState.FLAT_TRANSACTION,
    },
    PatchState.BETWEEN_MARKS: {
        **_OUTSIDE_PUNCTUATED,
        PatchRow.OPTIONS: PatchState.BETWEEN_MARKS,
        PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_FRAME: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.PUNCTUATED: {
        **_OUTSIDE_PUNCTUATED,
        PatchRow.OPTIONS: PatchState.PUNCTUATED,
        PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_FRAME: PatchState.PUNCTUATED,
    },
    PatchState.PUNCTUATED_LOOSE: {
        **_OUTSIDE_PUNCTUATED,
        PatchRow.OPTIONS: PatchState.PUNCTUATED_LOOSE,
        PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_FRAME: PatchState.PUNCTUATED_LOOSE,
    },
    PatchState.PUNCTUATED_OPENING: {
        **_OUTSIDE_PUNCTUATED,
        PatchRow.OPTIONS: PatchState.PUNCTUATED_OPENING,
        PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_FRAME: PatchState.PUNCTUATED_OPENING,
    },
    PatchState.PUNCTUATED_TRANSACTION: {
        **_inside(PatchState.PUNCTUATED, PatchState.PUNCTUATED_TRANSACTION),
        PatchRow.END_OF_FRAME: PatchState.PUNCTUATED_TRANSACTION,
    },
    PatchState.OVER: {},
}

#: States that NEXT does not let a stream end in, but where its end can only mean that of its patch:
#: Jelly-JVM's writer leaves the last mark out.
UNMARKED_ENDS: Final = frozenset({PatchState.PUNCTUATED, PatchState.PUNCTUATED_LOOSE})

#: What to call a state in an error.
WHERE: Final = {
    PatchState.START: "before the stream options",
    PatchState.FRAME: "outside a transaction in a stream of type FRAME",
    PatchState.FRAME_TRANSACTION: "inside a transaction in a stream of type FRAME",
    PatchState.FLAT: "outside a transaction in a stream of type FLAT",
    PatchState.FLAT_TRANSACTION: "inside a transaction in a stream of type FLAT",
    PatchState.BETWEEN_MARKS: "outside a transaction in a stream of type PUNCTUATED",
    PatchState.PUNCTUATED: "outside a transaction, before a mark, in a stream of type PUNCTUATED",
    PatchState.PUNCTUATED_TRANSACTION: "inside a transaction in a stream of type PUNCTUATED",
    PatchState.PUNCTUATED_OPENING: "before what headers or lookup entries are for, and before a "
    "mark, in a stream of type PUNCTUATED",
    PatchState.PUNCTUATED_LOOSE: "outside a transaction, before a mark, in a stream of type "
    "PUNCTUATED",
    PatchState.OVER: "after the one patch of a stream of type FLAT",
}

#: What ends a patch, by stream type.
PATCH_ENDS: Final = {
    PatchStreamType.FRAME: PatchRow.END_OF_FRAME,
    PatchStreamType.FLAT: PatchRow.END_OF_STREAM,
    PatchStreamType.PUNCTUATED: PatchRow.PUNCTUATION,
}

#: The row of an operation. END has one only in a stream of type PUNCTUATED: see PATCH_ENDS.
ROW_OF: Final = {
    OperationKind.ADD: PatchRow.STATEMENT_ADD,
    OperationKind.DELETE: PatchRow.STATEMENT_DELETE,
    OperationKind.ADD_NAMESPACE: PatchRow.NAMESPACE_ADD,
    OperationKind.DELETE_NAMESPACE: PatchRow.NAMESPACE_DELETE,
    OperationKind.BEGIN: PatchRow.TRANSACTION_START,
    OperationKind.COMMIT: PatchRow.TRANSACTION_COMMIT,
    OperationKind.ABORT: PatchRow.TRANSACTION_ABORT,
    OperationKind.HEADER: PatchRow.HEADER,
}

#: Fields of RdfPatchNamespace that name its graph.
NAMESPACE_GRAPH_FIELDS: Final[dict[int, Kind]] = {
    3: Kind.IRI,
    4: Kind.BLANK_NODE,
    5: Kind.DEFAULT_GRAPH,
    6: Kind.LITERAL,
}

#: Fields of RdfPatchHeader that hold its value.
HEADER_VALUE_FIELDS: Final[dict[int, Kind]] = {
    2: Kind.IRI,
    3: Kind.BLANK_NODE,
    4: Kind.LITERAL,
    5: Kind.TRIPLE,
}
