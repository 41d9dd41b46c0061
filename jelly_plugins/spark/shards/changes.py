"""Patches in DataFrames: the net changes of quads, and their application to shards by Spark.

RDF has set semantics, so that committed transactions reduce to one change for each quad: the last
operation on it. After that, neither the order of rows nor the number of attempts matters, and Spark
may shuffle and retry as it does. The driver collects a row for each patch, and none for quads.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, StringType, StructType

from ...arrow import QUADS
from ...codec.common.positions import POSITIONS
from ...codec.patch.operations import OperationKind
from ...errors import JellyError, OptionsError, SourceError, TermError, TruncatedError
from ...reserved import reject_graph
from .chains import PatchRows, Resolved, resolve
from .root import Shard, Version
from .shard import OPERATIONS, Changed, change
from .staging import Bound
from .storage import Storage
from .tasks import failures_as_errors
from .terms import canonical_terms

__all__ = ["FrameChanges", "FrameStatements", "net_changes"]

_ADD: Final = OperationKind.ADD.code
_CHANGES: Final = (_ADD, OperationKind.DELETE.code)
_BEGIN: Final = OperationKind.BEGIN.code
_COMMIT: Final = OperationKind.COMMIT.code
_ABORT: Final = OperationKind.ABORT.code
_BINDS: Final = OperationKind.ADD_NAMESPACE.code
_NAMESPACES: Final = (_BINDS, OperationKind.DELETE_NAMESPACE.code)
#: Headers and ends of patches, which are rows only if an option requests them.
_ABOUT: Final = (OperationKind.HEADER.code, OperationKind.END.code)
_KINDS: Final = tuple(kind.code for kind in OperationKind)

#: The columns of an operation in its log, and those that give the position of the log.
_IN_LOG: Final = (
    *("patch", "id", "prev", "transaction", "order", "kind", *POSITIONS),
    *("name", "value"),
)
_PLACE: Final = ("list", "key", "source", "number")
#: Digits that numbers in names are padded to, to be compared as text.
_DIGITS: Final = 40
_RESULT: Final = "result binary"


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
    corrupt = sf.raise_error(sf.lit("a row reports corrupt data: read patches in mode FAILFAST"))
    rows = rows_of(frame).withColumn("kind", sf.coalesce("kind", corrupt))
    ended = rows.where(rows.kind == _COMMIT).select("place", "transaction")
    return _net(
        rows.where(rows.transaction.isNull()).unionByName(
            rows.join(ended, ["place", "transaction"], "left_semi").select(rows.columns)
        )
    )


def rows_of(frame: DataFrame, number: int = 0) -> DataFrame:
    """Return the rows of ``spark.read.format("jelly-patch")`` with the column ``place``, which
    gives the order of the files.

    :param number: number of the DataFrame among others.
    :raises OptionsError: a column is missing, or its terms are split.
    """
    missing = {"source", *_IN_LOG} - set(frame.columns)
    if missing or frame.schema["subject"].dataType != StringType():
        raise OptionsError(
            "a DataFrame of patches must have the columns of the format jelly-patch, with terms as "
            "text" + (f"; {', '.join(sorted(missing))} is missing" if missing else "")
        )
    return frame.select(_place(number, sf.col("source"), sf.lit(0)), *_IN_LOG)


def rows_of_paths(spark: SparkSession | None, paths: Sequence[Any]) -> DataFrame:
    """Return the rows of files or folders, in the order of the paths."""
    assert spark is not None
    # Without rows for headers, a patch without operations would be missing.
    reader = spark.read.format("jelly-patch").option("headers", "true")
    frames = (reader.load(str(path)) for path in paths)
    return reduce(DataFrame.unionByName, (rows_of(frame, at) for at, frame in enumerate(frames)))


def rows_of_logs(frame: DataFrame, column: str, order_by: Sequence[str]) -> DataFrame:
    """Return the rows of a DataFrame with a log in each row, see :func:`.apply_patches`.

    :raises OptionsError: a column is missing or has another type.
    """
    if isinstance(order_by, str) or not order_by:
        raise TypeError(f"order_by must be a list of names of columns (got {order_by!r})")
    for name in (column, *order_by):
        if name not in frame.columns:
            hint = "" if name == column else ". Pass order_by, see its documentation"
            raise OptionsError(f"the DataFrame has no column {name}: {frame.columns}{hint}")
    log = frame.schema[column].dataType
    element = log.elementType if isinstance(log, ArrayType) else None
    if not isinstance(element, StructType) or not {*_IN_LOG} <= {*element.names}:
        raise OptionsError(
            f"column {column} must be a result of from_jelly_patch, with terms as text "
            f"(got {log.simpleString()})"
        )
    *others, last = order_by
    group = sf.concat_ws("/", *(sf.col(name).cast("string") for name in others))
    # A null is an error, and must not disappear with its row.
    operations = sf.coalesce(sf.col(column), sf.array(sf.lit(None)).cast(log))
    exploded = frame.select(_place(0, group, sf.col(last)), sf.explode(operations).alias("row"))
    return exploded.select("place", "row.*").select("place", *_IN_LOG)


def _place(number: int, source: Column, at: Column) -> Column:
    """Return the position of a log: values of this column are in the order of the logs."""
    # Numbers in names get leading zeros; folders come before their siblings' longer names.
    key = sf.regexp_replace(source, "([0-9]+)", "0" * _DIGITS + "$1")
    key = sf.regexp_replace(key, f"[0-9]*([0-9]{{{_DIGITS}}})", "$1")
    key = sf.translate(key, "/", "\x01")
    values = (sf.lit(number), key, source, at.cast("bigint"))
    return sf.struct(
        *(value.alias(name) for name, value in zip(_PLACE, values, strict=True))
    ).alias("place")


def _net(rows: DataFrame) -> DataFrame:
    """Return the last operation on each quad."""
    changes = rows.where(sf.col("kind").isin(*_CHANGES)).select(
        "place", "order", "kind", *POSITIONS
    )
    canonical = changes.mapInArrow(_canonical, changes.schema)
    last = sf.max_by("kind", sf.struct("place", "order")).alias("kind")
    return canonical.groupBy(*POSITIONS).agg(last).select("kind", *POSITIONS)


def _canonical(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Bring the terms of rows to Oxigraph's form.

    :raises JellyError: a term is not valid; names its file and row.
    """
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
            batch = batch.set_column(
                batch.schema.get_field_index(name), batch.schema.field(name), terms
            )
        yield batch


class FrameChanges:
    """The patches of rows with the column ``place``; a context manager.

    :param rows: see :func:`rows_of`.
    :param whole: whether the log must end with the end of a transaction.
    :raises JellyError: the rows cannot be read, or are not those of whole patches.

    :ivar inside: whether the log ends inside a transaction.
    :ivar aborted: number of aborted transactions.
    """

    def __init__(self, rows: DataFrame, *, whole: bool) -> None:
        # Read once, for all jobs.
        self._rows: Final = rows.persist(StorageLevel.MEMORY_AND_DISK)
        self.inside = False
        self.aborted = 0
        self._binds = 0
        #: The patches; their places are those of the log, its number, and of its first row.
        self._patches: list[PatchRows] = []
        try:
            self._summarise(whole)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.unpersist()

    def _summarise(self, whole: bool) -> None:
        """Collect a row for each patch."""
        kind = sf.col("kind")
        order = sf.when(~kind.isin(*_ABOUT), sf.col("order"))
        ends = kind.isin(_COMMIT, _ABORT)
        complete = sf.when(ends | sf.col("transaction").isNull(), order)
        found = (
            self._rows.groupBy("place", "patch")
            .agg(
                sf.max("id").alias("id"),
                sf.max("prev").alias("prev"),
                sf.min(order).alias("first"),
                sf.max(complete).alias("last"),
                sf.max(order).alias("end"),
                sf.count(order).alias("rows"),
                sf.count_if(kind == _BEGIN).alias("begins"),
                sf.count_if(ends).alias("ends"),
                sf.count_if(kind == _ABORT).alias("aborted"),
                sf.count_if(kind.isin(*_NAMESPACES)).alias("binds"),
                sf.count_if(kind.isNull() | ~kind.isin(*_KINDS)).alias("invalid"),
            )
            .coalesce(1)
            .sortWithinPartitions("place", "patch")
        )
        with failures_as_errors("reading patches"):
            for row in found.toLocalIterator():
                self._add(row, whole)

    def _add(self, row: Any, whole: bool) -> None:
        if row.invalid:
            raise SourceError(
                "a row reports corrupt data, or has an unknown kind: read patches in mode FAILFAST "
                "to apply them",
                source=row.place.source or None,
            )
        if row.place.number is None:
            raise OptionsError("the last column of order_by must be a number, and not null")
        first = row.first or 0
        if row.rows > (row.end or 0) - first + 1:
            raise SourceError(
                "two logs have the same position: give each path once, and order_by columns that "
                "identify a row",
                source=f"{row.place.source} {row.place.number or ''}".strip(),
            )
        if self.inside:
            before = self._patches[-1].place[0].source
            raise TruncatedError("the log ends inside a transaction", source=before or None)
        self.inside = row.begins != row.ends
        if self.inside and whole:
            raise TruncatedError("the batch ends inside a transaction", source=row.place.source)
        self.aborted += row.aborted
        self._binds += row.binds
        rows = 0 if row.last is None else row.last - first + 1
        self._patches.append(PatchRows((row.place, row.patch, first), row.id, row.prev, rows))

    def resolve(self, version: Version, *, check_prev: bool, forget: bool) -> Resolved:
        """Find out what of the log is new to a version, see :func:`.chains.resolve`."""
        patches = self._patches
        if self.inside and not patches[-1].rows:
            # What may become of it is not known yet.
            patches = patches[:-1]
        return resolve(patches, version.logs, check_prev=check_prev, forget=forget)

    def _new(self, resolved: Resolved) -> DataFrame:
        """Return the rows that apply: new ones, of transactions that are committed."""
        rows = self._rows
        at = sf.struct("place", "patch", "order")
        if resolved.after is not None:
            place, patch, first = resolved.after
            rows = rows.where(at > _literal(place, patch, first + resolved.rows - 1))
        if self.inside:
            (place, patch, first), *_, complete = self._patches[-1]
            rows = rows.where(at < _literal(place, patch, first + complete))
        if self.aborted:
            aborted = self._rows.where(sf.col("kind") == _ABORT).select("place", "transaction")
            rows = rows.join(aborted.distinct(), ["place", "transaction"], "left_anti")
        return rows

    def namespaces(self, resolved: Resolved) -> Iterable[Bound]:
        """Return the last operation on each namespace."""
        if not self._binds:
            return
        rows = self._new(resolved).where(sf.col("kind").isin(*_NAMESPACES))
        last = sf.max_by(sf.struct("kind", "value"), sf.struct("place", "order")).alias("last")
        graph = sf.coalesce("graph", sf.lit("")).alias("graph")
        with failures_as_errors("reading namespaces"):
            found = rows.groupBy(graph, "name").agg(last).collect()
        for row in found:
            reject_graph(row.graph, what="a namespace")
            iri = row.last.value[1:-1] if row.last.kind == _BINDS else None
            yield Bound(row.graph, row.name, iri)

    def change(
        self, storage: Storage, version: Version, bases: Sequence[Shard], resolved: Resolved
    ) -> Iterable[Changed]:
        """Apply what is new to the shards, each in a task."""
        if not resolved.patches:
            return []
        return _change(_net(self._new(resolved)), storage, version, bases)


class FrameStatements:
    """The statements of a DataFrame, as changes that add them.

    :param frame: see :func:`.write_shards`.
    :raises OptionsError: a column is missing or has another type.
    """

    inside: Final = False
    aborted: Final = 0

    def __init__(self, frame: DataFrame) -> None:
        types = dict(frame.dtypes)
        for name in POSITIONS[:3]:
            if name not in types:
                raise OptionsError(f"the DataFrame has no column {name}: {frame.columns}")
        # A column without values, such as one of VOID, is one of nulls.
        for name in POSITIONS:
            if types.get(name, "void") not in ("string", "void"):
                raise OptionsError(f"column {name} must be text of N-Triples (got {types[name]})")
        graph = sf.col("graph") if "graph" in types else sf.lit(None)
        terms = [sf.col(name).cast("string").alias(name) for name in POSITIONS[:3]]
        self._rows: Final = frame.select(
            sf.lit(_ADD).alias("kind"), *terms, graph.cast("string").alias("graph")
        )

    def resolve(self, version: Version, *, check_prev: bool, forget: bool) -> Resolved:  # noqa: ARG002
        """Return that all statements are new."""
        return Resolved(logs=version.logs, patches=1)

    def namespaces(self, resolved: Resolved) -> Iterable[Bound]:  # noqa: ARG002
        """Return no namespaces."""
        return ()

    def change(
        self,
        storage: Storage,
        version: Version,
        bases: Sequence[Shard],
        resolved: Resolved,  # noqa: ARG002
    ) -> Iterable[Changed]:
        """Add the statements to the shards, each in a task."""
        canonical = self._rows.mapInArrow(_canonical, self._rows.schema)
        return _change(canonical, storage, version, bases)


def _change(
    changes: DataFrame, storage: Storage, version: Version, bases: Sequence[Shard]
) -> list[Changed]:
    """Apply changes to the shards, each in a task; Spark runs failed tasks again.

    :param changes: the columns ``kind`` and those of a quad, in Oxigraph's form.
    """
    count = len(bases)
    key = sf.coalesce(sf.col(version.shard_by), sf.lit(""))
    rows = changes.withColumn("shard", sf.pmod(sf.xxhash64(key), sf.lit(count)).cast("int"))

    def task(keys: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        number = keys[0].as_py()
        done = change(storage, number, bases[number], map(_operations, batches))
        yield pa.RecordBatch.from_pydict({"result": pa.array([pickle.dumps(done)], pa.binary())})

    with failures_as_errors("a shard's task"):
        found = rows.groupBy("shard").applyInArrow(task, _RESULT).collect()
    return [pickle.loads(row.result) for row in found]


def _operations(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of Spark as operations."""
    for name in POSITIONS[:3]:
        if batch[name].null_count:
            raise TermError(f"the {name} is null")
    columns = [batch[name].cast(pa.string()) for name in POSITIONS]
    return pa.RecordBatch.from_arrays([*columns, pc.equal(batch["kind"], _ADD)], schema=OPERATIONS)


def _literal(place: Any, patch: int, order: int) -> Column:
    """Return the position of a row as a value."""
    types = ("int", "string", "string", "bigint")
    fields = [
        sf.lit(place[name]).cast(type_).alias(name)
        for name, type_ in zip(_PLACE, types, strict=True)
    ]
    numbers = (sf.lit(value).cast("bigint") for value in (patch, order))
    return sf.struct(sf.struct(*fields), *numbers)


assert QUADS.names == list(POSITIONS)
