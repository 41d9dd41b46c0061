"""Patches in DataFrames: the net changes of quads, and their application to shards by Spark.

RDF has set semantics, so that committed transactions reduce to one change for each quad: the last
operation on it. After that, neither the order of rows nor the number of attempts matters, and Spark
may shuffle and retry as it does. The driver collects a row for each patch, and none for quads.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any, Final

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType

from ...codec.common.positions import POSITIONS
from ...codec.patch.operations import OperationKind
from ...errors import JellyError, OptionsError, SourceError
from ..patch_rows import ABOUT, ROWS
from .changes import (
    ABORT,
    ADD,
    CHANGES,
    COMMIT,
    NAMESPACES,
    Bound,
    Changes,
    PatchRows,
    operations_of,
)
from .root import Shard, Storage, Version
from .shard import Changed, canonical_terms, change

#: The columns of an operation in its log.
_IN_LOG: Final = tuple(ROWS.names)
_KINDS: Final = tuple(kind.code for kind in OperationKind)
_ABOUT: Final = tuple(kind.code for kind in ABOUT)
#: Digits that numbers in names are padded to, to be compared as text.
_DIGITS: Final = 40
_CORRUPT: Final = "corrupt data, or an unknown kind: read patches in mode FAILFAST to apply them"

_REASON: Final = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)


# The rows of patches


def net_changes(frame: DataFrame) -> DataFrame:
    """Return the net changes of patches: for each quad, the last operation on it.

    Operations of transactions that are aborted, or do not end, are left out. Literals are in
    Oxigraph's form, in which equal values have equal text.

    :param frame: of ``spark.read.format("jelly-patch")``. Files are in the order of their names,
        with numbers compared as numbers.
    :return: the columns ``kind`` (``A`` or ``D``), ``subject``, ``predicate``, ``object`` and
        ``graph``, as text of N-Triples; null for the default graph.
    :raises OptionsError: the DataFrame has other columns.
    """
    corrupt = sf.raise_error(sf.lit(f"a row reports {_CORRUPT}"))
    rows = rows_of(frame).withColumn("kind", sf.coalesce("kind", corrupt))
    return _net(_committed(rows)).select("kind", *POSITIONS)


def rows_of(frame: DataFrame, number: int = 0) -> DataFrame:
    """Return the rows of ``spark.read.format("jelly-patch")`` with the column ``place``, which
    gives the order of the files; ``number`` is that of the DataFrame among others."""
    missing = {"source", *_IN_LOG} - set(frame.columns)
    if missing or frame.schema["subject"].dataType != StringType():
        raise OptionsError(
            "a DataFrame of patches must have the columns of the format jelly-patch, with terms as "
            "text" + (f"; {', '.join(sorted(missing))} is missing" if missing else "")
        )
    return frame.select(_place(number), *_IN_LOG)


def rows_of_paths(spark: SparkSession, paths: Sequence[Any]) -> DataFrame:
    """Return the rows of files or folders, in the order of the paths."""
    # Without rows for headers, a patch without operations would be missing.
    reader = spark.read.format("jelly-patch").option("headers", "true")
    frames = (reader.load(str(path)) for path in paths)
    return reduce(DataFrame.unionByName, (rows_of(frame, at) for at, frame in enumerate(frames)))


def _place(number: int) -> Column:
    """Return the position of a file: values of this column are in the order of the files."""
    # As natural() of the data sources: numbers in names get leading zeros, and folders come before
    # their siblings' longer names.
    key = sf.regexp_replace("source", "([0-9]+)", "0" * _DIGITS + "$1")
    key = sf.regexp_replace(key, f"[0-9]*([0-9]{{{_DIGITS}}})", "$1")
    key = sf.translate(key, "/", "\x01")
    return sf.struct(sf.lit(number).alias("list"), key.alias("key"), "source").alias("place")


# Net changes


def _committed(rows: DataFrame) -> DataFrame:
    """Return the rows outside of transactions, and those of transactions that are committed."""
    ended = rows.where(rows.kind == COMMIT).select("place", "transaction")
    return rows.where(rows.transaction.isNull()).unionByName(
        rows.join(ended, ["place", "transaction"], "left_semi").select(rows.columns)
    )


def _net(rows: DataFrame, layout: Version | None = None) -> DataFrame:
    """Return the last operation on each quad, in Oxigraph's form; with a layout, also the column
    ``shard``."""
    changes = rows.where(sf.col("kind").isin(*CHANGES))
    changes = _canonical(changes.select("place", "order", "kind", *POSITIONS))
    keys = list(POSITIONS)
    if layout is not None:
        # One shuffle, for the last operations and for the shards.
        changes = _with_shard(changes, layout).repartition("shard")
        keys = ["shard", *keys]
    last = sf.max_by("kind", sf.struct("place", "order")).alias("kind")
    return changes.groupBy(*keys).agg(last)


def _canonical(rows: DataFrame) -> DataFrame:
    return rows.mapInArrow(_canonical_batches, rows.schema)


def _canonical_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bring the terms of rows to Oxigraph's form. Errors name the file and row."""
    for batch in batches:
        for at, name in enumerate(POSITIONS):
            try:
                terms = canonical_terms(batch[name], at)
            except JellyError as error:
                if error.row is not None and "place" in batch.schema.names:
                    source = batch["place"][error.row].as_py()["source"]
                    row = batch["order"][error.row].as_py()
                    error.message = f"{source}, row {row}: {error.message}"
                    error.row = None
                raise
            index = batch.schema.get_field_index(name)
            batch = batch.set_column(index, batch.schema.field(name), terms)
        yield batch


def _with_shard(rows: DataFrame, layout: Version) -> DataFrame:
    key = sf.coalesce(sf.col(layout.shard_by), sf.lit(""))
    number = sf.pmod(sf.xxhash64(key), sf.lit(len(layout.shards)))
    return rows.withColumn("shard", number.cast("int"))


# Changes to shards


@contextmanager
def frame_changes(rows: DataFrame) -> Iterator[Changes]:
    """Read the patches of rows, see :func:`rows_of`. Reading rejects files that end inside a
    transaction."""
    # Read once, for all jobs.
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield _summary(rows)
    finally:
        rows.unpersist()


def _summary(rows: DataFrame) -> Changes:
    """Collect a row for each patch."""
    kind = sf.col("kind")
    found = (
        rows.groupBy("place", "patch")
        .agg(
            sf.max("id").alias("id"),
            sf.max("prev").alias("prev"),
            sf.count_if(~kind.isin(*_ABOUT)).alias("rows"),
            (sf.count("*") > sf.max("order") - sf.min("order") + 1).alias("twice"),
            sf.count_if(kind == ABORT).alias("aborted"),
            sf.count_if(kind.isin(*NAMESPACES)).alias("binds"),
            sf.count_if(kind.isNull() | ~kind.isin(*_KINDS)).alias("invalid"),
        )
        .coalesce(1)
        .sortWithinPartitions("place", "patch")
    )
    patches = []
    aborted = binds = 0
    with failures_as_errors("reading patches"):
        for row in found.toLocalIterator():
            if row.invalid:
                raise SourceError(f"a row reports {_CORRUPT}", source=row.place.source)
            if row.twice:
                raise SourceError(
                    "two logs have the same name in the column source", source=row.place.source
                )
            aborted += row.aborted
            binds += row.binds
            patches.append(PatchRows((row.place, row.patch), row.id, row.prev, row.rows))

    def change(storage: Storage, layout: Version, start: int) -> tuple[list[Changed], list[Bound]]:
        """Apply the patches from one on, each shard in a task."""
        new = rows
        if start:
            place, patch = patches[start].place
            given = sf.struct(*map(sf.lit, place)).cast(rows.schema["place"].dataType)
            at = sf.struct(given, sf.lit(patch).cast("bigint"))
            new = rows.where(sf.struct("place", "patch") >= at)
        if aborted:
            new = _committed(new)
        made = _change(_net(new, layout), storage, layout.shards)
        return made, _bound(new) if binds else []

    return Changes(patches, change, aborted)


def _bound(rows: DataFrame) -> list[Bound]:
    """Return the last operation on each namespace."""
    row = sf.struct("graph", "name", "kind", "value")
    last = sf.max_by(row, sf.struct("place", "order")).alias("last")
    bound = rows.where(sf.col("kind").isin(*NAMESPACES)).groupBy("graph", "name").agg(last)
    with failures_as_errors("reading namespaces"):
        return [Bound.of(found.last.asDict()) for found in bound.collect()]


def statement_changes(frame: DataFrame) -> Changes:
    """Return the statements of a DataFrame, as one patch that adds them."""
    types = dict(frame.dtypes)
    for name in POSITIONS[:3]:
        if name not in types:
            raise OptionsError(f"the DataFrame has no column {name}: {frame.columns}")
    # A column without values, such as one of VOID, is one of nulls.
    for name in POSITIONS:
        if types.get(name, "void") not in ("string", "void"):
            raise OptionsError(f"column {name} must be text of N-Triples (got {types[name]})")
    terms = {name: sf.col(name) if name in types else sf.lit(None) for name in POSITIONS}
    rows = frame.select(
        sf.lit(ADD).alias("kind"),
        *(column.cast("string").alias(name) for name, column in terms.items()),
    )

    def change(storage: Storage, layout: Version, start: int) -> tuple[list[Changed], list[Bound]]:  # noqa: ARG001
        return _change(_with_shard(_canonical(rows), layout), storage, layout.shards), []

    return Changes((PatchRows(None, None, None, 0),), change)


def _change(changes: DataFrame, storage: Storage, bases: Sequence[Shard]) -> list[Changed]:
    """Apply changes to the shards, each in a task; Spark runs failed tasks again.

    :param changes: the columns ``shard``, ``kind`` and those of a quad, in Oxigraph's form.
    """

    def task(keys: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = keys[0].as_py()
        done = change(storage, number, bases[number], map(operations_of, batches))
        yield pa.RecordBatch.from_pydict({"result": pa.array([pickle.dumps(done)], pa.binary())})

    with failures_as_errors("a shard's task"):
        found = changes.groupBy("shard").applyInArrow(task, "result binary").collect()
    return [pickle.loads(row.result) for row in found]


@contextmanager
def failures_as_errors(what: str) -> Iterator[None]:
    """Convert exceptions that Spark raises for a failed job to a :class:`JellyError`."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        text = str(error)
        # The worker's traceback ends with the reason; Spark's own lines follow it.
        found = _REASON.findall(text)
        reason = next((f"{name}: {each}" for name, each in found if "Exception" not in name), None)
        lines = text.strip().splitlines()
        # Without a worker, Java's message has the reason after the name of the call.
        java = next((line[2:] for line in lines if line.startswith(": ")), lines[0])
        raise JellyError(f"{what} failed: {reason or java}") from error
