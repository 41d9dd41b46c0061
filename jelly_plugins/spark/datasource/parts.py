"""What one task reads: a few whole files, or a piece of a large one. Knows nothing of Spark."""

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
class Piece:
    """A file, or part of one.

    :ivar start: where the first frame that is read starts (its delimiter), in bytes.
    :ivar first: what is given out starts here: the byte where a frame starts, or the number of a
        patch's row. What stands before it is read because what follows refers to it.
    :ivar stop: what is given out ends before this one; None for the end of the file.
    :ivar first_frame: number of the frame at ``start``.
    :ivar number: number of the file among those that are read together, from 0.
    :ivar files: how many are read together.
    """

    path: str
    start: int = 0
    first: int = 0
    stop: int | None = None
    first_frame: int = 0
    number: int = 0
    files: int = 1


def cut(file: DataFile, files: Files, target: int) -> Iterator[tuple[Piece, int]]:
    """A Jelly-RDF file in pieces of about ``target`` bytes, with their sizes.

    Pieces start at restart points; a file without them, or that is compressed, is one piece.
    """
    wanted = ceil(file.size / target)
    if wanted < 2 or compression_of(file.path) is not None:
        yield Piece(file.path), file.size
        return
    starts = [RestartPoint(0, 0)]
    # What is wrong with a file is for those to say who read it.
    with suppress(JellyError), files.open(file.path) as opened:
        # Pieces are of the same size, as far as may be, so that no task has more to do than others.
        due = 1
        for point in find_restarts(opened):
            if point.offset * wanted >= due * file.size:
                starts.append(point)
                due = point.offset * wanted // file.size + 1
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        stop = None if after is None else after.offset
        size = (file.size if stop is None else stop) - start.offset
        yield Piece(file.path, start.offset, start.offset, stop, start.frame), size


def numbered(
    files: Sequence[Iterable[tuple[Piece, int]]],
) -> Iterator[tuple[Piece, int]]:
    """The pieces of files that are read together, with their sizes, and told so.

    :param files: the pieces of each of them.
    """
    for number, pieces in enumerate(files):
        for piece, size in pieces:
            yield replace(piece, number=number, files=len(files)), size


def pack(pieces: Iterable[tuple[Piece, int]], target: int) -> list[list[Piece]]:
    """Put pieces together to parts of about ``target`` bytes, in order.

    :param pieces: with their size in bytes.

    >>> small, large = Piece("small"), Piece("large")
    >>> [len(part) for part in pack([(small, 1), (small, 1), (large, 9 << 20)], 8 << 20)]
    [2, 1]
    """
    parts: list[list[Piece]] = []
    room = 0
    for piece, size in pieces:
        cost = size + OPENING_BYTES
        if not parts or cost > room:
            parts.append([])
            room = target
        parts[-1].append(piece)
        room -= cost
    return parts
