"""Encode Arrow record batches of additions and deletions as one patch. Needs no Spark session.

The rows of one writer become one patch with one transaction, in their order. The caller chooses the
patch's ``id``, so that replaying a log skips patches that were applied before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from ...codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyOperation,
    Header,
    Iri,
    Namespace,
    Operation,
    OperationKind,
    PatchOptions,
    Quad,
)
from ...codec.common.positions import POSITIONS
from ...codec.patch.operations import BEGIN, COMMIT, END, header
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.ntriples import Dialect, LineParser
from ...errors import JellyError, StatementError, TextError
from ...io.sinks import compressed
from ...patch.writer import PatchSerializer
from .encoding import joined
from .settings import WriteSettings

#: The column with the kind of operation.
KIND: Final = "kind"

_KINDS: Final = {kind.code: kind for kind in (OperationKind.ADD, OperationKind.DELETE)}
_ALL_KINDS: Final = {kind.code: kind for kind in OperationKind}
_OF_TRANSACTIONS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)
_OBJECT: Final = POSITIONS.index("object")
#: Headers that are also columns.
_CHAIN: Final = ("id", "prev")


def patch_options(settings: WriteSettings) -> PatchOptions:
    """Return the options of a stream of quads."""
    return PatchOptions(
        rdf_star=settings.quoted_triples,
        **settings.tables,
    )


class OperationWriter:
    """Writes one patch to an open file.

    :param file: stays open.
    :param id: id of the patch.
    :ivar rows: number of operations written.
    """

    def __init__(self, file: BinaryIO, id: str, settings: WriteSettings) -> None:  # noqa: A002
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings.compression))
        self._serializer = PatchSerializer(options=patch_options(settings))
        self._out.write(self._serializer.add([header("id", Iri(id)), BEGIN]))
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch.

        :raises JellyError: a row is not an addition or deletion of a statement; has the row,
            counted from the patch's first.
        """
        columns = [_terms(batch, name, self.rows) for name in POSITIONS]
        kinds = _decoded(batch.column(KIND), _kind, self.rows)
        rows = (Operation(kind, Quad(*terms)) for kind, *terms in zip(kinds, *columns, strict=True))
        try:
            self._out.write(self._serializer.add(rows))
        except JellyError as error:
            # The error's frame and row are those of the output; neither is a row of the batch.
            error.frame = error.row = None
            raise
        self.rows += batch.num_rows

    def finish(self) -> None:
        """End the patch, and the stream."""
        self._out.write(self._serializer.add([COMMIT, END]))
        self._out.write(self._serializer.finish())
        self._stack.close()


def _terms(batch: pa.RecordBatch, name: str, before: int) -> list[Any]:
    """Return the terms of a position."""
    if name not in batch.schema.names:
        return [DEFAULT_GRAPH] * batch.num_rows
    parser = _parser()
    column = joined(batch.column(name))
    return _decoded(column, lambda text: _term(parser, name, text), before)


def _parser() -> LineParser:
    return LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)


def _term(parser: LineParser, name: str, text: str | None) -> Any:
    """Parse a term of the named position."""
    if name == "graph":
        if text is None:
            return DEFAULT_GRAPH
        if not text:
            raise TextError(EMPTY_GRAPH)
    if text is None:
        raise TextError(f"the {name} is null")
    try:
        return parser.term(text.encode(), POSITIONS.index(name))
    except TextError as error:
        raise TextError(f"{name}: {error.message}", column=error.column) from None


def _kind(code: str | None) -> OperationKind:
    if code not in _KINDS:
        raise StatementError(
            f"kind must be A or D (got {code!r}): only additions and deletions can be written"
        )
    return _KINDS[code]


def _decoded(column: pa.Array, decode: Any, before: int) -> list[Any]:
    """Decode the texts of a column, each distinct text once.

    :param before: number of rows before the column's first.
    :raises JellyError: a text is invalid; has the row.
    """
    encoded = pc.dictionary_encode(column, null_encoding="encode")
    texts = encoded.dictionary.to_pylist()
    values: list[Any] = []
    for at, text in enumerate(texts):
        try:
            values.append(decode(text))
        except JellyError as error:
            row = pc.index(encoded.indices, at).as_py()
            error.row = before + row
            raise
    return [values[at] for at in encoded.indices.to_pylist()]


def encode_log(batch: pa.RecordBatch, settings: WriteSettings) -> bytes:
    """Encode rows of any kind as a log; the inverse of :class:`~.operations.OperationRows`.

    :param batch: has the columns kind, subject, predicate and object, and optionally the other
        columns of :class:`~.patch_row.PatchRow`. ``order`` and ``transaction`` are ignored: the
        order is that of the rows.
    :raises JellyError: a row is not a valid operation; has the row.
    """
    serializer = PatchSerializer(options=patch_options(settings))
    columns = {
        name: joined(column) if name in POSITIONS else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    rows = list(enumerate(pa.RecordBatch.from_pydict(columns).to_pylist()))
    # Without patch numbers, ids distinguish the patches.
    number = "patch" if "patch" in columns else "id"
    written = b""
    for patch in _patches(rows, number):
        try:
            written += serializer.add(list(_patch(patch)))
        except JellyError as error:
            # The error's frame is one of the output.
            error.frame = None
            raise
    return written + serializer.finish()


def _patches(
    rows: list[tuple[int, dict[str, Any]]], name: str
) -> Iterator[list[tuple[int, dict[str, Any]]]]:
    """Group rows by patch: a new patch starts at a row with another value in a column."""
    patch: list[tuple[int, dict[str, Any]]] = []
    value = None
    for row in rows:
        other = row[1].get(name)
        if value is not None and other not in (None, value):
            yield patch
            patch = []
        value = value if other is None else other
        patch.append(row)
    if patch:
        yield patch


def _patch(rows: list[tuple[int, dict[str, Any]]]) -> Iterator[AnyOperation]:
    """Return the operations of one patch, from its numbered rows.

    A patch without transactions becomes one transaction.
    """
    parser = _parser()
    operations = []
    for number, row in rows:
        try:
            operations.append(_operation(parser, row))
        except JellyError as error:
            error.row = number
            raise
    headers = {value.key for _, value in operations if type(value) is Header}
    for key in _CHAIN:
        texts = {text for _, row in rows if (text := row.get(key)) is not None}
        if len(texts) > 1:
            raise StatementError(
                f"all rows of a patch must have the same {key} (got {', '.join(sorted(texts))})"
            )
        if texts and key not in headers:
            yield header(key, parser.term(texts.pop().encode(), _OBJECT))
    yield from (each for each in operations if each[0] is OperationKind.HEADER)
    whole = any(kind in _OF_TRANSACTIONS for kind, _ in operations)
    if not whole:
        yield BEGIN
    besides = (OperationKind.HEADER, OperationKind.END)
    yield from (each for each in operations if each[0] not in besides)
    if not whole:
        yield COMMIT
    yield END


def _operation(parser: LineParser, row: dict[str, Any]) -> AnyOperation:
    """Convert a row to an operation."""
    code = row[KIND]
    if code not in _ALL_KINDS:
        raise StatementError(f"kind must be one of {', '.join(_ALL_KINDS)} (got {code!r})")
    kind = _ALL_KINDS[code]
    if code in _KINDS:
        return Operation(kind, Quad(*(_term(parser, name, row.get(name)) for name in POSITIONS)))
    value: Any = None
    if kind in (OperationKind.HEADER, OperationKind.ADD_NAMESPACE, OperationKind.DELETE_NAMESPACE):
        name, text = row.get("name"), row.get("value")
        if name is None:
            raise StatementError(f"name is missing: a row of kind {code} needs one")
        if text is None and kind is not OperationKind.DELETE_NAMESPACE:
            raise StatementError(f"value is missing: a row of kind {code} needs one")
        term = None if text is None else parser.term(text.encode(), _OBJECT)
        if kind is OperationKind.HEADER:
            value = Header(name, term)
        else:
            value = Namespace(name, term, _term(parser, "graph", row.get("graph")))
    return Operation(kind, value)
