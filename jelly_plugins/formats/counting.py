"""What conversions write, counted while it passes by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..codec import AnyFrame


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """What was written.

    :ivar statements: number of statements.
    :ivar left_out: number of things that the target has no place for, by what they are.
    """

    statements: int
    left_out: dict[str, int] = field(default_factory=dict)


class FrameCounter:
    """Counts what passes by in frames."""

    def __init__(self) -> None:
        self.statements = 0
        self._metadata = 0
        self._empty_graphs = 0

    def count(self, frame: AnyFrame) -> None:
        self.statements += len(frame.statements)
        self._metadata += len(frame.metadata)
        self._empty_graphs += len(frame.empty_graphs)

    def counted(self, frames: Iterable[AnyFrame]) -> Iterator[AnyFrame]:
        for frame in frames:
            self.count(frame)
            yield frame

    def conversion(self, statements: int | None = None) -> Conversion:
        """What was written to a target that has only statements.

        :param statements: number of them, where they were not counted here.
        """
        beside = {"frame metadata entries": self._metadata, "empty graphs": self._empty_graphs}
        return Conversion(
            statements=self.statements if statements is None else statements,
            left_out={what: number for what, number in beside.items() if number},
        )
