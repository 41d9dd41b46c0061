"""The formats ``jelly`` and ``jelly-patch`` for writers: columns and files.

A Jelly-RDF stream has triples as long as no row has a graph, even if there is a column for graphs,
because readers of triples reject a stream of quads. At the first row with a graph, a task starts a
second stream, of quads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final
from uuid import NAMESPACE_OID, uuid5

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.types import NullType, StringType, StructType

from ...codec import ColumnEncoder, PatchEncoder
from ...codec.common.positions import POSITIONS
from ...errors import OptionsError
from .encoding import StreamWriter, stream_options
from .patch_encoding import KIND, OperationWriter, patch_options
from .schema import GRAPH
from .settings import WriteSettings
from .writing import Sink

_SPLIT: Final = sorted(("value", "kind", "datatype", "language"))


def check_columns(
    schema: StructType, besides: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    """Check that columns represent statements. Names are case-insensitive, as in Spark.

    :param besides: required columns of text, besides terms.
    :param optional: optional columns of any type.
    :raises OptionsError: a column is missing, is not one of these, or has another type.
    """
    names = {name.lower() for name in schema.names}
    if len(names) < len(schema.names):
        raise OptionsError(f"two columns have the same name: {', '.join(schema.names)}")
    missing = {*besides, *POSITIONS} - {GRAPH} - names
    other = names - {*besides, *optional, *POSITIONS}
    if missing or other:
        raise OptionsError(
            f"the columns must be {', '.join((*besides, *POSITIONS[:3]))} and, for graphs, graph: "
            + ", ".join(
                [f"{name} is missing" for name in sorted(missing)]
                + [f"{name} is not one of them" for name in sorted(other)]
            )
        )
    for each in schema:
        kind = each.dataType
        if each.name.lower() in optional or isinstance(kind, StringType | NullType):
            continue
        split = isinstance(kind, StructType) and sorted(map(str.lower, kind.names)) == _SPLIT
        if split and each.name.lower() not in besides:
            continue
        raise OptionsError(
            f"column {each.name} must be text or a structure of value, kind, datatype and language "
            f"(got {each.dataType.simpleString()})"
        )


def _check_statements(schema: StructType, settings: WriteSettings) -> None:
    check_columns(schema)
    ColumnEncoder(stream_options(settings, GRAPH in map(str.lower, schema.names)))


def _check_operations(schema: StructType, settings: WriteSettings) -> None:
    check_columns(schema, (KIND,))
    PatchEncoder(patch_options(settings))


def split_graphs(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Remove the column for graphs from batches, up to the first row that has a graph."""
    named = False
    for batch in batches:
        if named or GRAPH not in batch.schema.names:
            yield batch
            continue
        found = pc.index(pc.is_valid(batch[GRAPH]), value=True).as_py()
        if found != 0:
            yield batch.slice(0, None if found < 0 else found).drop_columns([GRAPH])
        if found >= 0:
            named = True
            yield batch.slice(found)


def _open_statements(
    file: BinaryIO,
    name: str,  # noqa: ARG001
    schema: pa.Schema,
    settings: WriteSettings,
) -> StreamWriter:
    return StreamWriter(file, schema, settings)


def _open_operations(
    file: BinaryIO,
    name: str,
    schema: pa.Schema,  # noqa: ARG001
    settings: WriteSettings,
) -> OperationWriter:
    # The same id for every attempt at a task, so that replaying the log skips repeated patches.
    return OperationWriter(file, f"urn:uuid:{uuid5(NAMESPACE_OID, name)}", settings)


STATEMENTS: Final = Sink(".jelly", _check_statements, split_graphs, _open_statements)
OPERATIONS: Final = Sink(".jellyp", _check_operations, iter, _open_operations)
