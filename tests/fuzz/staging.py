"""What Spark stages of a log, as far as this needs no JVM: the rows that the driver resolves and
the files of the shards, for a log and for a DataFrame of operations.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from jelly_plugins.codec import DEFAULT_LIMITS, Limits, OperationColumns, delimit
from jelly_plugins.codec.patch.columns import PatchColumnDecoder
from jelly_plugins.codec.text.ntriples import Notation
from jelly_plugins.errors import JellyError
from jelly_plugins.oxigraph.rows import RowFactory
from jelly_plugins.patch.columns import PatchColumnReader
from jelly_plugins.spark.datasource.operations import read_operations
from jelly_plugins.spark.datasource.schema import patch_schema
from jelly_plugins.spark.datasource.settings import ReadSettings
from jelly_plugins.spark.datasource.splits import FileSplit
from jelly_plugins.spark.sharded.completeness import Segments
from jelly_plugins.spark.sharded.frames import _Reading
from jelly_plugins.spark.sharded.layout import Root
from jelly_plugins.spark.sharded.resolve import Stager
from jelly_plugins.spark.sharded.storage import storage_at

from .comparison import Outcome, compare, describe_error
from .lending import lent
from .readers import Frames, limits_for_validated, take_all

_SETTINGS = ReadSettings()
_SCHEMA = to_arrow_schema(patch_schema(_SETTINGS))


def staged(
    decoder_class: Callable[..., Any],
    frames: list[bytes],
    limits: Limits,
    batch_rows: int,
    columns: Callable[[list[bytes], Limits, int], Iterable[OperationColumns]],
) -> Outcome:
    """Stage a log.

    :param columns: makes the columns of its frames.
    """
    # How much is staged before an error depends on how much is read at once.
    with (
        tempfile.TemporaryDirectory() as name,
        patch("jelly_plugins.patch.columns.PatchColumnDecoder", _lending(decoder_class)),
    ):
        folder = Path(name)
        try:
            attempt = storage_at(folder).attempt("attempt")
            rows = list(Stager(attempt, Root(shards=3)).stage(columns(frames, limits, batch_rows)))
        except JellyError as error:
            return [], describe_error(error)
        files = {path.name: path.read_bytes() for path in folder.glob("*/*/*/*")}
        return [rows, files], None


def _lending(decoder_class: Callable[..., Any]) -> Callable[..., Any]:
    """Make a subclass whose frames become unreadable after they were read."""

    class Lending:
        def __init__(self, *given: Any, **settings: Any) -> None:
            self._decoder = decoder_class(*given, **settings)

        def __getattr__(self, name: str) -> Any:
            return getattr(self._decoder, name)

        def decode(self, data: bytes) -> list[OperationColumns]:
            batches: list[OperationColumns] = []
            rejection = lent(take_all, self._decoder, batches, data)
            if rejection is not None:
                kind, source, frame, row, message, _ = rejection.error
                raise kind(message, source=source, frame=frame, row=row)
            return batches

    return Lending


def of_log(frames: list[bytes], limits: Limits, batch_rows: int) -> Iterator[OperationColumns]:
    """Yield columns in the way that a log is read for a sharded store."""
    with PatchColumnReader(
        b"".join(map(delimit, frames)),
        notation=Notation.RDF_1_2,
        validator=RowFactory(),
        limits=limits,
        batch_rows=batch_rows,
    ) as batches:
        yield from batches


def of_frame(frames: list[bytes], _limits: Limits, batch_rows: int) -> Iterator[OperationColumns]:
    """Yield columns in the way that they are made of a DataFrame."""
    with tempfile.TemporaryFile() as file:
        file.write(b"".join(map(delimit, frames)))
        file.seek(0)
        found = read_operations(file, FileSplit("log"), _SETTINGS, _SCHEMA)
        yield from _Reading(Segments()).columns(
            part for batch in found for part in _parts(batch, batch_rows) if part.num_rows
        )


def _parts(batch: pa.RecordBatch, rows: int) -> Iterator[pa.RecordBatch]:
    """Split a batch into chunks, whose buffers begin before their first rows, with a number for the
    name of each file.
    """
    at = batch.schema.get_field_index("source")
    numbered = batch.set_column(at, "source", pa.array([1] * batch.num_rows, pa.int64()))
    return (numbered.slice(start, rows) for start in range(0, batch.num_rows, rows))


def staging_case(rng: random.Random, frames: Frames) -> Outcome:
    columns = rng.choice((of_log, of_frame))
    limits = limits_for_validated(rng) if columns is of_log else DEFAULT_LIMITS
    given = (frames(rng), limits, rng.choice((2, 5, 99)), columns)
    return compare(staged, PatchColumnDecoder, *given)
