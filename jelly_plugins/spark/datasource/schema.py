"""The columns of the formats, as Spark and Arrow have them.

Every column can be null: a row of bad input has nothing but its error.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from ...errors import OptionsError
from .patch_row import PatchRow
from .settings import ReadSettings, Terms

#: The positions of terms, in the order of the columns.
POSITIONS: Final = ("subject", "predicate", "object", "graph")
GRAPH: Final = "graph"

#: What a term is split into.
TERM: Final = StructType(
    [StructField(name, StringType()) for name in ("value", "kind", "datatype", "language")]
)

_NUMBERS: Final = ("patch", "transaction", "order")


def statement_schema(settings: ReadSettings) -> StructType:
    """The columns that the format ``jelly`` is read as."""
    fields = [StructField(name, _term(settings)) for name in POSITIONS]
    if settings.source_columns:
        fields += [StructField("source", StringType()), StructField("frame", LongType())]
    return _with_others(fields, settings)


def patch_schema(settings: ReadSettings) -> StructType:
    """The columns that the format ``jelly-patch`` is read as. The file is always one of them:
    patches have numbers only within it. The marks say whether rows are all there, see ``marks``."""
    source, mark = (StructField(name, StringType()) for name in ("source", "mark"))
    return _with_others([source, *operation_fields(settings), mark], settings)


def operation_fields(settings: ReadSettings) -> list[StructField]:
    """What a row says of an operation."""
    fields = []
    for name in PatchRow._fields:
        kind: DataType = LongType() if name in _NUMBERS else StringType()
        fields.append(StructField(name, _term(settings) if name in POSITIONS else kind))
    return fields


def _term(settings: ReadSettings) -> DataType:
    return TERM if settings.terms is Terms.SPLIT else StringType()


def _with_others(fields: list[StructField], settings: ReadSettings) -> StructType:
    """The columns of a format, and those that options ask for.

    :raises OptionsError: two have the same name.
    """
    names = [*(settings.partition_columns or ()), settings.corrupt_column]
    schema = StructType(fields + [StructField(name, StringType()) for name in names if name])
    # Spark does not tell names apart by the case of their letters.
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise OptionsError(f"two columns have the same name: {', '.join(schema.names)}")
    return schema


def asked_schema(ours: StructType, settings: ReadSettings) -> StructType:
    """The columns that the option ``columns`` asks for, in its order; all without it.

    :raises OptionsError: one is not there, or is named twice.
    """
    if settings.columns is None:
        return ours
    fields = {field.name.lower(): field for field in ours}
    for name in settings.columns:
        if name.lower() not in fields:
            raise OptionsError(
                f"option columns: there is no column {name!r}: there are {', '.join(ours.names)}"
            )
    schema = StructType([fields[name.lower()] for name in settings.columns])
    if not schema.fields or len(set(schema.names)) < len(schema.names):
        raise OptionsError("option columns: name at least one column, and each of them once")
    _check_errors(schema, settings)
    return schema


def check_schema(given: StructType, ours: StructType, settings: ReadSettings) -> None:
    """Refuse a schema that a user gives, unless it has some of the columns that there are, as they
    are; which of them, and in what order, is the user's choice.

    :param ours: columns that there are.
    :raises OptionsError: it is another one.
    """
    there = {field.name: field.dataType.simpleString() for field in ours}
    for field in given:
        kind = field.dataType.simpleString()
        if there.get(field.name) != kind or not field.nullable:
            null = "" if field.nullable else " NOT NULL"
            raise OptionsError(
                f"the schema is fixed by the options: its columns are among {ours.simpleString()}, "
                f"all nullable, and {field.name}:{kind}{null} is not one of them"
            )
    _check_errors(given, settings)


def _check_errors(schema: StructType, settings: ReadSettings) -> None:
    """Refuse a schema in which an error would be a row of nulls."""
    if settings.corrupt_column is not None and settings.corrupt_column not in schema.names:
        raise OptionsError(
            f"mode PERMISSIVE needs the column {settings.corrupt_column} among those that are "
            "asked for, or the option badRecordsPath"
        )


def arrow_schema(schema: StructType) -> pa.Schema:
    """A schema as Spark expects its record batches."""
    return to_arrow_schema(schema, timezone="UTC")
