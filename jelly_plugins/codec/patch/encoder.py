"""Operations to frames of a Jelly-Patch stream.

Terms of the caller's backend in, bytes out. No I/O, no delimiters (``wire`` writes those).

Reference: Jelly-Patch specification, sections "Patch frames", "Patch rows", "Patch stream types",
"Transactions", "Namespaces", "Headers" and "RDF terms and graph nodes".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any, ClassVar, Final

from ...errors import JellyError, OrderError, StatementError, TermError
from ..common import positions
from ..common.limits import DEFAULT_LIMITS, Limits
from ..common.options import write_options
from ..common.row_writer import DEFAULT_FRAME_BYTES, DEFAULT_FRAME_ROWS, RowWriter
from ..common.term_writer import TermWriter
from ..common.terms import Describe, Kind, describe, terms_of
from ..common.wire import BYTES, string_field, varint
from ..text.ntriples import LineParser
from . import rules as patch_rules
from .operations import (
    BEGIN,
    COMMIT,
    END,
    NAMESPACES,
    STATEMENTS,
    Namespace,
    Operation,
    OperationKind,
)
from .operations import header as make_header
from .options import (
    PATCH_VERSION_1_0,
    PatchOptions,
    PatchStatementType,
    PatchStreamType,
)
from .rules import PatchRow

_KINDS: Final = {int(kind): kind for kind in OperationKind}


GRAPH_TAGS: Final = {
    kind: varint(number << 3 | BYTES) for number, kind in patch_rules.NAMESPACE_GRAPH_FIELDS.items()
}
VALUE_TAGS: Final = {
    kind: varint(number << 3 | BYTES) for number, kind in patch_rules.HEADER_VALUE_FIELDS.items()
}
IRI_TAG: Final = (2 << 3 | BYTES).to_bytes()


class PatchTermWriter(TermWriter):
    """Writes the terms of a patch's rows. The graphs of statements and namespaces repeat each
    other.

    The first ids are written in full, so that a reader gets the same result even if it has the
    state of another stream that precedes this one.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.ids = (-1, -1)
        for table in (self._names, self._prefixes, self._datatypes):
            table.number_first_entry()

    def namespace(self, name: str, iri: Any, graph: Any) -> bytes:
        """Write the body of an RdfPatchNamespace."""
        self.text(name, "a namespace's name")
        body = string_field(1, name) + self._row(self._namespace, iri, graph)
        if graph is not None:
            self._last[positions.GRAPH] = graph
        return body

    def _namespace(self, iri: Any, graph: Any) -> bytes:
        parts = []
        if iri is not None:
            description = self._find_outside(iri)
            if description[0] is not Kind.IRI:
                raise TermError(f"a namespace is an IRI, not {iri!r}")
            parts += [IRI_TAG, self._term(description, 0)]
        if graph is not None:
            before = self._last[positions.GRAPH]
            if before is None or not (before is graph or before == graph):
                parts.append(self._tagged(positions.GRAPH, graph, GRAPH_TAGS))
        return b"".join(parts)

    def header(self, key: str, value: Any) -> bytes:
        """Write the body of an RdfPatchHeader."""
        self.text(key, "a header's key")
        return string_field(1, key) + self._row(self._tagged, positions.OBJECT, value, VALUE_TAGS)

    def _tagged(self, position: int, term: Any, field_tags: dict[Kind, bytes]) -> bytes:
        """Encode a term that is not part of a statement: its tag, its length and its bytes."""
        description = self._find_outside(term)
        kind, tags = description[:2]
        if tags[position] is None:
            raise self.rejection(position, kind)
        return field_tags[kind] + self._term(description, 0)

    def _find_outside(self, term: Any) -> tuple[Any, ...]:
        """Describe a term that is not part of a statement."""
        if isinstance(term, tuple):
            self.check_nesting(term)
        return self._find(term)


def check_width(statement: tuple[Any, ...], width: int) -> None:
    """Reject a triple in a stream of quads, and a quad in a stream of triples."""
    if len(statement) != width:
        raise StatementError(
            f"a statement of {len(statement)} terms in a stream of statements of {width}"
        )


def kind_of(number: int) -> OperationKind:
    """Return the kind of operations with a number."""
    return number if type(number) is OperationKind else _KINDS[number]


class PatchEncoder(RowWriter):
    """Writes the frames of one stream, in order. Use it from one thread at a time.

    END ends each patch. In a stream of type FRAME the patch is one frame of any size; in a stream
    of type PUNCTUATED its last frame ends with END. Otherwise frames end automatically after
    ``frame_rows`` rows or ``frame_bytes`` bytes, whichever comes first.

    :param options: the stream's options; version 0 becomes the lowest suitable version.
    :param describe: describes the caller's terms; generic terms by default.
    :param frame_rows: number of rows after which a frame ends; a statement is never separated from
        its entries.
    :param frame_bytes: number of bytes after which a frame ends.
    :param continues: whether the output continues patches of another encoder with the same options.
    :param limits: bounds of frames, strings and nesting; by default a reader's default limits.
    :raises OptionsError: the options require a version that cannot be written.

    The output does not refer to earlier output. Concatenated streams with the same options are one
    valid stream, with or without the options of the later ones, so that logs can grow by appending.

    A rejected operation leaves the encoder unchanged, except for lookup entries that no row uses
    yet. Frames that ended before it are returned by the next :meth:`add`, or by :meth:`finish`.
    """

    #: The class of the term writer; the compiled kernel overrides it.
    _term_writer: ClassVar = PatchTermWriter
    _entry_rows: ClassVar = {
        "name": PatchRow.NAME,
        "prefix": PatchRow.PREFIX,
        "datatype": PatchRow.DATATYPE,
    }

    def __init__(
        self,
        options: PatchOptions,
        describe: Describe = describe,
        *,
        frame_rows: int = DEFAULT_FRAME_ROWS,
        frame_bytes: int = DEFAULT_FRAME_BYTES,
        continues: bool = False,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        if options.version == 0:
            options = replace(options, version=PATCH_VERSION_1_0)
        options.check(limits)
        super().__init__(
            limits,
            frame_rows,
            frame_bytes,
            whole_frames=options.stream_type is PatchStreamType.FRAME,
        )
        #: The options as written.
        self.options: Final = options
        self._quads = options.statement_type is PatchStatementType.QUADS
        self._writer = self._term_writer(options, describe, limits, self)
        self._state = patch_rules.FIRST_STATE[options.stream_type]
        #: What ends a patch.
        self.end: Final = patch_rules.PATCH_ENDS[options.stream_type]
        #: Whether END has followed the last row of a patch.
        self._ended_patch = True
        #: Whether this stream, or the one that it continues, has had a patch.
        self._begun = continues
        if not continues:
            self._add_row(PatchRow.OPTIONS, write_options(options))

    @property
    def inside_patch(self) -> bool:
        """Whether a patch is open: it has rows, and END has not followed yet."""
        return not self._ended_patch

    def add(self, operations: Iterable[Operation]) -> list[bytes]:
        """Write operations, headers and ends of patches.

        :return: the completed frames.
        :raises JellyError: an operation cannot be written; the previous ones are.
        """
        self._add_all(operations)
        return self._take_ended()

    def add_lines(self, kind: OperationKind, data: bytes, parser: LineParser) -> list[bytes]:
        """Write the statements of whole lines of N-Quads or N-Triples, which ``parser`` reads.

        :param kind: ADD or DELETE.
        :return: the completed frames.
        :raises TextError: with the line.
        :raises JellyError: a statement cannot be written; the previous ones are.
        """
        self._add_lines(kind_of(kind), data, parser)
        return self._take_ended()

    def add_patch(
        self,
        headers: Sequence[tuple[str, Any]],
        deleted: bytes,
        added: bytes,
        parser: LineParser,
    ) -> list[bytes]:
        """Write a patch of one transaction, whose statements are whole lines, and its end.

        :param headers: keys and values.
        :param deleted: the statements that are deleted, before those that are ``added``; see
            :meth:`add_lines`.
        :return: the completed frames.
        :raises TextError: with the line.
        :raises JellyError: a row cannot be written; the previous ones are.
        """
        self._add_all([*starmap(make_header, headers), BEGIN])
        for kind, data in ((OperationKind.DELETE, deleted), (OperationKind.ADD, added)):
            if data:
                self._add_lines(kind, data, parser)
        self._add_all((COMMIT, END))
        return self._take_ended()

    def _add_all(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            kind, value = operation
            try:
                self.add_operation(kind_of(kind), value)
            except JellyError as error:
                self.locate(error)
                raise

    def _add_lines(self, kind: OperationKind, data: bytes, parser: LineParser) -> None:
        # Before the lines are read, whatever is wrong with them.
        self.state_after(patch_rules.ROW_OF[kind])
        self._add_all(Operation(kind, statement) for statement in parser.statements(data))

    def add_operation(self, kind: OperationKind, value: Any) -> None:
        """Write a row of any kind, or end a patch."""
        if kind is OperationKind.END:
            self._end_patch()
            return
        row = patch_rules.ROW_OF[kind]
        after = self.state_after(row)
        if kind in STATEMENTS:
            terms = terms_of(value)
            check_width(terms, 4 if self._quads else 3)
            body = self._writer.statement(terms)
            self._repeats += not body
        elif kind in NAMESPACES:
            body = self._namespace(kind, value)
        elif kind is OperationKind.HEADER:
            key, term = value
            body = self._writer.header(key, term)
        else:
            body = b""
        self._close_row(row, body, after)

    def state_after(self, row: Any) -> Any:
        """Return the state after a row.

        :raises OrderError: the row is not allowed here.
        """
        after = patch_rules.NEXT[self._state].get(row)
        if after is None:
            raise self._misplaced(row)
        return after

    def _close_row(self, row: PatchRow, body: bytes, after: patch_rules.PatchState) -> None:
        self._add_row(row, body)
        self.enter(after)
        if self._rows >= self._frame_rows or len(self._buffer) >= self._frame_bytes:
            self._end_frame()

    def enter(self, state: Any) -> None:
        """Change the state after a row of a patch."""
        self._state = state
        self._ended_patch = False

    def _namespace(self, kind: OperationKind, namespace: Namespace) -> bytes:
        name, iri, graph = namespace
        if kind is OperationKind.ADD_NAMESPACE and iri is None:
            raise StatementError("a namespace is added without an IRI")
        if self._quads is (graph is None):
            raise StatementError(
                "a namespace has no graph in a stream of quads"
                if self._quads
                else "a namespace has a graph in a stream of triples"
            )
        return self._writer.namespace(name, iri, graph)

    def _end_patch(self) -> None:
        after = self.state_after(self.end)
        if self.end is PatchRow.PUNCTUATION:
            self._add_row(self.end, b"")
        self.leave_patch(after)

    def leave_patch(self, state: Any) -> None:
        """Change the state after the end of a patch, and end its frame."""
        if self.end is not PatchRow.END_OF_STREAM:
            self._end_frame()
        self._state = state
        self._ended_patch = self._begun = True

    def _misplaced(self, row: PatchRow) -> OrderError:
        what = "a patch ends" if row in patch_rules.PATCH_ENDS.values() else f"a row {row.name}"
        return OrderError(f"{what} {patch_rules.WHERE[self._state]}")

    def finish(self) -> list[bytes]:
        """End the stream.

        :return: the remaining frames. They always include the first frame, because its options make
            even an empty stream readable.
        :raises OrderError: the last patch has no END, or the stream is of type FRAME or FLAT, where
            the options alone are a patch, and has no patch.
        """
        if not self._ended_patch:
            raise OrderError("the last patch is not ended", frame=self._frames, row=self._rows)
        stream_type = self.options.stream_type
        if not self._begun and stream_type is not PatchStreamType.PUNCTUATED:
            raise OrderError(f"a stream of type {stream_type.name} cannot be without a patch")
        return self._end_stream()
