"""Raise interrupts at a chosen line."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

#: The line of a ``with`` begins with these instructions when its block is left, before the context
#: manager is exited, and so does the line of a ``try``. Python handles no signal there, and an
#: exception would leave the block without exiting it.
_UNINTERRUPTED = ("LOAD_CONST", "NOP", "PUSH_EXC_INFO", "WITH_EXCEPT_START")


def _can_be_interrupted(frame: FrameType) -> bool:
    """Whether a signal may arrive at this line. Few other lines begin with these instructions."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] not in _UNINTERRUPTED


class Interrupting:
    """Interrupts at the line with a given number, counting the executed lines of some files.

    :param at: the line's number, from 1.
    :param where: returns whether the lines of a file count, given its name.
    :param interrupt: called at the line.

    :ivar done: whether the line was reached.
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

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and _can_be_interrupted(frame):
            self._left -= 1
            if not self._left:
                self.done = True
                self._interrupt()
        return self._line
