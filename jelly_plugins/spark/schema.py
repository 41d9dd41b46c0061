"""The columns of the formats, as Spark and Arrow have them.

Every column can be null: a row of bad input has nothing but its error.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, LongType, StringType, StructField, StructType

from ..errors import OptionsError
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
    return StructType(fields + _corrupt(settings))


def patch_schema(settings: ReadSettings) -> StructType:
    """The columns that the format ``jelly-patch`` is read as. The file is always one of them:
    patches have numbers only within it. The marks say whether rows are all there, see ``marks``."""
    fields = [StructField("source", StringType())]
    for name in PatchRow._fields:
        kind: DataType = LongType() if name in _NUMBERS else StringType()
        fields.append(StructField(name, _term(settings) if name in POSITIONS else kind))
    fields.append(StructField("mark", StringType()))
    return StructType(fields + _corrupt(settings))


def _term(settings: ReadSettings) -> DataType:
    return TERM if settings.terms is Terms.SPLIT else StringType()


def _corrupt(settings: ReadSettings) -> list[StructField]:
    name = settings.corrupt_column
    return [] if name is None else [StructField(name, StringType())]


def check_schema(given: StructType, ours: StructType) -> None:
    """Refuse a schema that a user gives, unless it is the one that there is.

    :raises OptionsError: it is another one.
    """
    if given.simpleString() != ours.simpleString():
        raise OptionsError(
            f"the schema is fixed by the options; it is {ours.simpleString()}, "
            f"and not {given.simpleString()}"
        )


def arrow_schema(schema: StructType) -> pa.Schema:
    """A schema as Spark expects its record batches."""
    return to_arrow_schema(schema, timezone="UTC")
