"""Interrupts at a line that is chosen beforehand."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self


class Interrupting:
    """Interrupts where a line of some files is the so-and-so-many-th that runs.

    :param at: which line, from 1.
    :param where: whether a file, by its name, counts.
    :param interrupt: what happens there.

    :ivar done: whether there were so many.
    """

    def __init__(
        self, at: int, where: Callable[[str], bool], interrupt: Callable[[], object]
    ) -> None:
        self._left = at
        self._where = where
        self._interrupt = interrupt
        self.done = False

    def __enter__(self) -> Self:
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _call(self, frame: FrameType, _event: str, _: Any) -> Any:
        return self._line if self._where(frame.f_code.co_filename) else None

    def _line(self, _frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self._left -= 1
            if not self._left:
                self.done = True
                self._interrupt()
        return self._line
