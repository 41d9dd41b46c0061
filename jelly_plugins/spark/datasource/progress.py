"""How far a stream over a folder has come: which files it has read, and how much of growing ones.

An offset is JSON and says all there is to know, so that a query that starts again from its
checkpoint goes on exactly where it was: ``{"files": {path: position}}``. The position of a file
that was read as a whole is its size; of a growing one, what was complete of it. Files are taken in
the order in which they were written, then by name. Knows nothing of Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...errors import SourceError
from ...io.sinks import compression_of
from ..ordering import natural
from .files import DataFile, Files
from .parts import Piece

Offset: TypeAlias = dict[str, Any]

INITIAL: Final[Offset] = {"files": {}}


class Progress:
    """What is there to be read, and what of it comes next.

    :param paths: files, folders and patterns, see :meth:`Files.list`; a folder may be empty.
    :param boundary: for files that grow: given a file and a position that was complete before, how
        much is complete now. None where every file is whole once it is there.
    :param columns: whether folders may be named as columns are, see :meth:`Files.list`.
    """

    def __init__(
        self,
        files: Files,
        paths: Sequence[str],
        pattern: str | None,
        boundary: Callable[[DataFile, int], int] | None,
        *,
        columns: bool = True,
    ) -> None:
        self._files = files
        self._paths = paths
        self._pattern = pattern
        self._boundary = boundary
        self._columns = columns
        #: Sizes at which positions were found: a file that has not grown is not looked at again.
        self._seen: dict[str, tuple[int, int]] = {}
        self._target: dict[str, int] | None = None

    def latest(self, start: Offset, most: int | None = None) -> Offset:
        """The offset behind what comes next.

        :param most: files to take, at most; None for all of them.
        :return: ``start`` itself if there is nothing new.
        """
        done: Mapping[str, int] = start["files"]
        there = self._target
        if there is None:
            there = self._positions(done)
        new = {path: position for path, position in there.items() if position > done.get(path, 0)}
        if self._boundary is None:
            new = {path: position for path, position in new.items() if path not in done}
        if not new:
            return start
        return {"files": {**done, **dict(list(new.items())[:most])}}

    def stop_here(self, start: Offset | None = None) -> None:
        """Let nothing count from here on that was not there now."""
        self._target = self._positions((start or INITIAL)["files"])

    def pieces(self, start: Offset, end: Offset) -> list[tuple[Piece, int]]:
        """What stands between two offsets, in order, with about how much that is."""
        done: Mapping[str, int] = start["files"]
        reached: Mapping[str, int] = end["files"]
        pieces = []
        for path, position in reached.items():
            before = done.get(path, 0)
            if position > before:
                grows = self._grows(path)
                piece = Piece(path, first=before, stop=position) if grows else Piece(path)
                pieces.append((piece, position))
        return pieces

    def _grows(self, path: str) -> bool:
        """Whether more may come of a file; what is compressed is whole."""
        return self._boundary is not None and compression_of(path) is None

    def _positions(self, done: Mapping[str, int]) -> dict[str, int]:
        """How much of each file is complete, in the order in which files are taken."""
        # What has no bytes yet is about to be written.
        listed = self._files.list(self._paths, self._pattern, columns=self._columns)
        found = [file for file in listed if file.size]
        found.sort(key=lambda file: (file.modified, natural(file.path), file.path))
        return {file.path: self._position(file, done.get(file.path, 0)) for file in found}

    def _position(self, file: DataFile, before: int) -> int:
        if self._boundary is None or not self._grows(file.path):
            return file.size
        size, position = self._seen.get(file.path, (-1, before))
        if size != file.size:
            position = self._boundary(file, before)
            self._seen[file.path] = (file.size, position)
        if position < before:
            raise SourceError("the file is shorter than it was", source=file.path)
        return position
