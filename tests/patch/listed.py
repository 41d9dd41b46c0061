"""Changes that are a list of operations, for tests of a replay's parts without a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jelly_plugins.codec.patch.operations import AnyOperation
from jelly_plugins.patch.replay.position import Position
from jelly_plugins.patch.replay.target import TransactionChanges
from jelly_plugins.patch.replay.transactions import CHANGES


class Listed(TransactionChanges):
    """The operations of one transaction, in order."""

    characters = 0

    def __init__(self, *rows: AnyOperation) -> None:
        self.rows = list(rows)

    @property
    def operations(self) -> int:
        return len(self.rows)

    def gather(self, rows: Iterator[AnyOperation], /) -> AnyOperation | None:
        for row in rows:
            if row.kind not in CHANGES:
                return row
            self.rows.append(row)
        return None

    def join(self, following: Listed, /) -> None:
        self.rows += following.rows


class ListedTarget:
    """A target of replays that is at given positions, and is never changed."""

    graph = ""
    changes = staticmethod(Listed)
    text = staticmethod(str)

    def __init__(self, positions: Sequence[Position] = ()) -> None:
        self._positions = positions

    def positions(self) -> Sequence[Position]:
        return self._positions

    def apply(self, changes: Listed, before: Position | None, after: Position | None, /) -> int:
        raise NotImplementedError
