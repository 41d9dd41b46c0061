"""A target of replays without a store."""

from __future__ import annotations

from collections.abc import Sequence

from jelly_plugins.patch.replay.positions import Position
from jelly_plugins.patch.replay.transactions import NetChanges


class ListedTarget:
    """A target that is at given positions, and is never changed."""

    graph = ""
    text = staticmethod(str)

    def __init__(self, positions: Sequence[Position] = ()) -> None:
        self._positions = positions

    def positions(self) -> Sequence[Position]:
        return self._positions

    def apply(self, changes: NetChanges, before: Position | None, after: Position | None, /) -> int:
        raise NotImplementedError
