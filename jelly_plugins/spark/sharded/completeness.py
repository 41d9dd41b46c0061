"""Check that rows are whole logs, in order: files as they were read, or values.

The reader marks the first and the last row of each file (see ``marks``). The mark of the first row
has the number of the file, and of files that were read together; the mark of the last row has the
number of rows up to it. If rows were shuffled, filtered, truncated or duplicated, a mark is missing
or in the wrong row, a number is wrong, or the order does not increase.

A value is one row, and so is never read in part. Here the mark of its first operation has its
place, a JSON array: the values of one group, such as the messages of a partition in Kafka, are in
the order of their numbers. Does not import Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..marks import Begin, read_mark
from ..ordering import natural
from .errors import IncompleteLogError

_AS_READ: Final = (
    "apply a DataFrame of patches as it was read: do not filter, truncate or shuffle it, or sort "
    "it by source and order again"
)
_NO_ROWS: Final = (
    "the DataFrame has no rows: they were filtered out, or there was no file (isEmpty() on the "
    f"unchanged DataFrame shows which); {_AS_READ}"
)
#: The order of a row that has none.
_NO_PLACE: Final = -1

_BETWEEN: Final = f"the first or last row of a file is between its other rows; {_AS_READ}"


class Segment(NamedTuple):
    """Consecutive rows of one file.

    :ivar file: a number for the file's name.
    :ivar begin: the mark of its first row; None if the file starts in an earlier segment.
    :ivar size: number of rows.
    :ivar first: order of the first row.
    :ivar last: order of the last row.
    :ivar rows: the mark of its last row: rows of the file up to it; None if the file continues.
    """

    file: int
    begin: Begin | None
    size: int
    first: int
    last: int
    rows: int | None

    @classmethod
    def of(cls, plain: list[Any]) -> Segment:
        """Restore a segment from JSON."""
        file, begin, *rest = plain
        return cls(file, None if begin is None else Begin(*begin), *rest)


class Segments:
    """Finds the segments of a partition, batch by batch."""

    def __init__(self) -> None:
        self._all: list[Segment] = []

    def add(self, files: pa.Array, orders: pa.Array, marks: pa.Array) -> None:
        """Add the rows of a batch.

        :param files: a number for each row's file.
        :param orders: orders of the rows in the files; null for a row that has only a mark.
        :param marks: the column ``mark``.
        :raises IncompleteLogError: rows are missing, or not in order.
        """
        if not len(files):
            return
        files, orders = files.to_numpy(), pc.fill_null(orders, _NO_PLACE).to_numpy()
        differs = files[1:] != files[:-1]
        if not bool(np.all(differs | (orders[1:] > orders[:-1]))):
            raise IncompleteLogError(f"the rows of a file are not in order; {_AS_READ}")
        starts = [0, *(np.flatnonzero(differs) + 1).tolist()]
        marked = np.flatnonzero(marks.is_valid().to_numpy(zero_copy_only=False)).tolist()
        found = {row: read_mark(marks[row].as_py()) for row in marked}
        for start, stop in zip(starts, [*starts[1:], len(files)], strict=True):
            last = stop - 1
            begin, rows = found.pop(start, (None, None))
            if last > start:
                again, end = found.pop(last, (None, None))
                if again is not None or rows is not None:
                    raise IncompleteLogError(_BETWEEN)
                rows = end
            file = int(files[start])
            self._add(
                Segment(file, begin, stop - start, int(orders[start]), int(orders[last]), rows)
            )
        if found:
            raise IncompleteLogError(_BETWEEN)

    def _add(self, new: Segment) -> None:
        if self._all and (joined := _joined(self._all[-1], new)) is not None:
            self._all[-1] = joined
            return
        if self._all:
            # The neighbours of the first and the last segment of a partition are unknown here.
            _check_end(self._all[-1])
            _check_begin(new)
        self._all.append(new)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._all)


def _joined(before: Segment, after: Segment) -> Segment | None:
    """Join two segments if the second continues the first; return None otherwise."""
    if before.file != after.file or before.rows is not None or after.begin is not None:
        return None
    if after.first <= before.last:
        raise IncompleteLogError(f"the rows of a file are not in order; {_AS_READ}")
    return before._replace(size=before.size + after.size, last=after.last, rows=after.rows)


def _check_begin(segment: Segment) -> None:
    if segment.begin is None:
        raise IncompleteLogError(f"the first row of a file is missing; {_AS_READ}")


def _check_end(segment: Segment) -> None:
    if segment.rows is None:
        source = None if segment.begin is None else segment.begin.source
        raise IncompleteLogError(f"its last row is missing; {_AS_READ}", source=source)


def check_complete(segments: Iterable[Segment], *, continues: bool) -> None:
    """Check that rows are whole files in the order in which they were read.

    :param segments: of all partitions, in order.
    :param continues: whether files may start where an earlier batch ended.
    :raises IncompleteLogError: they are not, or there are no rows.
    """
    files: list[Segment] = []
    for segment in segments:
        if files and (joined := _joined(files[-1], segment)) is not None:
            files[-1] = joined
            continue
        _check_begin(segment)
        files.append(segment)
    if not files:
        raise IncompleteLogError(_NO_ROWS)
    names: Any = None
    for number, each in enumerate(files):
        begin = each.begin
        assert begin is not None
        _check_end(each)
        if each.rows != begin.before + each.size:
            raise IncompleteLogError(
                f"it has {each.size} of {(each.rows or 0) - begin.before} rows; {_AS_READ}",
                source=begin.source,
            )
        if begin.before and not continues:
            raise IncompleteLogError(
                f"its first {begin.before} rows are missing: they were in an earlier batch of a "
                "stream",
                source=begin.source,
            )
        if begin.lenient:
            raise IncompleteLogError(
                "it was read in mode PERMISSIVE, which skips corrupt data: read patches in mode "
                "FAILFAST to apply them",
                source=begin.source,
            )
        before = files[number - 1].begin if number else None
        if before is not None and (before.files != begin.files or begin.number <= before.number):
            raise IncompleteLogError(
                "it comes after a file that was read later, or in another DataFrame: pass all "
                "files to one load(), or apply them one after the other",
                source=begin.source,
            )
        if begin.number > number:
            raise IncompleteLogError(
                f"{_missing(number, begin.number - 1, begin.files)} before it; {_AS_READ}",
                source=begin.source,
            )
        if not continues and natural(begin.source) == names:
            raise IncompleteLogError(
                "its name does not determine whether it comes before or after the previous file: "
                "they differ only in leading zeros; rename one of them",
                source=begin.source,
            )
        names = natural(begin.source)
    last = files[-1].begin
    assert last is not None
    if len(files) < last.files:
        raise IncompleteLogError(
            f"{_missing(len(files), last.files - 1, last.files)} after it; {_AS_READ}",
            source=last.source,
        )


def _missing(first: int, last: int, files: int) -> str:
    """Return the message for missing files, by their numbers from 0."""
    if first == last:
        return f"file {first + 1} of {files} is missing"
    return f"files {first + 1} to {last + 1} of {files} are missing"


class Values:
    """Finds the places of the values of a partition, batch by batch."""

    def __init__(self) -> None:
        #: The first and the last number in each group.
        self._groups: dict[str, tuple[int, int | None]] = {}

    def add(self, _: pa.Array, orders: pa.Array, marks: pa.Array) -> None:
        """Add the operations of a batch, as :meth:`Segments.add`.

        :raises IncompleteLogError: a value is null or corrupt, or values are not in order.
        """
        starts = marks.is_valid()
        for text, order in zip(
            marks.filter(starts).to_pylist(), orders.filter(starts).to_pylist(), strict=True
        ):
            group, last = json.loads(text)
            if order is None:
                raise IncompleteLogError(
                    "the value is null or corrupt: call from_jelly_patch in mode FAILFAST, and "
                    "filter out nulls if rows without a log are expected",
                    source=f"{group}/{last}",
                )
            if last is None:
                raise IncompleteLogError(
                    "the last column of order_by must be a number that is not null", source=group
                )
            number = int(last)
            first, before = self._groups.get(group, (number, None))
            _check_after(group, before, number)
            self._groups[group] = (first, number)

    def __iter__(self) -> Iterator[tuple[str, int, int | None]]:
        return ((group, first, last) for group, (first, last) in self._groups.items())


def check_ordered(places: Iterable[tuple[str, int, int]]) -> None:
    """Check that values are in order, across partitions.

    :param places: of all partitions, in order.
    :raises IncompleteLogError: they are not.
    """
    reached: dict[str, int] = {}
    for group, first, last in places:
        _check_after(group, reached.get(group), first)
        reached[group] = last


def _check_after(group: str, before: int | None, number: int) -> None:
    if before is not None and number <= before:
        raise IncompleteLogError(
            f"value {number} comes after value {before}: sort the DataFrame by the columns of "
            "order_by, which must identify each row, before it calls from_jelly_patch",
            source=group,
        )
