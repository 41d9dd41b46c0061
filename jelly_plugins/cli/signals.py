"""Signals that end the command: it cleans up, as when it is interrupted from the keyboard."""

from __future__ import annotations

import signal
from typing import Final

#: What a supervisor sends, and what comes when the terminal is closed. Not all systems have both.
_NAMES: Final = ("SIGTERM", "SIGHUP")


class TerminatedError(KeyboardInterrupt):
    """The process was asked to end; whatever cleans up at an interrupt does so for this, too.

    :ivar number: number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def end_at_signals() -> None:
    """Raise :class:`TerminatedError` in the main thread once the process is asked to end.

    A signal that whoever started the process has ignored (``nohup``) stays ignored.
    """
    for number in _numbers():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)


def exit_code(error: KeyboardInterrupt) -> int:
    """The exit code of a process that an interrupt has ended: 128 and the signal's number.

    >>> exit_code(KeyboardInterrupt()), exit_code(TerminatedError(15))
    (130, 143)
    """
    return 128 + (error.number if isinstance(error, TerminatedError) else signal.SIGINT)


def _terminate(number: int, _frame: object) -> None:
    # Often several come, one from the terminal and one from the shell; the first is enough.
    for each in _numbers():
        signal.signal(each, signal.SIG_IGN)
    raise TerminatedError(number)


def _numbers() -> list[signal.Signals]:
    return [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
