"""Read Jelly-RDF files, with a row for each statement."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final

import pyarrow as pa
import pyarrow.compute as pc

from ... import arrow
from ...codec import Columns
from ...codec.common.positions import POSITIONS
from .batches import Format, complete
from .decoding import decode
from .settings import BlankNodes, Conditions, ReadSettings
from .splits import FileSplit, cut

#: Literals and IRIs, which may contain any text, and the start of a blank node.
_PARTS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>]*>|_:', re.DOTALL)

#: Number of hexadecimal digits of a file's digest.
_DIGITS: Final = 16


def read_statements(
    file: BinaryIO, split: FileSplit, settings: ReadSettings, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Read the batches of a split of a file: the rows that meet the conditions, and only the
    columns of the schema."""
    relabel = Relabelling(split.path) if settings.blank_nodes is BlankNodes.FILE else None
    conditions = settings.conditions
    wanted = {name.lower() for name in schema.names}
    names = [name for name in POSITIONS if name in wanted or name in conditions]
    for columns in decode(file, split, concatenated=settings.concatenated):
        batch = arrow.record_batch(columns, pa.schema([arrow.QUADS.field(name) for name in names]))
        found = dict(zip(names, batch.columns, strict=True))
        rows = columns.rows
        if relabel is not None:
            found = {name: relabel.column(column) for name, column in found.items()}
        if "frame" in wanted and settings.source_columns:
            found["frame"] = _frames(columns)
        if conditions:
            met = _meeting(found, conditions)
            found = {name: column.filter(met) for name, column in found.items()}
            rows = pc.sum(met).as_py()
        if rows:
            yield complete(found, rows, split, schema)


def _meeting(found: Mapping[str, Any], conditions: Conditions) -> pa.Array:
    """Return a mask of the rows that meet the conditions.

    :param found: columns by name; must include all columns with conditions.
    """
    masks = []
    for name, texts in conditions.items():
        column = found[name]
        mask = pc.is_in(column, value_set=pa.array(sorted(texts), column.type))
        masks.append(pc.or_(mask, pc.is_null(column)) if "" in texts else mask)
    met = masks[0]
    for mask in masks[1:]:
        met = pc.and_(met, mask)
    return met


class Relabelling:
    """Gives the blank nodes of one file labels that no other file has.

    :param path: path of the file.

    >>> relabel = Relabelling("a.jelly")
    >>> relabel.column(pa.array(["_:b", '"_:b"', None])).to_pylist()
    ['_:f0c07f1ba14d9654bb', '"_:b"', None]
    """

    def __init__(self, path: str) -> None:
        digest = hashlib.sha256(path.encode()).hexdigest()
        self._opening: Final = f"_:f{digest[:_DIGITS]}"

    def column(self, terms: pa.Array) -> pa.Array:
        """Return a column of terms, as text of N-Triples, with new labels."""
        encoded = terms if pa.types.is_dictionary(terms.type) else terms.dictionary_encode()
        found = encoded.dictionary
        nodes = pc.starts_with(found, "_:")
        quoted = pc.starts_with(found, "<<")
        labels = pc.utf8_slice_codeunits(found, 2)
        joined = pc.binary_join_element_wise(self._opening, labels, "")
        changed = pc.if_else(nodes, joined, found)
        inner = [self._quoted(text) for text in found.filter(quoted).to_pylist()]
        changed = pc.replace_with_mask(changed, quoted, pa.array(inner, changed.type))
        return changed.take(encoded.indices)

    def _quoted(self, text: str) -> str:
        return _PARTS.sub(self._part, text)

    def _part(self, found: re.Match[str]) -> Any:
        return self._opening if found[0] == "_:" else found[0]


def _frames(columns: Columns) -> pa.Array:
    """Return the frame number of each row."""
    numbers = [pa.repeat(pa.scalar(frame, pa.int64()), rows) for frame, rows in columns.frames]
    return pa.concat_arrays(numbers)


def _none(schema: pa.Schema) -> Iterator[pa.RecordBatch]:  # noqa: ARG001
    return iter(())


STATEMENTS: Final = Format(cut, read_statements, _none)
