"""What one task reads: some whole files, or a split of a large file. Does not import Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil

from ...errors import JellyError
from ...io.sinks import compression_of
from ...io.streams import RestartPoint, find_restarts
from .files import DataFile, Files
from .settings import OPENING_BYTES


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file, or a range of one.

    :ivar start: offset of the first frame to decode (of its delimiter), in bytes.
    :ivar stop: offset after the last frame, in bytes; None for the end of the file.
    :ivar first_frame: number of the frame at ``start``.
    :ivar number: number of the file among the files that are read together, from 0.
    :ivar files: number of files that are read together.
    """

    path: str
    start: int = 0
    stop: int | None = None
    first_frame: int = 0
    number: int = 0
    files: int = 1


def cut(file: DataFile, files: Files, target: int) -> Iterator[tuple[FileSplit, int]]:
    """Divide a Jelly-RDF file into splits of about ``target`` bytes, and return them with their
    sizes.

    Splits start at restart points. A compressed file, or one without restart points, is one split.
    """
    count = ceil(file.size / target)
    if count < 2 or compression_of(file.path) is not None:
        yield FileSplit(file.path), file.size
        return
    starts = [RestartPoint(0, 0)]
    # Errors in the file are reported by the task that reads it.
    with suppress(JellyError), files.open(file.path) as opened:
        # Splits have about equal sizes, so that tasks take about equally long.
        due = 1
        for point in find_restarts(opened):
            if point.offset * count >= due * file.size:
                starts.append(point)
                due = point.offset * count // file.size + 1
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        stop = None if after is None else after.offset
        size = (file.size if stop is None else stop) - start.offset
        yield FileSplit(file.path, start.offset, stop, start.frame), size


def numbered(
    files: Sequence[Iterable[tuple[FileSplit, int]]],
) -> Iterator[tuple[FileSplit, int]]:
    """Return the splits of files that are read together, with the file numbers set.

    :param files: the splits of each file, with their sizes.
    """
    for number, splits in enumerate(files):
        for split, size in splits:
            yield replace(split, number=number, files=len(files)), size


def pack(splits: Iterable[tuple[FileSplit, int]], target: int) -> list[list[FileSplit]]:
    """Group splits into partitions of about ``target`` bytes, in order.

    :param splits: with their sizes in bytes.

    >>> small, large = FileSplit("small"), FileSplit("large")
    >>> [len(splits) for splits in pack([(small, 1), (small, 1), (large, 9 << 20)], 8 << 20)]
    [2, 1]
    """
    partitions: list[list[FileSplit]] = []
    remaining = 0
    for split, size in splits:
        cost = size + OPENING_BYTES
        if not partitions or cost > remaining:
            partitions.append([])
            remaining = target
        partitions[-1].append(split)
        remaining -= cost
    return partitions
