"""The format ``jelly-patch``: Jelly-Patch and RDF Patch files, with a row for each operation.

Written files have one patch each, with one transaction of additions and deletions;
:func:`encode_log` writes any rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO, Final
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import StructType

from ...codec import (
    DEFAULT_GRAPH,
    DEFAULT_LIMITS,
    AnyOperation,
    Header,
    Iri,
    Literal,
    Namespace,
    Operation,
    OperationKind,
    PatchEncoder,
    PatchOptions,
    Quad,
)
from ...codec.common.positions import OBJECT, POSITIONS
from ...codec.patch.operations import BEGIN, CHAIN_KEYS, COMMIT, END, header
from ...codec.text.columns import EMPTY_GRAPH
from ...codec.text.ntriples import Dialect, LineParser
from ...errors import JellyError, StatementError, TextError
from ...patch.columns import PatchColumnReader
from ...patch.writer import patch_writer
from ..patch_rows import ABOUT, OperationRows
from .columns import GRAPH, KIND, check_written, complete, join_terms
from .options import Settings
from .reading import FileSplit, FileWriter, Format

#: The kinds of operations by their code in the column ``kind``: of changes, and all.
CHANGES: Final = {kind.code: kind for kind in (OperationKind.ADD, OperationKind.DELETE)}
ALL: Final = {kind.code: kind for kind in OperationKind}

#: A string literal without escapes, whose parsing would take most of the time of writing patches.
_PLAIN: Final = re.compile(r'"([^"\\\x00-\x1f\x7f]{,1000})"')

_OF_TRANSACTIONS: Final = (OperationKind.BEGIN, OperationKind.COMMIT, OperationKind.ABORT)
_NAMED: Final = (
    OperationKind.HEADER,
    OperationKind.ADD_NAMESPACE,
    OperationKind.DELETE_NAMESPACE,
)


class OperationWriter(FileWriter):
    """Writes one patch."""

    def __init__(self, file: BinaryIO, name: str, schema: pa.Schema, settings: Settings) -> None:
        super().__init__(file, name, schema, settings)
        self._serializer = patch_writer(options=patch_options(settings))
        # The same id for each attempt at a task, so that a replay skips a repeated patch.
        id_ = Iri(f"urn:uuid:{uuid5(NAMESPACE_OID, name)}")
        self._out.write(self._serializer.add([header("id", id_), BEGIN]))

    def add(self, batch: pa.RecordBatch) -> None:
        rows = list(operations(batch, CHANGES, self.rows))
        try:
            self._out.write(self._serializer.add(rows))
        except JellyError as error:
            # Those of the output.
            error.frame = error.row = None
            raise
        self.rows += batch.num_rows

    def finish(self) -> None:
        self._out.write(self._serializer.add([COMMIT, END]))
        self._out.write(self._serializer.finish())
        super().finish()


class Operations(Format):
    suffix = ".jellyp"
    writer = OperationWriter

    def read(
        self, file: BinaryIO, split: FileSplit, settings: Settings, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        with PatchColumnReader(file) as batches:
            for found in OperationRows(settings["headers"]).batches(batches):
                yield complete(found, split.path, schema)

    def check(self, schema: StructType, settings: Settings) -> None:
        check_written(schema, (KIND,))
        PatchEncoder(patch_options(settings))


# Rows as operations


def patch_options(settings: Settings) -> PatchOptions:
    return PatchOptions(**settings.stream_options)


def operations(
    batch: pa.RecordBatch, kinds: Mapping[str, OperationKind], before: int = 0
) -> Iterator[AnyOperation]:
    """Convert rows to operations. Errors have the row.

    :param batch: has the columns kind, subject, predicate and object, and optionally graph, name
        and value.
    :param kinds: the kinds that rows may have, by their code.
    :param before: number of the first row.
    """
    subjects, predicates, objects, graphs = terms = [_Terms(batch, name) for name in POSITIONS]
    kind_names, names, values = (_column(batch, name) for name in (KIND, "name", "value"))
    rows = zip(kind_names, *(each.places for each in terms), names, values, strict=True)
    found: Any
    for row, (code, subject, predicate, object_, graph, name, value) in enumerate(rows, before):
        try:
            kind = kinds.get(code)
            if kind is None:
                raise StatementError(f"kind must be one of {', '.join(kinds)} (got {code!r})")
            if code in CHANGES:
                found = Quad(
                    subjects[subject], predicates[predicate], objects[object_], graphs[graph]
                )
            elif kind in _NAMED:
                found = _named(kind, name, value, graphs[graph])
            else:
                found = None
        except JellyError as error:
            error.row = row
            raise
        yield Operation(kind, found)


def _named(
    kind: OperationKind, name: str | None, value: str | None, graph: Any
) -> Header | Namespace:
    if name is None or (value is None and kind is not OperationKind.DELETE_NAMESPACE):
        raise StatementError(f"name or value is missing in a row of kind {kind.code}")
    term: Any = None if value is None else _parser().term(value.encode(), OBJECT)
    return Header(name, term) if kind is OperationKind.HEADER else Namespace(name, term, graph)


def _parser() -> LineParser:
    return LineParser(Dialect.RDF_STAR, False, False, DEFAULT_LIMITS, quads=True)


def _column(batch: pa.RecordBatch, name: str) -> Any:
    """Return the values of a column, null if it does not exist."""
    if name not in batch.schema.names:
        return [None] * batch.num_rows
    return batch.column(name).to_pylist()


class _Terms(dict[int, Any]):
    """The distinct terms of a column, each parsed when it is first used; ``places`` has the key of
    the term of each row."""

    def __init__(self, batch: pa.RecordBatch, name: str) -> None:
        column = pa.nulls(batch.num_rows, pa.string())
        if name in batch.schema.names:
            column = join_terms(batch.column(name))
        encoded = pc.dictionary_encode(column, null_encoding="encode")
        self._texts = encoded.dictionary.to_pylist()
        self._name = name
        self._parser = _parser()
        self.places = encoded.indices.to_pylist()

    def __missing__(self, place: int) -> Any:
        text, name = self._texts[place], self._name
        if text is None:
            if name != GRAPH:
                raise TextError(f"the {name} is null")
            term: Any = DEFAULT_GRAPH
        elif not text and name == GRAPH:
            raise TextError(EMPTY_GRAPH)
        elif name == "object" and (plain := _PLAIN.fullmatch(text)):
            term = Literal(plain[1])
        else:
            try:
                term = self._parser.term(text.encode(), POSITIONS.index(name))
            except TextError as error:
                raise TextError(f"{name}: {error.message}", column=error.column) from None
        self[place] = term
        return term


def encode_log(batch: pa.RecordBatch, settings: Settings) -> bytes:
    """Encode rows as a log.

    A patch starts at a row with another value in the column ``patch``, or without that column in
    ``id``. A patch without transactions becomes one transaction. The columns ``order`` and
    ``transaction`` are ignored: the order is that of the rows.
    """
    serializer = patch_writer(options=patch_options(settings))
    found = list(operations(batch, ALL))
    patches, *chains = (_column(batch, name) for name in ("patch", *CHAIN_KEYS))
    starts = _starts(patches if "patch" in batch.schema.names else chains[0])
    written = b""
    for start, stop in pairwise([*starts, len(found)]):
        headers = dict(zip(CHAIN_KEYS, (each[start:stop] for each in chains), strict=True))
        patch = _patch(found[start:stop], headers)
        try:
            written += serializer.add(patch)
        except JellyError as error:
            # Those of the output.
            error.frame = error.row = None
            raise
    return written + serializer.finish()


def _starts(values: Sequence[Any]) -> list[int]:
    """Return the row at which each patch starts: nulls belong to the patch before them."""
    starts: list[int] = []
    value = None
    for row, other in enumerate(values):
        if not starts or (value is not None and other not in (None, value)):
            starts.append(row)
            value = None
        value = value if other is None else other
    return starts


def _patch(
    rows: Sequence[AnyOperation], columns: Mapping[str, Sequence[str | None]]
) -> list[AnyOperation]:
    """Return the operations of one patch, with its headers first: those of columns, and of rows."""
    given = {value.chain_key for _, value in rows if type(value) is Header}
    headers: list[AnyOperation] = []
    for key, values in columns.items():
        texts = sorted({text for text in values if text is not None})
        if len(texts) > 1:
            raise StatementError(
                f"all rows of a patch must have the same {key} (got {', '.join(texts)})"
            )
        if texts and key not in given:
            headers.append(header(key, _parser().term(texts[0].encode(), OBJECT)))
    headers += (each for each in rows if each[0] is OperationKind.HEADER)
    changes = [each for each in rows if each[0] not in ABOUT]
    if not any(kind in _OF_TRANSACTIONS for kind, _ in rows):
        changes = [BEGIN, *changes, COMMIT]
    return [*headers, *changes, END]
