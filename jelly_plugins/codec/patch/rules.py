"""The order of rows, frames, patches and transactions in a Jelly-Patch stream, defined once.

Rules of this file:
1. The file consists of tables. Decoder, encoder and the compiled kernel use these and define no
   others.
2. A pair that is not in a table is an error; a comment next to the table gives the reason.
3. The numbers are those of patch.proto, except for the two ends, which are not rows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..common.terms import Kind
from .operations import OperationKind
from .options import PatchStreamType


class PatchRow(IntEnum):
    """Fields of RdfPatchRow, exactly one of which is set in a row, and the ends of frames and
    streams.
    """

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
    #: The end of a frame, which is not a row.
    END_OF_FRAME = 100
    #: The end of the stream, after a frame; it is not a row.
    END_OF_STREAM = 101


class PatchState(IntEnum):
    """The state of a stream between two rows."""

    START = 0
    FRAME = 1
    FRAME_TRANSACTION = 2
    FLAT = 3
    FLAT_TRANSACTION = 4
    #: After punctuation, or at the start.
    BETWEEN_MARKS = 5
    #: After a complete transaction.
    PUNCTUATED = 6
    PUNCTUATED_TRANSACTION = 7
    #: After the only patch of a flat stream.
    OVER = 8
    #: After rows that require further rows: headers or lookup entries.
    PUNCTUATED_OPENING = 9
    #: After operations outside any transaction.
    PUNCTUATED_LOOSE = 10


#: The state after the options row, by stream type.
FIRST_STATE: Final = {
    PatchStreamType.FRAME: PatchState.FRAME,
    PatchStreamType.FLAT: PatchState.FLAT,
    PatchStreamType.PUNCTUATED: PatchState.BETWEEN_MARKS,
}

#: Rows of a patch that may occur inside and outside transactions.
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
#: Those of them that another row of the same patch must follow.
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

#: The state after a row or an end, by the state before it. In START only options are allowed, after
#: frames without rows; FIRST_STATE gives the state after them.
NEXT: Final[dict[PatchState, dict[PatchRow, PatchState]]] = {
    PatchState.START: dict.fromkeys((PatchRow.OPTIONS, PatchRow.END_OF_FRAME), PatchState.START),
    PatchState.FRAME: {
        **_outside(PatchState.FRAME, PatchState.FRAME_TRANSACTION),
        **dict.fromkeys((PatchRow.OPTIONS, PatchRow.END_OF_FRAME), PatchState.FRAME),
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.FRAME_TRANSACTION: _inside(PatchState.FRAME, PatchState.FRAME_TRANSACTION),
    PatchState.FLAT: {
        **_outside(PatchState.FLAT, PatchState.FLAT_TRANSACTION),
        **dict.fromkeys((PatchRow.OPTIONS, PatchRow.END_OF_FRAME), PatchState.FLAT),
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.FLAT_TRANSACTION: {
        **_inside(PatchState.FLAT, PatchState.FLAT_TRANSACTION),
        PatchRow.END_OF_FRAME: PatchState.FLAT_TRANSACTION,
    },
    **{
        state: {
            **_OUTSIDE_PUNCTUATED,
            **dict.fromkeys((PatchRow.OPTIONS, PatchRow.END_OF_FRAME), state),
            PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        }
        for state in (
            PatchState.PUNCTUATED,
            PatchState.PUNCTUATED_LOOSE,
            PatchState.PUNCTUATED_OPENING,
        )
    },
    PatchState.BETWEEN_MARKS: {
        **_OUTSIDE_PUNCTUATED,
        **dict.fromkeys((PatchRow.OPTIONS, PatchRow.END_OF_FRAME), PatchState.BETWEEN_MARKS),
        PatchRow.PUNCTUATION: PatchState.BETWEEN_MARKS,
        PatchRow.END_OF_STREAM: PatchState.OVER,
    },
    PatchState.PUNCTUATED_TRANSACTION: {
        **_inside(PatchState.PUNCTUATED, PatchState.PUNCTUATED_TRANSACTION),
        PatchRow.END_OF_FRAME: PatchState.PUNCTUATED_TRANSACTION,
    },
    PatchState.OVER: {},
}

#: States in which NEXT does not allow a stream to end, although its end is unambiguous as the end
#: of the patch: Jelly-JVM's writer omits the last punctuation.
UNMARKED_ENDS: Final = frozenset({PatchState.PUNCTUATED, PatchState.PUNCTUATED_LOOSE})

#: Descriptions of the states for errors.
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
    PatchState.OVER: "after the one patch of a stream of type FLAT (one of type PUNCTUATED "
    "holds several)",
}

#: The row or event that ends a patch, by stream type.
PATCH_ENDS: Final = {
    PatchStreamType.FRAME: PatchRow.END_OF_FRAME,
    PatchStreamType.FLAT: PatchRow.END_OF_STREAM,
    PatchStreamType.PUNCTUATED: PatchRow.PUNCTUATION,
}

#: The row of an operation. END is a row only in a stream of type PUNCTUATED: see PATCH_ENDS.
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
