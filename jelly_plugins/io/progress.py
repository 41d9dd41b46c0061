"""How far a long call has come, for progress bars.

Every parameter ``progress`` is such a callback: called with the number of statements (of a patch
log: of operations, of a message log: of messages) since the last call. That is what ``tqdm.update``
and rich's ``Progress.advance`` take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

#: Called with the number of statements since the last call.
Progress: TypeAlias = Callable[[int], object]

#: Statements between two calls.
STATEMENTS: Final = 10_000


class Steps:
    """Calls a callback as a number grows; without one, only the comparison is left.

    >>> steps = Steps(lambda number: print(number))
    >>> for total in (6000, 12_000, 18_000):
    ...     steps.reach(total)
    12000
    >>> steps.end(18_000)
    6000
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._reported = 0
        self._due: float = STATEMENTS if progress is not None else float("inf")

    def reach(self, total: int) -> None:
        """Call it if there are many statements since the last call.

        :param total: number of statements so far.
        """
        if total >= self._due:
            self._due = total + STATEMENTS
            self.end(total)

    def end(self, total: int) -> None:
        """Call it in any case, as at the end."""
        if self._progress is not None:
            reported, self._reported = self._reported, total
            self._progress(total - reported)
