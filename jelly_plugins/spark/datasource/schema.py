"""The columns of the formats, as Spark and Arrow schemas.

Every column is nullable: a row for an error has only the error. Names are case-insensitive, as in
Spark.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, NullType, StringType, StructField, StructType

from ...codec.common.positions import POSITIONS
from ...errors import OptionsError
from ..patch_rows import NUMBERS, PatchRow
from .options import SPLIT

GRAPH: Final = "graph"
#: The column with the kind of operation.
KIND: Final = "kind"

#: The fields of a split term.
TERM: Final = StructType(
    [StructField(name, StringType()) for name in ("value", "kind", "datatype", "language")]
)


def statement_fields(terms: str) -> list[StructField]:
    """Return the columns of a statement.

    :param terms: the option.
    """
    return [StructField(name, _term(terms)) for name in POSITIONS]


def operation_fields(terms: str) -> list[StructField]:
    """Return the columns of an operation.

    :param terms: the option.
    """
    fields = []
    for name in PatchRow._fields:
        kind: DataType = LongType() if name in NUMBERS else StringType()
        fields.append(StructField(name, _term(terms) if name in POSITIONS else kind))
    return fields


def _term(terms: str) -> DataType:
    return TERM if terms == SPLIT else StringType()


def with_errors(fields: list[StructField], column: str | None) -> StructType:
    """Return a schema that also has the column for errors, if any.

    :raises OptionsError: there is a column of this name.
    """
    if column is not None:
        if column.lower() in {field.name.lower() for field in fields}:
            raise OptionsError(
                f"option columnNameOfCorruptRecord: there is already a column {column}; choose "
                "another name"
            )
        fields = [*fields, StructField(column, StringType())]
    return StructType(fields)


def check_requested(given: StructType, available: StructType, corrupt_column: str | None) -> None:
    """Check the schema that a user gives for reading.

    It may have any of the columns, in any order, with their types.

    :param available: all columns of the format.
    :param corrupt_column: name of the column for errors; without it, errors would be rows of nulls.
    :raises OptionsError: it has another column, another type, or a column that is not nullable; or
        it lacks the column for errors.
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
    if corrupt_column and corrupt_column.lower() not in map(str.lower, given.names):
        raise OptionsError(
            f"mode PERMISSIVE needs the column {corrupt_column}: add it to the schema"
        )


def check_written(
    schema: StructType, besides: tuple[str, ...] = (), optional: tuple[str, ...] = ()
) -> None:
    """Check that columns represent statements or operations.

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
        kind, name = each.dataType, each.name.lower()
        if name in optional or isinstance(kind, StringType | NullType):
            continue
        split = isinstance(kind, StructType) and {*map(str.lower, kind.names)} == {*TERM.names}
        if not split or name in besides:
            raise OptionsError(
                f"column {each.name} must be text or a structure of value, kind, datatype and "
                f"language (got {kind.simpleString()})"
            )


def arrow_schema(schema: StructType) -> pa.Schema:
    """Return a schema as Spark expects it of its record batches."""
    return to_arrow_schema(schema, timezone="UTC")
