"""What the formats differ in, for those who read them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa

from .batches import ReadPiece
from .files import DataFile, Files
from .parts import Piece


@dataclass(frozen=True)
class Format:
    """A format of files.

    :ivar cut: a file in pieces of about so many bytes, with their sizes.
    :ivar read: the batches of a piece.
    :ivar boundary: how much of a growing file is complete, given how much was before.
    :ivar read_none: the batches of a stream's batch that has no files, given their schema.
    """

    cut: Callable[[DataFile, Files, int], Iterable[tuple[Piece, int]]]
    read: ReadPiece
    boundary: Callable[[BinaryIO, DataFile, int], int]
    read_none: Callable[[pa.Schema], Iterator[pa.RecordBatch]]
