"""The columns of the formats, as Spark and Arrow schemas.

Every column is nullable: a row for an error has only the error.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from ...codec.common.positions import POSITIONS
from ...errors import OptionsError
from .settings import ReadSettings, Terms

GRAPH: Final = "graph"

#: The fields of a split term.
TERM: Final = StructType(
    [StructField(name, StringType()) for name in ("value", "kind", "datatype", "language")]
)

#: Columns of numbers of patch files; all others are text.
NUMBERS: Final = ("patch", "transaction", "order")


class PatchRow(NamedTuple):
    """An operation and its position in the file. Terms are text of N-Triples.

    :ivar patch: number of its patch in the file, from 0.
    :ivar id: the patch's header ``id``, if it has been read.
    :ivar prev: the patch's header ``prev``, if it has been read.
    :ivar transaction: number of its transaction in the file, from 0; None outside of a transaction.
        TX, TC and TA belong to the transaction that they start or end.
    :ivar order: number of the row in the file, from 0; headers and ends of patches count.
    :ivar kind: as in RDF Patch text: A, D, PA, PD, TX, TC, TA; H and Z on request.
    :ivar name: of a namespace or header.
    :ivar value: the IRI of a namespace, the term of a header.
    """

    patch: int
    id: str | None
    prev: str | None
    transaction: int | None
    order: int
    kind: str
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    graph: str | None = None
    name: str | None = None
    value: str | None = None


def statement_schema(settings: ReadSettings) -> StructType:
    """Return the columns of the format ``jelly``."""
    fields = [StructField(name, _term(settings)) for name in POSITIONS]
    if settings.source_columns:
        fields += [StructField("source", StringType()), StructField("frame", LongType())]
    return _with_others(fields, settings)


def patch_schema(settings: ReadSettings) -> StructType:
    """Return the columns of the format ``jelly-patch``.

    They always include ``source``, because patch numbers count within a file. The column ``mark``
    detects missing rows, see ``marks``.
    """
    source, mark = (StructField(name, StringType()) for name in ("source", "mark"))
    return _with_others([source, *operation_fields(settings), mark], settings)


def operation_fields(settings: ReadSettings) -> list[StructField]:
    """Return the columns of an operation."""
    fields = []
    for name in PatchRow._fields:
        kind: DataType = LongType() if name in NUMBERS else StringType()
        fields.append(StructField(name, _term(settings) if name in POSITIONS else kind))
    return fields


def _term(settings: ReadSettings) -> DataType:
    return TERM if settings.terms is Terms.SPLIT else StringType()


def _with_others(fields: list[StructField], settings: ReadSettings) -> StructType:
    """Return the columns of a format with the columns that options add.

    :raises OptionsError: two columns have the same name.
    """
    names = [*(settings.partition_columns or ()), settings.corrupt_column]
    schema = StructType(fields + [StructField(name, StringType()) for name in names if name])
    # Spark ignores case in names.
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise OptionsError(
            f"two columns have the same name: {', '.join(schema.names)}; rename one of them "
            "(partitionColumns, columnNameOfCorruptRecord)"
        )
    return schema


def requested_schema(available: StructType, settings: ReadSettings) -> StructType:
    """Return the columns that the option ``columns`` selects, in its order; all without it.

    :raises OptionsError: a name is not a column, or is given twice.
    """
    if settings.columns is None:
        return available
    fields = {field.name.lower(): field for field in available}
    for name in settings.columns:
        if name.lower() not in fields:
            raise OptionsError(
                f"option columns: {name!r} is not a column: "
                f"choose from {', '.join(available.names)}"
            )
    schema = StructType([fields[name.lower()] for name in settings.columns])
    if not schema.fields or len(set(schema.names)) < len(schema.names):
        raise OptionsError("option columns: name at least one column, each once")
    _check_errors(schema, settings)
    return schema


def check_schema(given: StructType, available: StructType, settings: ReadSettings) -> None:
    """Check a schema that the user gives.

    It may have any of the columns, in any order, with their types. Names are case-insensitive, as
    in Spark.

    :param available: all columns of the format.
    :raises OptionsError: it has another column, another type, or a column that is not nullable.
    """
    there = {field.name.lower(): field.dataType.simpleString() for field in available}
    for field in given:
        kind = field.dataType.simpleString()
        if there.get(field.name.lower()) != kind or not field.nullable:
            null = "" if field.nullable else " NOT NULL"
            raise OptionsError(
                f"column {field.name}:{kind}{null} is not available: with these options, the "
                f"columns are {available.simpleString()}, all nullable"
            )
    _check_errors(given, settings)


def _check_errors(schema: StructType, settings: ReadSettings) -> None:
    """Check that a schema has a column for errors; without it, errors would be rows of nulls."""
    names = {name.lower() for name in schema.names}
    if settings.corrupt_column is not None and settings.corrupt_column.lower() not in names:
        raise OptionsError(
            f"mode PERMISSIVE needs the column {settings.corrupt_column}: add it to the selected "
            "columns, or set badRecordsPath"
        )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return a schema as Spark expects it of its record batches."""
    return to_arrow_schema(schema, timezone="UTC")
