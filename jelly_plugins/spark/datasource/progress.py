"""The progress of a stream over a folder: which files were read. Does not import Spark.

Each file is read once, as a whole, in order of modification time, then of name. An offset is JSON
and has all that a query needs to restart from its checkpoint:

- ``batch``: the number of offsets before it.
- ``new``: the files of the batch that ends with it, each as modification time, path and size.
- ``read``: the last :data:`REMEMBERED` files before those, in the same form and in order.
- ``last`` and ``forgotten``: the last of the files before all of these, or null, and how many of
  them existed when the offset was made.

The size of an offset therefore depends on its batch, but not on how many files were ever read. A
file that appears before ``last`` cannot be distinguished from those that were read. It is not
skipped: there are then more files than ``forgotten``, and this is an error. (It is not detected if
as many of the files that were read are removed before the same batch.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ...errors import SourceError
from .files import DataFile, Files, natural

#: As the checkpoint keeps it.
Offset: TypeAlias = dict[str, Any]

INITIAL: Final[Offset] = {"batch": 0, "new": [], "read": [], "last": None, "forgotten": 0}

#: Number of files that an offset names besides those of its batch. A file takes about 80 bytes.
REMEMBERED: Final = 5_000


class Progress:
    """Finds files that are new since the last batch, and selects those of the next one."""

    def __init__(self, files: Files, paths: Sequence[str]) -> None:
        self._files = files
        self._paths = paths
        self._available: list[DataFile] | None = None

    def stop_here(self) -> None:
        """Ignore files that appear from now on."""
        self._available = self._list()

    def latest(self, start: Offset, most: int | None = None) -> Offset:
        """Return the offset after the next batch of at most ``most`` files; ``start`` itself if
        there is no new file."""
        listed = self._list() if self._available is None else self._available
        read = sorted([*start["read"], *start["new"]], key=_place)
        known = {path for _, path, _ in read}
        paths = {file.path for file in listed}
        others = [_entry(file) for file in listed if file.path not in known]
        last = start["last"]
        before = 0 if last is None else sum(_place(each) <= _place(last) for each in others)
        if before > start["forgotten"]:
            raise SourceError(
                f"{before - start['forgotten']} new files are older than the last "
                f"{REMEMBERED:,} files that this query has read, so that it cannot be known which: "
                "copy them, so that they become the newest files, and remove the old ones; or "
                "start the query with a new checkpoint",
                source=", ".join(self._paths),
            )
        new = others[before:]
        if not new:
            return start
        # The forgotten files are before all others, also before those of the next batches.
        forgotten = [each for each in read[:-REMEMBERED] if _place(each) < _place(new[0])]
        kept = read[len(forgotten) :]
        return {
            "batch": start["batch"] + 1,
            "new": new[:most],
            "read": kept,
            "last": forgotten[-1] if forgotten else last,
            "forgotten": before + len({path for _, path, _ in forgotten}.intersection(paths)),
        }

    def batch(self, start: Offset, end: Offset) -> list[DataFile]:
        """Return the files between two offsets, in order."""
        if start["batch"] == end["batch"]:
            return []
        if start["batch"] + 1 != end["batch"]:
            raise SourceError(
                f"the checkpoint lacks offset {end['batch'] - 1} of this query: start the query "
                "with a new checkpoint",
                source=", ".join(self._paths),
            )
        return [DataFile(path, size, modified) for modified, path, size in end["new"]]

    def _list(self) -> list[DataFile]:
        """List the files in the order in which they are read."""
        # A file without bytes is about to be written.
        found = self._files.list(self._paths)
        files = {file.path: file for file in found if file.size}.values()
        return sorted(files, key=lambda file: _place(_entry(file)))


def _entry(file: DataFile) -> list[Any]:
    return [file.modified, file.path, file.size]


def _place(entry: list[Any]) -> tuple[Any, ...]:
    modified, path, _ = entry
    return modified, natural(path), path
