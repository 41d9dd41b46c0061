"""A log that is read while it grows: whether its file is still the one that was read."""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import Final

from ..errors import SourceError
from ..io.sources import Source

#: Bytes of an incomplete patch that are compared. They contain its headers, so also its id.
_OPENING: Final = 1 << 16


class RewrittenError(SourceError):
    """The file has other data after its last complete transaction than was read there: its writer
    was killed in the middle of a patch, and has removed that patch."""


class Followed:
    """A source that is read while it grows. Only a file with a path is checked.

    A writer that was killed may leave a truncated patch at the end of the file, which the next
    writer removes. What was read of an incomplete patch is therefore compared with the file before
    more is read. Complete transactions must stay; one that is rewritten in place is not detected.

    :param src: the source.
    """

    def __init__(self, src: Source) -> None:
        known = isinstance(src, str | os.PathLike)
        # The process may go to another folder meanwhile.
        self._path: Final = os.path.abspath(src) if known else None  # type: ignore[arg-type]
        self._file: Final = self._look()
        #: Bytes that were read, and bytes up to the end of the last complete transaction.
        self._read = 0
        self._complete = 0
        #: The first bytes after that, and the last bytes read.
        self._opening = b""
        self._last = b""

    def _look(self) -> os.stat_result | None:
        """The status of the path's file; None if there is no file."""
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found if S_ISREG(found.st_mode) else None

    def take(self, chunk: bytes) -> None:
        """Note a chunk that was read, before it is decoded.

        :raises SourceError: the file has lost data, see :meth:`check`.
        """
        if self._file is None:
            return
        found = self._look()
        # Of a file that was replaced, the rest is read first.
        if self._opening and found is not None and os.path.samestat(found, self._file):
            self._compare(found.st_size)
        if len(self._opening) < _OPENING:
            self._opening += chunk[: _OPENING - len(self._opening)]
        self._read += len(chunk)
        self._last = chunk

    def complete(self, size: int) -> None:
        """Note how many bytes there are up to the end of the last complete transaction."""
        if self._file is not None and size > self._complete:
            self._complete = size
            # It usually ended in the last chunk.
            after = self._read - size
            if after <= len(self._last):
                self._opening = self._last[len(self._last) - after :][:_OPENING]
            else:
                self._opening = self._at(size, min(after, _OPENING))

    def check(self) -> None:
        """Raise an error for a file that no longer exists, is not the one that was opened, or has
        lost data.

        :raises RewrittenError: it has all complete transactions, and other data after them.
        :raises SourceError: it is another file, or has lost complete transactions.
        """
        if self._file is None:
            return
        found = self._look()
        if found is None:
            raise SourceError("the file that is followed is not there any more")
        if not os.path.samestat(found, self._file):
            raise SourceError("the file that is followed was replaced by another one")
        self._compare(found.st_size)

    def _compare(self, size: int) -> None:
        """Raise an error for a file that has lost data.

        :param size: of the file.
        """
        if size < self._complete:
            raise SourceError(
                f"the file that is followed was rewritten: it has {size} bytes, and "
                f"{self._complete} bytes of complete patches were read"
            )
        known = self._opening
        if size < self._read or (known and self._at(self._complete, len(known)) != known):
            raise RewrittenError("the last patch of the file that is followed was replaced")

    def _at(self, start: int, size: int) -> bytes:
        """Some bytes of the file."""
        assert self._path is not None
        try:
            with open(self._path, "rb") as file:
                file.seek(start)
                return file.read(size)
        except OSError as error:
            raise SourceError(
                f"the file that is followed cannot be read any more: {error.strerror}"
            ) from None
