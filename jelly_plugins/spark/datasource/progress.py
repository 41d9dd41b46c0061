"""The progress of a stream over a folder: files that were read, and positions in growing files.

An offset is JSON and contains the complete state, ``{"files": {path: position}}``, so that a query
that restarts from its checkpoint continues exactly where it stopped. The position of a file that is
read as a whole is its size; the position of a growing file is how much of it was complete. Files
are read in order of modification time, then of name. Does not import Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ...errors import SourceError
from ...io.sinks import compression_of
from ..ordering import natural
from .files import DataFile, Files
from .splits import FileSplit

Offset: TypeAlias = dict[str, Any]

INITIAL: Final[Offset] = {"files": {}}


class Progress:
    """Finds the available data, and selects what comes next.

    :param paths: files, folders and patterns, see :meth:`Files.list`; a folder may be empty.
    :param boundary: for growing files: returns how much of a file is complete, given how much was
        complete before. None if every file is complete once it exists.
    :param columns: whether folders may be named like columns, see :meth:`Files.list`.
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
        #: Size of each file when its position was found; an unchanged file is not read again.
        self._seen: dict[str, tuple[int, int]] = {}
        self._target: dict[str, int] | None = None

    def latest(self, start: Offset, most: int | None = None) -> Offset:
        """Return the offset after the next data.

        :param most: maximum number of files to take; None for all.
        :return: ``start`` itself if there is no new data.
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

    def stop_here(self) -> None:
        """Ignore data that arrives from now on."""
        self._target = self._positions({})

    def splits(self, start: Offset, end: Offset) -> list[tuple[FileSplit, int]]:
        """Return the splits between two offsets, in order, with their approximate sizes."""
        done: Mapping[str, int] = start["files"]
        reached: Mapping[str, int] = end["files"]
        splits = []
        for path, position in reached.items():
            before = done.get(path, 0)
            if position > before:
                grows = self._grows(path)
                split = FileSplit(path, first=before, stop=position) if grows else FileSplit(path)
                splits.append((split, position))
        return splits

    def _grows(self, path: str) -> bool:
        """Return whether a file may grow; a compressed file does not."""
        return self._boundary is not None and compression_of(path) is None

    def _positions(self, done: Mapping[str, int]) -> dict[str, int]:
        """Return how much of each file is complete, in the order in which files are read."""
        # A file without bytes is about to be written.
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
            raise SourceError(
                "the file is shorter than before: growing files must only be appended to",
                source=file.path,
            )
        return position
