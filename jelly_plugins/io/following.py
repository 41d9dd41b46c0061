"""A file that is followed while it grows: whether it is still the one that was opened.

Tells what costs one look at the file. One that was rewritten in place and is as long as before, or
longer, is not told from one that has grown.
"""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import Final

from ..errors import SourceError
from .sources import Source


class Followed:
    """A source that is read while it grows. Only what is a file with a path is looked at.

    :ivar read: bytes of it that were read.
    """

    def __init__(self, src: Source) -> None:
        self.read = 0
        known = isinstance(src, str | os.PathLike)
        # The process may go to another folder meanwhile.
        self._path: Final = os.path.abspath(src) if known else None  # type: ignore[arg-type]
        self._file: Final = self._look()

    def _look(self) -> os.stat_result | None:
        """What the path leads to; None if that is no file."""
        if self._path is None:
            return None
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found if S_ISREG(found.st_mode) else None

    def check(self) -> None:
        """Refuse a file that is not there any more, or not the one that was opened, or shorter than
        what was read.

        :raises SourceError: it is so.
        """
        if self._file is None:
            return
        found = self._look()
        if found is None:
            raise SourceError("the file that is followed is not there any more")
        if not os.path.samestat(found, self._file):
            raise SourceError("the file that is followed was replaced by another one")
        if found.st_size < self.read:
            raise SourceError(
                f"the file that is followed was rewritten: it has {found.st_size} bytes, and "
                f"{self.read} were read"
            )
