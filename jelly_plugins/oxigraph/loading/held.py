"""What a load holds in memory before the store writes it, and a limit on it."""

from __future__ import annotations

from typing import Final

from ...errors import LimitError

#: Statements that Oxigraph's bulk loader holds before it writes them to disk.
_STATEMENTS: Final = 1_000_000

#: Bytes that may be held, and how many more for each statement.
_BYTES: Final = 1 << 28
_BYTES_PER_STATEMENT: Final = 1 << 10


class Held:
    """Counts the bytes of statements: a prefix of a megabyte makes gigabytes of quads out of a
    thousand short statements.

    :ivar limited: whether the statements are held, so that the limit applies.
    :ivar size: bytes counted so far.
    """

    def __init__(self) -> None:
        self.limited = False
        self.size = 0
        self._statements = self._start = self._source = 0

    def count(self, statements: int, size: int, source: int = 0) -> None:
        """Count statements that are about to be loaded.

        :param size: bytes of their text, or of their long terms.
        :param source: bytes of the source that they are from, if those are known. They may be held.
        :raises LimitError: those that are held are too long.
        """
        self.size += size
        self._source += source
        self._statements += statements
        held = self.size - self._source - self._start
        most = _BYTES + self._statements * _BYTES_PER_STATEMENT
        if self.limited and held > most:
            raise LimitError(
                f"{self._statements:,} statements take {held:,} bytes more as quads than in the "
                f"source, above the {most:,} that a load may hold in memory; load them with "
                "atomic=False"
            )
        if self._statements >= _STATEMENTS:
            self._start, self._statements = self.size - self._source, 0
