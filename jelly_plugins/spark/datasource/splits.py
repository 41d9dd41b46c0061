"""What one task reads: some whole files, or a split of a large file. Does not import Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: Cost of opening a file, in bytes read.
_OPENING_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileSplit:
    """A file, or a range of one.

    :ivar start: offset of the first frame (of its delimiter), in bytes.
    :ivar stop: offset after the last frame, in bytes; None for the end of the file.
    :ivar first_frame: number of the frame at ``start``.
    """

    path: str
    start: int = 0
    stop: int | None = None
    first_frame: int = 0


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
        cost = size + _OPENING_BYTES
        if not partitions or cost > remaining:
            partitions.append([])
            remaining = target
        partitions[-1].append(split)
        remaining -= cost
    return partitions
