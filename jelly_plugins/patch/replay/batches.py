"""The rows of a log as they come, many together, taken one by one or as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import length_hint
from typing import Final

from ...codec.patch.operations import Operation


class Batches:
    """Rows in batches.

    :param batches: those that are lists can be taken as a whole.
    :ivar rows: the rows one by one, of all batches that are not taken.
    """

    def __init__(self, batches: Iterable[Iterable[Operation]]) -> None:
        self._batches = iter(batches)
        self._returned: list[Iterable[Operation]] = []
        self._current: Iterator[Operation] = iter(())
        self.rows: Final = chain.from_iterable(self._iterators())

    def _iterators(self) -> Iterator[Iterator[Operation]]:
        while True:
            batch = self._returned.pop() if self._returned else next(self._batches, None)
            if batch is None:
                return
            self._current = iter(batch)
            yield self._current

    def lists(self) -> Iterator[list[Operation]]:
        """The batches that come next, to be taken as a whole, up to one that is no list. None come
        where rows of the one before may be left."""
        if length_hint(self._current, 1):
            return
        for batch in self._batches:
            if not isinstance(batch, list):
                self.give_back(batch)
                return
            yield batch

    def give_back(self, batch: Iterable[Operation]) -> None:
        """Have the rows of a batch come one by one."""
        self._returned.append(batch)
