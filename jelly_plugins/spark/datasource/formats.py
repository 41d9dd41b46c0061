"""The differences between the formats, for readers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from .batches import ReadSplit
from .files import DataFile, Files
from .splits import FileSplit


@dataclass(frozen=True)
class Format:
    """A format of files.

    :ivar cut: divides a file into splits of about the given number of bytes, with their sizes.
    :ivar read: reads the batches of a split.
    :ivar boundary: returns how much of a growing file is complete, given how much was before.
    :ivar read_none: returns the batches of a stream's batch without files, given their schema.
    """

    cut: Callable[[DataFile, Files, int], Iterable[tuple[FileSplit, int]]]
    read: ReadSplit
    boundary: Callable[[BinaryIO, DataFile, int], int]
    read_none: Callable[[pa.Schema], Iterator[pa.RecordBatch]]
