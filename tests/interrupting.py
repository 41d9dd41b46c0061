"""Interrupts at a line that is chosen beforehand."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Self

#: With these begin the line of a ``with`` when its block is left, before what ends the block was
#: called, and the line of a ``try``. No signal is handled there, and an exception would leave the
#: block without ending it.
_UNINTERRUPTED = ("LOAD_CONST", "NOP", "PUSH_EXC_INFO", "WITH_EXCEPT_START")


def _can_be_interrupted(frame: FrameType) -> bool:
    """Whether a signal may come in at this line. Few others begin like those where none may."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] not in _UNINTERRUPTED


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

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and _can_be_interrupted(frame):
            self._left -= 1
            if not self._left:
                self.done = True
                self._interrupt()
        return self._line
