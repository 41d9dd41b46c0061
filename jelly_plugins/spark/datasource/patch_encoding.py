"""Arrow record batches of additions and deletions to one patch. Knows nothing of Spark.

The rows that a writer is given are one patch with one transaction, in their order, whose ``id`` the
caller chooses: who replays a log passes over what it has.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from ...codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    Iri,
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

#: The column that says what a row does.
KIND: Final = "kind"

_KINDS: Final = {kind.code: kind for kind in (OperationKind.ADD, OperationKind.DELETE)}


def patch_options(settings: WriteSettings) -> PatchOptions:
    """Options of a stream of quads."""
    return PatchOptions(
        rdf_star=settings.quoted_triples,
        max_name_table_size=settings.name_table,
        max_prefix_table_size=settings.prefix_table,
        max_datatype_table_size=settings.datatype_table,
    )


class OperationWriter:
    """Writes one patch into an open file.

    :param file: stays open.
    :param id: of the patch.
    :ivar rows: operations that were written.
    """

    def __init__(self, file: BinaryIO, id: str, settings: WriteSettings) -> None:  # noqa: A002
        self._stack = ExitStack()
        self._out = self._stack.enter_context(compressed(file, settings.compression))
        self._serializer = PatchSerializer(options=patch_options(settings))
        self._out.write(self._serializer.add([header("id", Iri(id)), BEGIN]))
        self.rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch.

        :raises JellyError: with the row, counted from the patch's first, if one is no addition or
            deletion of a statement.
        """
        columns = [_terms(batch, name, self.rows) for name in POSITIONS]
        kinds = _decoded(batch.column(KIND), _kind, self.rows)
        rows = (Operation(kind, Quad(*terms)) for kind, *terms in zip(kinds, *columns, strict=True))
        try:
            self._out.write(self._serializer.add(rows))
        except JellyError as error:
            # The frame and its row are none of those that were given.
            error.frame = error.row = None
            raise
        self.rows += batch.num_rows

    def finish(self) -> None:
        """End the patch, and the stream."""
        self._out.write(self._serializer.add([COMMIT, END]))
        self._out.write(self._serializer.finish())
        self._stack.close()


def _terms(batch: pa.RecordBatch, name: str, before: int) -> list[Any]:
    """The terms of a position."""
    if name not in batch.schema.names:
        return [DEFAULT_GRAPH] * batch.num_rows
    position = POSITIONS.index(name)
    parser = LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)

    def term(text: str | None) -> Any:
        if name == "graph":
            if text is None:
                return DEFAULT_GRAPH
            if not text:
                raise TextError(EMPTY_GRAPH)
        if text is None:
            raise TextError(f"the {name} is null")
        try:
            return parser.term(text.encode(), position)
        except TextError as error:
            raise TextError(f"{name}: {error.message}", column=error.column) from None

    return _decoded(joined(batch.column(name)), term, before)


def _kind(code: str | None) -> OperationKind:
    if code not in _KINDS:
        raise StatementError(
            f"kind: {code!r} is neither A nor D, the only kinds that can be written"
        )
    return _KINDS[code]


def _decoded(column: pa.Array, decode: Any, before: int) -> list[Any]:
    """What becomes of the texts of a column, each of which is decoded once.

    :param before: rows before its first.
    :raises JellyError: with the row.
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
