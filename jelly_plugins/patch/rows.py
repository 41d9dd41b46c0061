"""Rows of RDF Patch, text or binary: their order, where patches begin and end, and what their
readers and writers have in common.

Z ends a patch. Many tools write none, and begin the next patch with its headers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Final

from ..codec import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_FRAME_ROWS,
    DEFAULT_LIMITS,
    Describe,
    Kind,
    Limits,
    PatchStatementType,
    TermFactory,
    describe,
)
from ..codec.common import positions
from ..codec.common.options import member
from ..codec.common.terms import WithGeneric
from ..codec.patch.operations import (
    BEGIN,
    COMMIT,
    END,
    AnyOperation,
    Operation,
    OperationKind,
    chain_key,
    header,
)
from ..codec.patch.rules import NEXT, ROW_OF, PatchRow, PatchState
from ..codec.text.ntriples import Dialect, LineParser, Notation
from ..codec.text.transcoding import CHUNK
from ..errors import OrderError, StatementError, TruncatedError
from ..io.streams import GENERIC
from .formats import PatchFormat, format_named
from .model import ID, PREV

_GENERIC: Final = describe
#: After these only Z shows that a patch is whole: after no rows, and after headers.
_MARKED: Final = (PatchState.BETWEEN_MARKS, PatchState.PUNCTUATED_OPENING)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSettings:
    """How patches are read: see :class:`~jelly_plugins.patch.ReadOptions`."""

    format: PatchFormat | str | None = None
    factory: TermFactory[Any] = GENERIC
    statement_type: PatchStatementType | str = PatchStatementType.QUADS
    generalized: bool = False
    strict: bool = False
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        if self.format is not None:
            object.__setattr__(self, "format", format_named(self.format))
        if not isinstance(self.statement_type, PatchStatementType):
            known = member(PatchStatementType, self.statement_type, "statement_type")
            object.__setattr__(self, "statement_type", known)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSettings:
    """How patches are written: see :class:`~jelly_plugins.patch.WriteOptions`."""

    describe: Describe = describe
    notation: Notation | str = Notation.RDF_1_2
    frame_rows: int = DEFAULT_FRAME_ROWS
    frame_bytes: int = DEFAULT_FRAME_BYTES
    limits: Limits = DEFAULT_LIMITS
    #: For RDF Patch: whether generalized statements are written, which readers reject by default.
    generalized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "notation", member(Notation, self.notation, "notation"))
        if self.describe is not _GENERIC:
            object.__setattr__(self, "describe", WithGeneric(self.describe))


#: The settings by default.
WRITE: Final = WriteSettings()


class PatchOrder:
    """Follows rows: which may come next, and which headers open a new patch. A patch has one
    ``id``, and it has ``id`` and ``prev`` before its operations. Inside a transaction no patch
    begins.
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

    def take(self, row: AnyOperation) -> bool:
        """Take a row; return whether it is a header that opens a new patch."""
        kind = row[0]
        opens = False
        if kind is OperationKind.HEADER:
            key = chain_key(row[1][0])
            opens = not self.inside_transaction and (
                (key == ID and self._has_id) or (key in (ID, PREV) and self.has_operations)
            )
            if opens:
                self._has_id = self.has_operations = False
                self.state = PatchState.BETWEEN_MARKS
            self._has_id = self._has_id or key == ID
        after = NEXT[self.state].get(ROW_OF.get(kind, PatchRow.PUNCTUATION))
        if after is None:
            where = "inside" if self.inside_transaction else "outside"
            raise OrderError(f"a row {kind.code} {where} a transaction")
        self.state = after
        if kind is OperationKind.END:
            self._has_id = self.has_operations = False
        elif kind is not OperationKind.HEADER:
            self.has_operations = True
        return opens

    def take_statement(self) -> None:
        """Take an addition or deletion, in a third of the time."""
        self.state = NEXT[self.state][PatchRow.STATEMENT_ADD]
        self.has_operations = True

    def add(self, row: AnyOperation, rows: list[AnyOperation]) -> bool:
        """Take a row and append it, after END if it opens a new patch; return whether it does."""
        opens = self.take(row)
        if opens:
            rows.append(END)
        rows.append(row)
        return opens


class RowReader:
    """What readers of rows have in common. They have ``batches``, an iterator of lists of rows:
    END comes where the source has a mark, and where the headers of the next patch begin.
    """

    def __init__(self, settings: ReadSettings) -> None:
        self.order = PatchOrder()
        #: Bytes of an incomplete last row in a source that grows.
        self.pending = 0
        #: Bytes up to the end of the last complete transaction or patch.
        self.complete_bytes = 0
        self._factory = settings.factory
        self._generalized = settings.generalized
        self._quads = settings.statement_type is PatchStatementType.QUADS

    @property
    def inside_patch(self) -> bool:
        """Whether there was something after the last END: rows, or part of one."""
        return self.order.inside_patch or self.pending > 0

    def truncated(self, message: str) -> TruncatedError:
        """The error that the source ends here."""
        raise NotImplementedError

    def ending(self) -> Iterator[list[Operation]]:
        """The rows at the end of the source: END, unless there were no rows after the last one."""
        if self.order.inside_transaction:
            raise self.truncated("ends inside a transaction")
        if self.order.inside_patch:
            if not self.order.has_operations:
                raise TruncatedError(
                    "the log ends after the headers of a patch, which may be truncated: a row Z or "
                    "a transaction would complete it"
                )
            self.order.take(END)
            yield [END]


class PatchWriter(ABC):
    """Writes rows as bytes; for one thread at a time."""

    def __init__(self, settings: WriteSettings) -> None:
        self._describe = settings.describe
        self._limits = settings.limits
        self._generalized = settings.generalized
        self._parser = LineParser(Dialect.RDF_1_2, False, False, settings.limits, quads=True)

    @abstractmethod
    def write(self, rows: Iterable[AnyOperation]) -> Iterator[bytes]:
        """Write rows, in chunks of limited size. After END all bytes of the patch are there, except
        in a stream of type FLAT."""

    @abstractmethod
    def finish(self) -> bytes:
        """End the stream; return the remaining bytes."""

    def add(self, rows: Iterable[AnyOperation]) -> bytes:
        """Write rows in one chunk."""
        return b"".join(self.write(rows))

    def add_transaction(
        self, headers: Sequence[tuple[str, Any]], deleted: bytes, added: bytes
    ) -> bytes:
        """Write a patch of one transaction, whose statements are lines of N-Quads, and its end."""
        self._parser.begin()
        statements = (
            Operation(kind, statement)
            for kind, lines in ((OperationKind.DELETE, deleted), (OperationKind.ADD, added))
            for statement in self._parser.statements(lines)
        )
        return self.add([*starmap(header, headers), BEGIN, *statements, COMMIT, END])


class RowWriter(PatchWriter):
    """What writers of RDF Patch have in common: a mark comes between patches, and after the last
    one only where nothing else shows that it exists. A header ``id`` or ``prev`` among the
    operations of a patch opens another one.
    """

    mark: bytes

    def __init__(self, settings: WriteSettings, *, continues: bool = False) -> None:
        super().__init__(settings)
        self._order = PatchOrder()
        #: Whether the mark is to come before the next row.
        self._ended = continues

    @abstractmethod
    def row(self, row: AnyOperation) -> bytes:
        """A row's bytes."""

    def check(self, position: int, kind: int) -> None:
        """Reject a kind of term in a position, as readers do."""
        if positions.undeclared(position, kind, self._generalized, rdf_star=True) is not None:
            raise StatementError(
                f"{Kind(kind).name} as {positions.POSITIONS[position]} needs "
                "generalized_statements=True in the options"
            )

    def write(self, rows: Iterable[AnyOperation]) -> Iterator[bytes]:
        # The output may be much longer than the rows, each of which has its terms in full.
        pending: list[bytes] = []
        size = 0
        for row in rows:
            written = self.row(row)
            state, has_operations = self._order.state, self._order.has_operations
            if self._order.take(row):
                if not has_operations:
                    raise OrderError(
                        f"a header {row[1][0]} among the operations of a patch: in RDF Patch it "
                        "would open another patch"
                    )
                self._ended = True
            if self._ended:
                pending.append(self.mark)
                self._ended = False
            if row[0] is OperationKind.END:
                self._ended = state not in _MARKED
                written = b"" if self._ended else self.mark
            pending.append(written)
            size += len(written)
            if size > CHUNK:
                yield b"".join(pending)
                pending.clear()
                size = 0
        yield b"".join(pending)

    def finish(self) -> bytes:
        if self._order.inside_patch:
            raise OrderError("the last patch is not ended")
        return b""
